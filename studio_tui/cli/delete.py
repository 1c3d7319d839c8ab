"""`studio-tui delete`: a thread with its turns, for good."""

from __future__ import annotations

import click

from runtime.threads import Runtime
from studio_tui.cli import options
from studio_tui.cli.output import print_json, tell


@click.command("delete")
@click.argument("thread")
@click.option("--with-forks", is_flag=True, help="Delete the threads forked from it too.")
@options.store
@options.as_json
def command(thread: str, with_forks: bool, store: str | None, as_json: bool) -> int:
    """Delete a thread with its turns. One that forks refer to goes only together with them.

    \b
    Example: studio-tui delete 7f3a9c --with-forks
    """
    from studio_tui.cli.session import with_runtime

    return with_runtime(store, lambda runtime: _delete(runtime, thread, with_forks, as_json))


async def _delete(runtime: Runtime, thread: str, with_forks: bool, as_json: bool) -> int:
    deleted = await runtime.store.delete_thread(thread, with_forks=with_forks)
    if as_json:
        print_json({"deleted": deleted})
    else:
        tell(f"deleted {', '.join(deleted)}")
    return 0
