"""The start: the frame is painted before the engine, the files and the doors to models are imported."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "runtime.threads",
    "runtime.explain",
    "runtime.stores.sqlite",
    "runtime.seeds",
    "runtime.tools",
    "runtime.experiments",
    "runtime.handoff",
    "yaml",
    "pydantic",
    "httpx",
    "rapidfuzz",
    "sqlite3",
    "studio_tui.screens.compare",
    "studio_tui.screens.picker",
    "studio_tui.screens.help",
    "studio_tui.views.context",
)


def imported_by(code: str) -> set[str]:
    told = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules, sep='\\n')"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stdout.split())


def test_the_frame_needs_none_of_what_is_big() -> None:
    found = imported_by("import studio_tui.studio")
    assert "textual.app" in found
    assert [name for name in HEAVY if name in found] == []


def test_the_door_to_the_studio_imports_no_textual() -> None:
    found = imported_by("import studio_tui.app")
    assert not [name for name in found if name.split(".")[0] in ("textual", "rich", "httpx", "pydantic")]
