"""The payload of chat completions: messages with a role, content and calls; Ollama's dialect of it too.

`content` is a text, null, absent or a list of parts; a legacy `function_call` has no id and its result comes with
the role `function`; Ollama's arguments are objects and its pictures stand beside the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runtime.transcripts.rows import Rows, Said, tools_of
from runtime.transcripts.shapes import decoded, either, get, numbered, obj, objs, plain, seq, txt
from runtime.values.items import ToolCall
from runtime.values.json import as_text
from runtime.values.messages import Role

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """A request body or what is like it: `messages`, `tools`, `functions`, `model`."""
    rows.model = rows.model or txt(body.get("model"))
    tools_of(rows, body.get("tools") or body.get("functions"))
    key = "messages" if "messages" in body else "history"
    add_messages(rows, numbered(body.get(key), f"{pointer}/{key}"))
    for choice, place in numbered(body.get("choices"), f"{pointer}/choices"):
        add(rows, get(choice, "message"), f"{place}/message".strip())


def add_messages(rows: Rows, messages: Iterable[tuple[object, str]]) -> None:
    """Messages in order, each with its source."""
    for message, source in messages:
        add(rows, message, source.strip())


def add(rows: Rows, value: object, source: str) -> None:
    """One message; one that has no usable role is counted as lost."""
    message = obj(value)
    role = ROLES.get(txt(message.get("role")))
    if role is None:
        what = (
            f"message with the role {txt(message.get('role'))[:40]!r}"
            if message.get("role")
            else "entry without a role"
        )
        rows.lose(what, "not a message of the conversation")
        return
    said = content(rows, message)
    if role == "tool":
        ids = seq(message.get("tool_call_ids"))
        id = either(message, "tool_call_id") or (ids[0] if ids else None)
        name = either(message, "name", "tool_name")
        rows.result(id, name, said.text, source=source, parts=said.parts, error=message.get("is_error") is True)
        return
    if role == "assistant":
        said.calls += calls(rows, message)
    flags = ("developer",) if message.get("role") == "developer" else ()
    rows.add(role, said, source=source, flags=flags)


def content(rows: Rows, message: Mapping[str, object]) -> Said:
    """The text and parts of a message, without its calls."""
    said = Said()
    said.reasoning(either(message, "reasoning_content", "reasoning", "thinking"))
    value = message.get("content")
    if isinstance(value, str):
        said.texts.append(value)
    elif isinstance(value, list):
        for entry in value:
            part(rows, said, entry)
    elif isinstance(value, dict):
        part(rows, said, value)
    elif value is not None:
        said.texts.append(as_text(plain(value)))
    refusal = txt(message.get("refusal"))
    if refusal:
        said.parts.append({"type": "refusal", "text": refusal})
        said.texts += [] if said.text else [refusal]
    if txt(message.get("name")) and message.get("role") not in ("tool", "function"):
        said.parts.append({"type": "name", "name": txt(message.get("name"))})
    for image in seq(message.get("images")):
        rows.media(said, "image", _data_url(txt(image)))
    return said


def calls(rows: Rows, message: Mapping[str, object]) -> list[ToolCall]:
    """The calls of an assistant message: `tool_calls` (functions and custom tools), or a legacy `function_call`."""
    found = []
    for entry in objs(message.get("tool_calls")):
        made = obj(entry.get("function")) or obj(entry.get("custom")) or entry
        arguments = made["input"] if "input" in made and "arguments" not in made else made.get("arguments")
        found.append(rows.call(either(entry, "id", "tool_call_id"), made.get("name"), arguments))
    legacy = obj(message.get("function_call"))
    if legacy and not found:
        found.append(rows.call(None, legacy.get("name"), legacy.get("arguments")))
    return found


def part(rows: Rows, said: Said, value: object) -> None:
    """One part of a message's content."""
    if isinstance(value, str):
        said.texts.append(value)
        return
    held = obj(value)
    match txt(held.get("type")):
        case "text" | "input_text" | "output_text":
            said.texts.append(txt(either(held, "text", "value")))
        case "refusal":
            said.texts.append(txt(held.get("refusal")))
            said.parts.append({"type": "refusal", "text": txt(held.get("refusal"))})
        case "reasoning" | "thinking":
            said.reasoning(either(held, "text", "value", "thinking"))
        case "image_url" | "image" | "input_image":
            at = held.get("image_url")
            rows.media(
                said, "image", at if isinstance(at, str) else either(obj(at), "url") or either(held, "url", "value")
            )
        case "input_audio" | "audio":
            sound = obj(held.get("input_audio"))
            rows.media(said, "audio", sound.get("data"), sound.get("format"))
        case "file" | "input_file":
            file = obj(held.get("file")) or held
            rows.media(said, "file", either(file, "file_data", "file_id", "file_url"), None, file.get("filename"))
        case "tool_call" if held.get("value"):
            made = obj(decoded(txt(held["value"]))) or obj(held["value"])
            said.calls.append(rows.call(made.get("id"), made.get("name"), made.get("arguments")))
        case "" if isinstance(held.get("text"), str):
            said.texts.append(txt(held["text"]))
        case other:
            rows.lose(f"content part {other[:40]!r}", "not known here")


def _data_url(image: str) -> str:
    """Ollama's pictures are bare base64; paths and URLs stay as they are."""
    bare = len(image) > 200 and not image.startswith(("data:", "http:", "https:", "/"))
    return f"data:image/*;base64,{image}" if bare else image
