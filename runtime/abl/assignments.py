"""SET: what a line assigns, and the values it gives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from runtime.abl.conditions import value_of
from runtime.abl.expressions import Expression, Literal, NotAnExpression, Path, parse
from runtime.abl.scope import UNDEFINED, Scope
from runtime.abl.templates import render
from runtime.values.json import Json

_LINE = re.compile(r"(?P<name>[^\W\d][\w.]*)\s*(?P<sign>=(?!=)|:)\s*(?P<value>.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name = value`. `expression` is None for plain text, which may hold braces; `text` is the value as written.

    After a colon a bare word is the word itself; after `=` it is the value of that name.
    """

    name: str
    text: str
    expression: Expression | None
    line: int


def read_assignment(written: str, line: int) -> Assignment | None:
    """The assignment that `written` is; None if it is none."""
    found = _LINE.match(written.strip())
    if found is None or not found["value"]:
        return None
    value = found["value"].strip()
    try:
        expression: Expression | None = parse(value)
    except NotAnExpression:
        return Assignment(found["name"], _without_quotes(value), None, line)
    if isinstance(expression, Literal) and expression.quoted:
        return Assignment(found["name"], _without_quotes(value), None, line)
    if isinstance(expression, Path) and found["sign"] == ":" and "." not in expression.text:
        return Assignment(found["name"], value, None, line)
    return Assignment(found["name"], value, expression, line)


def assign(assignments: Iterable[Assignment], scope: Scope) -> dict[str, Json]:
    """The values the assignments give, each seeing those before it; a name without a value is left out (H9)."""
    given: dict[str, Json] = {}
    for one in assignments:
        seen = {**scope, **given}
        value = render(one.text, seen) if one.expression is None else value_of(one.expression, seen)
        if value is not UNDEFINED:
            given[one.name] = value
    return given


def _without_quotes(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
