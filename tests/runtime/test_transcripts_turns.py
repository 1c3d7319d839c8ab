"""Imported turns: recovered from rows, written as journals, read as records, with recorded and inferred told apart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import Runtime, open_store
from runtime.imports import import_conversation
from runtime.transcripts import load
from runtime.transcripts.turns import ImportedTurn, recover
from runtime.values.items import AssistantStep, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.messages import NewMessage, Role, Window, tool_call_part, tool_result_part
from runtime.values.record import LeftOut

SAMPLES = Path(__file__).parent / "transcript_samples"


def rows(*said: str) -> list[NewMessage]:
    """Rows from words such as `u1`, `a1`, `s1`; `A1` is an assistant calling c1, `T1` the result of c1, `S1` a summary,
    `H1` a hidden user row."""
    return [row(word) for word in said]


def row(word: str) -> NewMessage:
    number = word[1:]
    match word[0]:
        case "A":
            return NewMessage("assistant", "", (tool_call_part(f"c{number}", "look", {"n": number}),))
        case "T":
            return NewMessage("tool", word, (tool_result_part(f"c{number}", "look"),))
        case "S":
            return NewMessage("system", word, flags=("summary",))
        case "H":
            return NewMessage("user", word, flags=("hidden",))
    roles: dict[str, Role] = {"u": "user", "a": "assistant", "s": "system", "t": "tool"}
    return NewMessage(roles[word[0]], word)


def told(turns: Sequence[ImportedTurn]) -> list[tuple[int | None, list[int], int | None]]:
    return [(turn.request, list(turn.sent()), turn.answered) for turn in turns]


def test_a_turn_is_a_request_its_steps_and_its_answer() -> None:
    turns = recover(rows("s1", "u1", "A1", "T1", "a1", "u2", "a2"))
    assert told(turns) == [(2, [1], 5), (6, [1, 2, 3, 4, 5], 7)]
    first, _ = turns
    assert first.items == (
        AssistantStep(1, "", (ToolCall("c1", "look", {"n": "1"}),)),
        ToolResults(1, (ToolResult("c1", "look", "T1"),)),
        AssistantStep(2, "a1"),
    )
    assert first.settlement.status == "completed"
    assert first.settlement.answer == "a1"


def test_an_unanswered_request_is_history_of_the_next_and_a_last_one_is_no_turn() -> None:
    assert told(recover(rows("u1", "u2", "a1", "u3"))) == [(2, [1], 3)]


def test_an_assistant_that_speaks_first_answers_no_request() -> None:
    turns = recover(rows("s1", "a1", "u1", "a2"))
    assert told(turns) == [(None, [1], 2), (3, [1, 2], 4)]


def test_a_turn_without_an_answer_is_stopped_and_says_that_this_is_inferred() -> None:
    unfinished, _ = recover(rows("u1", "A1", "T1", "u2", "a1"))
    assert (unfinished.settlement.status, unfinished.answered) == ("stopped", None)
    assert unfinished.settlement.error == "inferred: the next request comes before an answer"
    (last,) = recover(rows("u1", "A1"))
    assert last.settlement.error == "inferred: the file ends before an answer"


def test_what_a_program_puts_in_between_does_not_end_a_turn() -> None:
    (turn,) = recover(rows("u1", "A1", "T1", "s1", "a1"))
    assert (turn.request, turn.answered, turn.settlement.status) == (1, 5, "completed")
    (retried,) = recover([*rows("u1", "A1", "T1"), NewMessage("user", "again", flags=("retry",)), *rows("a1")])
    assert [type(item) for item in retried.items] == [AssistantStep, ToolResults, Nudge, AssistantStep]


def test_a_compaction_in_the_middle_of_a_turn_is_named() -> None:
    first, second = recover(rows("u1", "A1", "T1", "S1", "a1"))
    assert first.settlement.error == "inferred: the session was compacted before an answer"
    assert (second.request, list(second.sent()), second.answered) == (None, [4], 5)


def test_after_a_compaction_the_summary_is_sent_and_what_came_before_is_not() -> None:
    turns = recover(rows("s1", "u1", "a1", "S1", "u2", "a2", "u3", "a3"))
    assert told(turns)[1:] == [(5, [1, 4], 6), (7, [1, 4, 5, 6], 8)]
    assert turns[1].left_out == (LeftOut(2, 3, "dropped-by-client"),)


def test_hidden_rows_are_left_out_as_hidden() -> None:
    turns = recover(rows("u1", "a1", "H1", "u2", "a2"))
    assert told(turns)[-1] == (4, [1, 2], 5)
    assert turns[-1].left_out == (LeftOut(3, 3, "hidden"),)


def test_results_stand_in_the_order_of_the_calls() -> None:
    conversation = load(SAMPLES / "openai-chat.json")
    results = recover(conversation.messages)[0].items[1]
    assert isinstance(results, ToolResults)
    assert [(result.id, result.output) for result in results.results] == [
        ("c1", "Mill loop, 6 km"),
        ("c2", "dry until four"),
    ]


WORDS = st.lists(st.sampled_from(["u1", "a1", "s1", "A1", "T1", "t1", "S1", "H1"]), max_size=14)


@given(WORDS)
def test_X1_every_row_before_a_turn_is_sent_its_request_or_left_out(words: list[str]) -> None:
    for turn in recover(rows(*words)):
        gone = [seq for one in turn.left_out for seq in range(one.first, one.last + 1)]
        own = [turn.request] if turn.request else []
        assert sorted([*turn.sent(), *own, *gone]) == list(range(1, turn.opened + 1))


@given(WORDS)
def test_every_assistant_row_that_is_not_hidden_is_a_step_of_one_turn(words: list[str]) -> None:
    stored = rows(*words)
    turns = recover(stored)
    steps = sum(isinstance(item, AssistantStep) for turn in turns for item in turn.items)
    assert steps == sum(row.role == "assistant" for row in stored)
    assert all(before.last <= after.opened for before, after in pairwise(turns))


@pytest.fixture
async def runtime() -> Runtime:
    return Runtime(open_store("memory:"), model="offline")


async def test_an_imported_turn_keeps_its_results_and_the_compaction_before_it(runtime: Runtime) -> None:
    imported = await import_conversation(runtime.store, load(SAMPLES / "claude-code.jsonl"))
    first, second = await runtime.records(imported.thread)
    assert [type(item) for item in first.transcript] == [AssistantStep, ToolResults, AssistantStep]
    assert second.context is not None
    assert [row.seq for row in second.context.rows] == [5]
    assert second.context.left_out == (LeftOut(1, 4, "dropped-by-client"), LeftOut(6, 6, "is-request"))
    about = (await runtime.store.thread(imported.thread)).about or {}
    assert "meta message" in str(about["lost"])


async def test_a_request_to_try_again_is_an_item_of_the_record(runtime: Runtime, tmp_path: Path) -> None:
    path = tmp_path / "retried.json"
    path.write_text(json.dumps([
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "A number?"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "seven"}]},
        {"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "Digits please."}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "7"}]},
    ]), "utf-8")  # fmt: skip
    imported = await import_conversation(runtime.store, load(path))
    (record,) = await runtime.records(imported.thread)
    assert [type(item) for item in record.transcript] == [AssistantStep, Nudge, AssistantStep]
    assert record.answer == "7"
    assert [step.estimate == sum(step.parts.values()) for step in record.steps] == [True, True]
    assert record.steps[1].parts["transcript"] > record.steps[0].parts["transcript"]


@pytest.mark.parametrize(("window", "selected"), [(0, 0), (2, 2), ("all", 7)])
async def test_X4_an_imported_turn_runs_again_under_another_window(
    runtime: Runtime, window: Window, selected: int
) -> None:
    imported = await import_conversation(runtime.store, load(SAMPLES / "openai-chat.json"))
    _, second = await runtime.store.turns(imported.thread)
    run = await runtime.rerun(second.id, window=window)
    assert run.context is not None
    assert (run.status, run.request, run.context.selected) == ("completed", second.request, selected)
    assert await runtime.store.length(imported.thread) == 8


async def test_a_stopped_import_leaves_no_thread(runtime: Runtime) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, of: int) -> None:
        assert 0 < done <= of
        raise Stopped

    with pytest.raises(Stopped):
        await import_conversation(runtime.store, load(SAMPLES / "openai-finetune.jsonl", 2), progress=stop)
    assert await runtime.store.threads() == []


async def test_an_import_cancelled_between_turns_leaves_no_thread(runtime: Runtime) -> None:
    def cancel(done: int, of: int) -> None:
        task.cancel()

    conversation = load(SAMPLES / "openai-finetune.jsonl", 2)
    task = asyncio.ensure_future(import_conversation(runtime.store, conversation, progress=cancel))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await runtime.store.threads() == []
