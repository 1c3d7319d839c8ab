"""The turn in one sentence: what the window selected, what it left out, how the turn ended (X8)."""

from __future__ import annotations

from runtime.explain.after import answer_repeats
from runtime.explain.windows import overflow_words
from runtime.explain.words import plural, ranges, settlement, turn_name
from runtime.values.record import ContextRecord, TurnRecord


def finding(record: TurnRecord) -> str:
    """The turn's FINDING, with its numbers, ending in a full stop."""
    told = [settlement(record)]
    if record.context is not None:
        told.insert(0, _selected(record, record.context))
    repeated = answer_repeats(record)
    if repeated is not None:
        told.append(f"the answer says the same as seq {repeated}")
    blame = overflow_words(record)
    if blame is not None:
        told.append(blame)
    return f"{turn_name(record)}: {'; '.join(told)}."


def _selected(record: TurnRecord, context: ContextRecord) -> str:
    if context.stored == 0:
        return f"window {record.window} found no stored messages"
    rows = ranges(row.seq for row in context.rows)
    took = f"window {record.window} selected {context.selected} of {plural(context.stored, 'stored message')}"
    if rows:
        took += f" (seq {rows})"
    reasons = dict.fromkeys(left.reason for left in context.left_out)
    told = [f"{_spans(context, reason)} left out as {reason}" for reason in reasons]
    return "; ".join([took, *told])


def _spans(context: ContextRecord, reason: str) -> str:
    spans = [
        str(left.first) if left.first == left.last else f"{left.first}-{left.last}"
        for left in context.left_out
        if left.reason == reason
    ]
    return f"seq {', '.join(spans)}"
