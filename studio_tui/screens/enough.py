"""What is enough: asked in the words of `expect`, with in how many of the repeats it has to hold."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from runtime.errors import BadInput
from runtime.experiments.enough import Enough, read_enough
from studio_tui.screens.dialog import Dialog, show_lines
from studio_tui.views.lines import Line, Span
from studio_tui.widgets.lines import LinesPane

WORDS: tuple[tuple[str, str], ...] = (
    ("same as all", "the answer that every stored message together gives (equal but for case and blanks)"),
    ("contains: ", "the answer says this text, whatever its case:  contains: 5th"),
    ("lacks: ", "the answer does not say it:  lacks: I do not know"),
    ("matches: ", "a regular expression is found in the answer:  matches: \\b5(th)?\\b"),
    ("equals: ", "the answer is this text, whatever its case and blanks"),
    ("calls: ", "a tool of this name is called:  calls: find-notes"),
    ("json: ", 'the answer is this JSON, whatever the order of its keys:  json: {"due": 5}'),
    ("by hand", "you say of each answer whether it is enough"),
)


class EnoughDialog(Dialog[Enough]):
    """Gives the predicate, or None. One that cannot be read is not taken, and nothing of it is lost."""

    AUTO_FOCUS = "#predicate"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("down", "into", "list", show=False)]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("⏎", "take it", "take"),
        ("↓", "the words there are", "into"),
        ("⇥", "how often", "app.focus_next"),
        ("esc", "close", "leave"),
    )

    def __init__(self, enough: Enough, repeats: int) -> None:
        super().__init__("Enough when", "What has to hold of an answer: a word, and what it looks for.")
        self._enough, self._repeats = enough, repeats

    def body(self) -> ComposeResult:
        yield Input(value=" and ".join(map(str, self._enough.predicates)), id="predicate", select_on_focus=True)
        at_least = "" if self._enough.at_least is None else str(self._enough.at_least)
        yield Input(value=at_least, id="at-least", placeholder=f"in at least … of {self._repeats} runs; empty: in all")
        yield LinesPane(classes="words")

    def on_mount(self) -> None:
        super().on_mount()
        lines = [
            Line(f"word:{at}", (Span(f"  {word.strip():<13}", "key"), Span(about)), hang=15)
            for at, (word, about) in enumerate(WORDS)
        ]
        show_lines(self.query_one(LinesPane), "words", lines)

    def on_input_changed(self) -> None:
        self.say("")

    def on_input_submitted(self) -> None:
        self.action_take()

    def action_into(self) -> None:
        self.query_one(LinesPane).focus()

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        """A word of the list goes into the box; one that stands alone is taken."""
        event.stop()
        number = event.line.removeprefix("word:")
        if not number.isdigit():
            return
        word = WORDS[int(number)][0]
        box = self.query_one("#predicate", Input)
        box.value = word
        if word.endswith(" "):
            box.select_on_focus = False  # what is typed next goes behind the word
            box.focus()
            box.cursor_position = len(word)
        else:
            self.action_take()

    def action_take(self) -> None:
        """Give what is written, if it can be read."""
        try:
            self.dismiss(self._read())
        except BadInput as error:
            self.say(error.problem)

    def _read(self) -> Enough:
        text = self.query_one("#predicate", Input).value.strip()
        number = self.query_one("#at-least", Input).value.strip()
        if number and not (number.isascii() and number.isdigit() and len(number) < 7):
            raise BadInput(f"in at least how many of the runs: a whole number, not {number[:40]!r}", field="at least")
        if text == " and ".join(map(str, self._enough.predicates)):
            predicates = self._enough.predicates
        else:
            predicates = read_enough([text]).predicates
        return Enough(predicates, read_enough([], at_least=int(number) if number else None).at_least)
