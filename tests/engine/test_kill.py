"""kill -9 at any moment of a turn loses no stored message, invents none, and leaves a journal that folds truly."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from runtime.values.items import AssistantStep, ToolResults
from runtime.values.record import TurnRecord
from tests.engine.turning import runtime_on

ROOT = Path(__file__).parents[2]
LARGE = settings().max_examples > 1000
KILLS = 100 if LARGE else 8


def killed_after(path: str, thread: str, answers: int, more: float) -> list[list[str]]:
    """Run turns until `answers` are told, then kill the process within `more` seconds; what it told, line by line."""
    command = [sys.executable, "-m", "tests.engine.turning", path, thread]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
    assert running.stdout is not None
    told = [running.stdout.readline() for _ in range(answers)]
    try:
        running.wait(more)
    except subprocess.TimeoutExpired:
        running.kill()
    told += running.stdout.read().splitlines()
    running.stdout.close()
    running.wait()
    return [line.split() for line in told if line.strip()]


@pytest.mark.fuzz
async def test_T5_S5_kill_9_at_random_moments_loses_nothing_and_invents_nothing(tmp_path: Path) -> None:
    moments = random.Random(20261130)
    path = f"sqlite:///{tmp_path / 'killed.db'}"
    runtime = runtime_on(path)
    thread = await runtime.create_thread(agent="counter")
    for _ in range(KILLS):
        told = killed_after(path, thread, moments.randint(0, 2), moments.random() * 0.02)
        await holds(runtime_on(path), thread, told)
    await runtime.close()


async def holds(runtime: object, thread: str, told: list[list[str]]) -> None:
    """Everything told of is stored, every row belongs to a turn that explains it, and the next turn runs."""
    from runtime.threads import Runtime

    assert isinstance(runtime, Runtime)
    after = await runtime.send(thread, "after the kill")
    assert after.status == "completed"
    rows = {row.seq: row for row in await runtime.store.list_messages(thread, 10**9)}
    assert sorted(rows) == list(range(1, len(rows) + 1))
    for user, assistant, turn in told:
        assert (rows[int(user)].role, rows[int(user)].turn) == ("user", turn)
        assert (rows[int(assistant)].role, rows[int(assistant)].turn) == ("assistant", turn)
    records = await runtime.records(thread)
    explained = {record.stored_user for record in records} | {record.stored_assistant for record in records}
    assert explained - {None} == set(rows)
    state = await runtime.store.state(thread)
    assert state == records[-1].state_after
    for record in records:
        is_true(record)
    await runtime.close()


def is_true(record: TurnRecord) -> None:
    """A record that does not claim what it has no evidence for."""
    assert record.status == "completed" or (record.status, record.reason) == ("failed", "interrupted")
    assert (record.stored_assistant is not None) == (record.status == "completed")
    calls = [call.id for item in record.transcript if isinstance(item, AssistantStep) for call in item.calls]
    results = [result.id for item in record.transcript if isinstance(item, ToolResults) for result in item.results]
    assert calls == results
    counted = any(
        not result.error for item in record.transcript if isinstance(item, ToolResults) for result in item.results
    )
    assert (record.state_after != record.state_before) == counted
