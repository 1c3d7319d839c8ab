"""What TURNS shows besides turns and re-runs: experiments folded under their turn, and the thread a fork came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from studio_tui.views.lines import Line, Lines, Pane, Span

if TYPE_CHECKING:
    from runtime.stores import Experiment, Thread

FEW = 2
"""Experiments of one turn above which they are folded into one line."""

NAMES = {"sweep": "sweep", "ablation": "leave one out"}
"""What the kinds of experiments are called."""


@dataclass(frozen=True, slots=True)
class Besides:
    """`experiments` of the thread, newest first as the store lists them; `base` is the thread that this one was forked
    from (None: it is no fork), `at` the seq of the fork."""

    experiments: tuple[Experiment, ...] = ()
    base: Thread | None = None
    at: int | None = None


def with_besides(pane: Pane, besides: Besides, folds: frozenset[str]) -> Pane:
    """TURNS with the experiments under their turns. Ids: `experiment:ID`, `experiments:TURN` where they fold, and
    `base:THREAD`."""
    lines = pane.lines
    if not isinstance(lines, Lines) or not (besides.experiments or besides.base):
        return pane
    last = lines.groups - 1
    by_group: dict[int, dict[str, list[Experiment]]] = {}
    for experiment in reversed(besides.experiments):
        of = experiment.of_turn or ""
        group = lines.group_of(f"turn:{of}") if of else last
        by_group.setdefault(last if group is None else group, {}).setdefault(of, []).append(experiment)
    more = {
        group: tuple(line for of, found in those.items() for line in _experiments(of, found, folds))
        for group, those in by_group.items()
    }
    if besides.base is not None:
        more[last] = (*more.get(last, ()), *_base(besides.base, besides.at))
    return replace(pane, lines=lines.with_more(more))


def _experiments(of: str, found: Sequence[Experiment], folds: frozenset[str]) -> Iterator[Line]:
    indent = 2
    if not of:
        yield Line("blank:experiments", (), kind="blank")
        yield Line("experiments", (Span("asked, not sent", "title"),), kind="head")
        indent = 1
    if len(found) > FEW:
        id = f"experiments:{of}"
        opened = id in folds
        head = (Span("▾ " if opened else "▸ ", "key"), Span(f"↻ {len(found)} experiments"))
        yield Line(id, head, indent=indent, wrap=False, fold="open" if opened else "closed", kind="experiments")
        if not opened:
            return
    for experiment in found:
        yield _experiment(experiment, indent)


def _experiment(experiment: Experiment, indent: int) -> Line:
    state = "" if experiment.state == "done" else f" {experiment.state}"
    name = NAMES.get(experiment.kind, experiment.kind)
    return Line(
        f"experiment:{experiment.id}",
        (Span("↻ ", "key"), Span(f"{name} {experiment.number}"), Span(state, "warning"),
         Span(f"  {_told(experiment)}", "muted")),
        indent=indent,
        wrap=False,
        kind="experiment",
    )  # fmt: skip


def _told(experiment: Experiment) -> str:
    """What it tries, as far as its spec says: the predicate, or the request where none was sent."""
    asked = experiment.spec.get("asked")
    if experiment.of_turn is None and isinstance(asked, Mapping):
        return f"“{asked.get('request', '')}”"
    spec = experiment.spec.get("spec")
    enough = spec.get("enough") if isinstance(spec, Mapping) else None
    predicates = enough.get("predicates") if isinstance(enough, Mapping) else None
    if not isinstance(predicates, Sequence) or isinstance(predicates, str):
        return ""
    return " and ".join(": ".join(str(part) for part in one if part) for one in predicates if isinstance(one, Sequence))


def _base(base: Thread, at: int | None) -> Iterator[Line]:
    yield Line("blank:base", (), kind="blank")
    yield Line("base", (Span("this is a fork of", "title"),), kind="head")
    where = f"at {at}" if at is not None else "fork"
    spans = (Span(f"{where:<6}"), Span(base.name or base.id), Span(f"   {base.id}" if base.name else "", "muted"))
    yield Line(f"base:{base.id}", spans, indent=1, wrap=False, kind="base")
