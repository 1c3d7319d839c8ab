"""Turns recovered from rows: each request with the model calls it led to, and what stood in front of them.

Recorded are the messages, the calls, their results and the answer. Inferred are where a turn begins (at a user
message that an assistant message follows), that every earlier message was sent with it unless the file says that the
session was compacted, the tokens, and how a turn without an answer ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from runtime.values.items import AssistantStep, Item, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.json import Json, JsonObject
from runtime.values.messages import NewMessage, calls_of
from runtime.values.record import LeftOut, LeftOutReason, Settlement

RECORDED = ("messages", "calls", "results", "answer")
INFERRED = ("where the turn begins", "that every message before it was sent", "tokens", "times")


@dataclass(frozen=True, slots=True)
class ImportedTurn:
    """One turn of a conversation; rows are named by seq, from 1.

    `request` is the user row it answers (None: the assistant spoke unasked). Rows 1..`opened` were there when it
    opened, `left_out` are those among them that were not sent. `items` are the assistant messages with their calls as
    steps, the results that follow a step, and requests to try again. `answered` is the row of the answer, `last` the
    last row of the turn.
    """

    number: int
    request: int | None
    opened: int
    left_out: tuple[LeftOut, ...]
    items: tuple[Item, ...]
    answered: int | None
    last: int
    settlement: Settlement
    recorded: tuple[str, ...] = RECORDED
    inferred: tuple[str, ...] = INFERRED

    def sent(self) -> Iterator[int]:
        """The rows before the request that were in front of the model, oldest first."""
        gone = {seq for one in self.left_out for seq in range(one.first, one.last + 1)}
        return (seq for seq in range(1, self.opened + 1) if seq != self.request and seq not in gone)


def recover(rows: Sequence[NewMessage]) -> tuple[ImportedTurn, ...]:
    """The turns of a conversation, oldest first. Rows after the last answer belong to none."""
    return tuple(turns_of(rows))


def turns_of(rows: Sequence[NewMessage]) -> Iterator[ImportedTurn]:
    """The same one at a time, each as soon as its rows were read; of earlier ones nothing is kept."""
    reading = _Reading(rows)
    at = number = 0
    while at < len(rows):
        row = rows[at]
        if row.role != "assistant" or (row.flags and ("hidden" in row.flags or "summary" in row.flags)):
            reading.pass_by(at, row)
            at += 1
            continue
        end = _end(rows, at)
        number += 1
        yield reading.turn(number, at, end)
        for passed in range(at, end):
            reading.pass_by(passed, rows[passed])
        at = end


def _end(rows: Sequence[NewMessage], start: int) -> int:
    """The index after the turn that begins with the assistant row `start`: up to the next request or summary.

    What a program puts in between (a system message, a request to try again) does not end it if the model goes on.
    """
    end = at = start
    while at < len(rows):
        row = rows[at]
        if row.flags and "summary" in row.flags:
            break
        if row.role in ("assistant", "tool"):
            end = at + 1
        elif row.role == "user" and "retry" not in row.flags:
            break
        at += 1
    return end


@dataclass(slots=True)
class _Reading:
    """Where reading stands: the last user row not yet answered, and the rows no longer sent.

    `before` are those that went with the last compaction, `since` is the index from which on rows were sent after it.
    """

    rows: Sequence[NewMessage]
    asked: int | None = None
    gone: list[LeftOut] = field(default_factory=list)
    before: list[LeftOut] = field(default_factory=list)
    since: int = 0

    def pass_by(self, at: int, row: NewMessage) -> None:
        if row.flags and "hidden" in row.flags:
            _leave(self.gone, at + 1, "hidden")
        elif row.flags and "summary" in row.flags:
            self._compacted(at)
            self.asked = None
        elif row.role == "user":
            self.asked = at
        elif row.role == "assistant":
            self.asked = None

    def _compacted(self, at: int) -> None:
        """Rows before the summary at index `at` were not sent any more: all but the system's own."""
        for index in range(self.since, at):
            row = self.rows[index]
            if row.role != "system" or row.flags:
                _leave(self.before, index + 1, "hidden" if "hidden" in row.flags else "dropped-by-client")
        self.gone, self.since = list(self.before), at

    def turn(self, number: int, start: int, end: int) -> ImportedTurn:
        items = tuple(_items(self.rows, start, end))
        last = self.rows[end - 1]
        done = last.role == "assistant" and not calls_of(last.parts)
        settlement = Settlement("completed", answer=last.text) if done else self._unfinished(end)
        request = None if self.asked is None else self.asked + 1
        return ImportedTurn(number, request, start, tuple(self.gone), items, end if done else None, end, settlement)

    def _unfinished(self, end: int) -> Settlement:
        following = self.rows[end] if end < len(self.rows) else None
        where = "the file ends" if following is None else "the next request comes"
        if following is not None and "summary" in following.flags:
            where = "the session was compacted"
        return Settlement("stopped", error=f"inferred: {where} before an answer")


def _leave(gone: list[LeftOut], seq: int, reason: LeftOutReason) -> None:
    if gone and gone[-1].reason == reason and gone[-1].last + 1 == seq:
        gone[-1] = LeftOut(gone[-1].first, seq, reason)
    else:
        gone.append(LeftOut(seq, seq, reason))


def _items(rows: Sequence[NewMessage], start: int, end: int) -> Iterator[Item]:
    """Steps, results and requests to try again; a result without a step and a system message stay rows only."""
    at, number = start, 0
    while at < end:
        row = rows[at]
        at += 1
        if "retry" in row.flags:
            yield Nudge(number, row.text)
        if row.role != "assistant":
            continue
        number += 1
        calls = _calls(row)
        yield AssistantStep(number, row.text, calls)
        results: list[NewMessage] = []
        while at < end and rows[at].role == "tool":
            results.append(rows[at])
            at += 1
        group = _results(number, calls, results)
        if group is not None:
            yield group


def _calls(row: NewMessage) -> tuple[ToolCall, ...]:
    """The row's calls, with ids that differ even where the file repeats one."""
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for part in calls_of(row.parts):
        id = base = str(part.get("id") or "call")
        copy = 1
        while id in taken:
            copy += 1
            id = f"{base}#{copy}"
        taken.add(id)
        arguments = part.get("arguments")
        calls.append(ToolCall(id, str(part.get("name") or ""), _arguments(arguments)))
    return tuple(calls)


def _arguments(value: Json) -> JsonObject | str:
    return value if isinstance(value, str | Mapping) else {}


def _results(step: int, calls: tuple[ToolCall, ...], rows: Sequence[NewMessage]) -> ToolResults | None:
    """The results in the order of the calls; a call that nothing answers has none (the fold says so)."""
    waiting = list(rows)
    found: list[ToolResult] = []
    for call in calls:
        row = next((row for row in waiting if _answers(row) in (call.id, call.id.split("#", 1)[0])), None)
        if row is None:
            continue
        waiting.remove(row)
        found.append(ToolResult(call.id, call.name, row.text, _is_error(row)))
    return ToolResults(step, tuple(found)) if found else None


def _answers(row: NewMessage) -> str | None:
    part = _result_part(row)
    return str(part.get("call") or "") if part else None


def _is_error(row: NewMessage) -> bool:
    part = _result_part(row)
    return part is not None and part.get("error") is True


def _result_part(row: NewMessage) -> JsonObject | None:
    return next((part for part in row.parts or () if part.get("type") == "tool_result"), None)
