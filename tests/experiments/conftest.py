"""A thread of a few rows, a model that knows what its history says, and what of a store must stay as it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from runtime.errors import ModelError
from runtime.events import Called, Ended, ModelEvent, Sent, TextDelta, UsageReported
from runtime.models import Model
from runtime.stores import Store
from runtime.stores.memory import MemoryStore
from runtime.subject import Subject
from runtime.threads import Runtime
from runtime.tools import Tool
from runtime.values.agent import Agent, TierSpec
from runtime.values.items import ToolCall, ToolResults
from runtime.values.json import as_text
from runtime.values.messages import NewMessage, Role
from runtime.values.request import Request
from runtime.values.usage import Usage

ROLES: dict[str, Role] = {"u": "user", "a": "assistant", "t": "tool", "s": "system"}


class Knows:
    """A model that says `answer` if its context holds `fact`, else `otherwise`; each in turn if there are several.

    It calls `call` first, if given. `fails` are windows' row counts (lines of history) at which it fails. `gate` holds
    every step until it is set. `most` is how many steps were under way at once.
    """

    def __init__(
        self,
        fact: str,
        *answers: str,
        otherwise: Sequence[str] = ("I do not know.",),
        call: ToolCall | None = None,
        fails: Sequence[int] = (),
        gate: asyncio.Event | None = None,
        name: str = "knows",
    ) -> None:
        self.name = name
        self.requests: list[Request] = []
        self.running = self.most = 0
        self._fact, self._call, self._fails, self._gate = fact, call, fails, gate
        self._answers, self._otherwise = answers or (f"It is {fact}.",), tuple(otherwise)
        self._said = 0

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self._gate is not None:
                await self._gate.wait()
            await asyncio.sleep(0)
            yield Sent(b"{}")
            if len(request.section("history").splitlines()) in self._fails:
                raise ModelError("the server is on fire", kind="status", status=500)
            if self._call is not None and request.step == 1:
                yield Called(self._call)
            else:
                yield TextDelta(self._text(request))
            yield UsageReported(Usage(100, 7))
            yield Ended("stop")
        finally:
            self.running -= 1

    def _text(self, request: Request) -> str:
        seen = "\n".join(section.text for section in request.sections if section.name != "request")
        results = (item for item in request.transcript if isinstance(item, ToolResults))
        seen += "\n".join(as_text(result.output) for item in results for result in item.results)
        texts = self._answers if self._fact in seen else self._otherwise
        self._said += 1
        return texts[(self._said - 1) % len(texts)]


@dataclass
class Lab:
    """A runtime on a store, with one agent on the model `knows`."""

    runtime: Runtime
    store: Store
    model: Knows
    seen: list[object] = field(default_factory=list)

    async def thread_with(self, *texts: str, agent: str = "a") -> str:
        thread = await self.runtime.create_thread(agent=agent)
        await self.store.append(thread, *(NewMessage(ROLES[text[0]], text[2:]) for text in texts))
        return thread

    async def subject(self, *texts: str, request: str = "What is it?") -> Subject:
        """A request that was never sent, on a thread of `texts`."""
        return await self.runtime.subject_on(await self.thread_with(*texts), request)


@pytest.fixture
def lab() -> Callable[..., Lab]:
    """Makes a Lab: `lab(model)`; `models`, `tools`, `agents`, `store` and fields of the agent as keywords."""

    def make(
        model: Knows,
        *,
        store: Store | None = None,
        models: Sequence[Model] = (),
        tools: Sequence[Tool] = (),
        agents: Sequence[Agent] = (),
        **fields: object,
    ) -> Lab:
        kept = store or MemoryStore()
        names = tuple(one.name for one in tools)
        own = Agent("a", **{"tiers": (TierSpec(model.name),), "instructions": "Answer.", **fields, "tools": names})  # type: ignore[arg-type]  # Agent's own
        named = {one.name: one for one in (own, *agents)}
        runtime = Runtime(kept, agents=named, models={one.name: one for one in (model, *models)}, tools=tools)
        return Lab(runtime, kept, model)

    return make


async def dump(store: Store, thread: str) -> list[object]:
    """All that a thread is: its row, its rows, its turns with their journals, its state."""
    found: list[object] = [await store.thread(thread), await store.state(thread)]
    found += await store.rows(thread, 1, await store.length(thread))
    for turn in await store.turns(thread):
        found += [turn, await store.items(turn.id)]
    return found


async def until(happened: Callable[[], bool]) -> None:
    """Let the loop run until `happened`."""
    async with asyncio.timeout(5):
        while True:
            if happened():
                return
            await asyncio.sleep(0)


FACT = ("u one", "a two", "u the code is 4417", "a noted", "u five", "a six")
"""Six rows, the fact in the third: with the request it needs a window of 5."""
