"""Which stored rows are in front of the model, and why the others are not. Pure: rows in, selection out.

Two policies: `window` (S2, S3, S6: the newest N rows, zero is none) and `units` (H2, H3: what a handoff copies).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from runtime.values.json import Json
from runtime.values.messages import Message, Row, Unreadable, Window, calls_of
from runtime.values.record import LeftOut, LeftOutReason

R = TypeVar("R", bound="Message | Unreadable")


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows kept, oldest first, and every other row of the thread as ranges with one reason each (X1)."""

    kept: tuple[Message, ...]
    left_out: tuple[LeftOut, ...]


def window(rows: Sequence[Row], size: Window) -> Selection:
    """The newest `size` readable rows of `rows` (all rows of a thread, oldest first), the rest with reasons.

    A size of 0 or less keeps nothing (S3); `all` and sizes larger than the thread keep every readable row.
    """
    kept: list[Message] = []
    unreadable: list[int] = []
    wanted = len(rows) if size == "all" else max(0, min(size, len(rows)))
    for row in reversed(rows):
        if len(kept) == wanted:
            break
        if isinstance(row, Message):
            kept.append(row)
        else:
            unreadable.append(row.seq)
    kept.reverse()
    stored = rows[-1].seq if rows else 0
    return Selection(tuple(kept), left_out([row.seq for row in kept], unreadable, stored=stored, size=size))


def units(rows: Sequence[Row], count: Window, *, bars: Callable[[Message], bool] = lambda row: False) -> Selection:
    """The newest whole units of `rows` (all rows of a thread, oldest first) that `count` has room for (H3).

    An assistant row with calls and the tool rows that answer them right after it are one unit; every other row is
    one by itself. The walk starts at the newest unit and ends at the first that does not fit. Rows that `bars` names
    are as if they were not there (H2), and `all` keeps every other readable row. What costs work is what is taken.
    """
    room = len(rows) if count == "all" else max(0, min(count, len(rows)))
    kept: list[Message] = []
    reasons: dict[int, LeftOutReason] = {}
    looked = _Newest(rows, bars, reasons)
    while room > 0 and (unit := looked.unit()):
        if len(unit) > room:
            reasons.update(dict.fromkeys((row.seq for row in unit), "unit-too-large"))
            break
        kept.extend(reversed(unit))
        room -= len(unit)
    kept.reverse()
    stored = rows[-1].seq if rows else 0
    otherwise: LeftOutReason = "strategy-none" if count != "all" and count <= 0 else "older-than-count"
    taken = {row.seq for row in kept}
    return Selection(tuple(kept), _ranges(1, stored, taken, reasons, otherwise))


def in_units(rows: Sequence[Row]) -> tuple[tuple[Message, ...], ...]:
    """The units of `rows` (H3), oldest first, unreadable rows left out."""
    looked = _Newest(rows, lambda row: False, {})
    found = list(iter(looked.unit, ()))
    return tuple(reversed(found))


class _Newest:
    """A walk over rows from the newest to the oldest, unit by unit; what it passes over is noted in `reasons`."""

    def __init__(self, rows: Sequence[Row], bars: Callable[[Message], bool], reasons: dict[int, LeftOutReason]) -> None:
        self._rows = self._readable(rows, bars, reasons)
        self._ready: deque[tuple[Message, ...]] = deque()

    def unit(self) -> tuple[Message, ...]:
        """The next older unit, its rows oldest first; empty when there is none."""
        if self._ready:
            return self._ready.popleft()
        results: list[Message] = []
        for row in self._rows:
            if row.role == "tool":
                results.append(row)
                continue
            self._ready.extend(_split(row, results))
            return self._ready.popleft()
        self._ready.extend((result,) for result in results)
        return self._ready.popleft() if self._ready else ()

    @staticmethod
    def _readable(
        rows: Sequence[Row], bars: Callable[[Message], bool], reasons: dict[int, LeftOutReason]
    ) -> Iterator[Message]:
        for row in reversed(rows):
            if isinstance(row, Unreadable):
                reasons[row.seq] = "unreadable"
            elif bars(row):
                reasons[row.seq] = "sensitive-child"
            else:
                yield row


def _split(row: Message, results: list[Message]) -> list[tuple[Message, ...]]:
    """The units of a row and the tool rows right after it (newest first), newest first."""
    calls = [call.get("id") for call in calls_of(row.parts)] if row.role == "assistant" else []
    answers = [at for at, result in enumerate(results) if calls and _answers(result, calls)]
    first = answers[0] if answers else len(results)
    alone = [(result,) for result in results[:first]]
    return [*alone, (row, *reversed(results[first:]))]


def _answers(result: Message, calls: list[Json]) -> bool:
    """Whether a tool row answers one of `calls`; a row that names no call answers those right before it."""
    named = [part.get("call") for part in result.parts or () if part.get("type") == "tool_result"]
    return not named or any(call in calls for call in named)


def left_out(
    kept: Sequence[int],
    unreadable: Iterable[int] = (),
    *,
    stored: int,
    size: Window,
    omitted: Mapping[int, LeftOutReason] | None = None,
) -> tuple[LeftOut, ...]:
    """Every seq of 1..`stored` that is not in `kept` (ascending), as ranges with their reason, oldest first.

    `unreadable` are the seqs that could not be decoded among the rows looked at; `omitted` names other reasons by
    seq. What is older than the first row looked at is `older-than-window`, or `history-declined` for size <= 0.
    """
    if size != "all" and size <= 0:
        reasons: dict[int, LeftOutReason] = dict(omitted or {})
        return _ranges(1, stored, set(), reasons, "history-declined")
    reasons = {**_unreadable(unreadable), **(omitted or {})}
    taken = set(kept)
    looked_at = [*taken, *reasons]
    oldest = min(looked_at, default=stored + 1)
    older = LeftOut(1, oldest - 1, "older-than-window")
    rest = _ranges(oldest, stored, taken, reasons, "older-than-window")
    return (older, *rest) if older.count > 0 else rest


def needs(seq: int, stored: int, unreadable: Iterable[int] = ()) -> int:
    """The smallest window that includes row `seq` of a thread of `stored` rows (X2): readable rows from it on."""
    return stored - seq + 1 - sum(1 for other in unreadable if other > seq)


def _ranges(
    first: int, last: int, kept: set[int], reasons: Mapping[int, LeftOutReason], otherwise: LeftOutReason
) -> tuple[LeftOut, ...]:
    """Rows first..last that are not kept, runs of one reason joined; only rows with a reason of their own cost work
    when nothing is kept."""
    marks = sorted(seq for seq in {*kept, *reasons} if first <= seq <= last)
    found: list[LeftOut] = []
    at = first
    for seq in [*marks, last + 1]:
        if at < seq:
            _extend(found, LeftOut(at, seq - 1, otherwise))
        if seq <= last and seq not in kept:
            _extend(found, LeftOut(seq, seq, reasons[seq]))
        at = seq + 1
    return tuple(found)


def _unreadable(seqs: Iterable[int]) -> dict[int, LeftOutReason]:
    return dict.fromkeys(seqs, "unreadable")


def _extend(found: list[LeftOut], new: LeftOut) -> None:
    if found and found[-1].reason == new.reason and found[-1].last + 1 == new.first:
        found[-1] = LeftOut(found[-1].first, new.last, new.reason)
    else:
        found.append(new)
