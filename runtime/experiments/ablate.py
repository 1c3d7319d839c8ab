"""Leave one out (X7): the same window without each row, state view, paragraph of the instructions and tool result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from runtime.experiments.assess import Letters, judged, usual_answer, verdict
from runtime.experiments.codec import CellKey, ablate_spec_from_json, ablate_spec_json
from runtime.experiments.enough import Enough, Marks
from runtime.experiments.finding import enough_words
from runtime.experiments.keep import ABLATION, check_limits, counts, keep, reopen, run_of, runs_of
from runtime.experiments.pool import run_all
from runtime.experiments.results import AblateSpec, Ablation, Piece, PieceKind, Run, State, WithoutPiece
from runtime.explain import quoted
from runtime.explain.words import plural
from runtime.stores import Experiment
from runtime.subject import Changes, Overrides, Subject, blocks_of, call_places, recorded_results
from runtime.values.items import ToolResults
from runtime.values.json import Json, JsonObject, as_text
from runtime.values.record import TurnRecord

if TYPE_CHECKING:
    from runtime.threads import Runtime

Progress = Callable[[Ablation], None]

_KEPT = 400
"""How much of a part's text is kept with the experiment, in characters."""


async def run_ablation(
    runtime: Runtime, subject: Subject, spec: AblateSpec, *, progress: Progress | None = None
) -> Ablation:
    """Run the request with everything, then without each part in turn; nothing of it is a row of the thread.

    The tool results left out are those of the first run with everything. `progress` is given the state after each
    run. Raises and stops as `run_sweep` does.
    """
    check_limits(subject, spec.repeats, spec.concurrency, spec.changes)
    pieces = await pieces_of(runtime, subject, spec)
    experiment = await keep(runtime, ABLATION, subject, _kept_json(spec, pieces))
    return await _Ablating(runtime, subject, spec, experiment, pieces, progress).go()


async def judge_ablation(runtime: Runtime, id: str, enough: Enough, marks: Marks | None = None) -> Ablation:
    """A kept one under another predicate, or with other marks made by hand (None: those it has). Nothing is run."""
    experiment, _, before = await reopen(runtime, id, ABLATION, to_run=False)
    spec = replace(ablate_spec_from_json(before), enough=enough)
    if marks is not None:
        spec = replace(spec, marks=dict(marks))
    await runtime.store.put_experiment(replace(experiment, spec={**experiment.spec, "spec": ablate_spec_json(spec)}))
    return await open_ablation(runtime, id)


async def open_ablation(runtime: Runtime, id: str) -> Ablation:
    """A kept one with the runs that were finished. Raises UnknownExperiment, BadInput for another kind."""
    experiment, subject, raw = await reopen(runtime, id, ABLATION, to_run=False)
    spec = ablate_spec_from_json(raw)
    ablating = _Ablating(runtime, subject, spec, experiment, _pieces_from_json(experiment.spec), None)
    ablating.take(await runs_of(runtime, experiment))
    return ablating.snapshot("done" if experiment.state == "done" else "stopped")


async def pieces_of(runtime: Runtime, subject: Subject, spec: AblateSpec) -> tuple[Piece, ...]:
    """The parts that would be left out in turn, as far as they are known before a run: without the results of calls
    that no turn has made yet. Raises ConfigurationError, BadInput."""
    overrides = Overrides(spec.window, spec.variant.agent, spec.variant.model)
    agent = runtime.agent_on(subject, overrides, spec.changes)
    context = (await runtime.preview_on(subject, overrides, spec.changes)).context
    found = [Piece("row", row.seq, row.text, row.role) for row in context.rows]
    state = context.section("state")
    if state is not None:
        shown = {**subject.state, **(spec.changes.views or {})}
        found += [Piece("state view", name, as_text(shown[name])) for name in agent.state_views if name in shown]
    found += [Piece("instructions", n, block) for n, block in enumerate(blocks_of(agent.instructions), start=1)]
    for key, results in (subject.recorded or {}).items():
        found += [Piece("tool result", result.id, as_text(result.output), key[0]) for result in results]
    return tuple(piece for piece in found if piece.kind in spec.kinds)


def planned_runs(pieces: Sequence[Piece], spec: AblateSpec) -> int:
    """How many runs that makes, with those that leave nothing out."""
    return (len(pieces) + 1) * spec.repeats


def without(changes: Changes, piece: Piece) -> Changes:
    """The changes of a run, and one part left out besides."""
    match piece.kind:
        case "row":
            assert isinstance(piece.key, int)
            return replace(changes, drop=(*changes.drop, piece.key))
        case "state view":
            return replace(changes, views={**(changes.views or {}), str(piece.key): None})
        case "instructions":
            assert isinstance(piece.key, int)
            return replace(changes, blocks={**(changes.blocks or {}), piece.key: None})
        case "tool result":
            return replace(changes, results={**(changes.results or {}), str(piece.key): None})


class _Ablating:
    """Leaving one out, under way."""

    def __init__(
        self,
        runtime: Runtime,
        subject: Subject,
        spec: AblateSpec,
        experiment: Experiment,
        pieces: tuple[Piece, ...],
        progress: Progress | None,
    ) -> None:
        self._runtime, self._subject, self._spec = runtime, subject, spec
        self._experiment, self._pieces, self._progress = experiment, pieces, progress
        self._runs: dict[tuple[PieceKind, int | str] | None, list[Run]] = {}

    def take(self, kept: Iterable[tuple[CellKey, Run]]) -> None:
        """Take up runs that were made before."""
        for key, run in kept:
            self._runs.setdefault(key.piece, []).append(run)

    async def go(self) -> Ablation:
        state: State = "stopped"
        try:
            self._tell("running")
            await self._with_everything()
            for repeat in range(1, self._spec.repeats + 1):
                await run_all([self._job(piece, repeat) for piece in self._pieces], self._spec.concurrency)
            state = "done"
        finally:
            # What is done is kept also when this is cancelled or the store fails.
            self._experiment = await self._runtime.store.put_experiment(replace(self._experiment, state=state))
            self._tell(state)
        return self.snapshot(state)

    async def _with_everything(self) -> None:
        """The runs that leave nothing out; the first of them tells which tool results there are."""
        await self._job(None, 1)()
        first = self._runs.get(None)
        if first and "tool result" in self._spec.kinds:
            await self._take_results(await self._runtime.record(first[0].turn, bodies=False))
        rest = [self._job(None, repeat) for repeat in range(2, self._spec.repeats + 1)]
        await run_all(rest, self._spec.concurrency)

    async def _take_results(self, record: TurnRecord) -> None:
        results = [
            Piece("tool result", result.id, as_text(result.output), result.name)
            for item in record.transcript
            if isinstance(item, ToolResults)
            for result in item.results
        ]
        others = [piece for piece in self._pieces if piece.kind != "tool result"]
        self._pieces = (*others, *results)
        recorded = self._subject.recorded if self._spec.changes.tools == "recorded" else recorded_results(record)
        self._subject = replace(self._subject, recorded=recorded, call_places=call_places(record))
        spec = {**self._experiment.spec, **_kept_json(self._spec, self._pieces)}
        self._experiment = await self._runtime.store.put_experiment(replace(self._experiment, spec=spec))

    def _job(self, piece: Piece | None, repeat: int) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            spec = self._spec
            where = None if piece is None else (piece.kind, piece.key)
            record = await self._runtime.run(
                self._subject,
                Overrides(spec.window, spec.variant.agent, spec.variant.model),
                spec.changes if piece is None else without(spec.changes, piece),
                experiment=self._experiment.id,
                cell=CellKey(spec.variant, spec.window, repeat, piece=where).text(),
            )
            if counts(record):
                self._runs.setdefault(where, []).append(run_of(record, repeat))
            self._tell("running")

        return run

    def snapshot(self, state: State) -> Ablation:
        """As far as it is."""
        spec, subject, experiment = self._spec, self._subject, self._experiment
        assert experiment.at is not None, "a kept experiment has its time"
        letters = Letters()
        baseline = self._judged(None, letters)
        whole = verdict(baseline, spec.repeats, spec.enough)
        pieces = tuple(self._without(piece, whole, letters) for piece in self._pieces)
        runs = [*baseline, *(run for piece in pieces for run in piece.runs)]
        found = Ablation(
            id=experiment.id,
            number=experiment.number,
            state=state,
            thread=subject.thread.id,
            of=experiment.of_turn,
            of_name=subject.name,
            request=subject.request,
            agent=subject.agent.name,
            spec=spec,
            baseline=baseline,
            verdict=whole,
            pieces=pieces,
            groups=letters.over(runs, spec.window),
            finding="",
            done=len(runs),
            total=planned_runs(pieces=self._pieces, spec=spec),
            failed=sum(run.status != "completed" for run in runs),
            at=experiment.at,
        )
        return found if state == "running" else replace(found, finding=_finding(found))

    def _without(self, piece: Piece, whole: bool | None, letters: Letters) -> WithoutPiece:
        runs = self._judged((piece.kind, piece.key), letters)
        changed = sum(run.passed is not None and run.passed != whole for run in runs) if whole is not None else 0
        return WithoutPiece(piece, self._spec.repeats, runs, changed)

    def _judged(self, where: tuple[PieceKind, int | str] | None, letters: Letters) -> tuple[Run, ...]:
        runs = sorted(self._runs.get(where, ()), key=lambda run: run.repeat)
        reference = usual_answer(self._runs.get(None, ()))
        return judged(runs, self._spec.enough, reference, self._spec.marks, letters)

    def _tell(self, state: State) -> None:
        if self._progress is not None:
            self._progress(self.snapshot(state))


def _finding(found: Ablation) -> str:
    """The FINDING: whose absence changes the verdict, and how often out of how many (X8)."""
    spec = found.spec
    when = enough_words(spec.enough, "with nothing left out")
    head = f"{found.of_name}, {quoted(found.request)}, window {spec.window}, enough when {when}"
    passed = sum(run.passed is True for run in found.baseline)
    told = [f"with everything {passed} of {len(found.baseline)}"]
    if found.verdict is None:
        told.append("which is no verdict yet")
    else:
        told += [_decisive(one) for one in found.decisive]
        others = len(found.pieces) - len(found.decisive)
        if not found.decisive:
            told.append(f"leaving out any one of {plural(others, 'part')} changes nothing")
        elif others:
            told.append(f"no other of {plural(len(found.pieces), 'part')} does")
    stopped = f" Stopped after {found.done} of {found.total} runs." if found.state == "stopped" else ""
    return f"{head}: {'; '.join(told)}.{stopped}"


def _decisive(one: WithoutPiece) -> str:
    said = quoted(one.piece.text)
    return (
        f"without {one.piece} ({said}) {one.passes} of {len(one.runs)}: "
        f"its absence changes the verdict in {one.changed} of {plural(len(one.runs), 'run')}"
    )


def _kept_json(spec: AblateSpec, pieces: Iterable[Piece]) -> dict[str, Json]:
    return {"spec": ablate_spec_json(spec), "pieces": list(_pieces_json(pieces))}


def _pieces_json(pieces: Iterable[Piece]) -> Iterator[Json]:
    for piece in pieces:
        yield {"kind": piece.kind, "key": piece.key, "text": piece.text[:_KEPT], "name": piece.name}


def _pieces_from_json(value: JsonObject) -> tuple[Piece, ...]:
    raw: Mapping[str, Any] = value
    return tuple(Piece(one["kind"], one["key"], one["text"], one["name"]) for one in raw["pieces"])
