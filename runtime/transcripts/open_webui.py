"""Open WebUI's export: a tree of messages, read from the current one back to the first."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.transcripts import openai_chat
from runtime.transcripts.rows import Rows
from runtime.transcripts.shapes import get, numbered, obj, txt


def history_of(body: Mapping[str, object]) -> Mapping[str, object]:
    """The history of a chat, whatever wraps it; empty if there is none."""
    for held in (body, obj(body.get("chat"))):
        history = obj(held.get("history"))
        if isinstance(history.get("messages"), dict):
            return history
    return {}


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """One chat; of several answers to one question the current one counts."""
    chat = obj(body.get("chat")) or body
    rows.title = rows.title or txt(body.get("title")) or txt(chat.get("title"))
    rows.model = rows.model or txt(get(chat, "models", 0))
    history = history_of(body)
    messages = obj(history.get("messages"))
    where = "/chat/history" if body.get("chat") else "/history"
    path = _path(messages, txt(history.get("currentId")))
    if not path:
        for message, place in numbered(chat.get("messages"), f"{pointer}/messages"):
            openai_chat.add(rows, message, place.strip())
    for key in path:
        message = obj(messages[key])
        openai_chat.add(rows, message, f"{pointer}{where}/messages/{key}".strip())
        if '<details type="tool_calls"' in txt(message.get("content")):
            rows.lose("call shown in a text", "the export keeps calls as HTML: they stay part of the text")
    aside = len(messages) - len(path)
    if path and aside:
        rows.lose("message of an abandoned branch", "edited, regenerated, or another model's answer", aside)


def _path(messages: Mapping[str, object], current: str) -> list[str]:
    """Message keys from the first to `current`; without one, to the last that nothing follows."""
    if current not in messages:
        current = next((key for key in reversed(list(messages)) if not obj(messages[key]).get("childrenIds")), "")
    path: list[str] = []
    seen: set[str] = set()
    while current in messages and current not in seen:
        seen.add(current)
        path.append(current)
        current = txt(obj(messages[current]).get("parentId"))
    return path[::-1]
