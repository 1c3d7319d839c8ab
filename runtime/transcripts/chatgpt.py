"""ChatGPT's export: a tree of nodes, read from the node that was current back to the root."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.transcripts.rows import Rows, Said
from runtime.transcripts.shapes import obj, objs, plain, seq, txt
from runtime.values.json import as_text


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """One conversation with its `mapping` and `current_node`."""
    rows.title = rows.title or txt(body.get("title"))
    mapping = obj(body.get("mapping"))
    path = _path(mapping, txt(body.get("current_node")))
    spoken = sum(1 for node in mapping.values() if obj(obj(node).get("message")))
    on_path = 0
    for key in path:
        message = obj(obj(mapping[key]).get("message"))
        if message:
            on_path += 1
            _add(rows, message, f"{pointer}/mapping/{key}".strip())
    if spoken > on_path:
        rows.lose(
            "message of an abandoned branch", "edited or regenerated: another branch is current", spoken - on_path
        )


def _path(mapping: Mapping[str, object], current: str) -> list[str]:
    """Node keys from the root to `current`; without one, to the node that was written last."""
    if current not in mapping:
        current = next((key for key in reversed(list(mapping)) if not seq(obj(mapping[key]).get("children"))), "")
    path: list[str] = []
    seen: set[str] = set()
    while current in mapping and current not in seen:
        seen.add(current)
        path.append(current)
        current = txt(obj(mapping[current]).get("parent"))
    return path[::-1]


def _add(rows: Rows, message: Mapping[str, object], source: str) -> None:
    author = obj(message.get("author"))
    role = txt(author.get("role"))
    said = _content(rows, obj(message.get("content")))
    meta = obj(message.get("metadata"))
    rows.model = rows.model or txt(meta.get("model_slug"))
    if message.get("status") == "in_progress" or (not said.text.strip() and not said.parts):
        rows.lose("empty message", "it holds no text")
        return
    flags = ("hidden",) if meta.get("is_visually_hidden_from_conversation") is True else ()
    recipient = txt(message.get("recipient")) or "all"
    if role == "assistant" and recipient != "all":
        text, said.texts = said.text, []
        said.calls.append(rows.call(None, recipient, text if text.lstrip().startswith("{") else {"input": text}))
        rows.add("assistant", said, source=source, flags=flags)
    elif role == "tool":
        rows.result(None, author.get("name"), said.text, source=source, parts=said.parts)
    elif role in ("user", "assistant", "system"):
        rows.add(
            "user" if role == "user" else "assistant" if role == "assistant" else "system",
            said,
            source=source,
            flags=flags,
        )
    else:
        rows.lose(f"message with the role {role[:40]!r}", "not a message of the conversation")


def _content(rows: Rows, content: Mapping[str, object]) -> Said:
    said = Said()
    kind = txt(content.get("content_type"))
    if kind == "thoughts":
        for thought in objs(content.get("thoughts")):
            said.reasoning(txt(thought.get("content")) or thought.get("summary"))
        return said
    if kind == "reasoning_recap":
        said.reasoning(content.get("content"))
        return said
    if kind in ("user_editable_context", "model_editable_context"):
        rows.lose("custom instructions", "they stand in the export's own form, not as a message")
        return said
    for part in seq(content.get("parts")):
        if isinstance(part, str):
            said.texts += [part] if part else []
        elif txt(obj(part).get("content_type")).endswith("asset_pointer"):
            media = "image" if "image" in txt(obj(part).get("content_type")) else "file"
            rows.media(said, media, obj(part).get("asset_pointer"))
        elif txt(obj(part).get("text")):
            said.texts.append(txt(obj(part)["text"]))
        elif part is not None:
            said.texts.append(as_text(plain(part)))
    for key in ("text", "result", "summary"):
        if not said.texts and txt(content.get(key)):
            said.texts.append(txt(content[key]))
    return said
