"""The MODEL pane: what the model did with its context, step by step, and how the turn ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from runtime.values.items import ToolCall, ToolResult
from runtime.values.record import TurnRecord
from studio_tui.views.lines import Line, Pane, Span


@dataclass(frozen=True, slots=True)
class Live:
    """What a running turn is doing between two journal items: the step and tier called, its text so far, its calls.

    `results` are those of calls that have ended while others of their group still run.
    """

    step: int = 1
    model: str = ""
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


def model_pane(
    record: TurnRecord | None,
    *,
    what_if: object | None = None,
    reruns: Sequence[TurnRecord] = (),
    live: Live | None = None,
    now: datetime | None = None,
    folds: frozenset[str] = frozenset(),
) -> Pane:
    """The steps of a turn, calls and results, attempts, delegated turns, the ending; then the what-if and the re-runs.

    `now` tells how long ago a re-run was. Ids: `step:N`, `call:ID`, `result:ID`, `child:TURN`, `rerun:TURN`.
    """
    return Pane("MODEL", "RECORD", (Line("ended", (Span("model"),)),))
