"""Every shipped seed shows its lesson: all it expects holds, with the models that need no key (DESIGN)."""

from __future__ import annotations

import pytest

from runtime import Runtime, open_store
from runtime.expectations import failures
from runtime.seeds import check_file, shipped_seed, shipped_seed_names
from runtime.values.record import TurnRecord
from runtime.values.seed import Expectation

NAMES = shipped_seed_names()
EXPECTED = [(name, n) for name in NAMES for n in range(len(shipped_seed(name).expect))]


async def run(seed: str, expectation: Expectation) -> tuple[Runtime, TurnRecord]:
    store = open_store("memory:")
    runtime = Runtime(store)
    thread = await runtime.create_thread(seed=seed)
    for request in expectation.after:
        await runtime.send(thread, request)
    return runtime, await runtime.send(thread, expectation.request, window=expectation.window)


@pytest.mark.parametrize(("name", "n"), EXPECTED, ids=[f"{name}-{n}" for name, n in EXPECTED])
async def test_what_a_shipped_seed_expects_holds(name: str, n: int) -> None:
    expectation = shipped_seed(name).expect[n]
    _, record = await run(name, expectation)
    assert failures(expectation, record) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_seed_is_without_fault_and_explains_itself(name: str) -> None:
    seed = shipped_seed(name)
    assert check_file(seed.file) == []
    assert seed.name == name
    assert 20 < len(seed.about) <= 90
    assert seed.suggestions
    assert seed.expect
    assert {expectation.request for expectation in seed.expect} & set(seed.suggestions)


def test_the_lessons_people_ask_for_are_all_there() -> None:
    assert set(NAMES) >= {
        "friday-notes", "asked-twice", "long-thread", "one-huge-message", "failed-before", "forgotten-result",
        "researcher", "no-room",
    }  # fmt: skip


async def test_T8_the_researcher_sees_its_brief_and_no_history() -> None:
    seed = shipped_seed("researcher")
    _, record = await run("researcher", seed.expect[0])
    assert record.children
    (child,) = record.children.values()
    assert child.context
    assert [section.name for section in child.context.sections] == ["instructions", "request"]
    assert child.context.selected == 0


async def test_F1_no_room_blames_the_instructions() -> None:
    seed = shipped_seed("no-room")
    _, record = await run("no-room", seed.expect[2])
    assert record.overflow
    parts = record.overflow.parts
    assert parts["history"] == 0
    assert parts["instructions"] > record.fit.limit - record.fit.reserve if record.fit else False


async def test_A4_asked_twice_marks_the_row_of_the_request_alone() -> None:
    seed = shipped_seed("asked-twice")
    _, record = await run("asked-twice", seed.expect[3])
    assert record.context
    same = [(row.seq, row.is_request) for row in record.context.rows if row.text == record.request]
    assert same == [(3, False), (5, True)]
