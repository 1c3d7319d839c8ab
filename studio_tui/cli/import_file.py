"""`studio-tui import`: a conversation someone already has, as a thread of the store or as a seed file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from runtime.values.json import Json
from studio_tui.cli import options
from studio_tui.cli.output import print_json, print_text, tell
from studio_tui.cli.progress import Progress
from studio_tui.visible import visible

if TYPE_CHECKING:
    from runtime.transcripts import Compaction, Conversation, Listed

_SHOWN = 200


@click.command("import")
@click.argument("file", metavar="FILE")
@click.option("--pick", type=click.IntRange(min=1), metavar="N", help="Which conversation, if the file holds several.")
@click.option("--out", metavar="SEED.yaml", help="Write a seed file instead of storing a thread.")
@click.option("--force", is_flag=True, help="Replace the seed file if it exists.")
@click.option(
    "--compaction",
    type=click.Choice(["full", "last-seen"]),
    default="full",
    show_default=True,
    help="Of a session that was compacted: the whole file, or what the model last saw.",
)
@options.store
@options.as_json
def command(
    file: str,
    pick: int | None,
    out: str | None,
    force: bool,
    compaction: Compaction,
    store: str | None,
    as_json: bool,
) -> int:
    """Import a conversation file; its format is told from its content.

    Each assistant message with what preceded it becomes an imported turn that can be read, explained and run again.
    What cannot be carried is listed. A file of several conversations is listed unless --pick names one.

    \b
    Example: studio-tui import conversation.json
    Example: studio-tui import export.jsonl --pick 3 --out case.yaml
    Example: studio-tui import session.jsonl --compaction last-seen
    """
    from runtime.transcripts import Several, load

    path = None if out is None else Path(out)
    if path is not None and path.exists() and not force:
        raise BadInput("is there already; --force replaces it", file=str(path), field="--out")
    try:
        with _told(f"reading {Path(file).name}") as progress:
            conversation = load(file, pick, compaction=compaction, progress=progress)
    except Several:
        return _several(file, as_json)
    if path is not None:
        return _as_seed(conversation, path, as_json)
    from studio_tui.cli.session import with_runtime

    return with_runtime(store, lambda runtime: _as_thread(runtime, conversation, as_json))


@contextmanager
def _told(what: str) -> Iterator[Progress]:
    progress = Progress(visible(what))
    try:
        yield progress
    finally:
        progress.end()


def _several(file: str, as_json: bool) -> int:
    """List what the file holds; side chains need no --pick, but can be picked."""
    from runtime.transcripts import conversations

    with _told(f"listing {Path(file).name}") as progress:
        listed = list(conversations(file, progress=progress))
    if as_json:
        print_json({"file": file, "conversations": [_listed(one) for one in listed]})
    else:
        from studio_tui.cli.output import columns

        cells = [
            (str(one.number), f"{one.messages:,}", one.source, f"{'(side chain) ' * one.aside}{one.title}")
            for one in listed[:_SHOWN]
        ]
        print_text("\n".join(columns([("n", "messages", "from", "title"), *cells], right=(0, 1))))
        if len(listed) > _SHOWN:
            tell(f"{len(listed) - _SHOWN:,} more are not shown; --json lists all")
    raise BadInput(f"holds {len(listed):,} conversations: name one with --pick", file=file, field="--pick")


def _listed(one: Listed) -> dict[str, Json]:
    return {
        "number": one.number,
        "title": one.title,
        "messages": one.messages,
        "source": one.source,
        "aside": one.aside,
    }


def _as_seed(conversation: Conversation, path: Path, as_json: bool) -> int:
    from runtime.seeds import seed_yaml
    from studio_tui.cli.export import write

    about = f"imported from {Path(conversation.file).name}"
    write(path, seed_yaml(conversation.messages, name=path.stem, about=about))
    if as_json:
        print_json({**_as_json(conversation), "out": str(path)})
    else:
        tell("\n".join([f"wrote {len(conversation.messages):,} messages to {path}", *_remarks(conversation)]))
    return 0


async def _as_thread(runtime: Runtime, conversation: Conversation, as_json: bool) -> int:
    from runtime.imports import import_conversation

    with _told("storing") as progress:
        imported = await import_conversation(runtime.store, conversation, progress=progress)
    if as_json:
        turns = [turn.id for turn in await runtime.store.turns(imported.thread)]
        print_json({**_as_json(conversation), "thread": imported.thread, "turns": turns})
        return 0
    print_text(f"thread {imported.thread}: {len(conversation.messages):,} messages, {imported.turns:,} turns")
    tell("\n".join([f"read as {conversation.format}: {conversation.detected.why}", *_remarks(conversation)]))
    return 0


def _as_json(conversation: Conversation) -> dict[str, Json]:
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
        "marked": [{"what": one.what, "count": one.count, "reason": one.reason} for one in conversation.marked()],
        "rows": [
            {"seq": seq, "role": row.role, "source": row.source, "flags": list(row.flags)}
            for seq, row in enumerate(conversation.messages, 1)
        ],
    }


def _remarks(conversation: Conversation) -> Iterator[str]:
    yield from (f"not carried: {lost}" for lost in conversation.lost)
    yield from (f"kept, but marked: {one}" for one in conversation.marked())
