"""Doors to other people's conversation files: what is in a file, and one of its conversations as rows.

    for listed in conversations(path): ...        # what the file holds, for a picker
    conversation = load(path, pick=2)             # rows with their sources, tools, model, what was not carried

The format is told from the content, never from the name. A broken line costs that line and is named. Everything that
cannot be read raises one BadInput with file, line or pointer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runtime.errors import BadInput
from runtime.transcripts.conversation import Compaction, Conversation, Detected, Format, Listed, Lost
from runtime.transcripts.reading import Document, Progress, named, open_document
from runtime.transcripts.rows import Rows
from runtime.values.json import clean

__all__ = [
    "Compaction",
    "Conversation",
    "Detected",
    "Format",
    "Listed",
    "Lost",
    "Progress",
    "Several",
    "conversations",
    "load",
]

_TITLE = 80
_NAMED_LINES = 3


class Several(BadInput):
    """The file holds several conversations, and none was picked."""


def conversations(path: str | Path, *, progress: Progress | None = None) -> Iterator[Listed]:
    """The conversations of a file, in order, read one at a time.

    `progress` is told bytes read and bytes in all; what it raises stops the reading. Raises BadInput.
    """
    document = open_document(Path(path), progress)
    from runtime.transcripts.containers import units

    try:
        for number, unit in enumerate(units(document), 1):
            glance = unit.glance()
            if glance is None:
                rows = Rows()
                unit.read(rows)
                glance = rows.title or rows.messages.asked, len(rows.messages)
            yield Listed(number, _title(glance[0]), glance[1], unit.source, unit.aside)
    except BadInput as error:
        raise _placed(error, document) from error
    except RecursionError as error:
        raise BadInput("nested too deeply", file=str(path)) from error


def load(
    path: str | Path,
    pick: int | None = None,
    *,
    compaction: Compaction = "full",
    progress: Progress | None = None,
) -> Conversation:
    """One conversation of a file as rows.

    `pick` is its number from 1; None means the only one beside side chains. `compaction` says what to take of a
    session that was compacted: the whole file, or what the model was last given. Raises BadInput; Several, which is
    one, if there are more and none was picked.
    """
    document = open_document(Path(path), progress)
    from runtime.transcripts.containers import units

    found = None
    of = asides = 0
    try:
        for unit in units(document, compaction):
            of += 1
            asides += unit.aside
            if of == (1 if pick is None else pick):
                rows = Rows(compaction=compaction)
                found = (unit.read(rows), rows, unit.aside)
            if pick is None and of - asides > 1:
                raise Several("holds several conversations: pick one by its number", file=str(path), field="pick")
    except Several:
        raise
    except BadInput as error:
        if found is None or document.kind != "array":
            raise _placed(error, document) from error
        found[1].lose("rest of the file", f"cannot be read: {error.problem}")
    except RecursionError as error:
        raise BadInput("nested too deeply", file=str(path)) from error
    if found is None:
        held = f"holds {of} conversation{'s' * (of != 1)}"
        raise BadInput(f"{held}: there is no number {pick}", file=str(path), field="pick")
    detected, rows, aside = found
    if asides and not aside:
        rows.lose("side chain", "the conversation of a sub-agent: it is opened by its number", asides)
    return Conversation(
        messages=rows.messages if rows.messages.on_disk else tuple(rows.messages),
        detected=detected,
        file=str(path),
        title=_title(rows.title or rows.messages.asked),
        model=clean(rows.model),
        tools=tuple(rows.tools),
        lost=(*_broken(document), *rows.losses()),
        number=pick or 1,
        of=of,
    )


def _title(text: str) -> str:
    """The first line of `text`, cut to a length that a list can show."""
    line = text.strip().split("\n", 1)[0]
    return clean(line if len(line) <= _TITLE else line[: _TITLE - 1] + "…")


def _broken(document: Document) -> Iterator[Lost]:
    """The lines that could not be read, by name while they are few."""
    named = document.broken[:_NAMED_LINES]
    for broken in named:
        yield Lost(f"line {broken.line}", 1, f"cannot be read: {broken.problem}")
    more = document.unread - len(named)
    if more:
        numbers = ", ".join(str(broken.line) for broken in document.broken[_NAMED_LINES:])
        rest = " ..." * (document.unread > len(document.broken))
        yield Lost("further line", more, f"cannot be read: {numbers}{rest}")


def _placed(error: BadInput, document: Document) -> BadInput:
    """The error with the file it is about, by the name the user knows."""
    path = document.archive or document.path
    if error.file:
        return named(error, document.path, path)
    return BadInput(error.problem, file=str(path), line=error.line, column=error.column, field=error.field)
