"""`studio-tui [FILE|DIR|THREAD|TURN]`: the Studio itself, on what is named."""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from pathlib import Path

import click

from runtime.errors import BadInput
from runtime.values.messages import Window
from studio_tui.cli import options


@click.command("open")
@click.argument("target", required=False, metavar="[FILE|DIR|THREAD|TURN]")
@options.seed
@options.agent
@options.window
@options.model
@options.store
@options.allow_tools
def command(
    target: str | None,
    seed: str | None,
    agent: str | None,
    window: Window | None,
    model: str | None,
    store: str | None,
    allow_tools: bool,
) -> int:
    """Open the Studio on a seed, a conversation file, a folder, a thread or a turn; told apart by content.

    \b
    Example: studio-tui --seed friday-notes --model offline
    """
    if seed == "-":
        raise BadInput("a seed is read from a pipe by the headless commands alone; give a file", field="--seed")
    if target is not None and seed is not None:
        raise BadInput("open one thing at a time: a target or --seed", field="--seed")
    _refuse_a_mistyped_command(target)
    _refuse_what_is_no_terminal()
    from studio_tui.app import open_studio
    from studio_tui.cli.session import store_url

    return open_studio(
        store=store_url(store),
        target=target,
        seed=seed,
        agent=agent,
        window=None if window is None else str(window),
        model=model,
        allow_tools=allow_tools,
    )


def _refuse_what_is_no_terminal() -> None:
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise BadInput(
            "the Studio needs a terminal that can draw, and TERM says this one cannot; "
            "headless: studio-tui run --help, studio-tui show --help"
        )
    if not (sys.__stdin__ and sys.__stdin__.isatty() and sys.__stdout__ and sys.__stdout__.isatty()):
        raise BadInput(
            "the Studio needs a terminal for its keys and its screen, and one of them goes elsewhere; "
            "headless: studio-tui run --help, studio-tui show --help"
        )


def _refuse_a_mistyped_command(target: str | None) -> None:
    from studio_tui.cli.root import COMMANDS

    if target is None or Path(target).exists():
        return
    near = get_close_matches(target, COMMANDS, n=1, cutoff=0.75)
    if near:
        raise BadInput(f"there is no command {target!r}; did you mean {near[0]}?")
