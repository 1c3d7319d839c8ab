"""claude.ai's export: conversations with `chat_messages`, whose answers hold calls and results among their blocks."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.transcripts import anthropic
from runtime.transcripts.rows import Rows
from runtime.transcripts.shapes import either, numbered, obj, objs, txt

_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """One conversation of the export."""
    rows.title = rows.title or txt(body.get("name"))
    for message, place in numbered(body.get("chat_messages"), f"{pointer}/chat_messages"):
        _add(rows, obj(message), place.strip())


def _add(rows: Rows, message: Mapping[str, object], source: str) -> None:
    sender = txt(message.get("sender"))
    role = _ROLES.get(sender)
    if role is None:
        rows.lose(f"message of the sender {sender[:40]!r}", "not a message of the conversation")
        return
    blocks = [block for block in objs(message.get("content")) if block.get("type") != "token_budget"]
    if not blocks and txt(message.get("text")):
        blocks = [{"type": "text", "text": txt(message["text"])}]
    blocks += _files(message)
    for stretch in _stretches(blocks):
        anthropic.add(rows, {"content": stretch}, source, role=role)
    if not blocks:
        rows.lose("empty message", "it holds no text")


def _files(message: Mapping[str, object]) -> list[Mapping[str, object]]:
    """What was attached: the text that was taken out of a file, else its name alone."""
    found: list[Mapping[str, object]] = []
    for file in objs(message.get("attachments")):
        name, text = txt(file.get("file_name")), txt(file.get("extracted_content"))
        found.append({"type": "text", "text": f"[file {name}]\n{text}" if text else f"[file {name}]"})
    for file in objs(message.get("files")):
        name = txt(either(file, "file_name", "file_uuid"))
        found.append({"type": "document", "title": name, "source": {"type": "file", "file_id": name}})
    return found


def _stretches(blocks: list[Mapping[str, object]]) -> list[list[Mapping[str, object]]]:
    """Blocks cut where results end and speech goes on: the model was called again there."""
    found: list[list[Mapping[str, object]]] = []
    answered = True
    for block in blocks:
        is_result = txt(block.get("type")).endswith("tool_result")
        if not found or is_result != answered:
            found.append([])
        answered = is_result
        found[-1].append(block)
    return found
