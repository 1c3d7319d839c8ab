"""Rows, records and events with sensitive values masked, as they may stand on the screen (Q3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from runtime.handoff.masking import Mask
from runtime.handoff.notes import KEY

T = TypeVar("T")

_NAMES = frozenset({
    "turn", "thread", "id", "parent", "parent_call", "rerun_of", "first_turn", "caller_thread", "status", "reason",
    "kind", "role", "origin", "layout", "model", "agent", "caller", "target", "child", "call", "route", "owner", "rows",
    "children", "trigger", "fit", "usage", "since", "left_out", "at", "number", "window",
})  # fmt: skip
"""Fields that hold names, places and counts, never what somebody said."""

_JSON = frozenset({"arguments", "output", "state_before", "state_after", "writes", "values", "passed", "assigned",
                   "handoff"})  # fmt: skip
"""Fields that hold values: numbers are masked in them too."""


def masked(value: T, mask: Mask) -> T:
    """`value` (a row, a record, an event: frozen dataclasses all the way down) without sensitive values."""
    return cast("T", _masked(value, mask)) if mask else value


def _masked(value: Any, mask: Mask) -> Any:  # walks any frozen dataclass
    if isinstance(value, str):
        return mask.text(value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            one.name: after
            for one in fields(value)
            if (after := _member(one.name, getattr(value, one.name), mask)) is not getattr(value, one.name)
        }
        return replace(value, **changed) if changed else value
    if isinstance(value, Mapping):
        return mask.json(value, inside=True)
    if isinstance(value, Sequence):
        return tuple(_masked(one, mask) for one in value)
    return value


def _member(name: str, value: Any, mask: Mask) -> Any:  # as above
    if name == "children" and isinstance(value, Mapping):
        return {call: _masked(child, mask) for call, child in value.items()}
    if value is None or (name in _NAMES and not _rows(value)) or _counts(value):
        return value
    if name in _JSON and isinstance(value, Mapping):
        return mask.json({key: one for key, one in value.items() if key != KEY}, inside=True)
    return _masked(value, mask)


def _rows(value: Any) -> bool:
    """The rows of a context, where a handoff has places under this name and a thread a count."""
    return isinstance(value, tuple) and bool(value) and is_dataclass(value[0])


def _counts(value: Any) -> bool:
    """Tokens by part: numbers that nobody said."""
    return isinstance(value, Mapping) and bool(value) and all(isinstance(one, int) for one in value.values())
