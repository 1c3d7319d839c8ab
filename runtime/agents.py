"""Agent files: `historyWindow: 6` and the rest of what people write, read strictly into an `Agent` (S3, Q1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from runtime.errors import BadInput, ConfigurationError
from runtime.fields import Fields, Problems, nearest
from runtime.files import Node, Scalar, Table, inside, read_yaml, shipped_folder
from runtime.tools import is_reference, shipped
from runtime.values.agent import Agent, Budget, FitLimits, TierSpec
from runtime.values.diagnostic import Diagnostic
from runtime.values.messages import DEFAULT_WINDOW

KEYS = (
    "agent", "description", "instructions", "historyWindow", "tiers", "tools", "stateViews", "delegates", "nudges",
    "budget", "fit",
)  # fmt: skip
"""The keys of an agent file."""

_MODELS = ("offline", "script", "openai:", "anthropic:")


def load_agent(path: str | Path, *, shipped: bool = False) -> Agent:
    """The agent of a file. Raises BadInput with file, line and field for the first thing that is wrong."""
    problems = Problems(str(path))
    agent = read_agent(read_yaml(Path(path)), problems, shipped=shipped)
    problems.raise_first()
    return agent


def check_agent(path: str | Path) -> list[Diagnostic]:
    """Every problem of an agent file, those of its delegates and tools too."""
    problems = Problems(str(path))
    try:
        node = read_yaml(Path(path))
        agent = read_agent(node, problems)
        check_names(agent, node, problems)
        if not any(found.severity == "error" for found in problems.found):
            with_delegates(agent, agents_beside(Path(path).parent))
    except BadInput as error:
        problems.refuse(error, "S109" if isinstance(error, ConfigurationError) else "S100")
    return problems.found


def read_agent(node: Node, problems: Problems, *, path: str = "", shipped: bool = False) -> Agent:
    """The agent that a tree describes, in a file of its own or in place (`path` leads to it). Notes every problem."""
    fields = Fields.of(node, problems, path)
    name = fields.text("agent", required=isinstance(node, Table))
    if name.strip():
        _check_name(name, fields)
    window = fields.window("historyWindow")
    budget, fit = Budget(), FitLimits()
    agent = Agent(
        name=name,
        description=fields.text("description"),
        instructions=fields.text("instructions"),
        window=DEFAULT_WINDOW if window is None else window,
        tiers=_tiers(fields),
        tools=fields.texts("tools", distinct=True),
        state_views=fields.texts("stateViews", distinct=True),
        delegates=fields.texts("delegates", distinct=True),
        nudges=_or(fields.whole("nudges"), 2),
        budget=_budget(fields.inner("budget"), budget),
        fit=_fit(fields.inner("fit"), fit),
        file=problems.file,
        line=node.line,
        shipped=shipped,
    )
    fields.done(KEYS)
    for delegate in set(agent.delegates) & {_called(tool) for tool in agent.tools}:
        fields.wrong("delegates", "S107", f"{delegate} is also the name of a tool")
    return agent


def _check_name(name: str, fields: Fields) -> None:
    """An agent's name is a file's name and, delegated to, a tool's name on the wire."""
    if not all(sign.isalnum() or sign in "-_" for sign in name) or not name.isascii() or len(name) > 64:
        fields.wrong("agent", "S106", f"a name is up to 64 letters, digits, - and _, not {name[:80]!r}")


def _called(tool: str) -> str:
    """What a model calls a tool of an agent file."""
    return tool.rpartition(":")[2].strip("_").replace("_", "-") if is_reference(tool) else tool


def _tiers(fields: Fields) -> tuple[TierSpec, ...]:
    tiers: list[TierSpec] = []
    for n, node in enumerate(fields.items("tiers"), start=1):
        if isinstance(node, Scalar):
            tiers.append(TierSpec(node.text))
        else:
            tier = Fields.of(node, fields.problems, f"{fields.at('tiers')}[{n}]")
            tiers.append(TierSpec(tier.text("model", required=True), tier.whole("contextTokens", least=1)))
            tier.done(("model", "contextTokens"))
        if not tiers[-1].model.strip() and isinstance(node, Scalar):
            fields.problems.error("S103", node, f"{fields.at('tiers')}[{n}]", "is empty")
    if not tiers and fields.has("tiers"):
        fields.wrong("tiers", "S103", "names no model")
    return tuple(tiers) or (TierSpec("offline"),)


def _budget(fields: Fields | None, default: Budget) -> Budget:
    if fields is None:
        return default
    fields.done(("steps", "toolCalls", "seconds", "tokens"))
    seconds = fields.seconds("seconds")
    return Budget(
        steps=_or(fields.whole("steps"), default.steps),
        tool_calls=_or(fields.whole("toolCalls"), default.tool_calls),
        seconds=default.seconds if seconds is None else seconds,
        tokens=_or(fields.whole("tokens"), default.tokens),
    )


def _fit(fields: Fields | None, default: FitLimits) -> FitLimits:
    if fields is None:
        return default
    fields.done(("contextTokens", "reserveTokens"))
    return FitLimits(
        context_tokens=_or(fields.whole("contextTokens", least=1), default.context_tokens),
        reserve_tokens=_or(fields.whole("reserveTokens"), default.reserve_tokens),
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def check_names(agent: Agent, node: Node, problems: Problems, path: str = "") -> None:
    """Note tools and models that the program does not ship: in a file they cannot be meant."""
    entries = node.entries if isinstance(node, Table) else {}
    for tool in agent.tools:
        if not is_reference(tool) and tool not in shipped():
            meant = nearest(tool, shipped())
            hint = f"did you mean {meant}?" if meant else "name a shipped one, or package.module:function"
            problems.error(
                "S108", entries.get("tools"), f"{path}.tools".lstrip("."), f"there is no tool {tool}; {hint}"
            )
    for tier in agent.tiers:
        if not tier.model.startswith(_MODELS):
            hint = "known are offline, script, openai:NAME and anthropic:NAME, and what your own settings name"
            place = f"{path}.tiers".lstrip(".")
            problems.warning("S108", entries.get("tiers"), place, f"{tier.model} is no model that ships; {hint}")


Find = Callable[[str], "Agent | None"]
"""Gives the agent of a name, None if there is none; may raise BadInput for one that cannot be read."""


def agents_beside(folder: Path | None, *, skip: Path | None = None) -> Find:
    """Finds NAME.yaml in `folder`, then in `agents` in it, then among the shipped ones; names stay inside (Q4).

    `skip` is a file that is no candidate: the seed that asks.
    """

    def find(name: str) -> Agent | None:
        for place in (folder, folder / "agents") if folder else ():
            path = inside(place, name, ".yaml")
            if path.is_file() and not (skip and skip.exists() and path.samefile(skip)):
                return _named(path, name, shipped=place.resolve().is_relative_to(shipped_folder().resolve()))
        path = inside(shipped_folder() / "agents", name, ".yaml")
        return _named(path, name, shipped=True) if path.is_file() else None

    return find


def _named(path: Path, name: str, *, shipped: bool = False) -> Agent:
    agent = load_agent(path, shipped=shipped)
    if agent.name != name:
        raise BadInput(
            f"the file of agent {name} calls it {agent.name}", file=str(path), line=agent.line, field="agent"
        )
    return agent


def shipped_agent(name: str) -> Agent:
    """The shipped agent of this name. Raises ConfigurationError if there is none."""
    found = agents_beside(None)(name)
    if found is None:
        raise ConfigurationError(no_agent(name, shipped_agent_names()))
    return found


def no_agent(name: str, known: Iterable[str]) -> str:
    """That there is no agent of this name, with the one that may be meant."""
    meant = nearest(name, known)
    return f"there is no agent {name}; " + (f"did you mean {meant}?" if meant else f"known: {', '.join(known)}")


def shipped_agent_names() -> list[str]:
    """The names of the shipped agents, sorted; nothing is loaded."""
    return sorted(path.stem for path in (shipped_folder() / "agents").glob("*.yaml"))


def with_delegates(agent: Agent, find: Find) -> dict[str, Agent]:
    """The agent and everyone it may delegate to, at any depth, by name.

    Raises ConfigurationError for a delegate that is not found and for a circle of delegates (T8).
    """
    agents = {agent.name: agent}
    waiting = [agent]
    while waiting:
        one = waiting.pop()
        for name in one.delegates:
            if name in agents:
                continue
            found = find(name)
            if found is None:
                said = no_agent(name, shipped_agent_names())
                raise ConfigurationError(said, file=one.file, line=one.line, field="delegates")
            agents[name] = found
            waiting.append(found)
    refuse_circles(agents)
    return agents


def refuse_circles(agents: Mapping[str, Agent]) -> None:
    """Raise ConfigurationError, naming the way around, if an agent could come to delegate to itself (T8)."""
    for agent in agents.values():
        way = _circle([agent.name], agents, set())
        if way:
            raise ConfigurationError(
                f"delegates go in a circle: {' -> '.join(way)}", file=agent.file, line=agent.line, field="delegates"
            )


def _circle(start: list[str], agents: Mapping[str, Agent], seen: set[str]) -> list[str] | None:
    """A way of delegates from the one agent in `start` back to it, without recursion: chains may be long."""
    stack: list[tuple[str, Iterable[str]]] = [(start[0], iter(_delegates(start[0], agents)))]
    while stack:
        for name in stack[-1][1]:
            if name == start[0]:
                return [step for step, _ in stack] + [name]
            if name not in seen:
                seen.add(name)
                stack.append((name, iter(_delegates(name, agents))))
                break
        else:
            stack.pop()
    return None


def _delegates(name: str, agents: Mapping[str, Agent]) -> tuple[str, ...]:
    return agents[name].delegates if name in agents else ()
