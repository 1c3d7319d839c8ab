"""A declared tool bound to what it calls: a registered Python tool of its name, or an address (`type: http`)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import quote

from runtime import tools
from runtime.abl.project import ToolDeclaration
from runtime.abl.scope import text
from runtime.calls import TOOL_SECONDS, WhenCancelled
from runtime.errors import StudioError
from runtime.handoff.web import answer_of, exchange
from runtime.plan import Resolver
from runtime.tools import Outcome, Tool
from runtime.values.json import Json, JsonObject
from runtime.values.request import ToolSpec

_IN_PATH = re.compile(r"\{\{?\s*(\w+)\s*\}?\}")
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


class Callee(Protocol):
    """What a declared tool calls."""

    async def call(self, arguments: JsonObject | str, state: JsonObject) -> Outcome: ...

    @property
    def when_cancelled(self) -> WhenCancelled: ...


@dataclass(frozen=True, slots=True)
class Bound:
    """A declared tool: `spec` as the model sees it, `callee` what answers its calls."""

    spec: ToolSpec
    callee: Callee

    @property
    def name(self) -> str:
        return self.spec.name


def bind(declared: ToolDeclaration, resolver: Resolver) -> Bound:
    """The declared tool with what it calls; one that nothing is registered for answers that it cannot be called."""
    spec = ToolSpec(declared.name, declared.description or f"The tool {declared.name}.", declared.schema())
    seconds = declared.timeout if declared.timeout is not None else TOOL_SECONDS
    if declared.type == "http":
        return Bound(spec, Http(declared, seconds))
    found = resolver.registered(declared.name)
    return Bound(spec, Registered(found, seconds) if found is not None else Missing(declared.name))


@dataclass(frozen=True, slots=True)
class Registered:
    """A Python tool given to the Runtime, or one that ships."""

    tool: Tool
    seconds: float

    async def call(self, arguments: JsonObject | str, state: JsonObject) -> Outcome:
        return await tools.call(self.tool, arguments, state, timeout=self.seconds)

    @property
    def when_cancelled(self) -> WhenCancelled:
        return "goes-on" if not (self.tool.is_async or self.tool.inline) else "should-end"


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing is registered under the name."""

    name: str

    async def call(self, arguments: JsonObject | str, state: JsonObject) -> Outcome:
        return Outcome(f"{self.name} cannot be called: no tool of this name is registered here", error=True)

    @property
    def when_cancelled(self) -> WhenCancelled:
        return "ends"


@dataclass(frozen=True, slots=True)
class Http:
    """An address: names in braces in it are filled in, other arguments are the query of a GET, else the JSON body."""

    declared: ToolDeclaration
    seconds: float

    async def call(self, arguments: JsonObject | str, state: JsonObject) -> Outcome:
        if isinstance(arguments, str):
            return Outcome(f"{self.declared.name} takes a JSON object of arguments", error=True)
        problem = _misfit(self.declared, arguments)
        if problem:
            return Outcome(problem, error=True)
        method = self.declared.method.strip().upper() or "GET"
        if method not in _METHODS:
            return Outcome(f"{self.declared.name} has the method {method}, which is none", error=True)
        url, rest = _filled(self.declared.endpoint, arguments)
        try:
            async with asyncio.timeout(self.seconds):
                answer = await exchange(url, rest, method=method, seconds=self.seconds)
            return Outcome(answer_of(answer))
        except TimeoutError:
            return Outcome(f"{self.declared.name} did not answer within {self.seconds:g} seconds", error=True)
        except StudioError as error:
            return Outcome(f"{self.declared.name} failed: {error}", error=True)

    @property
    def when_cancelled(self) -> WhenCancelled:
        return "ends"


def _misfit(declared: ToolDeclaration, arguments: Mapping[str, Json]) -> str:
    missing = [one.name for one in declared.parameters if one.required and arguments.get(one.name) is None]
    known = {one.name for one in declared.parameters}
    unknown = [name for name in arguments if name not in known]
    if missing:
        return f"{declared.name} needs {', '.join(missing)}"
    return f"{declared.name} takes no {', '.join(unknown)}" if unknown else ""


def _filled(endpoint: str, arguments: Mapping[str, Json]) -> tuple[str, dict[str, Json]]:
    """The address with the arguments it names, and those it does not."""
    used = {name for name in _IN_PATH.findall(endpoint) if name in arguments}
    url = _IN_PATH.sub(lambda found: quote(text(arguments.get(found[1])), safe=""), endpoint)
    return url, {name: value for name, value in arguments.items() if name not in used}
