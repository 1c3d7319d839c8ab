"""A project with another HISTORY on a route: what a replay runs (X3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runtime.abl.history_setting import HistorySetting, read_line
from runtime.abl.project import AgentSource, Project, Route
from runtime.errors import BadInput
from runtime.values.json import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Change:
    """The route at `FILE:LINE` has this HISTORY, a value on one line."""

    route: str
    history: str

    def json(self) -> JsonObject:
        return {"route": self.route, "history": self.history}


def changed(project: Project, changes: Sequence[Change]) -> Project:
    """The project with the changes. Raises BadInput for a route it does not have, or a value that is not recognised."""
    for change in changes:
        if read_line(change.history) is None:
            problem = f"{change.history!r} is not recognised; write full, none, summary_only, auto or a count: last_5"
            raise BadInput(problem, field="history")
        if not any(route.place == change.route for agent in project.agents.values() for route in agent.routes):
            raise BadInput(f"the project has no route at {change.route}", field="route")
        project = replace(project, agents={name: _agent(one, change) for name, one in project.agents.items()})
    return project


def changes_of(value: Json) -> tuple[Change, ...]:
    """The changes that a session was opened with, as its thread keeps them."""
    listed = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return tuple(Change(str(one["route"]), str(one["history"])) for one in listed if isinstance(one, Mapping))


def _agent(agent: AgentSource, change: Change) -> AgentSource:
    return replace(agent, routes=tuple(_route(route, change) for route in agent.routes))


def _route(route: Route, change: Change) -> Route:
    if route.place != change.route:
        return route
    line = route.history.line if route.history is not None else route.line
    return replace(route, history=HistorySetting(change.history, route.file, line, read_line(change.history)))
