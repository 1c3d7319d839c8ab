"""The AI SDK's UI messages: parts by type, where a call and its result are one part in some state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from runtime.transcripts.rows import Rows, Said
from runtime.transcripts.shapes import either, numbered, obj, objs, plain, txt
from runtime.values.json import as_text

PART_TYPES: Final = frozenset(
    ("text", "reasoning", "file", "step-start", "dynamic-tool", "tool-invocation", "source-url", "source-document")
)


def is_message(message: Mapping[str, object]) -> bool:
    """Whether a message has the parts of this kit."""
    parts = objs(message.get("parts"))
    if not isinstance(message.get("role"), str) or not parts:
        return False
    return any(_is_part(part) for part in parts)


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """A saved chat: an object that holds the messages."""
    rows.title = rows.title or txt(either(body, "title", "id"))
    add_messages(rows, numbered(body.get("messages"), f"{pointer}/messages"))


def add_messages(rows: Rows, messages: Iterable[tuple[object, str]]) -> None:
    """Messages in order, each with its source."""
    for message, source in messages:
        _add(rows, obj(message), source.strip())


def _is_part(part: Mapping[str, object]) -> bool:
    kind = txt(part.get("type"))
    if kind == "text":
        return "text" in part
    return kind in PART_TYPES or kind.startswith(("tool-", "data-"))


def _add(rows: Rows, message: Mapping[str, object], source: str) -> None:
    role = txt(message.get("role"))
    if role not in ("user", "assistant", "system"):
        rows.lose(f"message with the role {role[:40]!r}", "not a message of the conversation")
        return
    writing = _Writing(rows, role, source)
    parts = objs(message.get("parts"))
    if not any(part.get("type") == "text" for part in parts) and txt(message.get("content")):
        writing.said.texts.append(txt(message["content"]))
    for part in parts:
        writing.part(part)
    if not any(part.get("type") == "tool-invocation" for part in parts):
        for call in objs(message.get("toolInvocations")):
            writing.call(call)
    writing.end(last=True)


class _Writing:
    """One message on its way into rows: a step of the assistant ends where the next begins or a result stands."""

    def __init__(self, rows: Rows, role: str, source: str) -> None:
        self.rows, self.role, self.source = rows, role, source
        self.said = Said()
        self._results: list[tuple[str, str, str, bool]] = []
        self._wrote = False

    def part(self, part: Mapping[str, object]) -> None:
        kind = txt(part.get("type"))
        if self._results and kind in ("text", "reasoning", "step-start"):
            self.end()
        if kind == "text":
            self.said.texts.append(txt(part.get("text")))
        elif kind == "reasoning":
            self.said.reasoning(either(part, "text", "reasoning"))
        elif kind == "file":
            media = txt(either(part, "mediaType", "mimeType"))
            ref = either(part, "url", "data")
            self.rows.media(
                self.said, "image" if media.startswith("image/") else "file", ref, media, part.get("filename")
            )
        elif kind == "tool-invocation":
            self.call(obj(part.get("toolInvocation")))
        elif kind == "dynamic-tool" or kind.startswith("tool-"):
            self.call(part, kind.removeprefix("tool-"))
        elif kind.startswith("source-"):
            self.rows.lose("source", "the text is kept without it")
        elif kind != "step-start":
            self.rows.lose(f"part {kind[:40]!r}", "for the screen of its program")

    def call(self, call: Mapping[str, object], name: str = "") -> None:
        """A call with what came of it so far: its input alone, an output, or an error."""
        made = self.rows.call(call.get("toolCallId"), either(call, "toolName") or name, either(call, "input", "args"))
        self.said.calls.append(made)
        error = txt(call.get("errorText"))
        output = call.get("output") if "output" in call else call.get("result")
        if error or output is not None:
            self._results.append((made.id, made.name, error or as_text(plain(output)), bool(error)))

    def end(self, *, last: bool = False) -> None:
        """Write what was gathered: the message, then the results of its calls."""
        if not self.said.empty or (last and not self._wrote):
            role = self.role
            self.rows.add("user" if role == "user" else "system" if role == "system" else "assistant", self.said,
                          source=self.source)  # fmt: skip
            self._wrote = True
        for id, name, text, failed in self._results:
            self.rows.result(id, name, text, source=self.source, error=failed)
        self.said, self._results = Said(), []
