"""Experiments in every store of ours: kept, listed, found with their runs, gone with their thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.errors import UnknownExperiment, UnknownThread
from runtime.stores import Experiment, NewTurn, Store, open_store
from runtime.stores.adopted import Adopted
from runtime.stores.memory import MemoryStore
from runtime.values.record import Settlement, View


@pytest.fixture(params=["memory", "sqlite", "adopted"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "adopted":
        made: Store = Adopted(MemoryStore())
    else:
        made = open_store("memory:" if request.param == "memory" else f"sqlite:///{tmp_path / 'x.db'}")
    yield made
    await made.close()


async def run(store: Store, thread: str, experiment: str | None, cell: str) -> str:
    new = NewTurn(thread, "envelope", "notes", 6, "q", view=View(0), state={}, experiment=experiment, cell=cell)
    turn = await store.open_turn(new)
    child = replace(new, kind="child", parent=turn.id, parent_step=1, parent_call="c1")
    inside = await store.open_turn(child)
    await store.settle(inside.id, (), Settlement("completed", answer="b"), state={})
    await store.settle(turn.id, (), Settlement("completed", answer="a"), state={})
    return turn.id


async def test_an_experiment_is_kept_changed_and_listed_newest_first(store: Store) -> None:
    thread, other = await store.create(), await store.create()
    one = await store.put_experiment(Experiment("sweep", thread, None, {"windows": [0, "all"]}, "running"))
    two = await store.put_experiment(Experiment("ablation", thread, "t1", {}, "running"))
    three = await store.put_experiment(Experiment("sweep", other, None, {}, "done"))
    assert (one.number, two.number, three.number) == (1, 2, 3)
    assert len({one.id, two.id, three.id, ""}) == 4
    assert one.at is not None
    changed = await store.put_experiment(replace(one, spec={"windows": [1]}, state="stopped"))
    assert changed == await store.experiment(one.id) == replace(one, spec={"windows": [1]}, state="stopped")
    assert [found.id for found in await store.experiments(thread)] == [two.id, one.id]
    assert [found.id for found in await store.experiments(limit=2)] == [three.id, two.id]
    assert (await store.experiment(two.id)).of_turn == "t1"


async def test_what_is_unknown_is_an_error(store: Store) -> None:
    with pytest.raises(UnknownExperiment):
        await store.experiment("nothere")
    with pytest.raises(UnknownExperiment):
        await store.put_experiment(Experiment("sweep", await store.create(), None, {}, "done", id="nothere"))
    with pytest.raises(UnknownThread):
        await store.put_experiment(Experiment("sweep", "nothere", None, {}, "done"))
    with pytest.raises(UnknownThread):
        await store.experiments("nothere")


async def test_X4_runs_of_an_experiment_are_found_by_it_and_not_among_the_threads_turns(store: Store) -> None:
    thread = await store.create()
    kept = await store.put_experiment(Experiment("sweep", thread, None, {}, "running"))
    first, plain, second = (
        await run(store, thread, kept.id, "a"),
        await run(store, thread, None, ""),
        await run(store, thread, kept.id, "b"),
    )
    assert [(turn.id, turn.cell) for turn in await store.runs_of(kept.id)] == [(first, "a"), (second, "b")]
    assert [turn.id for turn in await store.turns(thread)] == [plain]
    assert await store.runs_of("nothere") == []


@pytest.mark.parametrize("name", ["memory", "sqlite"])
async def test_an_experiment_goes_with_its_thread(name: str, tmp_path: Path) -> None:
    store = open_store("memory:" if name == "memory" else str(tmp_path / "x.db"))
    thread, other = await store.create(), await store.create()
    gone = await store.put_experiment(Experiment("sweep", thread, None, {}, "done"))
    stays = await store.put_experiment(Experiment("sweep", other, None, {}, "done"))
    await run(store, thread, gone.id, "a")
    await store.delete_thread(thread)
    assert [found.id for found in await store.experiments()] == [stays.id]
    assert await store.runs_of(gone.id) == []
    await store.close()
