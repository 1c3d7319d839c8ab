"""The MODEL pane."""

from __future__ import annotations

from studio_tui.widgets.lines import LinesPane


class ModelPane(LinesPane):
    """Draws `studio_tui.views.model`."""
