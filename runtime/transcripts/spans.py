"""Traces: spans whose attributes hold messages, in the OpenTelemetry GenAI and the OpenInference conventions.

A span is unwrapped to plain attributes first, whatever export it comes from. Of each trace the last model call
counts: its input is the whole history, its output the last message. Spans are never strung together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from runtime.transcripts.conversation import Detected
from runtime.transcripts.openai_chat import ROLES
from runtime.transcripts.rows import Rows, Said
from runtime.transcripts.shapes import decoded, either, numbered, obj, objs, parse, plain, seq, txt
from runtime.values.json import as_text

Attributes = Mapping[str, object]

_WHOLE: Final = ("pydantic_ai.all_messages", "all_messages_events")
_INPUTS: Final = ("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.request.messages")
_OUTPUTS: Final = ("gen_ai.output.messages", "gen_ai.completion", "gen_ai.response.messages")
_INDEXED = re.compile(r"(gen_ai\.(?:prompt|completion)|llm\.(?:input|output)_messages)\.(\d+)\.(.+)")


@dataclass(frozen=True, slots=True)
class Span:
    """One span: its trace or conversation, when it began, its attributes, where it stands."""

    trace: str
    start: str
    attributes: Attributes
    source: str


def spans(values: Iterable[tuple[object, str]]) -> Iterator[Span]:
    """The spans in exports, single spans, or rows of a table, each with its source."""
    for value, source in values:
        found = obj(value)
        resources = objs(either(found, "resourceSpans", "resource_spans"))
        if not resources:
            yield _span(found, source.strip())
            continue
        number = 0
        for resource in resources:
            for scope in objs(either(resource, "scopeSpans", "scope_spans")):
                for inner in objs(scope.get("spans")):
                    yield _span(inner, f"{source} span {number}".strip())
                    number += 1


def traces(found: Iterable[Span]) -> list[list[Span]]:
    """The spans by trace or conversation, in the order met; those without any trace are one each."""
    by_trace: dict[str, list[Span]] = {}
    for span in found:
        if _is_call(span.attributes):
            by_trace.setdefault(span.trace or f"alone {len(by_trace)}", []).append(span)
    return list(by_trace.values())


def detected(trace: list[Span]) -> Detected:
    """Which convention the spans of a trace follow."""
    if any(name.startswith("llm.") or name == "openinference.span.kind" for span in trace for name in span.attributes):
        return Detected("openinference", "its spans have `llm.` and `openinference.` attributes")
    return Detected("otel-genai", "its spans have `gen_ai.` attributes")


def add(rows: Rows, trace: list[Span]) -> None:
    """The conversation of one trace: its last model call, or the agent's span that holds all messages."""
    ordered = sorted(trace, key=lambda span: span.start)
    span = next((one for one in reversed(ordered) if _holds(one.attributes)), ordered[-1])
    held = span.attributes
    rows.model = txt(either(held, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name"))
    if len(trace) > 1:
        rows.lose("span", "an earlier call of the same trace: its messages are in the last one", len(trace) - 1)
    if not _holds(held):
        rows.lose("messages", "the trace was written without content (it is opt-in)")
    _tools(rows, held)
    system = held.get("gen_ai.system_instructions")
    if system is not None:
        _system(rows, system, f"{span.source} gen_ai.system_instructions".strip())
    whole = next((name for name in _WHOLE if held.get(name) is not None), None)
    names = [whole] if whole else [*_first(held, _INPUTS), *_first(held, _OUTPUTS)]
    for name in names:
        _value(rows, held[name], f"{span.source} {name}".strip())
    for stem in (
        ("llm.input_messages", "llm.output_messages", "gen_ai.prompt", "gen_ai.completion") if not names else ()
    ):
        for number, message in sorted(_indexed(held, stem).items()):
            _flat(rows, message, f"{span.source} {stem}.{number}".strip())
    if not rows.messages:
        _plain_values(rows, held, span.source)


def is_bare(found: Mapping[str, object]) -> bool:
    """Whether an object is a span's attributes without the span."""
    return any(key.startswith(("gen_ai.", "llm.", "openinference.span")) for key in found)


def _span(found: Mapping[str, object], source: str) -> Span:
    attributes = found.get("attributes")
    if attributes is None and is_bare(found):
        attributes = found
    held = (
        dict(_flattened(attributes))
        if isinstance(attributes, dict)
        else {txt(entry.get("key")): _any_value(entry.get("value")) for entry in objs(attributes)}
    )
    for key, value in found.items():
        if key.startswith("attributes."):
            held.update(_flattened({key.removeprefix("attributes."): value}))
    context = obj(found.get("context"))
    trace = either(held, "gen_ai.conversation.id", "session.id") or either(
        found, "traceId", "trace_id", "context.trace_id"
    )
    start = either(found, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "start_timestamp")
    return Span(txt(trace or context.get("trace_id")), str(start or "").rjust(24, "0"), held, source)


def _flattened(value: Mapping[str, object], stem: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Attributes by dotted name, also where an export nests them or makes lists of what was numbered."""
    for key, inner in value.items():
        name = f"{stem}{key}"
        if isinstance(inner, dict) and depth < 12 and not name.endswith(("messages", "arguments")):
            yield from _flattened(inner, f"{name}.", depth + 1)
        elif name in ("llm.input_messages", "llm.output_messages") and isinstance(inner, list):
            for number, item in enumerate(inner):
                yield from _flattened(obj(item), f"{name}.{number}.", depth + 1)
        else:
            yield name, inner


def _any_value(value: object) -> object:
    """OTLP's tagged values as plain ones."""
    held = obj(value)
    for key in ("stringValue", "intValue", "doubleValue", "boolValue", "string_value", "int_value", "bool_value"):
        if key in held:
            return held[key]
    array = obj(either(held, "arrayValue", "array_value"))
    if array:
        return [_any_value(item) for item in seq(array.get("values"))]
    pairs = obj(either(held, "kvlistValue", "kvlist_value"))
    return (
        {txt(pair.get("key")): _any_value(pair.get("value")) for pair in objs(pairs.get("values"))} if pairs else None
    )


def _is_call(held: Attributes) -> bool:
    return _holds(held) or any(name.startswith(("gen_ai.", "llm.", "openinference.")) for name in held)


def _holds(held: Attributes) -> bool:
    if any(held.get(name) is not None for name in (*_WHOLE, *_INPUTS, *_OUTPUTS)):
        return True
    return any(_INDEXED.match(name) for name in held)


def _first(held: Attributes, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if held.get(name) is not None][:1]


def _value(rows: Rows, value: object, source: str) -> None:
    """Messages as a JSON text, or as a structured value."""
    if isinstance(value, str):
        try:
            value = parse(value)
        except ValueError:
            rows.lose("attribute", "its value is cut off or no JSON, and cannot be read")
            return
    messages = obj(value).get("messages") if isinstance(value, dict) else value
    for message, place in numbered(messages, ""):
        _message(rows, obj(message), f"{source} {place}")


def _message(rows: Rows, message: Mapping[str, object], source: str) -> None:
    """One message with parts (or with a plain `content`); results are told by the part, not by the role."""
    said, results = Said(), 0
    parts = message.get("parts") if isinstance(message.get("parts"), list) else message.get("content")
    if isinstance(parts, str):
        said.texts.append(parts)
    for part in objs(parts):
        if part.get("type") in ("tool_call_response", "tool_result"):
            results += 1
            output = either(part, "response", "result", "content")
            rows.result(
                part.get("id"), part.get("name"), "" if output is None else as_text(plain(output)), source=source
            )
        else:
            _part(rows, said, part)
    role = ROLES.get(txt(message.get("role")), "assistant" if said.calls else "user")
    if role == "tool":
        if not results:
            rows.result(message.get("id"), message.get("name"), said.text, source=source)
    elif not results or not said.empty:
        rows.add(role, said, source=source)


def _part(rows: Rows, said: Said, part: Mapping[str, object]) -> None:
    match txt(part.get("type")):
        case "text":
            said.texts.append(txt(either(part, "content", "text")))
        case "tool_call":
            said.calls.append(rows.call(part.get("id"), part.get("name"), part.get("arguments")))
        case "reasoning" | "thinking":
            said.reasoning(either(part, "content", "text"))
        case "blob" | "uri" | "file" | "image-url" | "binary" as kind:
            media = txt(either(part, "modality", "mime_type")) or kind
            rows.media(said, "image" if "image" in media else "file", either(part, "uri", "url", "file_id"))
        case other:
            rows.lose(f"part {other[:40]!r}", "not known here")


def _system(rows: Rows, value: object, source: str) -> None:
    parts = decoded(value) if isinstance(value, str) else value
    text = parts if isinstance(parts, str) else "\n".join(txt(either(part, "content", "text")) for part in objs(parts))
    if text:
        rows.say("system", text, source=source)


def _indexed(held: Attributes, stem: str) -> dict[int, dict[str, object]]:
    """Attributes such as `llm.input_messages.3.message.role`, by message."""
    found: dict[int, dict[str, object]] = {}
    for name, value in held.items():
        match = _INDEXED.fullmatch(name)
        if match and match[1] == stem and len(match[2]) < 7:
            found.setdefault(int(match[2]), {})[match[3].removeprefix("message.")] = value
    return found


def _flat(rows: Rows, message: Mapping[str, object], source: str) -> None:
    """One message whose fields are dotted names."""
    said = Said()
    if txt(message.get("content")):
        said.texts.append(txt(message["content"]))
    calls: dict[str, dict[str, object]] = {}
    for name, value in sorted(
        message.items(), key=lambda pair: [int(p) if p.isdigit() and len(p) < 7 else -1 for p in pair[0].split(".")]
    ):
        kind, _, rest = name.partition(".")
        number, _, inner = rest.partition(".")
        if kind == "contents" and inner == "message_content.text":
            said.texts.append(txt(value))
        elif kind == "contents" and inner.endswith("image.url"):
            rows.media(said, "image", value)
        elif kind == "tool_calls":
            key = inner.removeprefix("tool_call.").removeprefix("function.")
            calls.setdefault(number, {})[key] = value
    for call in calls.values():
        said.calls.append(rows.call(call.get("id"), call.get("name"), call.get("arguments")))
    role = ROLES.get(txt(message.get("role")), "assistant" if said.calls else "user")
    if role == "tool":
        rows.result(message.get("tool_call_id"), message.get("name"), said.text, source=source)
    else:
        rows.add(role, said, source=source)


def _tools(rows: Rows, held: Attributes) -> None:
    tools = decoded(txt(held.get("gen_ai.tool.definitions")))
    for tool in objs(tools):
        inner = obj(tool.get("function")) or tool
        rows.offer(inner.get("name"), inner.get("description"), inner.get("parameters"))
    for number in range(1_000):
        text = held.get(f"llm.tools.{number}.tool.json_schema")
        if text is None:
            break
        schema = obj(decoded(text) if isinstance(text, str) else text)
        inner = obj(schema.get("function")) or schema
        rows.offer(inner.get("name"), inner.get("description"), either(inner, "parameters", "input_schema"))


def _plain_values(rows: Rows, held: Attributes, source: str) -> None:
    """The last resort of OpenInference: `input.value` and `output.value` as one exchange."""
    for key, role in (("input.value", "user"), ("output.value", "assistant")):
        if txt(held.get(key)):
            rows.say("user" if role == "user" else "assistant", txt(held[key]), source=f"{source} {key}".strip())
