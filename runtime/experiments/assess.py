"""From runs to cells: verdicts over the repeats, answers in groups, the edge of each variant. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from runtime.experiments.enough import Enough, Marks, folded, passes
from runtime.experiments.reach import Reach
from runtime.experiments.results import Cell, Edge, Group, Run, SweepSpec, Variant
from runtime.values.messages import Window


@dataclass(frozen=True, slots=True)
class Tried:
    """What a sweep has tried so far: by variant the windows (sorted, those that bisection added among `bisected`), and
    the finished runs by variant and by how many rows were selected (the same number is the same rows)."""

    windows: Mapping[Variant, Sequence[Window]]
    bisected: frozenset[tuple[Variant, Window]]
    runs: Mapping[tuple[Variant, int], Sequence[Run]]


def assess(spec: SweepSpec, reach: Reach, tried: Tried) -> tuple[tuple[Cell, ...], tuple[Group, ...], tuple[Edge, ...]]:
    """The cells by variant and window, the groups of all their answers, and each variant's edge without its reason."""
    letters = Letters()
    cells = tuple(cell for variant in tried.windows for cell in _cells(spec, reach, tried, variant, letters))
    edges = tuple(edge_of(reach, [cell for cell in cells if cell.variant == variant]) for variant in tried.windows)
    return cells, letters.groups(cells), edges


def ordered(windows: Sequence[Window]) -> list[Window]:
    """Windows without doubles, smallest first, `all` last; every window of 0 or less is 0 (S3)."""
    found: list[Window] = [*sorted({max(0, window) for window in windows if isinstance(window, int)})]
    return [*found, "all"] if "all" in windows else found


class Letters:
    """Gives equal answers (casefolded, white space folded) one letter: A, B, ... Z, AA, in the order they come."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}
        self._first: dict[str, str] = {}

    def letter(self, run: Run) -> str | None:
        """The letter of a run's answer, None if it has none."""
        if run.answer is None:
            return None
        key = folded(run.answer)
        if key not in self._of:
            self._of[key] = _letters(len(self._of))
            self._first[self._of[key]] = run.answer
        return self._of[key]

    def over(self, runs: Sequence[Run], window: Window) -> tuple[Group, ...]:
        """The groups over runs of one window that have their letters."""
        return tuple(
            Group(letter, answer, (window,), sum(run.group == letter for run in runs))
            for letter, answer in self._first.items()
        )

    def groups(self, cells: Sequence[Cell]) -> tuple[Group, ...]:
        """The groups over cells whose runs have their letters."""
        found = []
        for letter, answer in self._first.items():
            holding = [cell for cell in cells if any(run.group == letter for run in cell.runs)]
            runs = sum(run.group == letter for cell in holding if cell.same_as is None for run in cell.runs)
            windows = tuple(dict.fromkeys(cell.window for cell in holding))
            found.append(Group(letter, answer, windows, runs))
        return tuple(found)


def judged(runs: Sequence[Run], enough: Enough, of_all: str | None, marks: Marks, letters: Letters) -> tuple[Run, ...]:
    """The runs, each with its letter and whether it passed."""
    return tuple(
        replace(run, group=letters.letter(run), passed=passes(enough, run.said, of_all, marks)) for run in runs
    )


def verdict(runs: Sequence[Run], planned: int, enough: Enough) -> bool | None:
    """Whether the predicates hold in as many runs as they must; None while that is open."""
    needed = enough.needed(planned)
    passed = sum(run.passed is True for run in runs)
    open_ = sum(run.passed is None for run in runs) + max(0, planned - len(runs))
    if passed >= needed:
        return True
    return False if passed + open_ < needed else None


def usual_answer(runs: Sequence[Run]) -> str | None:
    """The answer that most of the runs gave, the first of them if several are as frequent; None without any."""
    answers = [run.answer for run in sorted(runs, key=lambda run: run.repeat) if run.answer is not None]
    if not answers:
        return None
    often = Counter(map(folded, answers))
    most = max(often.values())
    return next(answer for answer in answers if often[folded(answer)] == most)


def edge_of(reach: Reach, cells: Sequence[Cell]) -> Edge:
    """The edge among the cells of one variant, sorted by window: what is tested is what has a verdict."""
    tested = [cell for cell in cells if cell.enough is not None]
    smallest: Cell | None = None
    for cell in reversed(tested):
        if not cell.enough:
            break
        smallest = cell
    if smallest is None:
        return Edge(cells[0].variant, None, tested[-1].window if tested else None, None, False)
    count = reach.counted(smallest.window)
    under = [cell for cell in tested if reach.counted(cell.window) < count]
    over = [cell for cell in tested if reach.counted(cell.window) > count]
    just_below = any(reach.counted(cell.window) == count - 1 for cell in under)
    return Edge(
        smallest.variant,
        smallest.window,
        under[-1].window if under else None,
        over[0].window if over else None,
        count == 0 or just_below,
    )


def _cells(spec: SweepSpec, reach: Reach, tried: Tried, variant: Variant, letters: Letters) -> Iterator[Cell]:
    windows = tried.windows[variant]
    of_all = tried.runs.get((variant, reach.selected("all")), ())
    reference = usual_answer(of_all)
    open_ = len(of_all) < spec.repeats
    first: dict[int, Window] = {}
    smaller: Window | None = None
    for window in windows:
        selected = reach.selected(window)
        made = sorted(tried.runs.get((variant, selected), ()), key=lambda run: run.repeat)[: spec.repeats]
        runs = judged(made, spec.enough, reference, spec.marks, letters)
        if open_ and any(predicate.word == "same as all" for predicate in spec.enough.predicates):
            runs = tuple(replace(run, passed=None) for run in runs)
        same_as = first.setdefault(selected, window)
        yield Cell(
            variant=variant,
            window=window,
            same_as=None if same_as == window else same_as,
            selected=selected,
            entered=reach.entered(window, smaller),
            planned=spec.repeats if same_as == window else 0,
            runs=runs,
            bisected=(variant, window) in tried.bisected,
            enough=verdict(runs, spec.repeats, spec.enough) if len(runs) >= spec.repeats else None,
        )
        smaller = window


def _letters(n: int) -> str:
    """0 is A, 25 Z, 26 AA."""
    letters = ""
    n += 1
    while n:
        n, digit = divmod(n - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters
