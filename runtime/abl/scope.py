"""Values as conditions and braces see them: undefined is not null, texts that look like numbers compare as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias

from runtime.values.json import Json, JsonObject, as_text


class _Undefined(Enum):
    UNDEFINED = "undefined"

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED: Final = _Undefined.UNDEFINED
"""What a path without a value gives."""

Value: TypeAlias = "Json | _Undefined"
Scope: TypeAlias = JsonObject


def look_up(segments: tuple[str | int, ...], scope: Scope) -> Value:
    """The value at the path, `UNDEFINED` if a segment is missing. `length` of a text or list is its length.

    A scope may hold a whole path under one key (`intent.category`); nesting is tried first.
    """
    found: Value = scope
    for segment in segments:
        found = _member(found, segment)
        if found is UNDEFINED:
            return scope.get(".".join(map(str, segments)), UNDEFINED) if len(segments) > 1 else UNDEFINED
    return found


def is_list(value: Value) -> bool:
    """Whether `value` is a JSON list."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def truthy(value: Value) -> bool:
    """False, 0, "", "false", null, undefined and empty lists and objects do not hold."""
    if value is UNDEFINED or value is None or value == "false":
        return False
    if isinstance(value, float) and math.isnan(value):
        return False
    return bool(value)


def number(value: Value) -> float:
    """The value as a number: undefined, null and "" are 0, a list its length; what is no number is NaN."""
    if value is UNDEFINED or value is None:
        return 0.0
    if isinstance(value, bool | int | float):
        return _float(value)
    if isinstance(value, str):
        return as_number(value) if value.strip() else 0.0
    return float(len(value)) if isinstance(value, Sequence) else math.nan


def as_number(text: str) -> float:
    """The number that `text` is, else NaN. Only digits, one point and a sign: `inf` and `1_000` are texts."""
    body = text.strip()
    if len(body) > 100 or not body.isascii() or not body.lstrip("+-").replace(".", "", 1).isdigit():
        return math.nan
    try:
        return float(body)
    except ValueError:
        return math.nan


def tidy(value: float) -> Json:
    """A number as JSON bears it: whole ones as integers, NaN and infinities as null."""
    if math.isnan(value) or math.isinf(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def text(value: Value) -> str:
    """The value as a text inside an answer: undefined and null are empty, 3.0 is 3, lists and objects are JSON."""
    if value is UNDEFINED or value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return as_text(tidy(value))
    return as_text(value)


def equal(one: Value, other: Value) -> bool:
    """`==`: undefined equals only undefined, texts compare with their case, "5" equals 5."""
    if one is UNDEFINED or other is UNDEFINED:
        return one is other
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, str):
        return _float(one) == as_number(other)
    if isinstance(one, str) and isinstance(other, int | float):
        return as_number(one) == _float(other)
    return one == other


def less(one: Value, other: Value) -> bool:
    """`<`: two texts that are not both numbers compare as texts, everything else as numbers."""
    if isinstance(one, str) and isinstance(other, str) and (_no_number(one) or _no_number(other)):
        return one < other
    return number(one) < number(other)


def _member(value: Value, segment: str | int) -> Value:
    if isinstance(value, Mapping):
        return value.get(str(segment), UNDEFINED)
    if isinstance(value, Sequence):
        if isinstance(segment, int):
            return value[segment] if segment < len(value) and not isinstance(value, str) else UNDEFINED
        if segment == "length":
            return len(value)
    return UNDEFINED


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _no_number(value: str) -> bool:
    return math.isnan(as_number(value))
