"""Who runs a turn, and whether that process is still there (S7)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from runtime.values.record import Owner

LEASE_SECONDS = 15.0
"""A lease older than this is the end of a turn whose owner cannot be looked at from this host."""


def this_process() -> Owner:
    """This process as the owner of a turn; `started` is empty where the system does not tell it."""
    return _owner(os.getpid())


def is_gone(owner: Owner | None, lease: datetime | None, now: datetime) -> bool:
    """Whether the process that ran a turn is gone.

    On this host its pid decides: no such process, a dead one that nobody has reaped, or another one that was given
    the same pid. Elsewhere, and for a turn without an owner, a lease older than `LEASE_SECONDS` (or none) decides.
    """
    if owner is not None and os.name == "posix" and owner.host == _host():
        return not _runs(owner)
    return lease is None or now - lease > timedelta(seconds=LEASE_SECONDS)


@lru_cache(maxsize=1)
def _owner(pid: int) -> Owner:
    return Owner(_host(), pid, _start_of(pid) or "")


@lru_cache(maxsize=1)
def _host() -> str:
    return socket.gethostname()


def _runs(owner: Owner) -> bool:
    if owner == _owner(os.getpid()):
        return True
    if owner.pid <= 0:
        return False
    try:
        os.kill(owner.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it runs, for somebody else
    started = _start_of(owner.pid)
    if started is None or not owner.started:
        return True  # the pid is taken, and nothing says that it is by another process
    return started == owner.started


def _start_of(pid: int) -> str | None:
    """When a process started, as the system tells it: "" for a dead one, None if the system does not tell."""
    if sys.platform.startswith("linux"):
        return _from_proc(pid)
    return _from_ps(pid)


def _from_proc(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name in parentheses may hold blanks and parentheses; what follows the last one is plain: state is field 3
    # and the start, in clock ticks since boot, field 22.
    fields = stat[stat.rfind(b")") + 1 :].split()
    if len(fields) < 20:
        return None
    return "" if fields[0] in (b"Z", b"X", b"x") else fields[19].decode("ascii", "replace")


def _from_ps(pid: int) -> str | None:
    try:
        told = subprocess.run(
            ["ps", "-o", "stat=,lstart=", "-p", str(pid)],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
            env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    if not told:
        return None
    state, _, started = told.partition(" ")
    return "" if state.startswith("Z") else " ".join(started.split())
