"""Options that several commands share, spelled and read in one place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from runtime.errors import BadInput
from runtime.values.messages import Window, read_window

F = TypeVar("F", bound=Callable[..., Any])


class WindowType(click.ParamType[Window]):
    """A whole number or `all` (S3); negative numbers are allowed and are none."""

    name = "window"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Window:
        if isinstance(value, int):
            return value
        try:
            return read_window(str(value))
        except BadInput as error:
            self.fail(error.problem, param, ctx)


class ModelType(click.ParamType[str]):
    """`offline`, `script`, `openai:NAME` or `anthropic:NAME`, the last two with an optional `@BASE_URL`; or a name from
    the user's settings, which are read for nothing else."""

    name = "model"

    _SHAPE = re.compile(r"(offline|script|(openai|anthropic):\S+)\Z")

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if self._SHAPE.match(text):
            return text
        from studio_tui.cli.session import user_settings

        named = user_settings().models
        if text not in named:
            own = f"; yours are {', '.join(named)}" if named else ""
            self.fail(
                "a model is offline, script, openai:NAME or anthropic:NAME, the last two with @BASE_URL after it if "
                f"need be, or a name from your settings file{own}"
            )
        return text


def window(function: F) -> F:
    """`--window N`: None takes the agent's own."""
    return click.option(
        "--window", type=WindowType(), metavar="N", help="Stored messages to select: a whole number (0: none) or all."
    )(function)


def model(function: F) -> F:
    """`--model M`: None takes each agent's chain."""
    return click.option(
        "--model",
        type=ModelType(),
        metavar="M",
        envvar="STUDIO_MODEL",
        help="offline, script, openai:NAME or anthropic:NAME (@BASE_URL after it), or a name from the settings file, "
        "instead of every agent's tiers (default: $STUDIO_MODEL).",
    )(function)


def store(function: F) -> F:
    """`--store URL`: None takes $STUDIO_STORE, else the user's data folder."""
    return click.option(
        "--store",
        metavar="URL",
        help="sqlite:///FILE, a path, or memory: (default: $STUDIO_STORE, else studio.db in the user's data folder).",
    )(function)


def seed(function: F) -> F:
    """`--seed S`: a shipped name or a path."""
    return click.option("--seed", metavar="S", help="A shipped seed by name, or a seed file.")(function)


def agent(function: F) -> F:
    """`--agent A`: a name or an agent file."""
    return click.option("--agent", metavar="A", help="An agent by name, or an agent file.")(function)


def allow_tools(function: F) -> F:
    """`--allow-tools` (T9)."""
    return click.option(
        "--allow-tools", is_flag=True, help="Let agent files that are not shipped run their own Python tools."
    )(function)


def as_json(function: F) -> F:
    """`--json`: one document on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")(function)
