"""The footer of a screen with keys of its own: as many rows as its keys need, and at the right what is going on."""

from __future__ import annotations

from collections.abc import Sequence

from textual.reactive import reactive

from studio_tui.widgets.footer import Status
from studio_tui.widgets.pieces import Piece, PieceRow, Pieces, fit, key_pieces, width_of

Key = tuple[str, str, str]
"""A key as it is written, its word, and the action that it (and a click on it) runs; empty for none."""


class KeysFooter(Pieces):
    """Keys on up to two rows; what is going on stands at the right of the last and is never cut before the keys."""

    DEFAULT_CSS = """
    KeysFooter { height: 2; padding: 0 1; background: $panel; color: $foreground; }
    """

    keys: reactive[tuple[Key, ...]] = reactive(())
    status: reactive[Status] = reactive(Status(""))

    def on_resize(self) -> None:
        self._arrange()

    def watch_keys(self) -> None:
        self._arrange()

    def watch_status(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        width, count = self.content_size.width, self.content_size.height
        if width <= 0:
            return
        right = (Piece(f" {self.status.text}", self.status.style),) if self.status.text else ()
        groups: Sequence[tuple[Piece, ...]] = [key_pieces(*key) for key in self.keys]
        rows: list[PieceRow] = []
        for last in [False] * (count - 1) + [True]:
            room = max(0, width - width_of(right)) if last else width
            taken = 0
            while taken < len(groups) and width_of(piece for group in groups[: taken + 1] for piece in group) <= room:
                taken += 1
            if last and taken == 0:
                taken = len(fit(groups, room)) // 2
            rows.append(PieceRow(tuple(piece for group in groups[:taken] for piece in group), right if last else ()))
            groups = groups[taken:]
        self.rows = tuple(rows)
