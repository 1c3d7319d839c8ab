"""How a request becomes something the engine can run: the thread's agent, the window, the rows, the tools.

Everything that can refuse a turn refuses it here, before anything is stored (Q1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from runtime.calls import Answers, Recorded, Stubbed
from runtime.engine import Asked
from runtime.errors import BadInput
from runtime.plan import IMPORTED, PLAIN, RECORDED, Resolver, stamp_of
from runtime.records import read_opening, read_record, selected_before
from runtime.source import Source
from runtime.stores import NewTurn, Store, Thread
from runtime.stores.owner import this_process
from runtime.subject import (
    Changes,
    Overrides,
    Subject,
    call_places,
    changed_agent,
    recorded_results,
    shown_state,
)
from runtime.values.agent import Agent
from runtime.values.json import JsonObject, clean
from runtime.values.messages import Message, NewMessage, Window, read_window
from runtime.values.record import ContextItem, ContextRecord, Turn
from runtime.values.request import Attachment
from runtime.values.seed import Seed


class Asking:
    """Makes `Asked` values from what a user asks for."""

    def __init__(self, store: Store, resolver: Resolver) -> None:
        self._store = store
        self._resolver = resolver
        self._seeds: dict[str, tuple[object, Seed]] = {}
        self._imported: dict[str, Agent] = {}
        self._owner = this_process()

    async def turn(
        self, thread: str, text: str, *, brief: bool, overrides: Overrides, attachments: Sequence[Attachment]
    ) -> Asked:
        """A new root turn of `thread`. Raises UnknownThread, BadInput, ConfigurationError."""
        text = clean(text)
        if not text.strip():
            raise BadInput("a request needs a text", field="request")
        known = await self._store.thread(thread)
        agent, seed = self.who_answers(known, overrides.agent)
        new = NewTurn(
            thread,
            "brief" if brief else "envelope",
            agent.name,
            _window(overrides.window, agent.window),
            text,
            owner=self._owner,
        )
        return Asked(
            new,
            self._resolver.plan(agent, seed, model=overrides.model),
            Source(thread),
            seed,
            None if brief else NewMessage("user", text, _attached(attachments)),
            attachments=tuple(attachments),
            model=overrides.model,
        )

    async def coming(self, thread: str, text: str, overrides: Overrides) -> tuple[Asked, Turn]:
        """The turn that would come next, not opened: `text` counts as the newest row (X3)."""
        known = await self._store.thread(thread)
        agent, seed = self.who_answers(known, overrides.agent)
        last = await self._store.turns(thread, runs=False, limit=1)
        number = last[-1].number + 1 if last else 1
        new = NewTurn(thread, "envelope", agent.name, _window(overrides.window, agent.window), clean(text))
        plan = self._resolver.plan(agent, seed, model=overrides.model)
        asked = Asked(new, plan, Source(thread, known.length, asked=new.request), seed)
        turn = Turn(
            "", thread, "envelope", agent.name, new.window, new.request, known.created, known.state, number=number
        )
        return asked, turn

    async def subject(
        self, turn: str, *, to_run: bool = True, recorded: bool = True, instead: str | None = None
    ) -> Subject:
        """The point where a turn's request was asked (X4); with `recorded`, what its tools answered.

        Without `to_run` the agent is known by its name alone; `instead` names the agent that will run, which a thread
        whose seed has gone needs. Raises UnknownTurn, BadInput for a child turn.
        """
        of = await self._store.turn(turn)
        if of.kind == "child":
            raise BadInput(f"turn {turn} was delegated; run its parent {of.parent} again", field="turn")
        known = await self._store.thread(of.thread)
        agent, seed = self._who_answered(known, of.agent, instead) if to_run else (Agent(of.agent), None)
        opening = await read_opening(self._store, of.id)
        if agent.name == RECORDED and opening is not None:
            agent = _as_opened(agent, opening.context)
        subject = Subject(
            known,
            seed,
            await self._upto(of, opening),
            of.request,
            of.kind,
            of.state_before,
            agent,
            of.window,
            of,
            await self._before(opening),
            attachments=await self._files(of) if to_run else (),
        )
        if not (to_run and recorded):
            return subject
        record = await read_record(self._store, of, bodies=False)
        return replace(subject, recorded=recorded_results(record), call_places=call_places(record))

    async def subject_on(self, thread: str, text: str, *, upto: int | None, to_run: bool = True) -> Subject:
        """A request that was never sent, on rows 1..`upto` of a thread (None: all it has). Nothing is stored.

        Raises UnknownThread, ConfigurationError, BadInput.
        """
        text = clean(text)
        if not text.strip():
            raise BadInput("a request needs a text", field="request")
        known = await self._store.thread(thread)
        seed = self.seed_of(known) if to_run else None
        agent = self.agent_of(known, seed) if to_run else Agent(known.agent)
        last = await self._store.turns(thread, runs=False, limit=1) if upto is None else []
        return Subject(
            known,
            seed,
            known.length if upto is None else upto,
            text,
            "envelope",
            known.state if upto is None else await self._store.state(thread, seq=upto),
            agent,
            agent.window,
            before=await selected_before(self._store, last[-1].id) if last else None,
        )

    def run(
        self,
        subject: Subject,
        overrides: Overrides,
        changes: Changes,
        *,
        experiment: str | None = None,
        cell: str | None = None,
    ) -> Asked:
        """A run on a view of `subject` (X4). Raises ConfigurationError, and BadInput for a part it does not have."""
        seed, of = subject.seed, subject.of
        agent = self.agent_of(subject.thread, seed, overrides.agent) if overrides.agent else subject.agent
        request = subject.request if overrides.request is None else clean(overrides.request)
        if not request.strip():
            raise BadInput("a request needs a text", field="request")
        base = agent if overrides.instructions is None else replace(agent, instructions=clean(overrides.instructions))
        view = subject.view(changes, base)
        new = NewTurn(
            subject.thread.id,
            subject.kind,
            agent.name,
            _window(overrides.window, subject.window if overrides.agent is None else agent.window),
            request,
            owner=self._owner,
            view=view,
            rerun_of=of.id if of is not None else None,
            experiment=experiment,
            cell=cell,
            state=subject.state,
        )
        plan = self._resolver.plan(agent, seed, model=overrides.model)
        changed = changed_agent(base, changes)
        return Asked(
            new,
            plan if changed is agent else replace(plan, agent=changed),
            Source(subject.thread.id, view.upto, view, request if subject.kind == "envelope" else None),
            seed,
            answers=_answers(subject, changes),
            attachments=subject.attachments,
            previous=subject.before,
            shown=shown_state(changes),
            instead=subject.instead(changes),
            model=overrides.model,
        )

    def find_seed(self, seed: str | Path | Seed, *, anew: bool = False) -> Seed:
        """The seed itself, by shipped name, or read from a path. Raises BadInput.

        A file is read again when it or a file of its agents has changed, or if `anew` (another file may give an agent
        by now). A Seed made in Python is remembered by name, so that its threads find their agents and script again.
        """
        if isinstance(seed, Seed):
            self._seeds[_key(seed)] = (_stamps(seed), seed)
            return seed
        from runtime import seeds  # reads YAML: only threads that come from a file need it

        known = self._seeds.get(str(seed))
        if known is not None and not (anew and known[1].file) and known[0] == _stamps(known[1]):
            return known[1]
        found = seeds.find_seed(str(seed), known=self._resolver.given_agents)
        self._seeds[str(seed)] = (_stamps(found), found)
        return found

    def seed_of(self, thread: Thread) -> Seed | None:
        """The seed a thread came from, None if there was none. Raises BadInput if its file has gone."""
        return self.find_seed(thread.seed) if thread.seed is not None else None

    def who_answers(self, thread: Thread, name: str | None) -> tuple[Agent, Seed | None]:
        """The agent called `name`, else the thread's own, and the seed of the thread.

        A thread whose seed has gone goes on with an agent that is named. Raises ConfigurationError, BadInput.
        """
        try:
            seed = self.seed_of(thread)
        except BadInput as gone:
            if name is None:
                said = f"{gone.problem}; the thread came from it: name an agent to go on without it"
                raise BadInput(said, file=gone.file, line=gone.line, column=gone.column, field=gone.field) from None
            seed = None
        return self.agent_of(thread, seed, name), seed

    def _who_answered(self, thread: Thread, name: str, instead: str | None) -> tuple[Agent, Seed | None]:
        """The agent a turn was answered by, with the thread's seed; if they have gone, the one named instead."""
        try:
            seed = self.seed_of(thread)
            return self.agent_of(thread, seed, name), seed
        except BadInput:
            if instead is None:
                raise
            return self.who_answers(thread, instead)

    def agent_of(self, thread: Thread, seed: Seed | None, name: str | None = None) -> Agent:
        """The agent called `name`, else the one that answers on `thread`. Raises ConfigurationError, BadInput."""
        wanted = name or thread.agent or (seed.agent if seed else "")
        if thread.about is not None and wanted in ("", IMPORTED, RECORDED):
            if thread.id not in self._imported:
                recorded = thread.about.get("recorder") is True
                self._imported[thread.id] = recorded_agent(thread) if recorded else imported_agent(thread)
            return self._imported[thread.id]
        return self._resolver.agent(wanted, seed)

    async def _files(self, of: Turn) -> tuple[Attachment, ...]:
        """The files a turn was asked with, from the body it sent; the row of its request names them."""
        parts = None
        if of.stored_user is not None:
            row = (await self._store.rows(of.thread, of.stored_user, of.stored_user))[0]
            parts = row.parts if isinstance(row, Message) else None
            if not any(part.get("type") == "attachment" for part in parts or ()):
                return ()
        from runtime.models.carried import files_in, named

        body = await self._store.body(of.id, 1)
        return named(files_in(body) if body is not None else (), parts)

    async def _upto(self, of: Turn, opening: ContextItem | None) -> int:
        """The rows up to the one before the turn's own request; of a run, the rows that it saw."""
        if of.view is not None:
            return of.view.upto
        if of.stored_user is not None:
            return of.stored_user - 1
        return opening.context.stored if opening else await self._store.length(of.thread)

    async def _before(self, opening: ContextItem | None) -> tuple[str, Sequence[int]] | None:
        """The turn before the one that is run again, so that *since* means the same for both (X2)."""
        if opening is None or opening.context.since.turn is None:
            return None
        return await selected_before(self._store, opening.context.since.turn)


def imported_agent(thread: Thread) -> Agent:
    """The agent that answers on an imported thread unless another is named: the plain one with the file's tools,
    which are offered by their schemas and never run."""
    tools = thread.about.get("tools") if thread.about else None
    schemas = tuple(tool for tool in tools if isinstance(tool, Mapping)) if isinstance(tools, list | tuple) else ()
    return replace(PLAIN, name=IMPORTED, tool_schemas=schemas)


def recorded_agent(thread: Thread) -> Agent:
    """The agent that answers on a recorded thread unless another is named: what the program's first call told of it,
    its instructions and its tools (which are never run), and everything that is stored."""
    agent = imported_agent(thread)
    told = (thread.about or {}).get("instructions")
    return replace(agent, name=RECORDED, window="all", instructions=told if isinstance(told, str) else "")


def _as_opened(agent: Agent, context: ContextRecord) -> Agent:
    """The agent of a recorded turn: the instructions and the tools that its own call sent."""
    instructions = context.section("instructions")
    tools: list[JsonObject] = [
        {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in context.tools
    ]
    return replace(agent, instructions=instructions.text if instructions else "", tool_schemas=tuple(tools))


def _answers(subject: Subject, changes: Changes) -> Answers | None:
    if changes.tools == "recorded":
        return Recorded(subject.recorded or {})
    return Stubbed() if changes.tools == "stubbed" else None


def _stamps(seed: Seed) -> tuple[object, ...]:
    """What tells that a file of the seed has changed: its own, or one of its agents."""
    return tuple(map(stamp_of, dict.fromkeys((seed.file, *(agent.file for agent in seed.agents.values())))))


def _key(seed: Seed) -> str:
    return seed.name if seed.shipped or not seed.file else seed.file


def _window(given: Window | None, own: Window) -> Window:
    """A window given by a caller, in Python or as text; None is the turn's or agent's own. Raises BadInput (S3)."""
    if given is None:
        return own
    if isinstance(given, bool) or not isinstance(given, int | str):
        raise BadInput(f"a window is a whole number or all, not {given!r}", field="window")
    return given if isinstance(given, int) else read_window(given, field="window")


def _attached(attachments: Sequence[Attachment]) -> tuple[JsonObject, ...] | None:
    """Attachments leave a part that names them; their bytes go with the request alone."""
    if not attachments:
        return None
    return tuple({"type": "attachment", "name": one.name, "media_type": one.media_type} for one in attachments)
