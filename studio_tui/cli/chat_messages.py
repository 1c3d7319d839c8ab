"""Rows as OpenAI chat messages: what `export` writes and what other people's programs read."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.values.json import Json, JsonObject, as_text
from runtime.values.messages import Message, calls_of


def chat_messages(rows: Iterable[Message]) -> list[dict[str, Json]]:
    """The rows, oldest first; calls and the ids of the calls that results answer come from their parts."""
    return [_message(row) for row in rows]


def _message(row: Message) -> dict[str, Json]:
    calls = calls_of(row.parts)
    if row.role == "assistant" and calls:
        return {"role": "assistant", "content": row.text or None, "tool_calls": [_call(call) for call in calls]}
    if row.role == "tool":
        answers = next((part for part in row.parts or () if part.get("type") == "tool_result"), {})
        return {"role": "tool", "tool_call_id": str(answers.get("call") or ""), "content": row.text}
    return {"role": row.role, "content": row.text}


def _call(part: JsonObject) -> dict[str, Json]:
    function: dict[str, Json] = {"name": part.get("name"), "arguments": as_text(part.get("arguments", {}))}
    return {"id": part.get("id"), "type": "function", "function": function}
