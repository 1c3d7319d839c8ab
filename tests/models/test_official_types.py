"""Any transcript gives a body that the official SDKs' own types accept, with no key that they do not know (M6)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from runtime.models.settings import ModelSettings
from runtime.values.items import AssistantStep, Item, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.json import Json, JsonObject
from runtime.values.request import Attachment, Request, ToolSpec
from tests.models.dialects import ANTHROPIC, DIALECTS, OPENAI, Dialect, request_of

TEXTS = st.one_of(st.just(""), st.just(" \n"), st.text(max_size=30))
NAMES = st.one_of(st.sampled_from(["look", "set-tone", "look up", "", "ü" * 90]), st.text(max_size=12))
IDS = st.one_of(st.sampled_from(["c1", "c2", "", "call:1/2", "x" * 80]), st.text(max_size=12))
JSONS: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.text(max_size=8)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
OBJECTS: st.SearchStrategy[Any] = st.dictionaries(st.text(max_size=8), JSONS, max_size=3)
CALLS = st.builds(ToolCall, IDS, NAMES, OBJECTS | TEXTS)
RESULTS = st.builds(ToolResult, IDS, NAMES, JSONS, st.booleans())
OPAQUE: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        {"elsewhere": [{"type": "thinking", "thinking": "x", "signature": "s"}]},
        {
            "anthropic http://model.test/v1/messages": [
                {"type": "thinking", "thinking": "x", "signature": "s"},
                {"type": "redacted_thinking", "data": "d"},
                {"type": "text", "text": "y"},
                {"type": "tool_use"},
            ]
        },
    ]
)
STEPS = st.builds(
    AssistantStep, st.integers(1, 9), TEXTS, st.lists(CALLS, max_size=3).map(tuple), st.booleans(), OPAQUE
)
GROUPS = st.builds(ToolResults, st.integers(1, 9), st.lists(RESULTS, max_size=3).map(tuple))
ITEMS: st.SearchStrategy[Item] = st.one_of(STEPS, GROUPS, st.builds(Nudge, st.integers(1, 9), TEXTS))
SCHEMAS: st.SearchStrategy[JsonObject] = st.sampled_from(
    [{}, {"type": "object"}, {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}]
)
TOOLS = st.lists(st.builds(ToolSpec, NAMES, TEXTS, SCHEMAS), max_size=3, unique_by=lambda tool: tool.name)
FILES = st.lists(
    st.builds(
        Attachment,
        st.just("a"),
        st.sampled_from(["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"]),
        st.binary(min_size=1, max_size=9).map(lambda data: base64.b64encode(data).decode()),
    ),
    max_size=2,
)
REQUESTS = st.builds(
    lambda brief, history, instructions, state, transcript, tools, files: request_of(
        brief,
        history=history,
        instructions=instructions,
        state=state,
        transcript=tuple(transcript),
        tools=tuple(tools),
        attachments=tuple(files),
    ),
    TEXTS, TEXTS, TEXTS, TEXTS, st.lists(ITEMS, max_size=6), TOOLS, FILES,
)  # fmt: skip


@cache
def accepts(dialect: str, stream: bool) -> Callable[[object], object]:
    """The validation by the type that the official SDK gives the whole body."""
    if dialect == "openai":
        from openai.types.chat import completion_create_params as chat

        kind: Any = chat.CompletionCreateParamsStreaming if stream else chat.CompletionCreateParamsNonStreaming
    else:
        from anthropic.types import message_create_params as said

        kind = said.MessageCreateParamsStreaming if stream else said.MessageCreateParamsNonStreaming
    adapter: TypeAdapter[object] = TypeAdapter(kind)
    return lambda body: whole(adapter.validate_python(body))


def whole(value: Any) -> Any:
    """What was validated, its lazy lists read: an unknown key is gone from it, and reading raises what is wrong."""
    if isinstance(value, Mapping):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, str | int | float | None):
        return value
    assert isinstance(value, list | tuple | Iterator) or hasattr(value, "__iter__")
    return [whole(item) for item in value]


async def body_of(dialect: Dialect, request: Request, *, stream: bool) -> Json:
    posted: list[bytes] = []

    def answer(sent: httpx.Request) -> httpx.Response:
        posted.append(sent.content)
        return httpx.Response(200, json=dialect.whole("ok"))

    model = dialect.model(httpx.MockTransport(answer), settings=ModelSettings(stream=stream))
    async for _ in model.stream(request):
        pass
    body: Json = json.loads(posted[0])
    return body


@given(request=REQUESTS, stream=st.booleans())
async def test_M6_chat_completions_of_any_request_are_what_openai_takes(request: Request, stream: bool) -> None:
    body = await body_of(OPENAI, request, stream=stream)
    assert accepts("openai", stream)(body) == body


@given(request=REQUESTS, stream=st.booleans())
async def test_M6_messages_of_any_request_are_what_anthropic_takes(request: Request, stream: bool) -> None:
    body = await body_of(ANTHROPIC, request, stream=stream)
    assert accepts("anthropic", stream)(body) == body


async def test_the_types_refuse_what_is_wrong() -> None:
    """That the check above checks something: a key too many, a wrong kind, a missing one."""
    for dialect in DIALECTS:
        body = await body_of(dialect, request_of("hi"), stream=True)
        assert isinstance(body, dict)
        check = accepts(dialect.name, True)
        assert check(body) == body
        odd = {**body, "messages": [{"role": "user", "content": "hi", "colour": "red"}]}
        assert check(odd) != odd
        for wrong in ({"role": "judge", "content": "hi"}, {"role": "user", "content": 3}, {"role": "user"}):
            try:
                kept = check({**body, "messages": [wrong]})
            except ValueError:
                continue
            raise AssertionError(f"{wrong} was taken: {kept}")
