"""Several writes of a store as one transaction: what the recorder's groups rest on."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import BadInput
from runtime.stores.sqlite import SqliteStore
from runtime.values.messages import NewMessage


async def test_what_is_written_together_is_there_together(tmp_path: Path) -> None:
    store, other = SqliteStore(tmp_path / "s.db"), SqliteStore(tmp_path / "s.db")
    thread = await store.create()
    async with store.together():
        await store.append(thread, NewMessage("user", "one"))
        await store.append(thread, NewMessage("assistant", "two"))
        assert await store.length(thread) == 2
        assert await other.length(thread) == 0
    assert await other.length(thread) == 2
    await other.append(thread, NewMessage("user", "three"))
    await store.close()
    await other.close()


async def test_what_is_raised_takes_all_of_it_back(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    thread = await store.create()

    async def half() -> None:
        async with store.together():
            await store.append(thread, NewMessage("user", "one"))
            raise KeyError

    with pytest.raises(KeyError):
        await half()
    assert await store.length(thread) == 0
    await store.append(thread, NewMessage("user", "again"))
    assert await store.length(thread) == 1
    await store.close()


async def test_one_write_that_fails_leaves_the_others(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    thread = await store.create()
    async with store.together():
        await store.append(thread, NewMessage("user", "one"))
        with pytest.raises(BadInput):
            await store.fork(thread, 7)
        await store.append(thread, NewMessage("assistant", "two"))
    assert await store.length(thread) == 2
    await store.close()
