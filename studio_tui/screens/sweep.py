"""The sweep screen: which window is enough, and which message entered there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from runtime.errors import BadInput, StudioError
from runtime.experiments.results import Run, Sweep, SweepSpec
from runtime.values.messages import Window
from studio_tui.experimenting import subject_of
from studio_tui.jobs import sentence
from studio_tui.screens.sweep_asking import ask_names, ask_repeats, ask_windows
from studio_tui.screens.sweep_view import SweepView
from studio_tui.views import sweep as view
from studio_tui.views.sweep import CellId
from studio_tui.widgets.lines import LinesPane
from studio_tui.windows import shown

if TYPE_CHECKING:
    from runtime.experiments.enough import Enough
    from runtime.subject import Subject
    from studio_tui.experimenting import Found, Told


class SweepScreen(SweepView):
    """A sweep that is to be run (`subject` and `spec`), or one that is kept (`kept`).

    What stays on this machine runs at once; what is sent to a server, or runs the user's own code, is said and waits
    for ^r (X4).
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "enough", "enough when", show=False),
        Binding("space", "mark", "mark", show=False),
        Binding("d", "differing", "only where it differs", show=False),
        Binding("plus,equals_sign", "window", "add a window", show=False),
        Binding("k", "repeats", "runs each", show=False),
        Binding("b", "bisect", "bisect the edge", show=False),
        Binding("m", "models", "models", show=False),
        Binding("g", "agents", "agents", show=False),
        Binding("t", "tools", "tools", show=False),
        Binding("j", "judge", "judge by hand", show=False),
        Binding("l", "ablate", "leave one out", show=False),
        Binding("A", "adopt", "write the window", show=False),
    ]

    def __init__(self, *, subject: Subject | None = None, spec: SweepSpec | None = None, kept: str = "") -> None:
        super().__init__(subject=subject, spec=spec, kept=kept)
        self._jump = True
        self._afresh = False

    def on_mount(self) -> None:
        self.work("reading the sweep" if self._kept else "planning the sweep", self._open)

    async def _open(self) -> None:
        if self._kept:
            await self._open_kept()
        else:
            await self._announce()

    async def _open_kept(self) -> None:
        from runtime.experiments import announce, open_sweep

        latest = self.studio.experiments.latest
        if self.studio.experiments.running == self._kept and isinstance(latest, Sweep):
            self.sweep = latest
        else:
            self.sweep = await open_sweep(self.runtime, self._kept)
        self.spec = self.sweep.spec
        self.touch()
        try:
            self.subject = await subject_of(self.runtime, self._kept)
            self.announced = await announce(self.runtime, self.subject, self.spec)
        except StudioError as error:  # it can be read, though not run any more
            self.say(f"it cannot be run again: {sentence(error)}", "$text-warning")

    async def _announce(self) -> None:
        """Say what the sweep that is wanted would do; run it if nothing leaves this machine."""
        from runtime.experiments import announce
        from runtime.experiments.sweep import planned

        assert self.subject is not None
        self.announced = await announce(self.runtime, self.subject, self.spec)
        if self.sweep is None:
            plan = await planned(self.runtime, self.subject, self.spec)
            self._plan = view.planned_pane(plan.windows, plan.reach, self.announced.sentence)
        self.touch()
        if self.pending and not self._reaches_out:
            self._run(afresh=self._afresh)
        elif self.pending:
            self.say("nothing is sent yet: ^r runs it", "$text-warning")

    @property
    def _reaches_out(self) -> bool:
        return self.announced is None or bool(self.announced.remote or self.announced.foreign)

    # Running

    def want(self, spec: SweepSpec) -> None:
        """Another spec: more windows, repeats, models; run at once where nothing leaves this machine."""
        if self.studio.experiments.job is not None:
            self.say("the sweep is running; ^c stops it and keeps what is done", "$text-warning")
            return
        if self.subject is None:
            self.say("it cannot be run again here", "$text-warning")
            return
        self.spec, self.pending = spec, True
        self.work("planning the sweep", self._announce)

    def _run(self, *, afresh: bool = False) -> None:
        """Run the wanted spec: go on with the sweep at hand, or begin another one."""
        subject, spec, sweep, runtime = self.subject, self.spec, self.sweep, self.runtime
        assert subject is not None
        on = sweep.id if sweep is not None and not afresh and sweep.spec.changes == spec.changes else None

        async def work(told: Told) -> Found:
            from runtime.experiments import extend_sweep, run_sweep

            if on is not None:
                return await extend_sweep(runtime, on, spec, progress=told)
            return await run_sweep(runtime, subject, spec, progress=told)

        try:
            self.studio.experiments.start("the sweep", work)
        except BadInput as error:
            self.say(error.problem, "$text-warning")
            return
        self.pending, self._jump, self._afresh = False, True, False
        self._kept = on or ""
        self.say("")

    def take(self, found: Found) -> None:
        if isinstance(found, Sweep) and self._kept in ("", found.id):
            self.sweep = found
            self._kept = found.id
            if found.state != "running" and self._jump:
                self._jump = False
                self._go_to_edge()

    def _go_to_edge(self) -> None:
        """Put the cursor on the smallest window that is enough."""
        sweep = self.sweep
        edge = next((edge for edge in sweep.edges if edge.smallest is not None), None) if sweep else None
        if sweep is not None and edge is not None and edge.smallest is not None:
            at = view.variants_of(sweep).index(edge.variant)
            self._cursor = str(CellId(at, edge.smallest))

    # Actions

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        """Enter on a window: the run that stands for it, as a turn. On a row: its whole text."""
        event.stop()
        cell = self._cell_here() if event.sender.id == "table" else None
        if cell is not None and cell.runs:
            self._open_runs(cell.runs, f"window {shown(cell.window)}")

    def _open_runs(self, runs: Sequence[Run], name: str) -> None:
        from studio_tui.screens.run import RunScreen

        first = next((run for run in runs if run.turn == (self._cell_main(runs))), runs[0])
        self.app.push_screen(RunScreen([run.turn for run in runs], first.turn, name), self._left_run)

    def _cell_main(self, runs: Sequence[Run]) -> str:
        cell = self._cell_here()
        return cell.main.turn if cell is not None and cell.main is not None else runs[0].turn

    def _left_run(self, thread: str | None) -> None:
        if thread is not None:
            self.studio.show_thread(thread)

    def on_lines_pane_highlighted(self, event: LinesPane.Highlighted) -> None:
        event.stop()
        self.touch()

    def action_again(self) -> None:
        if self.subject is None:
            self.say("it cannot be run again here", "$text-warning")
        elif self.studio.experiments.job is not None:
            self.say("it is running; ^c stops it and keeps what is done", "$text-warning")
        elif self.announced is None:
            self.say("what it would send is being worked out; once more, please", "$text-warning")
        elif self.pending:
            self._run(afresh=self._afresh)
        else:
            self._afresh = self.sweep is not None and self.sweep.state == "done"
            self.want(self.spec)  # what leaves this machine is said again, and waits

    def action_mark(self) -> None:
        """Mark the window under the cursor, or take its mark away; the two last marked stand side by side."""
        id = CellId.read(self.lines("table").cursor)
        cell = self._cell_here()
        if id is None or cell is None or self.sweep is None:
            return
        if not cell.runs:
            self.say("nothing ran with this window yet", "$text-warning")
            return
        marked = [each for each in self.marked if each != id]
        self.marked = tuple(marked) if id in self.marked else (*marked, id)[-2:]
        self.say("")

    def action_differing(self) -> None:
        self.differing = not self.differing
        self.say("")

    def action_bisect(self) -> None:
        self.want(replace(self.spec, smallest=True))

    def action_window(self) -> None:
        """Ask for windows to add."""
        ask_windows(self.app, lambda found: self.want(replace(self.spec, windows=(*self._windows(), *found))))

    def _windows(self) -> tuple[Window, ...]:
        """The windows of the sweep so far, without those that the search added."""
        if self.sweep is None or self.spec.windows:
            return self.spec.windows or self._planned_windows()
        return tuple(dict.fromkeys(cell.window for cell in self.sweep.cells if not cell.bisected))

    def _planned_windows(self) -> tuple[Window, ...]:
        from runtime.experiments.results import DEFAULT_WINDOWS

        return (*DEFAULT_WINDOWS, *((self.subject.window,) if self.subject is not None else ()))

    def action_repeats(self) -> None:
        ask_repeats(self.app, self.spec.repeats, lambda count: self.want(replace(self.spec, repeats=count)))

    def action_models(self) -> None:
        intro = "offline, script, openai:NAME, anthropic:NAME, each with @BASE_URL; none: the agent's own"
        ask_names(self.app, "Models", intro, self.spec.models, lambda names: self._want_who(models=names))

    def action_agents(self) -> None:
        intro = "names, or paths of agent files; none: the thread's own"
        ask_names(self.app, "Agents", intro, self.spec.agents, lambda names: self._want_who(agents=names))

    def _want_who(self, *, models: tuple[str, ...] | None = None, agents: tuple[str, ...] | None = None) -> None:
        """Others who answer, under the windows there are."""
        spec = replace(self.spec, windows=self._windows())
        self.want(replace(spec, models=spec.models if models is None else models,
                          agents=spec.agents if agents is None else agents))  # fmt: skip

    def action_tools(self) -> None:
        """How tools answer in the runs: recorded, live, stubbed. Another way is another sweep."""
        ways: tuple[str, ...] = ("recorded", "live", "stubbed")
        if self.subject is not None and self.subject.of is None:
            ways = ("live", "stubbed")
        now = self.spec.changes.tools
        following = ways[(ways.index(now) + 1) % len(ways)] if now in ways else ways[0]
        self.want(replace(self.spec, changes=replace(self.spec.changes, tools=following)))  # type: ignore[arg-type]  # one of the three

    def action_enough(self) -> None:
        """Change what is enough. Nothing is run for it; the edge may have to be searched again."""
        from studio_tui.screens.enough import EnoughDialog

        self.app.push_screen(EnoughDialog(self.spec.enough, self.spec.repeats), self._judge)

    def _judge(self, enough: Enough | None) -> None:
        if enough is None:
            return
        if self.studio.experiments.job is not None:
            self.say("the sweep is running; ^c stops it first", "$text-warning")
            return
        self.spec = replace(self.spec, enough=enough)
        if any(one.word == "by hand" for one in enough.predicates) and self.sweep is not None:
            self.action_judge()
            return
        self._judged(None)

    def action_judge(self) -> None:
        """Say of each answer whether it is enough."""
        from studio_tui.screens.judge import JudgeDialog

        sweep = self.sweep
        if sweep is not None:
            runs = [run for cell in sweep.cells for run in cell.runs]
            self.app.push_screen(JudgeDialog(sweep.request, sweep.groups, runs, sweep.spec.marks), self._judged)

    def _judged(self, marks: dict[str, bool] | None) -> None:
        spec = self.spec if marks is None else replace(self.spec, marks=marks)
        self.spec = spec
        if self.sweep is None:
            self.want(spec)
            return

        async def reading() -> None:
            from runtime.experiments import judge_sweep

            assert self.sweep is not None
            self.sweep = await judge_sweep(self.runtime, self.sweep.id, spec.enough, spec.marks)
            self._go_to_edge()
            by_hand = any(one.word == "by hand" for one in spec.enough.predicates)
            if self.subject is not None and not self._reaches_out and spec.smallest and not by_hand:
                self._run()  # the edge may lie elsewhere now

        self.work("judging", reading)

    def action_ablate(self) -> None:
        """Leave one out, at the window under the cursor (or the smallest that is enough), with the same ENOUGH."""
        from runtime.experiments.results import AblateSpec
        from studio_tui.screens.ablate import AblateScreen

        cell = self._cell_here()
        window = self.window_found if cell is None or self.focused is not self.lines("table") else cell.window
        if self.subject is None or window is None:
            self.say("there is nothing to leave out yet", "$text-warning")
        elif self.studio.experiments.job is not None:
            self.say("the sweep is running; ^c stops it first", "$text-warning")
        else:
            spec = AblateSpec(window, repeats=self.spec.repeats, enough=self.spec.enough, changes=self.spec.changes)
            self.app.push_screen(AblateScreen(subject=self.subject, spec=spec), self._returned)

    def _returned(self, result: None) -> None:
        self.studio.experiments.listen(self._told, self._over)
        self.touch()

    def action_adopt(self) -> None:
        """Write the window found into the agent's file, after showing the change."""
        from studio_tui.screens.adopt import adopt

        window = self.window_found
        if window is None or self.sweep is None:
            self.say("there is no window to write yet", "$text-warning")
        else:
            adopt(self.studio, window, self.say)

    def action_export(self) -> None:
        sweep = self.sweep
        if sweep is None or not sweep.done:
            self.say("there is nothing to export yet", "$text-warning")
            return

        def written(format: str) -> str:
            import json

            from runtime.experiments import sweep_csv, sweep_json, sweep_markdown

            if format == "json":
                return json.dumps(sweep_json(sweep), ensure_ascii=False, indent=2) + "\n"
            return sweep_csv(sweep) if format == "csv" else sweep_markdown(sweep)

        self.export_as(f"sweep-{sweep.number}", written)
