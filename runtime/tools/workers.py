"""Threads for functions that are not async: kept for the next call, and never waited for when the program leaves."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import queue
import threading
from collections.abc import Callable
from typing import TypeAlias

Ended: TypeAlias = "tuple[object, BaseException | None]"
"""What a function returned, or what it raised."""

_MOST_IDLE = 16
_idle: list[_Worker] = []


def start(work: Callable[[], object]) -> asyncio.Future[Ended]:
    """Run `work` on a thread; the future tells how it ended, in the loop that runs now.

    The threads are daemons without a limit: one that never ends takes no place from others (T10). A future that was
    cancelled, or whose loop has closed, is told nothing.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Ended] = loop.create_future()
    context = contextvars.copy_context()

    def settle(ended: Ended) -> None:
        if not future.done():
            future.set_result(ended)

    def run() -> Callable[[], object]:
        ended: Ended
        try:
            ended = context.run(work), None
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits for it
            ended = None, error
        return lambda: loop.call_soon_threadsafe(settle, ended)

    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.jobs.put(run)
    return future


class _Worker:
    """One thread that runs a job at a time, and offers itself again before it tells how the job ended."""

    __slots__ = ("jobs",)

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Callable[[], Callable[[], object]]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="tool", daemon=True).start()

    def _serve(self) -> None:
        kept = True
        while kept:
            tell = self.jobs.get()()
            kept = len(_idle) < _MOST_IDLE
            if kept:
                _idle.append(self)
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
                tell()
            del tell  # what the function returned lives no longer than its caller keeps it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)
