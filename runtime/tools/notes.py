"""`find-notes`: searches the notes kept in the thread's state, never the store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from runtime.errors import ToolError
from runtime.tools.definition import tool
from runtime.tools.state import State
from runtime.values.json import Json, as_text

_WORD = re.compile(r"[^\W_]+")
MOST = 5
"""How many notes one search gives at most."""


@tool(inline=True)
def find_notes(about: str, state: State) -> str:
    """Search the notes of this thread and give the ones that match best, one on a line.

    Args:
        about: a few words that the note should hold.
    """
    notes = list(_notes(state.get("notes")))
    if not notes:
        raise ToolError("this thread's state holds no notes")
    wanted = _words(about)
    ranked = sorted(notes, key=lambda note: -len(wanted & _words(note)))
    found = [note for note in ranked[:MOST] if wanted & _words(note)]
    if not found:
        raise ToolError(f"none of the {len(notes)} notes speaks of {about!r}")
    return "\n".join(found)


def _notes(value: Json) -> Iterator[str]:
    """The notes one by one: a list, an object of title and text, or a text with one note on a line."""
    if isinstance(value, str):
        yield from filter(str.strip, value.split("\n"))
    elif isinstance(value, Mapping):
        yield from (f"{title}: {as_text(text)}" for title, text in value.items())
    elif isinstance(value, Sequence):
        yield from map(as_text, value)


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in _WORD.findall(text.casefold())}
