"""One row of a line as segments: foreign text made safe, and every cell knowing which character it shows.

Positions for marking by mouse are (character in the line's text, index of the line), so a mark survives a resize and
copies the text as stored: tabs, controls and all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from studio_tui.text import RETURN
from studio_tui.views.lines import Line, Span
from studio_tui.visible import visible
from studio_tui.widgets.layout import Layout, Place
from studio_tui.widgets.wrap import TAB, one_row, width_of

Styles = Callable[[str], Style]
"""The look of a style name in the theme in force."""

GUTTER = 1
"""Cells at the left edge, for the mark of the cursor."""

HIT = 200
"""Characters after a row in which a hit that begins on it may end."""


def row_strip(
    layout: Layout,
    place: Place,
    styles: Styles,
    gutter: str,
    marked: tuple[int, int] | None = None,
    sought: re.Pattern[str] | None = None,
) -> Strip:
    """One row, `layout.width` + GUTTER cells. `marked` are the characters (start, end; -1: all the
    rest) of the line that the mouse marked; what `sought` matches is drawn as a hit."""
    line = layout.lines[place.line]
    row = _Row(place.line, styles, marked, fade=line.fade, sought=sought)
    row.plain(gutter, "gutter", 0)
    if line.fill:
        _fill(row, line, layout.width)
    elif line.wrap:
        start, end = layout.stretch(place)
        first = place.piece == 0 and place.row == 0
        row.blanks(min(line.indent + (0 if first else line.hang), layout.width - 1), start)
        row.text(line, start, end)
        _end(row, line, layout, first)
    else:
        room = layout.room(line)
        row.blanks(min(line.indent, layout.width - 1), 0)
        end, cut = one_row(_head(line.spans, 4 * room.first), room.first)
        row.text(line, 0, end)
        if cut:
            row.plain("…", "muted", end)
        _end(row, line, layout, True)
    return Strip(row.segments, row.cells)


def _head(spans: tuple[Span, ...], characters: int) -> str:
    """The first characters of the spans, and one more if there are more."""
    parts, missing = [], characters + 1
    for span in spans:
        parts.append(span.text[:missing])
        missing -= len(parts[-1])
        if missing <= 0:
            break
    return "".join(parts)


def _fill(row: _Row, line: Line, width: int) -> None:
    """A ruler: the spans in the middle, the fill on both sides."""
    text = line.text
    end, _ = one_row(text, max(0, width - 4))
    size = width_of(text[:end])
    left = max(0, (width - size) // 2 - 1)
    right = max(0, width - size - left - 2)
    style = line.spans[0].style if line.spans else "ruler"
    row.plain(set_cell_size(line.fill * left, left) + (" " if size else line.fill), style, 0)
    row.text(line, 0, end)
    row.plain((" " if size else line.fill) + set_cell_size(line.fill * right, right), style, end)


def _end(row: _Row, line: Line, layout: Layout, first: bool) -> None:
    """Blanks to the edge, with the spans at the right on the first row."""
    total = layout.width + GUTTER
    right = sum(width_of(span.text) for span in line.right) if first else 0
    if right and row.cells + right < total:
        row.blanks(total - right - row.cells, -1)
        for span in line.right:
            row.plain(visible(span.text).replace("\n", RETURN).expandtabs(TAB), span.style, -1)
    row.blanks(total - row.cells, -1)


class _Row:
    """Segments in the making; `cells` is their width."""

    def __init__(
        self,
        index: int,
        styles: Styles,
        marked: tuple[int, int] | None,
        *,
        fade: bool,
        sought: re.Pattern[str] | None = None,
    ) -> None:
        self.segments: list[Segment] = []
        self.cells = 0
        self._index, self._styles, self._fade = index, styles, fade
        self._from, self._to = marked if marked is not None else (0, 0)
        if self._to < 0:
            self._to = 1 << 62
        self._sought = sought
        self._hits: list[tuple[int, int]] = []

    def text(self, line: Line, start: int, end: int) -> None:
        """The characters start..end of the line's text, each span in its style."""
        column, at = 0, 0
        if self._sought is not None:
            self._hits = [match.span() for match in self._sought.finditer(line.text, start, min(end + HIT, 1 << 62))]
        for span in line.spans:
            low, high = max(start - at, 0), min(end - at, len(span.text))
            if low < high:
                column = self._stretch(span.text[low:high], span.style, at + low, column)
            at += len(span.text)
            if at >= end:
                break

    def plain(self, text: str, style: str, at: int) -> None:
        """Text of ours that shows no character of the line; `at` is the character beside it, -1 the last one."""
        self._put(text, self._look(style), at if at < 0 else at - len(text) if at >= len(text) else at)

    def blanks(self, count: int, at: int) -> None:
        """Blank cells; those before the text (`at` its first character) are marked with it."""
        look = self._styles("text")
        if at < 0:
            if count > 0:
                self._put(" " * count, look, -1)
            return
        self._cells(count, look, at)

    def _stretch(self, text: str, style: str, at: int, column: int) -> int:
        """Draw raw text that stands at character `at`; returns the column after it, for the tabs to come."""
        edges = [self._from - at, self._to - at, *(edge - at for hit in self._hits for edge in hit)]
        for piece, offset in _cut(text, edges):
            look = self._look(style, marked=self._from <= at + offset < self._to)
            if any(low <= at + offset < high for low, high in self._hits):
                look += self._styles("hit")
            begin = 0
            while begin < len(piece):
                tab = piece.find("\t", begin)
                stop = len(piece) if tab < 0 else tab
                if stop > begin:
                    shown = visible(piece[begin:stop]).replace("\n", RETURN)
                    self._put(shown, look, at + offset + begin)
                    column += cell_len(shown)
                if tab >= 0:
                    wide = TAB - column % TAB
                    self._cells(wide, look, at + offset + tab)
                    column += wide
                begin = stop + (tab >= 0)
        return column

    def _look(self, style: str, *, marked: bool = False) -> Style:
        look = self._styles(style)
        if self._fade and style == "text":
            look = self._styles("muted")
        return look + self._styles("marked") if marked else look

    def _cells(self, count: int, look: Style, at: int) -> None:
        """Blank cells that all stand for one character."""
        if count > 0:
            self._put(" ", look, at)
            self.segments += [self.segments[-1]] * (count - 1)
            self.cells += count - 1

    def _put(self, text: str, look: Style, at: int) -> None:
        if at >= 0:
            look = look + Style.from_meta({"offset": (at, self._index)})
        self.segments.append(Segment(text, look))
        self.cells += cell_len(text)


def _cut(text: str, edges: Iterable[int]) -> Iterator[tuple[str, int]]:
    """`text` cut where a mark or a hit begins and ends, with the offset of each part."""
    cuts = sorted({0, len(text), *(min(max(0, edge), len(text)) for edge in edges)})
    for start, end in pairwise(cuts):
        yield text[start:end], start
