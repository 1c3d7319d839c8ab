"""A sweep for people: the table of windows, the answers, the edge with its reason, the finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from runtime.experiments import Ablation, Cell, Run, Sweep
from runtime.explain import ranges
from studio_tui.cli.output import columns, one_line


def lines_of(found: Sweep, ablation: Ablation | None = None) -> Iterator[str]:
    """The lines of a sweep, and of leaving one out at its edge if that was done."""
    of = f"{found.of_name} of {found.thread}" if found.of is not None else found.of_name
    yield f'SWEEP  "{one_line(found.request)}"  of {of} ({found.stored} stored)  agent {found.agent}'
    yield f"ENOUGH WHEN  {found.spec.enough}"
    yield f"TOOLS  {found.spec.changes.tools}   {found.done} of {found.total} runs   {found.failed} failed"
    yield ""
    several = len(found.edges) > 1
    head = (*(("who",) if several else ()), "window", "selected", "entered", "est", "runs", "enough", "answers")
    table = [(*((str(cell.variant) or found.agent,) if several else ()), *_cell(cell)) for cell in found.cells]
    first = 1 if several else 0
    yield from columns([head, *table], right=(first, first + 1, first + 3, first + 4))
    yield ""
    for group in found.groups:
        yield f"  {group.letter}  {one_line(group.answer, 100)}"
    if found.groups:
        yield ""
    smallest = "none" if found.smallest_sufficient is None else str(found.smallest_sufficient)
    untested = found.smallest_sufficient is not None and not found.edge_tested
    yield f"SMALLEST ENOUGH  {smallest}{'   (the window just below was not tried)' if untested else ''}"
    if found.because is not None:
        yield f"BECAUSE  {found.because.sentence}"
    yield f"FINDING  {found.finding}"
    yield f"kept as sweep {found.number} ({found.id})"
    if ablation is not None:
        yield ""
        yield from lines_without(ablation)


def _cell(cell: Cell) -> tuple[str, ...]:
    if cell.same_as is not None:
        return (str(cell.window), str(cell.selected), f"same as {cell.same_as}, not run twice", "", "", "", "")
    entered = (ranges(cell.entered) or "–") + (" (bisected)" if cell.bisected else "")
    mark = {True: " ✔", False: "", None: " ?"}[cell.enough]
    return (
        str(cell.window), str(cell.selected), entered, str(cell.estimate or ""), str(len(cell.runs)),
        f"{cell.passes}/{len(cell.runs)}{mark}", _answers(cell.runs),
    )  # fmt: skip


def _answers(runs: Sequence[Run]) -> str:
    names = Counter(run.group or run.reason or run.status for run in runs)
    return "  ".join(name if count == 1 else f"{name} ×{count}" for name, count in names.items())


def lines_without(ablation: Ablation) -> Iterator[str]:
    """The lines of leaving one out."""
    passed = sum(run.passed is True for run in ablation.baseline)
    yield f"LEAVE ONE OUT  window {ablation.spec.window}"
    rows = [("nothing", "", f"{passed}/{len(ablation.baseline)}", "")]
    rows += [
        (
            str(one.piece),
            one_line(one.piece.text, 50),
            f"{one.passes}/{len(one.runs)}",
            f"changes the verdict in {one.changed} of {len(one.runs)}" if one.changed else "",
        )
        for one in ablation.pieces
    ]
    yield from columns([("without", "says", "enough", ""), *rows])
    yield ""
    yield f"FINDING  {ablation.finding}"
    yield f"kept as experiment {ablation.number} ({ablation.id})"
