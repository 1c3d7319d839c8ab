"""Regular expressions that cannot run away: a pattern becomes states, and a text is read once, character by character.

The syntax is what patterns in agent files use: literals, `.`, classes, `\\d \\w \\s \\b` and their opposites, groups,
alternatives, `* + ? {m,n}`, `^` and `$`. Looking around and back references are refused, as they cannot be bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MOST_STATES: Final = 2000
MOST_WORK: Final = 1_000_000
"""States visited while one text is read; a pattern that needs more gives up with NotAPattern."""

_NESTING: Final = 32
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}


class NotAPattern(Exception):
    """The pattern cannot be used; the text says why."""


_Test = Callable[[str], bool]
_At = Callable[[str, int], bool]


@dataclass(slots=True)
class _State:
    """A test of one character, an assertion about a place, or a fork (neither); `after` are the next states."""

    test: _Test | None = None
    at: _At | None = None
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern."""

    states: tuple[_State, ...]
    start: int
    fold: bool

    def found_in(self, text: str) -> bool:
        """Whether the pattern matches somewhere in `text`. Raises NotAPattern if that would take too much work."""
        subject, work = text, 0
        current: set[int] = set()
        for place in range(len(subject) + 1):
            reached = self._closure({*current, self.start}, subject, place)
            if len(self.states) - 1 in reached:
                return True
            work += len(reached)
            if work > MOST_WORK:
                raise NotAPattern("the pattern takes too much work on this text")
            if place < len(subject):
                current = self._step(reached, subject[place])
        return False

    def _step(self, reached: set[int], sign: str) -> set[int]:
        following: set[int] = set()
        for index in reached:
            state = self.states[index]
            test = state.test
            if test is not None and (test(sign) or (self.fold and test(sign.swapcase()))):
                following.update(state.after)
        return following

    def _closure(self, start: set[int], subject: str, place: int) -> set[int]:
        reached: set[int] = set()
        waiting = list(start)
        while waiting:
            index = waiting.pop()
            if index in reached:
                continue
            reached.add(index)
            state = self.states[index]
            if state.test is None and (state.at is None or state.at(subject, place)):
                waiting.extend(state.after)
        return reached


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> Pattern:
    """The pattern ready to use. Raises NotAPattern if it is damaged, too large, or looks around or back."""
    fold = pattern.startswith("(?i)")
    reader = _Reader(pattern[4:] if fold else pattern, fold)
    start, ends = reader.alternatives(0)
    if reader.left():
        raise NotAPattern("a closing parenthesis has no opening one")
    final = reader.new(_State())
    reader.join(ends, final)
    return Pattern(tuple(reader.states), start, fold)


_Piece = tuple[int, tuple[int, ...]]
"""The state where a piece begins, and the states whose way out is still open."""


class _Reader:
    """One pattern on its way to states: the text, where it is, what is built."""

    def __init__(self, source: str, fold: bool) -> None:
        if len(source) > MOST_STATES:
            raise NotAPattern(f"a pattern has at most {MOST_STATES} characters")
        self.source, self.fold, self.place, self.states = source, fold, 0, list[_State]()

    def left(self) -> bool:
        return self.place < len(self.source)

    def new(self, state: _State) -> int:
        if len(self.states) >= MOST_STATES:
            raise NotAPattern("the pattern is too large; repeat less")
        self.states.append(state)
        return len(self.states) - 1

    def join(self, ends: tuple[int, ...], target: int) -> None:
        for end in ends:
            self.states[end].after = (*self.states[end].after, target)

    def alternatives(self, depth: int) -> _Piece:
        if depth > _NESTING:
            raise NotAPattern(f"more than {_NESTING} groups inside one another")
        branches = [self._sequence(depth)]
        while self._skip("|"):
            branches.append(self._sequence(depth))
        if len(branches) == 1:
            return branches[0]
        fork = self.new(_State(after=tuple(start for start, _ in branches)))
        return fork, tuple(end for _, ends in branches for end in ends)

    def _sequence(self, depth: int) -> _Piece:
        start = self.new(_State())
        ends: tuple[int, ...] = (start,)
        while self.left() and self.source[self.place] not in "|)":
            begin = self.place
            piece = self._atom(depth)
            low, high = self._quantifier()
            if (low, high) == (1, 1):
                self.join(ends, piece[0])
                ends = piece[1]
            else:
                ends = self._repeat(ends, piece, begin, low, high, depth)
        return start, ends

    def _repeat(
        self, ends: tuple[int, ...], first: _Piece, begin: int, low: int, high: int | None, depth: int
    ) -> tuple[int, ...]:
        """`first`, which was read at `begin`, `low` to `high` times; more copies are made by reading it again."""
        after, skipped = self.place, tuple[int, ...]()
        copies = max(low, 1) if high is None else high
        for count in range(copies):
            piece = first if count == 0 else self._copy(begin, depth)
            gate = self.new(_State(after=(piece[0],)))
            self.join(ends, gate)
            if count >= low:
                skipped = (*skipped, gate)
            ends = piece[1]
            if high is None and count == copies - 1:
                back = self.new(_State(after=(piece[0],)))
                self.join(ends, back)
                ends = (back,)
        self.place = after
        return (*ends, *skipped)

    def _copy(self, begin: int, depth: int) -> _Piece:
        self.place = begin
        return self._atom(depth)

    def _quantifier(self) -> tuple[int, int | None]:
        """(low, high) of the quantifier here, (1, 1) if there is none; a lazy mark changes nothing."""
        bounds: tuple[int, int | None] = (1, 1)
        if self._skip("*"):
            bounds = (0, None)
        elif self._skip("+"):
            bounds = (1, None)
        elif self._skip("?"):
            bounds = (0, 1)
        elif self._peek() == "{":
            bounds = self._counted()
        else:
            return bounds
        self._skip("?")
        if self._peek() in ("*", "+", "?"):
            raise NotAPattern("two quantifiers stand one after the other")
        return bounds

    def _counted(self) -> tuple[int, int | None]:
        close = self.source.find("}", self.place)
        low, comma, high = self.source[self.place + 1 : max(close, 0)].partition(",")
        if close < 0 or not low.isdecimal() or (high and not high.isdecimal()) or len(low + high) > 8:
            raise NotAPattern("a brace is a count such as {2,5}; write \\{ for the sign")
        self.place = close + 1
        least = int(low)
        most = None if comma and not high else int(high or low)
        if most is not None and (most < least or most > MOST_STATES):
            raise NotAPattern("the count in braces is too large or upside down")
        if least > MOST_STATES:
            raise NotAPattern("the count in braces is too large")
        return least, most

    def _atom(self, depth: int) -> _Piece:
        sign = self._take()
        if sign == "(":
            return self._group(depth)
        if sign == "[":
            return self._one(self._class())
        if sign == ".":
            return self._one(lambda one: one != "\n")
        if sign == "^":
            return self._place(lambda subject, place: place == 0)
        if sign == "$":
            return self._place(lambda subject, place: place == len(subject))
        if sign == "\\":
            return self._escaped()
        if sign in "*+?{":
            raise NotAPattern(f"`{sign}` has nothing to repeat")
        return self._one(_is(sign))

    def _group(self, depth: int) -> _Piece:
        if self._skip("?") and not self._skip(":"):
            name_end = self.source.find(">", self.place)
            named = self._skip("<") or (self._skip("P") and self._skip("<"))
            if not named or self._peek() in ("=", "!") or name_end < 0:
                raise NotAPattern("looking around is not supported")
            self.place = name_end + 1
        piece = self.alternatives(depth + 1)
        if not self._skip(")"):
            raise NotAPattern("a parenthesis is never closed")
        return piece

    def _escaped(self) -> _Piece:
        sign = self._take()
        if sign in ("b", "B"):
            return self._place(_at_word_edge if sign == "b" else lambda subject, at: not _at_word_edge(subject, at))
        if sign.isdigit() and sign != "0":
            raise NotAPattern("back references are not supported")
        return self._one(_SETS.get(sign) or _is(self._literal(sign)))

    def _literal(self, sign: str) -> str:
        """The character that an escape stands for; `\\xHH` and `\\uHHHH` are read on."""
        width = {"x": 2, "u": 4}.get(sign)
        digits = self.source[self.place : self.place + width] if width else ""
        if width and len(digits) == width and all(one in "0123456789abcdefABCDEF" for one in digits):
            self.place += width
            return chr(int(digits, 16))
        return _ESCAPES.get(sign, sign)

    def _class(self) -> _Test:
        inverse = self._skip("^")
        tests: list[_Test] = []
        while (sign := self._take()) != "]" or not tests:
            low = self._class_item(sign)
            if isinstance(low, str) and self._peek() == "-" and self.source[self.place + 1 : self.place + 2] != "]":
                self.place += 1
                high = self._class_item(self._take())
                if not isinstance(high, str) or high < low:
                    raise NotAPattern("a range in brackets is upside down")
                tests.append(_between(low, high))
            else:
                tests.append(_is(low) if isinstance(low, str) else low)
        held, fold = tuple(tests), self.fold

        def inside(one: str) -> bool:
            return any(test(one) or (fold and test(one.swapcase())) for test in held)

        return (lambda one: not inside(one)) if inverse else inside

    def _class_item(self, sign: str) -> str | _Test:
        if sign != "\\":
            return sign
        escaped = self._take()
        if escaped == "b":
            return "\b"
        return _SETS.get(escaped) or self._literal(escaped)

    def _one(self, test: _Test) -> _Piece:
        state = self.new(_State(test=test))
        return state, (state,)

    def _place(self, at: _At) -> _Piece:
        state = self.new(_State(at=at))
        return state, (state,)

    def _peek(self) -> str:
        return self.source[self.place] if self.left() else ""

    def _take(self) -> str:
        if not self.left():
            raise NotAPattern("the pattern ends too early")
        self.place += 1
        return self.source[self.place - 1]

    def _skip(self, sign: str) -> bool:
        if self.source.startswith(sign, self.place):
            self.place += len(sign)
            return True
        return False


def _is(sign: str) -> _Test:
    return lambda one: one == sign


def _between(low: str, high: str) -> _Test:
    return lambda one: low <= one <= high


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _at_word_edge(subject: str, place: int) -> bool:
    before = place > 0 and _is_word(subject[place - 1])
    after = place < len(subject) and _is_word(subject[place])
    return before != after


def _is_digit(sign: str) -> bool:
    return sign in "0123456789"


_SETS: Final[dict[str, _Test]] = {
    "d": _is_digit, "D": lambda one: not _is_digit(one),
    "w": _is_word, "W": lambda one: not _is_word(one),
    "s": str.isspace, "S": lambda one: not one.isspace(),
}  # fmt: skip
