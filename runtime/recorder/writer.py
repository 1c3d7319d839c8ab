"""Recording in a thread of its own: what passed waits in a queue and is written in groups, one commit for each.

Nothing here is awaited by the traffic. A group that the store does not take is tried again; what still cannot be
recorded is given up, and told.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from runtime.errors import BadInput, StoreError, StudioError
from runtime.recorder.recording import HOLD_SECONDS, Recording
from runtime.recorder.traffic import Began, Ended, Passed
from runtime.stores import Store

MOST_WAITING: Final = 256 * 1024 * 1024
"""Bytes that may wait for the store; a call that would exceed them is not recorded."""

_GROUP = 64
_TRIES = 3
_PAUSE = 0.2


@runtime_checkable
class Groups(Protocol):
    """A store that takes several writes as one."""

    def together(self) -> AbstractAsyncContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class Summary:
    """What a recording came to: calls recorded, calls lost, the threads written, the last one last."""

    calls: int
    lost: int
    threads: tuple[str, ...]


class Writer:
    """Records what `put` is given, in the order given. `open_store` is called in the thread that writes.

    `told` is given lines for people, from that thread. `start` raises what opening the store raises.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        *,
        upstream: str,
        told: Callable[[str], None],
        hold: float = HOLD_SECONDS,
    ) -> None:
        self._open_store, self._upstream, self._told, self._hold = open_store, upstream, told, hold
        self._waiting: deque[Passed] = deque()
        self._size = 0
        self._lost: set[int] = set()
        self._woken: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._ending = False
        self._failed: BaseException | None = None
        self._counting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self.summary = Summary(0, 0, ())

    def start(self) -> None:
        """Open the store and begin. Raises BadInput, StoreError."""
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed

    def put(self, passed: Passed) -> None:
        """Record this when its turn comes. Never blocks, never raises."""
        if passed.call in self._lost or not self._thread.is_alive():
            return
        if isinstance(passed, Ended) and passed.end == "refused":
            self.give_up(passed.call, passed.error)
            return
        with self._counting:
            full = self._size + _size_of(passed) > MOST_WAITING
            self._size += 0 if full else _size_of(passed)
        if full:
            self.give_up(passed.call, "too much waits for the store already")
            return
        self._waiting.append(passed)
        self._wake()

    def give_up(self, call: int, why: str) -> None:
        """Do not record what is still to come of a call, and say so."""
        if call not in self._lost:
            self._lost.add(call)
            self._told(f"! call {call} is not recorded: {why}; the traffic goes on")
            self._waiting.append(Ended(call, "refused", error=why))
            self._wake()

    def close(self) -> None:
        """Write what waits, leave no turn running, close the store. Blocks until that is done."""
        self._ending = True
        self._wake()
        self._thread.join()

    def _wake(self) -> None:
        if self._loop is not None and self._woken is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._woken.set)

    def _run(self) -> None:
        try:
            asyncio.run(self._record())
        except BaseException as error:  # noqa: BLE001 - the edge of the thread: what fails here is told, and no more
            self._failed = error
            if self._ready.is_set():
                self._told(f"! recording has ended: {type(error).__name__}: {error}; the traffic goes on")
        finally:
            self._ready.set()

    async def _record(self) -> None:
        store = self._open_store()
        try:
            self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()
            recording = Recording(
                store, upstream=self._upstream, told=self._told, hold=self._hold, clock=self._loop.time
            )
            self._ready.set()
            while not (self._ending and not self._waiting):
                await self._wait(recording.next_due())
                while group := self._next():
                    await self._written(store, recording, group)
                due = recording.next_due()
                if due is not None and due <= self._loop.time():
                    await self._tried(store, recording, recording.settle_due)
            await self._tried(store, recording, recording.finish)
            self.summary = Summary(recording.done, len(self._lost), tuple(recording.written))
        finally:
            await store.close()

    async def _wait(self, until: float | None) -> None:
        """Wait for something to write, or for the time (of the loop's clock) at which a turn is due."""
        assert self._woken is not None
        assert self._loop is not None
        if self._waiting or self._ending:
            return
        try:
            async with asyncio.timeout(None if until is None else max(0.0, until - self._loop.time())):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()

    def _next(self) -> list[Passed]:
        return [self._waiting.popleft() for _ in range(min(_GROUP, len(self._waiting)))]

    async def _written(self, store: Store, recording: Recording, group: list[Passed]) -> None:
        """Write a group as one transaction. What the store does not take is tried again; a call that cannot be
        recorded is left out, and the others written without it."""
        with self._counting:
            self._size -= sum(map(_size_of, group))
        tried = 0
        while group:
            mark = recording.mark()
            current = group[0]
            try:
                async with _together(store):
                    for current in group:
                        await recording.take(current)
                return
            except StoreError as error:
                recording.back_to(mark)
                tried += 1
                if tried == _TRIES:
                    for passed in group:
                        await self._lose(recording, passed, str(error))
                    return
                if tried == 1:
                    self._told(f"! the store took nothing: {error}; trying again, the traffic goes on")
                await asyncio.sleep(_PAUSE * tried)
            except Exception as error:  # noqa: BLE001 - what is odd in one call must not end the recording
                recording.back_to(mark)
                said = str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"
                await self._lose(recording, current, said)
                group = [passed for passed in group if passed.call != current.call]

    async def _tried(self, store: Store, recording: Recording, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` as one transaction, again if the store does not take it; what fails to the end is told."""
        for tried in range(1, _TRIES + 1):
            mark = recording.mark()
            try:
                async with _together(store):
                    await work()
                return
            except StudioError as error:
                recording.back_to(mark)
                if tried == _TRIES:
                    self._told(f"! the store took nothing: {error}")
                await asyncio.sleep(_PAUSE * tried)

    async def _lose(self, recording: Recording, passed: Passed, why: str) -> None:
        if passed.call not in self._lost:
            self._lost.add(passed.call)
            self._told(f"! call {passed.call} is not recorded: {why}; the traffic goes on")
        await recording.lose(passed.call, why)


def _together(store: Store) -> AbstractAsyncContextManager[None]:
    return store.together() if isinstance(store, Groups) else nullcontext()


def _size_of(passed: Passed) -> int:
    return len(passed.body) if isinstance(passed, Began) else sum(map(len, passed.body))
