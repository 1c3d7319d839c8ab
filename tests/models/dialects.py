"""What a server of each dialect says, for tests of what both adapters must do alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from runtime.models import Model
from runtime.models.catalog import open_model
from runtime.models.settings import ModelSettings
from runtime.values.items import Item
from runtime.values.request import Attachment, Limits, Request, Section, SectionName, ToolSpec


@dataclass(frozen=True)
class Dialect:
    """`text`, `call`, `usage` and `error` are one server event each; `end` closes a stream, `whole` is all at once."""

    name: str
    path: str
    text: Callable[..., bytes]
    call: Callable[..., bytes]
    end: Callable[..., bytes]
    usage: Callable[[int, int], bytes]
    error: Callable[[str, str], bytes]
    ping: bytes
    whole: Callable[..., object]
    start: bytes = b""

    def stream(self, *events: bytes) -> bytes:
        return self.start + b"".join(events)

    def model(
        self,
        where: str | httpx.AsyncBaseTransport,
        *,
        base: str = "http://model.test",
        key: str = "sk-1",
        settings: ModelSettings | None = None,
    ) -> Model:
        """The adapter for this dialect, against a base URL, or a transport that stands for the server at `base`."""
        environ = {f"{self.name.upper()}_API_KEY": key}
        if isinstance(where, str):
            return open_model(f"{self.name}:small@{where}", environ=environ, settings=settings)
        return open_model(f"{self.name}:small@{base}", environ=environ, settings=settings, transport=where)


def event(data: object, name: str = "") -> bytes:
    """One server event with `data` as JSON."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def chunk(delta: object, finish: str | None = None, **more: Any) -> bytes:
    """A chunk of chat completions with one choice."""
    return event(
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    )


def fragment(
    index: int | None = 0, id: Any = None, name: Any = None, arguments: Any = None, **more: Any
) -> dict[str, Any]:
    """A fragment of a call as chat completions stream it; None leaves a field out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fields = (("index", index), ("id", id), ("function", function))
    return {**{key: value for key, value in fields if value is not None}, **more}


def block(kind: str, index: int = 0, **fields: Any) -> bytes:
    """An event of messages: `content_block_start` and the like."""
    return event({"type": kind, "index": index, **fields}, kind)


def _openai_call(id: str, name: str, arguments: str, index: int = 0) -> bytes:
    return chunk({"tool_calls": [fragment(index, id, name, arguments, type="function")]})


def _openai_end(reason: str = "stop") -> bytes:
    return chunk({}, {"stop": "stop", "length": "length"}[reason]) + b"data: [DONE]\n\n"


def _openai_whole(text: str | None, calls: tuple[tuple[str, str, str], ...] = (), reason: str = "stop") -> object:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in calls
        ]
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}


def _anthropic_text(text: str, index: int = 0) -> bytes:
    return (
        block("content_block_start", index, content_block={"type": "text", "text": ""})
        + block("content_block_delta", index, delta={"type": "text_delta", "text": text})
        + block("content_block_stop", index)
    )


def _anthropic_call(id: str, name: str, arguments: str, index: int = 0) -> bytes:
    index += 1
    return (
        block("content_block_start", index, content_block={"type": "tool_use", "id": id, "name": name, "input": {}})
        + block("content_block_delta", index, delta={"type": "input_json_delta", "partial_json": arguments})
        + block("content_block_stop", index)
    )


def _anthropic_end(reason: str = "stop") -> bytes:
    word = {"stop": "end_turn", "length": "max_tokens"}[reason]
    delta = {"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 5}}
    return event(delta, "message_delta") + event({"type": "message_stop"}, "message_stop")


def _anthropic_whole(text: str | None, calls: tuple[tuple[str, str, str], ...] = (), reason: str = "stop") -> object:
    content: list[Any] = [] if text is None else [{"type": "text", "text": text}]
    content += [
        {"type": "tool_use", "id": id, "name": name, "input": json.loads(arguments)} for id, name, arguments in calls
    ]
    word = {"stop": "end_turn", "length": "max_tokens"}[reason]
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": word, "usage": usage}


OPENAI = Dialect(
    name="openai",
    path="/v1/chat/completions",
    text=lambda text: chunk({"content": text}),
    call=_openai_call,
    end=_openai_end,
    usage=lambda given, made: event({"choices": [], "usage": {"prompt_tokens": given, "completion_tokens": made}}),
    error=lambda kind, message: event({"error": {"message": message, "type": kind}}),
    ping=b": ping\n\n",
    whole=_openai_whole,
)
ANTHROPIC = Dialect(
    name="anthropic",
    path="/v1/messages",
    text=_anthropic_text,
    call=_anthropic_call,
    end=_anthropic_end,
    usage=lambda given, made: event(
        {"type": "message_delta", "delta": {}, "usage": {"input_tokens": given, "output_tokens": made}}, "message_delta"
    ),
    error=lambda kind, message: event({"type": "error", "error": {"type": kind, "message": message}}, "error"),
    ping=event({"type": "ping"}, "ping"),
    whole=_anthropic_whole,
    start=event(
        {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}}, "message_start"
    ),
)
DIALECTS = (OPENAI, ANTHROPIC)


def request_of(
    brief: str = "hi",
    *,
    history: str = "",
    instructions: str = "",
    state: str = "",
    transcript: tuple[Item, ...] = (),
    tools: tuple[ToolSpec, ...] = (),
    attachments: tuple[Attachment, ...] = (),
    step: int = 1,
) -> Request:
    """A request with the sections that are not empty."""
    texts: list[tuple[SectionName, str]] = [
        ("instructions", instructions), ("state", state), ("history", history), ("request", brief),
    ]  # fmt: skip
    sections = tuple(Section(name, text) for name, text in texts if text)
    return Request(sections, brief, transcript, tools, Limits(), "t1", step, 1, attachments)
