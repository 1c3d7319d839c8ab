"""What servers of the messages API really send, and what must come of it (cases of "Wire", the Anthropic half)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.errors import ModelError
from runtime.events import Called, Ended, ModelEvent, Opaque, TextDelta, UsageReported
from runtime.models.anthropic_reply import MessageReader
from runtime.models.sse import EventReader
from runtime.values.items import ToolCall
from runtime.values.usage import Usage
from tests.models.dialects import ANTHROPIC, block, event

START = ANTHROPIC.start
STOP = ANTHROPIC.end()


def read(*chunks: bytes, reader: MessageReader | None = None) -> list[ModelEvent]:
    reader = reader or MessageReader("here")
    events = EventReader().feed(b"".join(chunks))
    return [out for one in events for out in reader.feed(one)] + list(reader.end())


def whole(*content: Any, reason: str | None = "end_turn", **more: Any) -> list[ModelEvent]:
    return list(
        MessageReader("here").whole({"type": "message", "content": list(content), "stop_reason": reason, **more})
    )


def calls(events: list[ModelEvent]) -> list[ToolCall]:
    return [one.call for one in events if isinstance(one, Called)]


def text(events: list[ModelEvent]) -> str:
    return "".join(one.text for one in events if isinstance(one, TextDelta))


def begin(index: int, **content_block: Any) -> bytes:
    return block("content_block_start", index, content_block=content_block)


def delta(index: int, kind: str, **fields: Any) -> bytes:
    return block("content_block_delta", index, delta={"type": kind, **fields})


def test_text_usage_and_end() -> None:
    events = read(START, ANTHROPIC.text("Hel"), delta(0, "text_delta", text="lo"), STOP)
    assert [one for one in events if not isinstance(one, UsageReported)] == [
        TextDelta("Hel"),
        TextDelta("lo"),
        Ended("stop"),
    ]
    assert [one.usage for one in events if isinstance(one, UsageReported)] == [Usage(10, 1), Usage(10, 5)]


def test_C39_parallel_calls_by_index() -> None:
    events = read(
        begin(0, type="text", text="I see."),
        begin(1, type="tool_use", id="a", name="add", input={}),
        begin(2, type="tool_use", id="b", name="mul", input={}),
        delta(1, "input_json_delta", partial_json='{"x":'),
        delta(2, "input_json_delta", partial_json='{"y":2}'),
        delta(1, "input_json_delta", partial_json="1}"),
        STOP,
    )
    assert text(events) == "I see."
    assert calls(events) == [ToolCall("a", "add", {"x": 1}), ToolCall("b", "mul", {"y": 2})]


def test_C42_calls_without_or_with_taken_ids_get_new_ones() -> None:
    use = {"type": "tool_use", "name": "f", "input": {}}
    assert [call.id for call in calls(whole(use, {**use, "id": ""}, {**use, "id": "a"}, {**use, "id": "a"}))] == [
        "call_1_1", "call_1_2", "a", "call_1_4",
    ]  # fmt: skip
    reader = MessageReader(step=2, taken=["a"])
    assert calls(read(ANTHROPIC.call("a", "f", "{}"), STOP, reader=reader))[0].id == "call_2_1"


@pytest.mark.parametrize("start", [{}, {"input": {}}, {"input": None}, {"input": ""}])
def test_C44_a_call_without_input_has_an_empty_object(start: dict[str, Any]) -> None:
    assert calls(read(begin(0, type="tool_use", id="a", name="f", **start), STOP)) == [ToolCall("a", "f", {})]
    assert calls(whole({"type": "tool_use", "id": "a", "name": "f", **start})) == [ToolCall("a", "f", {})]


def test_input_may_come_whole_with_the_start_of_its_block() -> None:
    assert calls(read(begin(0, type="tool_use", id="a", name="f", input={"x": 1}), STOP)) == [
        ToolCall("a", "f", {"x": 1})
    ]


def test_T4_input_that_is_no_object_stays_as_it_came() -> None:
    assert calls(read(ANTHROPIC.call("a", "f", "{oops"), STOP)) == [ToolCall("a", "f", "{oops")]


def test_C49_pings_are_passed_over() -> None:
    ping = b"event: ping\ndata: {}\n\n" + ANTHROPIC.ping + b": ping\n\n"
    assert text(read(ping, START, ping, ANTHROPIC.text("ok"), ping, STOP)) == "ok"


def test_C53_an_error_event_after_text_is_a_failure() -> None:
    with pytest.raises(ModelError, match="overloaded_error: Overloaded") as caught:
        read(START, ANTHROPIC.text("Partial"), ANTHROPIC.error("overloaded_error", "Overloaded"))
    assert caught.value.kind == "server"
    with pytest.raises(ModelError, match="overloaded_error: Overloaded"):
        list(MessageReader().whole({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}))


def test_C61_no_content_at_all_is_an_empty_step() -> None:
    assert whole() == [Ended("stop")]
    assert text(read(START, STOP)) == ""


@pytest.mark.parametrize(
    ("reason", "ended"),
    [
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "stop"),
        ("stop_sequence", "stop"),
        (None, "stop"),
    ],
)
def test_T5_the_output_limit_is_told(reason: str | None, ended: str) -> None:
    last = whole({"type": "text", "text": "x"}, reason=reason)[-1]
    assert isinstance(last, Ended)
    assert last.reason == ended


def test_a_refusal_is_a_failure() -> None:
    with pytest.raises(ModelError, match="refusal"):
        whole({"type": "text", "text": "half an"}, reason="refusal")


def test_M3_message_stop_or_a_stop_reason_closes_and_nothing_else() -> None:
    reason = event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    for closing in (reason, event({"type": "message_stop"})):
        assert read(ANTHROPIC.text("x"), closing)[-1] == Ended("stop")
    with pytest.raises(ModelError, match="broke off") as caught:
        read(START, ANTHROPIC.text("The answer is"), event({"type": "message_delta", "delta": {"stop_reason": None}}))
    assert caught.value.kind == "cut-off"


def test_M5_what_was_read_from_a_cache_is_input_too() -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 7}
    assert UsageReported(Usage(123, 7)) in whole(usage=usage)
    assert UsageReported(Usage(None, 7)) in whole(usage={"output_tokens": 7})


def test_thoughts_are_kept_in_their_order_for_their_endpoint() -> None:
    events = read(
        begin(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="Let me "),
        delta(0, "thinking_delta", thinking="see."),
        delta(0, "signature_delta", signature="SIG"),
        begin(1, type="text", text=""),
        delta(1, "text_delta", text="Looking."),
        begin(2, type="redacted_thinking", data="XX"),
        ANTHROPIC.call("a", "f", "{}", 2),
        STOP,
    )
    assert text(events) == "Looking."
    assert [one.blocks for one in events if isinstance(one, Opaque)] == [
        {
            "here": [
                {"type": "thinking", "thinking": "Let me see.", "signature": "SIG"},
                {"type": "text", "text": "Looking."},
                {"type": "redacted_thinking", "data": "XX"},
                {"type": "tool_use"},
            ]
        }
    ]
    assert not [one for one in read(ANTHROPIC.text("ok"), STOP) if isinstance(one, Opaque)]


def test_thoughts_of_a_whole_answer_are_kept_alike() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "SIG"}
    assert Opaque({"here": [thought, {"type": "text", "text": "ok"}]}) in whole(thought, {"type": "text", "text": "ok"})


def test_a_delta_without_its_start_is_read_by_its_kind() -> None:
    events = read(delta(0, "text_delta", text="ok"), delta(1, "input_json_delta", partial_json='{"x":1}'), STOP)
    assert text(events) == "ok"
    assert calls(events) == [ToolCall("call_1_1", "", {"x": 1})]


def test_unknown_events_blocks_and_deltas_are_passed_over() -> None:
    events = read(
        event({"type": "new_thing"}, "new_thing"),
        begin(0, type="citation_thing", x=1),
        delta(0, "citations_delta", citation={}),
        ANTHROPIC.text("ok", 1),
        b"event: x\ndata:\n\n",
        b"data: [DONE]\n\n",
        STOP,
    )
    assert text(events) == "ok"


def test_C65_surrogate_halves_are_joined_or_replaced() -> None:
    halves = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}\n\n'
    assert text(read(halves % b"a\\ud83d", halves % b"\\ude00b", STOP)) == "a😀b"
    assert text(read(halves % b"a\\ud83d", STOP)) == "a\ufffd"


def test_what_is_no_message_is_no_dialect() -> None:
    with pytest.raises(ModelError, match="no JSON object"):
        read(b"data: {oops\n\n")
    bodies: list[Any] = [[1], {}, {"content": "x"}, {"type": "message"}]
    for body in bodies:
        with pytest.raises(ModelError, match="is not an answer"):
            list(MessageReader().whole(body))
