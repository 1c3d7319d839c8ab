"""The TURNS pane."""

from __future__ import annotations

from studio_tui.widgets.lines import LinesPane


class TurnsPane(LinesPane):
    """Draws `studio_tui.views.turns`."""
