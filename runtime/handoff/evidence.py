"""What a handoff chooses from, read from the store once, and what any setting would choose from it (H1 to H6, X3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from runtime.abl.history_setting import HistorySetting, InForce, default_setting, read_line, resolve
from runtime.errors import UnknownThread
from runtime.handoff.strategy import Barred, Copying, Handled, Place, place_of, select
from runtime.stores import Ledger
from runtime.values.messages import Message, Row

_NEWEST = 64


@dataclass(frozen=True, slots=True)
class Evidence:
    """The rows of the caller's thread, oldest first (all of them, or the newest that matter to a count), what its
    earlier children handled, and what no handoff may copy. `ids` are the insertion numbers by first place."""

    caller: str
    rows: Sequence[Row]
    handled: tuple[Handled, ...] = ()
    barred: Barred = field(default_factory=Barred)
    ids: Mapping[Place, int] = field(default_factory=dict)
    has_summary: bool = False
    default: HistorySetting | None = None

    def choose(self, force: InForce) -> Copying:
        """The rows that a strategy in force copies."""
        return select(
            self.caller, self.rows, force, handled=self.handled, barred=self.barred, first_id=lambda at: self.ids[at]
        )


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What a route would copy under another HISTORY: how the setting is read, and the rows."""

    setting: HistorySetting | None
    force: InForce
    copying: Copying


def what_if(evidence: Evidence, written: str | HistorySetting | None) -> WhatIf:
    """What the handoff would have copied with this HISTORY on its route (a value on one line, None: none at all).

    Pure: nothing is stored or run. What is not recognised falls to the default, as it would (H6).
    """
    setting = HistorySetting(written, "", 0, read_line(written)) if isinstance(written, str) else written
    force = resolve(setting, evidence.default, evidence.has_summary)
    return WhatIf(setting, force, evidence.choose(force))


class Seen(Protocol):
    """A child as a handoff saw it: a live one, or one from the log."""

    @property
    def thread(self) -> str: ...
    @property
    def rows(self) -> int: ...
    @property
    def sensitive(self) -> bool: ...


async def read_evidence(
    ledger: Ledger,
    caller: str,
    *,
    upto: int,
    children: Iterable[Seen],
    barred: Barred,
    has_summary: bool = False,
    default: HistorySetting | None = None,
) -> Evidence:
    """Everything that any strategy could choose from: the caller's rows 1..`upto`, and its children's."""
    rows = await ledger.rows(caller, 1, upto)
    handled: list[Handled] = []
    for one in children:
        handled.append(Handled(one.thread, await ledger.rows(one.thread, 1, one.rows), one.sensitive))
    ids = await _first_ids(ledger, [(caller, rows), *((one.thread, one.rows) for one in handled)])
    return Evidence(caller, rows, tuple(handled), barred, ids, has_summary, default)


async def newest_evidence(
    ledger: Ledger, caller: str, force: InForce, barred: Barred, *, pending: Sequence[Message] = ()
) -> Evidence:
    """No more of the caller's rows than a strategy other than `full` needs, whatever the conversation's length.

    `pending` are rows that are about to be stored. A unit never begins with a tool row that has its call before it:
    rows from the first that is no tool row on are whole units, so the walk of `units` is the same as over all rows.
    """
    stored = (await ledger.select(caller, 0)).stored
    count = force.count or 0
    size = 1 if force.requested == 0 else max(_NEWEST, 2 * min(count, stored))
    while True:
        first = max(1, stored - size + 1)
        rows: list[Row] = [*await ledger.rows(caller, first, stored), *pending]
        if first > 1 and count:
            rows = _whole_units(rows)
        evidence = Evidence(caller, rows, barred=barred)
        if first == 1 or not count or _settled(evidence.choose(force), count):
            return evidence
        size *= 4


def default_of(written: str | None) -> HistorySetting | None:
    """A default given for a run, read like a value on one line (H5)."""
    return None if written is None else default_setting(written)


def _whole_units(rows: list[Row]) -> list[Row]:
    start = next((at for at, row in enumerate(rows) if isinstance(row, Message) and row.role != "tool"), len(rows))
    return rows[start:]


def _settled(found: Copying, count: int) -> bool:
    """Whether the walk ended among the rows it had: the count is full, or a unit was too large."""
    return len(found.kept) == count or any(one.reason == "unit-too-large" for one in found.left_out)


async def _first_ids(ledger: Ledger, threads: Sequence[tuple[str, Sequence[Row]]]) -> dict[Place, int]:
    """The insertion number of every row by the place where it was first stored.

    Of a copy it is the first row's; where that is gone, the oldest copy's. One read for each thread named.
    """
    found: dict[Place, int] = {}
    wanted: dict[str, list[int]] = {}
    known = {thread for thread, _ in threads}
    for thread, rows in threads:
        for row in rows:
            if not isinstance(row, Message):
                continue
            place = place_of(thread, row)
            found[place] = min(row.id, found.get(place, row.id))
            if row.origin is not None and row.origin.thread not in known:
                wanted.setdefault(row.origin.thread, []).append(row.origin.seq)
    for thread, seqs in wanted.items():
        for row in await _rows_if_there(ledger, thread, min(seqs), max(seqs)):
            place = (thread, row.seq)
            if place in found:
                found[place] = min(row.id, found[place])
    return found


async def _rows_if_there(ledger: Ledger, thread: str, first: int, last: int) -> list[Row]:
    try:
        return await ledger.rows(thread, first, last)
    except UnknownThread:
        return []
