"""The MODEL pane."""

from __future__ import annotations

from typing import ClassVar

from studio_tui.widgets.lines import LinesPane


class ModelPane(LinesPane):
    """Draws `studio_tui.views.model`; follows a stream only while its end is in sight."""

    FOLLOWS: ClassVar[bool] = True
