"""What an experiment will execute and send where, said before it does (X4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from runtime.experiments.ablate import pieces_of, planned_runs
from runtime.experiments.results import AblateSpec, Announcement, SweepSpec, Variant
from runtime.experiments.sweep import planned
from runtime.explain import quoted
from runtime.explain.words import plural
from runtime.subject import Changes, Overrides, Subject

if TYPE_CHECKING:
    from runtime.threads import RunPlan, Runtime

_HERE = ("offline", "script")
"""Models that answer on this machine."""


async def announce(runtime: Runtime, subject: Subject, spec: SweepSpec | AblateSpec) -> Announcement:
    """What `run_sweep` or `run_ablation` would do on `subject`; nothing is run or kept.

    `runs` of a search for the smallest window count what comes before the search. Raises what running would raise.
    """
    if isinstance(spec, SweepSpec):
        sweep = await planned(runtime, subject, spec)
        variants: Iterable[Variant] = sweep.windows
        runs, how = sweep.runs, f"{plural(sweep.cells, 'window')}, {plural(spec.repeats, 'repeat')} each"
        if spec.smallest:
            how += ", then those that halve the way to the smallest window that is enough"
    else:
        pieces = await pieces_of(runtime, subject, spec)
        variants = (spec.variant,)
        runs = planned_runs(pieces, spec)
        how = f"all of it, and without each of {plural(len(pieces), 'part')}, {plural(spec.repeats, 'repeat')} each"
    plans = [runtime.plan_on(subject, Overrides(agent=one.agent, model=one.model), spec.changes) for one in variants]
    return _announcement(subject, spec.changes, plans, runs, how)


def _announcement(subject: Subject, changes: Changes, plans: list[RunPlan], runs: int, how: str) -> Announcement:
    live = changes.tools == "live"
    models = _each(model for plan in plans for model in plan.models)
    remote = tuple(model for model in models if model not in _HERE)
    tools = _each(tool for plan in plans for tool in (*plan.tools, *plan.delegates)) if live else ()
    foreign = _each(tool for plan in plans for tool in plan.foreign) if live else ()
    told = [
        f"{plural(runs, 'run')} of {quoted(subject.request)} ({how}) on a view of thread {subject.thread.id}, "
        "which does not change",
        f"sent to {', '.join(remote)}" if remote else f"nothing leaves this machine ({', '.join(models)})",
        _tools(subject, changes, tools),
    ]
    if foreign:
        told.append(f"of these, your own Python code: {', '.join(foreign)}")
    return Announcement(runs, models, remote, tools, foreign, "; ".join(told) + ".")


def _tools(subject: Subject, changes: Changes, tools: tuple[str, ...]) -> str:
    if changes.tools == "stubbed":
        return "no tool runs: every call is answered by a stub"
    if changes.tools == "recorded":
        return f"no tool runs: calls are answered as recorded in {subject.name}"
    if not tools:
        return "there are no tools"
    return f"tools run LIVE, each on its run's own state: {', '.join(tools)}"


def _each(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
