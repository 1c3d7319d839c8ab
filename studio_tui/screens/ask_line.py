"""A dialog that asks for one line: a window, a file name."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.widgets import Input

from studio_tui.screens.dialog import Check, Dialog


class AskLine(Dialog[str]):
    """Gives the line, or None. A line that `check` finds wrong is not taken, and nothing of it is lost."""

    AUTO_FOCUS = "Input"
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (("⏎", "take it", "take"), ("esc", "close", "leave"))

    def __init__(self, title: str, intro: str, check: Check, value: str = "") -> None:
        super().__init__(title, intro)
        self._check, self._value = check, value

    def body(self) -> ComposeResult:
        yield Input(value=self._value, select_on_focus=True)

    def on_input_changed(self) -> None:
        self.say("")

    def on_input_submitted(self) -> None:
        self.action_take()

    def action_take(self) -> None:
        """Give the line if it can be used."""
        text = self.query_one(Input).value
        problem = self._check(text)
        if problem:
            self.say(problem)
        else:
            self.dismiss(text)
