"""HISTORY of a route: as written, as read, and what is in force in the end (H4 to H6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Named = Literal["full", "none", "summary_only", "auto"]
NAMED: Final[tuple[Named, ...]] = ("full", "none", "summary_only", "auto")

AUTO_COUNT: Final = 5
"""What `auto` copies on a route without SUMMARY (H4)."""

MOST: Final = 10**18
"""Counts beyond this are this: no conversation is longer."""


@dataclass(frozen=True, slots=True)
class LastN:
    """`last_N`; a count of 0 was written on one line and means no messages."""

    count: int


Read: TypeAlias = "Named | LastN | None"
"""How a setting is read; None is nothing usable, so the default counts (H5)."""

Form = Literal["line", "block", "default"]


@dataclass(frozen=True, slots=True)
class HistorySetting:
    """One HISTORY as it stands in a file (or a default: `form` `default`).

    `written` is what a reader finds there: `last_5`, or `mode last_n, count 0` for a block. `line` and `column` count
    from 1; for a block they are those of the word HISTORY.
    """

    written: str
    file: str
    line: int
    read: Read
    form: Form = "line"
    column: int = 1


@dataclass(frozen=True, slots=True)
class InForce:
    """What a handoff copies by (H4, H5): `auto` is resolved, `last` has a `count`, and where it comes from."""

    strategy: Literal["full", "none", "summary_only", "last"]
    count: int | None
    source: Literal["route", "project", "platform"]

    @property
    def name(self) -> str:
        """The strategy as one would write it: `last_6`."""
        return f"last_{self.count}" if self.strategy == "last" else self.strategy

    @property
    def requested(self) -> int | Literal["all"]:
        """How many rows it asks for."""
        if self.strategy == "full":
            return "all"
        return self.count or 0 if self.strategy == "last" else 0

    @property
    def rows_return(self) -> bool:
        """Whether a returning child's answers join the caller (H8): with `full` and `last_N`, not with `last_0`."""
        return self.requested != 0


def read_line(text: str) -> Read:
    """A value on one line: case and one pair of quotes do not count, and there are no comments (H6)."""
    word = bare(text)
    for name in NAMED:
        if word == name:
            return name
    found = re.fullmatch(r"last_([0-9]+)", word, re.ASCII)
    return LastN(whole(found[1])) if found else None


def bare(text: str) -> str:
    """`text` without white space around it and one pair of quotes, in lower case."""
    word = text.strip()
    if len(word) >= 2 and word[0] == word[-1] and word[0] in "\"'":
        word = word[1:-1].strip()
    return word.lower()


def whole(digits: str) -> int:
    """The number that ASCII digits are, however many there are."""
    short = digits.lstrip("0") or "0"
    return MOST if len(short) > 18 else int(short)


def default_setting(written: str, file: str = "", line: int = 0) -> HistorySetting:
    """The project's default, or one given for a run, read like a value on one line (H5)."""
    return HistorySetting(written, file, line, read_line(written), "default")


def resolve(setting: HistorySetting | None, project_default: HistorySetting | None, has_summary: bool) -> InForce:
    """What is in force on a route: its own setting if usable, else the project's, else `full` (H5).

    `has_summary` says that the route has a SUMMARY that is not blank (H4).
    """
    if setting is not None and setting.read is not None:
        return _in_force(setting.read, "route", has_summary)
    if project_default is not None and project_default.read is not None:
        return _in_force(project_default.read, "project", has_summary)
    return InForce("full", None, "platform")


def _in_force(read: Named | LastN, source: Literal["route", "project"], has_summary: bool) -> InForce:
    if isinstance(read, LastN):
        return InForce("last", read.count, source)
    if read == "auto":
        return InForce("summary_only", None, source) if has_summary else InForce("last", AUTO_COUNT, source)
    return InForce(read, None, source)
