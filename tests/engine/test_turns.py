"""Turns: what they store, how they end, what their transcripts hold (S5, T1-T11)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from runtime.errors import BadInput, ConfigurationError, ThreadBusy, UnknownThread
from runtime.events import CallBegan, Journaled, Opened, Settled, Streamed, TurnEvent
from runtime.tools import State, tool
from runtime.values.agent import Budget, TierSpec
from runtime.values.items import AssistantStep, Nudge, ToolResults
from runtime.values.record import TurnRecord
from tests.engine.conftest import Bench, Steps, agent, calls, says, until

Benches = Callable[..., Bench]


@tool
async def paint(colour: str, state: State) -> str:
    """Paint it in a colour."""
    state.set("colour", colour)
    return f"painted {colour}"


@tool
async def look(state: State) -> str:
    """Look at the colour."""
    return str(state.get("colour"))


def items_of(record: TurnRecord) -> list[str]:
    names = {AssistantStep: "assistant", ToolResults: "tools", Nudge: "nudge"}
    return [names[type(item)] for item in record.transcript]


async def test_C12_a_turn_with_two_tool_steps_a_nudge_and_an_answer_adds_two_rows(bench: Benches) -> None:
    model = Steps(calls("paint", colour="red"), calls("look"), says(""), says("done"))
    desk = bench(model, agent(tools=("paint", "look")), tools=[paint, look])
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "paint it")
    assert record.status == "completed"
    assert items_of(record) == ["assistant", "tools", "assistant", "tools", "assistant", "nudge", "assistant"]
    assert await desk.rows(thread) == ["user paint it", "assistant done"]
    assert [row.text for row in await desk.store.list_messages(thread, 2)] == ["paint it", "done"]


async def test_S5_the_user_row_is_stored_before_the_model_is_called(bench: Benches) -> None:
    model = Steps(says("late", delay=1.0))
    desk = bench(model)
    thread = await desk.thread_with()
    task = asyncio.create_task(desk.runtime.send(thread, "first"))
    await model.waiting.wait()
    assert await desk.rows(thread) == ["user first"]
    model.go_on.release()
    await task
    assert await desk.rows(thread) == ["user first", "assistant late"]


@pytest.mark.parametrize(
    ("entry", "status", "reason"),
    [
        (says("half", truncate=True), "truncated", None),
        (says("", fail="no such model", status=404), "failed", "model-error"),
        (says("half", cut=True), "failed", "model-error"),
        (says("", empty=True), "failed", "no-output"),
    ],
)
async def test_S5_turns_that_do_not_complete_store_no_assistant_row(
    bench: Benches, entry: object, status: str, reason: str | None
) -> None:
    desk = bench(Steps(entry))  # type: ignore[arg-type]  # a ScriptEntry
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "go")
    assert (record.status, record.reason, record.answer) == (status, reason, None)
    assert await desk.rows(thread) == ["user go"]
    assert record.unstored_assistant == f"turn-{status}"
    assert record.stored_user == 1


async def test_C28_a_stream_without_its_closing_marker_is_no_answer_but_stays_in_the_record(bench: Benches) -> None:
    desk = bench(Steps(says("The answer is", cut=True)))
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "go")
    assert record.status == "failed"
    assert record.transcript == (AssistantStep(1, "The answer is", partial=True),)


async def test_S5_a_brief_turn_stores_nothing(bench: Benches) -> None:
    desk = bench(Steps(says("seen")))
    thread = await desk.thread_with("u one")
    record = await desk.runtime.send(thread, "look around", brief=True)
    assert (record.kind, record.status, record.answer) == ("brief", "completed", "seen")
    assert (record.unstored_user, record.unstored_assistant) == ("brief-turn", "brief-turn")
    assert await desk.rows(thread) == ["user one"]
    assert record.context is not None
    assert [row.is_request for row in record.context.rows] == [False]


async def test_T6_empty_steps_are_nudged_and_not_sent(bench: Benches) -> None:
    model = Steps(says(""))
    desk = bench(model, agent(nudges=2))
    record = await desk.runtime.send(await desk.thread_with(), "go")
    assert record.reason == "no-output"
    assert items_of(record) == ["assistant", "nudge", "assistant", "nudge", "assistant"]
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    ("budget", "ran_out", "steps"),
    [
        (Budget(steps=2), "steps", 2),
        (Budget(tool_calls=1), "tool-calls", 2),
        (Budget(tokens=1), "tokens", 1),
    ],
)
async def test_T7_a_turn_whose_budget_runs_out_is_cut_and_says_which(
    bench: Benches, budget: Budget, ran_out: str, steps: int
) -> None:
    model = Steps(calls("look"))
    desk = bench(model, agent(tools=("look",), budget=budget), tools=[look])
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "go")
    assert (record.status, record.reason, len(model.requests)) == ("cut", ran_out, steps)
    assert await desk.rows(thread) == ["user go"]
    assert items_of(record)[-1] == "tools", "every call has its result, also one that did not run"


async def test_T7_seconds_end_a_running_step_like_a_stop(bench: Benches) -> None:
    model = Steps(says("never", delay=1.0))
    desk = bench(model, agent(budget=Budget(seconds=0.05)))
    record = await desk.runtime.send(await desk.thread_with(), "go")
    assert (record.status, record.reason) == ("cut", "seconds")
    assert model.closed.is_set()


async def test_T4_unknown_tools_bad_arguments_and_exceptions_are_results(bench: Benches) -> None:
    @tool
    async def break_it() -> str:
        """Break."""
        raise RuntimeError("it broke")

    model = Steps(calls("nowhere"), calls("paint"), calls("break-it"), says("done"))
    desk = bench(model, agent(tools=("paint", "break-it")), tools=[paint, break_it])
    record = await desk.runtime.send(await desk.thread_with(), "go")
    results = [result for item in record.transcript if isinstance(item, ToolResults) for result in item.results]
    assert [result.error for result in results] == [True, True, True]
    assert "nowhere" in str(results[0].output)
    assert "colour" in str(results[1].output)
    assert "it broke" in str(results[2].output)
    assert record.status == "completed"


async def test_T4_calls_of_a_step_see_its_start_and_write_in_call_order(bench: Benches) -> None:
    order: list[str] = []
    first_may_end = asyncio.Event()

    @tool
    async def slow(state: State) -> str:
        """Write last, called first."""
        await first_may_end.wait()
        order.append("slow")
        state.set("winner", "slow")
        return str(state.get("start"))

    @tool
    async def quick(state: State) -> str:
        """Write first, called last."""
        state.set("winner", "quick")
        state.set("start", "changed")
        order.append("quick")
        first_may_end.set()
        return str(state.get("start"))

    model = Steps(calls("slow", "quick"), says("done"))
    desk = bench(model, agent(tools=("slow", "quick")), tools=[slow, quick])
    thread = await desk.runtime.create_thread(agent="a", state={"start": "fresh"})
    record = await desk.runtime.send(thread, "go")
    (group,) = [item for item in record.transcript if isinstance(item, ToolResults)]
    assert order == ["quick", "slow"]
    assert [(result.name, result.output) for result in group.results] == [("slow", "fresh"), ("quick", "changed")]
    assert record.state_after == {"start": "changed", "winner": "quick"}
    assert await desk.store.state(thread) == record.state_after


async def test_T4_writes_stay_when_the_turn_fails(bench: Benches) -> None:
    model = Steps(calls("paint", colour="red"), says("", fail="gone"))
    desk = bench(model, agent(tools=("paint",)), tools=[paint])
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "go")
    assert record.status == "failed"
    assert await desk.store.state(thread) == {"colour": "red"} == record.state_after


async def test_A5_a_state_view_is_rendered_once_and_changes_in_the_next_turn(bench: Benches) -> None:
    model = Steps(calls("paint", colour="red"), says("done"), says("again"))
    desk = bench(model, agent(tools=("paint",), state_views=("colour",)), tools=[paint])
    thread = await desk.runtime.create_thread(agent="a", state={"colour": "blue"})
    await desk.runtime.send(thread, "go")
    await desk.runtime.send(thread, "and now?")
    assert [request.section("state") for request in model.requests] == ["colour: blue", "colour: blue", "colour: red"]


async def test_C27_a_stopped_stream_leaves_one_row_and_its_text_in_the_record(bench: Benches) -> None:
    model = Steps(says("Hello", chunks=2, delay=1.0))
    desk = bench(model)
    thread = await desk.thread_with()
    told: list[TurnEvent] = []

    async def listen() -> None:
        async for event in desk.runtime.stream(thread, "hi"):
            told.append(event)
            if isinstance(event, Opened):
                await model.waiting.wait()
                model.go_on.release()
            if isinstance(event, Streamed):
                await desk.runtime.stop(event.turn)

    await listen()
    assert isinstance(told[-1], Settled)
    record = told[-1].record
    assert record.status == "stopped"
    (partial,) = record.transcript
    assert isinstance(partial, AssistantStep)
    assert partial.partial
    assert "Hello".startswith(partial.text)
    assert partial.text
    assert await desk.rows(thread) == ["user hi"]


async def test_C30_a_stop_between_calls_leaves_nothing_of_the_old_transcript_in_the_next_turn(bench: Benches) -> None:
    began = asyncio.Event()

    @tool
    async def quick() -> str:
        """Return at once."""
        return "quick result"

    @tool
    async def slow() -> str:
        """Never return."""
        began.set()
        await asyncio.Event().wait()
        return "never"

    model = Steps(calls("quick", "slow"), says("fresh"))
    desk = bench(model, agent(tools=("quick", "slow")), tools=[quick, slow])
    thread = await desk.thread_with()
    turns: list[str] = []
    done: list[TurnRecord] = []

    async def listen() -> None:
        async for event in desk.runtime.stream(thread, "go"):
            if isinstance(event, Opened):
                turns.append(event.turn.id)
            if isinstance(event, Settled):
                done.append(event.record)

    task = asyncio.create_task(listen())
    await began.wait()
    await desk.runtime.stop(turns[0])
    await task
    (group,) = [item for item in done[0].transcript if isinstance(item, ToolResults)]
    assert [(result.name, result.error) for result in group.results] == [("quick", False), ("slow", True)]
    await desk.runtime.send(thread, "again")
    assert model.requests[-1].transcript == ()
    assert "quick result" not in str(model.requests[-1])


async def test_T10_a_call_that_cannot_be_interrupted_is_abandoned_and_said_so(bench: Benches) -> None:
    import threading

    began, release = threading.Event(), threading.Event()

    @tool
    def stubborn() -> str:
        """Block a thread."""
        began.set()
        release.wait(5)
        return "too late"

    model = Steps(calls("stubborn"), says("fresh"))
    desk = bench(model, agent(tools=("stubborn",)), tools=[stubborn])
    thread = await desk.thread_with()
    task = asyncio.create_task(desk.runtime.send(thread, "go"))
    await until(began.is_set)
    (running,) = desk.runtime.running
    await desk.runtime.stop(running)
    record = await task
    release.set()
    (group,) = [item for item in record.transcript if isinstance(item, ToolResults)]
    assert record.status == "stopped"
    assert [result.abandoned for result in group.results] == [True]
    assert (await desk.runtime.send(thread, "next")).status == "completed"


async def test_C32_a_cancelled_turn_closes_its_connection_and_frees_the_thread(bench: Benches) -> None:
    model = Steps(says("slow", delay=10.0), says("quick"))
    desk = bench(model)
    thread = await desk.thread_with()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(desk.runtime.send(thread, "one"), 0.05)
    assert model.closed.is_set()
    (record,) = await desk.runtime.records(thread)
    assert record.status == "stopped"
    assert (await desk.runtime.send(thread, "two")).status == "completed"


async def test_T10_closing_the_stream_stops_the_turn(bench: Benches) -> None:
    model = Steps(says("slow", delay=10.0), says("quick"))
    desk = bench(model)
    thread = await desk.thread_with()
    stream = desk.runtime.stream(thread, "one")
    await anext(stream)
    await model.waiting.wait()
    await stream.aclose()  # type: ignore[attr-defined]  # it is an async generator
    (record,) = await desk.runtime.records(thread)
    assert record.status == "stopped"


async def test_C33_an_empty_step_is_nudged_and_two_rows_are_stored(bench: Benches) -> None:
    model = Steps(calls("look"), says(""), says("done"))
    desk = bench(model, agent(tools=("look",)), tools=[look])
    thread = await desk.thread_with()
    await desk.runtime.send(thread, "go")
    assert await desk.rows(thread) == ["user go", "assistant done"]


async def test_C34_of_two_turns_at_once_on_a_thread_one_is_refused_and_writes_nothing(bench: Benches) -> None:
    model = Steps(says("late", delay=1.0), says("after"))
    desk = bench(model)
    thread = await desk.thread_with()
    first = asyncio.create_task(desk.runtime.send(thread, "one"))
    await model.waiting.wait()
    with pytest.raises(ThreadBusy) as refused:
        await desk.runtime.send(thread, "two")
    (running,) = desk.runtime.running
    assert refused.value.turn == running
    model.go_on.release()
    await first
    assert await desk.rows(thread) == ["user one", "assistant late"]


async def test_C37_events_of_two_threads_are_never_mixed(bench: Benches) -> None:
    one_agent = agent()
    desk = bench(Steps(says("hello", chunks=5)), one_agent)
    threads = [await desk.thread_with(), await desk.thread_with()]

    async def listen(thread: str) -> set[str]:
        return {
            event.turn.thread if isinstance(event, Opened) else event.thread
            async for event in desk.runtime.stream(thread, "hi")
        }

    assert await asyncio.gather(*map(listen, threads)) == [{threads[0]}, {threads[1]}]


async def test_C16_a_fallback_in_mid_turn_adds_one_user_and_one_assistant_row(bench: Benches) -> None:
    first = Steps(calls("look"), says("par", chunks=1, fail="upstream died", status=502), name="steps")
    second = Steps(says("whole answer"), name="other")
    chain = agent(tools=("look",), tiers=(TierSpec("steps"), TierSpec("other")))
    desk = bench(first, chain, tools=[look], models={"other": second})
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "go")
    assert await desk.rows(thread) == ["user go", "assistant whole answer"]
    assert [(attempt.step, attempt.model, attempt.outcome) for attempt in record.tiers] == [
        (1, "steps", "ok"),
        (2, "steps", "status"),
        (2, "other", "ok"),
    ]
    assert items_of(record) == ["assistant", "tools", "assistant"]
    assert [type(item) for item in second.requests[0].transcript] == [AssistantStep, ToolResults]


async def test_C26_a_failed_turn_leaves_its_request_and_the_next_one_completes(bench: Benches) -> None:
    desk = bench(Steps(says("", fail="down"), says("a2")))
    thread = await desk.thread_with()
    await desk.runtime.send(thread, "q1")
    await desk.runtime.send(thread, "q2")
    assert await desk.rows(thread) == ["user q1", "user q2", "assistant a2"]


async def test_T11_a_hook_that_raises_refuses_the_answer(bench: Benches) -> None:
    def refuse(record: TurnRecord) -> None:
        raise ValueError(f"not {record.answer}")

    desk = bench(Steps(says("this")), on_complete=refuse)
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "go")
    assert (record.status, record.reason) == ("failed", "hook-error")
    assert "not this" in str(record.error)
    assert await desk.rows(thread) == ["user go"]


async def test_Q1_what_refuses_a_turn_stores_nothing(bench: Benches) -> None:
    desk = bench(Steps(says("x")), agent(tools=("no-such-tool",)))
    thread = await desk.thread_with()
    with pytest.raises(ConfigurationError, match="no-such-tool"):
        await desk.runtime.send(thread, "go")
    with pytest.raises(BadInput):
        await desk.runtime.send(thread, "  ")
    with pytest.raises(UnknownThread):
        await desk.runtime.send("nowhere", "go")
    assert await desk.rows(thread) == []
    assert await desk.runtime.records(thread) == []


async def test_T9_tools_of_an_agent_file_that_is_not_shipped_need_consent(bench: Benches) -> None:
    desk = bench(Steps(says("x")), agent(tools=("json:dumps",), file="mine.yaml"))
    thread = await desk.thread_with()
    with pytest.raises(ConfigurationError, match="--allow-tools"):
        await desk.runtime.send(thread, "go")
    assert await desk.runtime.foreign_tools(thread) == ("json:dumps",)


async def test_the_events_of_a_turn_tell_its_journal_in_order(bench: Benches) -> None:
    model = Steps(calls("look"), says("done"))
    desk = bench(model, agent(tools=("look",)), tools=[look])
    thread = await desk.thread_with()
    told = [event async for event in desk.runtime.stream(thread, "go")]
    assert isinstance(told[0], Opened)
    assert isinstance(told[-1], Settled)
    assert [event.item.kind for event in told if isinstance(event, Journaled)][:4] == [
        "context",
        "attempt",
        "step",
        "results",
    ]
    assert sum(isinstance(event, CallBegan) for event in told) == 1
    assert told[-1].record == await desk.runtime.record(told[0].turn.id)


async def test_M1_a_model_is_given_everything_of_a_step_and_holds_no_state(bench: Benches) -> None:
    model = Steps(calls("look"), says("done"))
    desk = bench(model, agent(tools=("look",), instructions="Be brief.", state_views=("tone",)), tools=[look])
    thread = await desk.runtime.create_thread(agent="a", state={"tone": "plain"})
    record = await desk.runtime.send(thread, "go")
    first, second = model.requests
    assert [section.name for section in first.sections] == ["instructions", "state", "history", "request"]
    assert (first.brief, first.transcript, [tool.name for tool in first.tools]) == ("go", (), ["look"])
    assert (first.limits.context_tokens, first.limits.reserve_tokens) == (8192, 1024)
    assert [(request.turn, request.step, request.tier) for request in model.requests] == [
        (record.turn, 1, 1),
        (record.turn, 2, 1),
    ]
    assert second.sections == first.sections
    assert [type(item) for item in second.transcript] == [AssistantStep, ToolResults]
