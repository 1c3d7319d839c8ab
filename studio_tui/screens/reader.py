"""A text to read, search and copy: the body of a request as it was sent, the help."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from runtime.errors import BadInput
from runtime.values.record import TurnRecord
from studio_tui.screens.dialog import Dialog, text_pane
from studio_tui.views.lines import Pane
from studio_tui.widgets.lines import LinesPane

if TYPE_CHECKING:
    from studio_tui.studio import StudioApp


class Reader(Dialog[None]):
    """Shows a pane of lines; `text` is what copying gives."""

    AUTO_FOCUS = "LinesPane"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "copy", show=False),
        Binding("slash", "find", "find", show=False),
        Binding("n", "again", "next", show=False),
        Binding("Y", "save", "save", show=False),
    ]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("↑↓", "scroll", ""),
        ("/", "find", "find"),
        ("n", "next", "again"),
        ("y", "copy", "copy"),
        ("Y", "save to a file", "save"),
        ("esc", "close", "leave"),
    )

    def __init__(self, title: str, intro: str, pane: Pane, text: str) -> None:
        super().__init__(title, intro)
        self._pane, self._text = pane, text
        self._words = ""

    def body(self) -> ComposeResult:
        yield LinesPane(classes="reading")
        yield Input(placeholder="find", classes="find")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(Input).display = False
        self.query_one(LinesPane).show(lambda folds: self._pane)

    def action_copy(self) -> None:
        """Copy the whole text."""
        self.say(cast("StudioApp", self.app).copied_words(self._text, "the text"), "$text-success")

    def action_save(self) -> None:
        cast("StudioApp", self.app).save(self._text)

    def action_find(self) -> None:
        """Ask for words to find."""
        box = self.query_one(Input)
        box.display = True
        box.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._words = event.value
        event.input.display = False
        self.query_one(LinesPane).focus()
        self.action_again()

    def action_again(self) -> None:
        """Go to the next line that holds the words."""
        if self._words and not self.query_one(LinesPane).search(self._words):
            self.say(f"{self._words!r} is not in this text")
        else:
            self.say("")

    def action_leave(self) -> None:
        """Close; out of the search first."""
        box = self.query_one(Input)
        if box.has_focus:
            box.display = False
            self.query_one(LinesPane).focus()
        else:
            super().action_leave()


class WireBody(Reader):
    """The body of a step, which can also be copied as a curl command."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("u", "curl", "curl", show=False)]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        *Reader.KEYS[:-1],
        ("u", "copy as curl", "curl"),
        Reader.KEYS[-1],
    )

    def __init__(self, title: str, intro: str, body: bytes, record: TurnRecord, step: int) -> None:
        text = body.decode("utf-8", "replace")
        super().__init__(title, intro, text_pane(title, pretty(text)), text)
        self._record, self._step, self._body = record, step, body

    def action_curl(self) -> None:
        """Copy the step as a curl command, with a variable where the key was."""
        from runtime.explain import curl_command

        try:
            command = curl_command(self._record, self._step, self._body)
        except BadInput as error:
            self.say(error.problem)
        else:
            self.say(cast("StudioApp", self.app).copied_words(command, "the curl command"), "$text-success")


def wire_body(record: TurnRecord, step: int, body: bytes | None) -> Reader:
    """The request body of a step as it went on the wire; one that is gone is said to be gone (A6)."""
    title = f"Request body of step {step}, turn {record.number or record.turn}" if step else "Request body"
    if not step:
        gone = "No request was made in this turn." if record.status != "running" else "No request was made yet."
        return Reader(title, "", text_pane(title, gone), gone)
    if body is None:
        gone = _gone(record)
        return Reader(title, "", text_pane(title, gone), gone)
    model = next((each.model for each in reversed(record.tiers) if each.step == step), "the model")
    intro = f"as sent to {model}: {len(body):,} bytes, laid out here with line ends; without headers or keys"
    return WireBody(title, intro, body, record, step)


def pretty(text: str) -> str:
    """A JSON text with line ends and two blanks of indent; any other text as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def _gone(record: TurnRecord) -> str:
    if record.origin != "run":
        return "There is no body: this turn was not run here, it was recovered from a file."
    return (
        "The body is gone: it was pruned to keep the store small (newest bodies are kept). The record above it stays."
    )
