"""What a store keeps of experiments: the list of them, and one opened again with its runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from runtime.errors import BadInput, StoreError
from runtime.experiments.codec import CellKey, asked_json, with_asked
from runtime.experiments.enough import said_of
from runtime.experiments.results import Run
from runtime.stores import Experiment
from runtime.subject import Changes, Subject
from runtime.values.json import Json, JsonObject
from runtime.values.record import TurnRecord

if TYPE_CHECKING:
    from runtime.threads import Runtime

SWEEP, ABLATION = "sweep", "ablation"
"""The kinds of experiments."""

_SETTLED = ("completed", "failed", "cut", "truncated")
"""How runs end that count: one that was stopped, or whose process died, was never finished."""


async def kept(runtime: Runtime, *, thread: str | None = None, limit: int | None = None) -> list[Experiment]:
    """The experiments on a thread (None: on any), newest first. Raises UnknownThread."""
    return await runtime.store.experiments(thread, limit=limit)


async def keep(runtime: Runtime, kind: str, subject: Subject, what: Mapping[str, Json]) -> Experiment:
    """A new experiment, kept before its first run; `what` holds its `spec`."""
    of = subject.of.id if subject.of is not None else None
    whole: JsonObject = {"asked": asked_json(subject), **what}
    return await runtime.store.put_experiment(Experiment(kind, subject.thread.id, of, whole, "running"))


async def reopen(
    runtime: Runtime, id: str, kind: str, *, to_run: bool = True
) -> tuple[Experiment, Subject, JsonObject]:
    """An experiment with its subject (`to_run`: with all that a run needs) and what was to be tried.

    Raises UnknownExperiment, BadInput for another kind.
    """
    found = await runtime.store.experiment(id)
    if found.kind != kind:
        raise BadInput(f"experiment {id} is of the kind {found.kind}, not {kind}", field="experiment")
    asked, spec = found.spec.get("asked"), found.spec.get("spec")
    if not isinstance(asked, Mapping) or not isinstance(spec, Mapping):
        raise StoreError(f"experiment {id} is damaged and cannot be read")
    request, upto = asked.get("request"), asked.get("upto")
    if not isinstance(request, str) or not isinstance(upto, int):
        raise StoreError(f"experiment {id} is damaged and cannot be read")
    if found.of_turn is not None:
        subject = await runtime.subject(found.of_turn, to_run=to_run)
    else:
        subject = await runtime.subject_on(found.thread, request, upto=upto, to_run=to_run)
    return found, with_asked(subject, asked, to_run=to_run), spec


async def runs_of(runtime: Runtime, experiment: Experiment) -> list[tuple[CellKey, Run]]:
    """The runs that were finished, oldest first, each with what it tried. Records are read one by one."""
    found: list[tuple[CellKey, Run]] = []
    for turn in await runtime.store.runs_of(experiment.id):
        if turn.status in _SETTLED and turn.reason != "interrupted" and turn.cell is not None:
            key = CellKey.read(turn.cell)
            found.append((key, run_of(await runtime.record(turn.id, bodies=False), key.repeat)))
    return found


def check_limits(subject: Subject, repeats: int, concurrency: int, changes: Changes) -> None:
    """Raises BadInput for numbers that run nothing, and for recorded results where no turn has recorded any."""
    if repeats < 1:
        raise BadInput(f"a cell is run 1 or more times, not {repeats}", field="repeat")
    if concurrency < 1:
        raise BadInput(f"1 or more runs go at once, not {concurrency}", field="concurrency")
    if changes.tools == "recorded" and subject.of is None:
        raise BadInput("the request was never sent, so no result is recorded: tools are live or stubbed", field="tools")


def counts(record: TurnRecord) -> bool:
    """Whether a run was finished, however it ended."""
    return record.status in _SETTLED and record.reason != "interrupted"


def run_of(record: TurnRecord, repeat: int) -> Run:
    """What an experiment keeps at hand of a run's record."""
    return Run(
        turn=record.turn,
        repeat=repeat,
        status=record.status,
        reason=record.reason,
        error=record.error,
        answer=record.answer,
        calls=said_of(record).calls,
        selected=record.context.selected if record.context is not None else 0,
        estimate=record.fit.estimate if record.fit is not None else None,
        usage=record.usage,
        seconds=record.seconds,
    )
