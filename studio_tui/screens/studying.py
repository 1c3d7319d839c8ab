"""The main screen: studying what is on the desk. Turns, windows, rows, comparisons; nothing here runs a model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from textual.widgets import TextArea

from runtime.errors import BadInput, StudioError
from runtime.values.messages import Window, read_window
from studio_tui import showing
from studio_tui.actions import Focus
from studio_tui.desk import NEXT, Desk
from studio_tui.jobs import Job, sentence
from studio_tui.screens.main_view import PANES, MainView
from studio_tui.widgets.lines import LinesPane
from studio_tui.windows import larger, smaller

OPENING = "opening"
"""The name of the job that puts another thread on the desk."""

LOOK_AHEAD = 0.15
"""Seconds without a key after which the coming turn is assembled anew."""


class Studying(MainView):
    """Reads what the keys, the mouse and the panes ask for, and paints it."""

    def __init__(self, desk: Desk, *, store_name: str, saved: bool) -> None:
        super().__init__(desk, store_name=store_name, saved=saved)
        self._wanted = NEXT
        self._drafts: dict[str, str] = {}

    def thread_opened(self) -> None:
        """A thread lies on the desk; called once for each that is opened."""

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
            self.thread_opened()
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

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """The typed request counts as the newest row of the coming turn (X3), once the typing rests."""
        if event.text_area.text != self.composer.placed:
            self.unsay()
        if self.desk.thread is None or self.desk.selected != NEXT:
            return

        async def reading(job: Job) -> None:
            await asyncio.sleep(LOOK_AHEAD)
            await self._look_ahead_if_next()
            self.touch("context")

        self.studio.jobs.start("looking ahead", reading, group="ahead")

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
