"""Threads' states, turns and journals in memory: what the memory store and adopted threads keep beside the rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from runtime.errors import ForksRemain, StoreError, ThreadBusy, UnknownThread, UnknownTurn
from runtime.stores import NewThread, NewTurn, PastTurn, Thread
from runtime.stores.bodies import Bodies
from runtime.stores.ids import turn_id
from runtime.stores.memory_experiments import Experiments
from runtime.stores.owner import is_gone
from runtime.stores.turns import interruption, page_of_turns, takes_place
from runtime.stores.turns import opened as opened_turn
from runtime.stores.turns import settled as settled_turn
from runtime.values.json import JsonObject, clean, clean_json
from runtime.values.messages import Row
from runtime.values.record import JournalItem, Settlement, Turn


@dataclass(frozen=True, slots=True)
class Segment:
    """The part of a base that a fork holds: its rows up to `upto`, its turns up to the number `turns` (S9)."""

    base: ThreadEntry
    upto: int
    turns: int


@dataclass(slots=True, eq=False)
class ThreadEntry:
    """A thread. `rows` are its own, those of its bases are reached by `segments`; `inherited` counts their turns."""

    id: str
    new: NewThread
    created: datetime
    initial: JsonObject
    state: JsonObject
    segments: tuple[Segment, ...] = ()
    forked_at: int | None = None
    rows: list[Row] = field(default_factory=list)
    turns: list[TurnEntry] = field(default_factory=list)
    opened: list[TurnEntry] = field(default_factory=list)
    running: dict[str, TurnEntry] = field(default_factory=dict)
    touched: int = 0
    events: list[JsonObject] = field(default_factory=list)

    @property
    def start(self) -> int:
        """How many rows come before its own."""
        return self.segments[-1].upto if self.segments else 0

    @property
    def length(self) -> int:
        return self.start + len(self.rows)

    @property
    def inherited(self) -> int:
        return self.segments[-1].turns if self.segments else 0

    def described(self, length: int) -> Thread:
        new = self.new
        return Thread(
            self.id, new.agent, new.origin, new.name, new.seed, new.seed_digest, self.state, self.created, length,
            new.parent, self.forked_at, new.about, new.status, new.route,
        )  # fmt: skip


@dataclass(slots=True, eq=False)
class TurnEntry:
    """A turn. `place` is its number, or for a run the number of the turn it belongs to.

    `began` and `ended` count the thread's rows just before it opened and just after it settled. `root` is the turn at
    the top of a delegation; on a view, the root keeps the run's state.
    """

    turn: Turn
    thread: ThreadEntry
    state: JsonObject
    place: int
    began: int
    root: TurnEntry | None = None
    ended: int | None = None
    items: list[JournalItem] = field(default_factory=list)
    children: list[TurnEntry] = field(default_factory=list)

    @property
    def last_row(self) -> int:
        return self.turn.stored_assistant or self.turn.stored_user or self.began


class MemoryLedger:
    """The sync core of the ledger; its callers hold the rows and say how long threads are."""

    def __init__(self, *, body_bytes: int, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.threads: dict[str, ThreadEntry] = {}
        self._turns: dict[str, TurnEntry] = {}
        self._bodies = Bodies(body_bytes)
        self._touches = 0
        self.experiments = Experiments()

    # Threads

    def add_thread(self, id: str, new: NewThread) -> ThreadEntry:
        entry = self.threads[id] = self.hidden_thread(id, new)
        self.touch(entry)
        return entry

    def hidden_thread(self, id: str, new: NewThread) -> ThreadEntry:
        """A thread that is not among the threads yet."""
        new = _cleaned(new)
        state = new.state or {}
        return ThreadEntry(id, new, self._now(), state, state)

    def show(self, entry: ThreadEntry) -> None:
        """Put a filled thread among the threads, and its turns among the turns."""
        self.threads[entry.id] = entry
        self._turns |= {turn.turn.id: turn for turn in entry.turns}
        self.touch(entry)

    def free_turn_id(self) -> str:
        """An id that no turn has."""
        return turn_id(self._turns.__contains__)

    def add_past(self, entry: ThreadEntry, past: PastTurn) -> None:
        """A settled turn at the end of a thread that is being filled."""
        now, number = self._now(), entry.inherited + len(entry.turns) + 1
        turn = opened_turn(past.new, id=past.id, number=number, state=entry.state, stored_user=None, now=now)
        turn = settled_turn(turn, past.settlement, state=entry.state, stored=None, now=now)
        kept = TurnEntry(turn, entry, entry.state, number, past.began, ended=past.ended)
        kept.root = kept
        last = past.items[-1] if past.items else None
        end = JournalItem(last.n + 1 if last else 1, last.step if last else 0, "settlement", past.settlement)
        kept.items = [*past.items, end]
        entry.opened.append(kept)
        entry.turns.append(kept)

    def add_fork(self, id: str, base: ThreadEntry, seq: int) -> ThreadEntry:
        """The entry of a fork of `base` after row `seq`, which is in the thread."""
        state = self.state_at(base, seq)
        new = replace(base.new, origin="fork", state=state, parent=base.id, route="", status="")
        entry = ThreadEntry(id, new, self._now(), state, state, _segments(base, seq), seq)
        self.threads[id] = entry
        self.touch(entry)
        return entry

    def update(self, entry: ThreadEntry, status: str | None, state: JsonObject | None, name: str | None = None) -> None:
        """Change a thread's status, state or name; None leaves it."""
        if name is not None:
            entry.new = replace(entry.new, name=clean(name))
        if status is not None:
            entry.new = replace(entry.new, status=clean(status))
        if state is not None:
            entry.state = cast(JsonObject, clean_json(state))

    def add_events(self, entry: ThreadEntry, events: Sequence[JsonObject]) -> None:
        entry.events.extend(cast(JsonObject, clean_json(event)) for event in events)

    def touch(self, entry: ThreadEntry) -> None:
        """Note activity, in the order it happened."""
        self._touches += 1
        entry.touched = self._touches

    def entry(self, thread: str) -> ThreadEntry:
        try:
            return self.threads[thread]
        except (KeyError, TypeError):
            raise UnknownThread(thread) from None

    def newest_first(self) -> list[ThreadEntry]:
        return sorted(self.threads.values(), key=lambda entry: -entry.touched)

    def forks(self, thread: str) -> list[ThreadEntry]:
        return [one for one in self.threads.values() if one.forked_at is not None and one.new.parent == thread]

    def delete(self, thread: str, *, with_forks: bool) -> tuple[str, ...]:
        self.entry(thread)
        doomed = [thread]
        for one in doomed:
            doomed += [fork.id for fork in self.forks(one)]
        if len(doomed) > 1 and not with_forks:
            raise ForksRemain(thread, tuple(doomed[1:]))
        for one in doomed:
            for turn in self.threads[one].running.values():
                if not self.interrupted(turn.turn):
                    raise ThreadBusy(one, turn.turn.id, str(turn.turn.owner or ""))
        turns = {turn.turn.id for turn in self._turns.values() if turn.turn.thread in doomed}
        self._bodies.forget(self._bodies.of_turns(turns))
        for turn_uid in turns:
            del self._turns[turn_uid]
        for one in doomed:
            del self.threads[one]
        self.experiments.forget(doomed)
        return tuple(doomed)

    def state_at(self, entry: ThreadEntry, seq: int | None) -> JsonObject:
        """The state right after row `seq` was stored; None is now, 0 the start."""
        if seq is None:
            return entry.state
        if seq == 0:
            return entry.segments[0].base.initial if entry.segments else entry.initial
        holder = holder_of(entry, seq)
        before = bisect_left(holder.turns, seq, key=lambda turn: turn.began)
        if before == 0:
            return holder.initial
        return _state_in(holder.turns[before - 1], seq)

    # Turns

    def prepare(self, entry: ThreadEntry, new: NewTurn, length: int) -> int:
        """Make room for a turn on a thread of `length` rows, which is returned: settle what dead owners left there.

        Raises ThreadBusy if the turn takes the thread's place and a living root turn has it (S7), UnknownTurn for a
        parent that is none.
        """
        if new.parent is not None:
            self.turn_entry(new.parent)
            return length
        for running in list(entry.running.values()):
            turn = running.turn
            if self.interrupted(turn):
                self.settle(running, (), interruption(turn), None, running.state, None, length)
            elif takes_place(new) and takes_place(turn):
                raise ThreadBusy(entry.id, turn.id, str(turn.owner or ""))
        return length

    def open(self, entry: ThreadEntry, new: NewTurn, length: int, stored_user: int | None) -> Turn:
        """Open a turn on a thread that had `length` rows before it; `stored_user` is the row just appended for it."""
        parent = None if new.parent is None else self.turn_entry(new.parent)
        now = self._now()
        state = entry.state if new.state is None else cast(JsonObject, clean_json(new.state))
        numbered = parent is None and new.view is None
        number = entry.inherited + len(entry.turns) + 1 if numbered else 0
        id = turn_id(self._turns.__contains__)
        turn = opened_turn(new, id=id, number=number, state=state, stored_user=stored_user, now=now)
        began = length if new.stored_user is None else new.stored_user - 1
        opened = TurnEntry(turn, entry, state, number or self._anchor(entry, new), began)
        opened.root = opened if parent is None else parent.root
        self._turns[turn.id] = entry.running[turn.id] = opened
        if parent is not None:
            parent.children.append(opened)
        else:
            entry.opened.append(opened)
            if numbered:
                entry.turns.append(opened)
        return turn

    def withdraw(self, entry: TurnEntry) -> None:
        """Take back a turn that could not open after all: its message was not stored."""
        del self._turns[entry.turn.id]
        thread = entry.thread
        thread.running.pop(entry.turn.id, None)
        thread.opened = [one for one in thread.opened if one is not entry]
        thread.turns = [one for one in thread.turns if one is not entry]

    def _anchor(self, entry: ThreadEntry, new: NewTurn) -> int:
        newest = entry.inherited + len(entry.turns)
        repeated = self._turns.get(new.rerun_of) if new.rerun_of is not None else None
        return newest if repeated is None else min(newest, repeated.place)

    def journal(
        self,
        entry: TurnEntry,
        items: Sequence[JournalItem],
        state: JsonObject | None,
        bodies: Mapping[int, bytes] | None,
    ) -> None:
        turn = entry.turn
        if turn.status != "running":
            raise StoreError(f"turn {turn.id} has settled: nothing can be added to its journal")
        self.check_items(entry, items)
        entry.items.extend(items)
        if state is not None:
            entry.state = kept = cast(JsonObject, clean_json(state))
            root = entry.root or entry
            if root.turn.view is None:
                entry.thread.state = kept
            else:
                root.state = kept
        self._put_bodies(turn, bodies)

    def settle(
        self,
        entry: TurnEntry,
        items: Sequence[JournalItem],
        settlement: Settlement,
        stored_assistant: int | None,
        state: JsonObject,
        bodies: Mapping[int, bytes] | None,
        length: int,
    ) -> Turn:
        """End a running turn whose thread has `length` rows now, its assistant message among them."""
        entry.items.extend(items)
        last = entry.items[-1] if entry.items else None
        end = JournalItem(last.n + 1 if last else 1, last.step if last else 0, "settlement", settlement)
        entry.items.append(end)
        turn = entry.turn
        entry.state = after = cast(JsonObject, clean_json(state))
        if takes_place(turn):
            entry.thread.state = after
        entry.ended = length
        entry.turn = settled_turn(turn, settlement, state=after, stored=stored_assistant, now=self._now())
        entry.thread.running.pop(turn.id, None)
        self._put_bodies(turn, bodies)
        return entry.turn

    def check_items(self, entry: TurnEntry, items: Sequence[JournalItem]) -> None:
        """Raises StoreError if an item's number is taken."""
        last = entry.items[-1].n if entry.items else 0
        for item in items:
            if item.n <= last:
                raise StoreError(f"item {item.n} of turn {entry.turn.id} is journaled already")
            last = item.n

    def _put_bodies(self, turn: Turn, bodies: Mapping[int, bytes] | None) -> None:
        for step, body in (bodies or {}).items():
            self._bodies.put(turn.id, step, body, experiment=turn.experiment is not None)

    def renew(self, turns: Sequence[str]) -> None:
        now = self._now()
        for id in turns:
            entry = self._turns.get(id)
            if entry is not None and entry.turn.status == "running":
                entry.turn = replace(entry.turn, lease=now)

    def interrupted(self, turn: Turn) -> bool:
        return turn.status == "running" and is_gone(turn.owner, turn.lease, self._now())

    def turn_entry(self, turn: str) -> TurnEntry:
        try:
            return self._turns[turn]
        except (KeyError, TypeError):
            raise UnknownTurn(turn) from None

    def body(self, turn: str, step: int) -> bytes | None:
        return self._bodies.get(turn, step)

    def turns(self, entry: ThreadEntry, *, runs: bool, before: int | None, limit: int | None) -> list[Turn]:
        page = page_of_turns(entry.inherited + len(entry.turns), before, limit)
        return [
            one.turn
            for one in _listed(entry)
            if one.place in page and one.turn.experiment is None and (runs or one.turn.view is None)
        ]

    def runs_of(self, experiment: str) -> list[Turn]:
        """The root turns of an experiment, oldest first."""
        return [
            one.turn for one in self._turns.values() if one.turn.experiment == experiment and one.turn.parent is None
        ]

    def _now(self) -> datetime:
        return self.clock()


def _cleaned(new: NewThread) -> NewThread:
    return replace(
        new,
        agent=clean(new.agent),
        name=clean(new.name),
        seed=None if new.seed is None else clean(new.seed),
        state=None if new.state is None else cast(JsonObject, clean_json(new.state)),
        about=None if new.about is None else cast(JsonObject, clean_json(new.about)),
    )


def _segments(base: ThreadEntry, seq: int) -> tuple[Segment, ...]:
    """The segments of a fork after row `seq`, resolved now so that depth costs nothing later (S9)."""
    whole = tuple(segment for segment in base.segments if segment.upto < seq)
    start = whole[-1].upto if whole else 0
    if seq <= start:
        return whole
    holder = holder_of(base, seq)
    within = bisect_left(holder.turns, seq, key=lambda turn: turn.began)
    if within and (holder.turns[within - 1].last_row > seq or holder.turns[within - 1].turn.status == "running"):
        within -= 1
    return (*whole, Segment(holder, seq, holder.inherited + within))


def holder_of(entry: ThreadEntry, seq: int) -> ThreadEntry:
    """The thread, itself or a base, that owns row `seq`."""
    return next((segment.base for segment in entry.segments if seq <= segment.upto), entry)


def _state_in(turn: TurnEntry, seq: int) -> JsonObject:
    """The state right after row `seq`, where `turn` is the newest that had begun before it was stored."""
    after = turn.turn.state_after
    if after is None or turn.ended is None:
        return turn.turn.state_before
    return after if seq == turn.turn.stored_assistant or seq > turn.ended else turn.turn.state_before


def _listed(entry: ThreadEntry) -> Iterator[TurnEntry]:
    """Root turns and runs of a thread: of its bases those that lie within its rows, then its own."""
    lower = 0
    for segment in entry.segments:
        yield from (one for one in segment.base.opened if lower < one.place <= segment.turns)
        lower = segment.turns
    yield from entry.opened
