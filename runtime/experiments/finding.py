"""A sweep in one sentence with its numbers (X8)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from runtime.experiments.enough import Enough
from runtime.experiments.reach import Reach
from runtime.experiments.results import Cell, Edge
from runtime.explain import quoted, ranges
from runtime.explain.words import plural
from runtime.values.messages import Window


def finding(
    name: str, request: str, own: Window, enough: Enough, reach: Reach, cells: Sequence[Cell], edges: Sequence[Edge]
) -> str:
    """The FINDING of a sweep on `name`, whose own window is `own`, ending in a full stop."""
    told = [
        "; ".join(_of_edge(own, reach, [cell for cell in cells if cell.variant == edge.variant], edge))
        for edge in edges
    ]
    named = [f"with {edge.variant}: {one}" if str(edge.variant) else one for edge, one in zip(edges, told, strict=True)]
    asked = f"{name}, {quoted(request)}, enough when {enough_words(enough)}"
    return f"{asked}: {'. '.join(named)}.{_wavers(cells)}{_all_differ(enough, cells)}{_failures(cells)}"


def score(cell: Cell) -> str:
    """`4 of 5`: how many of a cell's runs passed."""
    return f"{cell.passes} of {len(cell.runs)}"


def _of_edge(own: Window, reach: Reach, cells: Sequence[Cell], edge: Edge) -> Iterator[str]:
    sent = next((cell for cell in cells if cell.window == own and cell.runs), None)
    if sent is not None and own != edge.smallest:
        yield f"window {own} selected {_rows(reach, own)} and gives {score(sent)}"
    if edge.smallest is None:
        yield _none_enough(cells)
    else:
        found = next(cell for cell in cells if cell.window == edge.smallest)
        yield f"smallest enough: {edge.smallest} ({score(found)})"
        yield _edge(reach, cells, edge)
    if edge.because is not None:
        yield edge.because.sentence


def _none_enough(cells: Sequence[Cell]) -> str:
    tried = [cell for cell in cells if cell.enough is not None]
    if not tried:
        return "nothing was tried to the end"
    passing = [cell for cell in tried if cell.enough]
    if not passing:
        return f"no window tried is enough ({', '.join(f'{cell.window}: {score(cell)}' for cell in tried)})"
    good = ", ".join(str(cell.window) for cell in passing)
    bad = ", ".join(str(cell.window) for cell in tried if not cell.enough and _over(tried, cell, passing[0]))
    return f"{good} is enough, but a larger window is not ({bad}): there is no size from which every window is enough"


def _over(tried: Sequence[Cell], cell: Cell, than: Cell) -> bool:
    return tried.index(cell) > tried.index(than)


def _edge(reach: Reach, cells: Sequence[Cell], edge: Edge) -> str:
    assert edge.smallest is not None
    count = reach.counted(edge.smallest)
    if count == 0:
        return "nothing is smaller"
    below = next((cell for cell in cells if cell.window == edge.below), None)
    if below is None:
        return "nothing smaller was tried"
    told = f"{below.window} gives {score(below)}"
    if not edge.edge_tested:
        told += f" ({_between(count, reach.counted(below.window))} not tried)"
    if edge.above is None and count == reach.readable:
        return f"{told}, and {count} is the whole thread"
    return told


def _between(larger: int, smaller: int) -> str:
    first, last = smaller + 1, larger - 1
    return str(first) if first == last else f"{first} to {last}"


def _rows(reach: Reach, window: Window) -> str:
    rows = reach.entered(window, None)
    return f"seq {ranges(rows)}" if rows else "no rows"


def enough_words(enough: Enough, same: str = "that all gives") -> str:
    """A predicate in a sentence: `the answer contains "5th"`. `same` names the answer that `same as all` means."""
    said = []
    for predicate in enough.predicates:
        match predicate.word:
            case "same as all":
                said.append(f"the answer is the one {same}")
            case "by hand":
                said.append("marked so by hand")
            case "calls":
                said.append(f"it calls {predicate.value}")
            case "json":
                said.append(f"the answer is the JSON {predicate.value}")
            case word:
                said.append(f"the answer {word} {quoted(predicate.value)}")
    at_least = "" if enough.at_least is None else f", in {enough.at_least} or more of the repeats"
    return " and ".join(said) + at_least


def _wavers(cells: Sequence[Cell]) -> str:
    """A warning where a window is enough and a larger one is not: no single row then makes the difference."""
    for variant in dict.fromkeys(cell.variant for cell in cells):
        judged = [
            cell for cell in cells if cell.variant == variant and cell.enough is not None and cell.same_as is None
        ]
        judged.sort(key=lambda cell: math.inf if cell.window == "all" else cell.window)
        for smaller, larger in itertools.pairwise(judged):
            if smaller.enough and not larger.enough:
                return (
                    f" The verdict wavers: window {smaller.window} is enough and {larger.window} is not; more repeats,"
                    " or a predicate such as contains, would tell more."
                )
    return ""


def _all_differ(enough: Enough, cells: Sequence[Cell]) -> str:
    """A warning where `same as all` tells nothing, because hardly two runs use the same words."""
    answers = [run.group for cell in cells if cell.same_as is None for run in cell.runs if run.group is not None]
    if len(answers) < 3 or len(set(answers)) < len(answers):
        return ""
    if not any(predicate.word == "same as all" for predicate in enough.predicates):
        return ""
    return " No two runs answered in the same words: a predicate such as contains would tell more."


def _failures(cells: Sequence[Cell]) -> str:
    runs = [run for cell in cells if cell.same_as is None for run in cell.runs]
    failed = [run for run in runs if run.status != "completed"]
    if not failed:
        return ""
    reasons = ", ".join(dict.fromkeys(run.reason or run.status for run in failed))
    return f" {len(failed)} of {plural(len(runs), 'run')} did not complete ({reasons})."
