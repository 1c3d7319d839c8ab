"""The thread's state as one tool call sees it: as it was when the step began, and the call's own writes (T4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from runtime.tools.results import as_json
from runtime.values.json import Json, JsonObject, clean


@final
class State:
    """A handle on the thread's state; a tool gets one by a parameter annotated `State` (T9).

    Values handed out are copies: changing one changes nothing until it is `set`.
    """

    __slots__ = ("_closed", "_start", "_writes")

    def __init__(self, start: JsonObject) -> None:
        self._start = start
        self._writes: dict[str, Json] = {}
        self._closed = False

    def get(self, key: str, default: Json = None) -> Json:
        """The value of `key`: this call's own write, else what the step began with, else `default`."""
        if key in self._writes:
            return _copy(self._writes[key])
        return _copy(self._start[key]) if key in self._start else default

    def set(self, key: str, value: object) -> None:
        """Write `value` under `key`; the thread has it when all calls of the step are done (T4).

        Raises TypeError if the value is not JSON, RuntimeError if the call was given up meanwhile (T10).
        """
        if self._closed:
            raise RuntimeError("this call was given up; its writes are dropped")
        self._writes[clean(key)] = as_json(value)

    def items(self) -> list[tuple[str, Json]]:
        """Every key with its value, own writes included."""
        return [(key, _copy(value)) for key, value in {**self._start, **self._writes}.items()]

    def close(self) -> JsonObject:
        """End the call: its writes so far; later ones are refused."""
        self._closed = True
        return dict(self._writes)


def _copy(value: Json) -> Json:
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_copy(item) for item in value]
    return value
