"""One argument of a tool: the JSON Schema of its annotation, and reading a model's value by it.

Annotations of plain JSON (texts, numbers, booleans, Literal, lists, objects, None) are read here; any other goes to
pydantic, which is imported when such a tool is first offered or called. Both read alike: digits in a text are a
number where a number is asked for, because models write them so.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin

from runtime.values.json import Json, JsonObject, clean, compact


class Mismatch(Exception):
    """A value that is not what the annotation asks for.

    The text goes on from the argument's name: `should be a text, not 3`. `path` leads to the value inside the
    argument: `[2]`, `.name`.
    """

    def __init__(self, problem: str, path: str = "") -> None:
        self.path = path
        super().__init__(problem)


Read: TypeAlias = Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Reader:
    """How one annotation is offered and read: `schema` for the model, `read` raises Mismatch.

    `definitions` are the schemas that `schema` refers to by `#/$defs/NAME`.
    """

    schema: JsonObject
    read: Read
    definitions: JsonObject


def reader(annotation: object) -> Reader:
    """The Reader of an annotation, by hand if it is plain JSON, else by pydantic.

    Raises TypeError for an annotation that neither can read.
    """
    plain = _plain(annotation)
    return Reader(plain[0], plain[1], {}) if plain else _by_pydantic(annotation)


def shown(value: object) -> str:
    """A model's value inside a sentence: JSON, cut to 60 characters."""
    text = compact(cast(Json, value))
    return text if len(text) <= 60 else text[:59] + "…"


def _expected(what: str, got: object) -> Mismatch:
    return Mismatch(f"should be {what}, not {shown(got)}")


_Plain: TypeAlias = tuple[JsonObject, Read]


def _plain(annotation: object) -> _Plain | None:
    if annotation is Any or annotation is object:
        return {}, lambda value: value
    if isinstance(annotation, type) and annotation in _SCALARS:
        return _SCALARS[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is None or annotation is type(None):
        return {"type": "null"}, _null
    if origin is Literal and all(isinstance(option, str | int) for option in inner):
        return _literal(inner)
    if annotation is list or (origin in (list, Sequence) and len(inner) == 1):
        return _list(inner[0] if inner else Any)
    if annotation is dict or (origin in (dict, Mapping) and inner[0] is str):
        return _object(inner[1] if inner else Any)
    if origin in (Union, types.UnionType) and len(inner) == 2 and type(None) in inner:
        return _optional(inner[0] if inner[1] is type(None) else inner[1])
    return None


def _text(value: object) -> object:
    if isinstance(value, str):
        return value
    raise _expected("a text", value)


def _integer(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and isfinite(value) and value == int(value):
        return int(value)
    if isinstance(value, str) and len(value) <= 400:
        try:
            return int(value)
        except ValueError:
            pass
    raise _expected("a whole number", value)


def _real(value: object) -> object:
    number: float | None = None
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = None
    if number is None or not isfinite(number):
        raise _expected("a number", value)
    return number


def _boolean(value: object) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _expected("true or false", value)


def _null(value: object) -> object:
    if value is None:
        return None
    raise _expected("null", value)


_SCALARS: Mapping[type, _Plain] = {
    str: ({"type": "string"}, _text),
    int: ({"type": "integer"}, _integer),
    float: ({"type": "number"}, _real),
    bool: ({"type": "boolean"}, _boolean),
}


def _literal(options: tuple[str | int, ...]) -> _Plain:
    def read(value: object) -> object:
        for option in options:
            if value == option and type(value) is type(option):
                return option
        raise _expected("one of " + ", ".join(compact(option) for option in options), value)

    kinds = {type(option) for option in options}
    kind: JsonObject = {"type": "string"} if kinds == {str} else {"type": "integer"} if kinds == {int} else {}
    return {**kind, "enum": list(options)}, read


def _list(of: object) -> _Plain | None:
    item = _plain(of)
    if item is None:
        return None
    schema, read_item = item

    def read(value: object) -> object:
        if not isinstance(value, list | tuple):
            raise _expected("a list", value)
        return [_inside(read_item, part, f"[{n}]") for n, part in enumerate(value)]

    return {"type": "array", "items": schema}, read


def _object(of: object) -> _Plain | None:
    item = _plain(of)
    if item is None:
        return None
    schema, read_item = item

    def read(value: object) -> object:
        if not isinstance(value, Mapping):
            raise _expected("an object", value)
        return {key: _inside(read_item, part, f".{key}") for key, part in value.items()}

    return {"type": "object", "additionalProperties": schema}, read


def _optional(of: object) -> _Plain | None:
    item = _plain(of)
    if item is None:
        return None
    schema, read_item = item
    return {"anyOf": [schema, {"type": "null"}]}, lambda value: None if value is None else read_item(value)


def _inside(read: Read, value: object, step: str) -> object:
    try:
        return read(value)
    except Mismatch as error:
        error.path = step + error.path
        raise


def _by_pydantic(annotation: object) -> Reader:
    from pydantic import PydanticUserError, TypeAdapter, ValidationError

    try:
        adapter: TypeAdapter[object] = TypeAdapter(cast(Any, annotation))
        schema = dict(adapter.json_schema(ref_template="#/$defs/{model}"))
    except PydanticUserError as error:
        raise TypeError(str(error).partition("\n")[0]) from None
    definitions = cast(JsonObject, schema.pop("$defs", {}))

    def read(value: object) -> object:
        try:
            return adapter.validate_json(clean(compact(cast(Json, value))))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
            said = first["msg"].removeprefix("Input ")
            said = said if said != first["msg"] else f"is wrong: {said[:1].lower()}{said[1:]}"
            raise Mismatch(said, path) from None

    return Reader(schema, read, definitions)
