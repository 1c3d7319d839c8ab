"""What the screens of experiments ask in one line: windows to add, how many runs each, who answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from runtime.errors import BadInput
from runtime.values.messages import Window, read_window
from studio_tui.screens.ask_line import AskLine

if TYPE_CHECKING:
    from textual.app import App

MOST = 1000
"""Runs each that may be asked for."""


def ask_windows(app: App[None], then: Callable[[tuple[Window, ...]], None]) -> None:
    """Ask for windows to add."""

    def check(text: str) -> str:
        try:
            return "" if read_windows(text) else "a whole number, or all"
        except BadInput as error:
            return error.problem

    def answered(text: str | None) -> None:
        if text is not None:
            then(read_windows(text))

    app.push_screen(AskLine("Add windows", "whole numbers, or all; several with blanks between", check), answered)


def ask_repeats(app: App[None], now: int, then: Callable[[int], None]) -> None:
    """Ask how many runs each."""

    def answered(text: str | None) -> None:
        if text is not None:
            then(int(text))

    intro = "how many times each is run; where answers vary it shows in how many runs it was enough"
    app.push_screen(AskLine("Runs each", intro, repeats_problem, str(now)), answered)


def ask_names(
    app: App[None], title: str, intro: str, known: Sequence[str], then: Callable[[tuple[str, ...]], None]
) -> None:
    """Ask for names with blanks between; an empty line gives none."""

    def answered(text: str | None) -> None:
        if text is not None:
            then(tuple(dict.fromkeys(text.replace(",", " ").split())))

    app.push_screen(AskLine(title, intro, lambda text: "", " ".join(known)), answered)


def read_windows(text: str) -> tuple[Window, ...]:
    """The windows that a line names. Raises BadInput."""
    return tuple(read_window(part) for part in text.replace(",", " ").split())


def repeats_problem(text: str) -> str:
    """What is wrong with a number of runs; empty if nothing is."""
    number = text.strip()
    if number.isascii() and number.isdigit() and len(number) <= 4 and 1 <= int(number) <= MOST:
        return ""
    return f"a whole number from 1 to {MOST}"
