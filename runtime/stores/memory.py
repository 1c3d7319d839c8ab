"""A store in memory: the frozen rows and journals themselves, gone with the process. For tests and `memory:`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from runtime.stores import BODY_BYTES, Experiment, NewThread, NewTurn, PastTurn, Selected, Thread
from runtime.stores.ids import thread_id
from runtime.stores.memory_ledger import MemoryLedger, ThreadEntry
from runtime.stores.turns import check_message, check_rows, check_seq, utc_now
from runtime.values.json import Json, JsonObject
from runtime.values.messages import Message, NewMessage, Row, Unreadable, Window
from runtime.values.record import JournalItem, Settlement, Turn


class MemoryStore:
    """Both protocols in memory; see `Threads` and `Ledger` for what each method promises.

    `body_bytes` bounds the request bodies kept (A6); `clock` tells the time of rows and turns, aware, UTC.
    """

    def __init__(self, *, body_bytes: int = BODY_BYTES, clock: Callable[[], datetime] = utc_now) -> None:
        self._ledger = MemoryLedger(body_bytes=body_bytes, clock=clock)
        self._clock = clock
        self._inserted = 0

    # Threads

    async def create(self, *, agent: str = "", state: Mapping[str, Json] | None = None) -> str:
        return await self.create_thread(NewThread(agent, state=state))

    async def append(self, thread: str, *messages: NewMessage) -> tuple[Message, ...]:
        return self._append(self._ledger.entry(thread), messages, None)

    async def list_messages(self, thread: str, window: Window) -> list[Message]:
        entry = self._ledger.entry(thread)
        return list(_newest(entry, window, entry.length).rows)

    async def length(self, thread: str) -> int:
        return self._ledger.entry(thread).length

    async def fork(self, thread: str, seq: int) -> str:
        base = self._ledger.entry(thread)
        check_seq(seq, base.length)
        return self._ledger.add_fork(self._fresh(), base, seq).id

    # Ledger: threads

    async def create_thread(self, new: NewThread, messages: Sequence[NewMessage] = ()) -> str:
        entry = self._ledger.add_thread(self._fresh(), new)
        self._append(entry, messages, None)
        return entry.id

    @asynccontextmanager
    async def fill(self, new: NewThread) -> AsyncIterator[MemoryFilling]:
        entry = self._ledger.hidden_thread(self._fresh(), new)
        yield MemoryFilling(self._ledger, entry, lambda messages: self._append(entry, messages, None))
        self._ledger.show(entry)

    async def thread(self, thread: str) -> Thread:
        entry = self._ledger.entry(thread)
        return entry.described(entry.length)

    async def threads(self, *, limit: int | None = None) -> list[Thread]:
        entries = self._ledger.newest_first()
        return [entry.described(entry.length) for entry in entries[: None if limit is None else max(0, limit)]]

    async def forks(self, thread: str) -> list[Thread]:
        self._ledger.entry(thread)
        return [entry.described(entry.length) for entry in self._ledger.forks(thread)]

    async def update_thread(
        self, thread: str, *, status: str | None = None, state: JsonObject | None = None, name: str | None = None
    ) -> None:
        self._ledger.update(self._ledger.entry(thread), status, state, name)

    async def add_events(self, thread: str, events: Sequence[JsonObject]) -> None:
        self._ledger.add_events(self._ledger.entry(thread), events)

    async def events(self, thread: str) -> list[JsonObject]:
        return list(self._ledger.entry(thread).events)

    async def delete_thread(self, thread: str, *, with_forks: bool = False) -> tuple[str, ...]:
        return self._ledger.delete(thread, with_forks=with_forks)

    async def select(self, thread: str, window: Window, *, upto: int | None = None) -> Selected:
        entry = self._ledger.entry(thread)
        return _newest(entry, window, entry.length if upto is None else min(max(0, upto), entry.length))

    async def rows(self, thread: str, first: int, last: int) -> list[Row]:
        entry = self._ledger.entry(thread)
        return _rows(entry, max(1, first), min(last, entry.length))

    async def state(self, thread: str, *, seq: int | None = None) -> JsonObject:
        entry = self._ledger.entry(thread)
        if seq is not None:
            check_seq(seq, entry.length)
        return self._ledger.state_at(entry, seq)

    # Ledger: turns

    async def open_turn(self, new: NewTurn, message: NewMessage | None = None) -> Turn:
        entry = self._ledger.entry(new.thread)
        check_message(new, message)
        before = self._ledger.prepare(entry, new, entry.length)
        turn = self._ledger.open(entry, new, before, None if message is None else before + 1)
        if message is not None:
            self._append(entry, (message,), turn.id)
        return turn

    async def journal(
        self,
        turn: str,
        items: Sequence[JournalItem],
        *,
        state: JsonObject | None = None,
        bodies: Mapping[int, bytes] | None = None,
    ) -> None:
        self._ledger.journal(self._ledger.turn_entry(turn), items, state, bodies)

    async def settle(
        self,
        turn: str,
        items: Sequence[JournalItem],
        settlement: Settlement,
        *,
        rows: Sequence[NewMessage] = (),
        message: NewMessage | None = None,
        state: JsonObject,
        bodies: Mapping[int, bytes] | None = None,
    ) -> Turn:
        entry = self._ledger.turn_entry(turn)
        if entry.turn.status != "running":
            return entry.turn
        check_rows(entry.turn, rows, message)
        self._ledger.check_items(entry, items)
        thread = entry.thread
        added = self._append(thread, rows if message is None else (*rows, message), turn)
        stored = None if message is None else added[-1].seq
        return self._ledger.settle(entry, items, settlement, stored, state, bodies, thread.length)

    async def renew(self, turns: Sequence[str]) -> None:
        self._ledger.renew(turns)

    async def interrupted(self, turn: Turn) -> bool:
        return self._ledger.interrupted(turn)

    async def turn(self, turn: str) -> Turn:
        return self._ledger.turn_entry(turn).turn

    async def turns(
        self, thread: str, *, runs: bool = True, before: int | None = None, limit: int | None = None
    ) -> list[Turn]:
        return self._ledger.turns(self._ledger.entry(thread), runs=runs, before=before, limit=limit)

    async def children(self, turn: str) -> list[Turn]:
        return [child.turn for child in self._ledger.turn_entry(turn).children]

    async def items(self, turn: str) -> list[JournalItem]:
        return list(self._ledger.turn_entry(turn).items)

    async def body(self, turn: str, step: int) -> bytes | None:
        self._ledger.turn_entry(turn)
        return self._ledger.body(turn, step)

    # Ledger: experiments

    async def put_experiment(self, experiment: Experiment) -> Experiment:
        self._ledger.entry(experiment.thread)
        return self._ledger.experiments.put(experiment, self._ledger.clock())

    async def experiment(self, experiment: str) -> Experiment:
        return self._ledger.experiments.get(experiment)

    async def experiments(self, thread: str | None = None, *, limit: int | None = None) -> list[Experiment]:
        if thread is not None:
            self._ledger.entry(thread)
        return self._ledger.experiments.newest_first(thread, limit)

    async def runs_of(self, experiment: str) -> list[Turn]:
        return self._ledger.runs_of(experiment)

    async def changed(self) -> int:
        return 0

    async def close(self) -> None:
        """Nothing to close."""

    def _fresh(self) -> str:
        return thread_id(self._ledger.threads.__contains__)

    def _append(self, entry: ThreadEntry, messages: Sequence[NewMessage], turn: str | None) -> tuple[Message, ...]:
        at = self._clock()
        added = tuple(
            Message(seq, new.role, new.text, new.parts, turn, at, id, new.origin, new.source, new.flags)
            for id, seq, new in zip(
                range(self._inserted + 1, self._inserted + len(messages) + 1),
                range(entry.length + 1, entry.length + len(messages) + 1),
                messages,
                strict=True,
            )
        )
        self._inserted += len(added)
        entry.rows.extend(added)
        self._ledger.touch(entry)
        return added


class MemoryFilling:
    """See `Filling`. `append` stores rows of the entry, which is not among the threads yet."""

    def __init__(
        self, ledger: MemoryLedger, entry: ThreadEntry, append: Callable[[Sequence[NewMessage]], object]
    ) -> None:
        self._ledger, self._entry, self._append = ledger, entry, append

    @property
    def thread(self) -> str:
        return self._entry.id

    async def append(self, messages: Sequence[NewMessage]) -> None:
        self._append(messages)
        await asyncio.sleep(0)

    async def turn_ids(self, count: int) -> list[str]:
        return [self._ledger.free_turn_id() for _ in range(count)]

    async def add_turns(self, turns: Sequence[PastTurn]) -> None:
        for turn in turns:
            self._ledger.add_past(self._entry, turn)
        await asyncio.sleep(0)


def _newest(entry: ThreadEntry, window: Window, stored: int) -> Selected:
    """The newest `window` readable rows of rows 1..`stored` (S2, S3, S6)."""
    wanted = stored if window == "all" else min(max(0, window), stored)
    rows = _rows(entry, stored - wanted + 1, stored)
    unreadable = [row for row in rows if isinstance(row, Unreadable)]
    if not unreadable:
        return Selected(tuple(row for row in rows if isinstance(row, Message)), (), stored)
    kept: list[Message] = []
    unreadable = []
    for row in _backwards(entry, stored):
        if len(kept) == wanted:
            break
        if isinstance(row, Message):
            kept.append(row)
        else:
            unreadable.append(row)
    return Selected(tuple(reversed(kept)), tuple(reversed(unreadable)), stored)


def _backwards(entry: ThreadEntry, stored: int) -> Iterator[Row]:
    for seq in range(stored, 0, -1):
        yield from _rows(entry, seq, seq)


def _rows(entry: ThreadEntry, first: int, last: int) -> list[Row]:
    """The rows first..last, which lie within the thread, from the bases and its own."""
    start = entry.start
    if first > start:
        return entry.rows[first - start - 1 : max(0, last - start)]
    rows: list[Row] = []
    for segment in entry.segments:
        if first <= segment.upto and first <= last:
            base = segment.base
            rows += base.rows[first - base.start - 1 : min(last, segment.upto) - base.start]
            first = segment.upto + 1
    return rows + entry.rows[: max(0, last - start)]
