"""The record of a turn: what was in front of the model, what it did, how it ended. Always the fold of the journal.

The shape in JSON is written in `runtime.values.record_json`; field names here are the same, but for `from`/`to` of
ranges (`first`/`last`) and `is_brief` (`is_request`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from runtime.values.items import AssistantStep, Item, Nudge, ToolResults
from runtime.values.json import Json, JsonObject
from runtime.values.messages import Role, Window
from runtime.values.request import SectionName
from runtime.values.usage import Usage

Kind = Literal["envelope", "brief", "child"]
"""T1: root with a request, root without an envelope, delegated."""

TurnOrigin = Literal["run", "imported", "recorded"]
Layout = Literal["sections", "messages"]

Status = Literal["running", "completed", "failed", "cut", "stopped", "truncated"]
"""T5, and `running` for a turn that has not settled."""

Reason = Literal[
    "fit-overflow", "model-error", "no-output", "hook-error", "store-error", "interrupted",
    "steps", "tool-calls", "seconds", "tokens",
]  # fmt: skip
"""Why a turn failed (the first six) or which budget it ran out of (the last four)."""

LeftOutReason = Literal[
    "older-than-window", "older-than-count", "history-declined", "unit-too-large", "strategy-none", "sensitive-child",
    "unreadable", "is-request", "thread-resumed", "dropped", "dropped-by-client", "hidden",
]  # fmt: skip
"""X1: why a stored row is not in front of the model."""

UnstoredReason = Literal[
    "transcript-only", "turn-failed", "turn-cut", "turn-stopped", "turn-truncated", "child-turn", "brief-turn",
    "view-run",
]  # fmt: skip
"""X1: why something that happened was never a row."""

Part = Literal["instructions", "state", "history", "request", "tools", "transcript", "overhead"]
PARTS: tuple[Part, ...] = ("instructions", "state", "history", "request", "tools", "transcript", "overhead")


@dataclass(frozen=True, slots=True)
class ContextRow:
    """A selected row. `needs` is the smallest window that includes it (X2); `text` is raw, not escaped (A3).

    `id` is the store-wide insertion number (0 if the store has none); `origin` is (thread, seq) of a copied row.
    `is_request` says that the row is the turn's own request, by seq (A4). `repeats` is what X6 found.
    """

    seq: int
    role: Role
    text: str
    tokens: int
    needs: int
    is_request: bool = False
    repeats: tuple[str, ...] = ()
    id: int = 0
    origin: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class SectionRecord:
    """A section as sent, with its tokens (our estimate). `rows` is filled for the history section alone."""

    name: SectionName
    text: str
    tokens: int
    rows: tuple[ContextRow, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The rows first..last (seq, inclusive) and the one reason why they are not in the context (X1)."""

    first: int
    last: int
    reason: LeftOutReason

    @property
    def count(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Since:
    """What entered and fell out since the turn before on this thread (X2); `turn` is None for a thread's first."""

    turn: str | None = None
    entered: tuple[int, ...] = ()
    left: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolOffered:
    """A tool as it was offered, with what its schema costs in tokens (A1)."""

    name: str
    description: str
    schema: JsonObject
    tokens: int


@dataclass(frozen=True, slots=True)
class ContextRecord:
    """The opening context of a turn (A6), as of assembly: the request's row counts in `stored`, the answer's not."""

    sections: tuple[SectionRecord, ...]
    stored: int
    selected: int
    left_out: tuple[LeftOut, ...]
    since: Since
    tools: tuple[ToolOffered, ...] = ()

    def section(self, name: SectionName) -> SectionRecord | None:
        return next((section for section in self.sections if section.name == name), None)

    @property
    def rows(self) -> tuple[ContextRow, ...]:
        """The selected rows, oldest first."""
        history = self.section("history")
        return history.rows if history else ()


@dataclass(frozen=True, slots=True)
class Fit:
    """Tokens: the limit of the tier, what is kept for the answer, and the largest estimate of the steps (F1)."""

    limit: int
    reserve: int
    estimate: int


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One model call: our estimate, its parts (they add up to it), seconds, and the body sent (None once pruned)."""

    step: int
    estimate: int
    parts: Mapping[Part, int]
    seconds: float
    body: Json = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of one tier at one step (M2). `outcome` is `ok`, the `kind` of the ModelError, or `stopped`.

    `url` is where the body was posted, its secrets taken out (Q3); empty if nothing went over a wire.
    """

    step: int
    model: str
    outcome: str
    status: int | None = None
    error: str | None = None
    estimate: int = 0
    usage: Usage | None = None
    seconds: float = 0.0
    configuration: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a turn ended (T5). `overflow` is the estimate that did not fit, in parts, and `limit` the room of the tier
    it did not fit, in tokens; None unless `fit-overflow`. `handoff` is what a completed turn of an agent written in
    ABL decided (H14): `decision` in it is `ask`, `answer`, `complete`, `handoff`, `return`, `leave` or `intents`."""

    status: Status
    reason: Reason | None = None
    error: str | None = None
    answer: str | None = None
    overflow: StepRecord | None = None
    limit: int | None = None
    handoff: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class StepItem:
    """The journal's step: what the model said, with our estimate of what it was sent."""

    item: AssistantStep
    estimate: int
    parts: Mapping[Part, int]
    seconds: float


@dataclass(frozen=True, slots=True)
class ResultsItem:
    """The journal's results: the group, and the state writes of its tools in call order (T4)."""

    item: ToolResults
    writes: JsonObject


@dataclass(frozen=True, slots=True)
class ContextItem:
    """The journal's first entry: the opening context and the tier limits it was assembled for."""

    context: ContextRecord
    limit: int
    reserve: int


JournalBody = ContextItem | StepItem | ResultsItem | Nudge | Attempt | Settlement
JournalKind = Literal["context", "step", "results", "nudge", "attempt", "settlement"]


@dataclass(frozen=True, slots=True)
class JournalItem:
    """One entry of a turn's journal; `n` counts 1, 2, 3 ... in the turn, `step` is 0 before the first step."""

    n: int
    step: int
    kind: JournalKind
    body: JournalBody


@dataclass(frozen=True, slots=True)
class View:
    """What a run looks at (X4): the thread's rows 1..`upto`, some left out (`drop`) or with other text (`edit`).

    `views` (state views by name), `blocks` (paragraphs of the instructions by number) and `results` (tool results of
    the turn by call id) had another text, or were left out where it is None.
    """

    upto: int
    drop: tuple[int, ...] = ()
    edit: Mapping[int, str] | None = None
    views: Mapping[str, str | None] | None = None
    blocks: Mapping[int, str | None] | None = None
    results: Mapping[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that runs a turn (S7); `started` is the process's start time as the system tells it."""

    host: str
    pid: int
    started: str

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host}"


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn's row: everything about it that is not in its journal.

    `view` is set for runs (X4). `request` is the text asked. `state_before` is the thread's state at its opening,
    `state_after` at its settlement (None while it runs). `parent`, `parent_step` and `parent_call` name the call a
    child answers. `rerun_of` is the turn a run repeats. `stored_user` and `stored_assistant` are seqs in `thread`.
    """

    id: str
    thread: str
    kind: Kind
    agent: str
    window: Window
    request: str
    opened: datetime
    state_before: JsonObject
    origin: TurnOrigin = "run"
    layout: Layout = "sections"
    view: View | None = None
    parent: str | None = None
    parent_step: int | None = None
    parent_call: str | None = None
    rerun_of: str | None = None
    experiment: str | None = None
    cell: str | None = None
    owner: Owner | None = None
    lease: datetime | None = None
    status: Status = "running"
    reason: Reason | None = None
    settled: datetime | None = None
    state_after: JsonObject | None = None
    stored_user: int | None = None
    stored_assistant: int | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """The whole of a turn, folded from its journal (A6). See CLI.md for the same shape in JSON.

    `children` maps the id of a delegate's call to the child's record (T8); call ids are distinct within a turn.
    `seconds` is None while it runs.
    `number` is the turn's place among its thread's root turns, from 1 (0 for runs and children).
    """

    turn: str
    thread: str
    origin: TurnOrigin
    layout: Layout
    agent: str
    kind: Kind
    window: Window
    request: str
    at: datetime
    seconds: float | None
    context: ContextRecord | None
    fit: Fit | None
    steps: tuple[StepRecord, ...]
    transcript: tuple[Item, ...]
    tiers: tuple[Attempt, ...]
    status: Status
    reason: Reason | None
    error: str | None
    answer: str | None
    stored_user: int | None
    stored_assistant: int | None
    unstored_user: UnstoredReason | None
    unstored_assistant: UnstoredReason | None
    state_before: JsonObject
    state_after: JsonObject
    usage: Usage
    number: int = 0
    view: View | None = None
    rerun_of: str | None = None
    parent: str | None = None
    parent_call: str | None = None
    owner: Owner | None = None
    overflow: StepRecord | None = None
    children: Mapping[str, TurnRecord] | None = None
    handoff: JsonObject | None = None
    writes: Mapping[int, JsonObject] | None = None
    """What the tools of each step wrote to the state, by step (T4)."""

    @property
    def is_run(self) -> bool:
        """A run on a view: nothing of it is a row (X4)."""
        return self.view is not None
