"""The main screen with its experiments: sweep, leave one out, rows dropped or edited by hand, re-runs with changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events

from runtime.errors import BadInput
from runtime.values.messages import Message, Window
from studio_tui.desk import NEXT
from studio_tui.screens.rerun_with import Wanted
from studio_tui.screens.thread_work import ThreadWork
from studio_tui.views.besides import Besides
from studio_tui.views.patches import Patches
from studio_tui.widgets.context import ContextPane
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.turns import TurnsPane

if TYPE_CHECKING:
    from runtime.stores import Experiment
    from runtime.subject import Changes, Subject
    from runtime.threads import RunPlan

SEARCHED = 5_000
"""Rows up to which a sweep on this machine looks for the edge at once: every row is looked at for it."""


class Workbench(ThreadWork):
    """The actions `sweep`, `leave_out`, `drop_row`, `edit_row`, `rerun_with`, `adopt`, `keep_run`."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        self.patches = Patches()
        self._besides_of: tuple[str, int] | None = None
        self._wanted_with = Wanted()

    # What stands besides the turns

    def on_mount(self) -> None:
        self.studio.experiments.over = self._look_anew

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Back from another screen: an experiment may have been kept."""
        self._look_anew()

    def _look_anew(self) -> None:
        self._besides_of = None
        self._look_besides()

    def on_lines_pane_highlighted(self, event: LinesPane.Highlighted) -> None:
        """What was dropped or edited by hand belongs to one turn."""
        self._mind_patches()

    def touch(self, *parts: str, turn_to: str | None = None) -> None:
        super().touch(*parts, turn_to=turn_to)
        if not parts or "turns" in parts:
            self._look_besides()
        self._mind_patches()

    def _look_besides(self) -> None:
        """Read the thread's experiments and base, if there is another thread on the desk or the store has changed."""
        thread = self.desk.thread
        if thread is None or not self.is_attached or self._besides_of == (thread.id, self.studio.stamp):
            return
        self._besides_of = (thread.id, self.studio.stamp)

        async def work(job: object) -> None:
            thread, store = self.desk.thread, self.desk.runtime.store
            if thread is None:
                return
            experiments = tuple(await store.experiments(thread.id))
            base = None
            if thread.forked_at is not None and thread.parent is not None:
                base = await store.thread(thread.parent)
            if self.desk.thread is not None and self.desk.thread.id == thread.id and self.is_attached:
                self.query_one("#turns", TurnsPane).stand_besides(Besides(experiments, base, thread.forked_at))

        self.studio.jobs.start("reading experiments", work, group="ahead-besides")

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        """Enter on an experiment opens it again; on the base of a fork, that thread."""
        kind, _, id = event.line.partition(":")
        if kind == "experiment":
            self.open_experiment(id)
        elif kind == "base":
            self.open_thread(id)

    def open_experiment(self, id: str) -> None:
        """A kept sweep or leave-one-out, on its screen."""

        async def reading() -> None:
            await self._show_experiment(await self.desk.runtime.store.experiment(id))

        self.look("opening the experiment", reading)

    async def _show_experiment(self, found: Experiment) -> None:
        if found.kind == "ablation":
            from studio_tui.screens.ablate import AblateScreen

            await self.app.push_screen(AblateScreen(kept=found.id))
        else:
            from studio_tui.screens.sweep import SweepScreen

            await self.app.push_screen(SweepScreen(kept=found.id))

    def action_back_to_experiment(self) -> None:
        """The experiment that runs here, else the thread's newest."""
        thread = self.desk.thread

        async def reading() -> None:
            store = self.desk.runtime.store
            running = self.studio.experiments.running
            found = [await store.experiment(running)] if running else []
            if not found and thread is not None:
                found = await store.experiments(thread.id, limit=1)
            if found:
                await self._show_experiment(found[0])
            else:
                self.say("there is no experiment on this thread yet: F5 begins a sweep", "$text-warning")

        self.look("opening the experiment", reading)

    # Experiments

    def action_sweep(self) -> None:
        """The selected turn's request, or the one that is typed for the next turn, under several windows."""
        self._study("planning the sweep", self._sweep)

    def action_leave_out(self) -> None:
        self._study("planning to leave one out", self._leave_out)

    def _study(self, name: str, then: Callable[[Subject, Changes], None]) -> None:
        if self.studio.experiments.job is not None:
            self.action_back_to_experiment()
            return

        async def reading() -> None:
            found = await self._subject()
            if found is not None:
                then(*found)

        self._with_consent(lambda: self.look(name, reading))

    async def _subject(self) -> tuple[Subject, Changes] | None:
        """The point under study, and how its runs differ: tools as recorded where there is a record."""
        from runtime.subject import Changes

        desk = self.desk
        if desk.thread is None:
            return None
        if desk.selected == NEXT:
            text = self.composer.text.strip()
            if not text:
                self.say("type the request first: the sweep asks it under several windows", "$text-warning")
                return None
            return await desk.runtime.subject_on(desk.thread.id, text), Changes()
        subject = await desk.runtime.subject(desk.selected)
        patches = self._patches_now
        return subject, Changes("recorded", tuple(sorted(patches.drop)), dict(patches.edit) or None)

    def _sweep(self, subject: Subject, changes: Changes) -> None:
        from runtime.experiments import SweepSpec
        from runtime.experiments.results import DEFAULT_WINDOWS
        from studio_tui.screens.sweep import SweepScreen

        shown = self.desk.window
        windows = () if shown is None else (*DEFAULT_WINDOWS, subject.window, shown)
        here = self._stays_here and subject.stored <= SEARCHED
        spec = SweepSpec(windows=windows, changes=changes, smallest=here)
        self.app.push_screen(SweepScreen(subject=subject, spec=spec))

    def _leave_out(self, subject: Subject, changes: Changes) -> None:
        from runtime.experiments import AblateSpec
        from studio_tui.screens.ablate import AblateScreen

        window = self.desk.window if self.desk.window is not None else subject.window
        self.app.push_screen(AblateScreen(subject=subject, spec=AblateSpec(window, changes=changes)))

    @property
    def _stays_here(self) -> bool:
        """Whether what answers sends nothing to a server and runs no code of the user's own."""
        from studio_tui.screens.confirm import reaches_out

        return self.desk.plan is not None and not reaches_out(self.desk.plan)

    # Rows dropped or edited by hand

    @property
    def _patches_now(self) -> Patches:
        """What was dropped or edited for the selected turn."""
        return self.patches if self.patches.turn == self.desk.selected else Patches(self.desk.selected)

    def _mind_patches(self) -> None:
        if self.is_attached:
            self.query_one("#context", ContextPane).patch(self._patches_now)

    def _row_at_hand(self) -> int | None:
        """The highlighted row, if a run on the view could see it: not the request's own."""
        kind, _, id = self.highlighted("context").partition(":")
        record = self.desk.root
        if kind != "row" or not id.isdigit() or record is None:
            self.say("go to a message in CONTEXT first", "$text-warning")
            return None
        upto = record.view.upto if record.view is not None else (record.stored_user or 1) - 1
        if int(id) > upto:
            self.say("this is the request itself; R re-runs with another one", "$text-warning")
            return None
        return int(id)

    def action_drop_row(self) -> None:
        """Leave the highlighted row out of the next run, or take that back."""
        seq = self._row_at_hand()
        if seq is not None:
            self._patch(self._patches_now.dropping(seq))

    def action_edit_row(self) -> None:
        """Ask for another text of the highlighted row; its own text takes that back."""
        from studio_tui.screens.edit_text import EditText

        seq = self._row_at_hand()
        row = self.desk.rows.get(seq) if seq is not None else None
        record = self.desk.record
        if seq is None:
            return
        known = row.text if isinstance(row, Message) else None
        if known is None and record is not None and record.context is not None:
            known = next((each.text for each in record.context.rows if each.seq == seq), None)
        if known is None:
            self.say("this message is not loaded, or cannot be read", "$text-warning")
            return
        stored = known

        def answered(text: str | None) -> None:
            if text is not None:
                self._patch(self._patches_now.editing(seq, None if text == stored else text))

        intro = "What the next run sees instead. The thread does not change."
        self.app.push_screen(
            EditText(f"Another text of seq {seq}", intro, self._patches_now.edit.get(seq, stored)), answered
        )

    def _patch(self, patches: Patches) -> None:
        self.patches = replace(patches, turn=self.desk.selected)
        self._mind_patches()
        words = patches.words
        self.say(f"^r re-runs {words}; F5 sweeps so" if words else "the next run sees every message as it is stored")

    # Re-runs

    def _rerun(self, turn: str, window: Window) -> None:
        """Run again with the window shown, and with what was dropped, edited, or asked to be another."""
        self.unsay()
        self._sent = None
        wanted, self._wanted_with = self._wanted_with, Wanted()
        patches = self._patches_now
        runtime = self.desk.runtime
        try:
            self.studio.runner.run(
                "the re-run",
                lambda: runtime.stream_rerun(
                    turn,
                    window=window,
                    agent=wanted.agent,
                    model=wanted.model,
                    request=wanted.request,
                    instructions=wanted.instructions,
                    tools=wanted.tools,
                    drop=tuple(sorted(patches.drop)),
                    edit=dict(patches.edit) or None,
                ),
                self._when_ended,
            )
        except BadInput as error:
            self.say(str(error.problem), "$text-warning")

    def action_rerun_with(self) -> None:
        """Ask what is to be another, say what it will execute and send where, and run it."""
        from studio_tui.screens.rerun_with import RerunDialog

        record, agent = self.desk.root, self.desk.agent
        if record is None or self.studio.turn_job is not None:
            return
        window = self.desk.window if self.desk.window is not None else record.window
        instructions = agent.instructions if agent is not None and agent.name == record.agent else ""

        def answered(wanted: Wanted | None) -> None:
            if wanted is not None:
                self.look("planning the re-run", lambda: self._announce(record.turn, wanted))

        self.app.push_screen(RerunDialog(record, window, instructions, self._patches_now.words), answered)

    async def _announce(self, turn: str, wanted: Wanted) -> None:
        """Say what the re-run would do; it is run if that is agreed (X4)."""
        from studio_tui.screens.confirm import Confirm, what_a_run_does

        desk = self.desk
        record = desk.root
        assert desk.thread is not None
        assert record is not None
        plan: RunPlan = await desk.runtime.plan_of(desk.thread.id, agent=wanted.agent, model=wanted.model)
        if wanted.tools != "live":
            plan = replace(plan, tools=(), foreign=())
        agent = desk.agent
        assert agent is not None
        window = wanted.window if wanted.window is not None else record.window
        told = [what_a_run_does(plan, agent, record, window)]
        if wanted.tools != "live":
            told.append(f"No tool runs: calls are answered as {wanted.tools}")
        if words := self._patches_now.words:
            told.append(f"It runs {words}")

        def answered(agreed: bool | None) -> None:
            if agreed and window is not None:
                self._wanted_with = wanted
                self._rerun(turn, window)

        await self.app.push_screen(Confirm("Run again", "\n".join(told), "run"), answered)

    def action_keep_run(self) -> None:
        """Make the selected re-run a thread of its own."""
        run = self.desk.selected

        async def make() -> str:
            from runtime.experiments import make_fork

            return await make_fork(self.desk.runtime, run)

        self._open_made(make, "made the re-run a thread")

    def action_adopt(self) -> None:
        """Write the window shown into the agent's file, after showing the change."""
        from studio_tui.screens.adopt import adopt

        if self.desk.window is not None:
            adopt(self.studio, self.desk.window, self.say)
