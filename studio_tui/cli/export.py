"""`studio-tui export`: a thread as a seed (.yaml) or as OpenAI chat messages (.json), by the name of the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from runtime.values.messages import Message
from studio_tui.cli import options
from studio_tui.cli.masking import mask_for
from studio_tui.cli.output import tell

if TYPE_CHECKING:
    from runtime.handoff.masking import Mask


@click.command("export")
@click.argument("thread")
@click.option("--out", required=True, metavar="FILE", help="The file to write: .yaml, .yml or .json.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@options.store
def command(thread: str, out: str, force: bool, store: str | None) -> int:
    """Write a thread to a file: as a seed if it ends in .yaml or .yml, as OpenAI chat messages if in .json.

    A file that exists is replaced only with --force. Rows that cannot be read are left out and named.

    \b
    Example: studio-tui export 7f3a9c --out friday.yaml
    """
    path = Path(out)
    if path.suffix.lower() not in (".yaml", ".yml", ".json"):
        raise BadInput("a seed ends in .yaml or .yml, chat messages in .json", file=out, field="--out")
    if path.exists() and not force:
        raise BadInput("is there already; --force replaces it", file=out, field="--out")
    from studio_tui.cli.session import with_runtime

    return with_runtime(store, lambda runtime: _export(runtime, thread, path))


async def _export(runtime: Runtime, name: str, path: Path) -> int:
    thread = await runtime.store.thread(name)
    rows = await runtime.store.rows(name, 1, thread.length)
    mask = await mask_for(runtime, [thread])
    kept = [_masked(row, mask) for row in rows if isinstance(row, Message)]
    if path.suffix.lower() == ".json":
        text = _chat(kept)
    else:
        from runtime.seeds import seed_yaml

        state = await runtime.store.state(name)
        state = state if mask is None else mask.object(state)
        text = seed_yaml(kept, name=path.stem, about=_about(name, thread.name), agent=thread.agent, state=state)
    write(path, text)
    told = f"wrote {len(kept)} messages to {path}"
    lost = [row.seq for row in rows if not isinstance(row, Message)]
    tell(f"{told}; left out as unreadable: seq {', '.join(map(str, lost))}" if lost else told)
    return 0


def _masked(row: Message, mask: Mask | None) -> Message:
    """The row without sensitive values; their fields' names stand in their places (Q3)."""
    if mask is None:
        return row
    parts = None if row.parts is None else tuple(mask.object(part) for part in row.parts)
    return replace(row, text=mask.text(row.text), parts=parts)


def write(path: Path, text: str) -> None:
    """Write a file whole. Raises BadInput naming it."""
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror or error}", file=str(path), field="--out") from None


def _about(id: str, name: str) -> str:
    return f"exported from thread {id}" + (f" ({name})" if name else "")


def _chat(rows: Sequence[Message]) -> str:
    import json

    from studio_tui.cli.chat_messages import chat_messages

    return json.dumps(chat_messages(rows), ensure_ascii=False, indent=2, default=dict) + "\n"
