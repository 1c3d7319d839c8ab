"""Which values the customer gave before a handoff, and by which line of the project they reach the target (H2, H9)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.abl.project import Project, Route
from runtime.abl.scope import text
from runtime.handoff.events import Carried
from runtime.handoff.masking import Mask
from runtime.handoff.notes import Secret, notes_of, values_of
from runtime.values.json import Json, JsonObject
from runtime.values.messages import Message, Row
from studio_tui.views.handed import Gathered, Joined

SHORTEST = 3
"""Letters of a value below which it is not looked for in messages: `no` stands everywhere."""


@dataclass(frozen=True, slots=True)
class Knower:
    """A thread that may have gathered something: its agent and its state."""

    agent: str
    state: JsonObject


@dataclass(frozen=True, slots=True)
class Reached:
    """What the target got: the caller's copied rows, the children's, the values, and the lines that sent these."""

    rows: Sequence[Row]
    joined: Sequence[Joined]
    carried: Carried
    lines: Mapping[str, str]


def gathered(knowers: Sequence[Knower], reached: Reached, project: Project, mask: Mask) -> tuple[Gathered, ...]:
    """The values that the customer gave to `knowers`, each once, with how each reached the target, if at all."""
    found: dict[tuple[str, str], Gathered] = {}
    for knower in knowers:
        source = project.agents.get(knower.agent)
        values = values_of(knower.state)
        for name in notes_of(knower.state).gathered():
            field = source.field(name) if source is not None else None
            value = values.get(name)
            if value is None or (name, text(value)) in found:
                continue
            sensitive = field is not None and field.sensitive
            found[name, text(value)] = Gathered(
                name,
                f"[sensitive: {name}]" if sensitive else mask.text(text(value)),
                knower.agent,
                f"{field.file}:{field.line}" if field is not None else "",
                sensitive,
                tuple(row.seq for row in reached.rows if isinstance(row, Message) and _holds(row, name, value)),
                sum(one.agent == knower.agent and _holds(one.row, name, value) for one in reached.joined),
                _passed_at(name, value, reached),
            )
    return tuple(found.values())


def lines_of(route: Route, folder: Path) -> dict[str, str]:
    """Where each value of a route is written, by the name it has at the target: FILE:LINE."""
    lines = _source(folder / route.file)
    found = {name: f"{route.file}:{_pass_line(name, route, lines)}" for name in route.passes}
    return {**found, **{one.name: f"{route.file}:{one.line}" for one in route.assignments}}


def source_line(file: Path, line: int | None, *, longest: int = 400) -> str | None:
    """A line of a file as it stands now; None if there is none, or it is longer than anybody reads."""
    lines = _source(file) if line is not None else ()
    found = lines[line - 1] if line is not None and 0 < line <= len(lines) else None
    return None if found is None or len(found) > longest else found


def secret_in_summary(summary: str, knowers: Sequence[Knower]) -> str:
    """The name of a sensitive value that the filled-in SUMMARY holds, empty for none."""
    for knower in knowers:
        for secret in notes_of(knower.state).secrets:
            if Mask((), (secret,)).text(summary) != summary:
                return secret.name
    return ""


def _holds(row: Message, name: str, value: Json) -> bool:
    said = text(value)
    if len(said) < SHORTEST:
        return False
    find = Mask((), (Secret(name, said),))
    return find.text(row.text) != row.text or any(find.json(part, inside=True) != part for part in row.parts or ())


def _passed_at(name: str, value: Json, reached: Reached) -> str:
    """The line that hands the value over, under whatever name."""
    sent = {**reached.carried.passed, **reached.carried.assigned}
    if name in sent and sent[name] == value:
        return reached.lines.get(name, "")
    if len(text(value)) < SHORTEST:
        return ""
    return next((reached.lines.get(other, "") for other, given in sent.items() if text(given) == text(value)), "")


def _pass_line(name: str, route: Route, lines: Sequence[str]) -> int:
    """The line of PASS that names the field, below the route's first line; that line itself if none is found."""
    inside = False
    for number in range(route.line, len(lines)):
        line = lines[number]
        if re.match(r"\s*-\s*TO\s*:", line) or re.match(r"[A-Z_]+:", line):
            break
        if re.match(r"\s*pass\s*:", line, re.IGNORECASE):
            inside = True
        elif inside and not re.match(r"\s*-", line):
            inside = False
        if inside and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line):
            return number + 1
    return route.line


def _source(file: Path) -> tuple[str, ...]:
    try:
        return tuple(file.read_text(encoding="utf-8-sig", errors="replace").split("\n"))
    except OSError:
        return ()
