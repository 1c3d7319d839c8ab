"""Judging by hand: which of the answers of an experiment are enough. Equal answers are judged together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtime.experiments.enough import Marks
from runtime.experiments.results import Group, Run
from studio_tui.screens.dialog import Dialog, show_lines
from studio_tui.views.lines import Line, Span
from studio_tui.widgets.lines import LinesPane
from studio_tui.windows import shown


class JudgeDialog(Dialog[dict[str, bool]]):
    """Gives the marks by turn, or None. Answers that are not judged leave their windows without a verdict."""

    AUTO_FOCUS = "LinesPane"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e,plus", "mark(True)", "enough", show=False),
        Binding("n,minus", "mark(False)", "not enough", show=False),
        Binding("ctrl+s,s", "take", "take", show=False),
    ]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("e", "enough", "mark(True)"),
        ("n", "not enough", "mark(False)"),
        ("⏎", "the other way", "turn"),
        ("s", "take the marks", "take"),
        ("esc", "close", "leave"),
    )

    def __init__(self, request: str, groups: Sequence[Group], runs: Sequence[Run], marks: Marks) -> None:
        super().__init__("Judge by hand", f"{request}\nWhich of these answers are enough?")
        self._groups = tuple(groups)
        self._marks = dict(marks)
        self._turns = {group.letter: [run.turn for run in runs if run.group == group.letter] for group in groups}

    def body(self) -> ComposeResult:
        yield LinesPane(classes="words")

    def on_mount(self) -> None:
        super().on_mount()
        self._list()

    def _list(self) -> None:
        lines = [self._line(group) for group in self._groups]
        if not lines:
            lines = [Line("none", (Span("no run has answered yet", "muted"),))]
        show_lines(self.query_one(LinesPane), "answers", lines)

    def _line(self, group: Group) -> Line:
        verdict = self._verdict(group.letter)
        words = {True: Span("✔ enough      ", "ok"), False: Span("✘ not enough  ", "warning")}
        mark = (
            words.get(verdict, Span("? not judged  ", "muted"))
            if verdict is not None
            else Span("? not judged  ", "muted")
        )
        windows = ", ".join(shown(window) for window in group.windows)
        return Line(
            f"answer:{group.letter}",
            (mark, Span(f"{group.letter}  ", "key"), Span(group.answer), Span(f"   windows {windows}", "muted")),
            hang=17,
        )

    def _verdict(self, letter: str) -> bool | None:
        """What was said of an answer; None if nothing was, or not of all of its runs."""
        said = {self._marks.get(turn) for turn in self._turns[letter]}
        return said.pop() if len(said) == 1 else None

    def _here(self) -> str:
        return self.query_one(LinesPane).cursor.removeprefix("answer:")

    def action_mark(self, enough: bool) -> None:
        """Mark the answer under the cursor."""
        letter = self._here()
        if letter in self._turns:
            self._marks.update(dict.fromkeys(self._turns[letter], enough))
            self._list()

    def action_turn(self) -> None:
        letter = self._here()
        if letter in self._turns:
            self.action_mark(self._verdict(letter) is not True)

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        """Enter marks the other way."""
        event.stop()
        self.action_turn()

    def action_take(self) -> None:
        self.dismiss(self._marks)
