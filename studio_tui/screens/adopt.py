"""Writing the window found into the agent's file, after showing the change; a shipped agent is copied first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.errors import BadInput, StudioError
from runtime.values.messages import Window
from studio_tui.jobs import sentence
from studio_tui.screens.ask_line import AskLine
from studio_tui.screens.confirm import Confirm
from studio_tui.windows import shown

if TYPE_CHECKING:
    from runtime.agent_window import WindowChange
    from runtime.values.agent import Agent
    from studio_tui.studio import StudioApp

Say = Callable[[str, str], None]
"""Shows a sentence in a style of ours."""

OK, WARNING, ERROR = "$text-success", "$text-warning", "$text-error"


def adopt(studio: StudioApp, window: Window, say: Say) -> None:
    """Show what writing `window` into the file of the agent on the desk changes, and write it if that is agreed."""
    from runtime.agent_window import window_change

    agent = studio.desk.agent
    if agent is None:
        say("nothing is open", WARNING)
    elif not agent.file:
        say(f"agent {agent.name} has no file to write into", WARNING)
    elif agent.shipped:
        _copy(studio, agent, window, say)
    else:
        try:
            change = window_change(agent, window)
        except StudioError as error:
            say(sentence(error), ERROR)
            return
        if not change.diff:
            say(f"{Path(agent.file).name} says historyWindow: {shown(window)} already", OK)
            return
        _ask(studio, change, "write it", say, lambda: _written(studio, change, say))


def _copy(studio: StudioApp, agent: Agent, window: Window, say: Say) -> None:
    """A shipped agent's file belongs to the program: offer a copy in the current folder."""
    from runtime.agent_window import window_change
    from studio_tui.saving import problem_of

    folder = Path.cwd()

    def check(name: str) -> str:
        if Path(name).suffix not in (".yaml", ".yml"):
            return "an agent file's name ends in .yaml"
        return problem_of(name, folder)

    def answered(name: str | None) -> None:
        if name is None:
            return
        try:
            change = window_change(agent, window, to=folder / name)
        except StudioError as error:
            say(sentence(error), ERROR)
            return
        _ask(studio, change, "write the copy", say, lambda: _copied(studio, change, say))

    words = (
        f"Agent {agent.name} comes with the program and is not changed. Write a copy with historyWindow: "
        f"{shown(window)} to a new file in {folder}, and reseed with it?"
    )
    studio.push_screen(AskLine("A copy of the agent", words, check, f"{agent.name}.yaml"), answered)


def _ask(studio: StudioApp, change: WindowChange, yes: str, say: Say, then: Callable[[], None]) -> None:
    def answered(agreed: bool | None) -> None:
        if agreed:
            then()
        else:
            say("nothing was written", WARNING)

    title = f"historyWindow: {shown(change.was)} → {shown(change.window)}"
    studio.push_screen(Confirm(title, "\n".join(change.diff), yes), answered)


def _written(studio: StudioApp, change: WindowChange, say: Say) -> None:
    from runtime.agent_window import write_window

    try:
        write_window(change)
    except BadInput as error:
        say(str(error), ERROR)
        return
    say(f"wrote historyWindow: {shown(change.window)} into {change.path}; ^n reseeds with it", OK)


def _copied(studio: StudioApp, change: WindowChange, say: Say) -> None:
    """Write the copy, then go on with a fresh thread that it answers on."""
    from studio_tui.saving import save

    try:
        save(change.after.decode("utf-8"), change.path.name, change.path.parent)
    except BadInput as error:
        say(str(error), ERROR)
        return
    say(f"wrote {change.path}", OK)
    studio.reseed_with(agent=str(change.path), told=f"reseeded with {change.path.name}")
