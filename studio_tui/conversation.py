"""Everything said in a session, in order, with what happened between the agents in its place."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.handoff.events import FailedHandoff, HandoffEvent, RefusedHandoff, SessionEvent, UnresolvedRoute
from runtime.handoff.session import Session
from runtime.threads import Runtime
from runtime.values.messages import Message
from studio_tui.masked import masked
from studio_tui.views.session import Entry, Happened, Spoken


async def read_conversation(runtime: Runtime, session: Session, events: Sequence[SessionEvent]) -> tuple[Entry, ...]:
    """The conversation as it stands in the store, masked; `events` are the session's, masked too."""
    return in_order(await _spoken(runtime, session), events)


async def models_of(runtime: Runtime, session: Session) -> tuple[str, ...]:
    """The models that answered the newest turn of each thread; before any turn, the one given for the session."""
    found: dict[str, None] = {}
    for thread in session.threads:
        for turn in await runtime.store.turns(thread.id, runs=False, limit=1):
            record = await runtime.record(turn.id, bodies=False)
            found.update(dict.fromkeys(one.model for one in record.tiers))
    return tuple(found) or ((session.settings.model,) if session.settings.model else ())


def in_order(spoken: Sequence[Spoken], events: Sequence[SessionEvent]) -> tuple[Entry, ...]:
    """What was said, with what happened in its place: after the last row of the turn it happened in, but what was
    refused or failed before the answer that came of it. Conditions without a value are told by the events alone."""
    before: dict[str, list[Happened]] = {}
    after: dict[str, list[Happened]] = {}
    for number, event in enumerate(events, start=1):
        if not isinstance(event, UnresolvedRoute):
            where = before if isinstance(event, RefusedHandoff | FailedHandoff) else after
            where.setdefault(event.turn, []).append(Happened(event, number))
    last = {one.row.turn: at for at, one in enumerate(spoken) if one.row.turn is not None}
    found: list[Entry] = []
    for at, one in enumerate(spoken):
        turn = one.row.turn
        ends = turn is not None and last[turn] == at
        if ends and one.row.role != "user":
            found.extend(before.pop(turn or "", ()))
        found.append(one)
        if ends:
            found.extend(before.pop(turn or "", ()))
            found.extend(after.pop(turn or "", ()))
    found.extend(happened for left in (before, after) for each in left.values() for happened in each)
    return tuple(found)


async def _spoken(runtime: Runtime, session: Session) -> list[Spoken]:
    """Every row where it was first stored, oldest first; a trigger that was not copied is the caller's alone."""
    first_turns = {one.first_turn for one in session.events if isinstance(one, HandoffEvent)}
    found: list[Spoken] = []
    mask = session.mask
    for thread in session.threads:
        for row in await runtime.store.rows(thread.id, 1, thread.rows):
            if not isinstance(row, Message) or row.origin is not None:
                continue
            if row.role == "user" and row.turn in first_turns and row.turn is not None:
                continue
            found.append(Spoken(masked(row, mask), thread.id, thread.agent))
    return sorted(found, key=lambda one: one.row.id)
