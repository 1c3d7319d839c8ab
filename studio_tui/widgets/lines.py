"""A pane of lines on the Line API: draws a view, with cursor, folds, search and marking by mouse."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from studio_tui.views.lines import Pane

View: TypeAlias = Callable[[frozenset[str]], Pane]
"""A view that only needs to know which folds differ from how they begin."""


class LinesPane(ScrollView, can_focus=True):
    """Draws a pane. Keys: up, down, page up, page down, home, end move the cursor; Enter chooses or folds."""

    class Chosen(Message):
        """Enter or a click on a line that does not fold."""

        def __init__(self, sender: LinesPane, line: str) -> None:
            super().__init__()
            self.sender, self.line = sender, line

        @property
        def control(self) -> LinesPane:
            return self.sender

    class Highlighted(Chosen):
        """The cursor came to rest on a line."""

    class ToggleFold(Chosen):
        """A line was folded or unfolded; the pane has already drawn it."""

    pane: reactive[Pane] = reactive(Pane("", "", ()))
    cursor: reactive[str] = reactive("")
    """The id of the line the cursor is on."""

    def show(self, view: View, *, cursor: str | None = None) -> None:
        """Draw `view` from here on; its folds are kept here by line id. `cursor` moves the cursor to that line."""
        self.pane = view(frozenset())

    def search(self, words: str, *, backwards: bool = False) -> bool:
        """Move the cursor to the next line that contains `words` (casefolded); False if there is none."""
        return False

    def render_line(self, y: int) -> Strip:
        return Strip.blank(self.size.width)
