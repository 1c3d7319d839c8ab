"""The scripted model: which entry answers, and every way a step can go."""

from __future__ import annotations

import pytest

from runtime.errors import ModelError
from runtime.events import Called, Ended, ModelEvent, Sent, TextDelta
from runtime.models import Model
from runtime.models.script import ScriptModel
from runtime.values.items import AssistantStep, Item, ToolCall, ToolResult, ToolResults
from runtime.values.request import Limits, Request, Section
from runtime.values.seed import ScriptEntry, When

CALL = ToolCall("c1", "find-notes", {"about": "draft"})


def request_of(
    brief: str = "hi",
    history: str = "",
    transcript: tuple[Item, ...] = (),
    step: int = 1,
    tier: int = 1,
    number: int = 1,
) -> Request:
    sections = (Section("history", history),) if history else ()
    return Request(sections, brief, transcript, (), Limits(), "t1", step, tier, number=number)


async def answer(model: Model, request: Request) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def text_of(model: Model, request: Request) -> str:
    return "".join(event.text for event in await answer(model, request) if isinstance(event, TextDelta))


async def test_M4_script_says_text_in_chunks_and_makes_calls() -> None:
    model = ScriptModel([ScriptEntry(text="Hello", chunks=2, calls=(CALL,))])
    events = await answer(model, request_of())
    assert isinstance(events[0], Sent)
    assert events[1:] == [TextDelta("He"), TextDelta("llo"), Called(CALL), Ended("stop")]


async def test_script_more_chunks_than_letters() -> None:
    events = await answer(ScriptModel([ScriptEntry(text="ab", chunks=9)]), request_of())
    assert events[1:] == [TextDelta("a"), TextDelta("b"), Ended("stop")]


@pytest.mark.parametrize(
    ("when", "request_"),
    [
        (When(step=2), request_of(step=2)),
        (When(turn=3), request_of(number=3)),
        (When(tier=2), request_of(tier=2)),
        (When(request="DRAFT"), request_of("the draft")),
        (When(history="Moon"), request_of(history="user: the moon")),
        (When(result='"due":5'), request_of(transcript=(ToolResults(1, (ToolResult("c", "f", {"due": 5}),)),))),
    ],
    ids=["step", "turn", "tier", "request", "history", "result"],
)
async def test_script_the_first_entry_whose_conditions_hold(when: When, request_: Request) -> None:
    model = ScriptModel([ScriptEntry(when, "special"), ScriptEntry(text="general")])
    assert await text_of(model, request_) == "special"
    assert await text_of(model, request_of()) == "general"


async def test_script_all_conditions_of_an_entry_must_hold() -> None:
    model = ScriptModel([ScriptEntry(When(step=1, request="x"), "both"), ScriptEntry(text="other")])
    assert await text_of(model, request_of("y")) == "other"
    assert await text_of(model, request_of("x", step=2)) == "other"


async def test_script_without_an_entry_says_which_step() -> None:
    model = ScriptModel([ScriptEntry(When(turn=9), "never")])
    with pytest.raises(ModelError, match="no entry for turn 2, step 3, tier 1 of the request 'hi'"):
        await answer(model, request_of(number=2, step=3))


async def test_script_waits_before_each_piece() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    await answer(ScriptModel([ScriptEntry(text="abc", chunks=3, delay=0.5)], sleep=sleep), request_of())
    assert waits == [0.5, 0.5, 0.5]
    await answer(ScriptModel([ScriptEntry(empty=True, delay=2.0)], sleep=sleep), request_of())
    assert waits[3:] == [2.0]


async def test_script_empty_truncated_and_cut() -> None:
    empty = await answer(ScriptModel([ScriptEntry(text="x", calls=(CALL,), empty=True)]), request_of())
    truncated = await answer(ScriptModel([ScriptEntry(text="x", truncate=True)]), request_of())
    cut = await answer(ScriptModel([ScriptEntry(text="x", cut=True)]), request_of())
    assert empty[1:] == [Ended("stop")]
    assert truncated[1:] == [TextDelta("x"), Ended("length")]
    assert cut[1:] == [TextDelta("x")]


async def test_script_fails_with_a_status_and_after_text() -> None:
    busy = ScriptModel([ScriptEntry(fail="slow down", status=429, retry_after=3.0)])
    with pytest.raises(ModelError, match="429 Too Many Requests: slow down") as caught:
        await answer(busy, request_of())
    assert (caught.value.kind, caught.value.status, caught.value.retry_after) == ("status", 429, 3.0)

    events = ScriptModel([ScriptEntry(text="Partial", fail="upstream died")]).stream(request_of())
    assert isinstance(await anext(events), Sent)
    assert await anext(events) == TextDelta("Partial")
    with pytest.raises(ModelError, match="upstream died") as broken:
        await anext(events)
    assert (broken.value.kind, broken.value.status) == ("server", None)


async def test_script_texts_vary_from_answer_to_answer() -> None:
    entries = [ScriptEntry(When(step=2), "fixed"), ScriptEntry(texts=("one", "two"))]
    model, other = ScriptModel(entries), ScriptModel(entries)
    assert [await text_of(model, request_of()) for _ in range(3)] == ["one", "two", "one"]
    assert await text_of(model, request_of(step=2)) == "fixed"
    assert await text_of(other, request_of()) == "one"


async def test_script_calls_get_ids_that_the_turn_has_not_seen() -> None:
    earlier = (AssistantStep(1, "", (CALL,)),)
    model = ScriptModel([ScriptEntry(calls=(CALL, ToolCall("", "add", {}), ToolCall("c2", "add", {})))])
    events = await answer(model, request_of(transcript=earlier, step=2))
    ids = [event.call.id for event in events if isinstance(event, Called)]
    assert ids == ["call_2_1", "call_2_2", "c2"]
