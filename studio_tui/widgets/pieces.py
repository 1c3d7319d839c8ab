"""Rows of short pieces, some of which can be clicked: the bar, the budget, the suggestions, the footer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from studio_tui.text import safe_line


@dataclass(frozen=True, slots=True)
class Piece:
    """A short text, ours or foreign; `style` is one of ours, `pick` is what a click on it says (empty: nothing)."""

    text: str
    style: str = ""
    pick: str = ""


@dataclass(frozen=True, slots=True)
class PieceRow:
    """One row: pieces from the left, and pieces that stand at the right edge if there is room for them."""

    left: tuple[Piece, ...]
    right: tuple[Piece, ...] = ()


class Pieces(Widget):
    """Draws rows of pieces; what does not fit is cut with an ellipsis. Says `Picked` when one is clicked."""

    DEFAULT_CSS = """
    Pieces { height: 1; width: 1fr; }
    """

    rows: reactive[tuple[PieceRow, ...]] = reactive(())

    class Picked(Message):
        """A piece was clicked."""

        def __init__(self, widget: Pieces, pick: str) -> None:
            super().__init__()
            self.widget, self.pick = widget, pick

        @property
        def control(self) -> Pieces:
            return self.widget

    def render(self) -> Content:
        width = self.content_size.width
        return Content("\n").join([_drawn(row, width) for row in self.rows])

    def on_click(self, event: events.Click) -> None:
        """Say which piece stands under the mouse."""
        at = event.get_content_offset(self)
        if at is not None and at.y < len(self.rows):
            pick = self.pick_at(at.x, at.y)
            if pick:
                event.stop()
                self.post_message(self.Picked(self, pick))

    def pick_at(self, x: int, y: int) -> str:
        """What a click at this cell of the content picks, empty for nothing."""
        row, width = self.rows[y], self.content_size.width
        at = 0
        for piece in row.left:
            at += safe_line(piece.text).cell_length
            if x < at:
                return piece.pick
        at = width
        for piece in reversed(row.right):
            at -= safe_line(piece.text).cell_length
            if x >= at:
                return piece.pick
        return ""


MUTED = "$foreground 60%"
"""The style of what matters less."""

KEY = "bold $text-accent"
"""The style of a key."""


def fit(groups: Iterable[Sequence[Piece]], width: int) -> list[Piece]:
    """The pieces of those `groups` that fit into `width` cells together, in order; the others are left out."""
    found: list[Piece] = []
    for group in groups:
        if width_of(found) + width_of(group) <= width:
            found.extend(group)
    return found


def keys_row(keys: Iterable[tuple[str, str, str]], right: Sequence[Piece] = ()) -> PieceRow:
    """A row of keys as (key, word, what a click picks)."""
    return PieceRow(tuple(piece for key in keys for piece in key_pieces(*key)), tuple(right))


def key_pieces(key: str, word: str, pick: str) -> tuple[Piece, Piece]:
    """A key and its word."""
    return Piece(key, KEY, pick), Piece(f" {word}  ", "", pick)


def width_of(pieces: Iterable[Piece]) -> int:
    """The cells that the pieces take."""
    return sum(safe_line(piece.text).cell_length for piece in pieces)


def _drawn(row: PieceRow, width: int) -> Content:
    left, right = _joined(row.left), _joined(row.right)
    room = width - left.cell_length - right.cell_length
    if room >= 0:
        return left + Content(" " * room) + right if right else left
    if width - right.cell_length > 12:
        return left.truncate(width - right.cell_length, ellipsis=True) + right
    return left.truncate(width, ellipsis=True)


def _joined(pieces: Sequence[Piece]) -> Content:
    return Content("").join([safe_line(piece.text, piece.style) for piece in pieces])
