"""Runs on a view: the same request again, the thread untouched (X4, X7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from runtime.errors import BadInput
from runtime.tools import State, tool
from runtime.values.items import ToolResults
from tests.engine.conftest import Bench, Steps, agent, calls, says

Benches = Callable[..., Bench]


async def test_X4_a_rerun_sees_the_rows_before_its_request_and_the_request_as_newest(bench: Benches) -> None:
    model = Steps(says("one"), says("two"), says("again"))
    desk = bench(model)
    thread = await desk.thread_with("u a", "a b")
    first = await desk.runtime.send(thread, "q1")
    await desk.runtime.send(thread, "q2")
    before = await desk.rows(thread)
    run = await desk.runtime.rerun(first.turn, window=2)
    assert run.context is not None
    assert [(row.seq, row.text, row.needs, row.is_request) for row in run.context.rows] == [
        (2, "b", 2, False),
        (3, "q1", 1, True),
    ]
    assert run.context.stored == 3
    assert (run.stored_user, run.stored_assistant, run.unstored_user) == (None, None, "view-run")
    assert (run.rerun_of, run.answer) == (first.turn, "again")
    assert await desk.rows(thread) == before
    assert [turn.id for turn in await desk.store.turns(thread, runs=False)] != []
    assert run.turn not in [turn.id for turn in await desk.store.turns(thread, runs=False)]
    assert run.turn in [turn.id for turn in await desk.store.turns(thread, runs=True)]


async def test_X4_a_run_has_the_state_with_which_the_turn_opened_and_its_own_after(bench: Benches) -> None:
    @tool
    async def bump(state: State) -> str:
        """Count."""
        value = state.get("n")
        state.set("n", (value if isinstance(value, int) else 0) + 1)
        return str(state.get("n"))

    model = Steps(calls("bump"), says("one"), calls("bump"), says("two"), calls("bump"), says("three"))
    desk = bench(model, agent(tools=("bump",)), tools=[bump])
    thread = await desk.thread_with()
    first = await desk.runtime.send(thread, "q1")
    await desk.runtime.send(thread, "q2")
    run = await desk.runtime.rerun(first.turn)
    assert (run.state_before, run.state_after) == ({}, {"n": 1})
    assert await desk.store.state(thread) == {"n": 2}


async def test_X4_a_run_neither_takes_nor_needs_the_threads_place(bench: Benches) -> None:
    model = Steps(says("one"), says("slow", delay=1.0), says("run"))
    desk = bench(model)
    thread = await desk.thread_with()
    first = await desk.runtime.send(thread, "q1")
    task = asyncio.create_task(desk.runtime.send(thread, "q2"))
    await model.waiting.wait()
    assert (await desk.runtime.rerun(first.turn)).status == "completed"
    model.go_on.release()
    assert (await task).status == "completed"


async def test_X4_recorded_tools_answer_from_the_record(bench: Benches) -> None:
    ran: list[str] = []

    @tool
    async def look(at: str) -> str:
        """Look."""
        ran.append(at)
        return f"saw {at}"

    model = Steps(calls("look", at="here"), says("one"), calls("look", at="here"), calls("look", at="there"), says("2"))
    desk = bench(model, agent(tools=("look",)), tools=[look])
    thread = await desk.thread_with()
    first = await desk.runtime.send(thread, "q1")
    run = await desk.runtime.rerun(first.turn, tools="recorded")
    outputs = [result.output for item in run.transcript if isinstance(item, ToolResults) for result in item.results]
    assert outputs == ["saw here", "not recorded"]
    assert ran == ["here"]


async def test_X7_dropping_a_row_moves_nothing_older_up(bench: Benches) -> None:
    model = Steps(says("x"))
    desk = bench(model)
    thread = await desk.thread_with("u m1", "a m2", "u m3", "a m4")
    first = await desk.runtime.send(thread, "q", window=3)
    run = await desk.runtime.rerun(first.turn, drop=[4])
    assert run.context is not None
    assert [row.seq for row in run.context.rows] == [3, 5]
    assert [(out.first, out.last, out.reason) for out in run.context.left_out] == [
        (1, 2, "older-than-window"),
        (4, 4, "dropped"),
    ]
    edited = await desk.runtime.rerun(first.turn, edit={4: "other words"})
    assert edited.context is not None
    assert [row.text for row in edited.context.rows] == ["m3", "other words", "q"]
    with pytest.raises(BadInput, match="row 9"):
        await desk.runtime.rerun(first.turn, drop=[9])


async def test_X4_window_zero_of_a_run_selects_nothing(bench: Benches) -> None:
    model = Steps(says("x"))
    desk = bench(model)
    thread = await desk.thread_with("u m1")
    first = await desk.runtime.send(thread, "q")
    run = await desk.runtime.rerun(first.turn, window=0)
    assert run.context is not None
    assert (run.context.selected, run.context.stored) == (0, 2)
    assert model.requests[-1].section("history") == ""
    assert model.requests[-1].brief == "q"


async def test_a_run_can_be_run_again(bench: Benches) -> None:
    desk = bench(Steps(says("x")))
    thread = await desk.thread_with("u m1", "a m2")
    first = await desk.runtime.send(thread, "q")
    run = await desk.runtime.rerun(first.turn, window=2)
    again = await desk.runtime.rerun(run.turn, window="all")
    assert again.context is not None
    assert [row.text for row in again.context.rows] == ["m1", "m2", "q"]
