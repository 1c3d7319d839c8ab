"""What happens inside a turn, item by item: assistant steps, groups of tool results, recovery nudges (T3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias

from runtime.values.json import Json, JsonObject, clean_json, compact


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model made it. `arguments` is a JSON object, or the text as received when it is none (T4)."""

    id: str
    name: str
    arguments: JsonObject | str

    @classmethod
    def read(cls, id: str, name: str, arguments: str | None) -> ToolCall:
        """The call whose arguments came as text: absent, blank and `null` are `{}`; what is no object stays text."""
        if arguments is None or not arguments.strip():
            return cls(id, name, {})
        try:
            value = clean_json(json.loads(arguments, parse_constant=_refuse, parse_float=_finite))
        except (ValueError, RecursionError):
            return cls(id, name, arguments)
        if value is None:
            return cls(id, name, {})
        return cls(id, name, value if isinstance(value, Mapping) else arguments)

    def arguments_text(self) -> str:
        """The arguments as text again: compact JSON, or what was received."""
        return self.arguments if isinstance(self.arguments, str) else compact(self.arguments)


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits} is out of range")
    return number


@dataclass(frozen=True, slots=True)
class AssistantStep:
    """One model call's outcome. `partial` marks a step that was cut off: stopped, out of time, or truncated.

    `opaque` is what one endpoint wants back unchanged (thinking blocks): its key names the endpoint, and an adapter
    for another one leaves it out.
    """

    step: int
    text: str
    calls: tuple[ToolCall, ...] = ()
    partial: bool = False
    opaque: JsonObject | None = None

    @property
    def empty(self) -> bool:
        """No text and no calls (T6): an item of the record that is not sent."""
        return not self.text.strip() and not self.calls


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one result of a call (T4). `turn` is the child turn that produced it (T8); `seconds` is wall time.

    `abandoned` says the call could not be interrupted and what it returned later was dropped (T10).
    """

    id: str
    name: str
    output: Json
    error: bool = False
    seconds: float = 0.0
    turn: str | None = None
    abandoned: bool = False


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The results of one step's calls, in the order of the calls."""

    step: int
    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True)
class Nudge:
    """A user message on the wire that asks again after an empty step; never stored (T6)."""

    step: int
    text: str


Item: TypeAlias = "AssistantStep | ToolResults | Nudge"
