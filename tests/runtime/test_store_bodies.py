"""A6: request bodies in both of our stores, kept by size; runs of experiments go first, the newest stay."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.errors import UnknownTurn
from runtime.stores import NewTurn, Store, open_store
from runtime.stores.sqlite import SqliteStore
from runtime.values.messages import NewMessage
from runtime.values.record import Settlement, Turn, View

DONE = Settlement("completed", answer="done")


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[int], Store]]:
    opened: list[Store] = []

    def build(body_bytes: int) -> Store:
        url = "memory:" if request.param == "memory" else f"{tmp_path}/studio{len(opened)}.db"
        opened.append(open_store(url, body_bytes=body_bytes))
        return opened[-1]

    yield build
    for store in opened:
        asyncio.run(store.close())


@pytest.fixture
def store(make: Callable[[int], Store]) -> Store:
    return make(10**6)


async def sent(store: Store, thread: str, body: bytes, experiment: str | None = None) -> Turn:
    """A run on a view whose one step sent `body`."""
    new = replace(envelope(thread), view=View(0), state={}, experiment=experiment)
    return await store.settle((await store.open_turn(new)).id, (), DONE, state={}, bodies={1: body})


def envelope(thread: str) -> NewTurn:
    return NewTurn(thread, "envelope", "notes", 6, "q")


def noise(n: int) -> bytes:
    """1,200 bytes that do not compress, different for each n."""
    return random.Random(n).randbytes(1200)


async def test_A6_the_body_of_each_step_is_kept(store: Store) -> None:
    turn = await store.open_turn(envelope(await store.create()), NewMessage("user", "q"))
    await store.journal(turn.id, [], bodies={1: b"one", 2: b""})
    await store.settle(turn.id, (), DONE, state={}, bodies={1: b"one again", 3: b"three" * 20_000})
    assert [await store.body(turn.id, step) for step in range(5)] == [
        None, b"one again", b"", b"three" * 20_000, None,
    ]  # fmt: skip


async def test_A6_the_newest_bodies_stay(make: Callable[[int], Store]) -> None:
    store = make(4000)
    thread = await store.create()
    turns = [await sent(store, thread, noise(n)) for n in range(8)]
    kept = [await store.body(turn.id, 1) for turn in turns]
    assert kept == [None] * 5 + [noise(n) for n in (5, 6, 7)]


async def test_A6_runs_of_experiments_go_first(make: Callable[[int], Store]) -> None:
    store = make(4000)
    thread = await store.create()
    plain = await sent(store, thread, noise(0))
    runs = [await sent(store, thread, noise(n), "exp1") for n in range(1, 5)]
    assert [await store.body(turn.id, 1) is not None for turn in (plain, *runs)] == [True, False, False, True, True]
    more = [await sent(store, thread, noise(n)) for n in range(5, 8)]
    kept = [await store.body(turn.id, 1) is not None for turn in (plain, *runs, *more)]
    assert kept == [False, False, False, False, False, True, True, True]


async def test_A6_a_body_larger_than_the_room_is_gone_and_nothing_else_breaks(make: Callable[[int], Store]) -> None:
    store = make(100)
    turn = await store.open_turn(envelope(await store.create()), NewMessage("user", "q"))
    await store.journal(turn.id, [], bodies={1: noise(1), 2: b"small"})
    assert await store.body(turn.id, 1) is None


async def test_A6_bodies_go_with_their_thread_but_not_what_another_turn_shares(store: Store) -> None:
    threads = [await store.create() for _ in range(2)]
    turns = [await sent(store, thread, b"the same bytes") for thread in threads]
    await store.delete_thread(threads[0])
    with pytest.raises(UnknownTurn):
        await store.body(turns[0].id, 1)
    assert await store.body(turns[1].id, 1) == b"the same bytes"


async def test_A6_identical_bodies_are_kept_once_in_the_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "studio.db")
    thread = await store.create()
    turns = [await sent(store, thread, body) for body in (noise(1), noise(1), noise(2), noise(1))]
    db = store._file.db
    assert db.execute("SELECT uses FROM blobs ORDER BY id").fetchall() == [(3,), (1,)]
    size = db.execute("SELECT sum(size) FROM blobs").fetchone()
    assert db.execute("SELECT value FROM counters WHERE name = 'blobs'").fetchone() == size
    assert [await store.body(turn.id, 1) for turn in turns] == [noise(1), noise(1), noise(2), noise(1)]
    await store.delete_thread(thread)
    assert db.execute("SELECT count(*) FROM blobs").fetchone() == (0,)
    assert db.execute("SELECT value FROM counters WHERE name = 'blobs'").fetchone() == (0,)
    await store.close()
