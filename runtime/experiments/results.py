"""What experiments find, as frozen values: runs, cells, groups of answers, the edge, and what a row's absence does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from runtime.experiments.enough import Enough, Said
from runtime.subject import Changes
from runtime.values.messages import Role, Window
from runtime.values.record import Reason, Status
from runtime.values.usage import Usage

State = Literal["running", "done", "stopped"]
"""Of an experiment: under way, every run made, or stopped with what was done kept."""

DEFAULT_WINDOWS: tuple[Window, ...] = (0, 2, 6, "all")
"""What a sweep tries unless told otherwise, besides the agent's own window."""

CONCURRENCY = 8
"""How many runs of an experiment go at once unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Who answers. None is the agent of the thread under study, and that agent's own chain of models."""

    agent: str | None = None
    model: str | None = None

    def __str__(self) -> str:
        """`openai:small`, `agent notes`, both, or an empty text for the thread's own."""
        return ", ".join(part for part in (f"agent {self.agent}" if self.agent else "", self.model or "") if part)


@dataclass(frozen=True, slots=True)
class SweepSpec:
    """What a sweep is to try: windows x models x agents x repeats.

    `windows` empty is `DEFAULT_WINDOWS` and the agent's own; `all` is always run. `models` and `agents` empty are the
    thread's own. `smallest` finds the edge by bisection. `changes` holds for every run: how tools answer, rows dropped
    or edited. `concurrency` is how many runs go at once, 1 or more.
    """

    windows: tuple[Window, ...] = ()
    models: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    repeats: int = 1
    enough: Enough = field(default_factory=Enough)
    smallest: bool = False
    changes: Changes = field(default_factory=Changes)
    concurrency: int = CONCURRENCY
    marks: Mapping[str, bool] = field(default_factory=dict)
    """What a person said of runs, by turn id (`by hand`)."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run, kept as a turn on a view: its record is `runtime.record(turn)`.

    `repeat` counts from 1 in its cell. `estimate` is our estimate of its largest request in tokens, `usage` the
    provider's count, `seconds` wall time. `group` is the letter of its answer, None without one. `passed` is None
    where a person has to judge and has not.
    """

    turn: str
    repeat: int
    status: Status
    reason: Reason | None
    error: str | None
    answer: str | None
    calls: tuple[str, ...]
    selected: int
    estimate: int | None
    usage: Usage
    seconds: float | None
    group: str | None = None
    passed: bool | None = None

    @property
    def said(self) -> Said:
        """What predicates look at."""
        return Said(self.turn, self.status, self.answer, self.calls)


@dataclass(frozen=True, slots=True)
class Cell:
    """One window under one variant, and its runs so far (of `planned`).

    `same_as` names the window that selects the same rows: it was run, this one was not, and `runs` are its runs.
    `selected` counts rows, the request's own among them. `entered` are the seqs that this window has and the next
    smaller one of the sweep has not. `bisected` says that the search for the edge added it. `enough` is the verdict
    over the repeats, None while runs are missing or not judged.
    """

    variant: Variant
    window: Window
    same_as: Window | None
    selected: int
    entered: tuple[int, ...]
    planned: int
    runs: tuple[Run, ...] = ()
    bisected: bool = False
    enough: bool | None = None

    @property
    def complete(self) -> bool:
        """Whether every run of it was made."""
        return len(self.runs) >= self.planned

    @property
    def passes(self) -> int:
        """How many of its runs passed."""
        return sum(run.passed is True for run in self.runs)

    @property
    def main(self) -> Run | None:
        """The first run of its most frequent answer; runs without an answer count as one."""
        if not self.runs:
            return None
        often = Counter(run.group for run in self.runs)
        most = max(often.values())
        return next(run for run in self.runs if often[run.group] == most)

    @property
    def estimate(self) -> int | None:
        """The largest estimate of its runs, in tokens."""
        return max((run.estimate for run in self.runs if run.estimate is not None), default=None)

    @property
    def usage(self) -> Usage:
        """What the provider counted for all of its runs together."""
        total = Usage()
        for run in self.runs:
            total = total.plus(run.usage)
        return total

    @property
    def seconds(self) -> float | None:
        """The longest of its runs, in seconds."""
        return max((run.seconds for run in self.runs if run.seconds is not None), default=None)

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """The letters of its answers with how many runs gave each, the most frequent first; `` for no answer."""
        return tuple(Counter(run.group or "" for run in self.runs).most_common())


@dataclass(frozen=True, slots=True)
class Group:
    """Answers that are equal after casefolding and folding white space: a letter, the first of them, and where."""

    letter: str
    answer: str
    windows: tuple[Window, ...]
    runs: int


@dataclass(frozen=True, slots=True)
class BecauseRow:
    """A row that entered at the edge, and which words of the answer or predicate it says. `needs` as in X2."""

    seq: int
    role: Role
    text: str
    words: tuple[str, ...]
    needs: int


@dataclass(frozen=True, slots=True)
class Because:
    """Why the edge is where it is, found by text (no model is asked): the rows that say it, and a sentence.

    `rows` is empty where no row says it; the sentence then tells where else it stands, if anywhere.
    """

    sentence: str
    rows: tuple[BecauseRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """Of one variant: the least tested window such that it and every larger tested one is enough; None if none is.

    `below` is the largest tested window under it, `above` the next tested one over it; None if there is none.
    `edge_tested` says whether the window just below was tried (nothing is below 0).
    """

    variant: Variant
    smallest: Window | None
    below: Window | None
    above: Window | None
    edge_tested: bool
    because: Because | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as far as it is. `id` and `number` are what it is kept under (`sweep 12`).

    `of` is the turn that is run again, None where the request was asked of a thread's newest point. `stored` counts
    the rows that `all` takes. `cells` are sorted by variant, then window. `finding` is one sentence with the numbers
    (X8), empty while it runs. `done`, `total` and `failed` count runs.
    """

    id: str
    number: int
    state: State
    thread: str
    of: str | None
    of_name: str
    request: str
    agent: str
    window: Window
    stored: int
    spec: SweepSpec
    cells: tuple[Cell, ...]
    groups: tuple[Group, ...]
    edges: tuple[Edge, ...]
    finding: str
    done: int
    total: int
    failed: int
    at: datetime

    @property
    def smallest_sufficient(self) -> Window | None:
        """The smallest window that is enough, with every variant; None if there is none."""
        found = [edge.smallest for edge in self.edges]
        if None in found or not found:
            return None
        return "all" if "all" in found else max(window for window in found if isinstance(window, int))

    @property
    def edge_tested(self) -> bool:
        """Whether the window just below the smallest that is enough was tried."""
        smallest = self.smallest_sufficient
        return smallest is not None and all(edge.edge_tested for edge in self.edges if edge.smallest == smallest)

    @property
    def because(self) -> Because | None:
        """Why the edge is where it is, with the variant that needs the largest window."""
        smallest = self.smallest_sufficient
        return next((edge.because for edge in self.edges if edge.smallest == smallest), None)

    @property
    def usage(self) -> Usage:
        """What the provider counted for all runs together."""
        total = Usage()
        for cell in self.cells:
            if cell.same_as is None:
                total = total.plus(cell.usage)
        return total

    def cell(self, window: Window, variant: Variant | None = None) -> Cell | None:
        """The cell of a window, with the first variant unless one is named."""
        wanted = variant or (self.cells[0].variant if self.cells else Variant())
        return next((cell for cell in self.cells if cell.window == window and cell.variant == wanted), None)

    @property
    def differing(self) -> tuple[Cell, ...]:
        """Only where it differs: the cells whose answers or verdict are not those of the cell before them."""
        found: list[Cell] = []
        for cell in self.cells:
            before = found[-1] if found and found[-1].variant == cell.variant else None
            if before is None or (_kinds(before), before.enough) != (_kinds(cell), cell.enough):
                found.append(cell)
        return tuple(found)


def _kinds(cell: Cell) -> frozenset[str]:
    return frozenset(letter for letter, _ in cell.groups)


PieceKind = Literal["row", "state view", "instructions", "tool result"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a context that can be left out: a selected row (`key` its seq), a state view (its name), a paragraph
    of the instructions (its number from 1), a tool result (the id of its call). `text` is what it says."""

    kind: PieceKind
    key: int | str
    text: str
    name: str = ""

    def __str__(self) -> str:
        match self.kind:
            case "row":
                return f"seq {self.key}"
            case "state view":
                return f"the state view {self.key}"
            case "instructions":
                return f"paragraph {self.key} of the instructions"
            case "tool result":
                return f"the result of {self.name} ({self.key})"


@dataclass(frozen=True, slots=True)
class AblateSpec:
    """What leaving one out is to try, at one window. `kinds` are the kinds of pieces left out in turn; `enough` as in
    a sweep, where `same as all` means the same answer as with nothing left out."""

    window: Window
    kinds: tuple[PieceKind, ...] = ("row", "state view", "instructions", "tool result")
    repeats: int = 1
    enough: Enough = field(default_factory=Enough)
    changes: Changes = field(default_factory=Changes)
    variant: Variant = field(default_factory=Variant)
    concurrency: int = CONCURRENCY
    marks: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WithoutPiece:
    """The runs without one piece. `changed` counts those whose verdict is not the one that all pieces together give."""

    piece: Piece
    planned: int
    runs: tuple[Run, ...] = ()
    changed: int = 0

    @property
    def passes(self) -> int:
        return sum(run.passed is True for run in self.runs)


@dataclass(frozen=True, slots=True)
class Ablation:
    """Leave one out, as far as it is (X7): `baseline` are the runs with nothing left out, `verdict` theirs.

    `finding` names the pieces whose absence changes the verdict, and how often out of how many; empty while it runs.
    """

    id: str
    number: int
    state: State
    thread: str
    of: str | None
    of_name: str
    request: str
    agent: str
    spec: AblateSpec
    baseline: tuple[Run, ...]
    verdict: bool | None
    pieces: tuple[WithoutPiece, ...]
    groups: tuple[Group, ...]
    finding: str
    done: int
    total: int
    failed: int
    at: datetime

    @property
    def decisive(self) -> tuple[WithoutPiece, ...]:
        """The pieces whose absence changes the verdict in any run, the most often first."""
        return tuple(sorted((one for one in self.pieces if one.changed), key=lambda one: -one.changed))


@dataclass(frozen=True, slots=True)
class Announcement:
    """What an experiment will execute and send where, said before it does (X4).

    `models` are those asked, `remote` those among them that send to a server, `tools` the tools that run live,
    `foreign` those among them that run the user's own code. `runs` is how many at least. `sentence` says it all.
    """

    runs: int
    models: tuple[str, ...]
    remote: tuple[str, ...]
    tools: tuple[str, ...]
    foreign: tuple[str, ...]
    sentence: str
