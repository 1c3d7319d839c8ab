"""A person in front of the Studio, as in the tests of the main screen, with experiments to wait for."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _above() -> ModuleType:
    """The conftest of the folder above, whose builders these tests share."""
    path = Path(__file__).parents[1] / "conftest.py"
    spec = importlib.util.spec_from_file_location("studio_conftest", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_STUDIO = _above()
QUESTION = "When is the Friday draft due?"


class Bench(_STUDIO.Sitting):  # type: ignore[name-defined,misc]  # a class of a module loaded by its path
    """A sitting that also runs experiments."""

    async def settled(self) -> None:
        """Until no job runs, nothing waits to be painted, and the experiment's pair was compared."""
        for _ in range(3):
            await self.wait(lambda: not self.app.jobs.running() and not self.main._waiting, "jobs")
            await self.wait(lambda: not getattr(self.app.screen, "_waiting", False), "painting")
            await self.pilot.pause()

    async def sweep(self) -> Any:
        """Press F5 and wait until the sweep has ended; its screen."""
        await self.press("f5")
        await self.wait(lambda: getattr(self.app.screen, "sweep", None) is not None, "a sweep")
        await self.settled()
        return self.app.screen

    async def go(self, line: str, pane: str = "table") -> None:
        """Put the cursor of a pane on a line."""
        found = self.app.screen.query_one(f"#{pane}")
        found.focus()
        found.cursor = line
        await self.settled()
        assert found.cursor == line, f"no line {line} in {[each.id for each in found.pane.lines]}"

    async def bytes_of(self) -> tuple[Any, ...]:
        """What of the thread must stay: its rows, its own turns, its state."""
        store = self.runtime.store
        thread = await store.thread(self.thread)
        rows = await store.rows(self.thread, 1, thread.length)
        turns = [turn for turn in await store.turns(self.thread) if turn.view is None]
        return rows, turns, thread.state, await store.state(self.thread)


@pytest.fixture
def bench() -> Any:
    """Opens a Studio on a thread in memory: `async with bench(rows=...) as at`; the question is sent before."""

    @asynccontextmanager
    async def opened(*, question: str | None = QUESTION, **options: Any) -> AsyncIterator[Bench]:
        options.setdefault("requests", [question] if question else [])
        async with _STUDIO.open_sitting(**options) as sitting:
            at = Bench(sitting.app, sitting.pilot, sitting.runtime, sitting.thread)
            await at.settled()
            yield at

    return opened


@pytest.fixture
def gated() -> Any:
    """A model whose pieces come when the test lets them."""
    return _STUDIO.Gated
