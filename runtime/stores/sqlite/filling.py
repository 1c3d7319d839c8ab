"""A thread filled from outside in SQLite: on a connection and a thread of its own, in short transactions, unseen."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Final, TypeVar

from runtime.errors import StoreError
from runtime.stores import NewThread, PastTurn
from runtime.stores.owner import is_gone, this_process
from runtime.stores.sqlite import rows, threads, turns
from runtime.stores.sqlite.connection import Connection
from runtime.values.journal_json import dumps
from runtime.values.messages import NewMessage
from runtime.values.record import Owner

T = TypeVar("T")

_AT_ONCE: Final = 20_000
"""Rows deleted in one transaction, so that others get their turn."""

_ELSEWHERE: Final = timedelta(days=1)
"""How long a thread may be filled by another host, which cannot be asked."""


class SqliteFilling:
    """See `Filling`. Everything runs on one thread, in order; another process waits for milliseconds at most."""

    def __init__(self, file: Connection, new: NewThread, clock: Callable[[], datetime]) -> None:
        self._file, self._new, self._clock = file, new, clock
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="filling")
        self._db: sqlite3.Connection | None = None
        self._uid, self._id = "", 0
        self._rows = self._turns = 0
        self._state = dumps(new.state or {})

    @property
    def thread(self) -> str:
        return self._uid

    async def append(self, messages: Sequence[NewMessage]) -> None:
        if messages:
            await self._run(lambda db: rows.insert(db, self._id, self._rows, messages, None, self._clock()))
            self._rows += len(messages)

    async def turn_ids(self, count: int) -> list[str]:
        def work(db: sqlite3.Connection) -> list[str]:
            found: set[str] = set()
            while len(found) < count:
                found.add(turns.fresh(db))
            return list(found)

        return await self._run(work)

    async def add_turns(self, past: Sequence[PastTurn]) -> None:
        number = self._turns + 1
        await self._run(lambda db: turns.insert_past(db, self._id, number, past, self._state, self._clock()))
        self._turns += len(past)

    async def begin(self) -> None:
        """Clear away what processes that ended left half filled, and begin a thread of one's own."""
        for id, owner, created in await self._run(threads.hidden):
            if self._left_behind(owner, created):
                await self._delete(id)
        me = this_process()
        owner = json.dumps([me.host, me.pid, me.started])
        self._uid, self._id = await self._run(lambda db: threads.create_hidden(db, self._new, self._clock(), owner))

    async def publish(self) -> None:
        """Show the thread; it is on the disk when this returns."""
        await self._run(lambda db: threads.show(db, self._id, self._uid, self._new.status), durable=True)

    async def discard(self) -> None:
        """Take back everything that was written."""
        if self._id:
            await self._delete(self._id)

    async def close(self) -> None:
        """Close the connection and end the thread."""

        def work() -> None:
            if self._db is not None:
                self._db.close()

        await asyncio.get_running_loop().run_in_executor(self._worker, work)
        self._worker.shutdown(wait=False)

    async def _delete(self, id: int) -> None:
        """In steps, the thread's own row last, so that an interrupted deletion is taken up again."""
        while await self._run(lambda db: threads.delete_some(db, id, _AT_ONCE)):
            pass

    def _left_behind(self, owner: str, created: str) -> bool:
        now = self._clock()
        try:
            host, pid, started = json.loads(owner)
            return is_gone(Owner(str(host), int(pid), str(started)), datetime.fromisoformat(created) + _ELSEWHERE, now)
        except (ValueError, TypeError):
            return True

    async def _run(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = False) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, lambda: self._transact(work, durable))

    def _transact(self, work: Callable[[sqlite3.Connection], T], durable: bool) -> T:
        try:
            if self._db is None:
                self._db = self._file.another()
            db = self._db
            db.execute("PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL")
            db.execute("BEGIN IMMEDIATE")
            try:
                result = work(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            return result
        except sqlite3.Error as error:
            raise self._file.explained(error) from error


@contextlib.asynccontextmanager
async def filled(file: Connection, new: NewThread, clock: Callable[[], datetime]) -> AsyncIterator[SqliteFilling]:
    """A filling that is published in the end, or discarded if something is raised."""
    filling = SqliteFilling(file, new, clock)
    try:
        await filling.begin()
        try:
            yield filling
            await filling.publish()
        except BaseException:
            with contextlib.suppress(StoreError):  # the next filling clears it away
                await _to_its_end(filling.discard())
            raise
    finally:
        await _to_its_end(filling.close())


async def _to_its_end(work: Coroutine[object, object, None]) -> None:
    """Await what clears up, also if the task is cancelled once more meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
