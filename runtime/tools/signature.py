"""A function's parameters as a tool sees them: which are the model's arguments, and which gets the state (T9)."""

from __future__ import annotations

import contextlib
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Any, cast

from runtime.errors import ConfigurationError
from runtime.tools import docstring
from runtime.tools.arguments import Mismatch, Reader, reader
from runtime.tools.results import as_json
from runtime.tools.state import State
from runtime.values.json import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments a model may give, by name, and the name of the parameter that gets the `State`, if any."""

    description: str
    schema: JsonObject
    readers: dict[str, Reader]
    required: tuple[str, ...]
    state: str | None

    def read(self, arguments: JsonObject) -> dict[str, object]:
        """The arguments as the function takes them.

        Raises Mismatch whose text is one sentence about everything that is wrong (T4).
        """
        values: dict[str, object] = {}
        wrong: list[str] = []
        for name, value in arguments.items():
            if name not in self.readers:
                wrong.append(f"there is no argument {name}")
                continue
            try:
                values[name] = self.readers[name].read(value)
            except Mismatch as error:
                wrong.append(f"argument {name}{error.path} {error}")
        wrong += [f"argument {name} is missing" for name in self.required if name not in arguments]
        if wrong:
            takes = f" (it takes {', '.join(self.readers) or 'none'})" if arguments.keys() - self.readers.keys() else ""
            raise Mismatch("; ".join(wrong) + takes)
        return values


def signature_of(function: Callable[..., object], tool: str) -> Signature:
    """What `function` takes. Raises ConfigurationError, naming the tool, for a signature no model can fill."""
    parameters, hints = _inspected(function, tool)
    description, texts = docstring.read(inspect.getdoc(function))
    readers: dict[str, Reader] = {}
    properties: dict[str, Json] = {}
    definitions: dict[str, Json] = {}
    required: list[str] = []
    state: str | None = None
    for name, parameter in parameters.items():
        _refuse_kind(parameter, tool)
        annotation = hints.get(name, Any)
        if _is_state(annotation):
            state = name
            continue
        try:
            readers[name] = read = reader(annotation)
        except TypeError as error:
            raise ConfigurationError(f"tool {tool} takes {name} as what no model can give: {error}") from None
        properties[name] = _property(read, parameter, texts.get(name, ""))
        definitions |= read.definitions
        if parameter.default is parameter.empty:
            required.append(name)
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    schema |= {"required": list(required)} if required else {}
    schema |= {"additionalProperties": False}
    schema |= {"$defs": definitions} if definitions else {}
    return Signature(description, schema, readers, tuple(required), state)


def _inspected(function: Callable[..., object], tool: str) -> tuple[dict[str, inspect.Parameter], dict[str, object]]:
    if isinstance(function, type) or not callable(function):
        raise ConfigurationError(f"tool {tool} is no function")
    try:
        parameters = dict(inspect.signature(function).parameters)
        annotated = function if inspect.isroutine(function) else cast(Any, function).__call__
        while hasattr(annotated, "__wrapped__"):
            annotated = annotated.__wrapped__
        hints = typing.get_type_hints(getattr(annotated, "func", annotated), include_extras=True)
    except (NameError, TypeError, ValueError, AttributeError) as error:
        raise ConfigurationError(f"the signature of tool {tool} cannot be read: {error}") from None
    return parameters, hints


def _refuse_kind(parameter: inspect.Parameter, tool: str) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise ConfigurationError(f"tool {tool} takes {parameter}, which cannot be given by name")


def _is_state(annotation: object) -> bool:
    return annotation is State or set(typing.get_args(annotation)) == {State, NoneType}


def _property(read: Reader, parameter: inspect.Parameter, text: str) -> JsonObject:
    described: dict[str, Json] = dict(read.schema)
    if text:
        described["description"] = text
    if parameter.default is not parameter.empty:
        with contextlib.suppress(TypeError):  # a default that is no JSON is the function's own business
            described["default"] = as_json(parameter.default)
    return described
