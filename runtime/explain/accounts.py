"""The ledger of a turn: every row of its thread with its place or its reason, and what was never a row (X1, X2)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from runtime.explain.words import turn_name
from runtime.values.items import AssistantStep, Nudge, ToolResults
from runtime.values.json import as_text
from runtime.values.messages import Role, Row, Unreadable
from runtime.values.record import ContextRecord, LeftOut, LeftOutReason, TurnRecord, UnstoredReason
from runtime.values.understanding import is_reserved

WINDOW_REASONS: frozenset[LeftOutReason] = frozenset({"older-than-window", "history-declined"})
"""The reasons that a larger window cures."""


@dataclass(frozen=True, slots=True)
class InContext:
    """A row in front of the model. `place` counts from 1, oldest first; `needs` as in X2; `tokens` are estimated.

    `repeats` is what of the same context it says again: `request`, or an earlier row as `seq 3` (X6).
    """

    seq: int
    place: int
    role: Role
    text: str
    tokens: int
    needs: int
    is_request: bool = False
    repeats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOutRows:
    """The rows first..last (seq, inclusive) that are not in front of the model, and the one reason.

    `needs_first` and `needs_last` are the smallest windows that would include those two rows; None where no window
    does (an unreadable row, one that an experiment dropped).
    """

    first: int
    last: int
    reason: LeftOutReason
    needs_first: int | None
    needs_last: int | None

    @property
    def count(self) -> int:
        return self.last - self.first + 1


What = Literal["request", "answer", "text", "call", "result", "nudge"]


@dataclass(frozen=True, slots=True)
class NeverStored:
    """Something of an earlier turn that no row holds. `step` is 0 for requests and answers; `name` is a tool's.

    `turn` is the id of the turn it happened in (a child's own), `turn_name` what a sentence calls it. `text` is what
    was said; `text` as `what` is what a model said beside its calls.
    """

    turn: str
    turn_name: str
    what: What
    text: str
    reason: UnstoredReason
    step: int = 0
    name: str = ""


Account: TypeAlias = "InContext | LeftOutRows | NeverStored"


def ledger(
    record: TurnRecord, *, earlier: Iterable[TurnRecord] = (), rows: Sequence[Row] | None = None
) -> tuple[Account, ...]:
    """Every row of the thread, as of the turn's assembly, by seq; then what of the earlier turns was never a row.

    Ranges stay ranges, so the cost does not grow with what is left out. `earlier` are the thread's records; those
    opened before this turn are told (runs on views too). `rows` (the thread's, oldest first) lets unreadable rows be
    named that the window never reached. A turn without a context has no rows to account for.
    """
    accounts: list[Account] = []
    if record.context is not None:
        accounts += rows_of(record.context, rows)
    for other in _opened_before(record, tuple(earlier)):
        accounts += never_stored(other)
    return tuple(accounts)


def rows_of(context: ContextRecord, rows: Sequence[Row] | None = None) -> list[InContext | LeftOutRows]:
    """The accounts of a context's rows by seq; see `ledger`."""
    unreadable = unreadable_seqs(context, rows)
    found: list[InContext | LeftOutRows] = [
        InContext(row.seq, place, row.role, row.text, row.tokens, row.needs, row.is_request, row.repeats)
        for place, row in enumerate(context.rows, start=1)
    ]
    for left in context.left_out:
        for piece in _without_unreadable(left, unreadable):
            curable = piece.reason in WINDOW_REASONS
            found.append(
                LeftOutRows(
                    piece.first,
                    piece.last,
                    piece.reason,
                    needs_of(piece.first, context.stored, unreadable) if curable else None,
                    needs_of(piece.last, context.stored, unreadable) if curable else None,
                )
            )
    return sorted(found, key=lambda account: account.seq if isinstance(account, InContext) else account.first)


def unreadable_seqs(context: ContextRecord, rows: Sequence[Row] | None = None) -> list[int]:
    """The rows known to be unreadable, ascending: those the record names and those among `rows`."""
    known = {
        seq for left in context.left_out if left.reason == "unreadable" for seq in range(left.first, left.last + 1)
    }
    known.update(row.seq for row in rows or () if isinstance(row, Unreadable) and row.seq <= context.stored)
    return sorted(known)


def needs_of(seq: int, stored: int, unreadable: Sequence[int]) -> int:
    """The smallest window that includes the row (X2); `unreadable` ascending takes no place (S6)."""
    return stored - seq + 1 - (len(unreadable) - bisect_right(unreadable, seq))


def _without_unreadable(left: LeftOut, unreadable: Sequence[int]) -> Iterator[LeftOut]:
    if left.reason not in WINDOW_REASONS:
        yield left
        return
    at = left.first
    for seq in unreadable[bisect_right(unreadable, left.first - 1) : bisect_right(unreadable, left.last)]:
        if at < seq:
            yield LeftOut(at, seq - 1, left.reason)
        yield LeftOut(seq, seq, "unreadable")
        at = seq + 1
    if at <= left.last:
        yield LeftOut(at, left.last, left.reason)


def _opened_before(record: TurnRecord, others: Sequence[TurnRecord]) -> Iterator[TurnRecord]:
    """The turns before this one; a re-run stands where the turn it repeats stood (X4)."""
    here = next((other for other in others if other.turn == record.rerun_of), record)
    for other in others:
        if other.turn in (record.turn, here.turn):
            continue
        if other.number and here.number:
            if other.number < here.number:
                yield other
        elif other.at < here.at:
            yield other


def never_stored(record: TurnRecord) -> Iterator[NeverStored]:
    """What of one turn no row holds, in the order it happened; the delegated turns below it in their place."""
    name = turn_name(record)
    if record.unstored_user is not None:
        yield NeverStored(record.turn, name, "request", record.request, record.unstored_user)
    if record.origin == "run":
        yield from _transcript(record, name)
    if record.unstored_assistant is not None:
        answer = record.answer if record.answer is not None else _last_text(record)
        if answer:
            yield NeverStored(record.turn, name, "answer", answer, record.unstored_assistant)


def _transcript(record: TurnRecord, name: str) -> Iterator[NeverStored]:
    final, stored = _final(record), stored_calls(record)
    for item in record.transcript:
        if isinstance(item, AssistantStep):
            said = (item is final and _is_answer(record, item)) or any(call.id in stored for call in item.calls)
            if item.text and not said:
                yield NeverStored(record.turn, name, "text", item.text, "transcript-only", item.step)
            for call in item.calls:
                if call.id in stored:
                    continue
                text = call.arguments_text()
                yield NeverStored(record.turn, name, "call", text, "transcript-only", item.step, call.name)
        elif isinstance(item, ToolResults):
            for result in item.results:
                if result.id in stored:
                    continue
                child = (record.children or {}).get(result.id)
                if child is not None:
                    yield from never_stored(child)
                text = as_text(result.output)
                yield NeverStored(record.turn, name, "result", text, "transcript-only", item.step, result.name)
        elif isinstance(item, Nudge):
            yield NeverStored(record.turn, name, "nudge", item.text, "transcript-only", item.step)


def stored_calls(record: TurnRecord) -> frozenset[str]:
    """The calls of a completed turn of an agent written in ABL that are rows: those of its own tools (H14)."""
    if record.handoff is None or record.status != "completed":
        return frozenset()
    steps = (item for item in record.transcript if isinstance(item, AssistantStep))
    return frozenset(call.id for step in steps for call in step.calls if not is_reserved(call.name))


def _is_answer(record: TurnRecord, final: AssistantStep) -> bool:
    """Whether the last step's text is what was answered: an agent written in ABL may answer with a prompt instead."""
    return record.handoff is None or final.text.strip() in (record.answer or "")


def _final(record: TurnRecord) -> AssistantStep | None:
    """The step whose text is the answer, or is what there is of one."""
    steps = [item for item in record.transcript if isinstance(item, AssistantStep)]
    if not steps or (steps[-1].calls and not steps[-1].partial):
        return None
    return steps[-1]


def _last_text(record: TurnRecord) -> str:
    final = _final(record)
    return final.text if final is not None else ""
