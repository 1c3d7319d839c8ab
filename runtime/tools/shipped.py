"""The tools that come with the program, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from runtime.tools.definition import Tool, by_name


@cache
def shipped() -> Mapping[str, Tool]:
    """`set-tone`, `find-notes`, `calculate` and `look-up-order`: agents name them without asking anybody (T9)."""
    from runtime.tools.calculate import calculate
    from runtime.tools.notes import find_notes
    from runtime.tools.orders import look_up_order
    from runtime.tools.tone import set_tone

    return MappingProxyType(by_name([set_tone, find_notes, calculate, look_up_order]))
