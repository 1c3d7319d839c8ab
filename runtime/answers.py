"""Two answers word by word: what both say, what one of them alone says (X5). Pure, and bounded in its work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words: in both answers (`=`), only in the first (`A`) or only in the second (`B`)."""

    sign: Literal["=", "A", "B"]
    text: str


_WORDS = re.compile(r"\s+|\w+|[^\w\s]")

MOST_WORK = 40_000_000
"""Words of one answer times words of the other up to which they are compared by word; beyond it by line."""


def words(a: str, b: str) -> tuple[Piece, ...]:
    """Two answers word by word: white space and signs are words of their own. Joined, A's pieces are `a`, B's `b`."""
    if a == b:
        return (Piece("=", a),) if a else ()
    one, other = _WORDS.findall(a), _WORDS.findall(b)
    front = _common(one, other)
    back = _common(one[front:][::-1], other[front:][::-1])
    middle_a, middle_b = one[front : len(one) - back], other[front : len(other) - back]
    start, end = "".join(one[:front]), "".join(one[len(one) - back :])
    return _joined([("=", start), *_opcodes(middle_a, middle_b), ("=", end)])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _opcodes(one: list[str], other: list[str]) -> list[tuple[Literal["=", "A", "B"], str]]:
    from rapidfuzz.distance import Indel

    if len(one) * len(other) > MOST_WORK:
        one, other = "".join(one).splitlines(keepends=True), "".join(other).splitlines(keepends=True)
    if len(one) * len(other) > MOST_WORK:
        return [("A", "".join(one)), ("B", "".join(other))]
    found: list[tuple[Literal["=", "A", "B"], str]] = []
    for code in Indel.opcodes(one, other):
        if code.tag == "equal":
            found.append(("=", "".join(one[code.src_start : code.src_end])))
        else:
            found.append(("A", "".join(one[code.src_start : code.src_end])))
            found.append(("B", "".join(other[code.dest_start : code.dest_end])))
    return found


def _joined(pieces: Iterable[tuple[Literal["=", "A", "B"], str]]) -> tuple[Piece, ...]:
    """Pieces without the empty ones; between two common runs what only A has stands before what only B has.

    White space that is common between two changes belongs to both, so that a changed phrase reads as one.
    """
    found: list[Piece] = []
    lost = {"A": "", "B": ""}
    blank = ""
    for sign, text in pieces:
        if not text:
            continue
        if sign != "=":
            lost["A"], lost["B"] = lost["A"] + blank, lost["B"] + blank
            lost[sign] += text
            blank = ""
        elif text.isspace() and not blank and any(lost.values()):
            blank = text
        else:
            found += _let_go(lost, blank + text)
            blank = ""
    return tuple(found + _let_go(lost, blank))


def _let_go(lost: dict[str, str], common: str) -> list[Piece]:
    """The changes gathered so far, then what is common after them."""
    pieces = [Piece(sign, lost[sign]) for sign in _SIDES if lost[sign]]
    lost.update(A="", B="")
    return [*pieces, Piece("=", common)] if common else pieces


_SIDES: tuple[Literal["A", "B"], ...] = ("A", "B")
