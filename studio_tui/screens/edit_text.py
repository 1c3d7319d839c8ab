"""A dialog with a box of several lines: another text for a message in the next re-run."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from studio_tui.screens.dialog import Dialog


class EditText(Dialog[str]):
    """Gives the text, or None. ^s takes it; Enter begins a new line."""

    AUTO_FOCUS = "TextArea"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "take", "take", show=False, priority=True)]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (("^s", "take it", "take"), ("esc", "close", "leave"))

    def __init__(self, title: str, intro: str, text: str) -> None:
        super().__init__(title, intro)
        self._text = text

    def body(self) -> ComposeResult:
        yield TextArea(self._text, soft_wrap=True, show_line_numbers=False)

    def action_take(self) -> None:
        self.dismiss(self.query_one(TextArea).text)
