"""Wrapping one stretch of text to rows of cells: at blanks, else where the row is full; tabs and wide characters
measured as they are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, split_graphemes

from studio_tui.text import RETURN
from studio_tui.visible import visible

TAB = 8
"""Cells between tab stops, counted from where the text of a row begins."""


@dataclass(slots=True)
class Work:
    """How much was wrapped so far, in calls and characters: tests hold it to what is visible (C84, C85)."""

    calls: int = 0
    characters: int = 0


WORK = Work()


def wrap(text: str, first: int, width: int) -> list[tuple[int, int]]:
    """The rows of `text` as (start, end) positions in it; newlines end rows and are in none.

    `first` and `width` are the cells of the first row and of the others, each at least 1. A blank at which a row was
    broken is in neither row; a character wider than a whole row stands alone. An empty text is one empty row.
    """
    WORK.calls += 1
    WORK.characters += len(text)
    rows: list[tuple[int, int]] = []
    room = max(1, first)
    start = 0
    while True:
        end = text.find("\n", start)
        stop = len(text) if end < 0 else end
        for row in _paragraph(text, start, stop, room, max(1, width)):
            rows.append(row)
            room = max(1, width)
        if end < 0:
            return rows
        start = end + 1


def _paragraph(text: str, start: int, stop: int, first: int, width: int) -> Iterator[tuple[int, int]]:
    """The rows of text[start:stop], which holds no newline; at least one."""
    part = text[start:stop]
    cells = None if _plain(part) else _cells(visible(part))
    at, room = 0, first
    while True:
        end = min(len(part), at + room) if cells is None else _reach(part, cells, at, room)
        if end >= len(part):
            yield start + at, stop
            return
        cut = part.rfind(" ", at, end + 1)
        if cut > at and not part[at:cut].isspace():
            yield start + at, start + cut
            at = cut + 1
        else:
            yield start + at, start + end
            at = end
        room = width


def _plain(text: str) -> bool:
    """Whether every character takes one cell, so that positions are cells."""
    return text.isascii() and "\t" not in text


def _cells(text: str) -> list[int]:
    """Cells of each position: of its grapheme at the first character of one, -1 at the others and at tabs.

    A tab joins nothing: marks that follow it begin a grapheme of their own.
    """
    cells = [-1] * len(text)
    begin = 0
    for part in text.split("\t"):
        for start, _, size in split_graphemes(part)[0]:
            cells[begin + start] = size
        begin += len(part) + 1
    return cells


def _reach(text: str, cells: list[int], at: int, room: int) -> int:
    """The end of the longest stretch from `at` that fits into `room` cells; at least one grapheme."""
    used, index = 0, at
    while index < len(text):
        size = cells[index]
        if text[index] == "\t":
            size = TAB - used % TAB
        if size > 0:
            if used + size > room and index > at:
                return index
            used += size
        index += 1
    return index


def one_row(text: str, width: int) -> tuple[int, bool]:
    """How much of `text` fits into one row of `width` cells when its newlines are drawn as arrows: (end, whether it
    was cut). A cut leaves one cell for the ellipsis."""
    head = text[: 4 * max(1, width)].replace("\n", RETURN)
    WORK.calls += 1
    WORK.characters += len(head)
    if _plain(head):
        fits = len(text) <= width
        return (len(text), False) if fits else (max(0, min(len(head), width - 1)), True)
    cells = _cells(visible(head))
    end = _fit(head, cells, width)
    if end == len(text):
        return end, False
    return _fit(head, cells, width - 1), True


def _fit(text: str, cells: list[int], room: int) -> int:
    """As `_reach`, but nothing rather than too much."""
    used = 0
    for index, char in enumerate(text):
        size = TAB - used % TAB if char == "\t" else cells[index]
        if size > 0:
            used += size
            if used > room:
                return index
    return len(text)


def width_of(text: str) -> int:
    """Cells of `text` on one row, as it is drawn from the first column."""
    used = 0
    for index, part in enumerate(text.replace("\n", RETURN).split("\t")):
        if index:
            used += TAB - used % TAB
        used += cell_len(visible(part))
    return used
