"""Reads chat completions, in chunks or whole, as model events, from servers that differ in every detail."""

from __future__ import annotations

import json
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

_FILTERED = ("content_filter", "error")
_LENGTH = ("length", "max_tokens", "model_length")


@dataclass(slots=True)
class _Call:
    index: int
    id: str
    name: str
    parts: list[str] = field(default_factory=list)
    extra: Json = None

    def complete(self) -> bool:
        """Whether the arguments so far are an object, so that more of them would belong to another call."""
        try:
            return isinstance(json.loads("".join(self.parts)), dict)
        except (ValueError, RecursionError):
            return False


class CompletionReader:
    """One reply. `endpoint` is the key of what is kept for it; `name` gives a tool's own name back; `taken` are ids of
    earlier calls of the turn; calls without an id, or with one of these, get new ones that begin with `call_STEP`.
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
        self._calls: list[_Call] = []
        self._legacy: _Call | None = None
        self._thoughts: list[str] = []
        self._details: list[Json] = []

    def feed(self, event: ServerEvent) -> Iterator[ModelEvent]:
        """The events of one chunk. Raises ModelError for an error in the stream, and for what is no chunk."""
        data = event.data.strip()
        if data == "[DONE]":
            self.done = True
        elif data:
            chunk = data_of(event)
            if event.name == "error" or _is_error(chunk):
                raise in_stream(chunk.get("error") or chunk)
            yield from self._usage(chunk)
            choice = _choice(chunk)
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                yield from self._message(delta)
            self._finish(choice)

    def whole(self, body: Json) -> Iterator[ModelEvent]:
        """The events of a completion that came whole."""
        if not isinstance(body, dict):
            raise not_the_dialect(200, "application/json", compact(body))
        if _is_error(body):
            raise in_stream(body.get("error") or body)
        choice = _choice(body)
        message = choice.get("message") or choice.get("delta")
        if not isinstance(message, dict):
            raise not_the_dialect(200, "application/json", compact(body))
        yield from self._usage(body)
        yield from self._message(message, whole=True)
        self._finish(choice)
        self.done = True
        yield from self.end()

    def end(self) -> Iterator[ModelEvent]:
        """The calls, what is kept for this endpoint, and `Ended`. Raises ModelError without a closing marker (M3)."""
        if not (self.done or self.reason_seen):
            raise ModelError("the answer broke off before its end", kind="cut-off")
        if rest := self._text.rest():
            yield TextDelta(rest)
        calls = sorted(self._calls, key=lambda call: call.index) or [call for call in (self._legacy,) if call]
        calls = [call for call in calls if call.name or call.id or call.parts]
        for n, call in enumerate(calls, 1):
            id = distinct_id(clean(call.id), self._taken, self._step, n)
            yield Called(ToolCall.read(id, self._name(clean(call.name)), mended("".join(call.parts))))
        if calls and (blocks := self._blocks(calls)):
            yield Opaque({self._endpoint: blocks})
        yield Ended(self._reason)

    def _usage(self, chunk: JsonObject) -> Iterator[ModelEvent]:
        usage = chunk.get("usage")
        if not isinstance(usage, dict):
            groq = chunk.get("x_groq")
            usage = groq.get("usage") if isinstance(groq, dict) else None
        if isinstance(usage, dict):
            given, made = (
                _count(usage, "prompt_tokens", "input_tokens"),
                _count(usage, "completion_tokens", "output_tokens"),
            )
            if given is not None or made is not None:
                yield UsageReported(Usage(given, made))

    def _message(self, delta: JsonObject, *, whole: bool = False) -> Iterator[ModelEvent]:
        text = _text_of(delta.get("content")) or _text_of(delta.get("refusal"))
        if text and (text := self._text.take(text)):
            yield TextDelta(text)
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            before = len(self._calls)
            for fragment in calls:
                if isinstance(fragment, dict):
                    self._take_call(fragment, before, whole=whole)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            if self._legacy is None:
                self._legacy = _Call(0, "", "")
            _extend(self._legacy, legacy)
        if isinstance(thought := delta.get("reasoning_content"), str):
            self._thoughts.append(thought)
        if isinstance(details := delta.get("reasoning_details"), list):
            self._details += details

    def _take_call(self, fragment: JsonObject, before: int, *, whole: bool) -> None:
        """A fragment continues a call or begins one. `before` is how many calls there were at the chunk's begin."""
        index, id = fragment.get("index"), fragment.get("id")
        number = index if isinstance(index, int) else None
        id = id if isinstance(id, str) else ""
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        call = None if whole else self._continued(number, id, function, before)
        if call is None:
            last = self._calls[-1].index if self._calls else 0
            call = _Call(last if number is None else number, id, "")
            self._calls.append(call)
        call.id = call.id or id
        if fragment.get("extra_content") is not None:
            call.extra = fragment["extra_content"]
        _extend(call, function)

    def _continued(self, index: int | None, id: str, function: JsonObject, before: int) -> _Call | None:
        """The call that a fragment continues, or None. Servers repeat ids and names, leave out indexes, or give every
        call the index 0: a fragment with a name begins another call only if what it would continue is complete.
        """
        known = next((call for call in reversed(self._calls) if id and call.id == id), None)
        if known is not None:
            return known
        if index is None:
            current = self._calls[-1] if self._calls else None
        else:
            current = next((call for call in reversed(self._calls) if call.index == index), None)
        if current is None or not function.get("name"):
            return current
        if id and current.id:
            other = current.complete() or not current.parts
        elif id or current.id:
            other = current.complete() and bool(_arguments(function).strip())
        else:
            other = current.complete() and bool(_arguments(function).strip())
            other = other or (index is None and len(self._calls) > before)
        return None if other else current

    def _finish(self, choice: JsonObject) -> None:
        reason = choice.get("finish_reason")
        if not isinstance(reason, str) or not reason:
            return
        if reason in _FILTERED:
            said = "the provider's filter broke off the answer" if reason == "content_filter" else "the model failed"
            raise ModelError(f"{said} (finish_reason {reason})", kind="server")
        self.reason_seen = True
        self._reason = "length" if reason in _LENGTH else "stop"

    def _blocks(self, calls: list[_Call]) -> JsonObject:
        """What the server wants back with these calls, unchanged."""
        kept: dict[str, Json] = {}
        if thoughts := "".join(self._thoughts):
            kept["reasoning_content"] = thoughts
        if self._details:
            kept["reasoning_details"] = self._details
        if any(call.extra is not None for call in calls):
            kept["extra_content"] = [call.extra for call in calls]
        cleaned = clean_json(kept)
        assert isinstance(cleaned, dict)
        return cleaned


def _choice(chunk: JsonObject) -> JsonObject:
    """The first choice; empty if the chunk has none."""
    choices = chunk.get("choices")
    if isinstance(choices, list):
        for choice in choices:
            if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
                return choice
    return {}


def _is_error(chunk: JsonObject) -> bool:
    if chunk.get("error"):
        return True
    return not chunk.get("choices") and (chunk.get("object") == "error" or chunk.get("type") == "error")


def _extend(call: _Call, function: JsonObject) -> None:
    name = function.get("name")
    if isinstance(name, str) and name and name != call.name:
        if not call.name or name.startswith(call.name):
            call.name = name
        elif not call.parts:
            call.name += name
    if text := _arguments(function):
        call.parts.append(text)


def _arguments(function: JsonObject) -> str:
    """A fragment's arguments as text; some servers send the object itself."""
    value = function.get("arguments")
    if value is None:
        return ""
    return value if isinstance(value, str) else compact(value)


def _text_of(content: Json) -> str:
    """The text in a content: a text, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _count(usage: JsonObject, *names: str) -> int | None:
    return next((count for name in names if (count := whole_number(usage.get(name))) is not None), None)
