"""A problem found in something people write: where it stands, how bad it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem of one file, as `studio-tui check` lists it.

    `line` and `column` count from 1; None where the problem has no single place. `code` is stable (`S106`, `W330`).
    `message` is one sentence and stands alone: it names the field it speaks of.
    """

    file: str
    line: int | None
    column: int | None
    code: str
    severity: Severity
    message: str
    field: str = ""
