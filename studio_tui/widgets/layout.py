"""Where the lines of a pane stand in rows: exact for what was looked at, estimated for the rest.

A line that wraps is a list of pieces, stretches of text that each begin a row of their own, so that the middle of a
text of a million characters can be wrapped without what comes before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from studio_tui.views.lines import Line
from studio_tui.widgets.wrap import width_of, wrap

PIECE = 4096
"""Characters above which a line is cut into pieces."""

BLANKS = 256
"""Characters at the end of a piece that may be left to the next one to end it at a blank."""

EAGER = 600
"""Panes with more lines than this are estimated at one row a line until they are looked at."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A row of a pane: the line's index, the piece in the line, the row in the piece."""

    line: int
    piece: int = 0
    row: int = 0


@dataclass(slots=True)
class Piece:
    """text[start:end] of a line. `rows` is None until it is wrapped, `height` its rows or the estimate of them."""

    start: int
    end: int
    height: int
    rows: list[tuple[int, int]] | None = None


@dataclass(slots=True)
class Block:
    """A line that wraps, at one width."""

    line: Line
    text: str
    pieces: list[Piece] = field(default_factory=list)

    @property
    def height(self) -> int:
        return sum(piece.height for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Room:
    """Cells for the text of a line: of the first row, of the others, and what stands at the right of the first."""

    first: int
    rest: int
    right: int


class Layout:
    """The rows of `lines` at `width` cells. Lines that do not wrap are one row each."""

    def __init__(self, lines: Sequence[Line], width: int, before: Layout | None = None) -> None:
        self.lines, self.width = lines, max(1, width)
        self._blocks: dict[int, Block] = {}
        self._before = before._by_id() if before is not None and before.width == self.width else {}
        self._extra: list[int] | None = None
        self._tall: list[int] = []
        if len(lines) <= EAGER:
            for index, line in enumerate(lines):
                if line.wrap:
                    self._block(index, line)

    @property
    def height(self) -> int:
        """Rows in all."""
        tall, extra = self._sums()
        return len(self.lines) + (extra[-1] if tall else 0)

    def room(self, line: Line) -> Room:
        """The cells that the text of `line` has; at least 8 where the pane is that wide."""
        right = sum(width_of(span.text) for span in line.right)
        least = min(8, self.width)
        inner = self.width - line.indent
        first = max(least, inner - right - 1) if right else max(least, inner)
        return Room(first, max(least, inner - line.hang), right)

    def row_of(self, place: Place) -> int:
        """The row at which `place` stands, as far as is known."""
        tall, extra = self._sums()
        above = bisect_right(tall, place.line - 1)
        row = place.line + (extra[above - 1] if above else 0) + place.row
        block = self._blocks.get(place.line)
        return row + (sum(piece.height for piece in block.pieces[: place.piece]) if block else 0)

    def at(self, row: int) -> Place:
        """The place at `row`, as far as is known; its piece is wrapped then."""
        row = max(0, min(row, self.height - 1))
        low, high = 0, len(self.lines) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.row_of(Place(middle)) <= row:
                low = middle
            else:
                high = middle - 1
        rest = row - self.row_of(Place(low))
        block = self._measured(low)
        if block is None:
            return Place(low)
        number = 0
        while number + 1 < len(block.pieces) and rest >= block.pieces[number].height:
            rest -= block.pieces[number].height
            number += 1
        rows = self._rows(low, block, number)
        return Place(low, number, min(rest, len(rows) - 1))

    def at_character(self, line: int, character: int) -> Place:
        """The place of a character of a line's text."""
        block = self._measured(line)
        if block is None:
            return Place(line)
        number = max(0, bisect_right([piece.start for piece in block.pieces], character) - 1)
        rows = self._rows(line, block, number)
        return Place(line, number, max(0, bisect_right([start for start, _ in rows], character) - 1))

    def character(self, place: Place) -> int:
        """The first character of a row of a line's text."""
        return self.stretch(place)[0]

    def stretch(self, place: Place) -> tuple[int, int]:
        """The characters (start, end) of the line's text that stand on the row; (0, 0) for a line of one row."""
        block = self._measured(place.line)
        if block is None:
            return 0, 0
        rows = self._rows(place.line, block, place.piece)
        return rows[min(place.row, len(rows) - 1)]

    def after(self, place: Place) -> Place | None:
        """The next row, None at the end; exact."""
        block = self._measured(place.line)
        if block is not None:
            if place.row + 1 < len(self._rows(place.line, block, place.piece)):
                return Place(place.line, place.piece, place.row + 1)
            if place.piece + 1 < len(block.pieces):
                return Place(place.line, place.piece + 1)
        return Place(place.line + 1) if place.line + 1 < len(self.lines) else None

    def before(self, place: Place) -> Place | None:
        """The row above, None at the beginning; exact."""
        if place.row:
            return Place(place.line, place.piece, place.row - 1)
        if place.piece:
            block = self._measured(place.line)
            assert block is not None
            return Place(place.line, place.piece - 1, len(self._rows(place.line, block, place.piece - 1)) - 1)
        return self.last_row(place.line - 1) if place.line else None

    def last_row(self, line: int) -> Place:
        """The last row of a line; exact."""
        block = self._measured(line)
        if block is None:
            return Place(line)
        number = len(block.pieces) - 1
        return Place(line, number, len(self._rows(line, block, number)) - 1)

    def move(self, place: Place, rows: int) -> Place:
        """`rows` down (or up, if negative) from `place`, stopping at the ends; exact."""
        step = self.after if rows > 0 else self.before
        for _ in range(abs(rows)):
            found = step(place)
            if found is None:
                break
            place = found
        return place

    def _measured(self, index: int) -> Block | None:
        """The block of a line that wraps, None for a line of one row."""
        found = self._blocks.get(index)
        if found is None:
            line = self.lines[index]
            found = self._block(index, line) if line.wrap else None
        return found

    def _block(self, index: int, line: Line) -> Block:
        before = self._before.get(line.id)
        block = before if before is not None and before.line == line else self._cut(line, before)
        self._blocks[index] = block
        self._extra = None
        return block

    def _cut(self, line: Line, before: Block | None) -> Block:
        """A line cut into pieces; those that a longer text has in common with the one before stay wrapped."""
        room = self.room(line)
        block = Block(line, line.text)
        pieces = block.pieces
        text, at = block.text, 0
        if before is not None and len(before.pieces) > 1 and self.room(before.line) == room:
            common = before.pieces[-1].start
            if text.startswith(before.text[:common]):
                pieces += before.pieces[:-1]
                at = common
        while True:
            end = _cut_at(text, at, room.rest if at else room.first, room.rest)
            first = 0 if at else room.rest - room.first
            pieces.append(Piece(at, end, _estimate(text, at, end, room.rest, first)))
            if end >= len(text):
                return block
            at = end + 1 if text[end] == "\n" else end

    def _rows(self, index: int, block: Block, number: int) -> list[tuple[int, int]]:
        piece = block.pieces[number]
        if piece.rows is None:
            room = self.room(block.line)
            first = room.rest if number else room.first
            found = wrap(block.text[piece.start : piece.end], first, room.rest)
            piece.rows = [(piece.start + start, piece.start + end) for start, end in found]
            if piece.height != len(found):
                piece.height = len(found)
                self._extra = None
        return piece.rows

    def _by_id(self) -> dict[str, Block]:
        return {block.line.id: block for block in self._blocks.values()}

    def _sums(self) -> tuple[list[int], list[int]]:
        """The lines that take more than one row, ascending, and the rows they take too many up to each."""
        if self._extra is None:
            extra, total = [], 0
            self._tall = sorted(self._blocks)
            for index in self._tall:
                total += self._blocks[index].height - 1
                extra.append(total)
            self._extra = extra
        return self._tall, self._extra


def _cut_at(text: str, at: int, first: int, rest: int) -> int:
    """Where a piece that begins at `at` ends: at a newline, else at a blank, else where a row is full."""
    if len(text) - at <= PIECE:
        return len(text)
    end = text.rfind("\n", at, at + PIECE)
    if end > at:
        return end
    blank = text.rfind(" ", at + PIECE - BLANKS, at + PIECE)
    if blank > 0:
        return blank + 1
    return at + first + rest * max(0, (PIECE - first) // rest)


def _estimate(text: str, start: int, end: int, width: int, missing: int) -> int:
    """Rows, for a row of `width` characters; `missing` are the cells that the first row lacks."""
    ends = text.count("\n", start, end)
    return max(1, ends + -(-(end - start - ends + missing) // width))
