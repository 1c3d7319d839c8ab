"""`studio-tui export`: a thread as a seed, as OpenAI chat messages, or as an Anthropic Messages body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from runtime.values.json import as_text
from runtime.values.messages import Message
from studio_tui.cli import options
from studio_tui.cli.masking import mask_for
from studio_tui.cli.output import tell

if TYPE_CHECKING:
    from runtime.handoff.masking import Mask
    from runtime.stores import Thread

Form = Literal["seed", "openai", "anthropic"]

_PRIVATE: Final = ("claude-code", "codex", "gemini-cli")


@click.command("export")
@click.argument("thread")
@click.option("--out", required=True, metavar="FILE", help="The file to write: .yaml, .yml or .json.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["seed", "openai", "anthropic"]),
    help="What to write (default: a seed if the file ends in .yaml or .yml, OpenAI chat messages if in .json).",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@options.store
def command(thread: str, out: str, form: Form | None, force: bool, store: str | None) -> int:
    """Write a thread to a file that other programs, or this one, can load.

    OpenAI chat messages are a bare array; a thread that came with tools or a model is written as a request body with
    them. A file that exists is replaced only with --force. What cannot be written is named.

    \b
    Example: studio-tui export 7f3a9c --out friday.yaml
    Example: studio-tui export 7f3a9c --out friday.json --format anthropic
    """
    path = Path(out)
    chosen = form or _by_name(path)
    if path.exists() and not force:
        raise BadInput("is there already; --force replaces it", file=out, field="--out")
    from studio_tui.cli.session import with_runtime

    return with_runtime(store, lambda runtime: _export(runtime, thread, path, chosen))


def _by_name(path: Path) -> Form:
    match path.suffix.lower():
        case ".yaml" | ".yml":
            return "seed"
        case ".json":
            return "openai"
    raise BadInput(
        "a seed ends in .yaml or .yml, chat messages in .json; --format says what to write under another name",
        file=str(path),
        field="--out",
    )


async def _export(runtime: Runtime, name: str, path: Path, form: Form) -> int:
    thread = await runtime.store.thread(name)
    rows = await runtime.store.rows(name, 1, thread.length)
    mask = await mask_for(runtime, [thread])
    kept = [_masked(row, mask) for row in rows if isinstance(row, Message)]
    remarks: list[str] = []
    if form == "seed":
        from runtime.seeds import seed_yaml

        state = await runtime.store.state(name)
        state = state if mask is None else mask.object(state)
        text = seed_yaml(kept, name=path.stem, about=_about(name, thread.name), agent=thread.agent, state=state)
    else:
        text, remarks = _messages(thread, kept, form)
    write(path, text)
    unreadable = [str(row.seq) for row in rows if not isinstance(row, Message)]
    if unreadable:
        remarks.append(f"left out as unreadable: seq {', '.join(unreadable)}")
    tell("\n".join([f"wrote {len(kept):,} messages to {path}", *remarks]))
    if thread.origin == "imported" and (thread.about or {}).get("format") in _PRIVATE:
        tell("the file may hold file contents, paths and secrets that the session had seen: look before you share it")
    return 0


def _messages(
    thread: Thread, rows: Sequence[Message], dialect: Literal["openai", "anthropic"]
) -> tuple[str, list[str]]:
    """The rows as messages, and what the dialect has no place for."""
    from runtime.transcripts.export import export
    from runtime.values.request import ToolSpec

    about = thread.about or {}
    given = about.get("tools")
    tools = [
        ToolSpec(as_text(tool.get("name", "")), as_text(tool.get("description", "")), schema)
        for tool in (given if isinstance(given, Sequence) and not isinstance(given, str) else ())
        if isinstance(tool, Mapping) and isinstance(schema := tool.get("schema"), Mapping)
    ]
    found = export(rows, dialect, tools=tools, model=as_text(about.get("model") or ""))
    return found.text(), [f"not carried: {lost}" for lost in found.lost]


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
