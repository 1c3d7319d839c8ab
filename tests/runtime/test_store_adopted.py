"""A Runtime's ledger beside somebody else's five methods: turns told to rows, what cannot be taken back, failures."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from runtime.errors import BadInput, StoreError, ThreadBusy, UnknownThread
from runtime.stores import NewThread, NewTurn
from runtime.stores.adopted import Adopted
from runtime.stores.memory import MemoryStore
from runtime.stores.owner import this_process
from runtime.values.json import Json
from runtime.values.messages import Message, NewMessage, Unreadable
from runtime.values.record import JournalItem, Settlement, View


class Theirs:
    """Five methods over a memory store: no turns, no ids, no origin; appending can be held up or fail."""

    def __init__(self) -> None:
        self.kept = MemoryStore()
        self.gate = asyncio.Event()
        self.gate.set()
        self.reached = asyncio.Event()
        self.failure: Exception | None = None

    async def create(self, *, agent: str = "", state: Mapping[str, Json] | None = None) -> str:
        return await self.kept.create(agent=agent)

    async def append(self, thread: str, *messages: NewMessage) -> tuple[Message, ...]:
        self.reached.set()
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return tuple(_bare(row) for row in await self.kept.append(thread, *messages))

    async def list_messages(self, thread: str, window: int) -> list[Message]:
        return [_bare(row) for row in await self.kept.list_messages(thread, window)]

    async def length(self, thread: str) -> int:
        return await self.kept.length(thread)

    async def fork(self, thread: str, seq: int) -> str:
        return await self.kept.fork(thread, seq)


def _bare(row: Message) -> Message:
    return Message(row.seq, row.role, row.text, row.parts, None, row.at)


@pytest.fixture
async def theirs() -> Theirs:
    return Theirs()


@pytest.fixture
async def store(theirs: Theirs) -> Adopted:
    return Adopted(theirs)


def envelope(thread: str, text: str = "q") -> NewTurn:
    return NewTurn(thread, "envelope", "notes", 6, text, this_process())


DONE = Settlement("completed", answer="a")


async def test_S10_a_whole_turn_over_adopted_threads(store: Adopted, theirs: Theirs) -> None:
    thread = await store.create_thread(NewThread("notes", state={"n": 0}), [NewMessage("user", "seeded")])
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    await store.journal(turn.id, [], state={"n": 1}, bodies={1: b"sent"})
    settled = await store.settle(turn.id, (), DONE, message=NewMessage("assistant", "a"), state={"n": 2})
    assert (settled.stored_user, settled.stored_assistant, settled.number) == (2, 3, 1)
    assert [(row.text, row.turn) for row in await store.list_messages(thread, 9)] == [
        ("seeded", None), ("q", turn.id), ("a", turn.id),
    ]  # fmt: skip
    assert [row.text for row in await theirs.list_messages(thread, 9)] == ["seeded", "q", "a"]
    assert [item.kind for item in await store.items(turn.id)] == ["settlement"]
    assert (await store.body(turn.id, 1), await store.state(thread)) == (b"sent", {"n": 2})
    again = await store.settle(turn.id, (), DONE, message=NewMessage("assistant", "twice"), state={})
    assert (again, await store.length(thread)) == (settled, 3)


async def test_S9_a_fork_of_adopted_threads_has_their_turns_and_state(store: Adopted) -> None:
    thread = await store.create(state={"n": 0})
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    await store.settle(turn.id, (), DONE, message=NewMessage("assistant", "a"), state={"n": 1})
    before, after = await store.fork(thread, 1), await store.fork(thread, 2)
    assert (await store.state(before), await store.state(after)) == ({"n": 0}, {"n": 1})
    assert await store.turns(before) == []
    assert [one.id for one in await store.turns(after)] == [turn.id]
    assert [row.turn for row in await store.list_messages(after, 9)] == [turn.id, turn.id]
    assert (await store.thread(after)).forked_at == 2
    with pytest.raises(BadInput):
        await store.fork(thread, 3)


async def test_a_thread_that_was_there_before_is_taken_up(store: Adopted, theirs: Theirs) -> None:
    thread = await theirs.create()
    await theirs.append(thread, NewMessage("user", "old"))
    assert (await store.thread(thread)).length == 1
    assert (await store.open_turn(envelope(thread), NewMessage("user", "q"))).stored_user == 2
    for question in (store.thread("nosuch"), store.turns("nosuch"), store.append("nosuch"), store.state("nosuch")):
        with pytest.raises(UnknownThread):
            await question


async def test_S6_rows_they_cannot_read_are_named(store: Adopted, theirs: Theirs) -> None:
    thread = await store.create_thread(NewThread(), [NewMessage("user", f"m{n}") for n in range(1, 6)])
    rows = theirs.kept._ledger.entry(thread).rows
    rows[3] = rows[4] = Unreadable(4, "theirs")
    rows[4] = Unreadable(5, "theirs")
    selected = await store.select(thread, 2)
    assert [row.text for row in selected.rows] == ["m2", "m3"]
    assert ([row.seq for row in selected.unreadable], selected.stored) == ([4, 5], 5)
    assert [type(row) for row in await store.rows(thread, 3, 5)] == [Message, Unreadable, Unreadable]


async def test_S7_the_place_is_held_while_their_append_runs(store: Adopted, theirs: Theirs) -> None:
    thread = await store.create()
    theirs.gate.clear()
    first = asyncio.ensure_future(store.open_turn(envelope(thread, "uA"), NewMessage("user", "uA")))
    await theirs.reached.wait()
    with pytest.raises(ThreadBusy):
        await store.open_turn(envelope(thread, "uB"), NewMessage("user", "uB"))
    theirs.gate.set()
    assert (await first).stored_user == 1
    assert await store.length(thread) == 1


async def test_T10_an_opening_that_is_cancelled_leaves_the_thread_free(store: Adopted, theirs: Theirs) -> None:
    thread = await store.create()
    theirs.gate.clear()
    opening = asyncio.ensure_future(store.open_turn(envelope(thread), NewMessage("user", "q")))
    await theirs.reached.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    theirs.gate.set()
    for _ in range(20):  # their append and what follows it, a few turns of the loop
        await asyncio.sleep(0)
    assert [turn.status for turn in await store.turns(thread)] == ["stopped"]
    assert (await store.open_turn(envelope(thread), NewMessage("user", "q2"))).number == 2
    assert [row.text for row in await theirs.list_messages(thread, 9)] == ["q", "q2"]


async def test_T10_a_settling_that_is_cancelled_is_done_once(store: Adopted, theirs: Theirs) -> None:
    thread = await store.create()
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    theirs.gate.clear()
    theirs.reached.clear()
    settling = asyncio.ensure_future(store.settle(turn.id, (), DONE, message=NewMessage("assistant", "a"), state={}))
    await theirs.reached.wait()
    settling.cancel()
    second = asyncio.ensure_future(store.settle(turn.id, (), Settlement("stopped"), state={}))
    await asyncio.sleep(0)
    theirs.gate.set()
    assert (await second).status == "completed"
    assert [row.text for row in await theirs.list_messages(thread, 9)] == ["q", "a"]


async def test_Q1_what_their_store_raises_is_a_store_error(store: Adopted, theirs: Theirs) -> None:
    thread = await store.create()
    theirs.failure = RuntimeError("no connection")
    with pytest.raises(StoreError, match="the store failed: RuntimeError: no connection"):
        await store.open_turn(envelope(thread), NewMessage("user", "q"))
    assert await store.turns(thread) == []
    theirs.failure = None
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    theirs.failure = OSError("disk")
    with pytest.raises(StoreError):
        await store.settle(turn.id, (), DONE, message=NewMessage("assistant", "a"), state={})
    failed = Settlement("failed", "store-error")
    assert (await store.settle(turn.id, (), failed, state={})).reason == "store-error"
    assert await store.items(turn.id) == [JournalItem(1, 0, "settlement", failed)]


async def test_S9_adopted_threads_cannot_be_deleted(store: Adopted) -> None:
    thread = await store.create()
    with pytest.raises(StoreError, match="cannot delete"):
        await store.delete_thread(thread)
    assert [one.id for one in await store.threads()] == [thread]


async def test_X4_runs_on_a_view_of_adopted_threads(store: Adopted) -> None:
    thread = await store.create()
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    run = await store.open_turn(
        NewTurn(thread, "envelope", "notes", 2, "q", this_process(), view=View(0), rerun_of=turn.id, state={})
    )
    await store.settle(run.id, (), DONE, state={"n": 9})
    assert (await store.length(thread), await store.state(thread)) == (1, {})
    assert [one.id for one in await store.turns(thread)] == [turn.id, run.id]
