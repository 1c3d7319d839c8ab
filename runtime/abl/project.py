"""A project as it is compiled: frozen, everything a running conversation needs, and where each thing was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runtime.abl.assignments import Assignment
from runtime.abl.conditions import When
from runtime.abl.diagnostics import has_errors
from runtime.abl.history_setting import HistorySetting, InForce, resolve
from runtime.values.diagnostic import Diagnostic
from runtime.values.json import Json, JsonObject

Role = Literal["router", "orchestrator", "assistant"]


@dataclass(frozen=True, slots=True)
class Intent:
    """One of a router's INTENTS: what the customer may want, in words."""

    name: str
    description: str
    line: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A `MEMORY: session:` variable. `initial` None means unset."""

    name: str
    type: str
    description: str
    initial: Json
    line: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One check of a gathered value: `min`, `max`, `enum`, `email` or `pattern`, with what stands in parentheses."""

    kind: Literal["min", "max", "enum", "email", "pattern"]
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One GATHER field. `type` is in lower case; `options` are the values an enum allows; `default` None is none.

    `sensitive` values are masked everywhere and keep a child's rows out of later handoffs (H2, Q3).
    """

    name: str
    type: str
    prompt: str
    required: bool
    default: Json
    sensitive: bool
    options: tuple[str, ...]
    description: str
    rules: tuple[Rule, ...]
    retry_prompt: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a declared tool. `type` as written (`string`, `number[]`, `{a: string}`)."""

    name: str
    type: str
    required: bool
    default: Json
    description: str


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool as an agent declares it. It is bound by name, or called if `type` is `http`.

    `properties` are all keys below the signature in lower case, as text; `timeout` is in seconds, None if unsaid.
    """

    name: str
    parameters: tuple[Parameter, ...]
    returns: str
    description: str
    type: str
    endpoint: str
    method: str
    timeout: float | None
    properties: Mapping[str, str]
    file: str
    line: int

    def schema(self) -> JsonObject:
        """The JSON Schema of the arguments object."""
        return {
            "type": "object",
            "properties": {
                one.name: {
                    **json_type(one.type),
                    **({"description": one.description} if one.description else {}),
                    **({"default": one.default} if one.default is not None else {}),
                }
                for one in self.parameters
            },
            "required": [one.name for one in self.parameters if one.required],
        }


_JSON_TYPES: Mapping[str, JsonObject] = {
    "string": {"type": "string"}, "text": {"type": "string"}, "date": {"type": "string"},
    "number": {"type": "number"}, "float": {"type": "number"}, "integer": {"type": "integer"},
    "int": {"type": "integer"}, "boolean": {"type": "boolean"}, "object": {"type": "object"},
    "array": {"type": "array"},
}  # fmt: skip


def json_type(written: str) -> JsonObject:
    """The JSON Schema of a type as ABL writes it; what is unknown is anything."""
    name = written.strip().lower()
    if name.endswith("[]"):
        return {"type": "array", "items": json_type(name[:-2])}
    return {"type": "object"} if name.startswith("{") else _JSON_TYPES.get(name, {})


@dataclass(frozen=True, slots=True)
class OnReturn:
    """What a caller does when the child gives the conversation back (H8, H14).

    `action` is empty if nothing is to run. `mapping` is child field -> caller field, None without a map (all gathered
    fields then, but sensitive ones). `respond` and `clear` come from the RETURN_HANDLERS entry named `handler`.
    """

    action: Literal["", "continue", "resume_intent"] = ""
    handler: str = ""
    mapping: tuple[tuple[str, str], ...] | None = None
    assignments: tuple[Assignment, ...] = ()
    respond: str | None = None
    clear: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class OnFailure:
    """What happens when the target cannot be reached: the next thing, a person, or an answer (`text`)."""

    action: Literal["continue", "escalate", "respond"] = "continue"
    text: str = ""


@dataclass(frozen=True, slots=True)
class Remote:
    """A target elsewhere (H11). `endpoint` is a URL, `protocol` in lower case (`rest` unless written)."""

    endpoint: str
    protocol: str
    location: str


@dataclass(frozen=True, slots=True)
class Route:
    """One HANDOFF entry. `order` is its place in the file from 0; routes are tried by `priority`, then `order` (H15).

    `passes` are field names of the caller; `assignments` (SET) win over them (H9). `summary` is a template, empty if
    there is none. `history` None means that none was written.
    """

    to: str
    when: When
    priority: int | None
    order: int
    passes: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    summary: str
    history: HistorySetting | None
    returns: bool
    on_return: OnReturn
    on_failure: OnFailure
    remote: Remote | None
    file: str
    line: int

    @property
    def has_summary(self) -> bool:
        """A SUMMARY that is not blank, as written (H4)."""
        return bool(self.summary.strip())

    @property
    def place(self) -> str:
        """FILE:LINE."""
        return f"{self.file}:{self.line}"

    def in_force(self, default: HistorySetting | None) -> InForce:
        """The strategy that a handoff by this route copies by (H4, H5)."""
        return resolve(self.history, default, self.has_summary)


@dataclass(frozen=True, slots=True)
class Completion:
    """One COMPLETE entry: the first that holds ends the agent. `respond` None was left out, "" is silence."""

    when: When
    respond: str | None
    assignments: tuple[Assignment, ...]
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class OnStart:
    """What happens once, before the first message: SET, then RESPOND (None: nothing is said)."""

    assignments: tuple[Assignment, ...] = ()
    respond: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Execution:
    """EXECUTION: the model as written (empty if unsaid), and the most tokens of an answer."""

    model: str = ""
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class KeptSection:
    """A section that is not executed, as it was written (I350)."""

    keyword: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class AgentSource:
    """One compiled agent. Texts are as written, without quotes; tuples are in file order, `routes` too."""

    kind: Literal["agent", "supervisor"]
    name: str
    file: str
    line: int
    goal: str
    persona: str = ""
    instructions: str = ""
    system_prompt: str = ""
    limitations: tuple[str, ...] = ()
    description: str = ""
    language: str = ""
    role: Role | None = None
    intents: tuple[Intent, ...] = ()
    memory: tuple[Variable, ...] = ()
    fields: tuple[Field, ...] = ()
    tools: tuple[ToolDeclaration, ...] = ()
    routes: tuple[Route, ...] = ()
    completions: tuple[Completion, ...] = ()
    on_start: OnStart = OnStart()
    execution: Execution = Execution()
    kept: tuple[KeptSection, ...] = ()

    @property
    def routes_in_turn(self) -> tuple[Route, ...]:
        """The routes as they are tried: PRIORITY, lower first, then file order; a route without one comes after."""
        return tuple(sorted(self.routes, key=lambda one: (one.priority is None, one.priority or 0, one.order)))

    def field(self, name: str) -> Field | None:
        """The GATHER field of this name."""
        return next((field for field in self.fields if field.name == name), None)


@dataclass(frozen=True, slots=True)
class Project:
    """All agents below a folder, by name. Files are relative to `folder`; `history_default` is the project's (H5).

    `entry` is the agent that `project.json` names as the first, empty if it names none.
    """

    folder: Path
    name: str
    agents: Mapping[str, AgentSource]
    history_default: HistorySetting | None
    entry: str
    diagnostics: tuple[Diagnostic, ...]

    @property
    def runs(self) -> bool:
        """A project with errors does not run (H6)."""
        return not has_errors(self.diagnostics)

    @property
    def first_agent(self) -> AgentSource | None:
        """Who is spoken to first: the entry of `project.json`, else the only supervisor, else the only agent that
        no route leads to, else none."""
        if self.entry in self.agents:
            return self.agents[self.entry]
        reached = {route.to for agent in self.agents.values() for route in agent.routes}
        for some in (
            [agent for agent in self.agents.values() if agent.kind == "supervisor"],
            [agent for agent in self.agents.values() if agent.name not in reached],
        ):
            if len(some) == 1:
                return some[0]
        return None
