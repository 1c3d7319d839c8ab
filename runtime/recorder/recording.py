"""What passed becomes threads and turns: rows, journals and bodies, written call by call. One task at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from runtime.errors import ThreadBusy
from runtime.leases import Leases
from runtime.models.endpoint import Redactor
from runtime.plan import RECORDED
from runtime.recorder.aligning import key_of, place
from runtime.recorder.contexts import about_of, context_of, title_of
from runtime.recorder.joining import Joined, Known, join, rewritten, seqs_of
from runtime.recorder.open_turn import OpenTurn, parts_of
from runtime.recorder.outcome import Outcome, ending, nothing_came, outcome_of
from runtime.recorder.reading import Sent, read_answer, read_sent
from runtime.recorder.traffic import Began, Ended, Passed
from runtime.recorder.words import sent_words
from runtime.stores import NewThread, NewTurn, Store
from runtime.stores.owner import this_process
from runtime.values.messages import Message, NewMessage, tool_call_part
from runtime.values.record import ContextItem, JournalItem, Part, Settlement

HOLD_SECONDS: Final = 10.0
"""How long a turn whose call failed waits for the program to try again, before it settles `failed`."""

_THREADS = 256
_LOADED = 50
_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Flight:
    """A call under way: which step of which turn, what was sent, and its estimate by part."""

    thread: str
    turn: str
    step: int
    sent: Sent
    parts: dict[Part, int]
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a recording stood, to go back to when the store took nothing. `saved` fills with the threads that are
    touched from here on, as they were."""

    order: tuple[str, ...]
    calls: dict[int, Flight]
    done: int
    saved: dict[str, Known]


class Recording:
    """The threads of one recording in `store`. `upstream` is where the calls go, as it may be shown.

    `told` is given one line for every call. `hold` is HOLD_SECONDS. Use by one task alone, in one event loop.
    """

    def __init__(
        self,
        store: Store,
        *,
        upstream: str,
        told: Callable[[str], None] = lambda line: None,
        hold: float = HOLD_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store, self._upstream, self._told = store, upstream, told
        self._hold, self._clock = hold, clock
        self._threads: dict[str, Known] = {}
        self._calls: dict[int, Flight] = {}
        self._leases = Leases(store)
        self._owner = this_process()
        self._loaded = False
        self._redact = Redactor()
        self._mark: Mark | None = None
        self.done = 0
        self.written: dict[str, None] = {}

    async def take(self, passed: Passed) -> None:
        """Record that a call began or ended. Raises BadInput for a request that cannot be read, StoreError."""
        if isinstance(passed, Began):
            await self._began(passed)
        elif passed.end == "refused":
            await self.lose(passed.call, passed.error)
        else:
            await self._ended(passed)

    def mark(self) -> Mark:
        """Where the recording stands."""
        self._mark = Mark(tuple(self._threads), dict(self._calls), self.done, {})
        return self._mark

    def back_to(self, mark: Mark) -> None:
        """Forget what happened since `mark`: the store has taken it back."""
        self._threads = {id: mark.saved.get(id, self._threads[id]) for id in mark.order if id in self._threads}
        self._threads |= {id: known for id, known in mark.saved.items() if id in mark.order}
        self._calls, self.done = dict(mark.calls), mark.done

    async def lose(self, call: int, why: str) -> None:
        """Give a call up that could not be recorded, so that its turn does not wait for ever."""
        flight = self._calls.pop(call, None)
        known = self._threads.get(flight.thread) if flight else None
        if known is None or known.turn is None or known.turn.call != call:
            return
        self._touch(known)
        known.turn.call = None
        known.turn.failure = Settlement("failed", "store-error", f"a call was not recorded: {why}")
        known.turn.until = self._clock()
        known.lost += 1

    def next_due(self) -> float | None:
        """When the next turn that failed is to be settled, on the clock given; None if none waits."""
        return min((turn.until for _, turn in self._failing()), default=None)

    async def settle_due(self) -> None:
        """Settle the turns that failed and were not tried again in time."""
        now = self._clock()
        for known, turn in list(self._failing()):
            if turn.until <= now and turn.failure is not None:
                await self._settle(known, turn, turn.failure)
                if known.lost:
                    await self._flag(known)

    def _failing(self) -> Iterator[tuple[Known, OpenTurn]]:
        for known in self._threads.values():
            if known.turn is not None and known.turn.failure is not None and known.turn.call is None:
                yield known, known.turn

    async def finish(self) -> None:
        """The recording ends: no turn is left running."""
        for known in list(self._threads.values()):
            if known.turn is not None:
                await self._close(known, known.turn, (), "the recording ended before an answer came")

    # A call begins

    async def _began(self, began: Began) -> None:
        sent = read_sent(began)
        known, joined = await self._thread_of(sent)
        turn = known.turn
        placed = place(sent.keys, known.keys, known.last)
        tail = [at for at, seq in enumerate(placed.seqs) if seq is None and at >= placed.tail]
        if turn is not None and not any(sent.rows[at].role == "user" for at in tail):
            seqs = await self._store_rows(known, sent, placed.seqs)
            new = [sent.rows[at] for at in tail]
            if new and turn.calls and rewritten(known.newest, new[0]):
                new = new[1:]
            turn.failure = None
            if items := turn.happened(new):
                await self.store.journal(turn.id, items)
        else:
            if turn is not None:
                await self._close(known, turn, [sent.rows[at] for at in tail], "the next request came before an answer")
            known, turn, seqs = await self._open(known, sent, placed.seqs)
        known.last, known.newest, known.instructions = (
            seqs,
            sent.rows[-1] if sent.rows else None,
            hash(sent.instructions),
        )
        turn.call = began.call
        self._calls[began.call] = Flight(known.id, turn.id, turn.step + 1, sent, parts_of(sent), began.secrets)
        self.written.pop(known.id, None)
        self.written[known.id] = None  # the last one last
        if joined is not None and joined.how == "branches":
            self._told(f"{known.id} branches off {joined.thread.id} at seq {joined.seq}")

    async def _thread_of(self, sent: Sent) -> tuple[Known, Joined | None]:
        """The thread of a call: gone on from, forked, or new."""
        joined = self._join(sent)
        if joined is None and sent.keys and not self._loaded:
            await self._load()
            joined = self._join(sent)
        if joined is None:
            new = NewThread(origin="recorded", name=title_of(sent), about=about_of(sent, self._upstream))
            known = Known(await self.store.create_thread(new))
        elif joined.how == "goes-on":
            known = self._touch(joined.thread)
        else:
            known = await self._fork(joined.thread, joined.seq)
        self._threads.pop(known.id, None)
        self._threads[known.id] = known  # the most recent last
        self._let_go()
        return known, joined

    def _join(self, sent: Sent) -> Joined | None:
        return join(sent, reversed(self._threads.values())) if sent.keys else None

    async def _fork(self, base: Known, seq: int) -> Known:
        last = [one for one in base.last if one <= seq]
        answers = {one for one in base.answers if one <= seq}
        return Known(await self.store.fork(base.id, seq), base.keys[:seq], last, answers)

    async def _open(self, known: Known, sent: Sent, seqs: Sequence[int | None]) -> tuple[Known, OpenTurn, list[int]]:
        """Open a turn: what stood before the request is stored first, then the request with the turn, then the rest."""
        asked = sent.request
        end = len(sent.rows) if asked is None else asked
        placed: list[int | None] = [*await self._store_rows(known, sent, seqs[:end])]
        request = sent.rows[end] if asked is not None else None
        stored = seqs[end] if asked is not None else None
        new = NewTurn(
            known.id,
            "brief" if request is None else "envelope",
            RECORDED,
            "all",
            request.text if request else "",
            owner=self._owner,
            origin="recorded",
            layout="messages",
            stored_user=stored,
        )
        message = request if stored is None else None
        try:
            opened = await self.store.open_turn(new, message)
        except ThreadBusy:  # somebody runs a turn of their own on it: the program goes on beside them
            known = await self._fork(known, len(known.keys))
            self._threads[known.id] = known
            opened = await self.store.open_turn(replace(new, thread=known.id), message)
        self._leases.hold(opened.id)
        if request is not None:
            placed.append(opened.stored_user)
            if message is not None:
                await self._caught_up(known, (opened.stored_user or 1) - 1)
                known.keys.append(sent.keys[end])
        turn = known.turn = OpenTurn(opened.id, opened.number)
        rest = seqs[end + 1 :] if asked is not None else ()
        context = context_of(sent, seqs_of(placed), known.front)
        known.front = (opened.id, tuple(seqs_of(placed[:end])))
        placed += await self._store_rows(known, sent, rest, first=end + 1)
        items = [turn.add(0, "context", ContextItem(context, 0, 0))]
        await self.store.journal(turn.id, [*items, *turn.happened(sent.rows[end + 1 :])])
        turn.left = sent_words(context, seen=True)
        return known, turn, seqs_of(placed)

    async def _store_rows(self, known: Known, sent: Sent, seqs: Sequence[int | None], *, first: int = 0) -> list[int]:
        """Append the messages that have no row yet; returns the seqs of all. `first` is the index of the first one."""
        new = [at for at, seq in enumerate(seqs, start=first) if seq is None]
        if not new:
            return seqs_of(seqs)
        rows = await self.store.append(known.id, *(sent.rows[at] for at in new))
        await self._caught_up(known, rows[0].seq - 1)
        known.keys += [sent.keys[at] for at in new]
        given = iter(row.seq for row in rows)
        return [next(given) if seq is None else seq for seq in seqs]

    async def _caught_up(self, known: Known, length: int) -> None:
        """Learn the rows up to `length` that somebody else has stored on the thread."""
        for row in await self.store.rows(known.id, len(known.keys) + 1, length) if len(known.keys) < length else ():
            known.keys.append(key_of(_as_new(row)) if isinstance(row, Message) else b"")

    # A call ends

    async def _ended(self, ended: Ended) -> None:
        flight = self._calls.pop(ended.call, None)
        known = self._threads.get(flight.thread) if flight else None
        if flight is None or known is None or known.turn is None or known.turn.id != flight.turn:
            return
        turn = self._touch(known).turn
        assert turn is not None
        turn.call = None
        answer = read_answer(flight.sent.dialect, ended, secrets=flight.secrets, step=flight.step, taken=turn.taken)
        outcome = outcome_of(ended, answer, flight.step, flight.sent.model, flight.parts, self._redact)
        self.done += 1
        await self._write(known, turn, flight, outcome)
        left = f" · {turn.left}" if turn.left else ""
        self._told(f"{known.id} turn {turn.number} step {flight.step} · {outcome.told}{left}")
        turn.left = ""

    async def _write(self, known: Known, turn: OpenTurn, flight: Flight, outcome: Outcome) -> None:
        """Journal what a call brought, and settle the turn or leave it open for what comes next."""
        bodies = {flight.step: flight.sent.body}
        items = [turn.add(flight.step, "attempt", outcome.attempt)]
        if outcome.again and self._hold > 0 and outcome.settlement is not None:
            turn.failure, turn.until = outcome.settlement, self._clock() + self._hold
            await self.store.journal(turn.id, items, bodies=bodies)
            return
        items.append(turn.add(flight.step, "step", outcome.step))
        turn.step = flight.step
        step = outcome.step.item
        if outcome.settlement is not None:
            text = outcome.settlement.answer
            message = NewMessage("assistant", text) if text is not None else None
            settled = await self.store.settle(
                turn.id, items, outcome.settlement, message=message, state={}, bodies=bodies
            )
            self._leases.release(turn.id)
            known.turn = None
            if message is not None and settled.stored_assistant is not None:
                await self._answered(known, message, settled.stored_assistant)
            return
        parts = tuple(tool_call_part(call.id, call.name, call.arguments) for call in step.calls)
        row = NewMessage("assistant", step.text, parts)
        stored = await self.store.append(known.id, row)
        await self.store.journal(turn.id, items, bodies=bodies)
        turn.calls = step.calls
        turn.taken.update(call.id for call in step.calls)
        await self._answered(known, row, stored[0].seq)

    async def _answered(self, known: Known, row: NewMessage, seq: int) -> None:
        await self._caught_up(known, seq - 1)
        known.keys.append(key_of(row))
        known.last.append(seq)
        known.answers.add(seq)
        known.newest = row

    # Turns end

    async def _close(self, known: Known, turn: OpenTurn, following: Sequence[NewMessage], why: str) -> None:
        """End a turn that got no answer: `following` are the messages that came next, its results among them."""
        results = []
        for row in following:
            if row.role == "user":
                break
            results.append(row)
        waited = bool(turn.calls)
        items = turn.happened(results)
        await self._settle(known, turn, ending(turn, waited, why), items)

    async def _settle(
        self, known: Known, turn: OpenTurn, settlement: Settlement, items: Sequence[JournalItem] = ()
    ) -> None:
        self._touch(known)
        journal = [*items]
        if turn.failure is not None:
            journal.append(turn.add(turn.step + 1, "step", nothing_came(turn.step + 1)))
        await self.store.settle(turn.id, journal, settlement, state={})
        self._leases.release(turn.id)
        known.turn = None

    async def _flag(self, known: Known) -> None:
        calls = "1 call was" if known.lost == 1 else f"{known.lost} calls were"
        await self.store.update_thread(known.id, status=f"incomplete: {calls} not recorded")

    def _touch(self, known: Known) -> Known:
        """Keep what is known of the thread as it was at the mark, before it changes."""
        if self._mark is not None and known.id not in self._mark.saved and known.id in self._mark.order:
            self._mark.saved[known.id] = known.copy()
        return known

    # Threads of before

    async def _load(self) -> None:
        """The recorded threads of before this recording, so that a program that was already talking goes on."""
        self._loaded = True
        found: dict[str, Known] = {}
        for thread in await self.store.threads(limit=_LOADED):
            about = thread.about or {}
            if about.get("recorder") is not True or thread.id in self._threads or thread.length > _LONGEST:
                continue
            rows = await self.store.rows(thread.id, 1, thread.length)
            turns = await self.store.turns(thread.id, runs=False)
            messages = [_as_new(row) for row in rows if isinstance(row, Message)]
            known = Known(
                thread.id,
                [key_of(_as_new(row)) if isinstance(row, Message) else b"" for row in rows],
                list(range(1, len(rows) + 1)),
                {turn.stored_assistant for turn in turns if turn.stored_assistant is not None},
                messages[-1] if messages else None,
            )
            found[thread.id] = known
        self._threads = {**dict(reversed(found.items())), **self._threads}

    def _let_go(self) -> None:
        """Forget the threads that were quiet longest, beyond what is kept in memory."""
        for known in list(self._threads.values())[: max(0, len(self._threads) - _THREADS)]:
            if known.turn is None:
                del self._threads[known.id]


def _as_new(row: Message) -> NewMessage:
    return NewMessage(row.role, row.text, row.parts)
