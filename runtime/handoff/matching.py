"""Whether a target's first turn was sent what the handoff copied: the record against the copies, row by row (H12)."""

from __future__ import annotations

from runtime.handoff.events import HandoffEvent
from runtime.handoff.strategy import Place
from runtime.values import dialogue
from runtime.values.record import ContextRow, TurnRecord


def matches(event: HandoffEvent, first: TurnRecord) -> bool:
    """Whether the history section of `first` holds exactly the copied rows without the trigger, in order and as text,
    with the trigger as its request. A turn that ended before its context was assembled was sent nothing: no."""
    context = first.context
    if context is None:
        return False
    rows = context.rows
    history = context.section("history")
    request = context.section("request")
    copies = [place for place in event.rows if not (event.trigger.copied and place == _trigger(event, first))]
    told = history.text if history is not None else ""
    return (
        [_place(row, first.thread) for row in rows] == copies
        and told == dialogue.join(rows)
        and (request.text if request is not None else "") == first.request
    )


def _place(row: ContextRow, thread: str) -> Place:
    return row.origin if row.origin is not None else (thread, row.seq)


def _trigger(event: HandoffEvent, first: TurnRecord) -> Place | None:
    """The place of the copied trigger: the copy that is the first turn's request."""
    at = first.stored_user
    return event.rows[at - 1] if at is not None and 0 < at <= len(event.rows) else None
