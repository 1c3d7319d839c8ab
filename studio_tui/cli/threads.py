"""`studio-tui threads`: the threads of a store, newest activity first."""

from __future__ import annotations

import click

from runtime.stores import Thread
from runtime.threads import Runtime
from runtime.values.json import Json
from runtime.values.record_json import time_json
from studio_tui.cli import options
from studio_tui.cli.masking import mask_for
from studio_tui.cli.output import columns, one_line, print_json, print_text, tell


@click.command("threads")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most this many.")
@options.store
@options.as_json
def command(limit: int | None, store: str | None, as_json: bool) -> int:
    """List the threads of the store, newest activity first.

    \b
    Example: studio-tui threads --limit 10
    """
    from studio_tui.cli.session import with_runtime

    return with_runtime(store, lambda runtime: _threads(runtime, limit, as_json))


async def _threads(runtime: Runtime, limit: int | None, as_json: bool) -> int:
    threads = await runtime.store.threads(limit=limit)
    await mask_for(runtime, threads)
    if as_json:
        print_json([thread_json(thread) for thread in threads])
    elif not threads:
        tell('no threads yet: studio-tui run --seed friday-notes "What is in the draft?" makes one')
    else:
        head = ("thread", "rows", "agent", "from", "name", "created")
        print_text("\n".join(columns([head, *map(_cells, threads)], right=(1,))))
    return 0


def thread_json(thread: Thread) -> dict[str, Json]:
    """What is known of a thread besides its rows and turns; `stored` counts its rows."""
    return {
        "id": thread.id,
        "name": thread.name,
        "agent": thread.agent,
        "origin": thread.origin,
        "seed": thread.seed,
        "parent": thread.parent,
        "forked_at": thread.forked_at,
        "status": thread.status or None,
        "stored": thread.length,
        "state": thread.state,
        "created": time_json(thread.created),
        "about": thread.about,
    }


def _cells(thread: Thread) -> tuple[str, ...]:
    origin = f"fork of {thread.parent} at {thread.forked_at}" if thread.forked_at is not None else thread.origin
    origin = f"handoff from {thread.parent}" if thread.origin == "handoff" else origin
    return (
        thread.id, str(thread.length), thread.agent or "plain", origin, one_line(thread.name, 40),
        time_json(thread.created),
    )  # fmt: skip
