"""A recorded turn under way, and how the rows of a call read as what happened in it: steps and their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from runtime import fit
from runtime.recorder.reading import Sent
from runtime.values.items import AssistantStep, ToolCall, ToolResult, ToolResults
from runtime.values.json import Json, JsonObject
from runtime.values.messages import NewMessage, calls_of
from runtime.values.record import PARTS, JournalBody, JournalItem, JournalKind, Part, ResultsItem, Settlement, StepItem

UNANSWERED = "no result was sent for this call"


@dataclass(slots=True)
class OpenTurn:
    """A turn that has not settled.

    `step` is the newest step, `items` counts the journal. `call` is the call under way, None between two; `calls`
    are those the model made and that wait for results. `failure` is how the turn ends unless it is tried again before
    `until` (seconds of the loop's clock). `left` says what the program left out of the call under way.
    """

    id: str
    number: int
    items: int = 0
    step: int = 0
    call: int | None = None
    calls: tuple[ToolCall, ...] = ()
    taken: set[str] = field(default_factory=set)
    failure: Settlement | None = None
    until: float = 0.0
    left: str = ""

    def copy(self) -> OpenTurn:
        """The turn as it is, to come back to."""
        return replace(self, taken=set(self.taken))

    def add(self, step: int, kind: JournalKind, body: JournalBody) -> JournalItem:
        """The next item of the journal."""
        self.items += 1
        return JournalItem(self.items, step, kind, body)

    def happened(self, rows: Iterable[NewMessage]) -> list[JournalItem]:
        """The items for `rows` that follow the request, or the newest step: results of the calls that wait, and steps
        that no call brought (the program's own, or from before the recording)."""
        found: list[JournalItem] = []
        results: list[NewMessage] = []
        for row in rows:
            if row.role == "tool":
                results.append(row)
            elif row.role == "assistant":
                found += self._answered(results)
                results = []
                self.step += 1
                self.calls = _calls(row, self.taken)
                step = AssistantStep(self.step, row.text, self.calls)
                found.append(self.add(self.step, "step", StepItem(step, 0, dict.fromkeys(PARTS, 0), 0.0)))
        return found + self._answered(results)

    def _answered(self, rows: Sequence[NewMessage]) -> list[JournalItem]:
        if not rows or not self.calls:
            return []
        results = _results(self.calls, rows)
        self.calls = ()
        return [self.add(self.step, "results", ResultsItem(ToolResults(self.step, results), {}))]


def parts_of(sent: Sent) -> dict[Part, int]:
    """The estimate of a call by part: the messages before the request, the request, and what followed it."""
    asked = sent.request
    end = len(sent.rows) if asked is None else asked
    history = sum(fit.row_tokens(row.role, row.text) + fit.parts_tokens(row.parts) for row in sent.rows[:end])
    request = fit.count(sent.rows[end].text) + fit.parts_tokens(sent.rows[end].parts) if end < len(sent.rows) else 0
    return fit.parts(
        {"instructions": fit.count(sent.instructions), "history": history, "request": request},
        tools=sum(tool.tokens for tool in sent.tools),
        transcript=sum(_said_tokens(row) for row in sent.rows[end + 1 :]),
    )


def _said_tokens(row: NewMessage) -> int:
    framed = fit.RESULT_OVERHEAD if row.role == "tool" else fit.MESSAGE_OVERHEAD
    return framed + fit.count(row.text) + fit.parts_tokens(row.parts)


def _calls(row: NewMessage, taken: set[str]) -> tuple[ToolCall, ...]:
    """The calls of a row, their ids distinct in the turn."""
    calls = []
    for part in calls_of(row.parts):
        id = base = str(part.get("id") or "call")
        copy = 1
        while id in taken:
            copy += 1
            id = f"{base}#{copy}"
        taken.add(id)
        calls.append(ToolCall(id, str(part.get("name") or ""), _arguments(part.get("arguments"))))
    return tuple(calls)


def _arguments(value: Json) -> JsonObject | str:
    return value if isinstance(value, str | dict) else {}


def _results(calls: Sequence[ToolCall], rows: Sequence[NewMessage]) -> tuple[ToolResult, ...]:
    """One result for every call, in the order of the calls (T4): by id, else the next that no id names."""
    waiting = list(rows)
    by_call: dict[str, NewMessage] = {}
    for call in calls:
        row = next((row for row in waiting if _part(row).get("call") in (call.id, call.id.partition("#")[0])), None)
        if row is not None:
            waiting.remove(row)
            by_call[call.id] = row
    for call in calls:
        if call.id not in by_call and waiting:
            by_call[call.id] = waiting.pop(0)
    return tuple(
        ToolResult(call.id, call.name, by_call[call.id].text, _part(by_call[call.id]).get("error") is True)
        if call.id in by_call
        else ToolResult(call.id, call.name, UNANSWERED, error=True)
        for call in calls
    )


def _part(row: NewMessage) -> JsonObject:
    return next((part for part in row.parts or () if part.get("type") == "tool_result"), {})
