"""Imported turns: recovered from rows, written as journals, read as records, with recorded and inferred told apart."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import Runtime, importing
from runtime.explain.accounts import InContext, LeftOutRows, rows_of
from runtime.importing import import_thread, imported_agent, opening_of
from runtime.records import read_record
from runtime.stores import Store, open_store
from runtime.transcripts import load
from runtime.transcripts.turns import INFERRED, RECORDED, ImportedTurn, recover
from runtime.values.items import AssistantStep, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.messages import NewMessage, Role, Window, tool_call_part, tool_result_part
from runtime.values.record import ContextRecord, LeftOut, StepItem, TurnRecord

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
def test_X1_every_row_before_a_turn_is_accounted_for_once(words: list[str]) -> None:
    stored = rows(*words)
    for turn in recover(stored):
        context = importing.context_of(turn, stored, importing.Sent())
        accounts = rows_of(context)
        seqs = [seq for account in accounts for seq in _seqs(account)]
        assert sorted(seqs) == list(range(1, turn.opened + 1))
        assert context.stored == turn.opened


@given(WORDS)
def test_every_assistant_row_that_is_not_hidden_is_a_step_of_one_turn(words: list[str]) -> None:
    stored = rows(*words)
    turns = recover(stored)
    steps = sum(isinstance(item, AssistantStep) for turn in turns for item in turn.items)
    assert steps == sum(row.role == "assistant" for row in stored)
    assert all(before.last <= after.opened for before, after in pairwise(turns))


@given(WORDS)
def test_F1_parts_of_every_step_add_up(words: list[str]) -> None:
    stored = rows(*words)
    for turn in recover(stored):
        context = importing.context_of(turn, stored, importing.Sent())
        for item in importing.journal_of(turn, stored, importing.Sent(), context):
            if isinstance(item.body, StepItem):
                assert sum(item.body.parts.values()) == item.body.estimate


@pytest.fixture
async def store() -> Store:
    return open_store("memory:")


async def records(store: Store, thread: str) -> list[TurnRecord]:
    return [await read_record(store, turn, bodies=False) for turn in await store.turns(thread)]


async def test_an_imported_thread_has_its_rows_and_its_turns(store: Store) -> None:
    conversation = load(SAMPLES / "openai-chat.json")
    thread = await import_thread(store, conversation)
    known = await store.thread(thread)
    assert (known.origin, known.length, known.name) == ("imported", 8, "Where can I walk near Belwick?")
    first, second = await records(store, thread)
    assert (first.origin, first.layout, first.kind, first.status) == ("imported", "messages", "envelope", "completed")
    assert first.request == "Where can I walk near Belwick?"
    assert (first.stored_user, first.stored_assistant) == (2, 6)
    assert (second.stored_user, second.stored_assistant) == (7, 8)
    assert second.answer == "Yes, that is the mill."
    assert [type(item) for item in first.transcript] == [AssistantStep, ToolResults, AssistantStep]
    assert [row.turn for row in await store.list_messages(thread, 99)] == [None] * 8


async def test_the_context_of_an_imported_turn_holds_the_tools_and_every_row_before(store: Store) -> None:
    thread = await import_thread(store, load(SAMPLES / "openai-chat.json"))
    _, second = await records(store, thread)
    context = _context(second)
    assert [row.seq for row in context.rows] == [1, 2, 3, 4, 5, 6]
    assert context.left_out == (LeftOut(7, 7, "is-request"),)
    assert [tool.name for tool in context.tools] == ["find_trail"]
    assert context.since.entered == (3, 4, 5, 6, 7)
    assert all(row.id for row in context.rows)
    assert second.steps[0].parts["tools"] > 0
    assert second.steps[0].parts["request"] > 1_000  # the picture's flat cost


async def test_the_model_that_answered_is_named(store: Store) -> None:
    thread = await import_thread(store, load(SAMPLES / "openai-chat.json"))
    first, _ = await records(store, thread)
    assert [(attempt.step, attempt.model) for attempt in first.tiers] == [(1, "gpt-x"), (2, "gpt-x")]


@pytest.mark.parametrize(("window", "selected"), [(0, 0), (2, 2), ("all", 7)])
async def test_X4_an_imported_turn_runs_again_under_another_window(store: Store, window: Window, selected: int) -> None:
    thread = await import_thread(store, load(SAMPLES / "openai-chat.json"))
    _, second = await store.turns(thread)
    run = await Runtime(store, model="offline").rerun(second.id, window=window)
    assert (run.status, run.request, _context(run).selected) == ("completed", second.request, selected)
    assert (await store.thread(thread)).length == 8


async def test_what_is_inferred_and_lost_is_kept_with_the_thread(store: Store) -> None:
    thread = await import_thread(store, load(SAMPLES / "claude-code.jsonl"))
    about = (await store.thread(thread)).about or {}
    assert about["recorded"] == list(RECORDED)
    assert about["inferred"] == list(INFERRED)
    assert about["format"] == "claude-code"
    assert "meta message" in str(about["lost"])
    _, second = await records(store, thread)
    assert _context(second).left_out[0] == LeftOut(1, 4, "dropped-by-client")


async def test_the_agent_that_goes_on_has_the_instructions_and_the_tools(store: Store) -> None:
    thread = await import_thread(store, load(SAMPLES / "openai-chat.json"))
    agent = imported_agent((await store.thread(thread)).about or {})
    assert agent.instructions == "You plan walks."
    assert agent.window == "all"
    assert [tool["name"] for tool in agent.tool_schemas] == ["find_trail"]


async def test_contexts_that_are_not_journaled_are_the_same_when_asked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = load(SAMPLES / "openai-finetune.jsonl", 2)
    whole = await records(store, await import_thread(store, conversation))
    monkeypatch.setattr(importing, "KEPT_CONTEXTS", 250)
    thread = await import_thread(store, conversation)
    part = await records(store, thread)
    assert [record.context is not None for record in part] == [False, True]
    assert part[0].steps == whole[0].steps
    opening = await opening_of(store, thread, 1)
    assert opening is not None
    assert _texts(opening.context) == _texts(_context(whole[0]))
    assert await opening_of(store, thread, 3) is None


async def test_a_stopped_import_leaves_no_thread(store: Store) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, of: int) -> None:
        assert (done, of) == (1, 2)
        raise Stopped

    with pytest.raises(Stopped):
        await import_thread(store, load(SAMPLES / "openai-finetune.jsonl", 2), progress=stop)
    assert await store.threads() == []


async def test_a_cancelled_import_leaves_no_thread(store: Store) -> None:
    task = asyncio.ensure_future(import_thread(store, load(SAMPLES / "claude-code.jsonl")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.threads() == []


def _seqs(account: InContext | LeftOutRows) -> range:
    if isinstance(account, InContext):
        return range(account.seq, account.seq + 1)
    return range(account.first, account.last + 1)


def _context(record: TurnRecord) -> ContextRecord:
    assert record.context is not None
    return record.context


def _texts(context: ContextRecord) -> list[tuple[str, str, int]]:
    return [(section.name, section.text, section.tokens) for section in context.sections]
