"""What the compiler has to say about a line: a code, a place, and a sentence that says what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from runtime.values.diagnostic import Diagnostic, Severity

Code: TypeAlias = Literal[
    "E330", "E331", "W330", "W331", "W332", "W333", "W340", "E341", "W342", "E343", "E344", "W345", "E346",
    "I330", "I331", "I332", "I333", "I350",
]  # fmt: skip

CODES: Final[Mapping[Code, str]] = {
    "E330": "a HISTORY block needs one of the five modes",
    "E331": "mode last_n needs a count",
    "W330": "HISTORY is not recognised and falls back to the default",
    "W331": "the count of last_n is not usable and HISTORY falls back to the default",
    "W332": "summary_only without a SUMMARY",
    "W333": "written twice, or in a case that is not read there",
    "W340": "PASS of a field that the caller does not declare",
    "E341": "no agent of the project has this name",
    "W342": "a returnable target without COMPLETE",
    "E343": "a router without routes",
    "E344": "a section that may stand once stands twice",
    "W345": "a key, or a word in its place, that is not known there",
    "E346": "the text is not ABL",
    "I330": "a route without HISTORY",
    "I331": "few or no messages, and neither PASS nor SUMMARY",
    "I332": "last_0 sends no messages",
    "I333": "full hands on everything the customer said",
    "I350": "parsed but not executed",
}
"""Every code there is (H6 and the checks around it), and what it means in general."""

_SEVERITIES: Final[Mapping[str, Severity]] = {"E": "error", "W": "warning", "I": "info"}
_LONGEST_QUOTE = 60


class Findings:
    """Collects the diagnostics of one file while it is read."""

    def __init__(self, file: str, lines: tuple[str, ...] = ()) -> None:
        self.file, self._lines = file, lines
        self._found: list[Diagnostic] = []

    def text(self, line: int) -> str:
        """The line as it stands in the file, empty if there is none."""
        return self._lines[line - 1] if 0 < line <= len(self._lines) else ""

    def add(self, code: Code, line: int, column: int, message: str) -> None:
        """Note `code` at the place; the same finding at the same place is noted once."""
        self._found.append(Diagnostic(self.file, line, column, code, _SEVERITIES[code[0]], message))

    def __len__(self) -> int:
        return len(self._found)

    def sorted(self) -> list[Diagnostic]:
        """All findings in file order, without doubles."""
        return in_order(self._found)


def in_order(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics by file, line, column and code, without doubles."""
    return sorted(dict.fromkeys(found), key=lambda one: (one.file, one.line or 0, one.column or 0, one.code))


def has_errors(found: Iterable[Diagnostic]) -> bool:
    """Whether a project with these findings must not run (H6)."""
    return any(diagnostic.severity == "error" for diagnostic in found)


def below(found: Iterable[Diagnostic], folder: str) -> list[Diagnostic]:
    """The same findings with `folder` in front of each file."""
    return [replace(one, file=f"{folder}/{one.file}" if folder else one.file) for one in found]


def quoted(text: str) -> str:
    """`text` in back quotes for a message, on one line and not longer than a line can bear."""
    flat = " ".join(text.split())
    short = flat if len(flat) <= _LONGEST_QUOTE else flat[: _LONGEST_QUOTE - 3] + "..."
    return f"`{short}`"
