"""The footer: only keys that work in the present focus and state, and at the right what is going on."""

from __future__ import annotations

from dataclasses import dataclass

from textual.reactive import reactive

from studio_tui.actions import Situation, in_footer
from studio_tui.widgets.pieces import Piece, PieceRow, Pieces, fit

SMALLEST = (80, 24)
"""Columns and rows that show everything."""


@dataclass(frozen=True, slots=True)
class Status:
    """What is going on, at the right of the footer; `style` is one of ours."""

    text: str = "idle · saved"
    style: str = "$text-muted"


class ActionFooter(Pieces):
    """Two lines of keys (one on a tiny screen); a click does what the key does."""

    DEFAULT_CSS = """
    ActionFooter { height: 2; padding: 0 1; background: $panel; color: $foreground; }
    .-tiny ActionFooter { height: 1; }
    """

    situation: reactive[Situation] = reactive(Situation())
    status: reactive[Status] = reactive(Status())
    small: reactive[str] = reactive("")

    def on_resize(self) -> None:
        self._arrange()

    def watch_situation(self) -> None:
        self._arrange()

    def watch_status(self) -> None:
        self._arrange()

    def watch_small(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        width = self.content_size.width
        if width <= 0:
            return
        right = (Piece(self.status.text, self.status.style),)
        if self.small:
            self.rows = (PieceRow((Piece(self.small, "$text-warning"),), right),)
            return
        shown = fit(self._keys(), width, lines=2)
        free = width - len(self.status.text) - 2
        if len(shown) == 2 or not fits(shown[0], free):
            last = fit((piece for row in shown[1:] for piece in row), free, lines=1)[0]
            self.rows = (PieceRow(tuple(shown[0])), PieceRow(tuple(last), right))
        else:
            self.rows = (PieceRow(tuple(shown[0]), right),)

    def _keys(self) -> list[Piece]:
        return [Piece(f"{key} {word}  ", "$foreground", action.id) for key, word, action in in_footer(self.situation)]


def fits(pieces: list[Piece], width: int) -> bool:
    """Whether the pieces need at most `width` cells."""
    return sum(len(piece.text) for piece in pieces) <= width
