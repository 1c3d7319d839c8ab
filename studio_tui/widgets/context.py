"""The CONTEXT pane."""

from __future__ import annotations

from studio_tui.widgets.lines import LinesPane


class ContextPane(LinesPane):
    """Draws `studio_tui.views.context`."""
