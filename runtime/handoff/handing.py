"""Carrying out a handoff: the target's thread with its copies, or the thread that was waiting; and a return (H)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runtime.abl.assignments import assign
from runtime.abl.history_setting import HistorySetting, InForce
from runtime.abl.project import AgentSource, OnReturn, Project, Route
from runtime.abl.scope import UNDEFINED, look_up
from runtime.abl.templates import render
from runtime.handoff.conduct import GoBack, HandOff
from runtime.handoff.events import Carried, ChildLeftOut, ChildSeen, HandoffEvent, Return, ThreadResume, Trigger
from runtime.handoff.evidence import Evidence, newest_evidence, read_evidence
from runtime.handoff.notes import Notes, first_state, notes_of, sensitive_names, state_of, values_of
from runtime.handoff.strategy import Barred, Place, place_of
from runtime.handoff.tree import Node, Tree
from runtime.stores import NewThread, Store
from runtime.values.json import Json, JsonObject
from runtime.values.messages import Message, NewMessage, Origin, calls_of
from runtime.values.record import LeftOut, TurnRecord


@dataclass(frozen=True, slots=True)
class Opening:
    """A turn to open on a thread of the session.

    `message` is stored as it opens; with None its request is row `stored_user` (None: no row, and no customer message
    is understood). `handed` is the event of the handoff that led here, if one did. `words` are said before its answer.
    """

    thread: str
    request: str
    message: NewMessage | None = None
    stored_user: int | None = None
    handed: HandoffEvent | ThreadResume | None = None
    words: str = ""

    @property
    def spoken(self) -> bool:
        """Whether a customer message is its request."""
        return self.message is not None or self.stored_user is not None


@dataclass(frozen=True, slots=True)
class House:
    """What handoffs are carried out in: a ledger, a project, the session's id and tree."""

    ledger: Store
    project: Project
    default: HistorySetting | None
    session: str
    tree: Tree

    def force(self, route: Route) -> InForce:
        """What is in force on a route (H5)."""
        return route.in_force(self.default)

    async def barred(self) -> Barred:
        """What no handoff may copy now (H2)."""
        threads: set[str] = set()
        rows: list[Place] = []
        for node in self.tree.nodes.values():
            notes = await self.notes(node.id)
            rows.extend(notes.private)
            if notes.sensitive and node.parent is not None:
                threads.add(node.id)
        return Barred(frozenset(threads), frozenset(rows))

    async def notes(self, thread: str) -> Notes:
        """What the agent of a thread remembers."""
        return notes_of(await self.ledger.state(thread))

    async def children(self, caller: str) -> tuple[ChildSeen, ...]:
        """Whom a thread handed to, and whom they did, as they are now."""
        found: list[ChildSeen] = []
        for one in self.tree.children(caller):
            length, notes = await self.ledger.length(one.id), await self.notes(one.id)
            found.append(ChildSeen(one.id, length, notes.sensitive))
        return tuple(found)

    async def evidence(self, caller: str, route: Route, pending: Sequence[Message] = ()) -> Evidence:
        """What a handoff by `route` chooses from; `pending` are rows of the caller that are about to be stored."""
        force, barred = self.force(route), await self.barred()
        if force.strategy != "full":
            return await newest_evidence(self.ledger, caller, force, barred, pending=pending)
        upto, children = await self.ledger.length(caller), await self.children(caller)
        found = await read_evidence(self.ledger, caller, upto=upto, children=children, barred=barred)
        return replace(found, rows=[*found.rows, *pending]) if pending else found


async def hand_off(house: House, out: HandOff, caller: Node, record: TurnRecord, n: int) -> Opening:
    """Carry out the handoff that the turn `record` of `caller` decided; `n` is its place in the log.

    Returns the target's turn to open, with its event. Copies are made here and now, once (H1).
    """
    waiting = None if out.route.remote is not None else house.tree.waiting_target(out.route.to, caller.id)
    trigger = await _trigger(house.ledger, caller.id, record)
    if waiting is not None:
        return await _resume(house, out, caller, record, waiting, trigger, n)
    return await _start(house, out, caller, record, trigger, n)


async def _start(
    house: House, out: HandOff, caller: Node, record: TurnRecord, trigger: Message | None, n: int
) -> Opening:
    route, force = out.route, house.force(out.route)
    evidence = await house.evidence(caller.id, route)
    copying = evidence.choose(force)
    places = [place_of(thread, row) for row, thread in zip(copying.kept, copying.threads, strict=True)]
    at = places.index(place_of(caller.id, trigger)) + 1 if trigger and place_of(caller.id, trigger) in places else None
    source = house.project.agents.get(route.to)
    thread = await house.ledger.create_thread(
        NewThread(
            agent=route.to,
            origin="handoff",
            name=route.to,
            parent=caller.id,
            route=route.place,
            status="active",
            about={"session": house.session, "remote": route.remote is not None},
            state=target_state(source, out.carried, caller.agent),
        ),
        [_copy(row, place) for row, place in zip(copying.kept, places, strict=True)],
    )
    caller_rows = evidence.rows[-1].seq if evidence.rows else 0
    state = await house.ledger.state(caller.id)
    event = HandoffEvent(
        n=n,
        caller=caller.agent,
        target=route.to,
        caller_thread=caller.id,
        thread=thread,
        turn=record.turn,
        route=route.place,
        written=route.history.written if route.history else None,
        written_at=f"{route.history.file}:{route.history.line}" if route.history else "",
        strategy=force.name,
        source=force.source,
        as_written=route.history is None or (route.history.read is not None and force.source == "route"),
        requested=force.requested,
        copied=len(copying.kept),
        rows=tuple(places),
        left_out=copying.left_out,
        caller_rows=caller_rows,
        trigger=Trigger(trigger.seq if trigger else 0, at is not None),
        carried=out.carried,
        returns=route.returns,
        has_summary=route.has_summary,
        remote=route.remote is not None,
        children=await house.children(caller.id),
        children_left_out=tuple(ChildLeftOut(*one) for one in copying.children),
        barred=tuple(sorted(evidence.barred.rows)),
        barred_threads=tuple(sorted(evidence.barred.threads)),
        led_by=intent_of(state),
    )
    message = None if at is not None else _said(record.request, caller.id, trigger)
    words = _opening_words(source, await house.ledger.state(thread))
    return Opening(thread, record.request, message, at, event, words)


async def _resume(
    house: House, out: HandOff, caller: Node, record: TurnRecord, target: Node, trigger: Message | None, n: int
) -> Opening:
    """The target's thread was left waiting: it goes on with its own history, PASS overwrites (H7)."""
    route = out.route
    state = await house.ledger.state(target.id)
    values = {**values_of(state), **_values(out.carried, caller.agent)}
    notes = notes_of(state).given(out.carried.passed, "pass").given(out.carried.assigned, "set")
    await house.ledger.update_thread(target.id, status="active", state=state_of(values, notes))
    stored = await house.ledger.length(caller.id)
    event = ThreadResume(
        n=n,
        caller=caller.agent,
        target=route.to,
        caller_thread=caller.id,
        thread=target.id,
        turn=record.turn,
        route=route.place,
        written=route.history.written if route.history else None,
        written_at=f"{route.history.file}:{route.history.line}" if route.history else "",
        rows=await house.ledger.length(target.id),
        left_out=(LeftOut(1, stored, "thread-resumed"),) if stored else (),
        trigger=Trigger(trigger.seq if trigger else 0, False),
        carried=out.carried,
        returns=route.returns,
        led_by=intent_of(await house.ledger.state(caller.id)),
    )
    return Opening(target.id, record.request, _said(record.request, caller.id, trigger), None, event)


@dataclass(frozen=True, slots=True)
class Returned:
    """A return that was carried out: its event, what the customer is told now, the turn to open if any."""

    event: Return
    reply: str | None
    opening: Opening | None


async def give_back(house: House, out: GoBack, child: Node, record: TurnRecord, route: Route, n: int) -> Returned:
    """Carry out the return of `child` to the caller that reached it by `route` (H8)."""
    assert child.link is not None
    caller = house.tree.nodes[child.link.caller]
    joined = await _answers(house, child) if child.rows_return else []
    new = [_copy(row, place_of(child.id, row)) for row in joined]
    state = await house.ledger.state(caller.id)
    theirs = await house.ledger.state(child.id)
    back, assigned, cleared = _coming_back(house.project, route.on_return, child, state, theirs)
    values = {name: value for name, value in {**values_of(state), **back, **assigned}.items() if name not in cleared}
    reply = render(route.on_return.respond, values) if route.on_return.respond else None
    if reply:
        new.append(NewMessage("assistant", reply))
    if new:
        await house.ledger.append(caller.id, *new)
    notes = notes_of(state).given(back, "return")
    await house.ledger.update_thread(caller.id, status="active", state=state_of(values, notes))
    await house.ledger.update_thread(child.id, status="returned")
    event = Return(
        n=n,
        child=child.agent,
        caller=caller.agent,
        thread=child.id,
        caller_thread=caller.id,
        turn=record.turn,
        reason=out.reason,
        strategy=child.strategy,
        joined=tuple(row.seq for row in joined),
        values=back,
        assigned=assigned,
        action=route.on_return.action,
    )
    return Returned(event, reply, await _going_on(house, event, child, record, out))


async def _going_on(house: House, event: Return, child: Node, record: TurnRecord, out: GoBack) -> Opening | None:
    """The turn of the caller that a return opens: by ON_RETURN, or for a message that has no answer yet (H14)."""
    assert child.link is not None
    caller = event.caller_thread
    if event.action == "resume_intent" and child.link.trigger:
        for row in await house.ledger.rows(caller, child.link.trigger, child.link.trigger):
            if isinstance(row, Message):
                return Opening(caller, row.text, stored_user=row.seq)
    if event.action:
        return Opening(caller, f"{child.agent} has given the conversation back. Go on.")
    return None if out.answered else await handed_up(house, caller, child, record)


async def handed_up(house: House, caller: str, child: Node, record: TurnRecord) -> Opening:
    """The customer's message that a child did not take, as the request of its caller: the caller's own row if it came
    from there, else a row that names where the message was first said."""
    row = await _trigger(house.ledger, child.id, record)
    place = place_of(child.id, row) if row is not None else None
    if place is not None and place[0] == caller:
        return Opening(caller, record.request, stored_user=place[1])
    return Opening(caller, record.request, _said(record.request, child.id, row))


def target_state(source: AgentSource | None, carried: Carried, caller: str) -> dict[str, Json]:
    """The state in which a target begins: its own, then ON_START, then PASS, then SET (H9)."""
    given = _values(carried, caller)
    if source is None:
        return state_of(given, Notes())
    state = first_state(source)
    values = values_of(state)
    values = {**values, **assign(source.on_start.assignments, values), **given}
    return state_of(values, notes_of(state).given(carried.passed, "pass").given(carried.assigned, "set"))


def intent_of(state: JsonObject) -> str | None:
    """`intent.category` in a state."""
    found = look_up(("intent", "category"), state)
    return found if isinstance(found, str) else None


def _values(carried: Carried, caller: str) -> dict[str, Json]:
    summary: dict[str, Json] = {"handoff_summary": carried.summary} if carried.summary else {}
    return {**carried.passed, **carried.assigned, "handoff_from": caller, **summary}


def _opening_words(source: AgentSource | None, state: JsonObject) -> str:
    if source is None or not source.on_start.respond:
        return ""
    return render(source.on_start.respond, values_of(state))


def _coming_back(
    project: Project, how: OnReturn, child: Node, state: JsonObject, child_state: JsonObject
) -> tuple[dict[str, Json], dict[str, Json], frozenset[str]]:
    """What comes back under the caller's names, what ON_RETURN sets, and what its handler clears (H8)."""
    values, notes = values_of(child_state), notes_of(child_state)
    if how.mapping is not None:
        pairs: Sequence[tuple[str, str]] = how.mapping
    else:
        source = project.agents.get(child.agent)
        private = sensitive_names([source] if source else [])
        pairs = [(name, name) for name in notes.gathered() if name not in private]
    found: dict[str, Json] = {}
    for theirs, ours in pairs:
        value = look_up(tuple(theirs.split(".")), values)
        if value is not UNDEFINED and value is not None:
            found[ours] = value
    scope = {**values_of(state), **found}
    return found, assign(how.assignments, scope), frozenset(how.clear)


async def _answers(house: House, child: Node) -> list[Message]:
    """The assistant rows that a child wrote since it last gave the conversation back; tool rows never join (H8)."""
    rows = await house.ledger.rows(child.id, child.told + 1, await house.ledger.length(child.id))
    messages = [row for row in rows if isinstance(row, Message)]
    return [row for row in messages if row.role == "assistant" and row.turn and not calls_of(row.parts)]


async def _trigger(ledger: Store, thread: str, record: TurnRecord) -> Message | None:
    """The customer's message that the turn had as its request."""
    if record.stored_user is None:
        return None
    (row,) = await ledger.rows(thread, record.stored_user, record.stored_user)
    return row if isinstance(row, Message) else None


def _said(request: str, caller: str, trigger: Message | None) -> NewMessage:
    """The trigger as a row of the target, which knows where it was first said (H13)."""
    place = place_of(caller, trigger) if trigger is not None else None
    parts = trigger.parts if trigger is not None else None
    return NewMessage("user", request, parts, origin=Origin(*place) if place else None)


def _copy(row: Message, place: Place) -> NewMessage:
    return NewMessage(row.role, row.text, row.parts, row.source, row.flags, Origin(*place))
