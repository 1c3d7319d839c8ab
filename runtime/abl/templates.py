"""`{{path}}` in answers, summaries and prompts: values, `#if`, `#each`, filters. What has no value renders empty.

A value is put in as it is: braces inside it mean nothing, so nobody can write a template into an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, TypeAlias

from runtime.abl.conditions import value_of
from runtime.abl.expressions import Expression, NotAnExpression, parse, paths
from runtime.abl.scope import UNDEFINED, Scope, Value, text, truthy
from runtime.values.json import compact

LONGEST: Final = 100_000
"""Characters that one rendering gives at most; the rest is cut."""

NESTING: Final = 16

_OPEN = re.compile(r"\{\{([^{}]*)\}\}")
_TAG = re.compile(r"#(if|each)\s+(.+)\Z|/(if|each)\Z|(else)\Z", re.DOTALL)
_FILTER = re.compile(r"(?<!\|)\|(?!\|)")


class NotATemplate(Exception):
    """A template that does not parse. `at` is the place in the text, from 0."""

    def __init__(self, problem: str, at: int) -> None:
        self.problem, self.at = problem, at
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Insert:
    """`{{expression | filter}}`."""

    expression: Expression
    filters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """`{{#if x}}...{{else}}...{{/if}}` or `{{#each xs}}...{{/each}}`."""

    kind: str
    subject: Expression
    body: tuple[Piece, ...]
    otherwise: tuple[Piece, ...] = ()


Piece: TypeAlias = "str | Insert | Block"


@lru_cache(maxsize=2048)
def read_template(source: str) -> tuple[Piece, ...]:
    """The pieces of a template. Raises NotATemplate for a block that is never closed or closed twice.

    Braces with something inside that is no expression are an empty value, as the language has it.
    """
    reader = _Reader(source)
    pieces, ended = reader.pieces(0)
    if ended:
        raise NotATemplate(f"{{{{/{ended}}}}} closes nothing", reader.at)
    return pieces


def render(source: str, scope: Scope, *, now: datetime | None = None) -> str:
    """The template filled in from `scope`; a damaged one is filled in as far as its plain braces go.

    `now` is what `ago` counts from (aware; None: the clock).
    """
    if "{{" not in source:
        return source
    try:
        pieces = read_template(source)
    except NotATemplate:
        return _OPEN.sub(lambda found: text(_plain(found[1], scope)), source)[:LONGEST]
    out = _Output(now or datetime.now(UTC))
    out.write(pieces, scope)
    return "".join(out.parts)


def names(source: str) -> tuple[str, ...]:
    """The paths that the template asks for, in order, each once. Raises NotATemplate."""
    return tuple(dict.fromkeys(_names(read_template(source))))


def _names(pieces: tuple[Piece, ...]) -> Iterator[str]:
    for piece in pieces:
        if isinstance(piece, Insert):
            yield from (path.text for path in paths(piece.expression))
        elif isinstance(piece, Block):
            yield from (path.text for path in paths(piece.subject))
            yield from _names(piece.body)
            yield from _names(piece.otherwise)


class _Reader:
    """One template on its way to pieces: the braces found, and how far it is."""

    def __init__(self, source: str) -> None:
        self.source, self.at = source, 0
        self._found = list(_OPEN.finditer(source))
        self._next = 0

    def pieces(self, depth: int) -> tuple[tuple[Piece, ...], str]:
        """The pieces up to the tag that ends them, and that tag's word (`if`, `each`, `else`, nothing at the end)."""
        if depth > NESTING:
            raise NotATemplate(f"more than {NESTING} blocks inside one another", self.at)
        pieces: list[Piece] = []
        while self._next < len(self._found):
            found = self._found[self._next]
            self._next += 1
            if found.start() > self.at:
                pieces.append(self.source[self.at : found.start()])
            self.at = found.end()
            tag = _TAG.match(found[1].strip())
            if tag is None:
                pieces.append(_value(found[1]))
            elif tag[1]:
                pieces.append(self._block(tag[1], tag[2], found.start(), depth))
            else:
                return tuple(pieces), tag[3] or tag[4]
        if self.at < len(self.source):
            pieces.append(self.source[self.at :])
            self.at = len(self.source)
        return tuple(pieces), ""

    def _block(self, kind: str, subject: str, start: int, depth: int) -> Piece:
        try:
            expression = parse(subject)
        except NotAnExpression as problem:
            raise NotATemplate(f"{{{{#{kind}}}}} needs a name or a condition: {problem.problem}", start) from None
        body, ended = self.pieces(depth + 1)
        otherwise: tuple[Piece, ...] = ()
        if ended == "else":
            otherwise, ended = self.pieces(depth + 1)
        if ended != kind:
            raise NotATemplate(f"{{{{#{kind}}}}} is never closed; write {{{{/{kind}}}}} after it", start)
        return Block(kind, expression, body, otherwise)


class _Output:
    """What is rendered so far, and how much room is left."""

    def __init__(self, now: datetime) -> None:
        self.parts: list[str] = []
        self._now, self._room, self._work = now, LONGEST, LONGEST

    def write(self, pieces: tuple[Piece, ...], scope: Scope) -> None:
        for piece in pieces:
            self._work -= 1
            if self._room <= 0 or self._work <= 0:
                return
            if isinstance(piece, str):
                self._put(piece)
            elif isinstance(piece, Insert):
                self._put(_filtered(value_of(piece.expression, scope), piece.filters, self._now))
            else:
                self._block(piece, scope)

    def _put(self, piece: str) -> None:
        self.parts.append(piece[: self._room])
        self._room -= len(piece)

    def _block(self, block: Block, scope: Scope) -> None:
        subject = value_of(block.subject, scope)
        if block.kind == "if":
            self.write(block.body if truthy(subject) else block.otherwise, scope)
            return
        items = subject if isinstance(subject, list | tuple) else ()
        for index, item in enumerate(items):
            if self._room <= 0 or self._work <= 0:
                return
            self._work -= 1
            self.write(block.body, {**scope, "this": item, "index": index})
        if not items:
            self.write(block.otherwise, scope)


def _value(source: str) -> Piece:
    head, *filters = _FILTER.split(source)
    try:
        expression = parse(head)
    except NotAnExpression:
        return ""
    return Insert(expression, tuple(one.strip().lower() for one in filters))


def _plain(source: str, scope: Scope) -> Value:
    piece = _value(source)
    return value_of(piece.expression, scope) if isinstance(piece, Insert) and not piece.filters else UNDEFINED


def _filtered(value: Value, filters: tuple[str, ...], now: datetime) -> str:
    for name in filters:
        if value is UNDEFINED:
            return ""
        if name in ("json", "tojson"):
            value = compact(value)
        elif name == "upper":
            value = text(value).upper()
        elif name == "lower":
            value = text(value).lower()
        elif name == "ago":
            value = _ago(text(value), now)
        else:
            return ""
    return text(value)


_AGES: Final[Mapping[str, int]] = {"day": 86_400, "hour": 3_600, "minute": 60}


def _ago(written: str, now: datetime) -> str:
    """An ISO time as an age in words: `3 hours ago`; empty if it is no time."""
    try:
        then = datetime.fromisoformat(written)
    except ValueError:
        return ""
    seconds = int((now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds())
    if seconds < 60:
        return "just now"
    name, size = next((name, size) for name, size in _AGES.items() if seconds >= size)
    count = seconds // size
    return f"{count} {name}{'' if count == 1 else 's'} ago"
