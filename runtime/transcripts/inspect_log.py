"""Inspect's logs: samples of an evaluation, each a conversation; long texts stand apart and are put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from runtime.transcripts import openai_chat
from runtime.transcripts.rows import Rows
from runtime.transcripts.shapes import numbered, obj, objs, txt

_ATTACHED: Final = "attachment://"
_DEEPEST: Final = 12


def is_log(found: Mapping[str, object]) -> bool:
    """Whether an object is a whole log with its samples."""
    return isinstance(found.get("samples"), list) and "eval" in found and "status" in found


def is_sample(found: Mapping[str, object]) -> bool:
    """Whether an object is one sample of a log."""
    return isinstance(found.get("messages"), list) and "epoch" in found and "id" in found


def add_body(rows: Rows, sample: Mapping[str, object], pointer: str) -> None:
    """One sample."""
    rows.title = rows.title or f"sample {sample.get('id')}, epoch {sample.get('epoch')}"
    rows.model = rows.model or txt(obj(sample.get("output")).get("model"))
    attached = obj(sample.get("attachments"))
    for message, place in numbered(sample.get("messages"), f"{pointer}/messages"):
        openai_chat.add(rows, _renamed(rows, obj(message), attached), place.strip())


def _renamed(rows: Rows, message: Mapping[str, object], attached: Mapping[str, object]) -> dict[str, object]:
    """The message as chat completions have it, its attachments in place."""
    found = {key: _whole(rows, value, attached) for key, value in message.items()}
    if message.get("role") == "tool":
        found["name"] = message.get("function")
        error = obj(found.get("error"))
        if error:
            found["is_error"] = True
            found["content"] = found.get("content") or txt(error.get("message"))
    calls = [
        {"id": call.get("id"), "function": {"name": call.get("function"), "arguments": call.get("arguments")}}
        for call in objs(found.get("tool_calls"))
    ]
    return {**found, "tool_calls": calls} if calls else found


def _whole(rows: Rows, value: object, attached: Mapping[str, object], depth: int = 0) -> object:
    if isinstance(value, str) and value.startswith(_ATTACHED):
        text = attached.get(value.removeprefix(_ATTACHED))
        if isinstance(text, str):
            return text
        rows.lose("attachment", "named in a message, but not in the log")
    elif depth < _DEEPEST and isinstance(value, dict):
        return {key: _whole(rows, inner, attached, depth + 1) for key, inner in value.items()}
    elif depth < _DEEPEST and isinstance(value, list):
        return [_whole(rows, inner, attached, depth + 1) for inner in value]
    return value
