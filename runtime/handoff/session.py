"""A conversation with a project of agents: say something, and whoever is spoken to answers or hands on (H14)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from runtime.abl import load_project
from runtime.abl.assignments import assign
from runtime.abl.project import Project, Route
from runtime.abl.templates import render
from runtime.errors import BadInput, ThreadBusy
from runtime.events import TurnEvent
from runtime.handoff import log
from runtime.handoff.changes import Change, changed, changes_of
from runtime.handoff.conduct import Escalate, GoBack, HandOff, Leave
from runtime.handoff.events import HandoffEvent, LeftWaiting, SessionEvent, SessionThread
from runtime.handoff.evidence import Evidence, default_of, read_evidence
from runtime.handoff.handing import House, Opening, give_back, hand_off, handed_up
from runtime.handoff.masking import Mask
from runtime.handoff.matching import matches
from runtime.handoff.notes import first_state, notes_of, secrets_in, sensitive_names, values_of
from runtime.handoff.strategy import Barred
from runtime.handoff.tree import Node, Tree, tree_of
from runtime.handoff.turns import Turns, Went
from runtime.records import read_record
from runtime.stores import NewThread, Store
from runtime.threads import Runtime
from runtime.values.json import Json, JsonObject, clean
from runtime.values.messages import Message, NewMessage, Window
from runtime.values.record import TurnRecord


@dataclass(frozen=True, slots=True)
class Said:
    """What one customer message led to: the answers in order, the turns that ran, what happened between agents."""

    text: str
    replies: tuple[str, ...]
    turns: tuple[TurnRecord, ...]
    events: tuple[SessionEvent, ...]

    @property
    def completed(self) -> bool:
        """Whether every turn completed."""
        return all(record.status == "completed" for record in self.turns)


SessionNews: TypeAlias = "TurnEvent | SessionEvent | Said"
Tell: TypeAlias = "Callable[[TurnEvent | SessionEvent], None]"


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for a whole session. `model` replaces every agent's chain by one tier, `history_default` the
    project's default (H5); `window` is that of every turn (S3). `changes` are routes with another HISTORY."""

    model: str | None = None
    history_default: str | None = None
    window: Window = "all"
    changes: tuple[Change, ...] = ()


class Session:
    """One conversation with a project. Made by `open` or `reopen`; what it is stands in the store, nothing here alone.

    `id` is the thread of the agent spoken to first, `project` what runs (with the session's changes), `greeting` what
    the first agent said before anybody spoke, empty if it said nothing. `rows_before` are the rows that its thread had
    from before, `given` the values it began with that were not the project's.
    """

    def __init__(self, runtime: Runtime, project: Project, tree: Tree, settings: Settings, id: str) -> None:
        self.runtime, self.project, self.settings, self.id = runtime, project, settings, id
        self.greeting = ""
        self.first_agent = tree.nodes[id].agent
        self.rows_before = 0
        self.given: JsonObject = {}
        self._store: Store = runtime.store
        self._tree = tree
        self._log: list[JsonObject] = []
        self._states: dict[str, JsonObject] = {}
        self._lengths: dict[str, int] = {}
        default = default_of(settings.history_default) or project.history_default
        self._house = House(self._store, project, default, id, tree)
        self._turns = Turns(runtime, self._house, settings.model, settings.window)
        self._busy = False

    @classmethod
    async def open(
        cls,
        runtime: Runtime,
        project: Project | str | Path,
        agent: str | None = None,
        *,
        history_default: str | None = None,
        model: str | None = None,
        window: Window = "all",
        messages: Sequence[NewMessage] = (),
        state: Mapping[str, Json] | None = None,
        changes: Sequence[Change] = (),
        replay_of: str | None = None,
    ) -> Session:
        """A fresh session, spoken to `agent` (None: whom the project names first). Nothing has been said yet.

        `messages` are rows of the first agent's thread from before, `state` values it begins with. Raises BadInput for
        a project with errors (H6), an agent it does not have, or a folder that holds none.
        """
        found = project if isinstance(project, Project) else load_project(project)
        check_runs(found)
        settings = Settings(model, history_default, window, tuple(changes))
        found = changed(found, settings.changes)
        source = found.agents.get(agent) if agent else found.first_agent
        if source is None:
            known = ", ".join(sorted(found.agents))
            problem = f"there is no agent {agent!r}; known: {known}" if agent else f"name the first agent: {known}"
            raise BadInput(problem, file=str(found.folder), field="agent")
        start = first_state(source)
        start.update(assign(source.on_start.assignments, values_of(start)))
        start.update(state or {})
        words = render(source.on_start.respond, values_of(start)) if source.on_start.respond else ""
        first = await runtime.store.create_thread(
            NewThread(
                agent=source.name,
                name=found.name,
                state=start,
                status="active",
                about={
                    "project": str(found.folder.resolve()),
                    "model": model,
                    "history_default": history_default,
                    "window": window,
                    "changes": [one.json() for one in settings.changes],
                    "replay_of": replay_of,
                    "sensitive": sorted(sensitive_names(found.agents.values())),
                    "before": len(messages),
                    "given": dict(state or {}),
                    "greeting": words,
                },
            ),
            [*messages, NewMessage("assistant", words)] if words else messages,
        )
        session = cls(runtime, found, Tree.of(first, source.name), settings, first)
        session.greeting, session.rows_before, session.given = words, len(messages), dict(state or {})
        await session._refresh()
        return session

    @classmethod
    async def reopen(cls, runtime: Runtime, session: str, project: Project | None = None) -> Session:
        """A session of the store as it stands; the project's files are read anew unless `project` is given.

        Raises UnknownThread, and BadInput for a thread that is no session's first or a project that does not run.
        """
        known = await runtime.store.thread(session)
        about = known.about or {}
        folder = about.get("project")
        if not isinstance(folder, str):
            raise BadInput(f"thread {session} is not the first of a session", field="session")
        found = project or load_project(folder)
        check_runs(found)
        settings = Settings(
            cast("str | None", about.get("model")),
            cast("str | None", about.get("history_default")),
            cast(Window, about.get("window", "all")),
            changes_of(about.get("changes")),
        )
        entries = await runtime.store.events(session)
        tree = tree_of(session, known.agent, log.events_of(entries))
        for entry in entries:
            if entry.get("event") == log.ESCALATED:
                tree.escalated(str(entry["thread"]))
        reopened = cls(runtime, changed(found, settings.changes), tree, settings, session)
        reopened._log = list(entries)
        reopened.greeting, reopened.rows_before = str(about.get("greeting", "")), cast(int, about.get("before", 0))
        reopened.given = cast(JsonObject, about.get("given", {}))
        await reopened._refresh()
        return reopened

    # What there is

    @property
    def events(self) -> tuple[SessionEvent, ...]:
        """What happened between agents so far, in order."""
        return log.events_of(self._log)

    @property
    def agent(self) -> str:
        """The agent that the next message is said to."""
        return self._tree.speaking.agent

    @property
    def thread(self) -> str:
        """The thread that the next message opens a turn on."""
        return self._tree.active

    @property
    def threads(self) -> tuple[SessionThread, ...]:
        """The threads, in the order they were created."""
        return tuple(self._described(node) for node in self._tree.nodes.values())

    @property
    def mask(self) -> Mask:
        """What puts stand-ins in the place of the session's sensitive values (Q3)."""
        names = sensitive_names(self.project.agents.values())
        secrets = [one for state in self._states.values() for one in secrets_in(state, names)]
        return Mask(names, secrets)

    def route(self, place: str) -> Route | None:
        """The route at `FILE:LINE`."""
        routes = (route for agent in self.project.agents.values() for route in agent.routes)
        return next((route for route in routes if route.place == place), None)

    async def messages(self) -> list[str]:
        """What the customer said, in order."""
        said: list[str] = []
        for entry in self._log:
            if entry.get("event") == log.SAID:
                thread, seq = str(entry["thread"]), cast(int, entry["seq"])
                said += [row.text for row in await self._store.rows(thread, seq, seq) if isinstance(row, Message)]
        return said

    async def records(self, *, bodies: bool = False) -> list[TurnRecord]:
        """The records of all turns of all threads, in the order they were opened."""
        turns = [turn for id in self._tree.nodes for turn in await self._store.turns(id, runs=False)]
        turns.sort(key=lambda turn: turn.opened)
        return [await read_record(self._store, turn, bodies=bodies) for turn in turns]

    async def evidence(self, event: HandoffEvent) -> Evidence:
        """What a handoff chose from, as it was then: the ground of every what-if (X3)."""
        route = self.route(event.route)
        sensitive = {one.thread for one in event.children if one.sensitive}
        return await read_evidence(
            self._store,
            event.caller_thread,
            upto=event.caller_rows,
            children=event.children,
            barred=Barred(frozenset({*event.barred_threads, *sensitive}), frozenset(event.barred)),
            has_summary=event.has_summary if route is None else route.has_summary,
            default=self._house.default,
        )

    # Speaking

    async def say(self, text: str, *, tell: Tell = lambda news: None) -> Said:
        """Say `text` to whoever has the conversation, and run every turn that follows; `tell` hears what happens.

        A turn that does not complete is told by its record. Raises BadInput for no text or a conversation that went
        to a person, ThreadBusy while another message is answered (nothing is stored then), StoreError. Cancelled, the
        turn under way settles `stopped` first.
        """
        return await self._say(text, tell)

    async def stream(self, text: str) -> AsyncIterator[SessionNews]:
        """The same while it happens: events of turns and between agents, the last of them the Said.

        Closing the iterator stops the turn under way.
        """
        queue: asyncio.Queue[SessionNews | None] = asyncio.Queue()

        async def work() -> None:
            queue.put_nowait(await self._say(text, queue.put_nowait))

        task = asyncio.create_task(work())
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (news := await queue.get()) is not None:
                yield news
            task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    async def stop(self) -> None:
        """Stop the turn under way, if there is one; it settles `stopped` (T10)."""
        if self._turns.running is not None:
            await self.runtime.stop(self._turns.running)

    async def probe(self, thread: str, question: str) -> TurnRecord:
        """Ask the agent of a thread a question on a view of it: what it answers from what it has; nothing is stored."""
        return await self._turns.probe(self._tree.nodes[thread], clean(question))

    async def _say(self, text: str, tell: Tell) -> Said:
        text = clean(text)
        if not text.strip():
            raise BadInput("a message needs a text", field="say")
        speaking = self._tree.speaking
        if speaking.status == "escalated":
            raise BadInput("the conversation went to a person", field="say")
        if self._busy:
            raise ThreadBusy(speaking.id, self._turns.running or "")
        self._busy = True
        try:
            return await self._follow(Opening(speaking.id, text, NewMessage("user", text)), text, tell)
        finally:
            self._busy = False
            await self._refresh()

    async def _follow(self, opening: Opening, text: str, tell: Tell) -> Said:
        """Run the turn of a customer message, and those it leads to."""
        replies: list[str] = []
        records: list[TurnRecord] = []
        begun = len(self._log)
        following: Opening | None = opening
        handed = 0
        while following is not None:
            opening, following = following, None
            went = await self._turns.run(opening, handed, tell)
            records.append(went.record)
            if opening.spoken and len(records) == 1 and went.record.stored_user is not None:
                await self._write({"event": log.SAID, "thread": opening.thread, "seq": went.record.stored_user})
            await self._tell_first_turn(opening, went)
            for event in went.events:
                await self._happened(log.numbered(event, len(self._log) + 1), tell)
            if went.record.status != "completed":
                break
            if went.record.answer:
                replies.append(went.record.answer)
            handed += isinstance(went.outcome, HandOff)
            following = await _to_its_end(self._after(went, replies, tell))
        seen = log.events_of(self._log)
        return Said(text, tuple(replies), tuple(records), tuple(one for one in seen if one.n > begun))

    async def _after(self, went: Went, replies: list[str], tell: Tell) -> Opening | None:
        """Carry out what a turn decided; returns the turn to open next."""
        node, n = self._tree.nodes[went.record.thread], len(self._log) + 1
        match went.outcome:
            case HandOff() as out:
                opening = await hand_off(self._house, out, node, went.record, n)
                assert opening.handed is not None
                await self._happened(opening.handed, tell)
                await self._store_status(node.id)
                self._turns.accepted(opening.thread, out)
                return opening
            case GoBack() as out:
                route = self._route_to(node)
                done = await give_back(self._house, out, node, went.record, route, n)
                await self._happened(done.event, tell)
                if done.reply:
                    replies.append(done.reply)
                return done.opening
            case Leave(intent):
                return await self._leave(node, went.record, intent, n, tell)
            case Escalate():
                await self._write({"event": log.ESCALATED, "thread": node.id})
                self._tree.escalated(node.id)
                await self._store_status(node.id)
            case None:
                pass
        return None

    async def _leave(self, node: Node, record: TurnRecord, intent: str, n: int, tell: Tell) -> Opening:
        assert node.link is not None
        caller = self._tree.nodes[node.link.caller]
        event = LeftWaiting(n, node.agent, caller.agent, node.id, caller.id, record.turn, intent)
        opening = await handed_up(self._house, caller.id, node, record)
        await self._happened(event, tell)
        for thread in (node.id, caller.id):
            await self._store_status(thread)
        return opening

    async def _tell_first_turn(self, opening: Opening, went: Went) -> None:
        """Note in the log which turn a handoff led to, and whether what it was sent is what was copied (H12)."""
        event = opening.handed
        if isinstance(event, HandoffEvent):
            found = matches(event, went.record)
            await self._write({"event": log.FIRST_TURN, "of": event.n, "turn": went.record.turn, "matches": found})

    def _route_to(self, node: Node) -> Route:
        assert node.link is not None
        route = self.route(node.link.route)
        if route is None:
            raise BadInput(f"the route {node.link.route} is gone from the project", file=str(self.project.folder))
        return route

    async def _happened(self, event: SessionEvent, tell: Tell) -> None:
        await self._write(log.event_json(event))
        self._tree.apply(event)
        tell(event)

    async def _write(self, entry: JsonObject) -> None:
        await self._store.add_events(self.id, [entry])
        self._log.append(entry)

    async def _store_status(self, thread: str) -> None:
        await self._store.update_thread(thread, status=self._tree.nodes[thread].status)

    async def _refresh(self) -> None:
        """Read again what the properties tell of the threads."""
        for id in self._tree.nodes:
            known = await self._store.thread(id)
            self._states[id], self._lengths[id] = known.state, known.length

    def _described(self, node: Node) -> SessionThread:
        notes = notes_of(self._states.get(node.id, {}))
        route = node.link.route if node.link is not None else ""
        length = self._lengths.get(node.id, 0)
        return SessionThread(node.id, node.agent, node.parent, node.status, length, notes.sensitive, node.remote, route)


async def _to_its_end(carried_out: Coroutine[object, object, Opening | None]) -> Opening | None:
    """What was decided is carried out whole, also when the task is cancelled meanwhile (T10): a target's thread is
    never there without its event."""
    task = asyncio.ensure_future(carried_out)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def check_runs(project: Project) -> None:
    """Raises BadInput with the first error of a project that has any: it does not run (H6)."""
    if not project.runs:
        first = next(one for one in project.diagnostics if one.severity == "error")
        raise BadInput(f"{first.code}: {first.message}", file=first.file, line=first.line, column=first.column)
