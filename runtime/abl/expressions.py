"""Expressions as ABL writes them in conditions, SET lines and braces: a Pratt parser that knows its columns.

From loose to tight: `a ? b : c`, OR, AND, the signs `== != < > <= >=`, NOT, the words IN, CONTAINS, MATCHES,
STARTSWITH, ENDSWITH and IS [NOT] SET, `+ -`, `* / %`, a minus sign. So `NOT order_id IS SET` negates the test, and
`NOT status == "open"` compares a negation, as the language documents it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

NESTING: Final = 64
"""How deep an expression may go, counted in operators that hold one another."""

LONGEST: Final = 4000
"""Characters of one expression."""


class NotAnExpression(Exception):
    """The text does not parse. `at` is the place in the text, from 0; `problem` says what to write instead."""

    def __init__(self, problem: str, at: int) -> None:
        self.problem, self.at = problem, at
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, number, true, false or null (`quoted` for a text)."""

    value: str | int | float | bool | None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """`a.b[0].c` as its segments; `text` as written, `at` where it stands."""

    segments: tuple[str | int, ...]
    text: str
    at: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Items:
    """`[a, b]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """NOT or `!`; `minus` for the sign."""

    operand: Expression
    minus: bool = False


@dataclass(frozen=True, slots=True)
class IsSet:
    """`x IS SET`, or `x IS NOT SET` if negated."""

    operand: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class Logic:
    """All of (`and`) or any of (`or`) the operands, from the left, no further than needed."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Binary:
    """A comparison, word operator or arithmetic; `operator` in lower case, `not in` and so on for negated words."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Choice:
    """`test ? yes : no`."""

    test: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """`NAME(a, b)`; a method `x.name(a)` is a call of `name` with x as its first argument and `method` set."""

    name: str
    arguments: tuple[Expression, ...]
    at: int = field(compare=False)
    method: bool = False


Expression: TypeAlias = "Literal | Path | Items | Not | IsSet | Logic | Binary | Choice | Call"

SIGNS: Final = frozenset({"==", "!=", "<", ">", "<=", ">="})
WORDS: Final = frozenset({"in", "contains", "matches", "startswith", "endswith"})

_CHOICE, _OR, _AND, _SIGN, _NOT, _WORD, _SUM, _PRODUCT, _MINUS = range(1, 10)
_POWERS: Final = {
    "?": _CHOICE, "or": _OR, "||": _OR, "and": _AND, "&&": _AND, "is": _WORD, "not": _WORD,
    "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT,
    **dict.fromkeys(SIGNS, _SIGN), **dict.fromkeys(WORDS, _WORD),
}  # fmt: skip
_CONSTANTS: Final = {"true": True, "false": False, "null": None}

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+(?:\.\d+)?(?![\w.]))
      | (?P<text>"[^"]*"|'[^']*')
      | (?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*|\[\d{1,9}\])*)
      | (?P<sign>==|!=|<=|>=|&&|\|\||[<>!()\[\],?:+\-*/%])
    )""",
    re.VERBOSE,
)
_SEGMENT = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int

    @property
    def word(self) -> str:
        """What the token is as an operator: signs as they are, names in lower case, nothing for the rest."""
        return self.text.lower() if self.kind in ("name", "sign") else ""


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """The expression that the whole of `text` is. Raises NotAnExpression with the place of what is wrong."""
    expression = _Parser(text).whole()
    level: tuple[Expression, ...] = (expression,)
    for _ in range(NESTING):
        level = tuple(inner for one in level for inner in _inside(one))
        if not level:
            return expression
    raise NotAnExpression(f"more than {NESTING} operators hold one another; split the condition", 0)


def paths(expression: Expression) -> Iterator[Path]:
    """Every path in the expression, from the left."""
    for part in parts(expression):
        if isinstance(part, Path):
            yield part


def parts(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it, from the left."""
    yield expression
    for inner in _inside(expression):
        yield from parts(inner)


def _inside(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Items(items):
            return items
        case Not(operand) | IsSet(operand):
            return (operand,)
        case Logic(_, operands):
            return operands
        case Binary(_, left, right):
            return (left, right)
        case Choice(test, yes, no):
            return (test, yes, no)
        case Call(_, arguments):
            return arguments
    return ()


class _Parser:
    """One text on its way to an expression: the tokens, where it is, how deep."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise NotAnExpression(f"an expression has at most {LONGEST} characters", LONGEST)
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0

    def whole(self) -> Expression:
        if len(self._tokens) == 1:
            raise NotAnExpression("there is nothing to evaluate", 0)
        expression = self._expression(0)
        rest = self._peek()
        if rest.kind != "end":
            raise NotAnExpression(f"an operator such as AND or == is expected before `{rest.text[:40]}`", rest.at)
        return expression

    def _expression(self, power: int) -> Expression:
        self._depth += 1
        if self._depth > NESTING:
            raise NotAnExpression(f"more than {NESTING} levels of nesting; split the condition", self._peek().at)
        left = self._prefix()
        while (strength := _POWERS.get(self._peek().word, 0)) > power:
            left = self._infix(left, strength)
        self._depth -= 1
        return left

    def _prefix(self) -> Expression:
        token = self._take()
        if token.kind == "number":
            return Literal(_number(token.text))
        if token.kind == "text":
            return Literal(token.text[1:-1], quoted=True)
        if token.word in ("not", "!"):
            return Not(self._expression(_NOT))
        if token.kind == "name":
            return self._name(token)
        if token.text == "-":
            return Not(self._expression(_MINUS), minus=True)
        if token.text == "(":
            inner = self._expression(0)
            self._expect(")", token)
            return inner
        if token.text == "[":
            return Items(self._list("]", token))
        problem = "is missing at the end" if token.kind == "end" else f"is expected, not `{token.text}`"
        raise NotAnExpression(f"a name or a value {problem}", token.at)

    def _name(self, token: _Token) -> Expression:
        opened = self._peek()
        if opened.text == "(" and opened.kind == "sign":
            self._take()
            owner, _, method = token.text.rpartition(".")
            arguments = self._list(")", opened)
            if owner and owner != "abl":
                return Call(method, (_path(owner, token.at), *arguments), token.at, method=True)
            return Call(method, arguments, token.at)
        if token.word in _CONSTANTS:
            return Literal(_CONSTANTS[token.word])
        if token.word in ("and", "or", "is") or token.word in WORDS:
            raise NotAnExpression(f"a name or a value is expected before `{token.text}`", token.at)
        return _path(token.text, token.at)

    def _infix(self, left: Expression, strength: int) -> Expression:
        token = self._take()
        if strength in (_OR, _AND):
            operator = "or" if strength == _OR else "and"
            right = self._expression(strength)
            held = left.operands if isinstance(left, Logic) and left.operator == operator else (left,)
            return Logic(operator, (*held, right))
        if token.word == "is":
            negated = self._skip("not")
            self._expect("set", token)
            return IsSet(left, negated)
        if token.word == "?":
            yes = self._expression(0)
            self._expect(":", token)
            return Choice(left, yes, self._expression(_CHOICE - 1))
        operator = token.word
        if operator == "not":
            word = self._take()
            if word.word not in WORDS:
                raise NotAnExpression("NOT between two values is followed by IN, CONTAINS or MATCHES", word.at)
            operator = f"not {word.word}"
        return Binary(operator, left, self._expression(strength))

    def _list(self, closing: str, opened: _Token) -> tuple[Expression, ...]:
        items: list[Expression] = []
        while not self._skip(closing):
            if items:
                self._expect(",", opened)
            items.append(self._expression(0))
        return tuple(items)

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        if token.kind != "end":
            self._next += 1
        return token

    def _skip(self, word: str) -> bool:
        if self._peek().word == word:
            self._next += 1
            return True
        return False

    def _expect(self, word: str, opened: _Token) -> None:
        if not self._skip(word):
            found = self._peek()
            wanted = word.upper()
            raise NotAnExpression(f"`{wanted}` is missing after `{opened.text}`", found.at)


def _tokens(text: str) -> Iterator[_Token]:
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            place = at + len(text[at:]) - len(text[at:].lstrip())
            sign = text[place]
            if sign in "\"'":
                raise NotAnExpression(f"this quote is never closed; write {sign} after the text", place)
            hint = "; write == to compare" if sign == "=" else ""
            raise NotAnExpression(f"`{sign}` has no place in a condition{hint}", place)
        kind = found.lastgroup or ""
        yield _Token(kind, found[kind], found.start(kind))
        at = found.end()
    yield _Token("end", "", end)


def _number(text: str) -> int | float:
    return int(text) if text.isdecimal() and len(text) <= 18 else float(text)


def _path(text: str, at: int) -> Path:
    segments = tuple(int(found[1]) if found[1] else found[2] for found in _SEGMENT.finditer(text))
    return Path(segments, text, at)
