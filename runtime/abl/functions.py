"""The built-in functions of ABL that give the same answer for the same values; the rest is known by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from runtime.abl.patterns import NotAPattern, compile_pattern
from runtime.abl.scope import UNDEFINED, Value, as_number, equal, is_list, number, text, tidy, truthy
from runtime.values.json import Json


class EvaluationError(Exception):
    """A condition that cannot be evaluated fails; the text says why."""


Function = Callable[..., Value]

NOT_EXECUTED: Final = frozenset(
    {
        "NOW", "UNIQUE_ID", "FORMAT_DATE", "FORMAT_CURRENCY", "ORDINAL", "MASK", "REGEX_REPLACE", "REGEX_EXTRACT",
        "ARRAY_FIND", "ARRAY_FIND_INDEX", "OBJECT_KEYS", "OBJECT_VALUES", "OBJECT_MERGE", "MATCH_SCORE", "MATCHES",
        "MATCH_RESULT", "PAD_START", "PAD_END", "REPEAT",
    }
)  # fmt: skip
"""Functions of the language that this runtime does not execute: a condition with one does not hold."""

_LONGEST_TEXT: Final = 100_000


def call(name: str, arguments: tuple[Value, ...], *, method: bool) -> Value:
    """The value of `name(arguments)`. Raises EvaluationError for unknown names and wrong numbers of arguments."""
    table = METHODS if method else FUNCTIONS
    function = table.get(name.lower() if method else name.upper())
    if function is None:
        raise EvaluationError(f"{name}() is not executed here")
    least, most, run = function
    if not least <= len(arguments) <= most:
        raise EvaluationError(f"{name}() takes {least} to {most} values, not {len(arguments)}")
    return run(*arguments)


def known(name: str, *, method: bool) -> bool:
    """Whether `call` can run it."""
    return name.lower() in METHODS if method else name.upper() in FUNCTIONS


def contains(holder: Value, part: Value) -> bool:
    """A text holds a text (with its case), a list holds an equal item, an object a key; undefined holds nothing."""
    if holder is UNDEFINED or holder is None or part is UNDEFINED or part is None:
        return False
    if isinstance(holder, Mapping):
        return text(part) in holder
    if not isinstance(holder, str) and is_list(holder):
        return member(part, holder)
    return text(part) in text(holder)


def member(item: Value, holder: Value) -> bool:
    """`item IN holder`: one of a list's items equals it; a text holds it as a part."""
    if isinstance(holder, list | tuple):
        return any(equal(item, one) for one in holder)
    return isinstance(holder, str) and item is not UNDEFINED and text(item) in holder


def matches(subject: Value, pattern: Value) -> bool:
    """Whether the pattern is found in the text, in bounded time. Raises EvaluationError for a pattern that is none."""
    if subject is UNDEFINED or subject is None or not isinstance(pattern, str):
        return False
    try:
        return compile_pattern(pattern).found_in(text(subject)[:_LONGEST_TEXT])
    except NotAPattern as problem:
        raise EvaluationError(f"the pattern {pattern[:60]!r} cannot be used: {problem}") from None


def add(one: Value, other: Value) -> Value:
    """The sum of two numbers; if one side is a text that is no number, both texts together."""
    if isinstance(one, str) or isinstance(other, str):
        left, right = number(one), number(other)
        if math.isnan(left) or math.isnan(right):
            return (text(one) + text(other))[:_LONGEST_TEXT]
        return tidy(left + right)
    return tidy(number(one) + number(other))


def divide(one: Value, other: Value) -> Json:
    """The quotient. Raises EvaluationError for a division by zero."""
    if not number(other):
        raise EvaluationError("division by zero")
    return tidy(number(one) / number(other))


def remainder(one: Value, other: Value) -> Json:
    """What is left of a division, with the sign of the first number. Raises EvaluationError for zero."""
    left, right = number(one), number(other)
    if not right or math.isinf(left):
        raise EvaluationError("division by zero")
    return tidy(math.fmod(left, right))


def _round(value: Value, places: Value = 0) -> Json:
    size = number(value)
    digits = number(places)
    if math.isnan(size) or math.isinf(size) or math.isnan(digits):
        return None
    factor = 10.0 ** max(0, min(12, int(digits)))
    return tidy(math.floor(size * factor + 0.5) / factor)


def _replace(value: Value, old: Value, new: Value) -> Json:
    if not text(old):
        return text(value)
    body, part, instead = text(value), text(old), text(new)
    if len(body) + body.count(part) * len(instead) > _LONGEST_TEXT:
        raise EvaluationError("REPLACE() gives a text that is too long")
    return body.replace(part, instead)


def _substring(value: Value, start: Value, end: Value = UNDEFINED) -> Json:
    body = text(value)
    first = _index(start, len(body))
    return body[first : len(body) if end is UNDEFINED else _index(end, len(body))]


def _index(value: Value, most: int) -> int:
    place = number(value)
    return 0 if math.isnan(place) else int(max(0.0, min(float(most), place)))


def _split(value: Value, by: Value) -> Json:
    return text(value).split(text(by)) if text(by) else list(text(value))


def _join(value: Value, by: Value = ",") -> Json:
    return text(by).join(text(one) for one in value) if isinstance(value, list | tuple) else text(value)


def _length(value: Value) -> Json:
    return len(value) if isinstance(value, str | list | tuple | Mapping) else len(text(value))


def _first(*values: Value) -> Value:
    return next((value for value in values if value is not UNDEFINED and value is not None), None)


def _first_non_empty(*values: Value) -> Value:
    return next((value for value in values if text(value).strip() and text(value) not in ("[]", "{}")), None)


def _to_number(value: Value) -> Json:
    return tidy(as_number(value) if isinstance(value, str) else number(value))


def _is_number(value: Value) -> bool:
    if isinstance(value, str):
        return not math.isnan(as_number(value))
    return isinstance(value, int | float) and not isinstance(value, bool)


_Entry = tuple[int, int, Function]

FUNCTIONS: Final[Mapping[str, _Entry]] = {
    "ADD": (2, 2, add),
    "SUB": (2, 2, lambda one, other: tidy(number(one) - number(other))),
    "MUL": (2, 2, lambda one, other: tidy(number(one) * number(other))),
    "DIV": (2, 2, divide),
    "ROUND": (1, 2, _round),
    "ABS": (1, 1, lambda value: tidy(abs(number(value)))),
    "MIN": (1, 32, lambda *values: tidy(min(map(number, values)))),
    "MAX": (1, 32, lambda *values: tidy(max(map(number, values)))),
    "UPPER": (1, 1, lambda value: text(value).upper()),
    "LOWER": (1, 1, lambda value: text(value).lower()),
    "TRIM": (1, 1, lambda value: text(value).strip()),
    "SUBSTRING": (2, 3, _substring),
    "REPLACE": (3, 3, _replace),
    "SPLIT": (2, 2, _split),
    "JOIN": (1, 2, _join),
    "LENGTH": (1, 1, _length),
    "IS_ARRAY": (1, 1, is_list),
    "IS_NUMBER": (1, 1, _is_number),
    "IS_STRING": (1, 1, lambda value: isinstance(value, str)),
    "TO_NUMBER": (1, 1, _to_number),
    "TO_STRING": (1, 1, text),
    "COALESCE": (1, 32, _first),
    "FIRST_NON_EMPTY": (1, 32, _first_non_empty),
    "IF": (2, 3, lambda test, yes, no=None: yes if truthy(test) else no),
}
"""Name -> least and most arguments, and what runs."""

METHODS: Final[Mapping[str, _Entry]] = {
    "contains": (2, 2, contains),
    "includes": (2, 2, contains),
    "startswith": (2, 2, lambda one, part: one is not UNDEFINED and text(one).startswith(text(part))),
    "endswith": (2, 2, lambda one, part: one is not UNDEFINED and text(one).endswith(text(part))),
    "matches": (2, 2, matches),
    "tolowercase": (1, 1, lambda value: text(value).lower()),
    "touppercase": (1, 1, lambda value: text(value).upper()),
    "trim": (1, 1, lambda value: text(value).strip()),
    "size": (1, 1, _length),
    "length": (1, 1, _length),
}
