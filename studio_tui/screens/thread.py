"""The main screen: what its keys, clicks and the panes' messages do to the desk."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from runtime.errors import BadInput, StudioError
from runtime.values.messages import Window, read_window
from studio_tui import actions, showing
from studio_tui.actions import Focus
from studio_tui.desk import NEXT
from studio_tui.jobs import Job, sentence
from studio_tui.screens.main_view import PANES, MainView
from studio_tui.widgets.composer import RequestBox
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import MUTED, Pieces
from studio_tui.windows import larger, smaller

if TYPE_CHECKING:
    from runtime.events import TurnEvent

OPENING = "opening"
"""The name of the job that puts another thread on the desk."""

LOOK_AHEAD = 0.15
"""Seconds without a key after which the coming turn is assembled anew."""


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


class ThreadScreen(MainView):
    """Every action of the table is a method here, or one of the app's."""

    BINDINGS: ClassVar[list[BindingType]] = _bindings()

    def on_mount(self) -> None:
        """Paint the frame at once; what is on the desk comes when it was read."""
        self._sent: tuple[str, str] | None = None
        self._wanted = NEXT
        self._send_then = False
        self._consented: set[tuple[str, ...]] = set()
        self._drafts: dict[str, str] = {}
        self.set_interval(0.25, self._tick)
        self.set_interval(0.5, self._follow)
        self.touch()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what applies is a key; everything else falls through to the widgets."""
        return actions.applies(action, self.situation) if action in actions.BY_ID and self.is_mounted else True

    def look(self, name: str, reading: Callable[[], Awaitable[None]]) -> None:
        """Run something that reads, as the one job that looks; a later one takes its place, but not an opening's."""
        if self.desk.opening and name != OPENING:
            return

        async def work(job: Job) -> None:
            await reading()

        self.studio.jobs.start(name, work, group="look", ended=self._looked)

    def open_thread(self, thread: str, *, turn: str | None = None) -> None:
        """Put a thread on the desk; what is typed stays with the thread it was typed for."""
        if self.desk.running:
            self.say("a turn is running here; stop it first (^c), then open another thread", "$text-warning")
            return
        before = self.desk.thread.id if self.desk.thread is not None else None

        async def reading() -> None:
            await self.desk.open(thread, turn=turn)
            self._wanted = self.desk.selected
            if before is not None:
                self._drafts[before] = self.composer.text
            if before != thread:
                self.composer.put(self._drafts.get(thread, "" if before is not None else self.composer.text))
            self.touch(turn_to=self.desk.selected)
            await self._look_ahead_if_next()
            self.touch("context", "model")
            self.studio.opened(thread)
            if self.desk.plan_problem:
                self.say(f"nothing can run here yet: {self.desk.plan_problem}", "$text-warning")
            if self._send_then:
                self._send_then = False
                self.call_later(self.action_send)
            if await self.desk.read_around():
                self.touch()

        self.look(OPENING, reading)

    def select_turn(self, id: str, *, move: bool = True) -> None:
        """Study another turn, or the coming one."""
        self._wanted = id

        async def reading() -> None:
            await self.desk.select(id)
            await self._look_ahead_if_next()
            if move:
                self.pane("turns").cursor = NEXT if id == NEXT else f"turn:{id}"
            self.touch("context", "model")
            self.paint_at_rest(more=await self.desk.read_around())

        self.unsay()
        self.look("reading the turn", reading)

    def show_window(self, window: Window | None) -> None:
        """Lay a window over the record under study; it is the coming turn's too."""
        self.desk.window = window  # at once: the next key steps on from here
        self.touch("around")

        async def reading() -> None:
            await self.desk.lay(window)
            await self._look_ahead_if_next()
            self.touch("context", "model")

        self.unsay()
        self.look("counting", reading)

    async def _look_ahead_if_next(self) -> None:
        if self.desk.selected == NEXT:
            await self.desk.look_ahead(self.composer.text)

    def _looked(self, job: Job) -> None:
        if job.failed is not None:
            self.say(sentence(job.failed), "$text-error")
        self.touch()

    def _tick(self) -> None:
        if self.studio.runs_something:
            self.paint_footer()

    async def _follow(self) -> None:
        """Follow a store that another process writes."""
        desk = self.desk
        if desk.thread is None or desk.running or self.studio.jobs.running():
            return
        try:
            stamp = await desk.runtime.store.changed()
            if stamp == self.studio.stamp and not desk.elsewhere:
                return
            self.studio.stamp = stamp
            await desk.refresh()
            await self._look_ahead_if_next()
        except StudioError as error:
            self.say(sentence(error), "$text-error")
            return
        self.touch()

    def on_lines_pane_highlighted(self, event: LinesPane.Highlighted) -> None:
        """The cursor came to rest: in TURNS that selects, elsewhere it decides which keys apply."""
        which = event.sender.id
        id = event.line.removeprefix("turn:")
        if which == "turns" and event.line != event.sender.cursor:
            return  # the cursor has moved on since
        if which == "turns" and id != self._wanted and (id == NEXT or self.desk.turn(id) is not None):
            self.select_turn(id, move=False)
        else:
            self.touch("around")

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        """Enter on a line: go into what it stands for."""
        kind, _, id = event.line.partition(":")
        if kind == NEXT:
            self.composer.box.focus()
        elif kind == "fork":
            self.open_thread(id)
        elif kind == "rerun":
            self.select_turn(id)
        elif kind == "child" and self.desk.enter(id):
            self._entered()
        elif kind == "turn":
            self.pane("context").focus()

    def on_lines_pane_toggle_fold(self, event: LinesPane.ToggleFold) -> None:
        """A range of rows was unfolded: read their texts."""
        kind, _, span = event.line.partition(":")
        first, _, last = span.partition("-")
        if kind == "out" and first.isdigit():

            async def reading() -> None:
                await self.desk.load(int(first), int(last or first))
                self.touch("context")

            self.look("reading rows", reading)

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

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """The typed request counts as the newest row of the coming turn (X3), once the typing rests."""
        if event.text_area.text != self.composer.placed:
            self.unsay()
        if self.desk.thread is None or self.desk.selected != NEXT:
            return

        async def reading(job: Job) -> None:
            import asyncio

            await asyncio.sleep(LOOK_AHEAD)
            await self._look_ahead_if_next()
            self.touch("context")

        self.studio.jobs.start("looking ahead", reading, group="ahead")

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

    def _step_window(self, step: Callable[..., Window]) -> None:
        bar = showing.windows_of(self.desk)
        self.show_window(step(bar.shown, among=bar.values))

    def action_smaller(self) -> None:
        self._step_window(smaller)

    def action_larger(self) -> None:
        self._step_window(larger)

    def action_digit(self, digit: str) -> None:
        self.show_window(int(digit))

    def action_all_rows(self) -> None:
        self.show_window("all")

    def action_as_sent(self) -> None:
        self.show_window(None)

    def action_window(self) -> None:
        from studio_tui.screens.ask_line import AskLine

        def check(text: str) -> str:
            try:
                read_window(text.strip())
            except BadInput as error:
                return str(error.problem)
            return ""

        def answered(text: str | None) -> None:
            if text is not None:
                self.show_window(read_window(text.strip()))

        shown = showing.windows_of(self.desk).shown
        self.app.push_screen(
            AskLine("Window", "how many of the newest stored messages: a whole number, or all", check, str(shown)),
            answered,
        )

    def action_reseed(self) -> None:
        """A fresh thread from the same seed."""
        thread = self.desk.thread
        if thread is not None:
            self._open_made(lambda: self.desk.runtime.reseed(thread.id), "reseeded")

    def action_fork(self) -> None:
        """A thread up to the highlighted message."""
        thread, seq = self.desk.thread, self.seq_at_hand
        if thread is not None:
            self._open_made(lambda: self.desk.runtime.fork(thread.id, seq), f"forked at seq {seq}")

    @property
    def seq_at_hand(self) -> int:
        """The highlighted message; else the last one of the selected turn, else the thread's last."""
        kind, _, id = self.highlighted("context").partition(":")
        if kind == "row" and id.isdigit() and self.focus_now != "turns":
            return int(id)
        record = self.desk.root
        if record is not None:
            found = record.stored_assistant or record.stored_user
            if found is not None:
                return found
        return self.desk.thread.length if self.desk.thread is not None else 0

    def _open_made(self, make: Callable[[], Awaitable[str]], told: str) -> None:
        if self.desk.running:
            self.say("a turn is running here; stop it first (^c)", "$text-warning")
            return

        async def reading() -> None:
            made = await make()
            self.open_thread(made)
            self.say(f"{told}: thread {made}")

        self.look("making a thread", reading)

    def action_open(self) -> None:
        self.studio.pick()

    def action_mark(self) -> None:
        """Mark the highlighted turn or run."""
        id = self.highlighted("turns").removeprefix("turn:")
        if self.desk.turn(id) is None:
            return
        self.desk.mark(id)
        marks = [turn for each in self.desk.marked if (turn := self.desk.turn(each)) is not None]
        names = " and ".join(f"turn {turn.number}" if turn.number else f"run {turn.id}" for turn in marks)
        self.say(f"marked: {names}" + ("; c compares them" if len(marks) == 2 else "") if marks else "no mark")
        self.touch("around")

    def action_compare(self) -> None:
        async def reading() -> None:
            pair = await self.desk.pair()
            if pair is None:
                self.say("nothing to compare with: re-run this turn (^r), or mark two (space)", "$text-warning")
                return
            from studio_tui.screens.compare import CompareScreen

            await self.app.push_screen(CompareScreen(*pair))

        self.look("comparing", reading)

    def action_why(self) -> None:
        from studio_tui.screens.why import WhyDialog

        self.app.push_screen(WhyDialog(self.desk), self._go_to_row)

    def _go_to_row(self, seq: int | None) -> None:
        if seq is not None:
            self.pane("context").focus()
            self.pane("context").cursor = f"row:{seq}"

    def action_wire(self) -> None:
        """The request body of the highlighted step, as it was sent."""
        record = self.desk.record
        if record is None:
            return
        kind, _, id = self.highlighted("model").partition(":")
        steps = [step.step for step in record.steps]
        step = int(id) if kind == "step" and id.isdigit() else (steps[-1] if steps else 0)

        async def reading() -> None:
            from studio_tui.screens.reader import wire_body

            body = await self.desk.body(record.turn, step) if step else None
            await self.app.push_screen(wire_body(record, step, body))

        self.look("reading the body", reading)

    def action_about(self) -> None:
        """Where the thread comes from."""
        from studio_tui.screens.about import about_thread

        if self.desk.thread is not None:
            self.app.push_screen(about_thread(self.desk))

    def action_copy(self) -> None:
        text = showing.finding_of(self.desk)
        if text:
            self.studio.copy(text, "the finding")
        else:
            self.say("there is no finding yet", "$text-warning")

    def action_save(self) -> None:
        text = self.marked_text or showing.finding_of(self.desk)
        if text:
            self.studio.save(text)

    def action_previous_turn(self) -> None:
        self.select_turn(self.desk.step_turn(-1))

    def action_next_turn(self) -> None:
        self.select_turn(self.desk.step_turn(+1))

    def action_coming(self) -> None:
        self.select_turn(NEXT)

    def action_next_pane(self) -> None:
        self._go_pane(+1)

    def action_previous_pane(self) -> None:
        self._go_pane(-1)

    def _go_pane(self, by: int) -> None:
        ring: tuple[Focus, ...] = ("composer", *PANES)
        to = ring[(ring.index(self.focus_now) + by) % len(ring)]
        if to == "composer":
            self.composer.box.focus()
        else:
            if self.tab != to:
                self.show_tab(to)
            self.pane(to).focus()

    def action_back(self) -> None:
        """Out of a delegated turn; else back to the request."""
        if self.desk.leave():
            self._entered()
        else:
            self.composer.box.focus()

    def _entered(self) -> None:
        async def reading() -> None:
            await self.desk.overlay()
            self.touch("context", "model")

        self.look("reading the delegated turn", reading)
