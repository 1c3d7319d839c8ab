"""Memory, SQLite, adopted threads and a model of a few lines agree on any sequence of what can be done to threads."""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.stores import NewTurn, Store
from runtime.stores.adopted import Adopted
from runtime.stores.memory import MemoryStore
from runtime.stores.owner import this_process
from runtime.stores.sqlite import SqliteStore
from runtime.values.messages import NewMessage
from runtime.values.record import Settlement


@dataclass
class Model:
    """A thread as a list: its rows' texts, the state after each, the numbers of turns that lie within."""

    rows: list[str] = field(default_factory=list)
    states: list[int] = field(default_factory=lambda: [0])
    turns: list[int] = field(default_factory=list)
    """For each root turn, in order, how many rows the thread must hold for the turn to lie within."""
    state: int = 0

    def forked(self, seq: int) -> Model:
        within = [last for last in self.turns if last <= seq]
        return Model(self.rows[:seq], self.states[: seq + 1], within, self.states[seq])


Step: TypeAlias = tuple[str, int, int]

steps = st.lists(
    st.tuples(
        st.sampled_from(["create", "append", "append", "turn", "turn", "brief", "fork", "fork", "look", "look"]),
        st.integers(0, 7),
        st.integers(-2, 12),
    ),
    max_size=30,
)


async def play(store: Store, script: list[Step]) -> list[object]:
    """Do all of `script` on a store, checking each step against the model; returns what was seen."""
    ids = [await store.create(state={"n": 0})]
    models = [Model()]
    seen: list[object] = []
    for count, (verb, which, number) in enumerate(script, 1):
        n = which % len(ids)
        thread, model = ids[n], models[n]
        if verb == "create":
            ids.append(await store.create(state={"n": 0}))
            models.append(Model())
        elif verb == "append":
            new = [f"row {count}.{k}" for k in range(max(0, number) % 4)]
            await store.append(thread, *(NewMessage("user", text) for text in new))
            model.rows += new
            model.states += [model.state] * len(new)
        elif verb == "turn":
            await turn(store, thread, model, count, answered=number % 3 != 0)
        elif verb == "brief":
            opened = await store.open_turn(NewTurn(thread, "brief", "a", 6, "b", this_process()))
            await store.settle(opened.id, (), Settlement("stopped"), state={"n": count})
            model.turns.append(len(model.rows) + 1)  # it is part of what comes after the rows it found
            model.state = count
        elif verb == "fork":
            seq = max(0, number) % (len(model.rows) + 1)
            ids.append(await store.fork(thread, seq))
            models.append(model.forked(seq))
        else:
            seen.append(await look(store, thread, model, number))
    for thread, model in zip(ids, models, strict=True):
        seen.append(await look(store, thread, model, 6))
        seen.append([(await store.state(thread, seq=seq))["n"] for seq in range(len(model.rows) + 1)])
        assert seen[-1] == model.states
        assert await store.state(thread) == {"n": model.state}
        assert [one.number for one in await store.turns(thread)] == list(range(1, len(model.turns) + 1))
    return seen


async def turn(store: Store, thread: str, model: Model, count: int, *, answered: bool) -> None:
    opened = await store.open_turn(
        NewTurn(thread, "envelope", "a", 6, f"q{count}", this_process()), NewMessage("user", f"q{count}")
    )
    assert (opened.number, opened.state_before) == (len(model.turns) + 1, {"n": model.state})
    model.rows.append(f"q{count}")
    model.states.append(model.state)
    message = NewMessage("assistant", f"a{count}") if answered else None
    ended = Settlement("completed", answer=f"a{count}") if answered else Settlement("failed", "no-output")
    await store.settle(opened.id, (), ended, message=message, state={"n": count})
    model.state = count
    if answered:
        model.rows.append(f"a{count}")
        model.states.append(count)
    model.turns.append(len(model.rows))


async def look(store: Store, thread: str, model: Model, window: int) -> list[object]:
    rows = await store.list_messages(thread, window)
    expected = (
        model.rows[len(model.rows) - window :] if 0 < window <= len(model.rows) else model.rows if window > 0 else []
    )
    assert [row.text for row in rows] == expected
    assert [row.seq for row in rows] == list(range(len(model.rows) - len(expected) + 1, len(model.rows) + 1))
    assert await store.length(thread) == len(model.rows)
    upto = window // 2
    selected = await store.select(thread, 2, upto=upto)
    assert [row.text for row in selected.rows] == model.rows[: max(0, upto)][-2:]
    between = await store.rows(thread, window - 3, window)
    assert [row.seq for row in between] == list(range(max(1, window - 3), min(window, len(model.rows)) + 1))
    return [[(row.seq, row.role, row.text) for row in rows], selected.stored, len(between)]


@given(steps)
def test_S9_memory_sqlite_and_adopted_threads_agree_with_the_model(script: list[Step]) -> None:
    _agree(script)


@pytest.mark.fuzz
@pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "fuzz", reason="the same test, large, in make fuzz")
@given(steps)
def test_S9_stores_agree_on_many_scripts(script: list[Step]) -> None:
    _agree(script)


def _agree(script: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sqlite = SqliteStore(Path(folder) / "studio.db")
        sqlite._file.db.execute("PRAGMA synchronous = OFF")  # nothing is pulled out here
        seen = []
        for store in (MemoryStore(), sqlite, Adopted(MemoryStore())):
            seen.append(asyncio.run(play(store, script)))
        asyncio.run(sqlite.close())
    assert seen[0] == seen[1] == seen[2]
