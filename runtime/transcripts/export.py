"""Rows out again, as other programs read them: OpenAI chat messages, or an Anthropic Messages body.

A conversation that was loaded, exported and loaded again is the same: roles, texts, calls, results, pictures that are
kept, reasoning. What a dialect cannot say is listed beside what it says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from runtime.transcripts.conversation import Lost
from runtime.transcripts.rows import KEPT_DATA
from runtime.values.json import Json, JsonObject, compact
from runtime.values.messages import Role, calls_of
from runtime.values.request import ToolSpec

Dialect = Literal["openai", "anthropic"]

MEDIA = ("image", "audio", "video", "file")


class Spoken(Protocol):
    """A row: what a store keeps or a loader made."""

    @property
    def role(self) -> Role: ...
    @property
    def text(self) -> str: ...
    @property
    def parts(self) -> tuple[JsonObject, ...] | None: ...
    @property
    def flags(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Exported:
    """The document, and what of the rows it does not say."""

    value: JsonObject
    lost: tuple[Lost, ...] = ()

    def text(self) -> str:
        """The document as indented JSON with a newline at its end; of messages alone the bare array, if it has any."""
        alone = self.value.keys() == {"messages"} and bool(self.value["messages"])
        value = self.value["messages"] if alone else self.value
        return json.dumps(value, ensure_ascii=False, indent=2, default=_plain) + "\n"


def _plain(value: object) -> object:
    """What rows hold besides JSON's own types: other mappings, tuples are written anyway."""
    return dict(value) if isinstance(value, Mapping) else str(value)


def export(rows: Sequence[Spoken], dialect: Dialect, *, tools: Iterable[ToolSpec] = (), model: str = "") -> Exported:
    """The rows as a request body of `dialect`; `tools` and `model` are left out when empty."""
    writer = _OpenAI() if dialect == "openai" else _Anthropic()
    for row in rows:
        writer.write(row)
    body = {"model": model} if model else {}
    return Exported({**body, **writer.body(tuple(tools))}, writer.losses())


class _Writer:
    """What both dialects share: the messages so far, and the count of what they cannot say."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Json]] = []
        self._lost: dict[tuple[str, str], int] = {}

    def lose(self, what: str, reason: str) -> None:
        self._lost[what, reason] = self._lost.get((what, reason), 0) + 1

    def losses(self) -> tuple[Lost, ...]:
        return tuple(Lost(what, count, reason) for (what, reason), count in self._lost.items())

    def write(self, row: Spoken) -> None:
        raise NotImplementedError

    def body(self, tools: tuple[ToolSpec, ...]) -> dict[str, Json]:
        raise NotImplementedError


class _OpenAI(_Writer):
    def __init__(self) -> None:
        super().__init__()
        self._called: set[Json] = set()

    def write(self, row: Spoken) -> None:
        if "summary" in row.flags:
            self.lose("compaction summary", "written as a system message")
        role = "developer" if "developer" in row.flags else row.role
        message: dict[str, Json] = {"role": role, "content": self._content(row)}
        for part in row.parts or ():
            match part.get("type"):
                case "tool_result":
                    message["tool_call_id"] = part.get("call")
                    if part.get("call") not in self._called:
                        message["name"] = part.get("name")
                    if part.get("error"):
                        message["is_error"] = True
                case "reasoning":
                    message["reasoning_content"] = part.get("text")
                case "name":
                    message["name"] = part.get("name")
                case "refusal":
                    message["refusal"] = part.get("text")
        calls = [self._call(part) for part in calls_of(row.parts)]
        if calls:
            message["tool_calls"] = calls
            message["content"] = message["content"] or None
        if message.get("name") == "":
            del message["name"]
        self.messages.append(message)

    def body(self, tools: tuple[ToolSpec, ...]) -> dict[str, Json]:
        offered: list[Json] = [
            {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.schema}}
            for t in tools
        ]
        return {"messages": self.messages, **({"tools": offered} if offered else {})}

    def _content(self, row: Spoken) -> Json:
        pieces = _pieces(row)
        if all(isinstance(piece, str) for piece in pieces):
            return row.text
        content: list[Json] = []
        for piece in pieces:
            if isinstance(piece, str):
                content.append({"type": "text", "text": piece})
            elif piece.get("type") == "image":
                content.append({"type": "image_url", "image_url": {"url": piece.get("ref")}})
            elif piece.get("type") == "audio":
                sound: dict[str, Json] = {"data": piece.get("ref"), "format": piece.get("media_type") or "wav"}
                content.append({"type": "input_audio", "input_audio": sound})
            else:
                file = {"file_data": piece.get("ref"), "filename": piece.get("name")}
                content.append({"type": "file", "file": {key: value for key, value in file.items() if value}})
        return content

    def _call(self, part: Mapping[str, Json]) -> Json:
        arguments = part.get("arguments")
        self._called.add(part.get("id"))
        text = arguments if isinstance(arguments, str) else compact(arguments)
        return {"id": part.get("id"), "type": "function", "function": {"name": part.get("name"), "arguments": text}}


class _Anthropic(_Writer):
    def __init__(self) -> None:
        super().__init__()
        self._system: list[str] = []

    def write(self, row: Spoken) -> None:
        if row.role == "system" and not self.messages and "summary" not in row.flags:
            if self._system:
                self.lose("further system message", "joined to the first")
            self._system.append(row.text)
            return
        if row.role == "system":
            self.lose("system message in mid-conversation", "written as a user message")
        blocks = self._blocks(row)
        role = "assistant" if row.role == "assistant" else "user"
        if row.role == "tool":
            blocks = [self._result(row, blocks)]
        last = self.messages[-1] if self.messages else None
        held = last.get("content") if last is not None and last["role"] == "user" else None
        if role == "user" and isinstance(held, list) and _only_results(held):
            held += blocks
        else:
            self.messages.append({"role": role, "content": blocks})

    def body(self, tools: tuple[ToolSpec, ...]) -> dict[str, Json]:
        offered: list[Json] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in tools
        ]
        system: dict[str, Json] = {"system": "\n".join(self._system)} if self._system else {}
        return {**system, "messages": self.messages, **({"tools": offered} if offered else {})}

    def _blocks(self, row: Spoken) -> list[Json]:
        blocks: list[Json] = []
        for part in row.parts or ():
            if part.get("type") == "reasoning" and part.get("signature"):
                blocks.append({"type": "thinking", "thinking": part.get("text"), "signature": part.get("signature")})
            elif part.get("type") == "reasoning":
                self.lose("reasoning", "without the signature that this dialect wants")
        for piece in _pieces(row):
            if isinstance(piece, str):
                blocks += [{"type": "text", "text": piece}] if piece else []
            else:
                blocks.append(self._media(piece))
        for call in calls_of(row.parts):
            given = call.get("arguments")
            if isinstance(given, str):
                self.lose("arguments that are no object", "written as a text under `arguments`")
                given = {"arguments": given}
            blocks.append({"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": given or {}})
        return blocks

    def _result(self, row: Spoken, blocks: list[Json]) -> Json:
        part = next((part for part in row.parts or () if part.get("type") == "tool_result"), {})
        result: dict[str, Json] = {"type": "tool_result", "tool_use_id": part.get("call") or "", "content": blocks}
        return {**result, "is_error": True} if part.get("error") else result

    def _media(self, part: Mapping[str, Json]) -> Json:
        ref = str(part.get("ref") or "")
        kind = "image" if part.get("type") == "image" else "document"
        if ref.startswith("data:") and ";base64," in ref:
            media, _, data = ref.removeprefix("data:").partition(";base64,")
            return {"type": kind, "source": {"type": "base64", "media_type": media, "data": data}}
        return {"type": kind, "source": {"type": "url", "url": ref}}


def _pieces(row: Spoken) -> list[str | JsonObject]:
    """The row's text cut where its pictures and files stood; a placeholder without a reference stays text."""
    waiting = [part for part in row.parts or () if part.get("type") in MEDIA]
    if not any(part.get("ref") for part in waiting):
        return [row.text]
    pieces: list[str | JsonObject] = []
    lines: list[str] = []
    for line in row.text.split("\n"):
        at = next((n for n, part in enumerate(waiting) if line == f"[{part.get('type')}]"), None)
        part = waiting.pop(at) if at is not None else None
        if part is None or not part.get("ref") or len(str(part["ref"])) > KEPT_DATA:
            lines.append(line)
            continue
        if lines:
            pieces.append("\n".join(lines))
        lines = []
        pieces.append(part)
    return [*pieces, "\n".join(lines)] if lines else pieces


def _only_results(blocks: Sequence[Json]) -> bool:
    return all(isinstance(block, Mapping) and block.get("type") == "tool_result" for block in blocks)
