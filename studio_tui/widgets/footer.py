"""The footer: only keys that work in the present focus and state, and at the right what is going on."""

from __future__ import annotations

from dataclasses import dataclass

from textual.reactive import reactive

from studio_tui.actions import Situation, in_footer
from studio_tui.widgets.pieces import MUTED, Piece, PieceRow, Pieces, fit, key_pieces, width_of

SMALLEST = (80, 24)
"""Columns and rows that show everything."""


@dataclass(frozen=True, slots=True)
class Status:
    """What is going on, at the right of the footer; `style` is one of ours."""

    text: str = "idle · saved"
    style: str = MUTED


class ActionFooter(Pieces):
    """Two lines of keys (one on a tiny screen); a click does what the key does."""

    DEFAULT_CSS = """
    ActionFooter { height: 2; padding: 0 1; background: $panel; color: $foreground; }
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
        groups = [key_pieces(key, word, action.id) for key, word, action in in_footer(self.situation)]
        free = width - width_of(right) - 2
        if self.size.height < 2:
            self.rows = (PieceRow(tuple(fit(groups, free)), right),)
            return
        count = 0
        while count < len(groups) and width_of(piece for group in groups[: count + 1] for piece in group) <= width:
            count += 1
        first = tuple(piece for group in groups[:count] for piece in group)
        self.rows = (PieceRow(first), PieceRow(tuple(fit(groups[count:], free)), right))
