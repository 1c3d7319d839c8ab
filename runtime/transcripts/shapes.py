"""Other people's JSON, taken as it comes: a value of the wrong type reads as an empty one, never as an exception."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from runtime.values.json import Json, JsonObject, clean

NOTHING: Final[Mapping[str, object]] = {}

DEEPEST: Final = 64
"""Levels of nesting that are kept; what lies deeper becomes a text that says so."""


def obj(value: object) -> Mapping[str, object]:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else NOTHING


def seq(value: object) -> Sequence[object]:
    """`value` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else ()


def objs(value: object) -> list[Mapping[str, object]]:
    """The objects in the array `value`; what else it holds is left out."""
    return [item for item in seq(value) if isinstance(item, dict)]


def txt(value: object) -> str:
    """`value` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def get(value: object, *path: str | int) -> object:
    """What stands in `value` at `path` (keys and positions), None where there is nothing."""
    for step in path:
        if isinstance(step, str):
            value = obj(value).get(step)
        else:
            items = seq(value)
            value = items[step] if -len(items) <= step < len(items) else None
    return value


def either(value: Mapping[str, object], *keys: str) -> object:
    """The first of `keys` that holds something (not null, not an empty text)."""
    return next((value[key] for key in keys if value.get(key) not in (None, "")), None)


def plain(value: object, depth: int = 0) -> Json:
    """`value` as JSON that can be kept: no infinities, no unstorable text, no more than DEEPEST levels (S8)."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int):
        return value
    if depth >= DEEPEST:
        return "[nested too deeply]"
    if isinstance(value, dict):
        return {
            clean(key if type(key) is str else str(key)): (
                clean(item) if type(item) is str else item if type(item) in _AS_IT_IS else plain(item, depth + 1)
            )
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return clean(str(value))


_AS_IT_IS: Final = frozenset((int, bool, type(None)))


def plain_object(value: object) -> JsonObject:
    """The object `value` as JSON that can be kept; an empty one if it is none."""
    kept = plain(value)
    return kept if isinstance(kept, Mapping) else {}


def decoded(text: str) -> object:
    """The JSON in `text`, or `text` itself if it holds none."""
    try:
        return parse(text)
    except ValueError:
        return text


def parse(text: str) -> object:
    """The JSON value in `text`; NaN and the infinities are taken as texts. Raises ValueError, also for nesting."""
    try:
        if text[:1] in ("{", "["):  # the scanner itself, without the search for blanks around it
            value, end = _SCAN(text, 0)
            if end == len(text) or not text[end:].strip(_BLANK):
                return value
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except StopIteration:
        return _DECODER.decode(text)  # says where


_BLANK: Final = " \t\r\n"
_DECODER: Final = json.JSONDecoder(parse_constant=str)
_SCAN: Callable[[str, int], tuple[object, int]]
_SCAN = json.scanner.make_scanner(_DECODER)  # type: ignore[attr-defined]  # typeshed does not know this module of json


def numbered(value: object, pointer: str) -> Iterator[tuple[object, str]]:
    """The items of an array, each with its JSON pointer below `pointer`."""
    for number, item in enumerate(seq(value)):
        yield item, f"{pointer}/{number}"
