"""A conversation from a file as a thread with imported turns: what was recorded, what was in front of the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime import Runtime, open_store
from runtime.imports import import_conversation
from runtime.transcripts import load
from runtime.values.items import AssistantStep, ToolResults
from runtime.values.record import LeftOut

BODY = {
    "model": "small-1",
    "tools": [{"type": "function", "function": {"name": "balance", "parameters": {"type": "object"}}}],
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "What is my balance?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "balance", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "300"},
        {"role": "assistant", "content": "It is 300."},
        {"role": "user", "content": "And the order?"},
        {"role": "assistant", "content": "On its way."},
        {"role": "user", "content": "When?"},
    ],
}


@pytest.fixture(params=["memory:", "sqlite"])
async def runtime(request: Any, tmp_path: Path) -> Any:
    url = "memory:" if request.param == "memory:" else f"sqlite:///{tmp_path / 's.db'}"
    opened = Runtime(open_store(url))
    yield opened
    await opened.close()


async def imported(runtime: Runtime, tmp_path: Path, body: Any = BODY) -> str:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    return (await import_conversation(runtime.store, load(path))).thread


async def test_S5_an_import_fills_the_thread_before_its_first_turn(runtime: Runtime, tmp_path: Path) -> None:
    thread = await imported(runtime, tmp_path)
    rows = await runtime.store.list_messages(thread, 100)
    assert [row.role for row in rows] == [
        "system", "user", "assistant", "tool", "assistant", "user", "assistant", "user",
    ]  # fmt: skip
    known = await runtime.store.thread(thread)
    assert known.origin == "imported"
    assert known.about is not None
    assert (known.about["format"], known.about["model"]) == ("openai-chat", "small-1")
    assert known.about["recorded"]
    assert known.about["inferred"]


async def test_each_answer_with_what_preceded_it_is_an_imported_turn(runtime: Runtime, tmp_path: Path) -> None:
    first, second = await runtime.records(await imported(runtime, tmp_path))
    assert (first.origin, first.layout, first.request) == ("imported", "messages", "What is my balance?")
    assert first.context is not None
    assert [row.seq for row in first.context.rows] == [1]
    assert first.context.left_out == (LeftOut(2, 2, "is-request"),)
    assert [type(item) for item in first.transcript] == [AssistantStep, ToolResults, AssistantStep]
    assert (first.answer, first.stored_user, first.stored_assistant) == ("It is 300.", 2, 5)
    assert second.context is not None
    assert [(row.seq, row.needs) for row in second.context.rows] == [(1, 6), (2, 5), (3, 4), (4, 3), (5, 2)]
    section = second.context.section("history")
    assert section is not None
    assert section.text.endswith("tool: 300\nassistant: It is 300.")
    assert (second.context.since.turn, second.context.since.entered) == (first.turn, (2, 3, 4, 5))
    assert [tool.name for tool in second.context.tools] == ["balance"]
    assert second.fit is None


async def test_F1_estimates_of_imported_steps_add_up(runtime: Runtime, tmp_path: Path) -> None:
    for record in await runtime.records(await imported(runtime, tmp_path)):
        for step in record.steps:
            assert step.estimate == sum(step.parts.values())
        assert [attempt.estimate for attempt in record.tiers] == [step.estimate for step in record.steps]
        assert {attempt.model for attempt in record.tiers} == {"small-1"}


async def test_X4_an_imported_turn_is_run_again_with_the_files_tools(runtime: Runtime, tmp_path: Path) -> None:
    thread = await imported(runtime, tmp_path)
    turn = (await runtime.records(thread))[1].turn
    run = await runtime.rerun(turn, window=2)
    assert run.status == "completed"
    assert run.context is not None
    assert [row.seq for row in run.context.rows] == [5, 6]
    assert [tool.name for tool in run.context.tools] == ["balance"]
    again = await runtime.rerun(run.turn, window=3)
    assert again.status == "completed"
    assert await runtime.store.length(thread) == 8


async def test_an_imported_thread_goes_on(runtime: Runtime, tmp_path: Path) -> None:
    thread = await imported(runtime, tmp_path)
    record = await runtime.send(thread, "What did I say earlier?", window="all")
    assert record.stored_user == 9
    assert record.context is not None
    assert record.context.selected == 9
    assert record.context.since.entered == (6, 7, 8, 9)


async def test_a_long_session_costs_what_its_rows_cost(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    runtime = Runtime(open_store(f"sqlite:///{path}"))
    messages = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " + "x" * 400} for n in range(600)]
    thread = await imported(runtime, tmp_path, messages)
    last = (await runtime.records(thread, limit=1))[-1]
    assert last.context is not None
    assert last.context.selected == 598
    await runtime.close()
    assert path.stat().st_size < 8 * sum(len(message["content"]) for message in messages)
