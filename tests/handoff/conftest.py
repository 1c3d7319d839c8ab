"""Builders for sessions: projects written in place, a desk to speak at, a scripted model, a small server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtime.abl import Project, load_project
from runtime.events import Called, Ended, ModelEvent, Sent, TextDelta
from runtime.handoff.events import HandoffEvent, SessionEvent
from runtime.handoff.session import Said, Session
from runtime.models import Model
from runtime.models.offline import OfflineModel
from runtime.models.plain import body_of
from runtime.stores import Store
from runtime.stores.memory import MemoryStore
from runtime.threads import Runtime
from runtime.values.items import ToolCall
from runtime.values.messages import Message, NewMessage, Role, tool_call_part, tool_result_part
from runtime.values.record import TurnRecord
from runtime.values.request import Request
from runtime.values.understanding import UNDERSTAND

SEEDS = Path(__file__).parents[2] / "seeds"
ROLES: dict[str, Role] = {"u": "user", "a": "assistant", "t": "tool"}


class Script:
    """A model that is told what to understand and what to say, by agent or for all; else it does what offline does.

    `understood` are the arguments of one understanding request after the other, `steps` what it does then: a text, or
    calls as (name, arguments). It remembers the requests it got.
    """

    name = "scripted"

    def __init__(self, understood: Sequence[Mapping[str, Any]] = (), steps: Sequence[Any] = ()) -> None:
        self.understood, self.steps = list(understood), list(steps)
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        if request.must_call == UNDERSTAND and self.understood:
            yield Sent(body_of(request))
            yield Called(ToolCall(f"n{len(self.requests)}", UNDERSTAND, self.understood.pop(0)))
            yield Ended("stop")
        elif request.must_call != UNDERSTAND and self.steps:
            yield Sent(body_of(request))
            step = self.steps.pop(0)
            if isinstance(step, str):
                yield TextDelta(step)
            for n, (name, arguments) in enumerate(() if isinstance(step, str) else step):
                yield Called(ToolCall(f"c{len(self.requests)}_{n}", name, arguments))
            yield Ended("stop")
        else:
            async for event in OfflineModel().stream(request):
                yield event


@dataclass
class Desk:
    """A session and the store it stands in, with what tests ask of them."""

    session: Session
    store: Store
    said: list[Said] = field(default_factory=list)

    async def say(self, *texts: str) -> Said:
        """Say each text; returns what the last one led to."""
        for text in texts:
            self.said.append(await self.session.say(text))
        return self.said[-1]

    def thread_of(self, agent: str) -> str:
        """The newest thread of an agent."""
        return [one.id for one in self.session.threads if one.agent == agent][-1]

    async def rows(self, agent: str) -> list[str]:
        """The rows of the agent's newest thread, as `user hello`."""
        return [f"{row.role} {row.text}" for row in await self.messages(agent)]

    async def messages(self, agent: str) -> list[Message]:
        return await self.store.list_messages(self.thread_of(agent), 10**6)

    async def records(self, agent: str) -> list[TurnRecord]:
        return await self.session.runtime.records(self.thread_of(agent))

    async def first_request(self, agent: str) -> TurnRecord:
        """The first turn of the agent's newest thread, with bodies."""
        turns = await self.store.turns(self.thread_of(agent))
        return await self.session.runtime.record(turns[0].id)

    def events(self, kind: type[SessionEvent] | None = None) -> list[Any]:
        return [one for one in self.session.events if kind is None or isinstance(one, kind)]

    @property
    def handoff(self) -> HandoffEvent:
        """The newest handoff."""
        found: HandoffEvent = self.events(HandoffEvent)[-1]
        return found

    def statuses(self) -> dict[str, str]:
        return {one.agent: one.status for one in self.session.threads}


def rows_of(*texts: str) -> list[NewMessage]:
    """Rows as `u hello`, `a hi`; `A f` is an assistant row that calls f, `T f 42` its result."""
    rows: list[NewMessage] = []
    for text in texts:
        kind, said = text[0], text[2:]
        if kind == "A":
            rows.append(NewMessage("assistant", "", (tool_call_part(f"k{said}", said, {}),)))
        elif kind == "T":
            name, _, result = said.partition(" ")
            rows.append(NewMessage("tool", result, (tool_result_part(f"k{name}", name),)))
        else:
            rows.append(NewMessage(ROLES[kind], said))
    return rows


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Project]:
    """Makes a project of agent texts by name, and of `project.json` if `manifest` is given."""

    def make(agents: Mapping[str, str], manifest: Mapping[str, Any] | None = None) -> Project:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.agent.abl"):
            old.unlink()
        for name, text in agents.items():
            (folder / f"{name.lower()}.agent.abl").write_text(text, encoding="utf-8")
        if manifest is not None:
            (folder / "project.json").write_text(json.dumps(manifest), encoding="utf-8")
        return load_project(folder)

    return make


@pytest.fixture
def open_desk() -> Callable[..., Any]:
    """Opens a session: `await open_desk(project, rows=[...], model=Script(...))`."""

    async def make(
        project: Project | Path,
        agent: str | None = None,
        *,
        rows: Sequence[str] = (),
        store: Store | None = None,
        model: Model | None = None,
        tools: Sequence[Any] = (),
        **others: Any,
    ) -> Desk:
        kept = store or MemoryStore()
        models = {model.name: model} if model is not None else {}
        runtime = Runtime(kept, tools=tools, models=models)
        chosen = model.name if model is not None else None
        session = await Session.open(runtime, project, agent, messages=rows_of(*rows), model=chosen, **others)
        return Desk(session, kept)

    return make


@dataclass
class Served:
    """A server on this machine: `url` to post to, what was posted, what it answers next (status, body)."""

    url: str
    posted: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    answers: list[tuple[int, Any]] = field(default_factory=list)


@asynccontextmanager
async def serving() -> AsyncIterator[Served]:
    """A small HTTP server on a port of its own; without an answer prepared it says 200 `{"reply": "ok"}`."""
    served = Served("")

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lengths = [line.split(":")[1] for line in head.split("\r\n") if line.lower().startswith("content-length")]
        body = await reader.readexactly(int(lengths[0])) if lengths else b""
        served.paths.append(" ".join(head.split(" ", 2)[:2]))
        served.posted.append(json.loads(body) if body else {})
        status, answer = served.answers.pop(0) if served.answers else (200, {"reply": "ok"})
        text = answer if isinstance(answer, str) else json.dumps(answer)
        kind = "text/plain" if isinstance(answer, str) else "application/json"
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(text.encode())}\r\n"
            f"Connection: close\r\n\r\n{text}".encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    served.url = f"http://127.0.0.1:{port}"
    try:
        yield served
    finally:
        server.close()
        await server.wait_closed()


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with serving() as served:
        yield served


@pytest.fixture
def script() -> type[Script]:
    return Script
