"""The TURNS pane."""

from __future__ import annotations

from studio_tui.views.besides import Besides, with_besides
from studio_tui.widgets.lines import LinesPane, View


class TurnsPane(LinesPane):
    """Draws `studio_tui.views.turns`, with experiments under their turns and the base of a fork."""

    besides = Besides()
    _bare: View | None = None

    def show(self, view: View, *, cursor: str | None = None) -> None:
        """As a pane of lines does, with what stands besides."""
        self._bare = view
        super().show(lambda folds: with_besides(view(folds), self.besides, folds), cursor=cursor)

    def stand_besides(self, besides: Besides) -> None:
        """Show other experiments, or another base, from here on."""
        if besides != self.besides:
            self.besides = besides
            if self._bare is not None:
                self.show(self._bare)
