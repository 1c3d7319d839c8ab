"""A program on a terminal of 120x40, watched from outside: what it has painted when, and how much memory it has."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Sequence
from types import TracebackType

PATIENCE = 60.0


class Terminal:
    """Starts `command` when entered and kills it when left. `seen` is everything it has painted."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self.seen = b""

    def __enter__(self) -> Terminal:
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLUMNS="120", LINES="40")
            for name in ("NO_COLOR", "PYTHONDONTWRITEBYTECODE"):  # a user's second start has its .pyc files
                os.environ.pop(name, None)
            os.execv(self._command[0], self._command)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self._fd)

    def until(self, text: bytes) -> float:
        """Seconds from the start until `text` was painted. Raises TimeoutError."""
        while text not in self.seen:
            if time.perf_counter() > self.began + PATIENCE:
                raise TimeoutError(f"{text!r} was not painted in {PATIENCE:g} s: {self.seen[-400:]!r}")
            self._read(1.0)
        return time.perf_counter() - self.began

    def quiet(self, seconds: float = 0.3) -> None:
        """Read until nothing was painted for `seconds`."""
        while self._read(seconds):
            pass

    def painted_after(self, key: bytes, rest: float = 0.05) -> float:
        """Seconds from a key to the last byte it painted: the one that nothing follows for `rest` seconds."""
        began = last = time.perf_counter()
        os.write(self._fd, key)
        while self._read(rest if last > began else 2.0):
            last = time.perf_counter()
        return last - began

    def memory(self) -> int:
        """Resident memory in bytes."""
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:  # noqa: PTH123  procfs
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def _read(self, seconds: float) -> bool:
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        self.seen += os.read(self._fd, 65536)
        return True
