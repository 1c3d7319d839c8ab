"""Which route is taken: conditions in their turn, and what travels with a handoff (H9, H10, H15)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runtime.abl.assignments import assign
from runtime.abl.conditions import evaluate
from runtime.abl.project import AgentSource, Completion, Route
from runtime.abl.scope import UNDEFINED, look_up
from runtime.abl.templates import render
from runtime.handoff.events import Carried, Refusal
from runtime.handoff.notes import Notes
from runtime.values.json import Json, JsonObject

MOST_HANDOFFS = 10
"""Handoffs for one customer message (H10)."""

_KNOWN = frozenset({"input", "intent", "session", "user", "_meta", "human", "recent_input"})


@dataclass(frozen=True, slots=True)
class Tried:
    """A route with a condition, asked: whether it holds; `names` it asked for that nobody declares; why it failed."""

    route: Route
    holds: bool
    names: tuple[str, ...] = ()
    error: str = ""


def tried(source: AgentSource, scope: JsonObject) -> Iterator[Tried]:
    """The routes that are not prose, in PRIORITY then file order, each asked when its turn comes (H15)."""
    for route in source.routes_in_turn:
        if route.when.kind == "prose":
            continue
        condition = route.when.condition
        if condition is None:
            yield Tried(route, True)
            continue
        outcome = evaluate(condition, scope)
        strange = tuple(name for name in outcome.unresolved if not _declared(name, source))
        yield Tried(route, outcome.holds, strange, outcome.error or "")


def completion(source: AgentSource, scope: JsonObject) -> Completion | None:
    """The first COMPLETE entry that holds."""
    for one in source.completions:
        if one.when.kind == "always" or (one.when.condition and evaluate(one.when.condition, scope).holds):
            return one
    return None


def scope_of(values: JsonObject, message: str) -> dict[str, Json]:
    """What conditions and templates of an agent see."""
    return {**values, "input": message}


def carry(route: Route, values: JsonObject, notes: Notes, scope: JsonObject) -> Carried:
    """What travels toward the target: PASS and SET, and the filled-in SUMMARY; an unset field is skipped (H9)."""
    passed: dict[str, Json] = {}
    skipped: list[str] = []
    for name in route.passes:
        value = look_up(tuple(name.split(".")), values)
        if value is UNDEFINED or value is None:
            skipped.append(name)
        else:
            passed[name] = value
    assigned = assign(route.assignments, scope)
    summary = render(route.summary, scope).strip() if route.has_summary else ""
    kept_back = tuple(name for name in notes.gathered() if name not in passed and name not in assigned)
    return Carried(passed, assigned, summary, tuple(skipped), kept_back)


def refusal(
    route_to: str,
    remote: bool,
    *,
    caller: str,
    agents: Mapping[str, AgentSource],
    waiting: Mapping[str, str],
    handed: int,
) -> tuple[Refusal, str] | None:
    """Why a handoff is refused, as a word and a sentence; None if it is not (H10).

    `waiting` are the agents that wait above the caller for the conversation to come back, by name; `handed` counts
    the handoffs that the customer's message has led to.
    """
    if route_to == caller:
        return "self", f"{caller} cannot hand off to itself"
    if not remote and route_to not in agents:
        return "undeclared", f"no agent of this project is named {route_to}"
    if not remote and route_to in waiting:
        return "circle", f"{route_to} is itself waiting for the conversation to come back"
    if handed >= MOST_HANDOFFS:
        return "too-many", f"one customer message leads to at most {MOST_HANDOFFS} handoffs"
    return None


def _declared(name: str, source: AgentSource) -> bool:
    """Whether a name is one that can have a value here, though it has none now."""
    first = name.replace("[", ".").split(".")[0]
    names = [*(one.name for one in source.fields), *(one.name for one in source.memory)]
    declared = {one.split(".")[0] for one in names}
    return first in declared or first in _KNOWN or first.startswith("handoff_")
