"""A thread filled from outside: unseen until it is whole, nothing left of one that is not, the same in every store."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.errors import UnknownThread
from runtime.stores import Filling, NewThread, NewTurn, PastTurn, Store
from runtime.stores.adopted import Adopted
from runtime.stores.memory import MemoryStore
from runtime.stores.sqlite import SqliteStore
from runtime.stores.sqlite.threads import HIDDEN
from runtime.values.items import AssistantStep
from runtime.values.messages import NewMessage
from runtime.values.record import JournalItem, Settlement, StepItem

ROWS = [
    NewMessage("user", "u1"),
    NewMessage("assistant", "a1"),
    NewMessage("user", "u2"),
    NewMessage("assistant", "a2"),
]


@pytest.fixture(params=["memory", "sqlite", "adopted"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store
    match request.param:
        case "memory":
            opened = MemoryStore()
        case "sqlite":
            opened = SqliteStore(tmp_path / "s.db")
        case _:
            opened = Adopted(MemoryStore())
    yield opened
    await opened.close()


def past(id: str, number: int) -> PastTurn:
    """Turn `number` of ROWS."""
    asked = 2 * number - 1
    step = StepItem(AssistantStep(1, f"a{number}"), 0, {}, 0.0)
    new = NewTurn("", "envelope", "imported", "all", f"u{number}", origin="imported", layout="messages",
                  stored_user=asked, stored_assistant=asked + 1)  # fmt: skip
    settlement = Settlement("completed", answer=f"a{number}")
    return PastTurn(id, new, (JournalItem(1, 1, "step", step),), settlement, asked - 1, asked + 1)


async def fill(filling: Filling) -> None:
    await filling.append(ROWS[:3])
    await filling.append(ROWS[3:])
    first, second = await filling.turn_ids(2)
    await filling.add_turns([past(first, 1)])
    await filling.add_turns([past(second, 2)])


async def test_S1_rows_and_turns_come_in_batches_and_count_on(store: Store) -> None:
    async with store.fill(NewThread(origin="imported", name="n", state={"tone": "brief"})) as filling:
        await fill(filling)
    thread = await store.thread(filling.thread)
    assert (thread.length, thread.name, thread.origin, thread.status) == (4, "n", "imported", "")
    rows = await store.list_messages(thread.id, 10)
    assert [(row.seq, row.text) for row in rows] == [(1, "u1"), (2, "a1"), (3, "u2"), (4, "a2")]
    first, second = await store.turns(thread.id)
    assert [(turn.number, turn.status, turn.request, turn.stored_user) for turn in (first, second)] == [
        (1, "completed", "u1", 1),
        (2, "completed", "u2", 3),
    ]
    assert second.state_before == second.state_after == {"tone": "brief"}
    assert [item.kind for item in await store.items(second.id)] == ["step", "settlement"]


async def test_the_thread_goes_on_and_forks_like_any_other(store: Store) -> None:
    async with store.fill(NewThread(origin="imported")) as filling:
        await fill(filling)
    fork = await store.fork(filling.thread, 3)
    assert [turn.number for turn in await store.turns(fork)] == [1]
    turn = await store.open_turn(NewTurn(filling.thread, "envelope", "a", 6, "u3"), NewMessage("user", "u3"))
    assert (turn.number, turn.stored_user) == (3, 5)


@pytest.mark.parametrize("store", ["memory", "sqlite"], indirect=True)
async def test_nobody_sees_it_before_it_is_whole(store: Store) -> None:
    async with store.fill(NewThread(origin="imported")) as filling:
        await fill(filling)
        assert await store.threads() == []
        for name in (filling.thread, HIDDEN + filling.thread):
            with pytest.raises(UnknownThread):
                await store.thread(name)
    assert [thread.id for thread in await store.threads()] == [filling.thread]


@pytest.mark.parametrize("store", ["memory", "sqlite"], indirect=True)
async def test_what_is_raised_inside_leaves_nothing(store: Store, tmp_path: Path) -> None:
    async def stopped() -> None:
        async with store.fill(NewThread(origin="imported")) as filling:
            await fill(filling)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        await stopped()
    assert await store.threads() == []
    if isinstance(store, SqliteStore):
        assert counts(tmp_path / "s.db") == [0, 0, 0, 0]


async def test_a_cancelled_filling_leaves_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    begun = asyncio.Event()

    async def work() -> None:
        async with store.fill(NewThread(origin="imported")) as filling:
            await filling.append(ROWS)
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(work())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert counts(tmp_path / "s.db") == [0, 0, 0, 0]
    await store.close()


async def test_what_a_process_that_is_gone_left_half_filled_is_cleared_away(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    async with store.fill(NewThread(origin="imported")) as filling:
        await fill(filling)
    raw = sqlite3.connect(tmp_path / "s.db")
    gone = json.dumps(["another-host", 1, ""])
    raw.execute("UPDATE threads SET uid = ?, status = ?, created = '2020-01-01T00:00:00+00:00'", (HIDDEN + "x", gone))
    raw.commit()
    raw.close()
    assert await store.threads() == []
    async with store.fill(NewThread(origin="imported")) as second:
        await second.append(ROWS[:1])
    assert counts(tmp_path / "s.db") == [1, 1, 0, 0]
    assert (await store.list_messages(second.thread, 1))[0].id == 5  # an insertion number is never given twice
    await store.close()


async def test_others_write_between_the_batches(tmp_path: Path) -> None:
    store, other = SqliteStore(tmp_path / "s.db"), SqliteStore(tmp_path / "s.db")
    thread = await other.create()
    async with store.fill(NewThread(origin="imported")) as filling:
        await filling.append(ROWS[:2])
        (row,) = await other.append(thread, NewMessage("user", "meanwhile"))
        await filling.append(ROWS[2:])
    assert row.id == 3
    assert [message.id for message in await store.list_messages(filling.thread, 9)] == [1, 2, 4, 5]
    await store.close()
    await other.close()


def counts(path: Path) -> list[int]:
    """Rows of threads, messages, turns and items in a file."""
    db = sqlite3.connect(path)
    found = [db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in
             ("threads", "messages", "turns", "items")]  # fmt: skip
    db.close()
    return found
