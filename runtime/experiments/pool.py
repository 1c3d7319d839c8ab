"""Many runs at once, a few at a time; when it is cancelled, those under way are stopped and waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable


async def run_all(jobs: Iterable[Callable[[], Awaitable[None]]], limit: int) -> None:
    """Run every job, at most `limit` (1 or more) at once, in order.

    The first error of a job, or a cancellation, stops the others, which are waited for, and is raised.
    """
    waiting = list(jobs)
    waiting.reverse()

    async def work() -> None:
        while waiting:
            await waiting.pop()()
            await asyncio.sleep(0)  # a run on this machine may never wait; the screen and ctrl-C must have their turn

    workers = [asyncio.create_task(work()) for _ in range(min(max(1, limit), len(waiting)))]
    try:
        await asyncio.gather(*workers)
    finally:
        waiting.clear()
        for worker in workers:
            worker.cancel()
        if workers:
            await asyncio.wait(workers)
