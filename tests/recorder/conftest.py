"""A program that talks to its model through a recording, message by message, and a store to look at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from runtime.recorder.recording import Recording
from runtime.recorder.traffic import Began, End, Ended
from runtime.records import read_record
from runtime.stores import Thread
from runtime.stores.memory import MemoryStore
from runtime.values.messages import Message
from runtime.values.record import TurnRecord
from tests.models.dialects import ANTHROPIC, DIALECTS, OPENAI, Dialect
from tests.models.server import ModelServer

NAMES = {"openai": "openai-chat", "anthropic": "anthropic"}


class Program:
    """Chat completions sent by hand: `messages` is its list, as programs keep it."""

    def __init__(self, recording: Recording, store: MemoryStore, dialect: Dialect = OPENAI, system: str = "") -> None:
        self.recording, self.store, self.dialect, self.system = recording, store, dialect, system
        self.messages: list[dict[str, Any]] = []
        self.tools: list[dict[str, Any]] = []

    async def began(self, number: int, messages: Sequence[dict[str, Any]] | None = None, **more: Any) -> None:
        """A request goes out with `messages` (None: the program's own)."""
        body: dict[str, Any] = {"model": "small", "messages": list(self.messages if messages is None else messages)}
        if self.system and self.dialect is OPENAI:
            body["messages"].insert(0, {"role": "system", "content": self.system})
        elif self.system:
            body["system"] = self.system
        if self.tools:
            body["tools"] = self.tools
        name = NAMES[self.dialect.name]
        await self.recording.take(Began(number, name, json.dumps({**body, **more}).encode()))  # type: ignore[arg-type]

    async def ended(self, number: int, body: bytes | object, *, status: int = 200, end: End = "complete") -> None:
        """Its answer came: bytes as they are, anything else as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        await self.recording.take(Ended(number, end, status, {}, (data,), "", 0.5))

    async def call(
        self,
        number: int,
        text: str | None = None,
        calls: tuple[tuple[str, str, str], ...] = (),
        messages: Sequence[dict[str, Any]] | None = None,
        reason: str = "stop",
    ) -> None:
        """A whole call; what the model says joins the program's list, as a program does."""
        await self.began(number, messages)
        answer = self.dialect.whole(text, calls, reason)
        await self.ended(number, answer)
        assert isinstance(answer, dict)
        if self.dialect is ANTHROPIC:
            self.messages.append({"role": "assistant", "content": answer["content"]})
        else:
            self.messages.append(answer["choices"][0]["message"])

    def says(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def result(self, id: str, text: str) -> None:
        if self.dialect is ANTHROPIC:
            block = {"type": "tool_result", "tool_use_id": id, "content": text}
            self.messages.append({"role": "user", "content": [block]})
        else:
            self.messages.append({"role": "tool", "tool_call_id": id, "content": text})

    async def threads(self) -> list[Thread]:
        """Oldest first."""
        return list(reversed(await self.store.threads()))

    async def rows(self, thread: str = "") -> list[tuple[str, str]]:
        """The rows of a thread (of the only one) as (role, text)."""
        id = thread or (await self.threads())[0].id
        found = await self.store.rows(id, 1, 10_000)
        return [(row.role, row.text) for row in found if isinstance(row, Message)]

    async def records(self, thread: str = "") -> list[TurnRecord]:
        """The records of a thread (of the only one), oldest first."""
        id = thread or (await self.threads())[0].id
        return [await read_record(self.store, turn, bodies=True) for turn in await self.store.turns(id)]


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lines() -> list[str]:
    """What the recording told."""
    return []


@pytest.fixture
def recording(clock: Clock, lines: list[str]) -> Recording:
    return Recording(MemoryStore(), upstream="http://model.test", told=lines.append, clock=clock)


@pytest.fixture
def program(recording: Recording) -> Program:
    """A program that speaks chat completions."""
    store = recording.store
    assert isinstance(store, MemoryStore)
    return Program(recording, store)


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.name)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    """Each dialect in turn."""
    assert isinstance(request.param, Dialect)
    return request.param


@pytest.fixture
def either(recording: Recording, dialect: Dialect) -> Program:
    """A program in each dialect."""
    store = recording.store
    assert isinstance(store, MemoryStore)
    return Program(recording, store, dialect, "Be brief.")


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A model server on this machine that answers what it is told to."""
    with ModelServer() as server:
        yield server
