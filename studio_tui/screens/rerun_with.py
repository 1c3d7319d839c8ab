"""A re-run with something else: agent, model, request, instructions, tools. What it would do is said before it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static, TextArea

from runtime.errors import BadInput
from runtime.values.messages import Window, read_window
from studio_tui.screens.dialog import Dialog
from studio_tui.text import safe

if TYPE_CHECKING:
    from runtime.calls import ToolMode
    from runtime.values.record import TurnRecord

MODES: tuple[ToolMode, ...] = ("live", "recorded", "stubbed")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be another in a re-run; None as in the turn. `window` is None for the one shown."""

    window: Window | None = None
    agent: str | None = None
    model: str | None = None
    request: str | None = None
    instructions: str | None = None
    tools: ToolMode = "live"


class RerunDialog(Dialog[Wanted]):
    """Gives what is wanted, or None. A line left as it is changes nothing."""

    AUTO_FOCUS = "#with-model"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "take", "take", show=False, priority=True),
        Binding("f7", "mode", "tools", show=False, priority=True),
    ]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("^s", "say what it does, and run", "take"),
        ("F7", "tools", "mode"),
        ("⇥", "next", "app.focus_next"),
        ("esc", "close", "leave"),
    )

    def __init__(self, record: TurnRecord, window: Window, instructions: str, patched: str) -> None:
        name = f"turn {record.number}" if record.number else record.turn
        intro = f"On a view before this request; the thread does not change.{f' {patched}.' if patched else ''}"
        super().__init__(f"Re-run {name} with…", intro)
        self._record, self._window, self._instructions = record, window, instructions
        self._mode: ToolMode = "live"

    def body(self) -> ComposeResult:
        yield Static(safe("window, agent, model (empty: as in the turn)"), classes="label")
        yield Input(value=str(self._window), id="with-window", select_on_focus=True)
        yield Input(placeholder=self._record.agent, id="with-agent")
        yield Input(placeholder="offline   or   openai:NAME@BASE_URL", id="with-model")
        yield Static(safe("request"), classes="label")
        yield TextArea(self._record.request, id="with-request", soft_wrap=True, show_line_numbers=False)
        yield Static(safe("instructions"), classes="label")
        yield TextArea(self._instructions, id="with-instructions", soft_wrap=True, show_line_numbers=False)
        yield Static(id="with-tools", classes="label")

    def on_mount(self) -> None:
        super().on_mount()
        self._tell_mode()

    def _tell_mode(self) -> None:
        about = {
            "live": "tools run again, on the run's own state",
            "recorded": "each call gets the result it got then; another call gets the error: not recorded",
            "stubbed": "no tool runs: every call gets a stub",
        }
        self.query_one("#with-tools", Static).update(safe(f"tools {self._mode}: {about[self._mode]}"))

    def action_mode(self) -> None:
        self._mode = MODES[(MODES.index(self._mode) + 1) % len(MODES)]
        self._tell_mode()

    def on_input_submitted(self) -> None:
        self.action_take()

    def action_take(self) -> None:
        """Give what is wanted; a window that is none is said, and nothing is lost."""
        try:
            self.dismiss(self._wanted())
        except BadInput as error:
            self.say(error.problem)

    def _wanted(self) -> Wanted:
        window = self.query_one("#with-window", Input).value.strip()
        request = self.query_one("#with-request", TextArea).text
        instructions = self.query_one("#with-instructions", TextArea).text
        if not request.strip():
            raise BadInput("a request is needed", field="request")
        return Wanted(
            window=read_window(window) if window else self._window,
            agent=self.query_one("#with-agent", Input).value.strip() or None,
            model=self.query_one("#with-model", Input).value.strip() or None,
            request=None if request == self._record.request else request,
            instructions=None if instructions == self._instructions else instructions,
            tools=self._mode,
        )
