"""A thread can be given a name, in every store, and forks keep the one they were made with."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import UnknownThread
from runtime.stores import NewThread, Store, open_store
from runtime.values.messages import NewMessage


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return open_store("memory:" if request.param == "memory" else f"sqlite:///{tmp_path / 'names.db'}")


async def test_a_name_is_changed_and_nothing_else(store: Store) -> None:
    thread = await store.create_thread(NewThread(agent="notes", name="first"), [NewMessage("user", "hello")])
    fork = await store.fork(thread, 1)
    await store.update_thread(thread, name="second [/x] \x1b")
    known = await store.thread(thread)
    assert (known.name, known.agent, known.length, known.state) == ("second [/x] \x1b", "notes", 1, {})
    assert (await store.thread(fork)).name == "first"
    await store.update_thread(thread, name="")
    assert (await store.thread(thread)).name == ""
    with pytest.raises(UnknownThread):
        await store.update_thread("nowhere", name="x")
    await store.close()
