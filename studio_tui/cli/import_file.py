"""`studio-tui import`: a conversation someone already has, as a thread of the store or as a seed file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from runtime.values.json import Json
from studio_tui.cli import options
from studio_tui.cli.output import print_json, print_text, tell

if TYPE_CHECKING:
    from runtime.transcripts import Conversation, Listed

_SHOWN = 200


@click.command("import")
@click.argument("file", metavar="FILE")
@click.option("--pick", type=click.IntRange(min=1), metavar="N", help="Which conversation, if the file holds several.")
@click.option("--out", metavar="SEED.yaml", help="Write a seed file instead of storing a thread.")
@click.option("--force", is_flag=True, help="Replace the seed file if it exists.")
@options.store
@options.as_json
def command(file: str, pick: int | None, out: str | None, force: bool, store: str | None, as_json: bool) -> int:
    """Import a conversation file; its format is told from its content.

    Each assistant message with what preceded it becomes an imported turn that can be read, explained and run again.
    What cannot be carried is listed. A file of several conversations is listed unless --pick names one.

    \b
    Example: studio-tui import conversation.json
    Example: studio-tui import export.jsonl --pick 3 --out case.yaml
    """
    from runtime.transcripts import conversations, load

    if pick is None:
        listed = list(conversations(file))
        if len(listed) > 1:
            return _several(file, listed, as_json)
    conversation = load(file, pick)
    if out is not None:
        return _as_seed(conversation, Path(out), force, as_json)
    from studio_tui.cli.session import with_runtime

    return with_runtime(store, lambda runtime: _as_thread(runtime, conversation, as_json))


def _several(file: str, listed: list[Listed], as_json: bool) -> int:
    if as_json:
        print_json(
            {
                "file": file,
                "conversations": [
                    {"number": one.number, "title": one.title, "messages": one.messages, "source": one.source}
                    for one in listed
                ],
            }
        )
    else:
        from studio_tui.cli.output import columns

        cells = [(str(one.number), str(one.messages), one.title) for one in listed[:_SHOWN]]
        print_text("\n".join(columns([("n", "messages", "title"), *cells], right=(0, 1))))
    raise BadInput(f"holds {len(listed)} conversations: name one with --pick", file=file, field="--pick")


def _as_seed(conversation: Conversation, path: Path, force: bool, as_json: bool) -> int:
    from runtime.seeds import seed_yaml
    from studio_tui.cli.export import write

    if path.exists() and not force:
        raise BadInput("is there already; --force replaces it", file=str(path), field="--out")
    about = f"imported from {Path(conversation.file).name}"
    write(path, seed_yaml(conversation.messages, name=path.stem, about=about))
    if as_json:
        print_json({**_told(conversation), "out": str(path)})
    else:
        tell("\n".join([f"wrote {len(conversation.messages)} messages to {path}", *_lost(conversation)]))
    return 0


async def _as_thread(runtime: Runtime, conversation: Conversation, as_json: bool) -> int:
    from runtime.imports import import_conversation

    imported = await import_conversation(runtime.store, conversation)
    turns = [turn.id for turn in await runtime.store.turns(imported.thread)]
    if as_json:
        print_json({**_told(conversation), "thread": imported.thread, "turns": turns})
        return 0
    print_text(f"thread {imported.thread}: {len(conversation.messages)} messages, {imported.turns} turns")
    tell("\n".join([f"read as {conversation.format}: {conversation.detected.why}", *_lost(conversation)]))
    return 0


def _told(conversation: Conversation) -> dict[str, Json]:
    return {
        "file": conversation.file,
        "format": conversation.format,
        "why": conversation.detected.why,
        "number": conversation.number,
        "of": conversation.of,
        "title": conversation.title,
        "model": conversation.model or None,
        "messages": len(conversation.messages),
        "tools": [tool.name for tool in conversation.tools],
        "lost": [{"what": lost.what, "count": lost.count, "reason": lost.reason} for lost in conversation.lost],
    }


def _lost(conversation: Conversation) -> Iterator[str]:
    return (f"not carried: {lost}" for lost in conversation.lost)
