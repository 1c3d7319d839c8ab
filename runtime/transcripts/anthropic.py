"""The payload of Anthropic's Messages: content blocks, with results inside user messages.

A user message that holds results becomes one tool message for each, followed by a user message for what else it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runtime.transcripts.rows import Rows, Said, tools_of
from runtime.transcripts.shapes import either, numbered, obj, objs, plain, seq, txt
from runtime.values.json import as_text
from runtime.values.messages import Role


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """A request body, a response, or a line of a batch around one."""
    for key in ("params", "body"):
        if isinstance(body.get(key), dict):
            add_body(rows, obj(body[key]), f"{pointer}/{key}")
            return
    rows.model = rows.model or txt(body.get("model"))
    tools_of(rows, body.get("tools"))
    add_system(rows, body.get("system"), f"{pointer}/system")
    if "messages" in body:
        add_messages(rows, numbered(body["messages"], f"{pointer}/messages"))
    elif body.get("role"):
        add(rows, body, pointer)


def add_system(rows: Rows, value: object, source: str) -> None:
    """The system prompt that stands beside the messages: a text or text blocks."""
    texts = [value] if isinstance(value, str) else [txt(block.get("text")) for block in objs(value)]
    text = "\n".join(text for text in texts if text)
    if text:
        rows.say("system", text, source=source.strip())


def add_messages(rows: Rows, messages: Iterable[tuple[object, str]]) -> None:
    """Messages in order, each with its source."""
    for message, source in messages:
        add(rows, message, source.strip())


def add(
    rows: Rows, value: object, source: str, *, role: str = "", flags: tuple[str, ...] = (), join: bool = False
) -> bool:
    """One message; `role` says whose it is whatever it says itself, `join` adds to the assistant message before it.

    False if nothing was added.
    """
    message = obj(value)
    spoken = role or txt(message.get("role"))
    if spoken not in ("user", "assistant", "system", "developer"):
        rows.lose(f"message with the role {spoken[:40]!r}", "not a message of the conversation")
        return False
    as_role: Role = "user" if spoken == "user" else "assistant" if spoken == "assistant" else "system"
    content = message.get("content")
    if not join and not flags and add_simply(rows, as_role, content, source):
        return True
    said, results = Said(), 0
    for entry in [content] if isinstance(content, str) else seq(content):
        if isinstance(entry, dict) and txt(entry.get("type")).endswith("tool_result"):
            results += 1
            _result(rows, entry, source)
        else:
            block(rows, said, entry)
    if join and as_role == "assistant":
        rows.extend_last(said)
    elif not results or not said.empty:
        rows.add(as_role, said, source=source, flags=flags)
    return True


def add_simply(rows: Rows, role: Role, content: object, source: str) -> bool:
    """What most records of long sessions hold, texts and calls or one result, without the detours of the rest.

    False for anything else, of which nothing was added then.
    """
    if type(content) is str:
        rows.tell(role, content, source)
        return True
    if type(content) is not list or not content:
        return False
    texts: list[str] = []
    made: list[dict[str, object]] = []
    for held in content:
        if type(held) is not dict:
            return False
        kind = held.get("type")
        if kind == "text" and type(text := held.get("text")) is str and not held.get("citations"):
            texts.append(text)
        elif kind == "tool_use":
            made.append(held)
        elif kind == "tool_result" and len(content) == 1 and type(text := held.get("content")) is str:
            rows.result(held.get("tool_use_id"), None, text, source=source, error=held.get("is_error") is True)
            return True
        else:
            return False
    text = texts[0] if len(texts) == 1 else "\n".join(texts)
    if made:
        calls = [rows.call(held.get("id"), held.get("name"), held.get("input")) for held in made]
        rows.say_calls(role, text, calls, source=source)
    else:
        rows.tell(role, text, source)
    return True


def block(rows: Rows, said: Said, entry: object) -> None:
    """One content block that is no result."""
    if isinstance(entry, str):
        said.texts.append(entry)
        return
    held = obj(entry)
    match txt(held.get("type")):
        case "text":
            said.texts.append(txt(held.get("text")))
            if held.get("citations"):
                rows.lose("citations", "the text is kept without them")
        case "thinking":
            said.reasoning(held.get("thinking"), signature=held.get("signature"))
        case "redacted_thinking":
            rows.lose("reasoning", "encrypted by the provider")
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            said.calls.append(rows.call(held.get("id"), held.get("name"), held.get("input")))
        case "image" | "document" as kind:
            source = obj(held.get("source"))
            ref = either(source, "url", "file_id")
            data = txt(source.get("data"))
            if data and not ref:
                ref = f"data:{txt(source.get('media_type'))};base64,{data}" if source.get("type") == "base64" else data
            rows.media(said, "image" if kind == "image" else "file", ref, source.get("media_type"), held.get("title"))
        case other:
            rows.lose(f"content block {other[:40]!r}", "not known here")


def _result(rows: Rows, held: Mapping[str, object], source: str) -> None:
    said = Said()
    content = held.get("content")
    if isinstance(content, dict):
        said.texts.append(as_text(plain(content)))
    for entry in [content] if isinstance(content, str) else seq(content):
        if isinstance(entry, dict) and entry.get("type") not in ("text", "image", "document", None):
            said.texts.append(as_text(plain(entry)))
        else:
            block(rows, said, entry)
    failed = held.get("is_error") is True
    rows.result(held.get("tool_use_id"), None, said.text, source=source, error=failed, parts=said.parts)
