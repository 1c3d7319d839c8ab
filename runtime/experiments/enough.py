"""Enough: whether a run's answer will do, in the words of `expect`: contains, lacks, matches, equals, calls, json.

Besides: the same answer as `all` gives, and marks made by hand. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from runtime.errors import BadInput
from runtime.expectations import mismatches
from runtime.values.items import AssistantStep
from runtime.values.json import Json, compact
from runtime.values.record import Status, TurnRecord
from runtime.values.seed import Check

Word = Literal["contains", "lacks", "matches", "equals", "calls", "json", "same as all", "by hand"]
"""What a predicate looks at: the answer's text, the name of a tool called, the answer as JSON, the answer of `all`, or
the marks a person made."""

WORDS: tuple[Word, ...] = get_args(Word)

_ALONE: tuple[Word, ...] = ("same as all", "by hand")


@dataclass(frozen=True, slots=True)
class Predicate:
    """One thing that must hold of a run. `value` is empty for `same as all` and `by hand`.

    Texts are contained and equal without regard to case; `equals` folds white space too; `matches` is a regular
    expression that is found somewhere in the answer; `calls` names a tool that the turn called; `json` is the JSON
    value that the answer must be equal to, whatever the order of its keys.
    """

    word: Word
    value: str = ""

    def __str__(self) -> str:
        """As it is read: `contains: 5th`, `same as all`."""
        return self.word if self.word in _ALONE else f"{self.word}: {self.value}"


SAME_AS_ALL = Predicate("same as all")
BY_HAND = Predicate("by hand")


@dataclass(frozen=True, slots=True)
class Enough:
    """What is enough: every predicate holds of a run, in at least `at_least` of the repeats (None: in all of them)."""

    predicates: tuple[Predicate, ...] = (SAME_AS_ALL,)
    at_least: int | None = None

    def __str__(self) -> str:
        said = " and ".join(map(str, self.predicates))
        return said if self.at_least is None else f"{said}, in {self.at_least} or more of the repeats"

    def needed(self, repeats: int) -> int:
        """In how many of `repeats` runs the predicates must hold."""
        return repeats if self.at_least is None else min(self.at_least, repeats)


@dataclass(frozen=True, slots=True)
class Said:
    """What a predicate looks at of a run: how it ended, its answer, the names of the tools it called, in order."""

    turn: str
    status: Status
    answer: str | None
    calls: tuple[str, ...] = ()


Marks: TypeAlias = Mapping[str, bool]
"""What a person said of runs, by turn id: enough or not. A run that is not marked is not judged."""


def read_predicate(text: str) -> Predicate:
    """The predicate that `text` means: `contains: 5th`, `calls: find-notes`, `json: {"due": 5}`, `same as all`.

    One pair of quotes around a value is taken off. Raises BadInput that says which words there are.
    """
    folded = " ".join(text.casefold().replace("-", " ").split())
    if folded in _ALONE:
        return Predicate(next(word for word in _ALONE if word == folded))
    name, colon, value = text.partition(":")
    word = next((one for one in WORDS if one == name.strip().casefold()), None)
    if not colon or word is None or word in _ALONE:
        known = ", ".join(f"{one}: ..." for one in WORDS if one not in _ALONE)
        raise BadInput(f"{text!r} is no predicate; give {known}, same as all, or by hand", field="enough")
    value = value.strip() if word == "json" else _unquoted(value.strip())
    if not value.strip():
        raise BadInput(f"{word}: needs a value", field="enough")
    _check_value(word, value)
    return Predicate(word, value)


def read_enough(texts: Sequence[str], *, at_least: int | None = None) -> Enough:
    """All of the predicates together; without any, the same answer as `all`. Raises BadInput."""
    if at_least is not None and at_least < 1:
        raise BadInput(f"at least 1 of the repeats has to pass, not {at_least}", field="at least")
    return Enough(tuple(map(read_predicate, texts)) or (SAME_AS_ALL,), at_least)


def said_of(record: TurnRecord) -> Said:
    """What predicates look at of a record; the calls of delegated turns are not the turn's own."""
    calls = tuple(call.name for item in record.transcript if isinstance(item, AssistantStep) for call in item.calls)
    return Said(record.turn, record.status, record.answer, calls)


def passes(
    what: Enough | Predicate, run: TurnRecord | Said, of_all: str | None = None, marks: Marks | None = None
) -> bool | None:
    """Whether every predicate holds of a run; a turn that did not complete never passes.

    `of_all` is the answer that `all` gave, None if it gave none (nothing is the same as that). None is returned for a
    run that is to be marked by hand and is not.
    """
    said = said_of(run) if isinstance(run, TurnRecord) else run
    predicates = what.predicates if isinstance(what, Enough) else (what,)
    verdicts = [_holds(one, said, of_all, marks or {}) for one in predicates]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def folded(answer: str) -> str:
    """What two equal answers have in common: casefolded, white space folded."""
    return " ".join(answer.casefold().split())


def _holds(predicate: Predicate, said: Said, of_all: str | None, marks: Marks) -> bool | None:
    if predicate.word == "by hand":
        return marks.get(said.turn)
    if said.status != "completed" or said.answer is None:
        return False
    value, answer = predicate.value, said.answer
    match predicate.word:
        case "contains":
            return not mismatches(Check(contains=(value,)), answer, "")
        case "lacks":
            return not mismatches(Check(lacks=(value,)), answer, "")
        case "matches":
            return not mismatches(Check(matches=value), answer, "")
        case "equals":
            return folded(value) == folded(answer)
        case "calls":
            return value in said.calls
        case "json":
            return _is_json(answer, value)
        case "same as all":
            return of_all is not None and folded(of_all) == folded(answer)


_FENCED = re.compile(r"\s*```[a-z]*\s*\n(.*)\n\s*```\s*\Z", re.DOTALL | re.IGNORECASE)


def _is_json(answer: str, wanted: str) -> bool:
    """Whether the answer, or what its one code fence holds, is the JSON value wanted."""
    fenced = _FENCED.match(answer)
    try:
        return _canonical(json.loads(fenced[1] if fenced else answer)) == _canonical(json.loads(wanted))
    except (ValueError, RecursionError):
        return False


def _canonical(value: Json) -> Json:
    """A value that is equal where JSON is: 1 and 1.0 are one number, true is none."""
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, Mapping):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return ["list", *map(_canonical, value)]
    return value


def _check_value(word: Word, value: str) -> None:
    if word == "matches":
        try:
            re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            raise BadInput(f"{value!r} is no regular expression: {error}", field="enough") from None
    if word == "json":
        try:
            compact(json.loads(value))
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{value!r} is no JSON: {error}", field="enough") from None


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
