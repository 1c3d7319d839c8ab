"""Which rows each window takes of a point of a thread: known before anything runs, so that equal ones run once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from runtime.stores import Ledger
from runtime.subject import Subject
from runtime.values.messages import Window

WHOLE = 2000
"""Rows up to which a thread is looked at whole; of a longer one only what the largest window takes."""


@dataclass(frozen=True, slots=True)
class Reach:
    """`stored` rows in all, the request's among them, the `unreadable` among them (ascending: they take no place, S6)
    and those that an experiment `drop`s (they take theirs, X7)."""

    stored: int
    unreadable: tuple[int, ...] = ()
    drop: frozenset[int] = frozenset()
    _entered: dict[tuple[Window, Window | None], tuple[int, ...]] = field(default_factory=dict, compare=False)

    @property
    def readable(self) -> int:
        """How many rows `all` counts."""
        return self.stored - len(self.unreadable)

    def counted(self, window: Window) -> int:
        """How many rows a window counts: never more than there are."""
        return self.readable if window == "all" else min(max(0, window), self.readable)

    def oldest(self, window: Window) -> int:
        """The seq of the oldest row that a window takes; one more than the newest seq if it takes none."""
        seq = self.stored + 1 - self.counted(window)
        for unreadable in reversed(self.unreadable):
            if unreadable >= seq:
                seq -= 1
        return seq if self.counted(window) else self.stored + 1

    def selected(self, window: Window) -> int:
        """How many rows are in front of the model: the same number is the same rows."""
        oldest = self.oldest(window)
        return self.counted(window) - sum(seq >= oldest for seq in self.drop - set(self.unreadable))

    def entered(self, window: Window, smaller: Window | None) -> tuple[int, ...]:
        """The rows that `window` has and `smaller` (None: no window at all) has not, ascending."""
        if (window, smaller) not in self._entered:  # long for `all` of a long thread, and asked for after every run
            end = self.oldest(smaller) if smaller is not None else self.stored + 1
            out = self.drop | set(self.unreadable)
            rows = range(self.oldest(window), end)
            self._entered[window, smaller] = tuple(seq for seq in rows if seq not in out) if out else tuple(rows)
        return self._entered[window, smaller]


async def look(
    ledger: Ledger, subject: Subject, windows: Iterable[Window], drop: Iterable[int], *, whole: bool
) -> Reach:
    """The reach of `windows` at `subject`; with `whole`, of every window. Raises UnknownThread."""
    stored = subject.stored
    unreadable: tuple[int, ...] = ()
    counts = [window for window in windows if window != "all" and 0 < window < stored]
    if whole or stored <= WHOLE or counts:
        widest: Window = "all" if whole or stored <= WHOLE else max(counts) - (stored - subject.upto)
        found = await ledger.select(subject.thread.id, widest, upto=subject.upto)
        unreadable = tuple(sorted(row.seq for row in found.unreadable))
    return Reach(stored, unreadable, frozenset(drop))
