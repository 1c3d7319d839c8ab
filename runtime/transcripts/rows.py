"""Rows under construction: what every dialect says into, where calls find their results and losses are counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from runtime.transcripts.conversation import Compaction, Lost
from runtime.transcripts.shapes import decoded, obj, plain, plain_object, txt
from runtime.values.items import ToolCall
from runtime.values.json import Json, JsonObject, as_text, clean
from runtime.values.messages import NewMessage, Role, tool_call_part, tool_result_part
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

    messages: list[NewMessage] = field(default_factory=list)
    tools: list[ToolSpec] = field(default_factory=list)
    model: str = ""
    title: str = ""
    compaction: Compaction = "full"
    _lost: dict[tuple[str, str], int] = field(default_factory=dict)
    _open: list[ToolCall] = field(default_factory=list)
    _ids: int = 0

    def say(
        self, role: Role, text: str, *, source: str, parts: Iterable[JsonObject] = (), flags: Iterable[str] = ()
    ) -> None:
        """A message without calls."""
        self.messages.append(NewMessage(role, text, tuple(parts) or None, source, tuple(flags)))

    def add(self, role: Role, said: Said, *, source: str, flags: Iterable[str] = ()) -> None:
        """A message as it was read; an assistant's calls wait for their results."""
        calls = [tool_call_part(call.id, call.name, call.arguments) for call in said.calls]
        self.say(role, said.text, source=source, parts=(*said.parts, *calls), flags=flags)
        self._open += said.calls

    def extend_last(self, said: Said) -> None:
        """Join `said` to the assistant message before it: the same response, told in several records."""
        last = self.messages.pop()
        parts = (*(last.parts or ()), *said.parts, *(tool_call_part(c.id, c.name, c.arguments) for c in said.calls))
        text = "\n".join(text for text in (last.text, said.text) if text)
        self.messages.append(NewMessage(last.role, text, parts or None, last.source, last.flags))
        self._open += said.calls

    def call(self, id: object, name: object, arguments: object) -> ToolCall:
        """A call with an id of its own; arguments come as an object or as text, also as text encoded twice."""
        known = clean(txt(id)) or self.new_id()
        if not isinstance(arguments, str):
            given = (
                plain_object(arguments)
                if isinstance(arguments, dict) or arguments is None
                else as_text(plain(arguments))
            )
            return ToolCall(known, clean(txt(name)), given)
        inner = decoded(arguments)
        if isinstance(inner, str) and inner is not arguments and isinstance(decoded(inner), dict):
            self.lose("arguments encoded twice", "read as the object inside")
            arguments = inner
        value = decoded(arguments)
        if isinstance(value, dict):
            return ToolCall(known, clean(txt(name)), plain_object(value))
        blank = value is None or not arguments.strip()
        return ToolCall(known, clean(txt(name)), {} if blank else clean(arguments))

    def new_id(self) -> str:
        """An id for a call that has none."""
        self._ids += 1
        return f"call-{self._ids}"

    def result(
        self, id: object, name: object, text: str, *, source: str, error: bool = False, parts: Iterable[JsonObject] = ()
    ) -> None:
        """A result, paired with its call by id, else by name, else by order among the calls still open."""
        call = self._answered(clean(txt(id)), clean(txt(name)))
        if call is None:
            self.lose("result without a call", "kept as a tool message that answers nothing")
        answers = call.id if call else clean(txt(id))
        tool = (call.name if call else "") or clean(txt(name))
        self.say("tool", text, source=source, parts=(tool_result_part(answers, tool, error=error), *parts))

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
            self.messages = [row for row in self.messages if row.role == "system" and "summary" not in row.flags]
        self._open.clear()
        self.say("system", summary, source=source, flags=("summary",))

    def hide_from(self, index: int) -> None:
        """The history was rewound to `index` rows: the rest stays in the file, but was not sent any more."""
        for at in range(index, len(self.messages)):
            row = self.messages[at]
            if "hidden" not in row.flags:
                self.messages[at] = replace(row, flags=(*row.flags, "hidden"))
                self.lose("message rewound", "taken back: kept as hidden")

    def hide_last_turns(self, turns: int) -> None:
        """The last `turns` requests and what followed them were rolled back."""
        asked = [n for n, row in enumerate(self.messages) if row.role == "user" and not row.flags]
        if turns > 0 and asked:
            self.hide_from(asked[-min(turns, len(asked))])

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

    def _answered(self, id: str, name: str) -> ToolCall | None:
        by_id = [n for n, call in enumerate(self._open) if id and call.id == id]
        by_name = [n for n, call in enumerate(self._open) if name and call.name == name] if not by_id else []
        either = by_id or by_name or (list(range(len(self._open))) if not id else [])
        return self._open.pop(either[0]) if either else None


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
