"""The CONTEXT pane: what was in front of the model and why, and what another window would change (X1 to X3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.values.messages import Row, Window
from runtime.values.record import ContextItem, TurnRecord
from studio_tui.views.lines import Line, Pane, Span


def context_pane(
    shown: TurnRecord | ContextItem | None,
    what_if: object | None = None,
    *,
    window: Window = 6,
    records: Sequence[TurnRecord] = (),
    rows: Mapping[int, Row] | None = None,
    folds: frozenset[str] = frozenset(),
) -> Pane:
    """The context of a turn's record, or of the coming turn (a ContextItem as `Runtime.preview` gives it; `window` is
    its window).

    `what_if` overlays another window and never alters the record. `records` are the thread's, for what was never
    stored; `rows` maps seq to rows whose text is known (those left out; load more when a range is unfolded). `folds`
    are the ids whose fold differs from how it begins. Ids: `row:SEQ`, `out:FIRST-LAST`, `section:NAME`, `tool:NAME`.
    """
    return Pane("CONTEXT", "RECORD", (Line("since", (Span("context"),)),))
