"""An agent written in ABL as the engine runs it: instructions, chain of models, the tools it offers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runtime.abl.project import AgentSource, Route
from runtime.handoff.tools import Bound, bind
from runtime.plan import Resolver
from runtime.values.agent import Agent, TierSpec
from runtime.values.json import JsonObject
from runtime.values.request import ToolSpec
from runtime.values.understanding import HANDOFF, RETURN

_SPEC = re.compile(r"offline\Z|script\Z|(?:openai|anthropic):\S")
_ROUTER = "You hand the customer on and answer nothing yourself."
_GATHERS = (
    "What you still have to know is asked for right after your answer, by a prompt of its own: do not ask for it."
)
_NOTHING: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
_RETURNS = "Give the conversation back to the agent that handed it to you; nothing is left to do here."


@dataclass(frozen=True, slots=True)
class Speaker:
    """One agent of a project, ready to run. `tools` are its own by name as declared; `agent` is what turns record."""

    source: AgentSource
    agent: Agent
    tools: Mapping[str, Bound]

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Its own tools as a model sees them."""
        return tuple(bound.spec for bound in self.tools.values())

    @property
    def offered_routes(self) -> tuple[Route, ...]:
        """The routes whose WHEN is prose, as they are tried (H15)."""
        return tuple(route for route in self.source.routes_in_turn if route.when.kind == "prose")

    @property
    def is_router(self) -> bool:
        """Whether it hands on and answers nothing itself."""
        return self.source.role == "router"


def speaker(source: AgentSource, resolver: Resolver) -> Speaker:
    """The agent that `source` describes. Its model is the one EXECUTION names in our words, else offline."""
    model = source.execution.model.strip()
    tiers = (TierSpec(model),) if _SPEC.match(model) else (TierSpec("offline"),)
    agent = Agent(
        source.name,
        instructions=instructions(source),
        window="all",
        tiers=tiers,
        description=source.description or source.goal,
        file=source.file,
        line=source.line,
    )
    return Speaker(source, agent, {one.name: bind(one, resolver) for one in source.tools})


def instructions(source: AgentSource) -> str:
    """What the agent is told: who it is, what it is there for, what it must keep to."""
    limits = "\n".join(f"- {one}" for one in source.limitations)
    parts = (
        source.system_prompt,
        f"You are {source.name}. {source.persona}".strip(),
        f"What you are there for: {source.goal}" if source.goal else "",
        source.instructions,
        f"Keep to this:\n{limits}" if limits else "",
        f"Answer in this language: {source.language}" if source.language else "",
        _ROUTER if source.role == "router" else "",
        _GATHERS if source.fields else "",
    )
    return "\n\n".join(part.strip() for part in parts if part.strip())


def handoff_tools(routes: Iterable[Route]) -> dict[str, tuple[Route, ToolSpec]]:
    """By name the tools that take routes whose WHEN is prose; of two to one target the first is taken by it."""
    found: dict[str, tuple[Route, ToolSpec]] = {}
    for route in routes:
        name, words = f"{HANDOFF}{route.to}", route.when.text.strip().strip("\"'")
        first, spec = found.get(name, (route, None))
        about = f"{spec.description} Or: {words}" if spec else f"Hand the conversation to {route.to}. When: {words}"
        found[name] = (first, ToolSpec(name, about, _NOTHING))
    return found


def return_tool() -> ToolSpec:
    """The tool by which a child gives the conversation back (H14)."""
    return ToolSpec(RETURN, _RETURNS, _NOTHING)
