"""What servers of chat completions really send, and what must come of it (cases of "Wire", the OpenAI half)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.errors import ModelError
from runtime.events import Called, Ended, ModelEvent, Opaque, TextDelta, UsageReported
from runtime.models.openai_reply import CompletionReader
from runtime.models.sse import EventReader
from runtime.values.items import ToolCall
from runtime.values.usage import Usage
from tests.models.dialects import chunk, event, fragment

DONE = b"data: [DONE]\n\n"


def read(*chunks: bytes, reader: CompletionReader | None = None) -> list[ModelEvent]:
    reader = reader or CompletionReader("here")
    events = EventReader().feed(b"".join(chunks))
    return [out for one in events for out in reader.feed(one)] + list(reader.end())


def whole(message: dict[str, Any], finish: str | None = "stop", **more: Any) -> list[ModelEvent]:
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish}
    return list(CompletionReader("here").whole({"choices": [choice], **more}))


def calls(events: list[ModelEvent]) -> list[ToolCall]:
    return [one.call for one in events if isinstance(one, Called)]


def text(events: list[ModelEvent]) -> str:
    return "".join(one.text for one in events if isinstance(one, TextDelta))


def tools(*fragments: Any, finish: str | None = None) -> bytes:
    return chunk({"tool_calls": list(fragments)}, finish)


def test_C39_fragments_of_two_parallel_calls_interleaved() -> None:
    events = read(
        tools(fragment(0, "a", "add", "")),
        tools(fragment(1, "b", "mul", "")),
        tools(fragment(0, arguments='{"x":')),
        tools(fragment(1, arguments='{"y":2')),
        tools(fragment(0, arguments="1}"), fragment(1, arguments="}")),
        chunk({}, "tool_calls"),
        DONE,
    )
    assert calls(events) == [ToolCall("a", "add", {"x": 1}), ToolCall("b", "mul", {"y": 2})]
    assert events[-1] == Ended("stop")


@pytest.mark.parametrize(
    "later",
    [
        {"id": "", "function": {"name": "", "arguments": "1}"}},
        {"id": None, "function": {"name": None, "arguments": "1}"}},
        {"id": "a", "function": {"name": "calc", "arguments": "1}"}},
        {"function": {"name": "calc", "arguments": "1}"}},
        {"id": "other", "function": {"arguments": "1}"}},
        {"id": "other", "function": {"name": "calc", "arguments": "1}"}},
    ],
    ids=["empty", "null", "repeated", "name-repeated", "another-id", "another-id-and-the-name"],
)
@pytest.mark.parametrize("index", [0, None], ids=["indexed", "no-index"])
def test_C41_a_later_fragment_continues_its_call(later: dict[str, Any], index: int | None) -> None:
    numbered = later if index is None else {"index": index, **later}
    events = read(tools(fragment(index, "a", "calc", '{"x":')), tools(numbered), chunk({}, "tool_calls"), DONE)
    assert calls(events) == [ToolCall("a", "calc", {"x": 1})]


def test_C41_a_last_empty_fragment_begins_no_call() -> None:
    again = {"index": 0, "id": "", "function": {"name": "calc", "arguments": ""}}
    assert calls(read(tools(fragment(0, None, "calc", "{}")), tools(again), DONE)) == [ToolCall("call_1_1", "calc", {})]


def test_C42_two_complete_calls_without_an_id() -> None:
    message = {"tool_calls": [{"function": {"name": "add", "arguments": "{}"}}] * 2, "content": None}
    answered = whole(message, "tool_calls")
    streams = [
        (tools(fragment(0, None, "add", "{}"), fragment(1, None, "add", "{}")),),
        (tools(fragment(None, None, "add", "{}"), fragment(None, None, "add", "{}")),),
        (tools(fragment(None, None, "add", "")), tools(fragment(None, None, "add", "{}"))),
        (tools(fragment(0, None, "add", "{}")), tools(fragment(0, None, "add", "{}"))),
        (tools(fragment(0, "", "add", "{}")), tools(fragment(1, "", "add", "{}"))),
    ]
    expected = [ToolCall("call_1_1", "add", {}), ToolCall("call_1_2", "add", {})]
    assert calls(answered) == expected
    for n in (0, 1, 3, 4):
        assert calls(read(*streams[n], DONE)) == expected
    assert calls(read(*streams[2], DONE)) == expected[:1]  # Nothing tells a second call from a repeated name.


def test_calls_that_all_have_the_index_0_are_told_apart_by_their_ids() -> None:
    events = read(
        tools(fragment(0, "a", "add", '{"x":1}')), tools(fragment(0, "b", "add", '{"x":2}'), finish="stop"), DONE
    )
    assert calls(events) == [ToolCall("a", "add", {"x": 1}), ToolCall("b", "add", {"x": 2})]


def test_ids_that_are_taken_are_replaced() -> None:
    reader = CompletionReader(step=3, taken=["a", "call_3_1"])
    events = read(
        tools(fragment(0, "a", "f", "{}"), fragment(1, "b", "f", "{}"), fragment(2, "b", "g", "{}")),
        DONE,
        reader=reader,
    )
    assert [call.id for call in calls(events)] == ["call_3_1x", "b"]
    twice = whole({"tool_calls": [{"id": "b", "function": {"name": name}} for name in "fg"]})
    assert [call.id for call in calls(twice)] == ["b", "call_1_2"]


@pytest.mark.parametrize("arguments", ["", None, "  \n", "null"])
def test_C44_arguments_that_are_no_text_are_an_empty_object(arguments: str | None) -> None:
    function = {"name": "f", "arguments": arguments}
    assert calls(whole({"tool_calls": [{"id": "a", "function": function}]})) == [ToolCall("a", "f", {})]
    assert calls(read(tools({"index": 0, "id": "a", "function": function}), DONE)) == [ToolCall("a", "f", {})]
    assert calls(whole({"tool_calls": [{"id": "a", "function": {"name": "f"}}]})) == [ToolCall("a", "f", {})]


def test_arguments_may_come_as_an_object() -> None:
    assert calls(whole({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"x": "é"}}}]})) == [
        ToolCall("a", "f", {"x": "é"})
    ]


def test_T4_arguments_that_are_no_object_stay_as_they_came() -> None:
    for broken in ("{oops", "[1]", "7"):
        assert calls(read(tools(fragment(0, "a", "f", broken)), DONE)) == [ToolCall("a", "f", broken)]


def test_C46_null_content_with_a_call_is_no_text() -> None:
    events = whole({"content": None, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]})
    assert text(events) == ""
    assert len(calls(events)) == 1
    assert text(read(chunk({"role": "assistant", "content": None}), tools(fragment(0, "a", "f", "{}")), DONE)) == ""


def test_C47_chunks_without_choices_and_usage_in_the_last() -> None:
    events = read(
        event({"choices": []}),
        chunk({"content": "ok"}, "stop"),
        event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}),
        DONE,
    )
    assert events == [TextDelta("ok"), UsageReported(Usage(10, 5)), Ended("stop")]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10}, Usage(10, None)),
        ({"prompt_tokens": None, "completion_tokens": 2.0}, Usage(None, 2)),
        ({"input_tokens": 3, "output_tokens": 4}, Usage(3, 4)),
        ({"prompt_tokens": True, "completion_tokens": "x"}, None),
        ({}, None),
    ],
)
def test_M5_usage_is_what_the_server_said(usage: dict[str, Any], expected: Usage | None) -> None:
    events = whole({"content": "ok"}, usage=usage)
    assert [one.usage for one in events if isinstance(one, UsageReported)] == ([expected] if expected else [])


def test_C53_an_error_chunk_after_text_is_a_failure() -> None:
    reader = CompletionReader()
    [partial] = EventReader().feed(chunk({"content": "Partial"}))
    assert list(reader.feed(partial)) == [TextDelta("Partial")]
    [failed] = EventReader().feed(event({"error": {"message": "upstream died", "code": 502}}))
    with pytest.raises(ModelError, match="502: upstream died") as caught:
        list(reader.feed(failed))
    assert caught.value.kind == "server"


@pytest.mark.parametrize(
    "error",
    [
        event({"error": "upstream died"}),
        event({"object": "error", "message": "upstream died", "type": "BadGateway"}),
        event({"message": "upstream died"}, "error"),
        event({"choices": [], "error": {"message": "upstream died"}}),
        event({"error": {"message": json.dumps({"error": {"message": "upstream died"}})}}),
    ],
)
def test_C53_errors_of_other_shapes(error: bytes) -> None:
    with pytest.raises(ModelError, match="upstream died"):
        read(chunk({"content": "Partial"}), error, DONE)


def test_an_error_that_is_null_is_none() -> None:
    assert text(read(chunk({"content": "ok"}, error=None), DONE)) == "ok"


@pytest.mark.parametrize("reason", ["content_filter", "error"])
def test_a_filtered_answer_is_a_failure(reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        read(chunk({"content": "half an"}, reason), DONE)


def test_C59_the_finish_reason_and_the_calls_may_disagree() -> None:
    assert len(calls(read(tools(fragment(0, "a", "f", "{}")), chunk({}, "stop"), DONE))) == 1
    events = read(chunk({"content": "ok"}), chunk({}, "tool_calls"), DONE)
    assert events == [TextDelta("ok"), Ended("stop")]


@pytest.mark.parametrize(("reason", "ended"), [("length", "length"), ("stop", "stop"), ("eos", "stop"), (None, "stop")])
def test_T5_the_output_limit_is_told(reason: str | None, ended: str) -> None:
    last = whole({"content": "x"}, reason)[-1]
    assert isinstance(last, Ended)
    assert last.reason == ended


def test_M3_done_or_a_finish_reason_closes_and_nothing_else() -> None:
    assert read(chunk({"content": "x"}), b"data: [DONE] \n\n")[-1] == Ended("stop")
    assert read(chunk({"content": "x"}, "stop"))[-1] == Ended("stop")
    with pytest.raises(ModelError, match="broke off") as caught:
        read(chunk({"content": "The answer is"}))
    assert caught.value.kind == "cut-off"


def test_seen_in_llama_cpp_a_chunk_with_everything_at_once() -> None:
    delta = {
        "role": None,
        "content": None,
        "tool_calls": [fragment(0, "a", "f", '{"x"', type="function")],
        "function_call": {"name": "f", "arguments": '{"x"'},
    }
    rest = {**delta, "tool_calls": [fragment(0, "a", "f", ":1}", type="function")]}
    events = read(
        chunk({"content": ""}),
        chunk(delta),
        chunk(rest),
        chunk({"content": None, "tool_calls": None}, "tool_calls"),
        DONE,
    )
    assert calls(events) == [ToolCall("a", "f", {"x": 1})]


def test_a_legacy_function_call_alone_is_a_call() -> None:
    events = read(
        chunk({"function_call": {"name": "f", "arguments": "{"}}), chunk({"function_call": {"arguments": "}"}}), DONE
    )
    assert calls(events) == [ToolCall("call_1_1", "f", {})]


def test_text_in_parts_and_refusals_are_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}]
    assert text(whole({"content": parts})) == "ab"
    assert text(whole({"content": None, "refusal": "I cannot."})) == "I cannot."


def test_other_choices_are_passed_over() -> None:
    other = {"index": 1, "delta": {"content": "no"}}
    assert text(read(event({"choices": [other, {"index": 0, "delta": {"content": "yes"}}]}), DONE)) == "yes"


def test_C65_surrogates_halves_are_joined_or_replaced() -> None:
    halves = [
        b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % half for half in (b"a\\ud83d", b"\\ude00b")
    ]
    assert text(read(*halves, DONE)) == "a😀b"
    assert text(read(halves[0], DONE)) == "a\ufffd"
    assert text(read(halves[1], DONE)) == "\ufffdb"
    broken = tools(fragment(0, "a", "f", '{"x":"\\ud83d"}'))
    assert calls(read(broken, DONE)) == [ToolCall("a", "f", {"x": "\ufffd"})]


def test_what_is_no_json_is_no_dialect() -> None:
    with pytest.raises(ModelError, match=r"no JSON object: \{oops") as caught:
        read(b"data: {oops\n\n")
    assert caught.value.kind == "malformed"
    with pytest.raises(ModelError, match="no JSON object"):
        read(b"data: [1]\n\n")
    bodies: list[Any] = [[1], {}, {"choices": []}, {"choices": "x"}, {"choices": [{"message": None}]}]
    for body in bodies:
        with pytest.raises(ModelError, match="is not an answer"):
            list(CompletionReader().whole(body))


def test_reasoning_is_kept_for_its_endpoint_when_there_are_calls() -> None:
    think = (
        chunk({"reasoning_content": "Let me "}),
        chunk({"reasoning_content": "see.", "reasoning_details": [{"n": 1}]}),
    )
    extra = fragment(0, "a", "f", "{}", extra_content={"sig": "x"})
    events = read(*think, tools(extra, fragment(1, "b", "g", "{}")), DONE)
    assert [one.blocks for one in events if isinstance(one, Opaque)] == [
        {
            "here": {
                "reasoning_content": "Let me see.",
                "reasoning_details": [{"n": 1}],
                "extra_content": [{"sig": "x"}, None],
            }
        }
    ]
    assert not [one for one in read(*think, chunk({"content": "ok"}), DONE) if isinstance(one, Opaque)]


def test_names_are_given_back_as_the_runtime_knows_them() -> None:
    reader = CompletionReader(name={"look_up": "look up"}.get)  # type: ignore[arg-type]  # a name it knows is asked
    assert calls(read(tools(fragment(0, "a", "look_up", "{}")), DONE, reader=reader)) == [ToolCall("a", "look up", {})]
