"""Conditions: which text is one and which is prose for a model, and whether one holds for the values there are.

Decided by what the text says, quoted or not: an expression that asks something (a comparison, IS SET, IN, contains,
a call, a bare name without quotes) is `condition`; anything that reads as language is `prose`; no text is `always`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal as Words
from typing import assert_never

from runtime.abl.expressions import (
    SIGNS,
    WORDS,
    Binary,
    Call,
    Choice,
    Expression,
    IsSet,
    Items,
    Literal,
    Logic,
    Not,
    NotAnExpression,
    Path,
    parse,
    parts,
)
from runtime.abl.functions import (
    NOT_EXECUTED,
    EvaluationError,
    add,
    call,
    contains,
    divide,
    known,
    matches,
    member,
    remainder,
)
from runtime.abl.scope import UNDEFINED, Scope, Value, equal, less, look_up, number, text, tidy, truthy
from runtime.values.json import Json

Kind = Words["condition", "prose", "always"]

_SURE = re.compile(r"==|!=|<=|>=|&&|\|\||\bIS\s+(?:NOT\s+)?SET\b")
_SURE_BARE = re.compile(r"[<>=]")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition ready to be evaluated; `text` as written without wrapping quotes."""

    text: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class When:
    """When a route is taken or an agent completes (H15).

    `text` is as written. `condition` is set for the kind `condition`; prose is offered to the model; `always` is a
    route without WHEN. `line` and `column` are where the text stands (the entry, if there is none).
    """

    kind: Kind
    text: str
    condition: Condition | None
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a condition gave: its value, the names without a value that it asked for, and why it failed if it did.

    Names that only IS SET asked for are not unresolved. A condition that failed does not hold.
    """

    value: Json
    unresolved: tuple[str, ...] = ()
    error: str | None = None

    @property
    def holds(self) -> bool:
        return self.error is None and truthy(self.value)


def read_condition(written: str) -> tuple[Kind, Condition | None]:
    """What `written` is. Raises NotAnExpression (place from the start of `written`) for a broken condition."""
    stripped = written.strip()
    if not stripped:
        return "always", None
    inner, shift, in_quotes = stripped, written.index(stripped[0]), False
    if len(stripped) > 1 and stripped[0] == stripped[-1] and stripped[0] in "\"'" and stripped[0] not in stripped[1:-1]:
        inner, shift, in_quotes = stripped[1:-1], shift + 1, True
    try:
        expression = parse(inner)
    except NotAnExpression as problem:
        return _prose_or_raise(inner, shift, in_quotes, problem)
    if in_quotes and not _asks(expression):
        return "prose", None
    return "condition", Condition(inner, expression)


def evaluate(condition: Condition | Expression, scope: Scope) -> Outcome:
    """Whether and with what value the condition holds for `scope`, in bounded time; it never raises."""
    expression = condition.expression if isinstance(condition, Condition) else condition
    run = _Run(scope)
    try:
        value = run.value(expression)
    except EvaluationError as problem:
        return Outcome(None, tuple(run.unresolved), str(problem))
    return Outcome(None if value is UNDEFINED else value, tuple(run.unresolved))


def value_of(expression: Expression, scope: Scope) -> Value:
    """The expression's value, `UNDEFINED` if it has none or cannot be evaluated."""
    try:
        return _Run(scope).value(expression)
    except EvaluationError:
        return UNDEFINED


def doubtful_calls(expression: Expression) -> list[tuple[Call, bool]]:
    """The calls that `evaluate` cannot run, each with whether the language knows them."""
    calls = [part for part in parts(expression) if isinstance(part, Call)]
    return [(one, one.name.upper() in NOT_EXECUTED) for one in calls if not known(one.name, method=one.method)]


def _prose_or_raise(inner: str, shift: int, in_quotes: bool, problem: NotAnExpression) -> tuple[Kind, None]:
    """Text that is no expression: language, unless it holds an operator that no sentence has."""
    if _SURE.search(inner) or (not in_quotes and _SURE_BARE.search(inner)):
        raise NotAnExpression(problem.problem, problem.at + shift) from None
    return "prose", None


def _asks(expression: Expression) -> bool:
    """Whether a quoted text is a question about values: language such as `customers in distress` is not."""
    found = list(parts(expression))
    if any(isinstance(part, IsSet | Call | Items | Choice) for part in found):
        return True
    operators = {part.operator.removeprefix("not ") for part in found if isinstance(part, Binary)}
    if operators & SIGNS:
        return True
    named = any(isinstance(part, Path) and not part.text.isalpha() for part in found)
    return bool(operators & WORDS) and (named or any(isinstance(part, Literal) for part in found))


class _Run:
    """One evaluation: the values, and which names had none."""

    def __init__(self, scope: Scope) -> None:
        self.scope, self.unresolved = scope, list[str]()

    def value(self, expression: Expression) -> Value:
        match expression:
            case Literal(value):
                return value
            case Path(segments, name):
                return self._path(segments, name)
            case Items(items):
                return [None if (one := self.value(item)) is UNDEFINED else one for item in items]
            case Not(operand, minus):
                inner = self.value(operand)
                return tidy(-number(inner)) if minus else not truthy(inner)
            case IsSet(operand, negated):
                return self._is_set(operand) != negated
            case Logic(operator, operands):
                return self._logic(operator, operands)
            case Choice(test, yes, no):
                return self.value(yes if truthy(self.value(test)) else no)
            case Call(name, arguments, _, method):
                return call(name, tuple(self.value(one) for one in arguments), method=method)
            case Binary(operator, left, right):
                return _apply(operator, self.value(left), self.value(right))
        assert_never(expression)

    def _path(self, segments: tuple[str | int, ...], name: str) -> Value:
        found = look_up(segments, self.scope)
        if found is UNDEFINED and name not in self.unresolved:
            self.unresolved.append(name)
        return found

    def _is_set(self, operand: Expression) -> bool:
        value = look_up(operand.segments, self.scope) if isinstance(operand, Path) else self.value(operand)
        return value is not UNDEFINED and value is not None

    def _logic(self, operator: str, operands: tuple[Expression, ...]) -> Value:
        for operand in operands:
            if truthy(self.value(operand)) is (operator == "or"):
                return operator == "or"
        return operator == "and"


def _apply(operator: str, left: Value, right: Value) -> Value:
    if operator.startswith("not "):
        return not _apply(operator[4:], left, right)
    match operator:
        case "==":
            return equal(left, right)
        case "!=":
            return left is UNDEFINED or right is UNDEFINED or not equal(left, right)
        case "<":
            return less(left, right)
        case ">":
            return less(right, left)
        case "<=":
            return less(left, right) or _same_size(left, right)
        case ">=":
            return less(right, left) or _same_size(left, right)
        case "in":
            return member(left, right)
        case "contains":
            return contains(left, right)
        case "matches":
            return matches(left, right)
        case "startswith":
            return left is not UNDEFINED and text(left).startswith(text(right))
        case "endswith":
            return left is not UNDEFINED and text(left).endswith(text(right))
        case "+":
            return add(left, right)
        case "-":
            return tidy(number(left) - number(right))
        case "*":
            return tidy(number(left) * number(right))
        case "/":
            return divide(left, right)
        case "%":
            return remainder(left, right)
    raise EvaluationError(f"{operator} is no operator")


def _same_size(left: Value, right: Value) -> bool:
    return left == right if isinstance(left, str) and isinstance(right, str) else number(left) == number(right)
