"""The main screen: its keys, and what runs a turn: sending, running again, stopping, the questions before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from runtime.errors import BadInput, StudioError
from runtime.values.messages import Window, read_window
from studio_tui import actions
from studio_tui.jobs import Job, sentence
from studio_tui.screens.studying import Studying
from studio_tui.widgets.composer import RequestBox
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import MUTED, Pieces

if TYPE_CHECKING:
    from runtime.events import TurnEvent

_CALLS = {"palette": "app.command_palette", "quit": "app.leave", "help": "app.help", "theme": "app.other_theme"}
"""Actions that are the app's own."""


def _bindings() -> list[BindingType]:
    return [
        Binding(
            key,
            f"digit('{key}')" if action.id == "digit" else _CALLS.get(action.id, action.id),
            action.label,
            show=False,
            priority=action.priority,
        )
        for action, key in actions.bindings()
    ]


class ThreadScreen(Studying):
    """Every action of the table is a method here, of what it stands on, or of the app."""

    BINDINGS: ClassVar[list[BindingType]] = _bindings()

    def on_mount(self) -> None:
        """Paint the frame at once; what is on the desk comes when it was read."""
        self._sent: tuple[str, str] | None = None
        self._send_then = False
        self._consented: set[tuple[str, ...]] = set()
        self.set_interval(0.25, self._tick)
        self.set_interval(0.5, self._follow)
        self.touch()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what applies is a key; everything else falls through to the widgets."""
        return actions.applies(action, self.situation) if action in actions.BY_ID and self.is_mounted else True

    def _tick(self) -> None:
        if self.studio.runs_something:
            self.paint_footer()

    def on_pieces_picked(self, event: Pieces.Picked) -> None:
        """A click on a window, a tab, or a key of the footer does what the key does."""
        event.stop()
        if event.widget.id == "window-bar":
            self.show_window(read_window(event.pick))
        elif event.widget.id == "tabs":
            self.pane(event.pick).focus()
        else:
            self.call_later(self.do, event.pick)

    async def do(self, id: str) -> None:
        """Do an action of the table: what its key does, for a click or the palette."""
        if id == "browse":
            self.pane(self.tab).focus()
        elif id == "newline":
            self.composer.box.action_newline()
        elif id == "choose":
            if isinstance(self.focused, LinesPane):
                self.focused.action_choose()
        else:
            await self.run_action(_CALLS.get(id, id))

    def on_request_box_sent(self, event: RequestBox.Sent) -> None:
        event.stop()
        self.action_send()

    def on_request_box_left(self, event: RequestBox.Left) -> None:
        event.stop()
        self.pane(self.tab).focus()

    def action_send(self) -> None:
        """Send what is typed; what is refused stays in the box."""
        text = self.composer.text
        if self.desk.opening or self.studio.jobs.of("begin") is not None:
            self._send_then = True  # sent once the thread is there
        elif self.desk.session is not None and text.strip():
            self._speak(text)
        elif self.desk.thread is None:
            self.say("nothing is open: ^o opens a thread, a seed or a file", "$text-warning")
        elif not text.strip():
            self.say("nothing is typed yet", "$text-warning")
        elif self.desk.running:
            self.say("a turn is running; ^c stops it. What you typed stays here", "$text-warning")
        else:
            self._with_consent(lambda: self._send(text))

    def _speak(self, text: str) -> None:
        """A thread of a session is spoken to in its conversation, where whoever has it answers."""
        self.composer.taken()
        self.look("going to the session", lambda: self.studio.show_session(saying=text))

    def action_session(self) -> None:
        """Back to the conversation with the project."""
        self.look("going to the session", self.studio.show_session)

    def action_rerun(self) -> None:
        """Run the selected turn again with the window shown; what it would do is said first if it reaches out."""
        record = self.desk.root
        if record is None or self.studio.turn_job is not None or self.desk.opening:
            return
        window = self.desk.window if self.desk.window is not None else record.window
        turn = record.turn
        self._with_consent(lambda: self._say_first(turn, window))

    def _say_first(self, turn: str, window: Window) -> None:
        from studio_tui.screens.confirm import Confirm, reaches_out, what_a_run_does

        plan, agent, record = self.desk.plan, self.desk.agent, self.desk.root
        if plan is None or agent is None or record is None or not reaches_out(plan):
            self._rerun(turn, window)
            return
        known = (plan.agent, *plan.models, *plan.tools)
        if known in self._consented:
            self._rerun(turn, window)
            return

        def answered(agreed: bool | None) -> None:
            if agreed:
                self._consented.add(known)
                self._rerun(turn, window)

        self.app.push_screen(Confirm("Run again", what_a_run_does(plan, agent, record, window), "run"), answered)

    def _with_consent(self, then: Callable[[], None]) -> None:
        """Ask before an agent file's own Python code may run (T9)."""
        plan, runtime = self.desk.plan, self.desk.runtime
        if plan is None and self.desk.plan_problem and not runtime.allow_tools:
            self.look("reading the agent", lambda: self._ask_consent(then))
        else:
            then()

    async def _ask_consent(self, then: Callable[[], None]) -> None:
        from studio_tui.screens.confirm import Confirm, what_consent_allows

        assert self.desk.thread is not None
        foreign = await self.desk.runtime.foreign_tools(self.desk.thread.id)
        if not foreign:
            then()
            return
        agent = self.desk.agent

        async def allow() -> None:
            self.desk.runtime.allow_tools = True
            await self.desk.look_up_plan()
            then()

        def answered(agreed: bool | None) -> None:
            if agreed:
                self.look("reading the tools", allow)
            else:
                self.say("not sent: the agent's own tools were not allowed; your text is kept", "$text-warning")

        words = what_consent_allows(agent.file if agent else "", foreign)
        self.app.push_screen(Confirm("This agent's tools run Python code", words, "allow for this sitting"), answered)

    def _send(self, text: str) -> None:
        self.unsay()
        thread = self.desk.thread.id if self.desk.thread is not None else ""
        self._sent = (thread, text)
        try:
            self.studio.runner.send(text, self._when_ended)
        except BadInput as error:
            self.say(sentence(error), "$text-warning")

    def _rerun(self, turn: str, window: Window) -> None:
        self.unsay()
        self._sent = None
        try:
            self.studio.runner.rerun(turn, window, self._when_ended)
        except BadInput as error:
            self.say(sentence(error), "$text-warning")

    def told(self, event: TurnEvent) -> None:
        """Paint what an event changes. The first one of a turn takes the text out of the box: it is stored."""
        from runtime.events import Journaled, Opened, Settled, Streamed

        live = self.desk.live
        if live is None or live.root is None:
            return
        if isinstance(event, Opened) and event.turn.id == live.root:
            if self._sent is not None and self._sent[1] == self.composer.text:
                self.composer.taken()
            self.desk.selected, self.desk.inside, self.desk.what_if = live.root, (), None
            self._wanted = live.root
            self.touch(turn_to=live.root)
        elif isinstance(event, Streamed):
            self.touch("model")
        elif isinstance(event, Journaled | Settled):
            self.touch("turns", "context", "model")
        else:
            self.touch("model")

    def _when_ended(self, job: Job) -> None:
        self.call_later(self._ended, job)

    async def _ended(self, job: Job) -> None:
        """A turn or run ended, was stopped, or was refused."""
        live = self.desk.live
        run = live.turn if live is not None else None
        try:
            await self.desk.refresh()
        except StudioError as error:
            self.say(sentence(error), "$text-error")
        if job.failed is not None:
            self.say(sentence(job.failed), "$text-error")
        if run is not None and run.view is not None and run.rerun_of is not None and self.desk.selected == run.id:
            self._wanted = run.rerun_of
            await self.desk.select(run.rerun_of)
        self.studio.stamp = await self.desk.runtime.store.changed()
        self.touch(turn_to=self.desk.selected)

    async def action_stop(self) -> None:
        """Copy the marked text if there is any, else stop what runs."""
        text = self.marked_text
        if text is not None:
            self.studio.copy(text, "the marked text")
            self.clear_selection()
        elif not await self.studio.stop():
            self.say("nothing is running; ^q quits", MUTED)
        self.paint_footer()

    def thread_opened(self) -> None:
        """Send what was sent while the thread was still being opened."""
        if self._send_then:
            self._send_then = False
            self.call_later(self.action_send)
