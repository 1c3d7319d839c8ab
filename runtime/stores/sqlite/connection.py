"""One SQLite file, open: transactions on the event loop that wait for a lock without holding it up, scans beside it."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from runtime.errors import BadInput, StoreError
from runtime.stores.sqlite.schema import migrate

T = TypeVar("T")

PATIENCE_SECONDS = 10.0
"""How long a transaction waits, in all, for another process to let go of the file."""

_LONGEST_PAUSE = 0.05

_HEADER = 100
"""Bytes of the header that every SQLite file begins with."""


class Connection:
    """A file that is one of ours, migrated. Work is given the sqlite3 connection and must not await.

    A transaction runs whole between two turns of the event loop, so a cancelled task leaves none half done: only the
    wait for the lock can be cancelled. Raises BadInput for a path that cannot be a file, StoreError for a file that
    is none of ours.
    """

    def __init__(self, path: Path, *, patience: float = PATIENCE_SECONDS) -> None:
        self.path, self.patience = path, patience
        self._durable = True
        self._together = False
        self._scanner: sqlite3.Connection | None = None
        self._scanning = threading.Lock()
        self.db = self._open()

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A short read on the event loop."""
        try:
            return work(self.db)
        except sqlite3.Error as error:
            if not _is_busy(error):
                raise self.explained(error) from error
        return await self._patiently(lambda: work(self.db))

    async def write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        """A transaction on the event loop; if `durable` it is on the disk when this returns, a power cut included.

        What is not durable is safe from the end of the process, and on the disk with the next durable one.
        """
        return await self._patiently(lambda: self._transact(work, durable))

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Every write inside is one transaction, durable when it ends; what is raised inside takes all of it back.

        Others wait for the file meanwhile, so nothing slow belongs inside. Not to be nested.
        """
        await self._patiently(self._begin_together)
        try:
            yield
            await self._patiently(lambda: self.db.execute("COMMIT"))
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise
        finally:
            self._together = False

    def _begin_together(self) -> None:
        self._make_durable(True)
        self.db.execute("BEGIN IMMEDIATE")
        self._together = True

    async def scan(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A long read on a connection of its own, in a thread; one at a time."""
        return await asyncio.to_thread(self._scan, work)

    def another(self) -> sqlite3.Connection:
        """A further connection to the file for work in a thread; it waits for a lock inside SQLite."""
        return sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=self.patience)

    def close(self) -> None:
        """Close the file; a scan that is running ends first. Closing twice is no error."""
        with self._scanning:
            if self._scanner is not None:
                self._scanner.close()
        self.db.close()

    async def _patiently(self, attempt: Callable[[], T]) -> T:
        deadline, pause = 0.0, 0.001
        while True:
            try:
                return attempt()
            except sqlite3.Error as error:
                if not _is_busy(error):
                    raise self.explained(error) from error
            clock = time.monotonic()
            deadline = deadline or clock + self.patience
            if clock >= deadline:
                raise StoreError(f"{self.path} is locked by another process; gave up after {self.patience:g} s")
            await asyncio.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _transact(self, work: Callable[[sqlite3.Connection], T], durable: bool) -> T:
        db = self.db
        if self._together:
            return self._within(work)
        self._make_durable(durable)
        db.execute("BEGIN IMMEDIATE")
        try:
            result = work(db)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return result

    def _within(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """One write of several: it alone is taken back if it fails."""
        self.db.execute("SAVEPOINT one")
        try:
            result = work(self.db)
        except BaseException:
            self.db.execute("ROLLBACK TO one")
            raise
        finally:
            self.db.execute("RELEASE one")
        return result

    def _make_durable(self, durable: bool) -> None:
        if durable != self._durable:
            self.db.execute("PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL")
            self._durable = durable

    def _scan(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._scanning:
            try:
                if self._scanner is None:
                    uri = f"file:{quote(str(self.path.absolute()))}?mode=ro"
                    self._scanner = sqlite3.connect(
                        uri, uri=True, isolation_level=None, check_same_thread=False, timeout=self.patience
                    )
                return work(self._scanner)
            except sqlite3.Error as error:
                raise self.explained(error) from error

    def _open(self) -> sqlite3.Connection:
        path = self.path
        if path.is_dir():
            raise BadInput("is a folder, not a store", file=str(path))
        if (
            path.is_file() and 0 < path.stat().st_size < _HEADER
        ):  # SQLite itself takes a file of one byte for an empty one
            raise BadInput("is no SQLite database", file=str(path))
        if not path.parent.is_dir():
            raise BadInput(f"the folder {path.parent} does not exist", file=str(path))
        db: sqlite3.Connection | None = None
        try:
            db = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=self.patience, cached_statements=256
            )
            if path.stat().st_size and not os.access(path, os.W_OK):
                raise StoreError(f"{path} {_SENTENCES[sqlite3.SQLITE_READONLY]}")
            migrate(db, str(path))
            _use_wal(db, self.patience)
            db.execute("PRAGMA synchronous = FULL")
            # Waiting inside SQLite would hold up the event loop: `_patiently` waits instead.
            db.execute("PRAGMA busy_timeout = 0")
        except BaseException as error:
            if db is not None:
                db.close()
            if isinstance(error, sqlite3.Error):
                raise self.explained(error) from error
            raise
        return db

    def explained(self, error: sqlite3.Error) -> StoreError:
        """What SQLite said, as one sentence with the file in it."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        said = _SENTENCES.get(code)
        return StoreError(f"{self.path} {said}" if said else f"{self.path}: {error}")


_SENTENCES = {
    sqlite3.SQLITE_BUSY: "is locked by another process",
    sqlite3.SQLITE_READONLY: "cannot be written: it is read-only",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_NOTADB: "is no SQLite database",
    sqlite3.SQLITE_CORRUPT: "is damaged: SQLite cannot read it",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened",
    sqlite3.SQLITE_IOERR: "cannot be read or written: the disk or the file system failed",
}


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _use_wal(db: sqlite3.Connection, patience: float) -> None:
    """Switch to WAL; SQLite does not wait for other openers of the file here, so this does."""
    deadline = time.monotonic() + patience
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.005)
        else:
            return
