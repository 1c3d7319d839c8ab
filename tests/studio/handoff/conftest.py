"""The Studio on a project: a sitting that speaks as the customer, and projects with faults made on purpose."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from runtime.stores import Store, open_store
from runtime.threads import Runtime
from studio_tui.project_desk import ProjectDesk
from studio_tui.studio import StudioApp

PATIENCE = 20.0
"""Seconds after which a predicate that does not come true fails the test."""

SHOP = Path(__file__).parent / "shop"

LAMP = ("Hello there", "I want to send back a lamp, order ORD-20931")
"""Said to the shop, this is handed to Returns_Agent by a route that says `count: 0`."""

PIN = ("I want to log in", "C-3071", "4821", "I want to complain about a rude clerk")
"""Said to the shop, this is handed to Complaint_Agent after Pin_Check heard a pin."""


class Desk:
    """A person in front of a project."""

    def __init__(self, app: StudioApp, pilot: Pilot[None], runtime: Runtime) -> None:
        self.app, self.pilot, self.runtime = app, pilot, runtime

    @property
    def project(self) -> ProjectDesk:
        assert self.app.project is not None
        return self.app.project

    @property
    def screen(self) -> Any:
        return self.app.screen

    def text(self) -> str:
        """The screen as text, without blanks at line ends."""
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    def line_with(self, words: str) -> str:
        return next((line for line in self.text().split("\n") if words in line), "")

    async def wait(self, holds: Callable[[], object], what: str = "") -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain{f' for {what}' if what else ''}:\n{self.text()}")
            await self.pilot.pause()
            await asyncio.sleep(0)

    async def see(self, *words: str) -> None:
        for each in words:
            await self.wait(lambda each=each: each in self.text(), repr(each))  # type: ignore[misc]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def idle(self) -> None:
        await self.wait(lambda: not self.app.jobs.running(), "idle")
        for _ in range(3):
            await self.pilot.pause()

    async def say(self, *texts: str) -> None:
        """Say each as the customer and wait for the answer."""
        for text in texts:
            self.screen.composer.put(text)
            await self.press("enter")
            await self.wait(lambda: not self.app.jobs.running() and self.project.under_way is None, "the answer")
        await self.idle()

    async def handoff(self) -> None:
        """Open the handoff."""
        await self.press("f9")
        await self.wait(lambda: type(self.screen).__name__ == "HandoffScreen", "the handoff")
        await self.idle()


@asynccontextmanager
async def open_desk(
    target: Path | str,
    *,
    size: tuple[int, int] = (120, 40),
    store: Store | None = None,
    say: Sequence[str] = (),
    models: Mapping[str, Any] | None = None,
    model: str | None = None,
) -> AsyncIterator[Desk]:
    """The Studio on what `target` names; `say` is said at once."""
    runtime = Runtime(store or open_store("memory:"), models=models, model=model)
    app = StudioApp(lambda: runtime, store_url="memory:", target=str(target))
    async with app.run_test(size=size) as pilot:
        desk = Desk(app, pilot, runtime)
        await desk.wait(
            lambda: app.project is not None or app.main.desk.thread is not None or app.failure, "the project"
        )
        await desk.idle()
        if say:
            await desk.say(*say)
        yield desk


@pytest.fixture
def project_studio() -> Any:
    """Opens the Studio on a project: `async with project_studio(path, say=LAMP) as at`."""
    return open_desk


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A copy of the shop with its two faults, to be changed."""
    return Path(shutil.copytree(SHOP, tmp_path / "shop"))


@pytest.fixture
def lamp() -> tuple[str, ...]:
    return LAMP


@pytest.fixture
def pin() -> tuple[str, ...]:
    return PIN


def replaced(file: Path, before: str, after: str) -> None:
    """Write a file with one text in the place of another."""
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")


@pytest.fixture
def rewrite() -> Callable[[Path, str, str], None]:
    return replaced
