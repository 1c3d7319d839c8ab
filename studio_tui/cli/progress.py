"""How far a long command is, on stderr: nothing for what takes less than a second."""

from __future__ import annotations

import sys
import time
from typing import Final

_PATIENCE: Final = 1.0
_BETWEEN: Final = 0.2


class Progress:
    """Told what is done and what there is in all; a terminal gets one line that changes, a file one line per tenth."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = self._told = time.monotonic()
        self._tenth = 0
        self._drawn = False

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if now - self._began < _PATIENCE or now - self._told < _BETWEEN or not of:
            return
        self._told = now
        percent = min(100, done * 100 // of)
        if sys.stderr.isatty():
            self._drawn = True
            self._write(f"\r{self._what}: {percent}% ")
        elif percent // 10 > self._tenth:
            self._tenth = percent // 10
            self._write(f"{self._what}: {percent}%\n")

    def end(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._write("\r\x1b[K")
            self._drawn = False

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            return
