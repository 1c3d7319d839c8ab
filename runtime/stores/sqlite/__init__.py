"""The SQLite store: one file, two processes at once, both protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from sqlite3 import Connection as Db
from sqlite3 import Error as SqliteError

from runtime.errors import StoreError, ThreadBusy
from runtime.stores import BODY_BYTES, Experiment, NewThread, NewTurn, Selected, Thread
from runtime.stores.owner import is_gone
from runtime.stores.sqlite import bodies as wire
from runtime.stores.sqlite import experiments as tried
from runtime.stores.sqlite import log, threads, turns
from runtime.stores.sqlite import rows as rows_of
from runtime.stores.sqlite.connection import PATIENCE_SECONDS, Connection
from runtime.stores.sqlite.filling import SqliteFilling, filled
from runtime.stores.sqlite.threads import Place
from runtime.stores.turns import check_message, check_rows, settled, utc_now
from runtime.values.journal_json import dumps, loads_object
from runtime.values.json import Json, JsonObject
from runtime.values.messages import Message, NewMessage, Row, Window
from runtime.values.record import JournalItem, Settlement, Turn

_LONG = 2000  # rows; more are read in a thread, so that the screen stays alive
_KNOWN = 4096  # threads whose place is remembered
_ALL = 2**62  # more rows than there are


class SqliteStore:
    """Both protocols over one file; see `Threads` and `Ledger` for what each method promises.

    `patience` is how many seconds a write waits for another process before it raises StoreError; `body_bytes` bounds
    the request bodies kept, compressed (A6); `clock` tells the time of rows and turns, aware, UTC. To be used by one
    event loop at a time. Raises BadInput for a path that cannot be a file, StoreError for a file that is none of ours.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        body_bytes: int = BODY_BYTES,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._file = Connection(Path(path), patience=patience)
        self._body_bytes, self._clock = body_bytes, clock
        self._known: dict[str, Place] = {}

    # Threads

    async def create(self, *, agent: str = "", state: Mapping[str, Json] | None = None) -> str:
        return await self.create_thread(NewThread(agent, state=state))

    async def append(self, thread: str, *messages: NewMessage) -> tuple[Message, ...]:
        def work(db: Db) -> tuple[Message, ...]:
            return threads.append(db, threads.locate(db, thread), messages, None, self._clock())

        return await self._file.write(work)

    async def list_messages(self, thread: str, window: Window) -> list[Message]:
        selected = self._soon(thread, window, _ALL) or await self.select(thread, window)
        return list(selected.rows)

    async def length(self, thread: str) -> int:
        return (await self._file.read(lambda db: threads.locate(db, thread))).length

    async def fork(self, thread: str, seq: int) -> str:
        return await self._file.write(lambda db: threads.fork(db, thread, seq, self._clock()))

    # Ledger: threads

    async def create_thread(self, new: NewThread, messages: Sequence[NewMessage] = ()) -> str:
        def work(db: Db) -> str:
            at = self._clock()
            uid, place = threads.create(db, new, at)
            if messages:
                rows_of.insert(db, place.id, 0, messages, None, at)
            return uid

        return await self._file.write(work)

    def fill(self, new: NewThread) -> AbstractAsyncContextManager[SqliteFilling]:
        return filled(self._file, new, self._clock)

    async def thread(self, thread: str) -> Thread:
        return await self._file.read(lambda db: threads.described(db, thread))

    async def threads(self, *, limit: int | None = None) -> list[Thread]:
        return await self._file.scan(lambda db: threads.newest_first(db, limit))

    async def forks(self, thread: str) -> list[Thread]:
        return await self._file.read(lambda db: threads.forks(db, thread))

    async def update_thread(
        self, thread: str, *, status: str | None = None, state: JsonObject | None = None, name: str | None = None
    ) -> None:
        await self._file.write(lambda db: threads.update(db, thread, status, state, name))

    async def add_events(self, thread: str, events: Sequence[JsonObject]) -> None:
        await self._file.write(lambda db: log.append(db, threads.locate(db, thread).id, events))

    async def events(self, thread: str) -> list[JsonObject]:
        return await self._file.read(lambda db: log.read(db, thread, threads.locate(db, thread).id))

    async def delete_thread(self, thread: str, *, with_forks: bool = False) -> tuple[str, ...]:
        def work(db: Db) -> tuple[str, ...]:
            family = threads.with_forks(db, thread)
            threads.check_forks(family, with_forks)
            now = self._clock()
            for id, _ in family:
                for turn in turns.running(db, id):
                    if not is_gone(turn.owner, turn.lease, now):
                        raise ThreadBusy(turn.thread, turn.id, str(turn.owner or ""))
            for id, _ in family:
                log.delete(db, id)
                wire.forget_thread(db, id)
                turns.delete(db, id)
                tried.delete(db, id)
                threads.delete_rows(db, id)
            return tuple(uid for _, uid in family)

        return await self._file.write(work)

    async def select(self, thread: str, window: Window, *, upto: int | None = None) -> Selected:
        selected = self._soon(thread, window, _ALL if upto is None else min(upto, _ALL))
        if selected is not None:
            return selected

        def short(db: Db) -> Selected | None:
            place = self._locate(db, thread)
            stored = place.upto(upto)
            if stored > _LONG and (window == "all" or window > _LONG):
                return None
            return threads.select(db, place, window, stored)

        def long(db: Db) -> Selected:
            place = threads.locate(db, thread)
            return threads.select(db, place, window, place.upto(upto))

        selected = await self._file.read(short)
        return await self._file.scan(long) if selected is None else selected

    async def rows(self, thread: str, first: int, last: int) -> list[Row]:
        def work(db: Db) -> list[Row]:
            place = threads.locate(db, thread)
            return rows_of.read(db, place.ranges(max(1, first), min(last, place.length)))

        return await (self._file.scan(work) if last - first >= _LONG else self._file.read(work))

    async def state(self, thread: str, *, seq: int | None = None) -> JsonObject:
        return await self._file.read(lambda db: threads.state(db, thread, seq))

    # Ledger: turns

    async def open_turn(self, new: NewTurn, message: NewMessage | None = None) -> Turn:
        check_message(new, message)

        def work(db: Db) -> Turn:
            place, now = threads.locate(db, new.thread), self._clock()
            turns.make_room(db, place, new, now)
            turn = turns.insert(db, place, new, message, now)
            if message is not None:
                rows_of.insert(db, place.id, place.length, (message,), turn.id, now)
            return turn

        return await self._file.write(work)

    async def journal(
        self,
        turn: str,
        items: Sequence[JournalItem],
        *,
        state: JsonObject | None = None,
        bodies: Mapping[int, bytes] | None = None,
    ) -> None:
        def work(db: Db) -> None:
            key = turns.find(db, turn)
            if not key.running:
                raise StoreError(f"turn {turn} has settled: nothing can be added to its journal")
            turns.add_items(db, key.id, items)
            if state is not None:
                turns.set_state(db, key, dumps(state))
            if bodies:
                wire.put(db, key.id, bodies, experiment=key.experiment, limit=self._body_bytes)

        await self._file.write(work, durable=False)

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
        new = rows if message is None else (*rows, message)

        def work(db: Db) -> Turn:
            was, key = turns.find_whole(db, turn)
            if was.status != "running":
                return was
            check_rows(was, rows, message)
            now, after = self._clock(), dumps(state)
            place = threads.locate(db, was.thread)
            length = place.length + len(new)
            stored = None if message is None else length
            if new:
                rows_of.insert(db, place.id, place.length, new, turn, now)
            turns.end(db, key, items, settlement, after, now, length, stored)
            if bodies:
                wire.put(db, key.id, bodies, experiment=key.experiment, limit=self._body_bytes)
            return settled(was, settlement, state=loads_object(after), stored=stored, now=now)

        return await self._file.write(work)

    async def renew(self, turns_: Sequence[str]) -> None:
        await self._file.write(lambda db: turns.renew(db, turns_, self._clock()), durable=False)

    async def interrupted(self, turn: Turn) -> bool:
        return turn.status == "running" and is_gone(turn.owner, turn.lease, self._clock())

    async def turn(self, turn: str) -> Turn:
        return await self._file.read(lambda db: turns.get(db, turn))

    async def turns(
        self, thread: str, *, runs: bool = True, before: int | None = None, limit: int | None = None
    ) -> list[Turn]:
        def work(db: Db) -> list[Turn]:
            return turns.listed(db, threads.locate(db, thread), runs, before, limit)

        return await (self._file.scan(work) if limit is None or limit > _LONG else self._file.read(work))

    async def children(self, turn: str) -> list[Turn]:
        return await self._file.read(lambda db: turns.children(db, turn))

    async def items(self, turn: str) -> list[JournalItem]:
        return await self._file.read(lambda db: turns.items(db, turn))

    async def body(self, turn: str, step: int) -> bytes | None:
        return await self._file.read(lambda db: wire.get(db, turns.find(db, turn).id, step))

    # Ledger: experiments

    async def put_experiment(self, experiment: Experiment) -> Experiment:
        return await self._file.write(lambda db: tried.put(db, experiment, self._clock()))

    async def experiment(self, experiment: str) -> Experiment:
        return await self._file.read(lambda db: tried.get(db, experiment))

    async def experiments(self, thread: str | None = None, *, limit: int | None = None) -> list[Experiment]:
        return await self._file.read(lambda db: tried.newest_first(db, thread, limit))

    async def runs_of(self, experiment: str) -> list[Turn]:
        return await self._file.read(lambda db: turns.runs_of(db, experiment))

    async def changed(self) -> int:
        def work(db: Db) -> int:
            version: int = db.execute("PRAGMA data_version").fetchone()[0]
            return version

        return await self._file.read(work)

    def together(self) -> AbstractAsyncContextManager[None]:
        """Every write inside is one transaction, durable when it ends; what is raised inside takes all of it back."""
        return self._file.together()

    async def close(self) -> None:
        self._file.close()

    def _soon(self, thread: str, window: Window, last: int) -> Selected | None:
        """A small window of a thread whose place is known, without another call; None where that is not enough."""
        known = self._known.get(thread)
        if known is None or window == "all" or not 0 < window <= _LONG or last <= 0:
            return None
        try:
            return threads.select_soon(self._file.db, known, window, last)
        except SqliteError:
            return None  # the long way waits if the file is locked, and tells what is wrong

    def _locate(self, db: Db, thread: str) -> Place:
        """Locate a thread and remember where its rows are: its id and its segments never change."""
        self._known.pop(thread, None)
        place = threads.locate(db, thread)
        if len(self._known) >= _KNOWN:
            self._known.clear()
        self._known[thread] = place
        return place
