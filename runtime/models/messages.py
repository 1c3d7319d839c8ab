"""A request as a conversation that every provider accepts, before it is spelled in a dialect (M6).

User and assistant take turns, the user first. The results of an assistant's calls stand at the head of the user turn
after it, one for each call, in the order of the calls. Empty steps are not sent (T6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from runtime.models.legal import LONGEST_ID, Distinct, Names
from runtime.values.items import AssistantStep, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.json import JsonObject, as_text
from runtime.values.request import Attachment, Request

UNREAD_ARGUMENTS = "unreadable_arguments"
"""The key under which arguments that are no JSON object are sent back: providers take nothing but an object."""

NO_OUTPUT = "(no output)"
NO_RESULT = "no result was recorded for this call"


@dataclass(frozen=True, slots=True)
class SentCall:
    """A call as it is sent back: a legal id that no other call of the request has, and arguments that are an object."""

    id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class SentResult:
    """The result of a call, as text that is not blank; `id` is the call's."""

    id: str
    name: str
    text: str
    error: bool


@dataclass(frozen=True, slots=True)
class UserTurn:
    """Results first, then text; `text` is empty, never blank, if there is none. Attachments go with the request."""

    results: tuple[SentResult, ...] = ()
    text: str = ""
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantTurn:
    """A step as it is sent back; `text` is empty, never blank. `opaque` is as in AssistantStep."""

    text: str
    calls: tuple[SentCall, ...]
    opaque: JsonObject | None = None


WireTurn: TypeAlias = "UserTurn | AssistantTurn"


@dataclass(frozen=True, slots=True)
class Conversation:
    """What is said to a model: `system` (empty: none), the turns, and the spelling of tool names."""

    system: str
    turns: tuple[WireTurn, ...]
    names: Names


def conversation(request: Request) -> Conversation:
    """The whole of `request` by M6: system, first user message, then the transcript natively."""
    system = "\n\n".join(filter(str.strip, (request.section("instructions"), request.section("state"))))
    builder = _Turns(request)
    for item in request.transcript:
        match item:
            case AssistantStep():
                if not item.empty:
                    builder.step(item)
            case ToolResults():
                builder.results(item.results)
            case Nudge():
                builder.say(item.text)
    return Conversation(system, builder.finish(), builder.names)


def first_message(request: Request) -> str:
    """The text of the first user message (M6); never blank, whatever was asked."""
    history = request.section("history")
    asked = request.section("request") or request.brief
    if not history:
        return asked if asked.strip() else "Request:"
    return f"Conversation so far:\n{history}\n\nRequest:\n{asked}"


def calls_made(request: Request) -> list[ToolCall]:
    """The calls of this turn so far, in order."""
    return [call for item in request.transcript if isinstance(item, AssistantStep) for call in item.calls]


def not_kept(file: Attachment) -> str:
    """What is said of a file whose content has gone: a turn that is run again has it from the body that was sent."""
    return (
        f"{file.name or 'a file'} was attached to the turn that is run again and is not kept: attach it to a new turn"
    )


def object_schema(schema: JsonObject) -> JsonObject:
    """`schema` as the schema of an object with properties, which some servers insist on."""
    if schema.get("type") == "object" and "properties" in schema:
        return schema
    return {"type": "object", "properties": {}, **schema}


class _Turns:
    """Collects turns: what the user side says is gathered until an assistant step closes it."""

    def __init__(self, request: Request) -> None:
        self.names = Names([*(tool.name for tool in request.tools), *(call.name for call in calls_made(request))])
        self._ids = Distinct(LONGEST_ID, "call")
        self._turns: list[WireTurn] = []
        self._open: list[tuple[ToolCall, SentCall]] = []
        self._given: list[ToolResult] = []
        self._said = [first_message(request)]
        self._attachments = request.attachments

    def step(self, step: AssistantStep) -> None:
        self._close_user()
        calls = [(call, self._sent(call)) for call in step.calls]
        turn = AssistantTurn(_not_blank(step.text), tuple(sent for _, sent in calls), step.opaque)
        before = self._turns[-1]
        if isinstance(before, AssistantTurn):  # Two steps with nothing between them: one message.
            text = "\n\n".join(filter(None, (before.text, turn.text)))
            self._turns[-1] = AssistantTurn(text, before.calls + turn.calls)
        else:
            self._turns.append(turn)
        self._open = calls

    def results(self, results: tuple[ToolResult, ...]) -> None:
        self._given += results

    def say(self, text: str) -> None:
        if text.strip():
            self._said.append(text)

    def finish(self) -> tuple[WireTurn, ...]:
        self._close_user()
        return tuple(self._turns)

    def _close_user(self) -> None:
        answered = tuple(self._answer(call, sent) for call, sent in self._open)
        if answered or self._said:
            self._turns.append(UserTurn(answered, "\n\n".join(self._said), self._attachments))
        self._open, self._given, self._said, self._attachments = [], [], [], ()

    def _sent(self, call: ToolCall) -> SentCall:
        arguments = {UNREAD_ARGUMENTS: call.arguments} if isinstance(call.arguments, str) else call.arguments
        return SentCall(self._ids.spell(call.id), self.names.sent(call.name), arguments)

    def _answer(self, call: ToolCall, sent: SentCall) -> SentResult:
        for n, result in enumerate(self._given):
            if result.id == call.id:
                del self._given[n]
                return SentResult(sent.id, sent.name, _not_blank(as_text(result.output)) or NO_OUTPUT, result.error)
        return SentResult(sent.id, sent.name, NO_RESULT, error=True)


def _not_blank(text: str) -> str:
    return text if text.strip() else ""
