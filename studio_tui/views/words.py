"""The short words and marks of the panes: roles, how a turn ended, times, numbers."""

from __future__ import annotations

from datetime import datetime

from runtime.values.messages import Role
from runtime.values.record import Status, TurnRecord
from studio_tui.views.lines import Span, StyleName

ROLE: dict[Role, tuple[str, StyleName]] = {
    "user": ("user", "role-user"),
    "assistant": ("asst", "role-assistant"),
    "tool": ("tool", "role-tool"),
    "system": ("sys", "role-system"),
}
"""A role in four letters, and its style."""

STATUS: dict[Status, tuple[str, StyleName]] = {
    "running": ("●", "what-if"),
    "completed": ("✔", "ok"),
    "failed": ("✘", "error"),
    "cut": ("⊘", "warning"),
    "stopped": ("■", "warning"),
    "truncated": ("⋯", "warning"),
}
"""The mark of how a turn ended, and its style; the word stands beside it where it is not `completed`."""


def role_span(role: Role, pad: bool = True) -> Span:
    """The role as a column of four cells."""
    name, style = ROLE[role]
    return Span(f"{name:<4}" if pad else name, style)


def status_span(record: TurnRecord) -> Span:
    """The mark of how the turn ended."""
    return Span(*STATUS[record.status])


def status_words(record: TurnRecord) -> str:
    """How it ended in a word: `model-error` of a failed turn, `cut: steps`, `stopped`; empty if it completed."""
    if record.status == "completed":
        return ""
    if record.reason is None:
        return record.status
    return record.reason if record.status == "failed" else f"{record.status}: {record.reason}"


def seconds(value: float) -> str:
    """`0.00 s`, `12.3 s`, `2 min 5 s`."""
    if value < 10:
        return f"{value:.2f} s"
    if value < 100:
        return f"{value:.1f} s"
    return f"{int(value) // 60} min {int(value) % 60} s"


def ago(then: datetime, now: datetime | None) -> str:
    """How long ago, roughly; empty without `now`."""
    if now is None:
        return ""
    passed = max(0, int((now - then).total_seconds()))
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "min")):
        if passed >= size:
            count = passed // size
            return f"{count} {unit}{'s' if count > 1 and unit != 'min' else ''} ago"
    return "just now"


def number(count: int | None) -> str:
    """A count, or a dash where there is none."""
    return "–" if count is None else str(count)
