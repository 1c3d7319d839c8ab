"""Calls become threads, turns and steps: what reads as one conversation, and what each of its turns was sent."""

from __future__ import annotations

from runtime.fit import REQUEST_OVERHEAD
from runtime.recorder.words import program_words, sent_words
from runtime.values.items import AssistantStep, ToolResults
from tests.recorder.conftest import Clock, Program


async def two_turns(program: Program) -> None:
    """Two requests, each with a tool call."""
    program.tools = [{"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {}}}]
    for number, (request, id) in enumerate((("Where is the key?", "c1"), ("And the lamp?", "c2"))):
        program.says(request)
        await program.call(10 * number + 1, None, ((id, "look", '{"at": "desk"}'),))
        program.result(id, f"found {number}")
        await program.call(10 * number + 2, f"It is there, {number}.")


async def test_S5_two_turns_with_a_call_each_are_one_thread(either: Program) -> None:
    await two_turns(either)
    (thread,) = await either.threads()
    assert (thread.origin, thread.name) == ("recorded", "Where is the key?")
    assert await either.rows() == [
        ("user", "Where is the key?"),
        ("assistant", ""),
        ("tool", "found 0"),
        ("assistant", "It is there, 0."),
        ("user", "And the lamp?"),
        ("assistant", ""),
        ("tool", "found 1"),
        ("assistant", "It is there, 1."),
    ]
    first, second = await either.records()
    assert [(r.status, r.answer, r.stored_user, r.stored_assistant) for r in (first, second)] == [
        ("completed", "It is there, 0.", 1, 4),
        ("completed", "It is there, 1.", 5, 8),
    ]
    assert (first.origin, first.layout, first.kind, first.window) == ("recorded", "messages", "envelope", "all")


async def test_T3_the_transcript_of_a_recorded_turn_holds_steps_and_results(either: Program) -> None:
    await two_turns(either)
    record = (await either.records())[1]
    step, results, answer = record.transcript
    assert isinstance(step, AssistantStep)
    assert isinstance(results, ToolResults)
    assert isinstance(answer, AssistantStep)
    assert [(call.id, call.name, call.arguments) for call in step.calls] == [("c2", "look", {"at": "desk"})]
    assert [(result.id, result.name, result.output) for result in results.results] == [("c2", "look", "found 1")]
    assert (answer.step, answer.text) == (2, "It is there, 1.")


async def test_A6_what_stood_before_is_the_opening_history(either: Program) -> None:
    await two_turns(either)
    first, second = (record.context for record in await either.records())
    assert first is not None
    assert second is not None
    assert [section.name for section in first.sections] == ["instructions", "request"]
    assert [row.seq for row in second.rows] == [1, 2, 3, 4]
    assert (second.stored, second.selected) == (5, 4)
    assert [(left.first, left.reason) for left in second.left_out] == [(5, "is-request")]
    assert second.since.entered == (1, 2, 3, 4)
    assert second.section("instructions") is not None
    assert sent_words(second) == "recorded: your program sent 5 of 5 messages"
    assert program_words(second) == ()


async def test_A6_the_bodies_are_kept_by_step(either: Program) -> None:
    await two_turns(either)
    for record in await either.records():
        assert [step.step for step in record.steps] == [1, 2]
        assert all(isinstance(step.body, dict) and step.body["model"] == "small" for step in record.steps)


async def test_M5_estimates_stand_beside_what_the_provider_counted(either: Program) -> None:
    await two_turns(either)
    for record in await either.records():
        for step, attempt in zip(record.steps, record.tiers, strict=True):
            assert sum(step.parts.values()) == step.estimate == attempt.estimate
            assert attempt.usage is not None
            assert (attempt.model, attempt.outcome, attempt.usage.input) == ("small", "ok", 10)
    last = (await either.records())[1].steps[1].parts
    assert last["overhead"] == REQUEST_OVERHEAD
    assert all(last[part] > 0 for part in ("instructions", "history", "request", "tools", "transcript"))


async def test_the_model_and_the_tools_are_told_of_the_thread(either: Program) -> None:
    await two_turns(either)
    about = (await either.threads())[0].about
    assert about is not None
    assert (about["model"], about["instructions"]) == ("small", "Be brief.")
    assert about["tools"] == [{"name": "look", "description": "Look.", "schema": {}}]


async def test_a_turn_runs_while_its_calls_wait_for_results(program: Program) -> None:
    program.says("Where?")
    await program.began(1)
    assert (await program.records())[0].status == "running"
    await program.ended(1, program.dialect.whole(None, (("c1", "look", "{}"),)))
    assert (await program.records())[0].status == "running"
    await program.recording.finish()
    record = (await program.records())[0]
    assert (record.status, record.error) == ("stopped", "the recording ended before an answer came")


async def test_T4_parallel_results_come_in_the_order_of_the_calls(either: Program) -> None:
    either.says("Both?")
    await either.call(1, "Let me see.", (("a", "look", '{"at": 1}'), ("b", "look", '{"at": 2}')))
    either.result("b", "second")
    either.result("a", "first")
    await either.call(2, "Done.")
    results = (await either.records())[0].transcript[1]
    assert isinstance(results, ToolResults)
    assert [(result.id, result.output) for result in results.results] == [("a", "first"), ("b", "second")]


async def test_calls_that_were_the_answer_complete_their_turn(program: Program) -> None:
    program.says("Classify it.")
    await program.call(1, None, (("c1", "final_result", '{"kind": "note"}'),))
    program.result("c1", "Final result processed.")
    program.says("And this?")
    await program.call(2, "A letter.")
    first, second = await program.records()
    assert (first.status, first.answer) == ("completed", None)
    assert isinstance(first.transcript[1], ToolResults)
    assert second.answer == "A letter."


async def test_a_request_that_comes_before_an_answer_stops_the_turn(program: Program) -> None:
    program.says("One?")
    await program.call(1, None, (("c1", "look", "{}"),))
    program.says("Never mind.")
    await program.call(2, "Fine.")
    first, second = await program.records()
    assert (first.status, second.status) == ("stopped", "completed")


async def test_a_conversation_that_was_under_way_keeps_its_past_as_history(program: Program) -> None:
    program.messages = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "Where is it?"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "on the desk"},
    ]
    await program.call(1, "On the desk.")
    (record,) = await program.records()
    assert record.context is not None
    assert [row.seq for row in record.context.rows] == [1, 2]
    assert (record.request, record.stored_user, record.stored_assistant) == ("Where is it?", 3, 6)
    assert [item.step for item in record.transcript] == [1, 1, 2]
    assert [attempt.step for attempt in record.tiers] == [2]


async def test_instructions_that_change_are_those_of_their_turn(program: Program) -> None:
    program.system = "Be brief."
    program.says("One?")
    await program.call(1, "1.")
    program.system = "Be long."
    program.says("Two?")
    await program.call(2, "2.")
    assert len(await program.threads()) == 1
    texts = [r.context.section("instructions").text for r in await program.records() if r.context]  # type: ignore[union-attr]
    assert texts == ["Be brief.", "Be long."]


async def test_a_call_that_cannot_be_read_is_no_thread(program: Program) -> None:
    import pytest

    from runtime.errors import BadInput
    from runtime.recorder.traffic import Began

    for body in (b"", b"[1]", b"{", b'{"messages": 3}', b"\xff\xfe"):
        with pytest.raises(BadInput):
            await program.recording.take(Began(1, "openai-chat", body))
    assert await program.threads() == []


async def test_T5_failed_calls_are_failed_turns_with_their_status(either: Program, clock: Clock) -> None:
    either.says("Hi")
    await either.began(1)
    await either.ended(1, {"error": {"message": "bad key"}}, status=401)
    (record,) = await either.records()
    assert (record.status, record.reason, record.tiers[0].status) == ("failed", "model-error", 401)
    assert record.tiers[0].configuration
    assert record.error == "401 Unauthorized: bad key"
    assert await either.rows() == [("user", "Hi")]
    assert record.steps[0].body is not None


async def test_S5_a_call_that_is_tried_again_is_a_further_attempt(either: Program, clock: Clock) -> None:
    either.says("Hi")
    await either.began(1)
    await either.ended(1, {"error": {"message": "busy"}}, status=503)
    assert (await either.records())[0].status == "running"
    clock.now = 2
    await either.call(2, "Hello.")
    (record,) = await either.records()
    assert [(a.step, a.outcome, a.status) for a in record.tiers] == [(1, "status", 503), (1, "ok", None)]
    assert (record.status, [step.step for step in record.steps]) == ("completed", [1])
    assert await either.rows() == [("user", "Hi"), ("assistant", "Hello.")]


async def test_a_call_that_is_not_tried_again_fails_when_its_time_is_over(program: Program, clock: Clock) -> None:
    program.says("Hi")
    await program.began(1)
    await program.ended(1, b"", status=500)
    due = program.recording.next_due()
    assert due == 10.0
    clock.now = due
    await program.recording.settle_due()
    (record,) = await program.records()
    assert (record.status, record.tiers[0].status) == ("failed", 500)
    assert program.recording.next_due() is None
    await program.call(2, "Hello.")
    first, second = await program.records()
    assert (first.stored_user, second.stored_user) == (1, 1)
    assert await program.rows() == [("user", "Hi"), ("assistant", "Hello.")]


async def test_M3_a_stream_that_broke_off_is_a_failure_with_what_came(either: Program) -> None:
    either.says("Hi")
    await either.began(1, stream=True)
    await either.ended(1, either.dialect.stream(either.dialect.text("Par")), end="cut-off")
    (record,) = await either.records()
    assert (record.status, record.reason, record.tiers[0].outcome) == ("failed", "model-error", "cut-off")
    step = record.transcript[0]
    assert isinstance(step, AssistantStep)
    assert (step.text, step.partial) == ("Par", True)


async def test_T10_a_program_that_went_away_stopped_its_turn(either: Program) -> None:
    either.says("Hi")
    await either.began(1, stream=True)
    await either.ended(1, either.dialect.stream(either.dialect.text("Par")), end="left")
    (record,) = await either.records()
    assert (record.status, record.tiers[0].outcome) == ("stopped", "stopped")
    assert record.transcript[0].text == "Par"  # type: ignore[union-attr]  # a step


async def test_a_program_that_leaves_after_the_end_has_its_answer(either: Program) -> None:
    either.says("Hi")
    await either.began(1, stream=True)
    await either.ended(1, either.dialect.stream(either.dialect.text("All."), either.dialect.end()), end="left")
    assert (await either.records())[0].answer == "All."


async def test_T5_an_answer_at_the_limit_is_truncated(either: Program) -> None:
    either.says("Hi")
    await either.call(1, "Half of", reason="length")
    assert (await either.records())[0].status == "truncated"
    assert await either.rows() == [("user", "Hi")]
    either.says("Go on.")
    await either.call(2, "it.")
    assert await either.rows() == [("user", "Hi"), ("assistant", "Half of"), ("user", "Go on."), ("assistant", "it.")]


async def test_an_answer_of_nothing_is_no_output(program: Program) -> None:
    program.says("Hi")
    await program.call(1, "")
    record = (await program.records())[0]
    assert (record.status, record.reason) == ("failed", "no-output")
