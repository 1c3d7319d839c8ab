"""A tool: a Python function with a name, a description and a schema made from its signature and docstring (T9)."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import overload

from runtime.errors import ConfigurationError
from runtime.tools.signature import Signature, signature_of
from runtime.values.request import ToolSpec

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@dataclass(frozen=True, eq=False)
class Tool:
    """A function that a model may call.

    `name` is what the model calls it: letters, digits, `-` and `_`, at most 64. A function that is not async runs on
    a thread of its own, so that a slow one does not hold up the screen; `inline` says that it returns at once and may
    run where the turn runs. The schema is made when first asked for; a signature that no model can fill raises
    ConfigurationError then.
    """

    name: str
    run: Callable[..., object]
    inline: bool = False

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise ConfigurationError(f"a tool's name is up to 64 letters, digits, - and _, not {self.name!r}")

    @classmethod
    def of(cls, function: Callable[..., object], name: str | None = None, *, inline: bool = False) -> Tool:
        """The tool that runs `function`; without a name `set_tone` becomes `set-tone`. A Tool is returned as it is."""
        if isinstance(function, Tool):
            return function if name is None else cls(name, function.run, function.inline)
        return cls(name or _name_of(function), function, inline)

    @functools.cached_property
    def signature(self) -> Signature:
        """Which arguments it takes."""
        return signature_of(self.run, self.name)

    @functools.cached_property
    def spec(self) -> ToolSpec:
        """The tool as offered to a model."""
        return ToolSpec(self.name, self.signature.description, self.signature.schema)

    @property
    def description(self) -> str:
        """What the model reads of it: the docstring before its sections, on one line."""
        return self.spec.description

    @functools.cached_property
    def is_async(self) -> bool:
        """Whether calling it gives something to await, which a stop can interrupt (T10)."""
        run = self.run
        while isinstance(run, functools.partial):
            run = run.func
        return inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(getattr(run, "__call__", None))  # noqa: B004 - the method is what is asked about

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the function itself, as if it had not been made a tool."""
        return self.run(*args, **kwargs)


@overload
def tool(function: Callable[..., object], /) -> Tool: ...
@overload
def tool(*, name: str | None = None, inline: bool = False) -> Callable[[Callable[..., object]], Tool]: ...
def tool(
    function: Callable[..., object] | None = None, /, *, name: str | None = None, inline: bool = False
) -> Tool | Callable[[Callable[..., object]], Tool]:
    """Make a function a Tool: `@tool`, or `@tool(name=..., inline=...)` as in `Tool`."""
    if function is not None:
        return Tool.of(function)
    return lambda decorated: Tool.of(decorated, name, inline=inline)


def by_name(tools: Iterable[Tool | Callable[..., object]]) -> Mapping[str, Tool]:
    """The tools by their names, functions made tools. Raises ConfigurationError for a name that two of them have."""
    named: dict[str, Tool] = {}
    for one in map(Tool.of, tools):
        known = named.setdefault(one.name, one)
        if known is not one and known.run is not one.run:
            raise ConfigurationError(f"two tools are named {one.name}")
    return named


def _name_of(function: Callable[..., object]) -> str:
    inner = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inner, "__name__", type(inner).__name__)).strip("_").replace("_", "-")
