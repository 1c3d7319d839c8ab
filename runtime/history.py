"""Which stored rows are in front of the model, and why the others are not. Pure: rows in, selection out.

Two policies: `window` (S2, S3, S6: the newest N rows, zero is none) and `units` (H2, H3: what a handoff copies).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from runtime.values.messages import Message, Row, Unreadable, Window
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
