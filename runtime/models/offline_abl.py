"""The offline model's part of agents written in ABL: what one message says of fields and intents, by rule (DESIGN).

Fields first: an enum, number, boolean, date, email or phone by its pattern; a text whose prompt or description shows
an example with a digit takes the first token of that shape, one that speaks of a number, code, id or pin the first
token with a digit; any other takes the whole message if it was just asked for and the message asks nothing. A value
that is known is replaced only if the message names the field. Then the intent that shares most words with its name
and description, without the words of the fields just filled: at least one, and no tie.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from runtime.models.words import RUN, words
from runtime.values.json import Json
from runtime.values.understanding import KnownIntent, OpenField, Questions, Understood

_TOKEN = re.compile(r"[^\W_]+(?:[-_/.#:][^\W_]+)*")
_PART = re.compile(r"[^\W\d_]+|\d+|.")
_NUMBER = re.compile(r"(?<![\w.,])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w]|[.,]\d|-\d)")
_DATE = re.compile(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?![\w-])")
_DATETIME = re.compile(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?(?![\w-])")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
_PHONE = re.compile(r"(?<!\w)\+?\d(?:[ ()/.-]{0,2}\d){6,14}(?!\w)")
Rule = Literal["pattern", "example", "digit", "whole"]
_RULES: Final[tuple[Rule, ...]] = get_args(Rule)
"""How a text gives a value, the surest first: a token that one rule took is not given to another."""

_COUNTED = frozenset({"number", "code", "id", "pin"})
_YES: Final[Mapping[str, bool]] = {
    "true": True, "yes": True, "yeah": True, "yep": True, "ok": True, "okay": True, "sure": True, "correct": True,
    "false": False, "no": False, "nope": False, "nah": False,
}  # fmt: skip

_PATTERNS: Final[Mapping[str, re.Pattern[str]]] = {
    "date": _DATE,
    "datetime": _DATETIME,
    "date-time": _DATETIME,
    "email": _EMAIL,
    "phone": _PHONE,
    "number": _NUMBER,
    "integer": _NUMBER,
    "float": _NUMBER,
    "currency": _NUMBER,
}


def understand(message: str, questions: Questions, asks: bool) -> Understood:
    """What `message` says; `asks` is whether it is a question."""
    found = _Reading(message, asks)
    for one in sorted(questions.fields, key=lambda one: _RULES.index(_rule_of(one))):
        found.take(one)
    fields = {name: found.given[name] for one in questions.fields if (name := one.name) in found.given}
    left = words(found.text_left())
    return Understood(
        intent=_most_shared(left, questions.intents),
        caller_intent=_most_shared(left, questions.caller_intents),
        fields=fields,
        question=asks,
    )


def names_field(message: str, name: str) -> bool:
    """Whether the message holds a word of the field's name."""
    return bool(words(message) & words(name))


@dataclass(slots=True)
class _Reading:
    """One message while it is read: which of its characters a field has taken, and the values so far."""

    message: str
    asks: bool
    taken: list[tuple[int, int]] = field(default_factory=list)
    given: dict[str, Json] = field(default_factory=dict)

    def take(self, one: OpenField) -> None:
        """Fill a field by its rule; a known one only if the message names it.

        What has the shape of a known field's example belongs to it all the same, and to no other.
        """
        rule, before = _rule_of(one), len(self.taken)
        value = self._by(rule, one)
        if value is None:
            return
        if not one.known or names_field(self.text_left(), one.name):
            self.given[one.name] = value
        elif rule != "example":
            del self.taken[before:]

    def _by(self, rule: Rule, one: OpenField) -> Json:
        match rule:
            case "pattern":
                return self.by_pattern(one)
            case "example":
                return self.by_example(one)
            case "digit":
                return self.by_digit()
            case "whole":
                return self.whole(one)

    def by_pattern(self, one: OpenField) -> Json:
        """An enum's option, a boolean's yes or no, or what looks like a value of the type."""
        if one.options:
            return self._option(one.options)
        if one.type == "boolean":
            return self._yes_or_no(one)
        found = self._first(_PATTERNS[one.type])
        if found is None or _PATTERNS[one.type] is not _NUMBER:
            return found
        digits = found.replace(",", "")
        return float(digits) if "." in digits else int(digits)

    def by_example(self, one: OpenField) -> Json:
        """The first token of the shape that an example in the prompt or description has."""
        shapes = [_shape(token) for token in _with_digit(one.about)]
        return self._first(_TOKEN, lambda token: _shape(token) in shapes)

    def by_digit(self) -> Json:
        """The first token with a digit."""
        return self._first(_TOKEN, lambda token: any(sign.isdigit() for sign in token))

    def whole(self, one: OpenField) -> Json:
        """The whole message, if it answers the question for this field."""
        text = self.message.strip()
        if not one.asked or self.asks or not text:
            return None
        self.taken.append((0, len(self.message)))
        return text

    def text_left(self) -> str:
        """The message without what the fields took."""
        text = self.message
        for start, end in sorted(self.taken, reverse=True):
            text = f"{text[:start]} {text[end:]}"
        return text

    def _first(self, pattern: re.Pattern[str], fits: Callable[[str], bool] = lambda text: True) -> str | None:
        for match in pattern.finditer(self.message):
            start, end = match.span()
            free = all(end <= first or start >= last for first, last in self.taken)
            if free and fits(match[0]):
                self.taken.append((start, end))
                return match[0]
        return None

    def _option(self, options: Sequence[str]) -> str | None:
        """The option that the message names first; of two that begin there, the longer."""
        best: tuple[int, int, str] | None = None
        for option in options:
            spelled = r"[\s_-]+".join(re.escape(run) for run in RUN.findall(option))
            match = re.search(rf"(?<!\w){spelled}(?!\w)", self.message, re.IGNORECASE) if spelled else None
            if match and (best is None or (match.start(), -match.end()) < (best[0], -best[1])):
                best = (match.start(), match.end(), option)
        if best is None:
            return None
        self.taken.append(best[:2])
        return best[2]

    def _yes_or_no(self, one: OpenField) -> bool | None:
        """Yes or no, where that can only answer this field: it was asked for, or the message names it."""
        if not (one.asked or names_field(self.message, one.name)):
            return None
        for run in RUN.finditer(self.message):
            value = _YES.get(run[0].casefold())
            if value is not None:
                self.taken.append(run.span())
                return value
        return None


def _rule_of(one: OpenField) -> Rule:
    """The rule that fills a field, by its type and what is said about it."""
    if one.options or one.type == "boolean" or one.type in _PATTERNS:
        return "pattern"
    if _with_digit(one.about):
        return "example"
    return "digit" if _COUNTED & words(f"{one.about} {one.name}") else "whole"


def _with_digit(text: str) -> list[str]:
    """The tokens of a prompt or description that hold a digit: examples of a value."""
    return [token for token in _TOKEN.findall(text) if any(sign.isdigit() for sign in token)]


def _shape(token: str) -> str:
    """Letters as many, digits as one, signs as they are: `ORD-48213` and `abc-1` are alike."""
    parts = ["9" if part.isdigit() else "a" * len(part) if part.isalpha() else part for part in _PART.findall(token)]
    return "".join(parts)


def _most_shared(spoken: frozenset[str], intents: Sequence[KnownIntent]) -> str | None:
    """The intent that shares most words, at least one; None if two share as many."""
    shared = sorted(((len(spoken & words(f"{one.name} {one.description}")), one.name) for one in intents), reverse=True)
    if not shared or not shared[0][0] or (len(shared) > 1 and shared[1][0] == shared[0][0]):
        return None
    return shared[0][1]
