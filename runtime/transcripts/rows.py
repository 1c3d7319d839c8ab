"""Rows under construction: what every dialect says into, where calls find their results and losses are counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from runtime.transcripts.conversation import Compaction, Lost
from runtime.transcripts.shapes import decoded, obj, plain, plain_object, txt
from runtime.transcripts.spool import Spool
from runtime.values.items import ToolCall
from runtime.values.json import Json, JsonObject, as_text, clean, clean_json
from runtime.values.messages import Role, tool_call_part, tool_result_part
from runtime.values.request import ToolSpec

KEPT_DATA: Final = 65_536
"""Characters of base64 that are kept with a row; larger pictures, sounds and files leave a placeholder only."""


@dataclass(slots=True)
class Said:
    """One message while it is read: its texts, its other parts, its calls."""

    texts: list[str] = field(default_factory=list)
    parts: list[JsonObject] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def empty(self) -> bool:
        return not (self.texts or self.parts or self.calls)

    def reasoning(self, text: object, **more: object) -> None:
        """Reasoning that the file shows; a blank one is not worth a part."""
        if txt(text).strip():
            kept = {key: plain(value) for key, value in more.items() if value}
            self.parts.append({"type": "reasoning", "text": txt(text), **kept})


@dataclass(slots=True)
class Rows:
    """The rows read so far. Not for sharing: one loader fills it, then takes `messages` and `losses`."""

    messages: Spool = field(default_factory=Spool)
    tools: list[ToolSpec] = field(default_factory=list)
    model: str = ""
    title: str = ""
    compaction: Compaction = "full"
    _lost: dict[tuple[str, str], int] = field(default_factory=dict)
    _open: OpenCalls = field(default_factory=lambda: OpenCalls())
    _ids: int = 0

    def say(
        self, role: Role, text: str, *, source: str, parts: Iterable[JsonObject] = (), flags: Iterable[str] = ()
    ) -> None:
        """A message without calls."""
        self._row(role, text, [_storable(part) for part in parts] if parts else [], source, tuple(flags))

    def tell(self, role: Role, text: str, source: str) -> None:
        """A text and nothing else; `source` is one of ours, and so storable."""
        self.messages.put((role, clean(text), None, source, ()))

    def add(self, role: Role, said: Said, *, source: str, flags: tuple[str, ...] = ()) -> None:
        """A message as it was read; an assistant's calls wait for their results."""
        parts = [_storable(part) for part in said.parts]
        if said.calls:
            parts += self._made(said.calls)
        self._row(role, said.text, parts, source, flags)

    def say_calls(self, role: Role, text: str, calls: list[ToolCall], *, source: str) -> None:
        """A message with calls and nothing else beside its text; they wait for their results."""
        self._row(role, text, self._made(calls), source, ())

    def extend_last(self, said: Said) -> None:
        """Join `said` to the assistant message before it: the same response, told in several records."""
        role, before, parts, place, flags = self.messages.take()
        text = f"{before}\n{said.text}" if before and said.texts and said.text else before or said.text
        more = [*(parts or ()), *map(_storable, said.parts), *self._made(said.calls)]
        self._row(role, text, more, place or "", flags)

    def _row(self, role: Role, text: str, parts: list[JsonObject], source: str, flags: tuple[str, ...]) -> None:
        """Every row is made here, of parts that are storable."""
        self.messages.put((role, clean(text), tuple(parts) if parts else None, clean(source), flags))

    def _made(self, calls: list[ToolCall]) -> list[JsonObject]:
        for call in calls:
            self._open.add(call.id, call.name)
        return [tool_call_part(call.id, call.name, call.arguments) for call in calls]

    def call(self, id: object, name: object, arguments: object) -> ToolCall:
        """A call with an id of its own; arguments come as an object or as text, also as text encoded twice."""
        known = (clean(id) if type(id) is str else "") or self.new_id()
        named = clean(name) if type(name) is str else ""
        if isinstance(arguments, dict):
            return ToolCall(known, named, plain_object(arguments))
        if not isinstance(arguments, str):
            return ToolCall(known, named, {} if arguments is None else as_text(plain(arguments)))
        inner = decoded(arguments)
        if isinstance(inner, str) and inner is not arguments and isinstance(decoded(inner), dict):
            self.lose("arguments encoded twice", "read as the object inside")
            arguments = inner
        value = decoded(arguments)
        if isinstance(value, dict):
            return ToolCall(known, named, plain_object(value))
        blank = value is None or not arguments.strip()
        return ToolCall(known, named, {} if blank else clean(arguments))

    def new_id(self) -> str:
        """An id for a call that has none."""
        self._ids += 1
        return f"call-{self._ids}"

    def result(
        self, id: object, name: object, text: str, *, source: str, error: bool = False, parts: Iterable[JsonObject] = ()
    ) -> None:
        """A result, paired with its call by id, else by name, else by order among the calls still open."""
        given, named = clean(txt(id)), clean(txt(name)) if name else ""
        call = self._open.answer(given, named)
        if call is None:
            self.lose("result without a call", "kept as a tool message that answers nothing")
            call = given, named
        made = [tool_result_part(call[0], call[1] or named, error=error)]
        if parts:
            made += map(_storable, parts)
        self._row("tool", text, made, source, ())

    def lose(self, what: str, reason: str, count: int = 1) -> None:
        """Count something that is not carried, or carried changed."""
        key = (what, reason)
        self._lost[key] = self._lost.get(key, 0) + count

    def media(self, said: Said, kind: str, ref: object, media_type: object = None, name: object = None) -> None:
        """A picture, sound or file: `[kind]` in the text and a part with its reference, if it is not too large."""
        said.texts.append(f"[{kind}]")
        kept = txt(ref) if len(txt(ref)) <= KEPT_DATA else ""
        if not kept:
            self.lose(
                kind, "only a placeholder is kept" if not ref else "too large to keep: a placeholder stands for it"
            )
        part: dict[str, Json] = {"type": kind}
        for key, value in (("ref", kept), ("media_type", txt(media_type)), ("name", txt(name))):
            if value:
                part[key] = clean(value)
        said.parts.append(part)

    def restart(self, summary: str, *, source: str) -> None:
        """The session was compacted here: what follows was sent with `summary` instead of what came before."""
        if self.compaction == "last-seen":
            gone = sum(1 for row in self.messages if row.role != "system" or "summary" in row.flags)
            if gone:
                self.lose("message before the last compaction", "not asked for: what the model last saw", gone)
            self.messages = self.messages.only(lambda row: row.role == "system" and "summary" not in row.flags)
        self._open.clear()
        self.say("system", summary, source=source, flags=("summary",))

    def become(self, other: Rows) -> None:
        """Take over everything that `other` has read."""
        self.messages, self.tools, self.model, self.title = other.messages, other.tools, other.model, other.title
        self._lost, self._open, self._ids = dict(other._lost), other._open, other._ids

    def hide_from(self, index: int) -> None:
        """The history was rewound to `index` rows: the rest stays in the file, but was not sent any more."""
        hidden = self.messages.hide(index)
        if hidden:
            self.lose("message rewound", "taken back: kept as hidden", hidden)

    def hide_last_turns(self, turns: int) -> None:
        """The last `turns` requests and what followed them were rolled back."""
        asked: int | None = None
        for behind, row in enumerate(reversed(self.messages), 1):
            if turns > 0 and row.role == "user" and not row.flags:
                asked, turns = len(self.messages) - behind, turns - 1
            if turns <= 0:
                break
        if asked is not None:
            self.hide_from(asked)

    def offer(self, name: object, description: object, schema: object) -> None:
        """A tool that a request body offered."""
        if txt(name):
            self.tools.append(ToolSpec(clean(txt(name)), clean(txt(description)), plain_object(schema)))

    def losses(self) -> tuple[Lost, ...]:
        """Everything lost, and the calls that nothing answered, in the order met."""
        lost = [Lost(what, count, reason) for (what, reason), count in self._lost.items()]
        if self._open:
            lost.append(Lost("call without a result", len(self._open), "the file holds no answer to it"))
        return tuple(lost)


class OpenCalls:
    """The calls that nothing has answered, oldest first, found by id, by name, or by age."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[str, str]] = {}
        self._ids: dict[str, list[int]] = {}
        self._made = 0

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, id: str, name: str) -> None:
        """A call that waits for its result."""
        self._calls[self._made] = id, name
        self._ids.setdefault(id, []).append(self._made)
        self._made += 1

    def clear(self) -> None:
        """Wait for none of them any more."""
        self._calls.clear()
        self._ids.clear()

    def answer(self, id: str, name: str) -> tuple[str, str] | None:
        """Take the call that a result answers: by id, else the oldest of that name, else (without id) the oldest."""
        found: int | None = None
        if id and id in self._ids:
            found = self._ids[id][0]
        elif name:
            found = next((number for number, call in self._calls.items() if call[1] == name), None)
        if found is None and not id:
            found = next(iter(self._calls), None)
        if found is None:
            return None
        call = self._calls.pop(found)
        waiting = self._ids[call[0]]
        waiting.remove(found)
        if not waiting:
            del self._ids[call[0]]
        return call


def _storable(part: JsonObject) -> JsonObject:
    kept = clean_json(part)
    return kept if isinstance(kept, dict) else {}


def tools_of(rows: Rows, tools: object) -> None:
    """The tools of a request body: OpenAI's nested and flat form, Anthropic's, Gemini's declarations."""
    for tool in tools if isinstance(tools, list) else ():
        entry = obj(tool)
        declared = entry.get("functionDeclarations") or entry.get("function_declarations")
        if isinstance(declared, list):
            tools_of(rows, declared)
            continue
        inner: Mapping[str, object] = obj(entry.get("function")) or entry
        schema = inner.get("parameters") or inner.get("input_schema") or inner.get("parameters_json_schema") or {}
        rows.offer(inner.get("name"), inner.get("description"), schema)
