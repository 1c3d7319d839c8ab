"""What a turn is resolved to: agents by name and file, one tier for a whole run, the script of its own seed."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from runtime.errors import BadInput
from runtime.events import Ended, ModelEvent, Sent, Streamed, TextDelta
from runtime.stores.memory import MemoryStore
from runtime.threads import Runtime
from runtime.values.agent import Agent, TierSpec
from runtime.values.request import Request
from runtime.values.seed import ScriptEntry, Seed
from tests.engine.conftest import Bench, Steps, agent, calls, says

Benches = Callable[..., Bench]

SEED = "seed: s\nagent: scribe\nmessages:\n  - user: hello\n"


def changed(path: Path, text: str) -> None:
    """Write a file so that its time says so, whatever the clock of the file system."""
    path.write_text(text)
    os.utime(path, ns=(path.stat().st_mtime_ns + 10**9,) * 2)


async def test_M2_a_model_for_one_run_replaces_the_chain_of_its_delegates_too(bench: Benches) -> None:
    own = Steps(says("mine"))
    given = Steps(calls("b", brief="look"), says("looked"), says("done"), name="given")
    below = agent("b", tiers=(TierSpec("own"),))
    desk = bench(Steps(says("x")), agent(delegates=("b",)), below, models={"given": given, "own": own})
    thread = await desk.thread_with()
    sent = await desk.runtime.send(thread, "go", model="given")
    assert sent.answer == "done"
    assert [request.brief for request in given.requests] == ["go", "look", "go"]
    assert own.requests == []


async def test_M4_two_seeds_made_in_python_answer_by_their_own_scripts() -> None:
    scribe = Agent("scribe", tiers=(TierSpec("script"),))
    runtime = Runtime(MemoryStore(), agents={"scribe": scribe})
    for name in ("one", "two", "three"):
        seed = Seed(name, "", "scribe", {}, {}, (), script=(ScriptEntry(text=name),))
        thread = await runtime.create_thread(seed=seed)
        assert (await runtime.send(thread, "hi")).answer == name


async def test_an_agent_file_beside_a_seed_that_changed_holds_for_the_next_turn(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SEED)
    scribe = tmp_path / "scribe.yaml"
    scribe.write_text("agent: scribe\nhistoryWindow: 1\n")
    runtime = Runtime(MemoryStore())
    thread = await runtime.create_thread(seed=tmp_path / "s.yaml")
    assert (await runtime.send(thread, "one")).window == 1
    changed(scribe, "agent: scribe\nhistoryWindow: 2\n")
    assert (await runtime.send(thread, "two")).window == 2


async def test_Q1_a_thread_whose_seed_is_gone_goes_on_with_an_agent_that_is_named(tmp_path: Path) -> None:
    seed = tmp_path / "s.yaml"
    seed.write_text(SEED)
    (tmp_path / "scribe.yaml").write_text("agent: scribe\n")
    store = MemoryStore()
    thread = await Runtime(store).create_thread(seed=seed)
    seed.unlink()
    runtime = Runtime(store)
    with pytest.raises(BadInput, match="name an agent to go on without it"):
        await runtime.send(thread, "one")
    assert await store.length(thread) == 1
    assert (await runtime.send(thread, "two", agent="notes")).status == "completed"


async def test_T8_a_delegate_of_an_agent_file_is_the_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "lead.yaml").write_text("agent: lead\ndelegates: [scribe]\n")
    (tmp_path / "scribe.yaml").write_text("agent: scribe\ninstructions: Write it down.\n")
    runtime = Runtime(MemoryStore())
    thread = await runtime.create_thread(agent=str(tmp_path / "lead.yaml"))
    assert (await runtime.plan_of(thread)).delegates == ("scribe",)


class Halves:
    """A model that sends the two halves of a letter apart, and half of one at the end."""

    name = "halves"

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        yield Sent(b"{}")
        for piece in ("a\ud83d", "\ude00b", "", "c\ud83d"):
            yield TextDelta(piece)
        yield Ended("stop")


async def test_C65_the_halves_of_a_letter_in_two_pieces_become_one_letter() -> None:
    scribe = Agent("scribe", tiers=(TierSpec("halves"),))
    runtime = Runtime(MemoryStore(), agents={"scribe": scribe}, models={"halves": Halves()})
    thread = await runtime.create_thread(agent="scribe")
    events = [event async for event in runtime.stream(thread, "hi")]
    assert [event.text for event in events if isinstance(event, Streamed)] == ["a", "\U0001f600b", "c"]
    (_, answer) = await runtime.store.list_messages(thread, 2)
    assert answer.text == "a\U0001f600bc\ufffd"


async def test_Q1_a_turn_whose_seed_is_gone_runs_again_with_an_agent_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("seed: mine\nabout: gone soon\nagent: notes\nmessages:\n  - user: hello\n", encoding="utf-8")
    store = MemoryStore()
    runtime = Runtime(store, model="offline")
    thread = await runtime.create_thread(seed=str(path))
    record = await runtime.send(thread, "What did I say?")
    path.unlink()
    later = Runtime(store, model="offline")
    with pytest.raises(BadInput, match="mine"):
        await later.rerun(record.turn)
    assert (await later.rerun(record.turn, agent="notes")).status == "completed"
