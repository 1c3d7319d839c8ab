"""How long the command takes to start, as whole processes: help, a headless run, the first full screen."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import Promise, paired, promise
from benchmarks.terminal import Terminal

EMPTY_APP = """
from textual.app import App, ComposeResult
from textual.widgets import Footer, Header
class Empty(App[None]):
    TITLE = "ready-to-look-at"
    def compose(self) -> ComposeResult:
        yield Header()
        yield Footer()
Empty().run()
"""


def promises() -> Iterator[Promise]:
    """The promises on starting."""
    python = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder) / 'studio.db'}"
        bare = [python, "-c", "pass"]
        yield _added("--help, over `python -c pass`", 0.150, [python, "-m", "studio_tui", "--help"], bare)
        run = ["run", "--store", store, "--seed", "friday-notes", "--model", "offline", "--json", "What is due?"]
        yield _added(
            "run on a shipped seed, offline, over `python -c pass`", 0.450, [python, "-m", "studio_tui", *run], bare
        )
        studio = [python, "-m", "studio_tui", "--store", store, "--seed", "friday-notes", "--model", "offline"]
        yield paired(
            "process start to the first full screen, against an empty Textual app",
            1.6,
            lambda: _until_shown(studio, b"ASK"),
            lambda: _until_shown([python, "-c", EMPTY_APP], b"ready-to-look-at"),
            pairs=9,
        )


def _added(name: str, seconds: float, ours: Sequence[str], theirs: Sequence[str]) -> Promise:
    """What `ours` takes more than `theirs`, as a ratio to `seconds`."""
    mine, other = [], []
    for _ in range(12):
        mine.append(_seconds(ours))
        other.append(_seconds(theirs))
    added = [one - two for one, two in zip(mine, other, strict=True)]
    return promise(name, 1, added[2:], [seconds] * len(added[2:]))


def _seconds(command: Sequence[str]) -> float:
    began = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - began


def _until_shown(command: Sequence[str], text: bytes) -> None:
    """Start `command` on a terminal and return once `text` was painted; then end it."""
    with Terminal(command) as terminal:
        terminal.until(text)


if __name__ == "__main__":
    for one in promises():
        print(one)
