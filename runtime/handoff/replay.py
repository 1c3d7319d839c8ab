"""The same customer messages on a fresh session where one route has another HISTORY: beside the first (X3)."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.handoff.changes import Change
from runtime.handoff.session import Said, Session, Tell
from runtime.values.items import AssistantStep, ToolCall
from runtime.values.messages import Message, NewMessage
from runtime.values.record import TurnRecord
from runtime.values.understanding import is_reserved


@dataclass(frozen=True, slots=True)
class Cost:
    """What saying everything again will cost, told by what it cost the first time: messages, model calls, calls of
    remote targets, calls of the agents' own tools."""

    messages: int
    model_calls: int
    remote_calls: int
    tool_calls: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """The fresh session, and what each message led to there."""

    session: Session
    said: tuple[Said, ...]


async def replay(
    session: Session, *, route: str, history: str, model: str | None = None, tell: Tell = lambda news: None
) -> Replayed:
    """Say what the customer said in `session` again, in a fresh one where the route at `FILE:LINE` has this HISTORY.

    Changes that `session` was itself opened with hold too. `model` None takes the session's. It ends early with a turn
    that does not complete. Raises BadInput for a route that is not there or a value that is not recognised.
    """
    change = Change(route, history)
    changes = (*(one for one in session.settings.changes if one.route != route), change)
    other = await Session.open(
        session.runtime,
        session.project,
        session.first_agent,
        history_default=session.settings.history_default,
        model=model or session.settings.model,
        window=session.settings.window,
        messages=await _before(session),
        state=session.given,
        changes=changes,
        replay_of=session.id,
    )
    said: list[Said] = []
    for text in await session.messages():
        said.append(await other.say(text, tell=tell))
        if not said[-1].completed:
            break
    return Replayed(other, tuple(said))


async def cost_of(session: Session) -> Cost:
    """What a replay of the session will cost, by what it cost."""
    records = await session.records()
    remote = {one.id for one in session.threads if one.remote}
    return Cost(
        len(await session.messages()),
        sum(len(record.steps) for record in records if record.thread not in remote),
        sum(len(record.steps) for record in records if record.thread in remote),
        sum(len(calls) for record in records for calls in _own_calls(record)),
    )


def _own_calls(record: TurnRecord) -> list[list[ToolCall]]:
    steps = [item for item in record.transcript if isinstance(item, AssistantStep)]
    return [[call for call in step.calls if not is_reserved(call.name)] for step in steps]


async def _before(session: Session) -> list[NewMessage]:
    """The rows that the first agent's thread had when the session was opened."""
    rows = await session.runtime.store.rows(session.id, 1, session.rows_before) if session.rows_before else []
    return [
        NewMessage(row.role, row.text, row.parts, row.source, row.flags, row.origin)
        for row in rows
        if isinstance(row, Message)
    ]
