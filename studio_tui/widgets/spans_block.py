"""A few lines of spans that wrap and grow with their text: heads, verdicts, findings."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from studio_tui.text import safe_line
from studio_tui.views.lines import Span, StyleName
from studio_tui.widgets.pieces import MUTED

STYLES: dict[StyleName, str] = {
    "text": "",
    "muted": MUTED,
    "reason": MUTED,
    "number": MUTED,
    "title": "bold",
    "key": "bold $text-accent",
    "ok": "bold $text-success",
    "warning": "$text-warning",
    "error": "bold $text-error",
    "what-if": "bold $text-accent",
    "mark": "bold $text-warning",
}
"""How the styles that views name look outside of panes."""


class SpansBlock(Static):
    """Lines of spans; foreign text among them is drawn character for character (Q2)."""

    DEFAULT_CSS = """
    SpansBlock { height: auto; padding: 0 1; }
    """

    def show(self, lines: Sequence[Sequence[Span]]) -> None:
        """Draw `lines`; none of them leaves an empty block."""
        drawn = [
            Content("").join([safe_line(span.text, STYLES.get(span.style, "")) for span in line]) for line in lines
        ]
        self.update(Content("\n").join(drawn))
