"""Runtime, the facade: create threads, send, run again on a view, fork, reseed, stop, read the records.

store = open_store("sqlite:///studio.db")
runtime = Runtime(store)
thread = await runtime.create_thread(seed="friday-notes")
record = await runtime.send(thread, "What is in the draft?", window=2)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from runtime.asking import Asking
from runtime.calls import ToolMode
from runtime.engine import Asked, Engine, OnComplete
from runtime.errors import ConfigurationError
from runtime.events import TurnEvent
from runtime.models import Model
from runtime.plan import Resolver, Settings
from runtime.records import read_record
from runtime.stores import NewThread, Store, Threads
from runtime.subject import Changes, Overrides, Subject
from runtime.tools import Tool
from runtime.values.agent import Agent
from runtime.values.json import Json, JsonObject, clean_json
from runtime.values.messages import Window
from runtime.values.record import ContextItem, TurnRecord
from runtime.values.request import Attachment
from runtime.values.seed import Seed


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a turn would execute and send, said before it does (X4).

    `models` are the tiers in order; `tools` the agent's own that would run live; `foreign` those among them that run
    the user's own code; `delegates` the agents it may ask. `window` is what it would select; None where no turn is
    at hand.
    """

    agent: str
    models: tuple[str, ...]
    tools: tuple[str, ...]
    foreign: tuple[str, ...]
    delegates: tuple[str, ...]
    window: Window | None = None


class Runtime:
    """Threads and turns on one store.

    `agents`, `tools` and `models` join what ships, by name. `on_complete` may refuse an answer by raising (T11).
    `allow_tools` is the user's consent to run tools of agent files that are not shipped (T9). `model` replaces the
    chain of every agent by this one tier. `settings` say how models on servers are reached (None: as the environment
    says); a function is called when such a model is first used. `store` may be any class that speaks the five methods
    of `Threads`.
    """

    def __init__(
        self,
        store: Store | Threads,
        *,
        agents: Mapping[str, Agent] | None = None,
        tools: Iterable[Tool | Callable[..., object]] = (),
        models: Mapping[str, Model] | None = None,
        on_complete: OnComplete | None = None,
        allow_tools: bool = False,
        model: str | None = None,
        settings: Settings = None,
    ) -> None:
        self.store: Store = _whole(store)
        self._resolver = Resolver(
            agents=agents,
            tools=[Tool.of(tool) for tool in tools],
            models=models,
            allow_tools=allow_tools,
            model=model,
            settings=settings,
        )
        self._engine = Engine(self.store, self._resolver, on_complete)
        self._asking = Asking(self.store, self._resolver)

    @property
    def allow_tools(self) -> bool:
        """Whether tools of agent files that are not shipped may run (T9)."""
        return self._resolver.allow_tools

    @allow_tools.setter
    def allow_tools(self, allowed: bool) -> None:
        self._resolver.allow_tools = allowed

    @property
    def engine(self) -> Engine:
        """What runs the turns, for those who bring agents of their own kind (`runtime.handoff`)."""
        return self._engine

    @property
    def resolver(self) -> Resolver:
        """What finds tools and models by name, for those who bring agents of their own kind."""
        return self._resolver

    @property
    def running(self) -> tuple[str, ...]:
        """The ids of the turns of this process that are under way, in the order they began."""
        return tuple(self._engine.running)

    async def create_thread(
        self, *, agent: str = "", seed: str | Path | Seed | None = None, state: Mapping[str, Json] | None = None
    ) -> str:
        """A fresh thread; returns its id. A seed (a shipped name, a path, or a Seed) fills it before its first turn.

        `agent` is a name or an agent file, and takes the place of the seed's. Raises BadInput, ConfigurationError.
        """
        found = self._asking.find_seed(seed, anew=True) if seed is not None else None
        name = agent or (found.agent if found else "")
        self._resolver.agent(name, found)
        start = {**(found.state if found else {}), **_state(state)}
        if found is None:
            return await self.store.create_thread(NewThread(agent=name, state=start))
        new = NewThread(
            agent=name,
            origin="seed",
            name=found.name,
            seed=found.name if found.shipped else found.file or found.name,
            seed_digest=found.digest,
            state=start,
        )
        return await self.store.create_thread(new, found.messages)

    async def reseed(self, thread: str) -> str:
        """A fresh thread from the same seed, read anew; without a seed, an empty thread of the same agent."""
        known = await self.store.thread(thread)
        if known.seed is None:
            start = await self.store.state(thread, seq=0)
            return await self.store.create_thread(NewThread(agent=known.agent, name=known.name, state=start))
        return await self.create_thread(agent=known.agent, seed=known.seed)

    async def fork(self, thread: str, seq: int) -> str:
        """A thread that holds rows 1..`seq` and goes on from there (S9). Raises UnknownThread, BadInput."""
        return await self.store.fork(thread, seq)

    async def agent_of(self, thread: str) -> Agent:
        """The agent that answers on `thread`. Raises UnknownThread, ConfigurationError, BadInput."""
        known = await self.store.thread(thread)
        return self._asking.agent_of(known, self._asking.seed_of(known))

    async def seed_of(self, thread: str) -> Seed | None:
        """The seed the thread came from (a fork's: its base's), None if there was none. Raises BadInput."""
        return self._asking.seed_of(await self.store.thread(thread))

    async def send(
        self,
        thread: str,
        text: str,
        *,
        window: Window | None = None,
        brief: bool = False,
        agent: str | None = None,
        model: str | None = None,
        attachments: Sequence[Attachment] = (),
    ) -> TurnRecord:
        """Run one turn to its record: `text` is stored and answered (an envelope), or with `brief` only answered.

        `window`, `agent` and `model` hold for this turn alone; None takes the agent's, the thread's, the chain.
        Raises UnknownThread, ThreadBusy, ConfigurationError, BadInput (nothing is stored then), StoreError.
        Cancelled, the turn settles `stopped` first (T10).
        """
        overrides = Overrides(window, agent, model)
        asked = await self._asking.turn(thread, text, brief=brief, overrides=overrides, attachments=attachments)
        return await self._engine.run(asked, _silent)

    def stream(
        self,
        thread: str,
        text: str,
        *,
        window: Window | None = None,
        brief: bool = False,
        agent: str | None = None,
        model: str | None = None,
        attachments: Sequence[Attachment] = (),
    ) -> AsyncIterator[TurnEvent]:
        """The same turn while it runs: its events, the last of them `Settled`. Closing the iterator stops the turn."""
        overrides = Overrides(window, agent, model)
        return self._streamed(
            lambda: self._asking.turn(thread, text, brief=brief, overrides=overrides, attachments=attachments)
        )

    async def rerun(
        self,
        turn: str,
        *,
        window: Window | None = None,
        agent: str | None = None,
        model: str | None = None,
        request: str | None = None,
        instructions: str | None = None,
        tools: ToolMode = "live",
        drop: Sequence[int] = (),
        edit: Mapping[int, str] | None = None,
    ) -> TurnRecord:
        """Run a turn's request again on a view of the point where it was asked (X4); the thread does not change.

        `window` None takes the turn's own; `request` and `instructions` take the place of the turn's and the agent's.
        `drop` leaves rows out of the selection, `edit` gives them other text (X7). Raises UnknownTurn,
        ConfigurationError, BadInput.
        """
        overrides = Overrides(window, agent, model, request, instructions)
        asked = await self._again(turn, overrides, Changes(tools, tuple(drop), edit))
        return await self._engine.run(asked, _silent)

    def stream_rerun(
        self,
        turn: str,
        *,
        window: Window | None = None,
        agent: str | None = None,
        model: str | None = None,
        request: str | None = None,
        instructions: str | None = None,
        tools: ToolMode = "live",
        drop: Sequence[int] = (),
        edit: Mapping[int, str] | None = None,
    ) -> AsyncIterator[TurnEvent]:
        """The same run while it runs: its events, the last of them `Settled`. Closing the iterator stops it."""
        overrides = Overrides(window, agent, model, request, instructions)
        return self._streamed(lambda: self._again(turn, overrides, Changes(tools, tuple(drop), edit)))

    async def subject(self, turn: str, *, to_run: bool = True, instead: str | None = None) -> Subject:
        """The point where a turn's request was asked, for many runs.

        Without `to_run` it can be looked at, not run on: no agent, seed or recorded result is looked up. `instead`
        names the agent that will run, which a thread whose seed has gone needs. Raises UnknownTurn, BadInput for a
        child turn.
        """
        return await self._asking.subject(turn, to_run=to_run, instead=instead)

    async def subject_on(self, thread: str, text: str, *, upto: int | None = None, to_run: bool = True) -> Subject:
        """A request that was never sent, at the newest point of a thread or after row `upto`. Nothing is stored.

        Raises UnknownThread, ConfigurationError, BadInput.
        """
        return await self._asking.subject_on(thread, text, upto=upto, to_run=to_run)

    def plan_on(self, subject: Subject, overrides: Overrides | None = None, changes: Changes | None = None) -> RunPlan:
        """What a run on a view of `subject` would execute and send where (X4). Raises what running it would raise."""
        asked = self._asking.run(subject, overrides or Overrides(), changes or Changes())
        plan = asked.plan
        foreign = self._resolver.foreign_tools(plan.agent, subject.seed)
        models = tuple(tier.model.name for tier in plan.tiers)
        return RunPlan(plan.agent.name, models, tuple(plan.tools), foreign, tuple(plan.delegates), asked.new.window)

    def agent_on(self, subject: Subject, overrides: Overrides | None = None, changes: Changes | None = None) -> Agent:
        """The agent of a run on a view of `subject`, with what the run changes of it. Raises as `plan_on` does."""
        return self._asking.run(subject, overrides or Overrides(), changes or Changes()).plan.agent

    async def preview_on(
        self, subject: Subject, overrides: Overrides | None = None, changes: Changes | None = None
    ) -> ContextItem:
        """What a run on a view of `subject` would be sent at first. Nothing is stored or run."""
        asked = self._asking.run(subject, overrides or Overrides(), changes or Changes())
        return await self._engine.preview(asked)

    async def run(
        self,
        subject: Subject,
        overrides: Overrides | None = None,
        changes: Changes | None = None,
        *,
        experiment: str | None = None,
        cell: str | None = None,
    ) -> TurnRecord:
        """One run on a view of `subject` (X4), kept under `experiment` and `cell` if given; the thread does not change.

        Raises ConfigurationError, BadInput, StoreError; cancelled, the run settles `stopped` first.
        """
        asked = self._asking.run(
            subject, overrides or Overrides(), changes or Changes(), experiment=experiment, cell=cell
        )
        return await self._engine.run(asked, _silent)

    async def _again(self, turn: str, overrides: Overrides, changes: Changes) -> Asked:
        recorded = changes.tools == "recorded" or bool(changes.results)
        return self._asking.run(
            await self._asking.subject(turn, recorded=recorded, instead=overrides.agent), overrides, changes
        )

    async def preview(
        self, thread: str, text: str, *, window: Window | None = None, agent: str | None = None
    ) -> ContextItem:
        """What the coming turn would be sent, `text` counted as the newest row (X3). Nothing is stored or run."""
        asked, turn = await self._asking.coming(thread, text, Overrides(window, agent))
        return await self._engine.assemble(asked, turn, request_seq=(asked.source.upto or 0) + 1)

    async def plan_of(self, thread: str, *, agent: str | None = None, model: str | None = None) -> RunPlan:
        """What a turn on `thread` would execute and send where (X4). Raises what sending would raise."""
        chosen, seed = await self._agent_and_seed(thread, agent)
        foreign = self._resolver.foreign_tools(chosen, seed)
        plan = self._resolver.plan(chosen, seed, model=model)
        models = tuple(tier.model.name for tier in plan.tiers)
        return RunPlan(chosen.name, models, tuple(plan.tools), foreign, tuple(plan.delegates))

    async def foreign_tools(self, thread: str, *, agent: str | None = None) -> tuple[str, ...]:
        """The tools of the thread's agent that need the user's consent before a turn may open (T9)."""
        chosen, seed = await self._agent_and_seed(thread, agent)
        return self._resolver.foreign_tools(chosen, seed)

    async def _agent_and_seed(self, thread: str, agent: str | None) -> tuple[Agent, Seed | None]:
        return self._asking.who_answers(await self.store.thread(thread), agent)

    async def stop(self, turn: str) -> None:
        """Stop a turn of this process at once; it settles `stopped` (T10). A turn that has ended is left as it is.

        Raises UnknownTurn, and ConfigurationError for a turn that runs in another process.
        """
        running = self._engine.running.get(turn)
        if running is not None:
            running.stop()
            return
        known = await self.store.turn(turn)
        if known.status == "running":
            raise ConfigurationError(f"turn {turn} runs in another process ({known.owner}); stop it there")

    async def record(self, turn: str, *, bodies: bool = True) -> TurnRecord:
        """The record of a turn, folded from its journal, delegated turns in it. Raises UnknownTurn."""
        return await read_record(self.store, await self.store.turn(turn), bodies=bodies)

    async def records(self, thread: str, *, runs: bool = True, limit: int | None = None) -> list[TurnRecord]:
        """The records of the thread's turns, oldest first, without bodies. Raises UnknownThread."""
        turns = await self.store.turns(thread, runs=runs, limit=limit)
        return [await read_record(self.store, turn, bodies=False) for turn in turns]

    async def close(self) -> None:
        """Close the models' connections and the store."""
        await self._resolver.close()
        await self.store.close()

    async def _streamed(self, ask: Callable[[], Awaitable[Asked]]) -> AsyncIterator[TurnEvent]:
        queue: asyncio.Queue[TurnEvent | None] = asyncio.Queue()

        async def work() -> None:
            await self._engine.run(await ask(), queue.put_nowait)

        task = asyncio.create_task(work())
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])


def _silent(event: TurnEvent) -> None:
    """Nobody listens."""


def _whole(store: Store | Threads) -> Store:
    """The store itself, or a Threads class of somebody else with a ledger beside it."""
    if hasattr(store, "open_turn"):
        return cast(Store, store)
    from runtime.stores.adopted import Adopted

    return Adopted(store)


def _state(state: Mapping[str, Json] | None) -> JsonObject:
    cleaned = clean_json(dict(state or {}))
    assert isinstance(cleaned, Mapping)
    return cleaned
