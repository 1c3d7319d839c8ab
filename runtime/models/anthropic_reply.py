"""Reads messages, as a stream of content blocks or whole, as model events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from runtime.errors import ModelError
from runtime.events import Called, Ended, ModelEvent, Opaque, TextDelta, UsageReported
from runtime.models.failures import in_stream, not_the_dialect
from runtime.models.reply import TextJoiner, data_of, distinct_id, mended, whole_number
from runtime.models.sse import ServerEvent
from runtime.values.items import ToolCall
from runtime.values.json import Json, JsonObject, clean, clean_json, compact
from runtime.values.usage import Usage

_LENGTH = ("max_tokens", "model_context_window_exceeded")
_THOUGHT = ("thinking", "redacted_thinking")
_BLOCK_OF_DELTA = {"input_json_delta": "tool_use", "thinking_delta": "thinking", "signature_delta": "thinking"}
_PIECE = {"input_json_delta": "partial_json", "thinking_delta": "thinking"}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


@dataclass(slots=True)
class _Block:
    kind: str
    start: dict[str, Json]
    parts: list[str] = field(default_factory=list)
    signature: str = ""

    def as_sent_back(self) -> JsonObject:
        """The block for the next request: thoughts whole, a call as its place alone."""
        if self.kind == "thinking":
            thinking, signature = self.start.get("thinking") or "", self.start.get("signature") or ""
            text = f"{thinking}{''.join(self.parts)}"
            return {"type": "thinking", "thinking": text, "signature": f"{signature}{self.signature}"}
        if self.kind == "text":
            return {"type": "text", "text": "".join(self.parts)}
        return {"type": "tool_use"} if self.kind == "tool_use" else self.start


class MessageReader:
    """One reply. `endpoint` is the key of the blocks kept for it; `name` gives a tool's own name back; `taken` are ids
    of earlier calls of the turn; calls without an id, or with one of these, get new ones that begin with `call_STEP`.
    """

    def __init__(
        self,
        endpoint: str = "",
        *,
        step: int = 1,
        taken: Iterable[str] = (),
        name: Callable[[str], str] = str,
    ) -> None:
        self.done = False
        self.reason_seen = False
        self._endpoint, self._step, self._taken, self._name = endpoint, step, set(taken), name
        self._reason: Literal["stop", "length"] = "stop"
        self._text = TextJoiner()
        self._blocks: dict[int, _Block] = {}
        self._counts: dict[str, int] = {}

    def feed(self, event: ServerEvent) -> Iterator[ModelEvent]:
        """The events of one server event. Raises ModelError for an error in the stream, and for what is no event."""
        if not event.data.strip() or event.name == "ping":
            return
        if event.data.strip() == "[DONE]":
            return
        data = data_of(event)
        kind = data.get("type") or event.name
        if kind == "error" or event.name == "error" or data.get("error"):
            raise in_stream(data.get("error") or data)
        if kind == "message_start":
            yield from self._usage(_object(data.get("message")))
        elif kind == "content_block_start":
            yield from self._begin(_index(data), _object(data.get("content_block")))
        elif kind == "content_block_delta":
            yield from self._extend(_index(data), _object(data.get("delta")))
        elif kind == "message_delta":
            yield from self._usage(data)
            self._finish(_object(data.get("delta")).get("stop_reason"))
        elif kind == "message_stop":
            self.done = True

    def whole(self, body: Json) -> Iterator[ModelEvent]:
        """The events of a message that came whole."""
        if not isinstance(body, dict):
            raise not_the_dialect(200, "application/json", compact(body))
        if body.get("type") == "error" or body.get("error"):
            raise in_stream(body.get("error") or body)
        content = body.get("content")
        if not isinstance(content, list):
            raise not_the_dialect(200, "application/json", compact(body))
        yield from self._usage(body)
        for index, block in enumerate(content):
            yield from self._begin(index, _object(block))
        self._finish(body.get("stop_reason"))
        self.done = True
        yield from self.end()

    def end(self) -> Iterator[ModelEvent]:
        """The calls, the thoughts kept for this endpoint, and `Ended`. Raises ModelError without a closing marker."""
        if not (self.done or self.reason_seen):
            raise ModelError("the answer broke off before its end", kind="cut-off")
        if rest := self._text.rest():
            yield TextDelta(rest)
        blocks = [block for _, block in sorted(self._blocks.items())]
        calls = [block for block in blocks if block.kind == "tool_use"]
        for n, block in enumerate(calls, 1):
            yield Called(self._call(block, n))
        if any(block.kind in _THOUGHT for block in blocks):
            kept = clean_json([block.as_sent_back() for block in blocks])
            yield Opaque({self._endpoint: kept})
        yield Ended(self._reason)

    def _begin(self, index: int, start: JsonObject) -> Iterator[ModelEvent]:
        kind = start.get("type")
        block = self._blocks[index] = _Block(kind if isinstance(kind, str) else "text", dict(start))
        text = start.get("text")
        if block.kind == "text" and isinstance(text, str) and text:
            yield from self._say(block, text)

    def _extend(self, index: int, delta: JsonObject) -> Iterator[ModelEvent]:
        kind = str(delta.get("type"))
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _Block(_BLOCK_OF_DELTA.get(kind, "text"), {})
        if kind == "text_delta":
            yield from self._say(block, delta.get("text"))
        elif kind in _PIECE and isinstance(part := delta.get(_PIECE[kind]), str):
            block.parts.append(part)
        elif kind == "signature_delta" and isinstance(part := delta.get("signature"), str):
            block.signature += part

    def _say(self, block: _Block, text: Json) -> Iterator[ModelEvent]:
        if isinstance(text, str) and (said := self._text.take(text)):
            block.parts.append(said)
            yield TextDelta(said)

    def _call(self, block: _Block, n: int) -> ToolCall:
        id, name, given = block.start.get("id"), block.start.get("name"), block.start.get("input")
        id = distinct_id(clean(id) if isinstance(id, str) else "", self._taken, self._step, n)
        name = self._name(clean(name) if isinstance(name, str) else "")
        streamed = mended("".join(block.parts))
        if streamed.strip() or given is None:
            return ToolCall.read(id, name, streamed)
        return ToolCall.read(id, name, given if isinstance(given, str) else compact(given))

    def _usage(self, holder: JsonObject) -> Iterator[ModelEvent]:
        """Usage so far: counts are totals, each stands until it is said again. What was read from a cache is input."""
        usage = _object(holder.get("usage"))
        for name in (*_INPUT, "output_tokens"):
            count = whole_number(usage.get(name))
            if count is not None:
                self._counts[name] = count
        if usage and self._counts:
            inputs = [self._counts[name] for name in _INPUT if name in self._counts]
            yield UsageReported(Usage(sum(inputs) if inputs else None, self._counts.get("output_tokens")))

    def _finish(self, reason: Json) -> None:
        if not isinstance(reason, str) or not reason:
            return
        if reason == "refusal":
            raise ModelError("the provider's filter broke off the answer (stop_reason refusal)", kind="server")
        self.reason_seen = True
        self._reason = "length" if reason in _LENGTH else "stop"


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _index(data: JsonObject) -> int:
    index = data.get("index")
    return index if isinstance(index, int) else 0
