"""The whole Studio on a memory store: a sitting that types, waits for predicates, and reads the screen as text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import pytest
from textual.pilot import Pilot

from runtime.events import Called, Ended, ModelEvent, Sent, TextDelta
from runtime.models import Model
from runtime.stores import Store, open_store
from runtime.threads import Runtime
from runtime.values.agent import Agent, TierSpec
from runtime.values.items import ToolCall
from runtime.values.messages import NewMessage, Role
from runtime.values.request import Request
from runtime.values.seed import ScriptEntry, Seed
from studio_tui.screens.thread import ThreadScreen
from studio_tui.studio import StudioApp

PATIENCE = 20.0
"""Seconds after which a predicate that does not come true fails the test."""

NAMES = {" ": "space", "?": "question_mark", ".": "full_stop", ",": "comma", "-": "minus", "/": "slash"}


class Gated:
    """A model that says its pieces one by one, each when `let` was called for it: streams without a clock."""

    def __init__(self, *pieces: str, calls: Sequence[ToolCall] = (), name: str = "gated") -> None:
        self.name = name
        self.pieces = pieces
        self.calls = calls
        self.asked: list[Request] = []
        self.closed = 0
        self._gates = asyncio.Queue[None]()

    def let(self, count: int = 1) -> None:
        """Let the next `count` pieces through; one more ends the stream."""
        for _ in range(count):
            self._gates.put_nowait(None)

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        self.asked.append(request)
        try:
            yield Sent(b'{"gated": true}')
            for piece in self.pieces:
                await self._gates.get()
                yield TextDelta(piece)
            await self._gates.get()
            if request.step == 1:
                for call in self.calls:
                    yield Called(call)
            yield Ended("stop")
        finally:
            self.closed += 1


class Sitting:
    """A person in front of the Studio."""

    def __init__(self, app: StudioApp, pilot: Pilot[None], runtime: Runtime, thread: str) -> None:
        self.app, self.pilot, self.runtime, self.thread = app, pilot, runtime, thread

    @property
    def main(self) -> ThreadScreen:
        return self.app.main

    def text(self) -> str:
        """The screen as text, without blanks at line ends."""
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    def line_with(self, words: str) -> str:
        """The first line of the screen that holds `words`."""
        return next((line for line in self.text().split("\n") if words in line), "")

    async def wait(self, holds: Callable[[], object], what: str = "") -> None:
        """Until `holds` is true, letting the app work in between."""
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain{f' for {what}' if what else ''}:\n{self.text()}")
            await self.pilot.pause()
            await asyncio.sleep(0)

    async def see(self, *words: str) -> None:
        """Until the screen shows all of `words`."""
        for each in words:
            await self.wait(lambda each=each: each in self.text(), repr(each))  # type: ignore[misc]

    async def see_no(self, words: str) -> None:
        """Until the screen no longer shows `words`."""
        await self.wait(lambda: words not in self.text(), f"no {words!r}")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        """Type into whatever has the focus."""
        await self.pilot.press(*[NAMES.get(each, each) for each in text])

    async def ask(self, text: str) -> None:
        """Put a request into the composer, send it, and wait until its turn has settled."""
        before = len(self.main.desk.turns)
        self.main.composer.put(text)
        await self.press("enter")
        await self.wait(lambda: len(self.main.desk.turns) > before and not self.main.desk.running, "the turn")
        await self.idle()

    async def idle(self) -> None:
        """Until no job runs and everything is painted."""
        await self.wait(
            lambda: not self.app.jobs.running() and not self.main._waiting and self.main._rests is None, "idle"
        )
        await self.pilot.pause()


class OpenStudio(Protocol):
    """What the `studio` fixture is."""

    def __call__(
        self,
        *,
        rows: Sequence[tuple[Role, str]] = ...,
        agent: Agent | None = None,
        agents: Mapping[str, Agent] | None = None,
        script: Sequence[ScriptEntry] = (),
        models: Mapping[str, Model] | None = None,
        suggestions: Sequence[str] = (),
        size: tuple[int, int] = (120, 40),
        store: Store | None = None,
        store_url: str = "memory:",
        window: str | None = None,
        name: str = "friday-notes",
        requests: Sequence[str] = (),
    ) -> AbstractAsyncContextManager[Sitting]: ...


NOTES = Agent(
    "notes",
    instructions="You keep notes.",
    window=6,
    tools=("set-tone", "find-notes"),
    state_views=("tone",),
    shipped=True,
)

ROWS: tuple[tuple[Role, str], ...] = (
    ("user", "The Friday draft is due on the 5th."),
    ("assistant", "Noted."),
    ("user", "Move the review to Thursday."),
    ("assistant", "Moved to Thursday."),
    ("user", "Summarize my notes."),
    ("assistant", "Your notes cover the review."),
    ("user", "Thanks."),
    ("assistant", "You are welcome."),
)


@asynccontextmanager
async def open_sitting(
    *,
    rows: Sequence[tuple[Role, str]] = ROWS,
    agent: Agent | None = None,
    agents: Mapping[str, Agent] | None = None,
    script: Sequence[ScriptEntry] = (),
    models: Mapping[str, Model] | None = None,
    suggestions: Sequence[str] = (),
    size: tuple[int, int] = (120, 40),
    store: Store | None = None,
    store_url: str = "memory:",
    window: str | None = None,
    name: str = "friday-notes",
    requests: Sequence[str] = (),
) -> AsyncIterator[Sitting]:
    """The Studio on a fresh thread of `rows`; `requests` are sent before it opens."""
    if agent is None:
        tiers = (TierSpec(next(iter(models))),) if models else (TierSpec("script" if script else "offline"),)
        agent = Agent(NOTES.name, NOTES.instructions, NOTES.window, tiers, NOTES.tools, NOTES.state_views, shipped=True)
    runtime = Runtime(store or open_store("memory:"), models=models)
    messages = tuple(NewMessage(role, text) for role, text in rows)
    seed = Seed(
        name,
        "for a test",
        agent.name,
        {agent.name: agent, **(agents or {})},
        {"tone": "brief"},
        messages,
        tuple(suggestions),
        tuple(script),
    )
    thread = await runtime.create_thread(seed=seed)
    for request in requests:
        await runtime.send(thread, request)
    app = StudioApp(lambda: runtime, store_url=store_url, target=thread, window=window)
    async with app.run_test(size=size) as pilot:
        sitting = Sitting(app, pilot, runtime, thread)
        await sitting.wait(lambda: app.main.desk.thread is not None, "the thread")
        await sitting.idle()
        yield sitting


@pytest.fixture
def studio() -> OpenStudio:
    """Opens a Studio on a thread in memory: `async with studio(rows=...) as at`."""
    return open_sitting


@pytest.fixture
def gated() -> type[Gated]:
    """A model whose pieces come when the test lets them."""
    return Gated
