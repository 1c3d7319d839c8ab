"""Delegation: a child turn on the same thread, its output the call's result (T8)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from runtime.errors import ConfigurationError
from runtime.events import Opened, Settled
from runtime.tools import State, tool
from runtime.values.agent import Budget, TierSpec
from runtime.values.items import ToolResults
from tests.engine.conftest import Bench, Steps, agent, calls, says

Benches = Callable[..., Bench]


def child(**fields: object):  # type: ignore[no-untyped-def]  # an Agent
    return agent("researcher", **{"tiers": (TierSpec("other"),), "description": "Looks things up.", **fields})


async def test_T8_a_delegate_declines_history_and_its_answer_is_the_result(bench: Benches) -> None:
    parent = Steps(calls("researcher", brief="find the due date"), says("done"))
    other = Steps(says("the 5th"), name="other")
    desk = bench(parent, agent(delegates=("researcher",)), child(window=0), models={"other": other})
    thread = await desk.thread_with("u secret", "a noted")
    record = await desk.runtime.send(thread, "ask the researcher")
    (group,) = [item for item in record.transcript if isinstance(item, ToolResults)]
    assert [(result.output, result.error) for result in group.results] == [("the 5th", False)]
    (request,) = other.requests
    assert request.brief == "find the due date"
    assert "secret" not in str(request)
    assert await desk.rows(thread) == ["user secret", "assistant noted", "user ask the researcher", "assistant done"]
    assert record.children is not None
    inner = record.children[group.results[0].id]
    assert (inner.kind, inner.turn, inner.unstored_assistant) == ("child", group.results[0].turn, "child-turn")
    assert inner.context is not None
    assert [out.reason for out in inner.context.left_out] == ["history-declined"]
    assert await desk.runtime.record(record.turn) == record


async def test_T8_a_delegate_is_offered_as_a_tool_with_one_argument_brief(bench: Benches) -> None:
    parent = Steps(says("done"))
    desk = bench(parent, agent(delegates=("researcher",)), child(), models={"other": Steps(says("x"), name="other")})
    await desk.runtime.send(await desk.thread_with(), "hi")
    (offered,) = parent.requests[0].tools
    assert (offered.name, offered.description) == ("researcher", "Looks things up.")
    assert list(offered.schema["properties"]) == ["brief"]  # type: ignore[arg-type]  # a JSON Schema


async def test_T8_a_child_that_does_not_complete_gives_an_error_result(bench: Benches) -> None:
    parent = Steps(calls("researcher", brief="go"), says("done"))
    other = Steps(says("", fail="down"), name="other")
    desk = bench(parent, agent(delegates=("researcher",)), child(), models={"other": other})
    record = await desk.runtime.send(await desk.thread_with(), "hi")
    (group,) = [item for item in record.transcript if isinstance(item, ToolResults)]
    assert group.results[0].error
    assert "down" in str(group.results[0].output)
    assert record.status == "completed"


async def test_T8_a_child_stays_inside_its_parents_budget(bench: Benches) -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    parent = Steps(calls("researcher", brief="go"), says("done"))
    other = Steps(calls("look"), name="other")
    desk = bench(
        parent,
        agent(delegates=("researcher",), budget=Budget(steps=4)),
        child(tools=("look",), budget=Budget(steps=100)),
        models={"other": other},
        tools=[look],
    )
    record = await desk.runtime.send(await desk.thread_with(), "hi")
    assert len(other.requests) == 3
    assert (record.status, record.reason) == ("cut", "steps")


async def test_T8_a_childs_writes_reach_the_state_with_the_result(bench: Benches) -> None:
    @tool
    async def mark(state: State) -> str:
        """Mark."""
        state.set("marked", True)
        return "ok"

    parent = Steps(calls("researcher", brief="go"), says("done"))
    other = Steps(calls("mark"), says("marked it"), name="other")
    desk = bench(
        parent, agent(delegates=("researcher",)), child(tools=("mark",)), models={"other": other}, tools=[mark]
    )
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "hi")
    assert record.state_after == {"marked": True} == await desk.store.state(thread)


async def test_T4_a_delegate_takes_its_brief_and_nothing_else(bench: Benches) -> None:
    parent = Steps(calls("researcher", brief="go", depth="all"), calls("researcher"), says("done"))
    other = Steps(says("looked"), name="other")
    desk = bench(parent, agent(delegates=("researcher",)), child(), models={"other": other})
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "hi")
    results = [result for item in record.transcript if isinstance(item, ToolResults) for result in item.results]
    assert [result.error for result in results] == [True, True]
    assert "one argument, brief" in str(results[0].output)
    assert other.requests == []


async def test_T8_circles_of_delegates_are_a_configuration_error(bench: Benches) -> None:
    desk = bench(Steps(says("x")), agent(delegates=("b",)), agent("b", delegates=("a",)))
    thread = await desk.thread_with()
    with pytest.raises(ConfigurationError, match="a -> b -> a"):
        await desk.runtime.send(thread, "hi")
    assert await desk.rows(thread) == []


async def test_T10_stopping_the_parent_stops_the_child(bench: Benches) -> None:
    parent = Steps(calls("researcher", brief="go"), says("done"))
    other = Steps(says("slow", delay=1.0), name="other")
    desk = bench(parent, agent(delegates=("researcher",)), child(), models={"other": other})
    thread = await desk.thread_with()
    settled: list[Settled] = []
    roots: list[str] = []

    async def listen() -> None:
        async for event in desk.runtime.stream(thread, "hi"):
            if isinstance(event, Opened) and event.turn.kind != "child":
                roots.append(event.turn.id)
            if isinstance(event, Settled):
                settled.append(event)

    task = asyncio.create_task(listen())
    await other.waiting.wait()
    await desk.runtime.stop(roots[0])
    await task
    assert [event.record.status for event in settled] == ["stopped", "stopped"]
    assert settled[1].record.children is not None
    assert other.closed.is_set()
    assert desk.runtime.running == ()
