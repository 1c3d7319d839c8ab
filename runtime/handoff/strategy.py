"""What a handoff copies: the rows that the strategy in force asks for, and why the others stay (H1 to H4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from runtime.abl.history_setting import InForce
from runtime.history import units
from runtime.values.messages import Message, Row, Unreadable
from runtime.values.record import LeftOut

Place = tuple[str, int]
"""Where a row was first stored: thread id and seq."""


@dataclass(frozen=True, slots=True)
class Handled:
    """An earlier child of the caller, or a child of such a child: its thread's rows, oldest first.

    `sensitive` says that a field marked so got a value from the customer in it (H2).
    """

    thread: str
    rows: Sequence[Row]
    sensitive: bool = False


@dataclass(frozen=True, slots=True)
class Barred:
    """What no handoff may copy (H2): rows first stored in the threads of sensitive children, and the rows in which
    the customer said a sensitive value."""

    threads: Collection[str] = frozenset()
    rows: Collection[Place] = frozenset()

    def holds(self, place: Place) -> bool:
        return place[0] in self.threads or place in self.rows


@dataclass(frozen=True, slots=True)
class Copying:
    """The rows to copy, oldest first, as they stand in `threads` (the thread each was taken from, in the same order).

    `left_out` are the caller's rows that stay; `children` are the rows of earlier children that stay because a child
    is sensitive, by thread.
    """

    kept: tuple[Message, ...]
    threads: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    children: tuple[tuple[str, LeftOut], ...] = ()


def select(
    caller: str,
    rows: Sequence[Row],
    force: InForce,
    *,
    handled: Sequence[Handled] = (),
    barred: Barred | None = None,
    first_id: Callable[[Place], int] | None = None,
) -> Copying:
    """The rows of thread `caller` (all of them, oldest first, the trigger included) that a handoff copies.

    `full` adds the customer messages that `handled` children took, in the order of first insertion; `first_id` gives
    the insertion number of a row by the place where it was first stored (None: a row's own `id`). `last_N` takes the
    newest whole units of the caller alone; `none` and `summary_only` take nothing.
    """
    bars = barred or Barred()
    selection = units(rows, force.requested, bars=lambda row: bars.holds(place_of(caller, row)))
    if force.strategy != "full":
        return Copying(selection.kept, (caller,) * len(selection.kept), selection.left_out)
    sensitive = tuple((child.thread, left) for child in handled if child.sensitive for left in _all_of(child.rows))
    own = [(row, caller) for row in selection.kept]
    known = {place_of(caller, row) for row in rows if isinstance(row, Message)}
    joining = [pair for pair in _customer_rows(handled, bars) if place_of(pair[1], pair[0]) not in known]
    kept = _in_order(own, joining, first_id)
    return Copying(tuple(row for row, _ in kept), tuple(thread for _, thread in kept), selection.left_out, sensitive)


def place_of(thread: str, row: Message) -> Place:
    """Where a row of `thread` was first stored."""
    return (row.origin.thread, row.origin.seq) if row.origin is not None else (thread, row.seq)


def _customer_rows(handled: Sequence[Handled], bars: Barred) -> list[tuple[Message, str]]:
    """The customer messages of children that are not sensitive, each once."""
    seen: set[Place] = set()
    found: list[tuple[Message, str]] = []
    for child in handled:
        for row in () if child.sensitive else child.rows:
            if isinstance(row, Unreadable) or row.role != "user":
                continue
            place = place_of(child.thread, row)
            if place not in seen and not bars.holds(place):
                seen.add(place)
                found.append((row, child.thread))
    return found


def _in_order(
    own: list[tuple[Message, str]], joining: list[tuple[Message, str]], first_id: Callable[[Place], int] | None
) -> list[tuple[Message, str]]:
    """Both by first insertion. Without anything to join the caller's rows stay as they stand."""
    if not joining:
        return own

    def inserted(pair: tuple[Message, str]) -> int:
        return pair[0].id if first_id is None else first_id(place_of(pair[1], pair[0]))

    return sorted([*own, *joining], key=inserted)


def _all_of(rows: Sequence[Row]) -> tuple[LeftOut, ...]:
    return (LeftOut(rows[0].seq, rows[-1].seq, "sensitive-child"),) if rows else ()
