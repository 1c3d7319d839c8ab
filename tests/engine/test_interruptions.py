"""Stops, cancellations and failing stores at awkward moments: nothing that happened is lost, and the thread is free."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from runtime.calls import STOPPED
from runtime.errors import StoreError
from runtime.events import CallEnded, Journaled, Opened, Settled
from runtime.stores import Selected
from runtime.stores.memory import MemoryStore
from runtime.tools import State, tool
from runtime.values.agent import TierSpec
from runtime.values.items import ToolResults
from runtime.values.messages import Window
from runtime.values.record import Turn, TurnRecord
from tests.engine.conftest import Bench, Steps, agent, calls, says

Benches = Callable[..., Bench]

LONG = " ".join(f"word{n} and {n * 7919}" for n in range(60_000))


def outputs(record: TurnRecord) -> list[object]:
    """The outputs of all results of a turn."""
    groups = [item for item in record.transcript if isinstance(item, ToolResults)]
    return [result.output for group in groups for result in group.results]


async def test_T4_a_result_stays_when_the_turn_is_stopped_while_it_is_counted(bench: Benches) -> None:
    @tool(inline=True)
    def read_all(state: State) -> str:
        """Read it all."""
        state.set("read", "yes")
        return LONG

    made = bench(Steps(calls("read-all"), says("done")), agent(tools=("read-all",)), tools=[read_all])
    thread = await made.thread_with()
    async for event in made.runtime.stream(thread, "read"):
        if isinstance(event, CallEnded):
            for _ in range(5):
                await asyncio.sleep(0)
            await made.runtime.stop(event.turn)
        if isinstance(event, Settled):
            record = event.record
    assert record.status == "stopped"
    assert outputs(record) == [LONG]
    assert await made.store.state(thread) == {"read": "yes"}


async def test_T10_a_second_cancellation_while_calls_end_loses_no_result(bench: Benches) -> None:
    started = asyncio.Event()

    @tool
    async def quick(state: State) -> str:
        """Return at once."""
        state.set("quick", "ran")
        return "one"

    @tool
    async def stubborn() -> str:
        """Go on for a moment when cancelled."""
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()
        return "never"

    made = bench(Steps(calls("quick", "stubborn")), agent(tools=("quick", "stubborn")), tools=[quick, stubborn])
    thread = await made.thread_with()
    sending = asyncio.create_task(made.runtime.send(thread, "go"))
    await started.wait()
    await asyncio.sleep(0)
    for _ in range(3):
        sending.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await sending
    (record,) = await made.runtime.records(thread)
    assert (record.status, outputs(record)) == ("stopped", ["one", STOPPED])
    assert record.state_after == {"quick": "ran"}


async def test_T4_what_a_child_wrote_stays_when_the_turn_above_is_stopped(bench: Benches) -> None:
    @tool
    async def note(state: State) -> str:
        """Note that it was here."""
        state.set("noted", "by the child")
        return "noted"

    parent, other = Steps(calls("b", brief="look")), Steps(calls("note"), says("late", delay=1), name="other")
    below = agent("b", tools=("note",), tiers=(TierSpec("other"),))
    desk = bench(parent, agent(delegates=("b",)), below, models={"other": other}, tools=[note])
    thread = await desk.thread_with()
    sending = asyncio.create_task(desk.runtime.send(thread, "go"))
    await other.waiting.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    (record,) = await desk.runtime.records(thread)
    (result,) = [result for item in record.transcript if isinstance(item, ToolResults) for result in item.results]
    assert (record.status, result.error) == ("stopped", True)
    assert record.children is not None
    assert record.children[result.id].turn == result.turn
    assert record.state_after == {"noted": "by the child"} == await desk.store.state(thread)


async def test_T10_a_turn_can_be_stopped_while_its_context_is_assembled(bench: Benches) -> None:
    desk = bench(Steps(says("done")))
    thread = await desk.thread_with(f"u all of {LONG}")
    settled: list[TurnRecord] = []
    async for event in desk.runtime.stream(thread, "hi"):
        if isinstance(event, Opened):
            await asyncio.sleep(0)
            await desk.runtime.stop(event.turn.id)
        if isinstance(event, Settled):
            settled.append(event.record)
    (record,) = settled
    assert (record.status, record.error, record.context) == ("stopped", "stopped by the user", None)
    assert desk.runtime.running == ()
    assert (await desk.runtime.send(thread, "again", window=1)).status == "completed"


async def test_M2_no_attempt_is_recorded_that_was_not_made_when_stopped_before_the_second_try(bench: Benches) -> None:
    desk = bench(Steps(says("half", fail="busy", status=429, retry_after=9.0)))
    thread = await desk.thread_with()
    async for event in desk.runtime.stream(thread, "hi"):
        if isinstance(event, Journaled) and event.item.kind == "attempt":
            await asyncio.sleep(0)
            await desk.runtime.stop(event.turn)
        if isinstance(event, Settled):
            record = event.record
    assert record.status == "stopped"
    assert [(attempt.outcome, attempt.status) for attempt in record.tiers] == [("status", 429)]


class FailingStore(MemoryStore):
    """A store that cannot read rows nor settle turns while `fails` is set."""

    fails = False

    async def select(self, thread: str, window: Window, *, upto: int | None = None) -> Selected:
        if self.fails:
            raise StoreError("the disk is away")
        return await super().select(thread, window, upto=upto)

    async def settle(self, turn: str, *args: object, **kwargs: object) -> Turn:
        if self.fails:
            raise StoreError("the disk is away")
        return await super().settle(turn, *args, **kwargs)  # type: ignore[arg-type]  # passed on as they came


async def test_S7_a_thread_is_free_again_once_the_store_answers_again(bench: Benches) -> None:
    store = FailingStore()
    desk = bench(Steps(says("done")), store=store)
    thread = await desk.thread_with()
    store.fails = True
    with pytest.raises(StoreError):
        await desk.runtime.send(thread, "one")
    store.fails = False
    assert (await desk.runtime.send(thread, "two")).status == "completed"
    assert [record.status for record in await desk.runtime.records(thread)] == ["failed", "completed"]
