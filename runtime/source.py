"""Where a turn's rows come from: the thread as it is, or a view of it at one point (X4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from runtime.stores import Ledger, Selected
from runtime.values.messages import Message, Window
from runtime.values.record import LeftOutReason, View


@dataclass(frozen=True, slots=True)
class Source:
    """The rows 1..`upto` of `thread` (None: all there are), some with other text, and `asked` as the newest row.

    `asked` is the request of a run: it is stored nowhere, and counts as the newest row all the same.
    """

    thread: str
    upto: int | None = None
    view: View | None = None
    asked: str | None = None

    async def select(self, ledger: Ledger, window: Window) -> Selected:
        """What `window` takes, as if `asked` were stored. Raises UnknownThread."""
        if self.asked is None:
            return self._edited(await ledger.select(self.thread, window, upto=self.upto))
        behind = window if window == "all" else window - 1
        found = self._edited(await ledger.select(self.thread, behind, upto=self.upto))
        seq = found.stored + 1
        if window != "all" and window <= 0:
            return Selected((), (), seq)
        asked = Message(seq, "user", self.asked, None, None, datetime.now(UTC))
        return Selected((*found.rows, asked), found.unreadable, seq)

    @property
    def dropped(self) -> dict[int, LeftOutReason]:
        """The rows an experiment left out, by seq (X7)."""
        return dict.fromkeys(self.view.drop, "dropped") if self.view else {}

    def _edited(self, selected: Selected) -> Selected:
        edit = self.view.edit if self.view else None
        if not edit:
            return selected
        rows = tuple(replace(row, text=edit[row.seq]) if row.seq in edit else row for row in selected.rows)
        return replace(selected, rows=rows)
