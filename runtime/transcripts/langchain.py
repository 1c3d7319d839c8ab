"""LangChain's message dumps in their three shapes: `type` and `data`, `lc` constructors, and flat models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runtime.transcripts import anthropic, openai_chat
from runtime.transcripts.rows import Rows, Said
from runtime.transcripts.shapes import either, numbered, obj, objs, seq, txt
from runtime.values.messages import Role

_CLASSES: Mapping[str, str] = {
    "Human": "human", "AI": "ai", "System": "system", "Tool": "tool", "Function": "function", "Chat": "chat",
    "Remove": "remove",
}  # fmt: skip


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """What holds `messages`: a thread's state, or the values inside it."""
    if isinstance(body.get("values"), dict):
        add_body(rows, obj(body["values"]), f"{pointer}/values")
        return
    add_messages(rows, numbered(body.get("messages"), f"{pointer}/messages"))


def add_messages(rows: Rows, messages: Iterable[tuple[object, str]]) -> None:
    """Messages in order; one of type `remove` takes an earlier one away by its id."""
    kept: list[tuple[str, Mapping[str, object], str]] = []
    for value, source in messages:
        kind, data = _unfold(obj(value))
        if kind != "remove":
            kept.append((kind, data, source.strip()))
            continue
        gone = txt(data.get("id"))
        before = len(kept)
        kept = [] if gone == "__remove_all__" else [entry for entry in kept if not gone or entry[1].get("id") != gone]
        rows.lose("removed message", "the history took it away again", before - len(kept))
    for kind, data, source in kept:
        _add(rows, kind, data, source)


def _unfold(message: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """The kind and the fields of a message, whichever shape it has."""
    if message.get("lc") == 1:
        path = seq(message.get("id"))
        name = (txt(path[-1]) if path else "").removesuffix("Chunk").removesuffix("Message")
        return _CLASSES.get(name, name), obj(message.get("kwargs"))
    kind = txt(message.get("type")).removesuffix("Chunk").removesuffix("Message")
    data = obj(message.get("data")) if isinstance(message.get("data"), dict) else message
    return _CLASSES.get(kind, kind), data


def _add(rows: Rows, kind: str, data: Mapping[str, object], source: str) -> None:
    said = _content(rows, data.get("content"))
    if kind in ("tool", "function"):
        failed = data.get("status") == "error"
        rows.result(
            data.get("tool_call_id"), data.get("name"), said.text, source=source, error=failed, parts=said.parts
        )
        return
    spoken = txt(data.get("role")) if kind == "chat" else kind
    if spoken in ("ai", "assistant"):
        _calls(rows, said, data)
        rows.add("assistant", said, source=source)
    elif spoken in ("human", "user", "system", "developer"):
        role: Role = "user" if spoken in ("human", "user") else "system"
        rows.add(role, said, source=source)
    else:
        rows.lose(f"message of type {spoken[:40]!r}", "not a message of the conversation")


def _content(rows: Rows, content: object) -> Said:
    """The content without its `tool_use` blocks: those repeat the calls."""
    if isinstance(content, list):
        blocks = [
            block
            for block in content
            if txt(obj(block).get("type")) not in ("tool_use", "tool_call", "input_json_delta")
        ]
        said = Said()
        for block in blocks:
            if txt(obj(block).get("type")) in ("thinking", "redacted_thinking", "image", "document"):
                anthropic.block(rows, said, block)
            else:
                openai_chat.part(rows, said, block)
        return said
    return openai_chat.content(rows, {"content": content})


def _calls(rows: Rows, said: Said, data: Mapping[str, object]) -> None:
    """`tool_calls` and the invalid ones; the provider's own form and content blocks only where these are empty."""
    for call in objs(data.get("tool_calls")):
        said.calls.append(rows.call(call.get("id"), call.get("name"), call.get("args")))
    for call in objs(data.get("invalid_tool_calls")):
        said.calls.append(rows.call(call.get("id"), call.get("name"), call.get("args")))
    if not said.calls:
        said.calls += openai_chat.calls(rows, obj(data.get("additional_kwargs")))
    known = {call.id for call in said.calls}
    for block in objs(data.get("content")):
        id = txt(either(block, "id"))
        if block.get("type") in ("tool_use", "tool_call") and id not in known:
            said.calls.append(rows.call(id, block.get("name"), either(block, "input", "args")))
