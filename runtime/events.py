"""What is told while a step and a turn run: the model's events, and the turn's own.

A model adapter yields `Sent`, then `TextDelta`, `Called`, `UsageReported`, `Opaque` in any order, and at last
`Ended`; without `Ended` the tier has failed (M3). A turn tells its listeners a `TurnEvent`; each names its turn and
thread, so that two turns at once are never mixed (C37).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from runtime.values.items import ToolCall, ToolResult
from runtime.values.json import JsonObject
from runtime.values.record import JournalItem, Turn, TurnRecord
from runtime.values.usage import Usage


@dataclass(frozen=True, slots=True)
class Sent:
    """The request's body as it went on the wire, without headers or keys (A6). The first event of every attempt.

    `url` is where it was posted, its secrets taken out (Q3); empty for a model without a wire.
    """

    body: bytes
    url: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A complete call, its arguments read."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Usage in the provider's own count; the last one reported stands (M5)."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Opaque:
    """Blocks that the same endpoint wants back unchanged, keyed by the endpoint."""

    blocks: JsonObject


@dataclass(frozen=True, slots=True)
class Ended:
    """The closing marker was seen. `length`: the model hit its output limit (T5 truncated)."""

    reason: Literal["stop", "length"]


ModelEvent: TypeAlias = "Sent | TextDelta | Called | UsageReported | Opaque | Ended"


@dataclass(frozen=True, slots=True)
class Opened:
    """A turn was opened; its user message, if any, is stored."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class StepBegan:
    """A tier is about to be called at this step."""

    thread: str
    turn: str
    step: int
    tier: int
    model: str


@dataclass(frozen=True, slots=True)
class Streamed:
    """A piece of text arrived. Not in the journal: the step item holds the whole."""

    thread: str
    turn: str
    step: int
    text: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The tier that streamed this step's text failed; what comes next replaces it (M2)."""

    thread: str
    turn: str
    step: int


@dataclass(frozen=True, slots=True)
class CallBegan:
    """A tool call started to run."""

    thread: str
    turn: str
    step: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A tool call has its result; the group is journaled when all have."""

    thread: str
    turn: str
    step: int
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Journaled:
    """An item was added to the turn's journal, durable as RULES ask."""

    thread: str
    turn: str
    item: JournalItem


@dataclass(frozen=True, slots=True)
class Settled:
    """The turn has ended; its record is complete."""

    record: TurnRecord

    @property
    def turn(self) -> str:
        return self.record.turn

    @property
    def thread(self) -> str:
        return self.record.thread


TurnEvent: TypeAlias = "Opened | StepBegan | Streamed | Withdrawn | CallBegan | CallEnded | Journaled | Settled"
