"""From a request to the messages of both wires: roles in turn, results beside their calls, nothing blank (M6)."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import ModelError
from runtime.events import Opaque, Sent
from runtime.models.legal import LONGEST_ID, Distinct, Names
from runtime.models.messages import UNREAD_ARGUMENTS
from runtime.values.items import AssistantStep, Item, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.json import JsonObject
from runtime.values.request import Attachment, Request, ToolSpec
from tests.models.dialects import ANTHROPIC, DIALECTS, OPENAI, Dialect, request_of

C1, C2 = ToolCall("c1", "f", {"x": 1}), ToolCall("c2", "g", {})
R1, R2 = ToolResult("c1", "f", 1), ToolResult("c2", "g", "two")


async def body_of(dialect: Dialect, request: Request) -> Any:
    """The body that was really posted, which is the one that is recorded."""
    posted: list[bytes] = []

    def answer(sent: httpx.Request) -> httpx.Response:
        posted.append(sent.content)
        return httpx.Response(200, json=dialect.whole("ok"))

    events = [event async for event in dialect.model(httpx.MockTransport(answer)).stream(request)]
    assert events[0] == Sent(posted[0], f"http://model.test{dialect.path}")
    return json.loads(posted[0])


async def messages(dialect: Dialect, *transcript: Item, **more: Any) -> list[Any]:
    body = await body_of(dialect, request_of(transcript=transcript, **more))
    kept: list[Any] = body["messages"]
    return kept


FIRST = "Conversation so far:\nuser: a\nassistant: b\n\nRequest:\nhi"


async def test_M6_sections_become_system_and_first_user_message() -> None:
    full = request_of(instructions="Be kind.", state="tone: brief", history="user: a\nassistant: b")
    chat, said = await body_of(OPENAI, full), await body_of(ANTHROPIC, full)
    assert chat["messages"] == [
        {"role": "system", "content": "Be kind.\n\ntone: brief"},
        {"role": "user", "content": FIRST},
    ]
    assert (said["system"], said["messages"]) == ("Be kind.\n\ntone: brief", [{"role": "user", "content": FIRST}])


async def test_M6_without_history_the_request_alone_and_without_system_none() -> None:
    assert await messages(OPENAI) == [{"role": "user", "content": "hi"}]
    body = await body_of(ANTHROPIC, request_of(instructions="  "))
    assert "system" not in body
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    assert (await body_of(OPENAI, request_of(state="x: 1")))["messages"][0]["content"] == "x: 1"


async def test_C11_a_window_that_begins_with_an_assistant_row(dialect: Dialect) -> None:
    rows = "assistant: a1\nuser: u2\nassistant: a2\nuser: u3"
    [first] = await messages(dialect, history=rows, brief="u3")
    assert first == {"role": "user", "content": f"Conversation so far:\n{rows}\n\nRequest:\nu3"}


async def test_C26_two_user_rows_in_a_row_are_one_message(dialect: Dialect) -> None:
    [first] = await messages(dialect, history="user: q1\nuser: q2", brief="q2")
    assert first["role"] == "user"


async def test_T3_the_transcript_goes_natively() -> None:
    step = AssistantStep(1, "Let me see.", (C1, C2))
    chat = await messages(OPENAI, step, ToolResults(1, (R1, R2)))
    assert chat[1:] == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
    ]
    said = await messages(ANTHROPIC, step, ToolResults(1, (R1, R2)))
    assert said[1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}},
                {"type": "tool_use", "id": "c2", "name": "g", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "1"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
            ],
        },
    ]


async def test_C62_results_stand_in_the_order_of_their_calls(dialect: Dialect) -> None:
    sent = await messages(dialect, AssistantStep(1, "", (C1, C2)), ToolResults(1, (R2, R1)))
    assert [id for id, _ in results_of(dialect, sent)] == ["c1", "c2"]


async def test_C33_a_nudge_follows_the_results_and_the_empty_step_is_not_sent() -> None:
    items = (AssistantStep(1, "", (C1,)), ToolResults(1, (R1,)), AssistantStep(2, " "), Nudge(2, "Please answer."))
    chat, said = await messages(OPENAI, *items), await messages(ANTHROPIC, *items)
    assert [message["role"] for message in chat] == ["user", "assistant", "tool", "user"]
    assert chat[-1]["content"] == "Please answer."
    assert [message["role"] for message in said] == ["user", "assistant", "user"]
    assert said[-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "1"},
        {"type": "text", "text": "Please answer."},
    ]


async def test_T6_a_nudge_joins_the_user_message_before_it(dialect: Dialect) -> None:
    sent = await messages(dialect, AssistantStep(1, ""), Nudge(1, "Go on."), AssistantStep(2, ""), Nudge(2, "Do."))
    assert sent == [{"role": "user", "content": "hi\n\nGo on.\n\nDo."}]


async def test_C44_arguments_that_were_empty_are_an_empty_object_again() -> None:
    step, results = AssistantStep(1, "", (C2,)), ToolResults(1, (R2,))
    assert (await messages(OPENAI, step, results))[1]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert (await messages(ANTHROPIC, step, results))[1]["content"][0]["input"] == {}


async def test_C46_content_is_null_with_calls_alone_and_never_without() -> None:
    assert (await messages(OPENAI, AssistantStep(1, " ", (C1,)), ToolResults(1, (R1,))))[1]["content"] is None
    assert (await messages(OPENAI, AssistantStep(1, "ok")))[1] == {"role": "assistant", "content": "ok"}


async def test_T4_broken_arguments_are_sent_back_inside_an_object() -> None:
    step, results = AssistantStep(1, "", (ToolCall("c1", "f", '{"x": tru'),)), ToolResults(1, (R1,))
    arguments = (await messages(OPENAI, step, results))[1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {UNREAD_ARGUMENTS: '{"x": tru'}
    assert (await messages(ANTHROPIC, step, results))[1]["content"][0]["input"] == {UNREAD_ARGUMENTS: '{"x": tru'}


async def test_T4_an_error_result_reads_as_one_on_both_wires() -> None:
    items = (
        AssistantStep(1, "", (C1, C2)),
        ToolResults(
            1, (ToolResult("c1", "f", "no such note", error=True), ToolResult("c2", "g", "error: x", error=True))
        ),
    )
    chat, said = await messages(OPENAI, *items), await messages(ANTHROPIC, *items)
    assert [message["content"] for message in chat[2:]] == ["Error: no such note", "error: x"]
    assert [(block["content"], block["is_error"]) for block in said[2]["content"]] == [
        ("no such note", True),
        ("error: x", True),
    ]


async def test_C61_blank_results_and_texts_leave_no_blank_block() -> None:
    items = AssistantStep(1, "\n", (C1,)), ToolResults(1, (ToolResult("c1", "f", ""),)), Nudge(1, "  ")
    said = await messages(ANTHROPIC, *items)
    assert [block["type"] for block in said[1]["content"]] == ["tool_use"]
    assert said[2]["content"] == [{"type": "tool_result", "tool_use_id": "c1", "content": "(no output)"}]
    assert (await messages(OPENAI, *items))[2]["content"] == "(no output)"
    assert await messages(ANTHROPIC, brief=" ") == [{"role": "user", "content": "Request:"}]


async def test_ids_are_made_legal_and_stay_distinct(dialect: Dialect) -> None:
    ids = ["c 1", "c_1", "c 1", "é" * 50, "", "toolu_01"]
    calls = tuple(ToolCall(id, "f", {"n": n}) for n, id in enumerate(ids))
    results = tuple(ToolResult(id, "f", n) for n, id in enumerate(ids))
    sent = await messages(dialect, AssistantStep(1, "", calls), ToolResults(1, results), AssistantStep(2, "", (C1,)))
    answered = results_of(dialect, sent)[: len(ids)]
    assert [content for _, content in answered] == [str(n) for n in range(len(ids))]
    assert len({id for id, _ in answered}) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", id) for id, _ in answered)
    assert [id for id, _ in answered][::5] == ["c_1", "toolu_01"]


async def test_tool_names_are_made_legal_both_ways(dialect: Dialect) -> None:
    tools = (ToolSpec("look up", "", {}), ToolSpec("look_up", "", {"type": "object"}))
    seen: list[Any] = []

    def answer(sent: httpx.Request) -> httpx.Response:
        seen.append(json.loads(sent.content)["tools"])
        return httpx.Response(200, json=dialect.whole("", (("a", "look_up", "{}"), ("b", "look_up_2", "{}"))))

    events = [e async for e in dialect.model(httpx.MockTransport(answer)).stream(request_of(tools=tools))]
    assert [event.call.name for event in events if hasattr(event, "call")] == ["look up", "look_up"]
    offered = [tool.get("function", tool) for tool in seen[0]]
    assert [tool["name"] for tool in offered] == ["look_up", "look_up_2"]
    schemas = [tool.get("parameters", tool.get("input_schema")) for tool in offered]
    assert schemas == [{"type": "object", "properties": {}}] * 2


async def test_no_tools_are_no_field_unless_some_were_called() -> None:
    assert "tools" not in await body_of(OPENAI, request_of())
    assert "tools" not in await body_of(ANTHROPIC, request_of())
    called = request_of(transcript=(AssistantStep(1, "", (C1,)), ToolResults(1, (R1,))))
    assert [tool["name"] for tool in (await body_of(ANTHROPIC, called))["tools"]] == ["f"]


async def test_the_answer_has_the_room_that_the_tier_reserves() -> None:
    body = await body_of(ANTHROPIC, request_of())
    assert (body["model"], body["max_tokens"], body["stream"]) == ("small", 1024, True)
    chat = await body_of(OPENAI, request_of())
    assert (chat["model"], chat["stream"], chat["stream_options"]) == ("small", True, {"include_usage": True})


async def test_images_go_with_the_request() -> None:
    image, paper = Attachment("a.png", "image/png", "AAAA"), Attachment("b.pdf", "application/pdf", "BBBB")
    [chat] = await messages(OPENAI, attachments=(image, paper))
    assert chat["content"] == [
        {"type": "text", "text": "hi"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "file", "file": {"filename": "b.pdf", "file_data": "data:application/pdf;base64,BBBB"}},
    ]
    [said] = await messages(ANTHROPIC, attachments=(image, paper))
    assert said["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"}},
        {"type": "text", "text": "hi"},
    ]


async def test_an_attachment_that_the_wire_cannot_carry_is_said(dialect: Dialect) -> None:
    with pytest.raises(ModelError, match=r"text/csv \(a\.csv\)"):
        await messages(dialect, attachments=(Attachment("a.csv", "text/csv", "AAAA"),))


async def test_opaque_blocks_go_back_to_their_endpoint_alone() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "SIG"}
    whole = {
        "content": [thought, {"type": "text", "text": " "}, {"type": "tool_use", "id": "c1", "name": "f", "input": {}}]
    }

    async def step_from(base: str) -> AssistantStep:
        model = ANTHROPIC.model(httpx.MockTransport(lambda _: httpx.Response(200, json=whole)), base=base)
        events = [event async for event in model.stream(request_of())]
        [opaque] = [event.blocks for event in events if isinstance(event, Opaque)]
        return AssistantStep(1, "", (C1,), opaque=opaque)

    here, there = await step_from("http://model.test"), await step_from("http://elsewhere.test")
    same = await messages(ANTHROPIC, here, ToolResults(1, (R1,)))
    other = await messages(ANTHROPIC, there, ToolResults(1, (R1,)))
    chat = await messages(OPENAI, here, ToolResults(1, (R1,)))
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}}
    assert same[1]["content"] == [thought, call]
    assert other[1]["content"] == [call]
    assert "SIG" not in json.dumps(chat)


async def test_reasoning_goes_back_with_its_calls_to_the_same_server() -> None:
    key = "openai http://model.test/v1/chat/completions"
    kept: JsonObject = {key: {"reasoning_content": "Hm.", "extra_content": [{"sig": "x"}]}}
    step = AssistantStep(1, "", (C1,), opaque=kept)
    sent = (await messages(OPENAI, step, ToolResults(1, (R1,))))[1]
    assert (sent["reasoning_content"], sent["tool_calls"][0]["extra_content"]) == ("Hm.", {"sig": "x"})
    assert (await messages(ANTHROPIC, step, ToolResults(1, (R1,))))[1]["content"][0]["type"] == "tool_use"


async def test_C65_a_lone_surrogate_is_replaced_on_the_wire(dialect: Dialect) -> None:
    [first] = await messages(dialect, brief="half \ud83d emoji")
    assert first["content"] == "half \ufffd emoji"


def test_spellings_are_the_same_when_more_is_added() -> None:
    ids = ["a b", "a_b", "a b"]
    one, two = Distinct(LONGEST_ID, "call"), Distinct(LONGEST_ID, "call")
    assert [one.spell(id) for id in ids] == [two.spell(id) for id in [*ids, "x"]][:3] == ["a_b", "a_b_2", "a_b_3"]
    assert Names(["", "ok"]).sent("") == "unnamed"
    assert Names([]).meant("made up") == "made up"


def results_of(dialect: Dialect, sent: list[Any]) -> list[tuple[str, str]]:
    if dialect is OPENAI:
        return [(one["tool_call_id"], one["content"]) for one in sent if one["role"] == "tool"]
    blocks = [block for one in sent if isinstance(one["content"], list) for block in one["content"]]
    return [(block["tool_use_id"], block["content"]) for block in blocks if block["type"] == "tool_result"]


IDS = st.sampled_from(["a", "b", "a b", "", "é"])
TEXTS = st.sampled_from(["", " ", "text", "user: x", "half \ud83d"])
CALLS = st.builds(ToolCall, IDS, st.sampled_from(["f", "g h", ""]), st.sampled_from([{}, {"x": 1}, "{oops", "[1]"]))
RESULTS = st.builds(ToolResult, IDS, st.just("f"), st.sampled_from(["", "ok", None, {"x": [1]}]), st.booleans())
OPAQUE = st.sampled_from(
    [None, {"anthropic http://model.test/v1/messages": [{"type": "thinking"}, {"type": "tool_use"}]}]
)
ITEMS: st.SearchStrategy[Item] = st.one_of(
    st.builds(AssistantStep, st.just(1), TEXTS, st.lists(CALLS, max_size=3).map(tuple), opaque=OPAQUE),
    st.builds(ToolResults, st.just(1), st.lists(RESULTS, max_size=4).map(tuple)),
    st.builds(Nudge, st.just(1), TEXTS),
)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@given(transcript=st.lists(ITEMS, max_size=8), history=TEXTS, brief=TEXTS)
async def test_any_transcript_gives_a_body_that_a_provider_accepts(
    dialect: Dialect, transcript: list[Item], history: str, brief: str
) -> None:
    sent = await messages(dialect, *transcript, history=history, brief=brief)
    (check_chat if dialect is OPENAI else check_messages)(sent)
    assert not re.search("[\ud800-\udfff]", json.dumps(sent, ensure_ascii=False))


def check_chat(sent: list[Any]) -> None:
    assert sent[0]["role"] == "user"
    waiting: list[str] = []
    seen: set[str] = set()
    before = ""
    for message in sent:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert waiting == []
            assert role != before
        if calls := message.get("tool_calls"):
            waiting = [call["id"] for call in calls]
            assert seen.isdisjoint(waiting)
            assert len({*waiting}) == len(waiting)
            seen.update(waiting)
            assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls)
            assert message["content"] is None or message["content"].strip()
        else:
            assert message["content"].strip()
        before = role
    assert waiting == []


def check_messages(sent: list[Any]) -> None:
    assert [message["role"] for message in sent] == ["user", "assistant"] * (len(sent) // 2) + ["user"] * (
        len(sent) % 2
    )
    waiting: list[str] = []
    seen: set[str] = set()
    for message in sent:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        assert blocks
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert answered == waiting
        assert [block["type"] for block in blocks][: len(answered)] == ["tool_result"] * len(answered)
        assert all(block["content"].strip() for block in blocks if block["type"] == "tool_result")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert all(isinstance(block["input"], dict) for block in blocks if block["type"] == "tool_use")
        assert seen.isdisjoint(waiting)
        seen.update(waiting)
    assert waiting == []
