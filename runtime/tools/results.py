"""What a tool returned, made JSON: plain values as they are, common Python values by their usual JSON form."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, time
from enum import Enum
from math import isfinite
from pathlib import PurePath
from typing import Protocol, runtime_checkable

from runtime.values.json import Json, clean

_DEEPEST = 100
_MOST_BITS = 14_000  # Python writes no integer of more than 4,300 digits as text


@runtime_checkable
class _Dumps(Protocol):
    """A pydantic model, known by its method alone."""

    def model_dump(self, *, mode: str) -> object: ...


def as_json(value: object, depth: int = 0) -> Json:
    """`value` as JSON, its texts storable (S8).

    Dataclasses and pydantic models become objects, tuples and sets lists, dates ISO text, paths text, enums their
    value, numbers as keys text. Raises TypeError for anything else, and for NaN, infinities and nesting over 100.
    """
    if isinstance(value, str) and not isinstance(value, Enum):
        return clean(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and not isinstance(value, Enum):
        return _number(value)
    if depth > _DEEPEST:
        raise TypeError(f"a value nested more than {_DEEPEST} deep is no result")
    return _structure(value, depth + 1)


def _number(value: int | float) -> Json:
    if isinstance(value, float):
        if not isfinite(value):
            raise TypeError(f"{value} is no JSON number")
        return float(value)
    if value.bit_length() > _MOST_BITS:
        raise TypeError("an integer of more than 4,000 digits is no result")
    return int(value)


def _structure(value: object, depth: int) -> Json:
    if isinstance(value, Mapping):
        return {_key(key): as_json(item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item, depth) for item in value]
    if isinstance(value, AbstractSet):
        return [as_json(item, depth) for item in sorted(value, key=repr)]
    if isinstance(value, Enum):
        return as_json(value.value, depth)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, PurePath):
        return clean(str(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name), depth) for field in dataclasses.fields(value)}
    if isinstance(value, _Dumps) and not isinstance(value, type):
        return as_json(value.model_dump(mode="json"), depth)
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


def _key(key: object) -> str:
    if isinstance(key, Enum):
        return _key(key.value)
    if isinstance(key, str):
        return clean(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int | float):
        return str(_number(key))
    raise TypeError(f"a key of type {type(key).__name__} is not JSON")
