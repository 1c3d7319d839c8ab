"""The `messages` of a seed: rows, their calls, and the result that answers each call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from runtime.fields import Fields, kind_of
from runtime.files import Listing, Node, Scalar, Table, as_json
from runtime.values.items import ToolCall
from runtime.values.json import Json, JsonObject, as_text, clean_json
from runtime.values.messages import ROLES, NewMessage, Role, tool_call_part, tool_result_part

_KEYS: Mapping[Role, tuple[str, ...]] = {
    "user": ("parts", "flags"),
    "system": ("parts", "flags"),
    "assistant": ("calls", "parts", "flags"),
    "tool": ("call", "error", "parts", "flags"),
}


class OpenCalls:
    """The calls that have no result yet, by id. An id may come again once it was answered."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._made = 0

    def open(self, id: str, name: str) -> bool:
        """Note a call; False if one of this id is still open."""
        if id in self._names:
            return False
        self._names[id] = name
        return True

    def answer(self, id: str) -> str | None:
        """The name of the call that a result answers, None if no open call has the id."""
        return self._names.pop(id, None)

    def fresh(self) -> str:
        """An id for a call that names none."""
        self._made += 1
        while f"c{self._made}" in self._names:
            self._made += 1
        return f"c{self._made}"

    def note(self, parts: Iterable[JsonObject]) -> None:
        """Note the calls and results among parts that are given as they are."""
        for part in parts:
            if part.get("type") == "tool_call":
                self.open(str(part.get("id")), str(part.get("name")))
            elif part.get("type") == "tool_result":
                self.answer(str(part.get("call")))

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._names)


def read_rows(fields: Fields) -> tuple[NewMessage, ...]:
    """The rows under `messages`. Notes every problem, and a warning for calls that nothing answers."""
    calls = OpenCalls()
    opened_at: dict[str, Fields] = {}
    rows: list[NewMessage] = []
    for entry in fields.tables("messages"):
        row = _row(entry, calls)
        if row is not None:
            rows.append(row)
        for id in calls.ids:
            opened_at.setdefault(id, entry)
    for id in calls.ids:
        entry = opened_at[id]
        entry.problems.warning("S110", entry.table, entry.at("calls"), f"call {id} has no result in a later message")
    return tuple(rows)


def _row(entry: Fields, calls: OpenCalls) -> NewMessage | None:
    roles = [role for role in ROLES if entry.has(role)]
    if len(roles) != 1:
        wanted = f"a message has one of {', '.join(ROLES)} as its key"
        entry.problems.error("S103", entry.table, entry.path, wanted if not roles else f"{wanted}, not {len(roles)}")
        return None
    role = roles[0]
    text = _text(entry, role)
    flags = entry.texts("flags", distinct=True)
    parts = _parts(entry, role, calls)
    entry.done((role, *_KEYS[role]))
    return NewMessage(role, text, parts, flags=flags)


def _text(entry: Fields, role: Role) -> str:
    """What a row says; a result may be written as a list or table, and is kept as compact JSON (A2)."""
    node = entry.node(role)
    if role == "tool" and isinstance(node, Listing | Table):
        return as_text(as_json(node))
    return entry.text(role)


def _parts(entry: Fields, role: Role, calls: OpenCalls) -> tuple[JsonObject, ...] | None:
    parts = _given_parts(entry)
    made = _calls_made(entry, calls) if role == "assistant" else ()
    answered = _answered(entry, calls) if role == "tool" else ()
    if parts is not None and (made or answered):
        entry.wrong("parts", "S110", "takes the place of calls and call; give only one of them")
    if parts is None:
        return (*made, *answered) or None
    calls.note(parts)
    return parts


def _given_parts(entry: Fields) -> tuple[JsonObject, ...] | None:
    node = entry.node("parts")
    if node is None:
        return None
    value = json_value(node)
    if isinstance(value, list) and all(isinstance(part, Mapping) for part in value):
        return tuple(part for part in value if isinstance(part, Mapping))
    entry.wrong("parts", "S102", "should be a list of objects, as YAML or as JSON in quotes")
    return None


def _calls_made(entry: Fields, calls: OpenCalls) -> tuple[JsonObject, ...]:
    made: list[JsonObject] = []
    for fields in entry.tables("calls"):
        call = read_call(fields, calls.fresh())
        if not calls.open(call.id, call.name):
            fields.wrong("id", "S110", f"call {call.id} is still open; it needs a result before its id comes again")
        made.append(tool_call_part(call.id, call.name, call.arguments))
    return tuple(made)


def _answered(entry: Fields, calls: OpenCalls) -> tuple[JsonObject, ...]:
    error = entry.flag("error")
    if not entry.has("call"):
        return ()
    id = entry.text("call", required=True)
    name = calls.answer(id)
    if name is None:
        known = f"open are {', '.join(calls.ids)}" if calls.ids else "none is open"
        entry.wrong("call", "S110", f"no message before makes a call {id!r} that still waits; {known}")
    return (tool_result_part(id, name or "", error=error),)


def read_call(fields: Fields, id: str) -> ToolCall:
    """A call as written: `name`, `arguments`, and an `id`, else the one given here."""
    name = fields.text("name", required=True)
    written = fields.text("id", id)
    if fields.has("id") and not written.strip():
        fields.wrong("id", "S103", "is empty")
    arguments = read_arguments(fields)
    fields.done(("id", "name", "arguments"))
    return ToolCall(written, name, arguments)


def read_arguments(fields: Fields) -> JsonObject | str:
    """The arguments of a call: a table, whose values are texts, or JSON in quotes, which keeps numbers.

    A text that is no JSON object stays what it is: what a model sent that cannot be used (T4).
    """
    node = fields.node("arguments")
    if node is None:
        return {}
    if isinstance(node, Scalar):
        return ToolCall.read("", "", node.text).arguments
    value = as_json(node)
    if isinstance(value, Mapping):
        return value
    fields.wrong("arguments", "S102", "should be a table, or JSON in quotes, not a list")
    return {}


def read_state(fields: Fields, key: str) -> JsonObject:
    """A state: a table, whose values are texts (Q4), or a JSON object in quotes, which keeps numbers."""
    node = fields.node(key)
    if node is None or (isinstance(node, Scalar) and node.plain and not node.text):
        return {}
    value = json_value(node)
    if isinstance(value, Mapping):
        return value
    fields.wrong(key, "S102", f"should be a table, or a JSON object in quotes, not {kind_of(node)}")
    return {}


def json_value(node: Node) -> Json:
    """A list or table with texts in it, or the value that a text holds as JSON; None if it holds none."""
    if not isinstance(node, Scalar):
        return as_json(node)
    try:
        return clean_json(json.loads(node.text, parse_constant=_no_constant))
    except (ValueError, RecursionError):
        return None


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")
