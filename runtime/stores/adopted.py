"""Somebody else's threads with a ledger of ours beside them, in memory: what a `Runtime` needs to run over them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from runtime.errors import StoreError, StudioError
from runtime.stores import BODY_BYTES, Experiment, NewThread, NewTurn, PastTurn, Selected, Thread, Threads
from runtime.stores.memory_ledger import MemoryLedger, ThreadEntry, TurnEntry, holder_of
from runtime.stores.turns import check_message, check_rows, check_seq, utc_now
from runtime.values.json import Json, JsonObject
from runtime.values.messages import Message, NewMessage, Origin, Row, Unreadable, Window
from runtime.values.record import JournalItem, Settlement, Turn

T = TypeVar("T")


class Adopted:
    """A Store over any five-method `Threads`: rows are theirs, turns and journals are kept here and end with us.

    The rows that turns write are told their turn here. What their store raises that is no error of ours becomes a
    StoreError. They have no way to delete a thread, so `delete_thread` raises StoreError; closing is their owner's.
    """

    def __init__(
        self, threads: Threads, *, body_bytes: int = BODY_BYTES, clock: Callable[[], datetime] = utc_now
    ) -> None:
        self._threads = threads
        self._ledger = MemoryLedger(body_bytes=body_bytes, clock=clock)
        self._written: dict[tuple[str, int], str] = {}
        self._origins: dict[tuple[str, int], Origin] = {}
        self._settling: dict[str, asyncio.Task[Turn]] = {}

    # Threads

    async def create(self, *, agent: str = "", state: Mapping[str, Json] | None = None) -> str:
        return await self.create_thread(NewThread(agent, state=state))

    async def append(self, thread: str, *messages: NewMessage) -> tuple[Message, ...]:
        entry = await self._entry(thread)
        rows = await self._append(thread, messages)
        self._ledger.touch(entry)
        return rows

    async def list_messages(self, thread: str, window: Window) -> list[Message]:
        return list((await self.select(thread, window)).rows)

    async def length(self, thread: str) -> int:
        return await _theirs(self._threads.length(thread))

    async def fork(self, thread: str, seq: int) -> str:
        base = await self._entry(thread)
        check_seq(seq, await self.length(thread))
        fork = await _theirs(self._threads.fork(thread, seq))
        return self._ledger.add_fork(fork, base, seq).id

    # Ledger: threads

    async def create_thread(self, new: NewThread, messages: Sequence[NewMessage] = ()) -> str:
        id = await _theirs(self._threads.create(agent=new.agent, state=new.state))
        self._ledger.add_thread(id, new)
        if messages:
            await self._append(id, messages)
        return id

    @asynccontextmanager
    async def fill(self, new: NewThread) -> AsyncIterator[AdoptedFilling]:
        id = await _theirs(self._threads.create(agent=new.agent, state=new.state))
        entry = self._ledger.hidden_thread(id, new)
        yield AdoptedFilling(self._ledger, entry, self._append)
        self._ledger.show(entry)

    async def thread(self, thread: str) -> Thread:
        entry = await self._entry(thread)
        return entry.described(await self.length(thread))

    async def threads(self, *, limit: int | None = None) -> list[Thread]:
        entries = self._ledger.newest_first()[: None if limit is None else max(0, limit)]
        return [entry.described(await self.length(entry.id)) for entry in entries]

    async def forks(self, thread: str) -> list[Thread]:
        await self._entry(thread)
        return [entry.described(await self.length(entry.id)) for entry in self._ledger.forks(thread)]

    async def update_thread(
        self, thread: str, *, status: str | None = None, state: JsonObject | None = None, name: str | None = None
    ) -> None:
        self._ledger.update(await self._entry(thread), status, state, name)

    async def add_events(self, thread: str, events: Sequence[JsonObject]) -> None:
        self._ledger.add_events(await self._entry(thread), events)

    async def events(self, thread: str) -> list[JsonObject]:
        return list((await self._entry(thread)).events)

    async def delete_thread(self, thread: str, *, with_forks: bool = False) -> tuple[str, ...]:
        await self._entry(thread)
        raise StoreError(f"thread {thread} is kept by a store that cannot delete threads")

    async def select(self, thread: str, window: Window, *, upto: int | None = None) -> Selected:
        entry = await self._entry(thread)
        while True:
            length = await self.length(thread)
            stored = length if upto is None else min(max(0, upto), length)
            wanted = stored if window == "all" else min(max(0, window), stored)
            found = await self._newest(thread, wanted + length - stored) if wanted else []
            if not found or found[-1].seq <= length:
                break  # else rows came in between the two questions
        kept = [row for row in found if row.seq <= stored]
        kept = kept[max(0, len(kept) - wanted) :]
        if not wanted:
            return Selected((), (), stored)
        oldest = kept[0].seq if len(kept) == wanted else 1
        there = {row.seq for row in kept}
        missing = tuple(_unreadable(seq) for seq in range(oldest, stored + 1) if seq not in there)
        return Selected(tuple(self._told(entry, kept)), missing, stored)

    async def rows(self, thread: str, first: int, last: int) -> list[Row]:
        entry = await self._entry(thread)
        length = await self.length(thread)
        first, last = max(1, first), min(last, length)
        found = self._told(entry, await self._newest(thread, length - first + 1) if first <= last else [])
        there = {row.seq: row for row in found}
        return [there.get(seq) or _unreadable(seq) for seq in range(first, last + 1)]

    async def state(self, thread: str, *, seq: int | None = None) -> JsonObject:
        entry = await self._entry(thread)
        if seq is not None:
            check_seq(seq, await self.length(thread))
        return self._ledger.state_at(entry, seq)

    # Ledger: turns

    async def open_turn(self, new: NewTurn, message: NewMessage | None = None) -> Turn:
        check_message(new, message)
        opening = asyncio.ensure_future(self._open(new, message))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            # Their append cannot be taken back: the turn opens, and is stopped at once so that the thread is free.
            opening.add_done_callback(self._abandon)
            raise

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
        settling = self._settling.get(turn)
        if settling is None:
            check_rows(entry.turn, rows, message)
            self._ledger.check_items(entry, items)
            settling = asyncio.ensure_future(self._settle(entry, items, settlement, rows, message, state, bodies))
            self._settling[turn] = settling
            settling.add_done_callback(lambda task: self._forget(turn, task))
        return await asyncio.shield(settling)

    async def renew(self, turns: Sequence[str]) -> None:
        self._ledger.renew(turns)

    async def interrupted(self, turn: Turn) -> bool:
        return self._ledger.interrupted(turn)

    async def turn(self, turn: str) -> Turn:
        return self._ledger.turn_entry(turn).turn

    async def turns(
        self, thread: str, *, runs: bool = True, before: int | None = None, limit: int | None = None
    ) -> list[Turn]:
        return self._ledger.turns(await self._entry(thread), runs=runs, before=before, limit=limit)

    async def children(self, turn: str) -> list[Turn]:
        return [child.turn for child in self._ledger.turn_entry(turn).children]

    async def items(self, turn: str) -> list[JournalItem]:
        return list(self._ledger.turn_entry(turn).items)

    async def body(self, turn: str, step: int) -> bytes | None:
        self._ledger.turn_entry(turn)
        return self._ledger.body(turn, step)

    # Ledger: experiments

    async def put_experiment(self, experiment: Experiment) -> Experiment:
        await self._entry(experiment.thread)
        return self._ledger.experiments.put(experiment, self._ledger.clock())

    async def experiment(self, experiment: str) -> Experiment:
        return self._ledger.experiments.get(experiment)

    async def experiments(self, thread: str | None = None, *, limit: int | None = None) -> list[Experiment]:
        if thread is not None:
            await self._entry(thread)
        return self._ledger.experiments.newest_first(thread, limit)

    async def runs_of(self, experiment: str) -> list[Turn]:
        return self._ledger.runs_of(experiment)

    async def changed(self) -> int:
        return 0

    async def close(self) -> None:
        """Nothing of ours to close."""

    async def _entry(self, thread: str) -> ThreadEntry:
        """The ledger's thread; one that was there before us is taken up as it is. Raises UnknownThread."""
        known = self._ledger.threads.get(thread)
        if known is None:
            await self.length(thread)
            known = self._ledger.threads.get(thread) or self._ledger.add_thread(thread, NewThread())
        return known

    async def _newest(self, thread: str, window: int) -> list[Message]:
        return await _theirs(self._threads.list_messages(thread, window))

    async def _open(self, new: NewTurn, message: NewMessage | None) -> Turn:
        entry = await self._entry(new.thread)
        length = await self.length(new.thread)
        self._ledger.prepare(entry, new, length)
        turn = self._ledger.open(entry, new, length, None)
        if message is None:
            return turn
        opened = self._ledger.turn_entry(turn.id)
        try:
            (row,) = await self._append(new.thread, (message,))
        except BaseException:
            self._ledger.withdraw(opened)
            raise
        self._written[entry.id, row.seq] = turn.id
        opened.began = row.seq - 1
        opened.turn = replace(opened.turn, stored_user=row.seq)
        return opened.turn

    def _abandon(self, opening: asyncio.Task[Turn]) -> None:
        if not opening.cancelled() and opening.exception() is None:
            opened = self._ledger.turn_entry(opening.result().id)
            rows = opened.turn.stored_user or opened.began
            self._ledger.settle(opened, (), Settlement("stopped"), None, opened.state, None, rows)

    async def _settle(
        self,
        entry: TurnEntry,
        items: Sequence[JournalItem],
        settlement: Settlement,
        rows: Sequence[NewMessage],
        message: NewMessage | None,
        state: JsonObject,
        bodies: Mapping[int, bytes] | None,
    ) -> Turn:
        thread = entry.thread.id
        new = rows if message is None else (*rows, message)
        added = await self._append(thread, new) if new else ()
        for row in added:
            self._written[thread, row.seq] = entry.turn.id
        stored = added[-1].seq if message is not None else None
        length = added[-1].seq if added else await self.length(thread)
        return self._ledger.settle(entry, items, settlement, stored, state, bodies, length)

    def _forget(self, turn: str, settling: asyncio.Task[Turn]) -> None:
        self._settling.pop(turn, None)
        if not settling.cancelled():
            settling.exception()  # whoever waited was told; if all were cancelled, nobody is left to tell

    async def _append(self, thread: str, messages: Sequence[NewMessage]) -> tuple[Message, ...]:
        rows = await _theirs(self._threads.append(thread, *messages))
        for row, new in zip(rows, messages, strict=True):
            if new.origin is not None:
                self._origins[thread, row.seq] = new.origin
        return rows

    def _told(self, entry: ThreadEntry, rows: Sequence[Message]) -> list[Message]:
        """The rows with the turn that wrote them and where they were copied from, which only this ledger knows."""
        return [self._as_known(row, (holder_of(entry, row.seq).id, row.seq)) for row in rows]

    def _as_known(self, row: Message, place: tuple[str, int]) -> Message:
        turn, origin = self._written.get(place, row.turn), self._origins.get(place, row.origin)
        return row if row.turn == turn and row.origin == origin else replace(row, turn=turn, origin=origin)


class AdoptedFilling:
    """See `Filling`. The rows are theirs at once, the turns are kept until the thread is whole."""

    def __init__(
        self,
        ledger: MemoryLedger,
        entry: ThreadEntry,
        append: Callable[[str, Sequence[NewMessage]], Awaitable[object]],
    ) -> None:
        self._ledger, self._entry, self._append = ledger, entry, append

    @property
    def thread(self) -> str:
        return self._entry.id

    async def append(self, messages: Sequence[NewMessage]) -> None:
        await self._append(self._entry.id, messages)

    async def turn_ids(self, count: int) -> list[str]:
        return [self._ledger.free_turn_id() for _ in range(count)]

    async def add_turns(self, turns: Sequence[PastTurn]) -> None:
        for turn in turns:
            self._ledger.add_past(self._entry, turn)
        await asyncio.sleep(0)


def _unreadable(seq: int) -> Unreadable:
    return Unreadable(seq, "its store could not read it")


async def _theirs(asked: Awaitable[T]) -> T:
    """What their store answers; what it raises of its own becomes a StoreError."""
    try:
        return await asked
    except StudioError:
        raise
    except Exception as error:
        raise StoreError(f"the store failed: {type(error).__name__}: {error}") from error
