"""The structured request that opens a turn of an agent written in ABL (H15): which tool is offered, what comes back.

Whoever runs the agent writes it, the offline model reads it again: both sides of one noun.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runtime.values.json import Json, JsonObject
from runtime.values.request import ToolSpec
from runtime.values.reserved import HANDOFF as HANDOFF
from runtime.values.reserved import RETURN as RETURN
from runtime.values.reserved import UNDERSTAND as UNDERSTAND
from runtime.values.reserved import is_reserved as is_reserved

NOTES: Final = "_agent"
"""The key of a thread's state that is no value: what the runtime notes about the agent there. Nobody reads it."""

ASKED: Final = "The customer was asked for this just now."
KNOWN: Final = "Already known: give a value only if the message names this field and gives another one."

_DOES: Final = (
    "Call this first, once, with nothing else: it notes what the newest message of the customer says. Leave out what "
    "the message does not say; never guess."
)
_INTENT: Final = "What the customer wants by this message. Leave it out if the message does not clearly say."
_OTHER: Final = "The same question by the list of the agent that handed over. Leave it out if it is not clear."
_QUESTION: Final = "Whether the message asks something that wants an answer."
_LISTED = re.compile(r"^- ([^\n:]+): ?(.*)$", re.MULTILINE)

_JSON_TYPES: Final[Mapping[str, JsonObject]] = {
    "number": {"type": "number"}, "integer": {"type": "integer"}, "float": {"type": "number"},
    "currency": {"type": "number"}, "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"}, "datetime": {"type": "string", "format": "date-time"},
    "email": {"type": "string", "format": "email"}, "phone": {"type": "string", "format": "phone"},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnownIntent:
    """One thing a customer may want, in words."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class OpenField:
    """A field that the message may fill. `about` is its prompt and description; `type` and `options` as ABL has them.

    `known` fields have a value; the one that was `asked` for just now has none.
    """

    name: str
    type: str = "string"
    about: str = ""
    options: tuple[str, ...] = ()
    known: bool = False
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of the model about one message. `caller_intents` are those of the agent that handed over."""

    fields: tuple[OpenField, ...] = ()
    intents: tuple[KnownIntent, ...] = ()
    caller_intents: tuple[KnownIntent, ...] = ()

    def tool(self) -> ToolSpec:
        """The tool whose arguments are the answers."""
        properties: dict[str, Json] = {}
        if self.intents:
            properties["intent"] = _intent(_INTENT, self.intents)
        if self.caller_intents:
            properties["caller_intent"] = _intent(_OTHER, self.caller_intents)
        if self.fields:
            fields: dict[str, Json] = {one.name: _field(one) for one in self.fields}
            properties["fields"] = {"type": "object", "properties": fields, "additionalProperties": False}
        properties["question"] = {"type": "boolean", "description": _QUESTION}
        schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
        return ToolSpec(UNDERSTAND, _DOES, schema)

    @classmethod
    def of(cls, tool: ToolSpec) -> Questions:
        """The questions that `tool` asks, read again from its schema."""
        properties = _object(tool.schema.get("properties"))
        fields = _object(_object(properties.get("fields")).get("properties"))
        return cls(
            tuple(_read_field(name, _object(schema)) for name, schema in fields.items()),
            _read_intents(_object(properties.get("intent"))),
            _read_intents(_object(properties.get("caller_intent"))),
        )


@dataclass(frozen=True, slots=True)
class Understood:
    """What the model noted. None and missing fields: the message does not say."""

    intent: str | None = None
    caller_intent: str | None = None
    fields: JsonObject = field(default_factory=dict)
    question: bool | None = None

    def arguments(self) -> JsonObject:
        """As the arguments of a call."""
        found: dict[str, Json] = {}
        if self.intent is not None:
            found["intent"] = self.intent
        if self.caller_intent is not None:
            found["caller_intent"] = self.caller_intent
        if self.fields:
            found["fields"] = self.fields
        if self.question is not None:
            found["question"] = self.question
        return found

    @classmethod
    def of(cls, arguments: Json) -> Understood:
        """What a model wrote as arguments, as far as it can be read: what is of another kind is not said."""
        said = _object(arguments)
        question = said.get("question")
        return cls(
            _name(said.get("intent")),
            _name(said.get("caller_intent")),
            {name: value for name, value in _object(said.get("fields")).items() if value is not None},
            question if isinstance(question, bool) else None,
        )


def _intent(about: str, intents: Sequence[KnownIntent]) -> JsonObject:
    listed = "\n".join(f"- {one.name}: {' '.join(one.description.split())}" for one in intents)
    return {"type": "string", "enum": [one.name for one in intents], "description": f"{about}\n{listed}"}


def _read_intents(schema: JsonObject) -> tuple[KnownIntent, ...]:
    described = dict(_LISTED.findall(str(schema.get("description", ""))))
    names = schema.get("enum")
    listed = names if isinstance(names, Sequence) and not isinstance(names, str) else ()
    return tuple(KnownIntent(str(name), described.get(str(name), "")) for name in listed)


def _field(one: OpenField) -> JsonObject:
    marks = [one.about, KNOWN if one.known else "", ASKED if one.asked else ""]
    schema: dict[str, Json] = dict(_JSON_TYPES.get(one.type, {"type": "string"}))
    if one.type == "enum" and one.options:
        schema["enum"] = list(one.options)
    schema["description"] = "\n".join(mark for mark in marks if mark)
    return schema


def _read_field(name: str, schema: JsonObject) -> OpenField:
    lines = str(schema.get("description", "")).split("\n")
    about = "\n".join(line for line in lines if line not in (KNOWN, ASKED))
    options = schema.get("enum")
    listed = options if isinstance(options, Sequence) and not isinstance(options, str) else ()
    shape = str(schema.get("format") or schema.get("type") or "string")
    kind = "enum" if listed else "datetime" if shape == "date-time" else shape
    return OpenField(name, kind, about, tuple(map(str, listed)), KNOWN in lines, ASKED in lines)


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def _name(value: Json) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None
