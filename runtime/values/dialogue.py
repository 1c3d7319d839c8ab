"""Rows as text and back: the history section is `role: text` lines that read back as the same rows (A2, A3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol, cast

from runtime.values.messages import Role

_ROLE_LINE = re.compile(r"(\\*)(user|assistant|system|tool):", re.IGNORECASE)
_FIRST_LINE = re.compile(r"(user|assistant|system|tool): ?", re.ASCII)


class Spoken(Protocol):
    """Anything with a role and a text."""

    @property
    def role(self) -> Role: ...
    @property
    def text(self) -> str: ...


def line_of(role: Role, text: str) -> str:
    """One row as it stands in the history section: `role: text`, later lines escaped (A3)."""
    return f"{role}: {escape(text)}"


def join(rows: Iterable[Spoken]) -> str:
    """The history section of `rows`, oldest first, joined by newlines (A2)."""
    return "\n".join([line_of(row.role, row.text) for row in rows])


def split(history: str) -> list[tuple[Role, str]]:
    """The rows that `join` wrote, as (role, text), oldest first; an empty text is no rows (A3)."""
    rows: list[tuple[Role, list[str]]] = []
    for line in history.split("\n") if history else ():
        first = _FIRST_LINE.match(line)
        if first:
            rows.append((cast(Role, first[1]), [line[first.end() :]]))
        elif rows:
            rows[-1][1].append(_unescape(line))
    return [(role, "\n".join(lines)) for role, lines in rows]


def escape(text: str) -> str:
    """`text` with one backslash before each later line that would read as a role line (A3)."""
    if "\n" not in text or ":" not in text:
        return text
    first, *later = text.split("\n")
    return "\n".join([first, *("\\" + line if _ROLE_LINE.match(line) else line for line in later)])


def escaped_lines(text: str) -> tuple[int, ...]:
    """The numbers (first line 0) of the lines that `escape` marks with a backslash."""
    if "\n" not in text or ":" not in text:
        return ()
    return tuple(n for n, line in enumerate(text.split("\n")) if n and _ROLE_LINE.match(line))


def _unescape(line: str) -> str:
    return line[1:] if line.startswith("\\") and _ROLE_LINE.match(line) else line
