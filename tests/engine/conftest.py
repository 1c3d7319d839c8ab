"""Builders for turns on the memory store with the scripted model: threads and scripts in a few words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from runtime.events import ModelEvent, TurnEvent
from runtime.models.script import ScriptModel
from runtime.stores import Store
from runtime.stores.memory import MemoryStore
from runtime.threads import Runtime
from runtime.values.agent import Agent, TierSpec
from runtime.values.items import ToolCall
from runtime.values.messages import NewMessage, Role
from runtime.values.request import Request
from runtime.values.seed import ScriptEntry

ROLES: dict[str, Role] = {"u": "user", "a": "assistant", "t": "tool", "s": "system"}


def says(text: str, **faults: object) -> ScriptEntry:
    """A step that says `text`."""
    return ScriptEntry(text=text, **faults)  # type: ignore[arg-type]  # the keywords are ScriptEntry's own


def calls(*names: str, text: str = "", **arguments: str) -> ScriptEntry:
    """A step that calls each of `names` with `arguments`."""
    made = tuple(ToolCall(f"c{n}", name, arguments) for n, name in enumerate(names, 1))
    return ScriptEntry(text=text, calls=made)


class Steps:
    """A scripted model that gives its entries one after the other, whatever it is asked; it remembers the requests."""

    def __init__(self, *entries: ScriptEntry, name: str = "steps") -> None:
        self.name = name
        self.requests: list[Request] = []
        self._left = list(entries)
        self.waiting = asyncio.Event()
        self.closed = asyncio.Event()
        self.go_on = asyncio.Semaphore(0)

    async def _hold(self, seconds: float) -> None:
        """A delay in a script lasts until the test releases `go_on`; it waits on `waiting` meanwhile."""
        self.waiting.set()
        try:
            await self.go_on.acquire()
        except asyncio.CancelledError:
            self.closed.set()
            raise

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        entry = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        async for event in ScriptModel([entry], sleep=self._hold).stream(request):
            yield event


@dataclass
class Bench:
    """A runtime on a store, and what its turns told."""

    runtime: Runtime
    store: Store
    events: list[TurnEvent] = field(default_factory=list)

    async def thread_with(self, *texts: str, agent: str = "a") -> str:
        """A thread whose rows are given as `u hello`, `a hi`."""
        thread = await self.runtime.create_thread(agent=agent)
        await self.store.append(thread, *(NewMessage(ROLES[text[0]], text[2:]) for text in texts))
        return thread

    async def rows(self, thread: str) -> list[str]:
        """The rows as `user hello`."""
        return [f"{row.role} {row.text}" for row in await self.store.list_messages(thread, 10**6)]


def agent(name: str = "a", **fields: object) -> Agent:
    """An agent on the model `steps`."""
    return Agent(name, **{"tiers": (TierSpec("steps"),), **fields})  # type: ignore[arg-type]  # Agent's own fields


@pytest.fixture
def bench() -> Callable[..., Bench]:
    """Makes a Bench: `bench(model, agents...)`, `models=` for more models, other keywords for the Runtime."""

    def make(model: Steps, *agents: Agent, store: Store | None = None, **others: object) -> Bench:
        kept = store or MemoryStore()
        named = {one.name: one for one in agents or (agent(),)}
        models = {model.name: model, **others.pop("models", {})}  # type: ignore[dict-item]  # given by the test
        return Bench(Runtime(kept, agents=named, models=models, **others), kept)  # type: ignore[arg-type]

    return make


async def until(happened: Callable[[], bool | Awaitable[bool]]) -> None:
    """Let the loop run until `happened`."""
    async with asyncio.timeout(5):
        while True:
            found = happened()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0)
