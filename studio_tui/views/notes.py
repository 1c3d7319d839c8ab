"""What is said under a row of the history: that it is also the request, was escaped, or got no reply (X1, X6, A3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.explain import next_sees, repetition, turn_name
from runtime.values.dialogue import escaped_lines
from runtime.values.items import AssistantStep, ToolResults
from runtime.values.messages import Message, Row, calls_of
from runtime.values.record import ContextRecord, ContextRow, TurnRecord
from studio_tui.views.lines import Span
from studio_tui.views.words import status_words

Notes = Mapping[int, tuple[Span, ...]]
"""The notes under rows, by seq, each on a line of its own; rows without any are not in it."""


def notes_of(
    context: ContextRecord,
    shown: TurnRecord | None,
    records: Sequence[TurnRecord],
    rows: Mapping[int, Row],
    entered: Sequence[ContextRow] = (),
) -> Notes:
    """The notes for the rows of a context, and for those that a what-if would let in. `shown` is the turn it belongs
    to (None: the coming one), `records` the thread's turns, `rows` the stored rows that are known, by seq."""
    found: dict[int, list[Span]] = {}
    for seq, repeated in repetition(context).items():
        found[seq] = [Span(f"≡ {words}", "mark") for words in repeated]
    for seq, notes in _by_row(context, shown, records).items():
        found.setdefault(seq, []).extend(notes)
    for row in (*entered, *context.rows):
        if "\n" in row.text and ":" in row.text:
            found.setdefault(row.seq, []).extend(_escaped(row.text))
        if row.origin is not None:
            copied = Span(f"copied from thread {row.origin[0]}, seq {row.origin[1]}", "reason")
            found.setdefault(row.seq, []).append(copied)
    for seq, stored in rows.items():
        if isinstance(stored, Message) and stored.parts:
            found.setdefault(seq, []).extend(_parts(stored))
    return {seq: tuple(notes) for seq, notes in found.items() if notes}


def _escaped(text: str) -> list[Span]:
    lines = escaped_lines(text)
    if not lines:
        return []
    numbers = ", ".join(str(number + 1) for number in lines[:6]) + (" …" if len(lines) > 6 else "")
    noun = "line" if len(lines) == 1 else "lines"
    reads = "reads like a role line and was" if len(lines) == 1 else "read like role lines and were"
    return [Span(f"\\ {noun} {numbers} {reads} sent with a backslash in front", "mark")]


def _parts(row: Message) -> list[Span]:
    calls = len(calls_of(row.parts))
    if calls:
        noun = "call" if calls == 1 else "calls"
        return [Span(f"its {calls} {noun} stayed behind: only role and text are sent", "reason")]
    others = [part for part in row.parts or () if part.get("type") not in ("tool_call", "tool_result")]
    return [Span("its parts stayed behind: only role and text are sent", "reason")] if others else []


def _by_row(context: ContextRecord, shown: TurnRecord | None, records: Sequence[TurnRecord]) -> dict[int, list[Span]]:
    """What other turns left at the rows they wrote: no reply, or calls and results that were never stored."""
    oldest = context.rows[0].seq if context.rows else context.stored + 1
    found: dict[int, list[Span]] = {}
    for record in reversed(records):
        if record.is_run or record.kind == "child" or (shown is not None and record.turn == shown.turn):
            continue
        last = record.stored_assistant or record.stored_user
        if last is None or last > context.stored:
            continue
        if last < oldest:
            break
        note = _note(record)
        if note is not None:
            found.setdefault(last, []).append(note)
    return found


def _note(record: TurnRecord) -> Span | None:
    name = turn_name(record)
    if record.stored_assistant is None:
        if record.status == "running":
            return Span(f"no reply stored: {name} is still running", "warning")
        how = {"cut": "ran out of budget", "stopped": "was stopped", "truncated": "was truncated"}
        words = how.get(record.status, f"{record.status} ({status_words(record)})")
        return Span(f"no reply stored: {name} {words}", "warning")
    kept = [words for words in next_sees(record).not_sees if words not in ("the request", "the answer")]
    if not kept or not any(isinstance(item, AssistantStep | ToolResults) for item in record.transcript):
        return None
    return Span(f"{name} also had {', '.join(kept)}: transcript-only, never stored", "reason")
