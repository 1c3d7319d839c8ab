"""Editing the seed or the agent in the user's editor: checked on return, then reseeded; a shipped file is copied
first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.errors import BadInput
from runtime.values.diagnostic import Diagnostic
from studio_tui.file_places import FilePlace
from studio_tui.screens.ask_line import AskLine
from studio_tui.screens.confirm import Confirm

if TYPE_CHECKING:
    from studio_tui.studio import StudioApp

SHOWN = 12
"""Problems told of a file that was edited."""


def edit_file(studio: StudioApp, place: FilePlace) -> None:
    """Open the file at its line, check it on return, and reseed if it changed."""
    if place.shipped:
        _copy_first(studio, place)
    else:
        _edit(studio, place)


def _copy_first(studio: StudioApp, place: FilePlace) -> None:
    from studio_tui.saving import problem_of, save

    folder = Path.cwd()

    def check(name: str) -> str:
        if Path(name).suffix not in (".yaml", ".yml"):
            return f"a file of a {place.kind} ends in .yaml"
        return problem_of(name, folder)

    def answered(name: str | None) -> None:
        if name is None:
            return
        try:
            path = save(place.path.read_text(encoding="utf-8"), name, folder)
        except (BadInput, OSError) as error:
            studio.main.say(str(error), "$text-error")
            return
        _edit(studio, replace(place, path=path, shipped=False), copied=True)

    words = f"This {place.kind} comes with the program and is not changed. Copy it to a new file in {folder}, and edit "
    words += "that?"
    studio.push_screen(AskLine(f"A copy of the {place.kind}", words, check, place.path.name), answered)


def _edit(studio: StudioApp, place: FilePlace, *, copied: bool = False) -> None:
    """Run the editor in place of the screen, then look at what became of the file."""
    main = studio.main
    if main.desk.running:
        main.say("a turn is running here; stop it first (^c)", "$text-warning")
        return
    before = _content(place.path)
    try:
        studio.editor(place.path, place.line)
    except BadInput as error:
        main.say(error.problem, "$text-error")
        return
    after = _content(place.path)
    if after == before and not copied:
        main.say(f"{place.path.name} is as it was", "$text-warning")
        return
    problems = _errors(place.path)
    if problems:
        _tell(studio, place, problems)
    else:
        _reseed(studio, place)


def _reseed(studio: StudioApp, place: FilePlace) -> None:
    told = f"checked {place.path.name}, reseeded"
    if place.kind == "agent":
        studio.reseed_with(agent=str(place.path), told=told)
    else:
        studio.reseed_with(seed=str(place.path), told=told)


def _errors(path: Path) -> list[Diagnostic]:
    from runtime.seeds import check_file

    return [one for one in check_file(path) if one.severity == "error"]


def _tell(studio: StudioApp, place: FilePlace, problems: Sequence[Diagnostic]) -> None:
    """What is wrong, where; the editor opens again at the first problem."""
    lines = [f"line {one.line or '?'}: {_told(one)}" for one in problems[:SHOWN]]
    if len(problems) > SHOWN:
        lines.append(f"and {len(problems) - SHOWN} more")
    words = "\n".join([str(place.path), "", *lines, "", "Nothing was reseeded; the file stays as you wrote it."])

    def answered(agreed: bool | None) -> None:
        if agreed:
            _edit(studio, replace(place, line=problems[0].line or place.line), copied=True)
        else:
            studio.main.say(f"{place.path.name}: {_told(problems[0])}", "$text-error")

    studio.push_screen(
        Confirm(f"{len(problems)} problem{'s' if len(problems) > 1 else ''}", words, "edit again"), answered
    )


def _told(problem: Diagnostic) -> str:
    return f"{problem.field} {problem.message}" if problem.field else problem.message


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
