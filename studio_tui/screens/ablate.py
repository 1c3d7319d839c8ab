"""The leave-one-out screen: whose absence changes the verdict, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from runtime.errors import BadInput, StudioError
from runtime.experiments.results import AblateSpec, Ablation, Announcement
from runtime.values.record import TurnRecord
from studio_tui.experimenting import subject_of
from studio_tui.jobs import sentence
from studio_tui.screens.experiment import ExperimentScreen
from studio_tui.screens.sweep_asking import ask_repeats
from studio_tui.views import ablate as view
from studio_tui.views.compare import outcomes_pane
from studio_tui.views.lines import Line, Pane, Span
from studio_tui.views.patches import Patches
from studio_tui.views.sweep import enough_line, tools_line
from studio_tui.widgets.footer import Status
from studio_tui.widgets.keys_footer import Key
from studio_tui.widgets.lines import LinesPane
from studio_tui.windows import shown

if TYPE_CHECKING:
    from runtime.experiments.enough import Enough
    from runtime.subject import Subject
    from studio_tui.experimenting import Found, Told


class AblateScreen(ExperimentScreen):
    """An ablation that is to be run (`subject` and `spec`), or one that is kept (`kept`). Runs at once where nothing
    leaves this machine, else after ^r (X4)."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "enough", "enough when", show=False),
        Binding("d", "decisive", "only what matters", show=False),
        Binding("k", "repeats", "runs each", show=False),
        Binding("j", "judge", "judge by hand", show=False),
    ]
    NAMES: ClassVar[dict[str, str]] = {"table": "WITHOUT", "left": "LEFT OUT", "right": "ANSWER"}
    ON_SCREEN: ClassVar[tuple[tuple[str, str], ...]] = (
        ("LEAVE ONE OUT", "the request that is run again, at one window"),
        ("ENOUGH WHEN", "what must hold of an answer; s changes it, and nothing is run for that"),
        ("WITHOUT", "a line for each part: in how many runs the verdict changes without it, and what is answered then"),
        ("▶", "a part whose absence changes the verdict"),
        ("MATTERS", "those parts, the most decisive first"),
        ("LEFT OUT", "the part under the cursor, and the answers without it"),
        ("ANSWER", "A: with all of it, B: without the part; which words differ"),
        ("FINDING", "all of it in one sentence; y copies it"),
    )

    def __init__(self, *, subject: Subject | None = None, spec: AblateSpec | None = None, kept: str = "") -> None:
        super().__init__()
        self.subject = subject
        self.spec = spec or AblateSpec("all")
        self.ablation: Ablation | None = None
        self.announced: Announcement | None = None
        self.pending = subject is not None
        self.decisive_only = False
        self._kept = kept
        self._records: dict[str, TurnRecord] = {}
        self._pair: tuple[str, str] | None = None
        self._jump = True
        self._cursor: str | None = None

    def on_mount(self) -> None:
        self.work("reading" if self._kept else "planning", self._open_kept if self._kept else self._announce)

    async def _open_kept(self) -> None:
        from runtime.experiments import open_ablation

        latest = self.studio.experiments.latest
        if self.studio.experiments.running == self._kept and isinstance(latest, Ablation):
            self.ablation = latest
        else:
            self.ablation = await open_ablation(self.runtime, self._kept)
        self.spec = self.ablation.spec
        self.touch()
        try:
            self.subject = await subject_of(self.runtime, self._kept)
        except StudioError as error:  # it can be read, though not run any more
            self.say(f"it cannot be run again: {sentence(error)}", "$text-warning")

    async def _announce(self) -> None:
        from runtime.experiments import announce

        assert self.subject is not None
        self.announced = await announce(self.runtime, self.subject, self.spec)
        self.touch()
        if self.pending and not (self.announced.remote or self.announced.foreign):
            self._run()
        elif self.pending:
            self.say("nothing is sent yet: ^r runs it", "$text-warning")

    def _run(self) -> None:
        subject, spec, runtime = self.subject, self.spec, self.runtime
        assert subject is not None

        async def work(told: Told) -> Found:
            from runtime.experiments import run_ablation

            return await run_ablation(runtime, subject, spec, progress=told)

        try:
            self.studio.experiments.start("leaving one out", work)
        except BadInput as error:
            self.say(error.problem, "$text-warning")
            return
        self.pending, self._jump, self._kept = False, True, ""
        self.say("")

    def take(self, found: Found) -> None:
        if isinstance(found, Ablation) and self._kept in ("", found.id):
            self.ablation, self._kept = found, found.id
            if found.state != "running" and self._jump and found.decisive:
                self._jump = False
                at = found.pieces.index(found.decisive[0])
                self._cursor = f"piece:{at}"

    # Painting

    def paint(self) -> None:
        ablation = self.ablation
        done = ablation is not None and ablation.state != "running" and not self.pending
        name = ablation.of_name if ablation is not None else self.subject.name if self.subject is not None else ""
        tools = tools_line(self.announced, self.spec.changes.tools, name, done=done)
        self.block("experiment-head").show([self._request(), self._enough(), (*tools, *self._progress())])
        table = self.lines("table")
        if ablation is None:
            told = self.announced.sentence if self.announced else "planning …"
            plan = Pane("WITHOUT", "NOT RUN YET", (Line("told", (Span(told),)),))
            table.show(lambda folds: plan)
            self.fit_table(4)
            self.block("verdict").show([])
        else:
            only = self.decisive_only
            cursor, self._cursor = self._cursor, None
            table.show(lambda folds: view.pieces_pane(ablation, decisive_only=only), cursor=cursor)
            self.fit_table(len(table.pane.lines))
            self.block("verdict").show(view.decisive_lines(ablation))
            line = table.cursor
            self.lines("left").show(lambda folds: view.piece_pane(ablation, line))
            self._paint_answers(ablation, line)
        self.block("finding").show([(Span("FINDING  ", "title"), Span(self.finding))] if self.finding else [])

    def _paint_answers(self, ablation: Ablation, line: str) -> None:
        """What is answered with all of it against what is answered without the part under the cursor."""
        runs = view.runs_of(ablation, line)
        if not runs or not ablation.baseline or line == view.BASELINE:
            return
        changed = next((run for run in runs if run.passed is not ablation.verdict), runs[0])
        pair = (ablation.baseline[0].turn, changed.turn)
        if pair == self._pair:
            return
        self._pair = pair

        async def reading() -> None:
            from runtime.compare import compare

            found = compare(await self._record(pair[0]), await self._record(pair[1]))
            if self._pair == pair:
                pane = outcomes_pane(found)
                named = Pane("ANSWER  A all of it, B without", "", pane.lines)
                self.lines("right").show(lambda folds: named)

        self.work("comparing", reading, group="experiment-pair")

    async def _record(self, turn: str) -> TurnRecord:
        if turn not in self._records:
            self._records[turn] = await self.runtime.record(turn, bodies=False)
        return self._records[turn]

    def _request(self) -> tuple[Span, ...]:
        known = self.ablation or self.subject
        request = known.request if known is not None else ""
        name = self.ablation.of_name if self.ablation else self.subject.name if self.subject else self._kept
        models = ", ".join(self.announced.models) if self.announced else ""
        return (
            Span("LEAVE ONE OUT  ", "title"),
            Span(f"“{' '.join(request.split())}”"),
            Span(f"    {name}, window {shown(self.spec.window)}", "text"),
            Span(f"    {models}", "muted"),
        )

    def _enough(self) -> tuple[Span, ...]:
        told = enough_line(self.spec.enough, repeats=self.spec.repeats, all_="with nothing left out")
        return (*told, Span("   s changes it", "muted"))

    def _progress(self) -> tuple[Span, ...]:
        changes, ablation = self.spec.changes, self.ablation
        patched = Patches("", frozenset(changes.drop), changes.edit or {}).words
        told = f"   {ablation.done} of {ablation.total} runs · {ablation.failed} failed" if ablation else ""
        return (Span(f"   {patched}" if patched else "", "what-if"), Span(told))

    def keys_now(self) -> Sequence[Key]:
        running = self.studio.experiments.job is not None
        again = "run" if self.pending or self.ablation is None else "run again"
        found: list[Key] = [("^c", "stop, keep what is done", "stop")] if running else [("^r", again, "again")]
        if self.ablation is not None:
            found += [
                ("⏎", "open that run", ""),
                ("d", "all" if self.decisive_only else "only what matters", "decisive"),
            ]
        if not running:
            found += [("s", "enough when", "enough"), ("k", "runs each", "repeats")]
        if self.by_hand and self.ablation is not None:
            found.append(("j", "judge the answers", "judge"))
        if self.finding:
            found += [("y", "copy finding", "copy"), ("x", "export", "export")]
        return (*found, ("esc", "back", "leave"), ("⇥", "pane", "pane(1)"), ("F1", "help", "help"))

    def state(self) -> Status:
        job = self.studio.experiments.job
        if job is not None:
            doing = "stopping" if job.stopping else f"running {job.step}"
            return Status(f"{doing} · {job.seconds:.0f} s", "bold $text-warning")
        if self.ablation is None:
            return Status("nothing run yet", "$foreground 60%")
        return Status(f"{self.ablation.state} · kept as leave one out {self.ablation.number}", "$foreground 60%")

    @property
    def finding(self) -> str:
        return self.ablation.finding if self.ablation is not None else ""

    # Actions

    def on_lines_pane_highlighted(self, event: LinesPane.Highlighted) -> None:
        event.stop()
        if event.sender.id == "table":
            self.touch()

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        """Enter on a part: a run without it, as a turn."""
        event.stop()
        if event.sender.id != "table" or self.ablation is None:
            return
        runs = view.runs_of(self.ablation, event.line)
        if runs:
            from studio_tui.screens.run import RunScreen

            first = next((run for run in runs if run.passed is not self.ablation.verdict), runs[0])
            name = view.name_of(self.ablation, event.line)
            self.app.push_screen(RunScreen([run.turn for run in runs], first.turn, name), self._left_run)

    def _left_run(self, thread: str | None) -> None:
        if thread is not None:
            self.studio.show_thread(thread)

    def action_decisive(self) -> None:
        self.decisive_only = not self.decisive_only
        self.say("")

    def action_again(self) -> None:
        if self.subject is None:
            self.say("it cannot be run again here", "$text-warning")
        elif self.studio.experiments.job is not None:
            self.say("it is running; ^c stops it and keeps what is done", "$text-warning")
        elif self.announced is None:
            self.say("what it would send is being worked out; once more, please", "$text-warning")
        elif self.pending:
            self._run()
        else:
            self._want(self.spec)  # what leaves this machine is said again, and waits

    def action_repeats(self) -> None:
        ask_repeats(self.app, self.spec.repeats, lambda count: self._want(replace(self.spec, repeats=count)))

    def action_enough(self) -> None:
        from studio_tui.screens.enough import EnoughDialog

        def answered(enough: Enough | None) -> None:
            if enough is not None:
                self._judge(enough)

        self.app.push_screen(EnoughDialog(self.spec.enough, self.spec.repeats), answered)

    def _judge(self, enough: Enough) -> None:
        """Another predicate: nothing is run for it."""
        if self.studio.experiments.job is not None:
            self.say("it is running; ^c stops it first", "$text-warning")
            return
        self.spec = replace(self.spec, enough=enough)
        if self.by_hand:
            self.action_judge()
        else:
            self._judged(None)

    @property
    def by_hand(self) -> bool:
        """Whether a person says of each answer whether it is enough."""
        return any(one.word == "by hand" for one in self.spec.enough.predicates)

    def action_judge(self) -> None:
        """Say of each answer whether it is enough."""
        from studio_tui.screens.judge import JudgeDialog

        found = self.ablation
        if found is not None and self.by_hand:
            runs = [*found.baseline, *(run for one in found.pieces for run in one.runs)]
            self.app.push_screen(JudgeDialog(found.request, found.groups, runs, self.spec.marks), self._judged)

    def _judged(self, marks: dict[str, bool] | None) -> None:
        if marks is not None:
            self.spec = replace(self.spec, marks=marks)
        if self.ablation is None:
            self.touch()
            return

        async def reading() -> None:
            from runtime.experiments import judge_ablation

            assert self.ablation is not None
            spec = self.spec
            self.ablation = await judge_ablation(self.runtime, self.ablation.id, spec.enough, spec.marks)

        self.work("judging", reading)

    def _want(self, spec: AblateSpec) -> None:
        self.spec, self.pending = spec, True
        self.work("planning", self._announce)

    def action_export(self) -> None:
        ablation = self.ablation
        if ablation is None or not ablation.done:
            self.say("there is nothing to export yet", "$text-warning")
            return

        def written(format: str) -> str:
            import json

            from runtime.experiments import ablation_csv, ablation_json, ablation_markdown

            if format == "json":
                return json.dumps(ablation_json(ablation), ensure_ascii=False, indent=2) + "\n"
            return ablation_csv(ablation) if format == "csv" else ablation_markdown(ablation)

        self.export_as(f"leave-one-out-{ablation.number}", written)
