"""Makes the pictures of the README and the docs: the real app, shipped seeds, the offline model, a store in memory.

    python docs/pictures.py

Ids are made to be the same each time, so that a picture changes only when the screen does.
"""

from __future__ import annotations

import asyncio
import random
import re
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio_tui.app import StudioApp

ROOT = Path(__file__).parent.parent
QUESTION = "When is the Friday draft due?"
FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


async def main_screen() -> str:
    """One question asked with window 6, run again with window 15, and window 3 laid over the record."""
    app = _studio("friday-notes")
    async with app.run_test(size=(120, 40)) as pilot:
        await _settled(app, lambda: app.desk.thread is not None)
        await pilot.press(*QUESTION, "enter")
        await _settled(app, lambda: len(app.desk.turns) == 1)
        await pilot.press("ctrl+g", *"15", "enter", "ctrl+r")
        await _settled(app, lambda: len(app.desk.turns) == 2)
        await pilot.press("ctrl+g", *"3", "enter")
        await pilot.pause()
        return app.export_screenshot(title="studio-tui")


def _studio(seed: str) -> StudioApp:
    from runtime import open_store
    from runtime.threads import Runtime
    from studio_tui.app import StudioApp

    return StudioApp(
        lambda: Runtime(open_store("memory:"), model="offline"), store_url="sqlite:///studio.db", seed=seed
    )


async def _settled(app: StudioApp, happened: Callable[[], bool]) -> None:
    """Wait until `happened` and nothing runs."""
    async with asyncio.timeout(20):
        while not happened() or app.turn_job is not None or app.jobs.running():
            await asyncio.sleep(0.02)


def _without_web_fonts(svg: str) -> str:
    """The picture with the reader's own monospaced font instead of one from the net."""
    return FONT_FACE.sub("", svg)


async def make() -> None:
    """Write every picture."""
    secrets.randbits = random.Random(5).getrandbits
    picture = _without_web_fonts(await main_screen())
    (ROOT / "docs" / "main.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    asyncio.run(make())
