"""Resolution before a turn opens: names of agents, tools and models become the parts a turn runs with.

Whatever does not fit together is refused here, before anything is stored (Q1).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from runtime import tools as tool_room
from runtime.context import offered
from runtime.errors import ConfigurationError
from runtime.models import Model
from runtime.models.chain import Tier
from runtime.tools import Tool
from runtime.values.agent import Agent, TierSpec
from runtime.values.json import Json, JsonObject
from runtime.values.record import ToolOffered
from runtime.values.request import Limits, ToolSpec
from runtime.values.seed import Seed

if TYPE_CHECKING:
    from runtime.models.settings import ModelSettings

_REMEMBERED = 512

PLAIN = Agent("plain", shipped=True)
"""The agent of a thread that names none: no instructions, no tools, the offline model."""

IMPORTED = "imported"
RECORDED = "recorded"
"""The names of the agents of turns that were not run here: read from a file, and recorded as they happened."""


Settings: TypeAlias = "ModelSettings | Callable[[], ModelSettings] | None"
"""How models on servers are reached: known, read when such a model is first used, or by the environment alone."""


@dataclass(frozen=True)
class Plan:
    """What a turn runs with: everything but the thread and the request.

    `tools` are the agent's own by name, `delegates` the agents it may ask (T8), `offered` both as the model sees
    them. `tiers` is the chain in order (M2).
    """

    agent: Agent
    tiers: tuple[Tier, ...]
    tools: Mapping[str, Tool] = field(default_factory=dict)
    delegates: Mapping[str, Agent] = field(default_factory=dict)
    offered: tuple[ToolOffered, ...] = ()

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as a request carries them."""
        return tuple(ToolSpec(tool.name, tool.description, tool.schema) for tool in self.offered)


class Resolver:
    """Finds agents, tools and models by name: what was given to the Runtime, then the seed's, then what ships.

    `allow_tools` is the user's consent to run `package.module:function` of agent files that are not shipped (T9).
    `model` replaces the chain of every agent by this one tier. `settings` name models, and know keys and room.
    """

    def __init__(
        self,
        *,
        agents: Mapping[str, Agent] | None = None,
        tools: Iterable[Tool] = (),
        models: Mapping[str, Model] | None = None,
        allow_tools: bool = False,
        model: str | None = None,
        settings: Settings = None,
    ) -> None:
        self._settings = settings
        self.allow_tools = allow_tools
        self.model = model
        self._agents = dict(agents or {})
        self._tools = {tool.name: tool for tool in tools}
        self._models = dict(models or {})
        self._opened: dict[tuple[str, str | int], Model] = {}
        self._plans: dict[tuple[int, int, str | None, bool], tuple[Plan, Seed | None]] = {}
        self._read: dict[str, tuple[object, Agent]] = {}

    @property
    def given_agents(self) -> Collection[str]:
        """The names of the agents given to the Runtime: a seed may name them."""
        return self._agents.keys()

    def agent(self, name: str, seed: Seed | None = None) -> Agent:
        """The agent called `name`, or read from a path. Raises ConfigurationError if there is none, BadInput if its
        file cannot be used."""
        if name in ("", PLAIN.name) and name not in self._agents:
            return PLAIN
        if name in self._agents:
            return self._agents[name]
        if seed is not None and name in seed.agents:
            return seed.agents[name]
        if "/" in name or name.endswith((".yaml", ".yml")):
            return self._load(Path(name))
        if name not in self._read:
            from runtime import agents  # reads YAML: agents made in Python do without

            self._read[name] = (None, agents.shipped_agent(name))
        return self._read[name][1]

    def registered(self, name: str) -> Tool | None:
        """The tool of this name among those given to the Runtime and those that ship, `-` and `_` being equal."""
        meant = name.replace("_", "-")
        for known in (self._tools, tool_room.shipped()):
            for one, found in known.items():
                if one.replace("_", "-") == meant:
                    return found
        return None

    def foreign_tools(self, agent: Agent, seed: Seed | None = None) -> tuple[str, ...]:
        """The `package.module:function` tools that would run code of the user's own and need consent (T9)."""
        family = [agent, *self._delegates(agent, seed, ()).values()]
        return tuple(
            dict.fromkeys(
                name for member in family if not member.shipped for name in member.tools if self._is_foreign(name)
            )
        )

    def plan(
        self, agent: Agent, seed: Seed | None = None, *, model: str | None = None, above: tuple[str, ...] = ()
    ) -> Plan:
        """The plan of `agent`. `above` are the agents that delegate to it.

        Raises ConfigurationError for an unknown name, a circle of delegates, two tools of one name, or tools that
        need consent.
        """
        key = (id(agent), id(seed), model or self.model, self.allow_tools)
        known = self._plans.get(key)
        if known is not None:
            return known[0]
        tools = tool_room.by_name(self._tool(name, agent) for name in agent.tools)
        delegates = self._delegates(agent, seed, above)
        for name in delegates:
            if name in tools:
                raise _misfit(agent, "delegates", f"{name!r} is both a tool and a delegate")
        specs = [tool.spec for tool in tools.values()] + [_delegate_spec(name, to) for name, to in delegates.items()]
        plan = Plan(
            agent,
            tuple(self._tier(spec, agent, seed) for spec in self._chain(agent, model)),
            tools,
            delegates,
            tuple(map(offered, specs)) + _schemas_alone(agent),
        )
        if len(self._plans) >= _REMEMBERED:
            self._plans.clear()
        self._plans[key] = plan, seed  # both are held, so that no other agent or seed can have these ids
        return plan

    async def close(self) -> None:
        """Close the connections of the models that were opened here."""
        for model in self._opened.values():
            close = getattr(model, "aclose", None)
            if close is not None:
                await close()
        self._opened.clear()

    def _load(self, path: Path) -> Agent:
        """The agent of a file, read again only when the file has changed."""
        from runtime import agents

        stamp = stamp_of(path)
        known = self._read.get(str(path))
        if known is None or stamp is None or known[0] != stamp:
            known = self._read[str(path)] = (stamp, agents.load_agent(path))
        return known[1]

    def _chain(self, agent: Agent, model: str | None) -> tuple[TierSpec, ...]:
        replaced = model or self.model
        if replaced is None:
            return agent.tiers
        known = next((tier for tier in agent.tiers if tier.model == replaced), None)
        return (known or TierSpec(replaced),)

    def _tier(self, spec: TierSpec, agent: Agent, seed: Seed | None) -> Tier:
        room = spec.context_tokens or self._known_room(spec.model) or agent.fit.context_tokens
        return Tier(self._open(spec.model, seed), Limits(room, agent.fit.reserve_tokens))

    def _known_room(self, spec: str) -> int | None:
        """What the settings know of a model's context; they are not read for what no server is asked for."""
        if spec in ("offline", "script"):
            return None
        settings = self.settings()
        return settings.room(spec) if settings is not None else None

    def settings(self) -> ModelSettings | None:
        """The settings, read when first asked for. Raises BadInput for a file that cannot be used."""
        if callable(self._settings):
            self._settings = self._settings()
        return self._settings

    def _open(self, spec: str, seed: Seed | None) -> Model:
        given = self._models.get(spec)
        if given is not None:
            return given
        key: tuple[str, str | int] = (spec, "")
        if seed is not None and spec == "script":
            key = (spec, seed.digest or id(seed.script))  # the model holds the script, and so its id
        if key not in self._opened:
            from runtime.models.catalog import open_model

            settings = None if spec in ("offline", "script") else self.settings()
            self._opened[key] = open_model(spec, script=seed.script if seed else (), settings=settings)
        return self._opened[key]

    def _tool(self, name: str, agent: Agent) -> Tool:
        found = self._tools.get(name) or tool_room.shipped().get(name)
        if found is not None:
            return found
        if not self._is_foreign(name):
            known = ", ".join(sorted({*self._tools, *tool_room.shipped()}))
            raise _misfit(agent, "tools", f"there is no tool {name!r}; known: {known}, or package.module:function")
        if not (agent.shipped or self.allow_tools):
            raise _misfit(agent, "tools", f"{name} runs your own code; allow it with --allow-tools")
        return tool_room.load(name, allow=True, folder=Path(agent.file).parent if agent.file else None)

    def _is_foreign(self, name: str) -> bool:
        return tool_room.is_reference(name) and name not in self._tools and name not in tool_room.shipped()

    def _delegates(self, agent: Agent, seed: Seed | None, above: tuple[str, ...]) -> dict[str, Agent]:
        line = (*above, agent.name)
        found: dict[str, Agent] = {}
        for name in agent.delegates:
            if name in line:
                raise _misfit(agent, "delegates", f"a circle of delegates: {' -> '.join((*line, name))}")
            found[name] = self._delegate(name, agent, seed)
            self._delegates(found[name], seed, line)
        return found

    def _delegate(self, name: str, of: Agent, seed: Seed | None) -> Agent:
        """The agent a delegate's name means: one that is known, else the file beside that of the agent `of`."""
        if not of.file or of.shipped or name in self._agents or (seed is not None and name in seed.agents):
            return self.agent(name, seed)
        from runtime import agents

        return agents.agents_beside(Path(of.file).parent)(name) or self.agent(name, seed)


def stamp_of(path: str | Path) -> object | None:
    """What tells that a file has changed; None if there is no file."""
    try:
        stat = Path(path).stat() if path else None
    except OSError:
        return None
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino) if stat else None


def _delegate_spec(name: str, agent: Agent) -> ToolSpec:
    about = agent.description or next(iter(agent.instructions.strip().splitlines()), "")
    brief: JsonObject = {"type": "string", "description": "What to do, with everything the other agent must know."}
    schema: JsonObject = {
        "type": "object",
        "properties": {"brief": brief},
        "required": ["brief"],
        "additionalProperties": False,
    }
    return ToolSpec(name, about or f"Ask the agent {name}.", schema)


def _schemas_alone(agent: Agent) -> tuple[ToolOffered, ...]:
    return tuple(
        offered(ToolSpec(str(tool.get("name", "")), str(tool.get("description") or ""), _object(tool.get("schema"))))
        for tool in agent.tool_schemas
    )


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, Mapping) else {"type": "object"}


def _misfit(agent: Agent, field: str, problem: str) -> ConfigurationError:
    where = f"agent {agent.name}: " if not agent.file else ""
    return ConfigurationError(where + problem, file=agent.file, line=agent.line, field=field)
