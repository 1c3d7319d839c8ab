"""The turns of one thread, ten thousand of them as cheap as ten: whole records where they were read, else outlines."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.values.record import Turn, TurnRecord

REMEMBERED = 400
"""Whole records kept at once; older ones are read again when they are looked at."""


class TurnList:
    """Root turns and runs on views, oldest first. `version` grows when anything of what is listed changes."""

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self.turns: list[Turn] = []
        self.roots: list[Turn] = []
        self.version = 0
        self._at: dict[str, int] = {}
        self._runs: dict[str, list[str]] = {}
        self._records: list[TurnRecord] = []
        self._whole: OrderedDict[str, TurnRecord] = OrderedDict()
        self._requests: list[str] = []
        self.take(turns)

    def __len__(self) -> int:
        return len(self.turns)

    @property
    def records(self) -> Sequence[TurnRecord]:
        """All of them, in order; those not read whole have neither context nor steps."""
        return tuple(self._records)

    @property
    def requests(self) -> tuple[str, ...]:
        """The requests sent on this thread, oldest first, equal neighbours once."""
        return tuple(self._requests)

    def get(self, id: str) -> Turn | None:
        """The turn's row, None if it is not listed."""
        at = self._at.get(id)
        return None if at is None else self.turns[at]

    def place(self, id: str) -> int | None:
        """Where it stands in `turns`."""
        return self._at.get(id)

    def runs_of(self, id: str) -> list[str]:
        """The ids of the re-runs of a turn, oldest first."""
        return list(self._runs.get(id, ()))

    def record(self, id: str) -> TurnRecord | None:
        """What is known of it: the whole record, else its outline."""
        at = self._at.get(id)
        return None if at is None else self._records[at]

    def whole(self, id: str) -> TurnRecord | None:
        """The whole record, None if it was not read or is forgotten."""
        record = self._whole.get(id)
        if record is not None:
            self._whole.move_to_end(id)
        return record

    def take(self, turns: Iterable[Turn]) -> None:
        """Add turns, or take in what has become of those listed; a whole record of an older state is forgotten."""
        for turn in turns:
            at = self._at.get(turn.id)
            if at is None:
                self._add(turn)
            elif self.turns[at] != turn:
                self._change(at, turn)

    def keep(self, record: TurnRecord) -> None:
        """Remember a whole record."""
        at = self._at.get(record.turn)
        if at is None:
            return
        if self._records[at] is not record:
            self._records[at] = record
            self.version += 1
        self._whole[record.turn] = record
        self._whole.move_to_end(record.turn)
        while len(self._whole) > REMEMBERED:
            gone, _ = self._whole.popitem(last=False)
            self._records[self._at[gone]] = self._outline(self.turns[self._at[gone]])

    def _add(self, turn: Turn) -> None:
        self._at[turn.id] = len(self.turns)
        self.turns.append(turn)
        self._records.append(self._outline(turn))
        self.version += 1
        if turn.view is not None:
            self._runs.setdefault(turn.rerun_of or "", []).append(turn.id)
            return
        self.roots.append(turn)
        if turn.origin == "run" and turn.request and self._requests[-1:] != [turn.request]:
            self._requests.append(turn.request)

    def _change(self, at: int, turn: Turn) -> None:
        old, self.turns[at] = self.turns[at], turn
        self._records[at] = self._outline(turn)
        self._whole.pop(turn.id, None)
        self.version += 1
        if turn.view is None:
            self.roots[self.roots.index(old)] = turn

    @staticmethod
    def _outline(turn: Turn) -> TurnRecord:
        from studio_tui.live import outline

        return outline(turn)
