"""GATHER: which field is asked for, and which of what the customer said becomes a value (H14, H15)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Final

from runtime.abl.patterns import NotAPattern, compile_pattern
from runtime.abl.project import AgentSource, Field, Rule
from runtime.abl.scope import as_number, text, tidy
from runtime.abl.templates import render
from runtime.handoff.notes import Notes
from runtime.handoff.strategy import Place
from runtime.values.json import Json, JsonObject
from runtime.values.understanding import KnownIntent, OpenField, Questions, Understood

_EMAIL = re.compile(r"[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+")
_YES: Final = frozenset({"true", "yes", "y", "1", "on"})
_NO: Final = frozenset({"false", "no", "n", "0", "off"})
_NUMBERS: Final = frozenset({"number", "integer", "float", "currency"})


class NotAValue(Exception):
    """What was said does not fit the field; the text says why, without the value."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What a message changed: `values` by field, the `refused` ones with the reason, and the notes after it.

    `answered` says that the field just asked for got a value.
    """

    values: Mapping[str, Json] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    answered: bool = False


def questions(source: AgentSource, values: JsonObject, notes: Notes, caller: AgentSource | None) -> Questions:
    """What the model is asked about one message; `caller` is whom the agent can give the conversation back to."""
    return Questions(
        tuple(
            OpenField(
                one.name,
                one.type,
                " ".join(" ".join((one.prompt, one.description)).split()),
                one.options,
                known=is_set(one.name, values) and notes.givers.get(one.name) != "default",
                asked=one.name == notes.asked,
            )
            for one in source.fields
        ),
        intents_of(source),
        intents_of(caller) if caller is not None else (),
    )


def intents_of(source: AgentSource) -> tuple[KnownIntent, ...]:
    """The INTENTS of an agent."""
    return tuple(KnownIntent(one.name, one.description) for one in source.intents)


def fill(source: AgentSource, notes: Notes, said: Understood, place: Place | None) -> Filled:
    """The fields that a message fills. `place` is where its row was first stored.

    A value that does not fit its field is refused; that of a sensitive field is a secret all the same (Q3).
    """
    found: dict[str, Json] = {}
    refused: dict[str, str] = {}
    for one in source.fields:
        raw = said.fields.get(one.name)
        if raw is None or (isinstance(raw, str) and not raw.strip()):
            continue
        if one.sensitive:
            notes = notes.told(one.name, raw, place)
        try:
            found[one.name] = read_value(one, raw)
        except NotAValue as problem:
            refused[one.name] = str(problem)
            continue
        if one.sensitive:
            notes = notes.told(one.name, found[one.name], place)
    answered = notes.asked in found
    notes = replace(notes.given(found, "customer"), asked="" if answered else notes.asked)
    return Filled(found, refused, notes, answered)


def open_field(source: AgentSource, values: JsonObject) -> Field | None:
    """The first required field without a value: the one to ask for."""
    return next((one for one in source.fields if one.required and not is_set(one.name, values)), None)


def prompt_of(one: Field, scope: JsonObject, *, again: bool) -> str:
    """The words that ask for a field; `again` after an answer that could not be used."""
    written = (one.retry_prompt if again else "") or one.prompt
    return render(written, scope) if written.strip() else f"Please tell me: {one.name.replace('_', ' ')}."


def is_set(name: str, values: JsonObject) -> bool:
    """Whether the field has a value; an empty text is one."""
    return values.get(name) is not None


def read_value(one: Field, raw: Json) -> Json:
    """What was said as a value of the field's type that keeps its rules. Raises NotAValue."""
    value = _typed(one, raw)
    for rule in one.rules:
        _keep(rule, value)
    return value


def _typed(one: Field, raw: Json) -> Json:
    if one.type == "enum" or (one.options and one.type == "string"):
        return _option(one, raw)
    if one.type in _NUMBERS:
        number = as_number(text(raw).replace(",", ""))
        if number != number or (one.type == "integer" and not number.is_integer()):
            raise NotAValue("is no whole number" if one.type == "integer" else "is no number")
        return tidy(number)
    if one.type == "boolean":
        word = text(raw).strip().casefold()
        if word not in _YES | _NO:
            raise NotAValue("is neither yes nor no")
        return word in _YES
    return _checked_text(one.type, text(raw).strip())


def _checked_text(kind: str, value: str) -> str:
    if kind == "date":
        _parsed(date.fromisoformat, value, "is no date; write it as 2026-01-31")
    elif kind == "datetime":
        _parsed(datetime.fromisoformat, value, "is no time; write it as 2026-01-31T09:00")
    elif kind == "email" and not _EMAIL.fullmatch(value):
        raise NotAValue("is no e-mail address")
    elif kind == "phone" and not 7 <= sum(sign.isdigit() for sign in value) <= 15:
        raise NotAValue("is no phone number")
    return value


def _parsed(read: Callable[[str], object], value: str, problem: str) -> None:
    try:
        read(value)
    except ValueError:
        raise NotAValue(problem) from None


def _option(one: Field, raw: Json) -> str:
    said = text(raw).strip().casefold()
    for option in one.options:
        if option.casefold() == said:
            return option
    if one.options:
        raise NotAValue("is none of " + ", ".join(one.options))
    return text(raw).strip()


def _keep(rule: Rule, value: Json) -> None:
    """Raises NotAValue if the value breaks the rule: bounds are of a number, or of the length of a text."""
    said = text(value)
    if rule.kind in ("min", "max"):
        bound = as_number(rule.arguments[0])
        size = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float(len(said))
        if size < bound if rule.kind == "min" else size > bound:
            raise NotAValue(f"is {'below' if rule.kind == 'min' else 'above'} {rule.arguments[0]}")
    elif rule.kind == "enum":
        if said.casefold() not in {one.casefold() for one in rule.arguments}:
            raise NotAValue("is none of " + ", ".join(rule.arguments))
    elif rule.kind == "email":
        if not _EMAIL.fullmatch(said):
            raise NotAValue("is no e-mail address")
    elif not _matches(rule.arguments[0], said):
        raise NotAValue("does not have the form that is asked for")


def _matches(pattern: str, said: str) -> bool:
    try:
        return compile_pattern(pattern).found_in(said)
    except NotAPattern:
        return False
