"""The shape of a turn record in JSON, as types: what `studio-tui schema turn` publishes. Only that command loads it."""

from __future__ import annotations

import sys
from typing import Literal, NotRequired

from runtime.values.json import JsonObject
from runtime.values.messages import Role
from runtime.values.record import Kind, Layout, LeftOutReason, Reason, Status, TurnOrigin, UnstoredReason
from runtime.values.request import SectionName

if sys.version_info >= (3, 12):  # pydantic takes no typing.TypedDict of 3.11
    from typing import TypedDict
else:
    from typing_extensions import TypedDict


class RowJson(TypedDict):
    """A selected row; `needs` is the smallest window that includes it, `is_brief` says it is also the request."""

    seq: int
    role: Role
    text: str
    tokens: int
    needs: int
    is_brief: bool
    repeats: list[str]


class SectionJson(TypedDict):
    """A section as it was sent; `messages` stands in the history section alone."""

    name: SectionName
    text: str
    tokens: int
    messages: NotRequired[list[RowJson]]


LeftOutJson = TypedDict("LeftOutJson", {"from": int, "to": int, "reason": LeftOutReason})
"""The rows from..to (seq, inclusive) and why they are not in the context."""


class SinceJson(TypedDict):
    """What entered and fell out since the turn before."""

    turn: str | None
    entered: list[int]
    left: list[int]


class ToolJson(TypedDict):
    """A tool as it was offered."""

    name: str
    description: str
    schema: dict[str, object]
    tokens: int


class ContextJson(TypedDict):
    """The opening context, as of assembly."""

    sections: list[SectionJson]
    stored: int
    selected: int
    left_out: list[LeftOutJson]
    since: SinceJson
    tools: list[ToolJson]


class FitJson(TypedDict):
    """Tokens: the limit, what is kept for the answer, the largest estimate of the steps."""

    limit: int
    reserve: int
    estimate: int


class PartsJson(TypedDict):
    """Tokens by part; they add up to the step's estimate."""

    instructions: int
    state: int
    history: int
    request: int
    tools: int
    transcript: int
    overhead: int


class StepJson(TypedDict):
    """One model call; `body` is what was sent, null once pruned."""

    step: int
    estimate: int
    parts: PartsJson
    seconds: float
    body: object


class CallJson(TypedDict):
    """A call; `arguments` is an object, or the text as received when it is none."""

    id: str
    name: str
    arguments: dict[str, object] | str


class AssistantJson(TypedDict):
    """What the model said and called in one step."""

    item: Literal["assistant"]
    step: int
    text: str
    calls: list[CallJson]
    partial: bool
    opaque: NotRequired[dict[str, object]]


class ResultJson(TypedDict):
    """The result of a call; `turn` is the delegated turn behind it."""

    id: str
    name: str
    output: object
    error: bool
    seconds: float
    abandoned: NotRequired[bool]
    turn: NotRequired[RecordJson]


class ResultsJson(TypedDict):
    """The results of one step's calls, in the order of the calls."""

    item: Literal["tools"]
    step: int
    results: list[ResultJson]


class NudgeJson(TypedDict):
    """The model was asked again after an empty step."""

    item: Literal["nudge"]
    step: int
    text: str


class UsageJson(TypedDict):
    """Tokens as the provider counted them; null where it said nothing."""

    input: int | None
    output: int | None


class AttemptJson(TypedDict):
    """One try of one tier at one step."""

    step: int
    model: str
    outcome: str
    status: int | None
    error: str | None
    estimate: int
    usage: UsageJson | None
    seconds: float
    configuration: NotRequired[bool]
    url: NotRequired[str]


class UnstoredJson(TypedDict):
    """Why the request or the answer is not a row; null where it is one."""

    user: UnstoredReason | None
    assistant: UnstoredReason | None


class StateJson(TypedDict):
    """The thread's state when the turn opened and when it settled."""

    before: dict[str, object]
    after: dict[str, object]


class ViewJson(TypedDict):
    """What a run looked at: rows 1..upto, some left out, some (by seq) with other text.

    Of state views (by name), paragraphs of the instructions (by number) and tool results (by call id), those that had
    another text, or null where they were left out.
    """

    upto: int
    drop: list[int]
    edit: dict[str, str] | None
    views: NotRequired[dict[str, str | None]]
    blocks: NotRequired[dict[str, str | None]]
    results: NotRequired[dict[str, str | None]]


class RecordJson(TypedDict):
    """The record of a turn: what was in front of the model, what it did, how it ended."""

    turn: str
    thread: str
    origin: TurnOrigin
    layout: Layout
    agent: str
    kind: Kind
    window: int | Literal["all"]
    at: str
    seconds: float | None
    context: ContextJson | None
    fit: FitJson | None
    steps: list[StepJson]
    transcript: list[AssistantJson | ResultsJson | NudgeJson]
    tiers: list[AttemptJson]
    status: Status
    reason: Reason | None
    error: str | None
    answer: str | None
    stored_user: int | None
    stored_assistant: int | None
    unstored: UnstoredJson
    handoff: dict[str, object] | None
    state: StateJson
    usage: UsageJson
    view: NotRequired[ViewJson]
    rerun_of: NotRequired[str | None]


def turn_schema() -> JsonObject:
    """The JSON Schema of a turn record."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(RecordJson).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "turn record", **schema}
