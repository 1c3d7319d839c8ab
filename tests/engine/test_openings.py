"""Openings: which rows a turn is given, in which sections, and whether they fit (A1-A6, S2, S3, F1)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.errors import BadInput
from runtime.tools import tool
from runtime.values.agent import FitLimits
from runtime.values.request import Attachment
from tests.engine.conftest import Bench, Steps, agent, calls, says

Benches = Callable[..., Bench]
EIGHT = tuple(f"{'ua'[n % 2]} m{n}" for n in range(8))


async def test_A1_sections_come_in_order_and_empty_ones_are_left_out(bench: Benches) -> None:
    model = Steps(says("ok"))
    desk = bench(model, agent(instructions="Be kind.", state_views=("tone", "missing")))
    thread = await desk.runtime.create_thread(agent="a", state={"tone": "brief"})
    await desk.runtime.send(thread, "hello")
    assert [(section.name, section.text) for section in model.requests[0].sections] == [
        ("instructions", "Be kind."),
        ("state", "tone: brief"),
        ("history", "user: hello"),
        ("request", "hello"),
    ]
    bare = Steps(says("ok"))
    other = bench(bare, agent(window=0))
    await other.runtime.send(await other.thread_with(), "hello")
    assert [section.name for section in bare.requests[0].sections] == ["request"]


async def test_C04_window_zero_sends_none_of_the_rows(bench: Benches) -> None:
    model = Steps(says("ok"))
    desk = bench(model)
    thread = await desk.thread_with("u alpha", "a bravo", "u charlie", "a delta", "u echo")
    record = await desk.runtime.send(thread, "go", window=0)
    body = str(record.steps[0].body)
    assert not any(word in body for word in ("alpha", "bravo", "charlie", "delta", "echo"))
    assert record.context is not None
    assert record.context.section("history") is None
    assert [out.reason for out in record.context.left_out] == ["history-declined"]


@pytest.mark.parametrize(("window", "selected"), [(None, 6), (0, 0), (1, 1), (-3, 0), (10**19, 9), ("all", 9)])
async def test_C06_S3_the_window_left_out_is_six_and_zero_stays_zero(
    bench: Benches, window: int | None, selected: int
) -> None:
    desk = bench(Steps(says("ok")))
    thread = await desk.thread_with(*EIGHT)
    record = await desk.runtime.send(thread, "go", window=window)
    assert record.context is not None
    assert record.context.selected == selected


@pytest.mark.parametrize("window", ["3 ", "", "2.5", "true", True, 2.5, "last"])
async def test_S3_a_window_that_is_none_is_refused_before_the_turn(bench: Benches, window: object) -> None:
    desk = bench(Steps(says("ok")))
    thread = await desk.thread_with()
    with pytest.raises(BadInput, match="window"):
        await desk.runtime.send(thread, "go", window=window)  # type: ignore[arg-type]  # that is the point
    assert await desk.rows(thread) == []


async def test_C09_the_newest_rows_come_oldest_first_with_what_they_need(bench: Benches) -> None:
    desk = bench(Steps(says("ok")))
    thread = await desk.thread_with(*EIGHT)
    record = await desk.runtime.send(thread, "go", window=3)
    assert record.context is not None
    assert [(row.text, row.needs) for row in record.context.rows] == [("m6", 3), ("m7", 2), ("go", 1)]
    assert [(out.first, out.last, out.reason) for out in record.context.left_out] == [(1, 6, "older-than-window")]


async def test_C14_the_request_is_also_in_its_own_history_and_flagged(bench: Benches) -> None:
    model = Steps(says("ok"))
    desk = bench(model)
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "ping", window=6)
    assert (model.requests[0].section("history"), model.requests[0].brief) == ("user: ping", "ping")
    assert record.context is not None
    assert [(row.is_request, row.repeats) for row in record.context.rows] == [(True, ("request",))]
    await desk.runtime.send(thread, "pong", window=1)
    assert model.requests[1].section("history") == "user: pong"


async def test_A4_the_request_is_known_by_its_seq_not_by_equal_text(bench: Benches) -> None:
    desk = bench(Steps(says("ok")))
    thread = await desk.thread_with("u ping", "a ok")
    record = await desk.runtime.send(thread, "ping")
    assert record.context is not None
    assert [row.is_request for row in record.context.rows] == [False, False, True]


async def test_X2_the_record_says_what_entered_and_fell_out(bench: Benches) -> None:
    desk = bench(Steps(says("ok")))
    thread = await desk.thread_with(*EIGHT)
    first = await desk.runtime.send(thread, "one", window=4)
    second = await desk.runtime.send(thread, "two", window=4)
    assert first.context is not None
    assert second.context is not None
    assert (first.context.since.turn, first.context.since.entered) == (None, (6, 7, 8, 9))
    assert second.context.since.turn == first.turn
    assert (second.context.since.entered, second.context.since.left) == ((10, 11), (6, 7))


async def test_A6_the_record_keeps_the_body_of_each_step(bench: Benches) -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "a result to see"

    desk = bench(Steps(calls("look"), says("ok")), agent(tools=("look",)), tools=[look])
    record = await desk.runtime.send(await desk.thread_with(), "go")
    assert "a result to see" not in str(record.steps[0].body)
    assert "a result to see" in str(record.steps[1].body)


async def test_F1_parts_add_up_and_overflow_makes_no_request(bench: Benches) -> None:
    model = Steps(says("ok"))
    desk = bench(model, agent(fit=FitLimits(2000, 256), window=0))
    thread = await desk.thread_with()
    record = await desk.runtime.send(thread, "你好世界天地玄黄宇宙洪荒日月盈昃辰宿列张" * 200)
    assert (record.status, record.reason, record.steps, model.requests) == ("failed", "fit-overflow", (), [])
    assert record.overflow is not None
    assert record.fit is not None
    assert sum(record.overflow.parts.values()) == record.overflow.estimate == record.fit.estimate
    assert record.fit.estimate + record.fit.reserve > record.fit.limit
    assert record.context is not None
    fits = await desk.runtime.send(thread, "plain words fit here " * 190)
    assert fits.status == "completed"
    assert [sum(step.parts.values()) == step.estimate for step in fits.steps] == [True]


async def test_C68_an_image_costs_a_flat_number_of_tokens(bench: Benches) -> None:
    desk = bench(Steps(says("ok")), agent(fit=FitLimits(128_000, 1024)))
    image = Attachment("chart.png", "image/png", "A" * 4_000_000)
    record = await desk.runtime.send(await desk.thread_with(), "what is this?", attachments=[image])
    assert record.status == "completed"
    assert record.steps[0].parts["request"] < 3000


async def test_X3_a_preview_shows_what_would_be_sent_and_stores_nothing(bench: Benches) -> None:
    model = Steps(says("ok"))
    desk = bench(model)
    thread = await desk.thread_with(*EIGHT)
    preview = await desk.runtime.preview(thread, "coming", window=3)
    assert [(row.seq, row.text, row.is_request) for row in preview.context.rows] == [
        (7, "m6", False),
        (8, "m7", False),
        (9, "coming", True),
    ]
    assert len(await desk.rows(thread)) == 8
    record = await desk.runtime.send(thread, "coming", window=3)
    assert record.context is not None
    assert [(one.name, one.text, one.tokens) for one in record.context.sections] == [
        (one.name, one.text, one.tokens) for one in preview.context.sections
    ]


async def test_S8_nul_and_lone_surrogates_become_the_replacement_character(bench: Benches) -> None:
    model = Steps(says("half \ud83d back\x00"))
    desk = bench(model)
    thread = await desk.thread_with()
    await desk.runtime.send(thread, "half \ud83d emoji\x00")
    assert await desk.rows(thread) == ["user half \ufffd emoji\ufffd", "assistant half \ufffd back\ufffd"]
    assert model.requests[0].brief == "half \ufffd emoji\ufffd"
