"""The TURNS pane: the thread's root turns with their runs under them, the coming turn, and the forks."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.stores import Thread
from runtime.values.record import TurnRecord
from studio_tui.views.lines import Line, Pane, Span

NEXT = "next"
"""The id of the line that stands for the coming turn (X3)."""


def turns_pane(
    records: Sequence[TurnRecord],
    *,
    what_next: str | None = "nothing sent",
    forks: Sequence[Thread] = (),
    folds: frozenset[str] = frozenset(),
) -> Pane:
    """The turns of a thread, oldest first, runs on views under the turn they repeat.

    Ids: `turn:ID` for turns and runs, `next` (left out if `what_next` is None), `fork:THREAD`.
    """
    lines = [
        Line(f"turn:{record.turn}", (Span(f"{record.number} {record.request}"),), wrap=False) for record in records
    ]
    return Pane("TURNS", "", tuple(lines))
