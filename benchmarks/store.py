"""The store against raw sqlite3: reading the newest rows, appending, forking."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from benchmarks.measure import Promise, paired_async
from runtime import NewMessage, open_store
from runtime.stores import Store

MANY = 1_000_000
TEXT = "a stored message of a usual length, about the Friday draft, the review and who said what"


def promises() -> Iterator[Promise]:
    """The promises on reading, appending and forking."""

    async def all_of() -> list[Promise]:
        with tempfile.TemporaryDirectory() as folder:
            return [found async for found in _promises(Path(folder))]

    yield from asyncio.run(all_of())


async def _promises(folder: Path) -> AsyncIterator[Promise]:
    store = open_store(f"sqlite:///{folder / 'studio.db'}")
    small, large = await filled(store, 1000), await filled(store, MANY)
    raw = raw_table(folder / "raw.db", MANY)
    newest = "SELECT seq, role, text FROM m WHERE thread = 1 ORDER BY seq DESC LIMIT 6"
    yield await paired_async(
        f"newest 6 of {MANY:,} rows, against raw sqlite3 on a covering index",
        4,
        lambda: store.list_messages(large, 6),
        lambda: raw.execute(newest).fetchall(),
        times=300,
    )
    yield await paired_async(
        f"newest 6 of {MANY:,} rows, against newest 6 of 1,000",
        1.5,
        lambda: store.list_messages(large, 6),
        lambda: store.list_messages(small, 6),
        times=300,
    )
    message = NewMessage("user", TEXT)
    thread = await store.create()
    yield await paired_async(
        "append one row, durable, against raw sqlite3 with one commit",
        2,
        lambda: store.append(thread, message),
        lambda: raw_append(raw),
        times=50,
    )
    yield await paired_async(
        f"fork of a thread of {MANY:,} rows, against an append",
        3,
        lambda: store.fork(large, MANY - 10),
        lambda: store.append(thread, message),
        times=30,
    )
    shallow, deep = await forked(store, large, 1), await forked(store, large, 50)
    yield await paired_async(
        "newest 6 at fork depth 50, against depth 1",
        2,
        lambda: store.list_messages(deep, 6),
        lambda: store.list_messages(shallow, 6),
        times=300,
    )
    raw.close()
    await store.close()


async def filled(store: Store, count: int, *, agent: str = "") -> str:
    """A thread of `count` rows, appended 10,000 at a time."""
    thread = await store.create(agent=agent)
    for first in range(0, count, 10_000):
        rows = range(first, min(first + 10_000, count))
        await store.append(thread, *(NewMessage("user" if n % 2 else "assistant", f"{n} {TEXT}") for n in rows))
    return thread


async def forked(store: Store, thread: str, depth: int) -> str:
    """A fork of a fork ..., `depth` deep, each with a row of its own."""
    for _ in range(depth):
        thread = await store.fork(thread, await store.length(thread))
        await store.append(thread, NewMessage("user", TEXT))
    return thread


def raw_table(path: Path, count: int) -> sqlite3.Connection:
    """The rows in a bare table whose index holds everything the query reads."""
    raw = sqlite3.connect(path, isolation_level=None)
    raw.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE m (thread, seq, role, text)")
    raw.execute("BEGIN")
    rows = ((1, n, "user" if n % 2 else "assistant", f"{n} {TEXT}") for n in range(count))
    raw.executemany("INSERT INTO m VALUES (?, ?, ?, ?)", rows)
    raw.execute("CREATE UNIQUE INDEX covering ON m (thread, seq, role, text)")
    raw.execute("COMMIT")
    return raw


def raw_append(raw: sqlite3.Connection) -> None:
    """One row, one durable commit, its number read in the same transaction."""
    raw.execute("BEGIN IMMEDIATE")
    (seq,) = raw.execute("SELECT MAX(seq) FROM m WHERE thread = 2").fetchone()
    raw.execute("INSERT INTO m VALUES (2, ?, 'user', ?)", ((seq or 0) + 1, TEXT))
    raw.execute("COMMIT")


if __name__ == "__main__":
    for one in promises():
        print(one)
