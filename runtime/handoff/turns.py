"""Running one turn of a session on the engine that runs all others: whose, on which rows, by which guide (H14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from runtime.abl.project import AgentSource, Route
from runtime.context import offered
from runtime.engine import Asked
from runtime.errors import BadInput
from runtime.events import Opened, TurnEvent
from runtime.guide import Ask, End
from runtime.handoff.conduct import Conductor, GoBack, HandOff, Loose, Outcome, Setting
from runtime.handoff.events import Carried, Refusal
from runtime.handoff.handing import House, Opening
from runtime.handoff.notes import notes_of, sensitive_names, shown_values, state_of, values_of
from runtime.handoff.remote import Answer, RemoteModel, ask, body_of
from runtime.handoff.routing import refusal
from runtime.handoff.speaker import Speaker, speaker
from runtime.handoff.strategy import Place, place_of
from runtime.handoff.tree import Node
from runtime.models.chain import Tier
from runtime.plan import Plan
from runtime.source import Source
from runtime.stores import NewTurn
from runtime.stores.owner import this_process
from runtime.stores.turns import utc_now
from runtime.threads import Runtime
from runtime.values.agent import Agent
from runtime.values.items import AssistantStep, Item
from runtime.values.json import JsonObject
from runtime.values.messages import Message, NewMessage, Row, Window
from runtime.values.record import ToolOffered, TurnRecord, View
from runtime.values.request import Limits

if TYPE_CHECKING:
    from runtime.handoff.session import Tell

_ROOM = Limits(10**9, 0)
"""A remote target names no limit; its rows are sent as they are."""


@dataclass(frozen=True, slots=True)
class Went:
    """How a turn went: its record, what it decided for the session, what happened between agents on the way."""

    record: TurnRecord
    outcome: Outcome | None = None
    events: Sequence[Loose] = ()


@dataclass(slots=True)
class RemoteGuide:
    """The guide of a turn that a remote target answers: one exchange, and its answer as it is."""

    model: RemoteModel
    returns: bool
    outcome: Outcome | None = None
    asked: bool = False

    async def next(self, transcript: Sequence[Item], state: JsonObject) -> Ask | End:
        if not self.asked:
            self.asked = True
            return Ask(())
        last = transcript[-1] if transcript else None
        answer = self.model.last
        assert isinstance(last, AssistantStep)
        assert answer is not None
        if answer.done and self.returns:
            self.outcome = GoBack("done")
        notes = notes_of(state).given(answer.values, "customer")
        return End(last.text, (), state_of({**values_of(state), **answer.values}, notes), {"decision": "answer"})


@dataclass(slots=True)
class ProbeGuide:
    """The guide of a question to an agent outside its conversation: one answer from what it has."""

    asked: bool = False

    async def next(self, transcript: Sequence[Item], state: JsonObject) -> Ask | End:
        if not self.asked:
            self.asked = True
            return Ask(())
        last = transcript[-1] if transcript else None
        return End(last.text if isinstance(last, AssistantStep) else None, decision={"decision": "answer"})


@dataclass(slots=True)
class Turns:
    """Opens and runs the turns of a session. `running` is the id of the turn under way, None if there is none."""

    runtime: Runtime
    house: House
    model: str | None
    window: Window
    running: str | None = None
    _speakers: dict[str, Speaker] = field(default_factory=dict)
    _answers: dict[str, HandOff] = field(default_factory=dict)

    async def run(self, opening: Opening, handed: int, tell: Tell) -> Went:
        """Run the turn to its record. `handed` counts the handoffs that the customer's message has led to."""
        node = self.house.tree.nodes[opening.thread]
        if node.remote:
            return await self._remote(opening, node, tell)
        conductor = await self._conductor(opening, node, handed)
        state = await self.house.ledger.state(node.id)
        asked = await self._asked(opening, node, state, conductor)
        place = await self._place(opening)

        def opened(turn: str, stored_user: int | None) -> None:
            conductor.turn = turn
            conductor.place = place or ((node.id, stored_user) if stored_user else None)

        record = await self._run(asked, opened, tell)
        return Went(record, conductor.outcome if record.status == "completed" else None, conductor.events)

    async def probe(self, node: Node, question: str) -> TurnRecord:
        """Ask an agent a question on a view of its thread as it is. Raises BadInput for a remote one."""
        if node.remote:
            raise BadInput(f"{node.agent} is elsewhere: it can only be asked by a message", field="probe")
        state = await self.house.ledger.state(node.id)
        length = await self.house.ledger.length(node.id)
        view = View(length)
        speaks = self._speaker(node.agent)
        plan, shown = self._plan(speaks, state, ())
        new = NewTurn(
            node.id, "envelope", node.agent, self.window, question, owner=this_process(), view=view, state=state
        )
        source = Source(node.id, length, view, asked=question)
        asked = Asked(new, plan, source, shown=shown, guide=ProbeGuide())
        return await self._run(asked, lambda turn, seq: None, lambda news: None)

    def accepted(self, thread: str, out: HandOff) -> None:
        """A remote target accepted a handoff: its thread's first turn tells the answer that came with that."""
        if out.answer is not None:
            self._answers[thread] = out

    async def _run(self, asked: Asked, opened: Callable[[str, int | None], None], tell: Tell) -> TurnRecord:
        def emit(event: TurnEvent) -> None:
            if isinstance(event, Opened) and event.turn.parent is None:
                self.running = event.turn.id
                opened(event.turn.id, event.turn.stored_user)
            tell(event)

        try:
            return await self.runtime.engine.run(asked, emit)
        finally:
            self.running = None

    async def _conductor(self, opening: Opening, node: Node, handed: int) -> Conductor:
        waiting = self.house.tree.waiting_above(node.id)
        caller = self._caller(node)

        def refused(to: str, remote: bool) -> tuple[Refusal, str] | None:
            agents = self.house.project.agents
            return refusal(to, remote, caller=node.agent, agents=agents, waiting=waiting, handed=handed)

        async def reach(route: Route, carried: Carried, pending: Sequence[NewMessage]) -> Answer:
            return await self._reach(node, opening.request, route, carried, pending)

        return Conductor(
            Setting(
                speaker=self._speaker(node.agent),
                thread=node.id,
                message=opening.request,
                caller=caller,
                led_by=node.link.led_by if node.link is not None else None,
                first=opening.handed is not None,
                understands=opening.spoken,
                opening=opening.words,
                refused=refused,
                reach=reach,
            )
        )

    def _caller(self, node: Node) -> AgentSource | None:
        """Whom the agent of a thread can give the conversation back to."""
        if node.link is None or not node.link.returns:
            return None
        return self.house.project.agents.get(self.house.tree.nodes[node.link.caller].agent)

    async def _asked(self, opening: Opening, node: Node, state: JsonObject, conductor: Conductor) -> Asked:
        plan, shown = self._plan(self._speaker(node.agent), state, tuple(map(offered, conductor.tools(state))))
        return Asked(
            self._new(opening, node.agent),
            plan,
            Source(node.id),
            message=opening.message,
            answers=conductor,
            shown=shown,
            guide=conductor,
        )

    def _new(self, opening: Opening, agent: str) -> NewTurn:
        return NewTurn(
            opening.thread,
            "envelope" if opening.spoken else "brief",
            agent,
            self.window,
            opening.request,
            owner=this_process(),
            stored_user=opening.stored_user,
        )

    def _plan(self, speaks: Speaker, state: JsonObject, tools: tuple[ToolOffered, ...]) -> tuple[Plan, dict[str, str]]:
        """What a turn of the agent runs with, and its values as its model reads them."""
        tiers = self.runtime.resolver.plan(speaks.agent, None, model=self.model).tiers
        values = values_of(state)
        order = ("handoff_from", "handoff_summary", *(one.name for one in speaks.source.fields))
        shown = shown_values(values, sensitive_names(self.house.project.agents.values()), order)
        agent = replace(speaks.agent, state_views=tuple(shown))
        return Plan(agent, tiers, offered=tools), shown

    def _speaker(self, agent: str) -> Speaker:
        if agent not in self._speakers:
            self._speakers[agent] = speaker(self.house.project.agents[agent], self.runtime.resolver)
        return self._speakers[agent]

    async def _place(self, opening: Opening) -> Place | None:
        """Where the request was first stored, if that is not the row about to be written."""
        if opening.message is not None:
            origin = opening.message.origin
            return (origin.thread, origin.seq) if origin is not None else None
        if opening.stored_user is None:
            return None
        rows = await self.house.ledger.rows(opening.thread, opening.stored_user, opening.stored_user)
        return next((place_of(opening.thread, row) for row in rows if isinstance(row, Message)), None)

    # Remote targets

    async def _reach(
        self, node: Node, request: str, route: Route, carried: Carried, pending: Sequence[NewMessage]
    ) -> Answer:
        """Ask a remote target to accept: the rows that its handoff copies go over as they are stored (H11)."""
        assert route.remote is not None
        stored = await self.house.ledger.length(node.id)
        coming = [_coming(new, stored + n) for n, new in enumerate(pending, 1)]
        evidence = await self.house.evidence(node.id, route, coming)
        copying = evidence.choose(self.house.force(route))
        values = {**carried.passed, **carried.assigned}
        return await ask(route.remote, body_of(route.to, request, copying.kept, carried.summary, values))

    async def _remote(self, opening: Opening, node: Node, tell: Tell) -> Went:
        """A turn that a remote target answers; it is recorded like any other."""
        assert node.link is not None
        route = next(
            route
            for agent in self.house.project.agents.values()
            for route in agent.routes
            if route.place == node.link.route
        )
        assert route.remote is not None
        accepted = self._answers.pop(node.id, None)
        rows = [row for row in await self._rows(node.id) if isinstance(row, Message)]
        state = values_of(await self.house.ledger.state(node.id))
        hidden = ("handoff_from", "handoff_summary")
        values = {name: value for name, value in state.items() if name not in hidden}
        summary = state.get("handoff_summary")
        body = body_of(node.agent, opening.request, rows, summary if isinstance(summary, str) else "", values)
        model = RemoteModel(node.agent, route.remote, body, accepted.answer if accepted else None)
        guide = RemoteGuide(model, node.link.returns)
        agent = Agent(node.agent, window="all", nudges=0)
        new = self._new(opening, node.agent)
        asked = Asked(new, Plan(agent, (Tier(model, _ROOM),)), Source(node.id), message=opening.message, guide=guide)
        record = await self._run(asked, lambda turn, seq: None, tell)
        return Went(record, guide.outcome if record.status == "completed" else None)

    async def _rows(self, thread: str) -> list[Row]:
        return await self.house.ledger.rows(thread, 1, await self.house.ledger.length(thread))


def _coming(new: NewMessage, seq: int) -> Message:
    """A row as it will stand once the turn has settled."""
    return Message(seq, new.role, new.text, new.parts, None, utc_now(), 10**18 + seq)
