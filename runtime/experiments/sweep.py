"""Sweep: the same request under several windows, models and agents; which window is enough, and why there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runtime.errors import BadInput
from runtime.experiments.assess import Tried, assess, ordered
from runtime.experiments.because import because
from runtime.experiments.codec import (
    Bisected,
    CellKey,
    planned_from_json,
    planned_json,
    sweep_spec_from_json,
    sweep_spec_json,
)
from runtime.experiments.enough import Enough, Marks
from runtime.experiments.finding import finding
from runtime.experiments.keep import SWEEP, check_limits, counts, keep, reopen, run_of, runs_of
from runtime.experiments.pool import run_all
from runtime.experiments.reach import Reach, look
from runtime.experiments.results import DEFAULT_WINDOWS, Edge, Run, State, Sweep, SweepSpec, Variant
from runtime.stores import Experiment
from runtime.subject import Overrides, Subject
from runtime.values.json import Json
from runtime.values.messages import Window

if TYPE_CHECKING:
    from runtime.threads import Runtime

Progress = Callable[[Sweep], None]


async def run_sweep(runtime: Runtime, subject: Subject, spec: SweepSpec, *, progress: Progress | None = None) -> Sweep:
    """Try `spec` on `subject`; nothing of it is a row of the thread (X4).

    `progress` is given the sweep after each run and when its state changes. Raises ConfigurationError or BadInput
    before anything is kept, StoreError; what was done by then is kept. Cancelled, it stops: see the package.
    """
    plan = await planned(runtime, subject, spec)
    experiment = await keep(runtime, SWEEP, subject, _kept_json(spec, plan.windows))
    return await _Sweeping(runtime, subject, spec, experiment, plan, progress).go()


async def extend_sweep(runtime: Runtime, id: str, spec: SweepSpec, *, progress: Progress | None = None) -> Sweep:
    """Go on with a kept sweep under another spec: more windows, variants or repeats, the edge. Runs that are there
    are not made again; those that `spec` does not ask for stay kept.

    Raises UnknownExperiment, and what `run_sweep` raises.
    """
    experiment, subject, before = await reopen(runtime, id, SWEEP)
    if sweep_spec_from_json(before).changes != spec.changes:
        raise BadInput("rows, tools and texts are those of the first run; begin another sweep", field="changes")
    plan = await planned(runtime, subject, spec)
    whole = {**experiment.spec, **_kept_json(spec, plan.windows)}
    experiment = await runtime.store.put_experiment(replace(experiment, spec=whole, state="running"))
    sweeping = _Sweeping(runtime, subject, spec, experiment, plan, progress)
    sweeping.take(await runs_of(runtime, experiment))
    return await sweeping.go()


async def judge_sweep(runtime: Runtime, id: str, enough: Enough, marks: Marks | None = None) -> Sweep:
    """A kept sweep under another predicate, or with other marks made by hand (None: those it has). Nothing is run.

    Raises UnknownExperiment.
    """
    experiment, _, before = await reopen(runtime, id, SWEEP, to_run=False)
    spec = replace(sweep_spec_from_json(before), enough=enough)
    if marks is not None:
        spec = replace(spec, marks=dict(marks))
    await runtime.store.put_experiment(replace(experiment, spec={**experiment.spec, "spec": sweep_spec_json(spec)}))
    return await open_sweep(runtime, id)


async def open_sweep(runtime: Runtime, id: str) -> Sweep:
    """A kept sweep with the runs that were finished. Raises UnknownExperiment, BadInput for another kind."""
    experiment, subject, raw = await reopen(runtime, id, SWEEP, to_run=False)
    spec = sweep_spec_from_json(raw)
    windows, bisected = planned_from_json(experiment.spec)
    plan = Plan(windows, await _reach(runtime, subject, spec, windows), spec.repeats, bisected)
    sweeping = _Sweeping(runtime, subject, spec, experiment, plan, None)
    sweeping.take(await runs_of(runtime, experiment))
    state: State = "done" if experiment.state == "done" else "stopped"
    return await sweeping.whole(state)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sweep comes down to: the windows of each variant, sorted, and the rows they select."""

    windows: dict[Variant, list[Window]]
    reach: Reach
    repeats: int
    bisected: Bisected = frozenset()

    @property
    def cells(self) -> int:
        """How many cells are run: windows that select the same rows are one."""
        return sum(len({self.reach.selected(window) for window in those}) for those in self.windows.values())

    @property
    def runs(self) -> int:
        return self.cells * self.repeats


async def planned(runtime: Runtime, subject: Subject, spec: SweepSpec) -> Plan:
    """What `spec` comes down to on `subject`. Raises ConfigurationError, BadInput: nothing is kept or run."""
    check_limits(subject, spec.repeats, spec.concurrency, spec.changes)
    windows: dict[Variant, list[Window]] = {}
    for agent in spec.agents or (None,):
        for model in spec.models or (None,):
            own = runtime.plan_on(subject, Overrides(agent=agent, model=model), spec.changes).window
            chosen = spec.windows or (*DEFAULT_WINDOWS, *(() if own is None else (own,)))
            windows[Variant(agent, model)] = ordered([*chosen, "all"])
    return Plan(windows, await _reach(runtime, subject, spec, windows), spec.repeats)


def _kept_json(spec: SweepSpec, windows: Mapping[Variant, Sequence[Window]]) -> dict[str, Json]:
    """What is kept: the spec, and the windows that it came to mean, so that opening it again needs no agent."""
    return {"spec": sweep_spec_json(spec), "planned": planned_json(windows)}


async def _reach(
    runtime: Runtime, subject: Subject, spec: SweepSpec, windows: Mapping[Variant, Iterable[Window]]
) -> Reach:
    every = [window for those in windows.values() for window in those]
    return await look(runtime.store, subject, every, spec.changes.drop, whole=spec.smallest)


class _Sweeping:
    """A sweep under way: what was tried, and what is still to be."""

    def __init__(
        self,
        runtime: Runtime,
        subject: Subject,
        spec: SweepSpec,
        experiment: Experiment,
        plan: Plan,
        progress: Progress | None,
    ) -> None:
        self._runtime, self._subject, self._spec = runtime, subject, spec
        self._experiment, self._reach, self._progress = experiment, plan.reach, progress
        self._windows = plan.windows
        self._bisected = set(plan.bisected)
        self._runs: dict[tuple[Variant, int], list[Run]] = {}

    def take(self, kept: Iterable[tuple[CellKey, Run]]) -> None:
        """Take up runs that were made before; a window that bisection had added is a window again."""
        for key, run in kept:
            if key.bisected and key.variant in self._windows:
                self._add(key.variant, key.window)
            self._runs.setdefault((key.variant, self._reach.selected(key.window)), []).append(run)

    async def go(self) -> Sweep:
        """Run what is missing, then find the edges if they are asked for; the sweep in full."""
        state: State = "stopped"
        try:
            self._tell()
            await self._fill()
            if self._spec.smallest:
                for variant in self._windows:
                    await self._search(variant)
            state = "done"
        finally:
            # What is done is kept also when this is cancelled or the store fails.
            sweep = await self._end(state)
        return sweep

    async def whole(self, state: State) -> Sweep:
        """The sweep as it is, with the reasons of its edges and its finding."""
        bare = self._snapshot(state)
        edges = tuple([await self._reasoned(edge, bare) for edge in bare.edges])
        told = finding(self._subject.name, bare.request, bare.window, self._spec.enough, self._reach, bare.cells, edges)
        stopped = f" Stopped after {bare.done} of {bare.total} runs." if state == "stopped" else ""
        return replace(bare, edges=edges, finding=told + stopped)

    async def _end(self, state: State) -> Sweep:
        planned = planned_json(self._windows, frozenset(self._bisected))
        experiment = replace(self._experiment, spec={**self._experiment.spec, "planned": planned}, state=state)
        self._experiment = await self._runtime.store.put_experiment(experiment)
        sweep = await self.whole(state)
        self._tell(sweep)
        return sweep

    async def _reasoned(self, edge: Edge, sweep: Sweep) -> Edge:
        cells = [cell for cell in sweep.cells if cell.variant == edge.variant]
        why = await because(self._runtime, self._subject, self._spec.enough, self._reach, edge, cells)
        return replace(edge, because=why)

    async def _fill(self) -> None:
        """Make the runs that are missing. The first repeat of every cell goes before the second of any."""
        await self._make([(variant, window) for variant, windows in self._windows.items() for window in windows])

    async def _make(self, cells: Iterable[tuple[Variant, Window]]) -> None:
        jobs: list[tuple[int, Callable[[], Awaitable[None]]]] = []
        begun: set[tuple[Variant, int]] = set()
        for variant, window in cells:
            same = (variant, self._reach.selected(window))
            if same in begun:
                continue  # it selects the same rows as a smaller window
            begun.add(same)
            made = {run.repeat for run in self._runs.get(same, ())}
            missing = [repeat for repeat in range(1, self._spec.repeats + 1) if repeat not in made]
            jobs += [(repeat, self._job(variant, window, repeat)) for repeat in missing]
        jobs.sort(key=lambda job: job[0])
        await run_all([job for _, job in jobs], self._spec.concurrency)

    def _job(self, variant: Variant, window: Window, repeat: int) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            key = CellKey(variant, window, repeat, (variant, window) in self._bisected)
            record = await self._runtime.run(
                self._subject,
                Overrides(window, variant.agent, variant.model),
                self._spec.changes,
                experiment=self._experiment.id,
                cell=key.text(),
            )
            if counts(record):
                self._runs.setdefault((variant, self._reach.selected(window)), []).append(run_of(record, repeat))
            self._tell()

        return run

    async def _search(self, variant: Variant) -> None:
        """Halve the windows between one that is not enough and the smallest that is, then try both sides of it."""
        while (window := self._next(variant)) is not None:
            self._add(variant, window)
            await self._make([(variant, window)])
            if self._open(variant, window):
                return  # its run was stopped, or has to be judged by hand

    def _next(self, variant: Variant) -> int | None:
        """The window to try next; None when the edge was tested on both sides, or there is none."""
        _, _, edges = assess(self._spec, self._reach, self._tried())
        edge = next(edge for edge in edges if edge.variant == variant)
        if edge.smallest is None:
            return None
        high = self._reach.counted(edge.smallest)
        low = -1 if edge.below is None else self._reach.counted(edge.below)
        if high - low > 1:
            return (low + high) // 2
        if edge.smallest != high:
            return high  # the same rows by their number: no run
        above = None if edge.above is None else self._reach.counted(edge.above)
        return high + 1 if high < self._reach.readable and above != high + 1 else None

    def _open(self, variant: Variant, window: Window) -> bool:
        cells, _, _ = assess(self._spec, self._reach, self._tried())
        return any(cell.variant == variant and cell.window == window and cell.enough is None for cell in cells)

    def _add(self, variant: Variant, window: Window) -> None:
        if window not in self._windows[variant]:
            self._windows[variant] = ordered([*self._windows[variant], window])
            self._bisected.add((variant, window))

    def _tried(self) -> Tried:
        return Tried(self._windows, frozenset(self._bisected), self._runs)

    def _snapshot(self, state: State) -> Sweep:
        cells, groups, edges = assess(self._spec, self._reach, self._tried())
        runs = [run for cell in cells if cell.same_as is None for run in cell.runs]
        experiment, subject = self._experiment, self._subject
        assert experiment.at is not None, "a kept experiment has its time"
        return Sweep(
            id=experiment.id,
            number=experiment.number,
            state=state,
            thread=subject.thread.id,
            of=experiment.of_turn,
            of_name=subject.name,
            request=subject.request,
            agent=subject.agent.name,
            window=subject.window,
            stored=subject.stored,
            spec=self._spec,
            cells=cells,
            groups=groups,
            edges=edges,
            finding="",
            done=len(runs),
            total=sum(cell.planned for cell in cells),
            failed=sum(run.status != "completed" for run in runs),
            at=experiment.at,
        )

    def _tell(self, sweep: Sweep | None = None) -> None:
        """Tell the progress; without a sweep, how far it is."""
        if self._progress is not None:
            self._progress(sweep or self._snapshot("running"))
