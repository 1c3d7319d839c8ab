"""Experiments: a sweep against turns by hand, many cells at once, a long ledger, two long contexts compared."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from benchmarks.measure import Promise, promise
from benchmarks.store import filled
from runtime import open_store
from runtime.compare import compare
from runtime.experiments import SweepSpec, read_enough, run_sweep
from runtime.explain import ledger
from runtime.models.script import ScriptModel
from runtime.stores import Store
from runtime.stores.memory import MemoryStore
from runtime.subject import Changes, Overrides
from runtime.threads import Runtime
from runtime.tools import tool
from runtime.values.agent import Agent, TierSpec
from runtime.values.items import ToolCall
from runtime.values.messages import NewMessage, Window
from runtime.values.seed import ScriptEntry, When

MANY, LONG = 1_000_000, 100_000
WINDOWS: tuple[Window, ...] = (1, 2, 4, 8, 16, 32, 64, "all")
STEP_SECONDS = 0.2
CELLS = 16


@tool(inline=True)
def look(at: str) -> str:
    """Look somewhere."""
    return f"seen {at}"


def promises() -> Iterator[Promise]:
    """The promises on experiments."""
    yield asyncio.run(_cells_at_once())
    yield asyncio.run(_contexts_compared())
    yield asyncio.run(_long_ledger())
    yield asyncio.run(_sweep_against_turns())


def _runtime(store: Store, *entries: ScriptEntry) -> Runtime:
    agent = Agent("bench", "Be brief.", tiers=(TierSpec("script"),), tools=("look",))
    return Runtime(store, agents={"bench": agent}, models={"script": ScriptModel(entries)}, tools=[look])


async def _sweep_against_turns() -> Promise:
    """One pair: for `all`, which cannot fit, both sides assemble a million rows once."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{Path(folder) / 'studio.db'}")
        runtime = _runtime(store, ScriptEntry(text="done"))
        thread = await filled(store, MANY, agent="bench")
        subject = await runtime.subject_on(thread, "what?")
        spec = SweepSpec(WINDOWS, enough=read_enough(["contains: done"]))

        async def by_hand() -> None:
            for window in WINDOWS:
                await runtime.send(thread, "what?", window=window)

        ours = await _seconds(lambda: run_sweep(runtime, subject, spec))
        theirs = await _seconds(by_hand)
        await runtime.close()
    return promise(f"a sweep of 8 windows on {MANY:,} rows, against a turn for each by hand", 3, [ours], [theirs])


async def _cells_at_once() -> Promise:
    """Half of the cells take two steps: the slowest chain is one of them, run alone."""
    call = ToolCall("c1", "look", {"at": "here"})
    entries = (
        ScriptEntry(When(step=1, history="row 10"), calls=(call,), delay=STEP_SECONDS),
        ScriptEntry(text="done", delay=STEP_SECONDS),
    )
    ours, theirs = [], []
    for _ in range(6):
        together, alone = await _once_at_once(entries)
        ours.append(together)
        theirs.append(alone)
    name = f"{CELLS} cells of a model that takes {STEP_SECONDS} s a step, against the slowest chain alone"
    return promise(name, 1.3, ours[1:], theirs[1:])


async def _once_at_once(entries: tuple[ScriptEntry, ...]) -> tuple[float, float]:
    """Seconds of the sweep, and of its slowest cell alone."""
    runtime = _runtime(MemoryStore(), *entries)
    thread = await runtime.create_thread(agent="bench")
    await runtime.store.append(thread, *(NewMessage("user", f"row {n}") for n in range(1, CELLS)))
    subject = await runtime.subject_on(thread, "what?")
    spec = SweepSpec(tuple(range(1, CELLS + 1)), concurrency=CELLS, changes=Changes("live"))
    together = await _seconds(lambda: run_sweep(runtime, subject, spec))
    return together, await _seconds(lambda: runtime.run(subject, Overrides(CELLS)))


async def _long_ledger() -> Promise:
    """What is opened is the turn's record, the thread's rows, and an account of each."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{Path(folder) / 'studio.db'}")
        runtime = _runtime(store, ScriptEntry(text="done"))
        thread = await filled(store, LONG, agent="bench")
        turn = (await runtime.send(thread, "what?", window=20)).turn

        async def opened() -> None:
            record = await runtime.record(turn, bodies=False)
            ledger(record, earlier=await runtime.records(thread), rows=await store.rows(thread, 1, LONG + 1))

        seconds = [await _seconds(opened) for _ in range(8)][1:]
        await runtime.close()
    return promise(f"the ledger of {LONG:,} rows, against 0.5 s", 1, seconds, [0.5] * len(seconds))


async def _contexts_compared() -> Promise:
    runtime = _runtime(MemoryStore(), ScriptEntry(text="done"))
    thread = await runtime.create_thread(agent="bench")
    await runtime.store.append(thread, *(NewMessage("user", f"row {n} of many") for n in range(3000)))
    first = await runtime.send(thread, "what?", window=2000)
    await runtime.store.append(thread, *(NewMessage("user", f"row {n} of more") for n in range(500)))
    second = await runtime.send(thread, "and then?", window=2000)
    seconds = []
    for _ in range(16):
        began = time.perf_counter()
        compare(first, second)
        seconds.append(time.perf_counter() - began)
    return promise("two contexts of 2,000 rows compared, against 0.2 s", 1, seconds[1:], [0.2] * (len(seconds) - 1))


async def _seconds(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


if __name__ == "__main__":
    for one in promises():
        print(one)
