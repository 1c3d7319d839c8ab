"""The MODEL pane: what the model did with its context, step by step, and how the turn ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from runtime.explain import WhatIf, turn_name
from runtime.values.record import TurnRecord
from studio_tui.views.ending import ending_lines, rerun_lines, what_if_lines
from studio_tui.views.lines import Line, Pane, Span
from studio_tui.views.steps import Live, step_lines

__all__ = ["Live", "model_pane"]


def model_pane(
    record: TurnRecord | None,
    *,
    what_if: WhatIf | None = None,
    reruns: Sequence[TurnRecord] = (),
    live: Live | None = None,
    now: datetime | None = None,
    folds: frozenset[str] = frozenset(),
) -> Pane:
    """The steps of a turn, calls and results, attempts, delegated turns, the ending; then the what-if and the re-runs.

    `live` is what a running turn does between two journal items, `now` tells how long ago a re-run was. Ids: `step:N`,
    `call:ID`, `result:ID`, `rerun:TURN`; `delegated:TURN` folds a delegated turn's steps, `child:TURN` is where one
    enters it.
    """
    if record is None:
        told = Span("not run: what the model does stands here once the request is sent", "muted")
        return Pane("MODEL", "", (Line("told", (told,), indent=1, kind="note"),))
    lines = [
        *step_lines(record, live, folds),
        *ending_lines(record),
        *(what_if_lines(record, what_if) if what_if is not None else ()),
        *(line for rerun in reruns for line in rerun_lines(record, rerun, now)),
    ]
    return Pane(f"MODEL of {turn_name(record)}", _badge(record), tuple(lines))


def _badge(record: TurnRecord) -> str:
    if record.status == "running":
        return "RUNNING"
    return "RECORD" if record.origin == "run" else record.origin.upper()
