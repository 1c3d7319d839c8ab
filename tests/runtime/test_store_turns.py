"""Turns in both of our stores: opening, journal, settling, the thread's one place, numbers, runs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runtime.errors import BadInput, StoreError, ThreadBusy, UnknownThread, UnknownTurn
from runtime.stores import NewThread, NewTurn, Store
from runtime.stores.memory import MemoryStore
from runtime.stores.owner import this_process
from runtime.stores.sqlite import SqliteStore
from runtime.values.items import AssistantStep, Nudge
from runtime.values.json import Json
from runtime.values.messages import NewMessage
from runtime.values.record import Attempt, JournalItem, Owner, Settlement, StepItem, Turn, View

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
DONE = Settlement("completed", answer="done")
ELSEWHERE = Owner("another-host", 4711, "1234")


class Clock:
    """A clock that stands still until it is set forward."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    memory = request.param == "memory"
    opened: Store = MemoryStore(clock=clock) if memory else SqliteStore(tmp_path / "studio.db", clock=clock)
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def dead() -> Owner:
    """A process of this host that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    owner = Owner(this_process().host, process.pid, "1")
    process.wait()
    return owner


def envelope(thread: str, text: str = "q", owner: Owner | None = None) -> NewTurn:
    return NewTurn(thread, "envelope", "notes", 6, text, owner or this_process())


def run_of(turn: Turn, **changes: object) -> NewTurn:
    new = envelope(turn.thread, turn.request)
    return replace(new, view=View(1), rerun_of=turn.id, state=turn.state_before, **changes)  # type: ignore[arg-type]  # fields of NewTurn


async def ask(store: Store, thread: str, text: str = "q", answer: str | None = "a", **state: Json) -> Turn:
    turn = await store.open_turn(envelope(thread, text), NewMessage("user", text))
    message = None if answer is None else NewMessage("assistant", answer)
    ended = Settlement("completed", answer=answer) if answer is not None else Settlement("failed", "no-output")
    return await store.settle(turn.id, (), ended, message=message, state=state)


async def texts(store: Store, thread: str) -> list[str]:
    return [row.text for row in await store.list_messages(thread, 99)]


# Opening and settling


async def test_S5_opening_stores_the_request_and_settling_the_answer(store: Store) -> None:
    thread = await store.create(state={"tone": "brief"})
    turn = await store.open_turn(envelope(thread, "what?"), NewMessage("user", "what?"))
    assert (turn.status, turn.number, turn.stored_user, turn.stored_assistant) == ("running", 1, 1, None)
    assert (turn.request, turn.state_before, turn.state_after) == ("what?", {"tone": "brief"}, None)
    assert (turn.opened, turn.lease, turn.owner) == (START, START, this_process())
    assert await texts(store, thread) == ["what?"]
    settled = await store.settle(turn.id, (), DONE, message=NewMessage("assistant", "done"), state={"tone": "long"})
    assert (settled.status, settled.stored_user, settled.stored_assistant) == ("completed", 1, 2)
    assert (settled.state_after, settled.settled) == ({"tone": "long"}, START)
    assert [(row.role, row.text, row.turn) for row in await store.list_messages(thread, 9)] == [
        ("user", "what?", turn.id), ("assistant", "done", turn.id),
    ]  # fmt: skip
    assert await store.state(thread) == {"tone": "long"}
    assert await store.turn(turn.id) == settled


@pytest.mark.parametrize("settlement", [
    Settlement("failed", "no-output", "nothing came"), Settlement("cut", "seconds"), Settlement("stopped"),
    Settlement("truncated"), Settlement("failed", "model-error"),
])  # fmt: skip
async def test_S5_a_turn_that_does_not_complete_adds_no_answer(store: Store, settlement: Settlement) -> None:
    thread = await store.create()
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    settled = await store.settle(turn.id, (), settlement, state={"kept": 1})
    assert (settled.status, settled.reason) == (settlement.status, settlement.reason)
    assert await texts(store, thread) == ["q"]
    assert await store.state(thread) == {"kept": 1}


async def test_S5_the_settlement_is_journaled_and_settling_again_changes_nothing(store: Store) -> None:
    thread = await store.create()
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    attempt = JournalItem(1, 1, "attempt", Attempt(1, "script", "ok"))
    step = JournalItem(2, 1, "step", StepItem(AssistantStep(1, "done"), 9, {"request": 9}, 0.0))
    await store.journal(turn.id, [attempt])
    settled = await store.settle(turn.id, [step], DONE, message=NewMessage("assistant", "done"), state={})
    assert await store.items(turn.id) == [attempt, step, JournalItem(3, 1, "settlement", DONE)]
    again = await store.settle(
        turn.id, [], Settlement("stopped"), message=NewMessage("assistant", "twice"), state={"x": 1}
    )
    assert again == settled
    assert len(await store.items(turn.id)) == 3
    assert await texts(store, thread) == ["q", "done"]
    assert await store.state(thread) == {}


async def test_A6_a_turn_without_items_still_has_its_settlement(store: Store) -> None:
    turn = await ask(store, await store.create(), "q", None)
    assert await store.items(turn.id) == [JournalItem(1, 0, "settlement", Settlement("failed", "no-output"))]


async def test_A6_a_settled_turns_journal_is_closed(store: Store) -> None:
    turn = await ask(store, await store.create())
    with pytest.raises(StoreError, match=f"turn {turn.id} has settled"):
        await store.journal(turn.id, [JournalItem(9, 1, "nudge", Nudge(1, "again"))])


async def test_A6_an_item_number_is_taken_once(store: Store) -> None:
    turn = await store.open_turn(envelope(await store.create()), NewMessage("user", "q"))
    item = JournalItem(1, 1, "nudge", Nudge(1, "again"))
    await store.journal(turn.id, [item])
    with pytest.raises(StoreError, match="journaled already"):
        await store.journal(turn.id, [JournalItem(2, 1, "nudge", Nudge(1, "b")), item])
    with pytest.raises(StoreError, match="journaled already"):
        await store.settle(turn.id, [item], DONE, message=NewMessage("assistant", "no"), state={})
    assert await store.items(turn.id) == [item]
    assert await texts(store, turn.thread) == ["q"]
    assert (await store.turn(turn.id)).status == "running"


async def test_A6_a_long_item_comes_back_whole(store: Store) -> None:
    turn = await store.open_turn(envelope(await store.create()), NewMessage("user", "q"))
    item = JournalItem(1, 1, "nudge", Nudge(1, "long \u2028 é " * 20_000))
    await store.journal(turn.id, [item])
    assert await store.items(turn.id) == [item]


async def test_T4_a_state_written_in_the_turn_is_the_threads(store: Store) -> None:
    thread = await store.create(state={"n": 0})
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    await store.journal(turn.id, [], state={"n": 1})
    assert await store.state(thread) == {"n": 1}
    assert (await store.turn(turn.id)).state_before == {"n": 0}


async def test_turns_keep_all_they_were_opened_with(store: Store) -> None:
    thread = await store.create()
    first = await ask(store, thread)
    new = NewTurn(
        thread, "brief", "notes", "all", "other\x00", ELSEWHERE, "recorded", "messages", View(1, (1,), {2: "b"}),
        rerun_of=first.id, experiment="exp1", cell="6", state={"n": 1},
    )  # fmt: skip
    turn = await store.open_turn(new)
    assert turn == await store.turn(turn.id)
    assert (turn.kind, turn.window, turn.request, turn.owner, turn.origin, turn.layout, turn.view, turn.rerun_of) == (
        "brief", "all", "other\ufffd", ELSEWHERE, "recorded", "messages", View(1, (1,), {2: "b"}), first.id,
    )  # fmt: skip
    assert (turn.experiment, turn.cell, turn.state_before, turn.number) == ("exp1", "6", {"n": 1}, 0)
    assert (await store.open_turn(replace(new, window=10**19, experiment=None))).window == 10**19


async def test_an_imported_turn_names_the_rows_that_were_there(store: Store) -> None:
    rows = [NewMessage("user", "q"), NewMessage("assistant", "a"), NewMessage("user", "open")]
    thread = await store.create_thread(NewThread(origin="imported"), rows)
    new = replace(envelope(thread), origin="imported", layout="messages", stored_user=1, stored_assistant=2)
    turn = await store.open_turn(new)
    settled = await store.settle(turn.id, (), Settlement("completed", answer="a"), state={})
    assert (settled.stored_user, settled.stored_assistant, settled.number) == (1, 2, 1)
    assert await texts(store, thread) == ["q", "a", "open"]
    assert [t.id for t in await store.turns(await store.fork(thread, 2))] == [turn.id]
    assert await store.turns(await store.fork(thread, 1)) == []


async def test_unknown_turns_are_errors(store: Store) -> None:
    turn = await ask(store, await store.create())
    for unknown in ("nosuchid", turn.id[:7], turn.id + "\ud800", ""):
        for question in (
            store.turn(unknown), store.items(unknown), store.children(unknown), store.body(unknown, 1),
            store.journal(unknown, []), store.settle(unknown, (), DONE, state={}),
            store.open_turn(replace(envelope(turn.thread), kind="child", parent=unknown)),
        ):  # fmt: skip
            with pytest.raises(UnknownTurn):
                await question
    with pytest.raises(UnknownThread):
        await store.turns("nosuch")


# The thread's one place


async def test_S7_a_second_root_turn_is_refused_and_writes_nothing(store: Store) -> None:
    thread = await store.create()
    turn = await store.open_turn(envelope(thread, "first"), NewMessage("user", "first"))
    for second in (envelope(thread, "second"), replace(envelope(thread), kind="brief")):
        message = NewMessage("user", "second") if second.kind == "envelope" else None
        with pytest.raises(ThreadBusy) as raised:
            await store.open_turn(second, message)
        assert (raised.value.thread, raised.value.turn) == (thread, turn.id)
        assert str(this_process().pid) in str(raised.value)
    assert await texts(store, thread) == ["first"]
    assert [one.id for one in await store.turns(thread)] == [turn.id]
    await store.settle(turn.id, (), Settlement("stopped"), state={})
    await store.open_turn(envelope(thread, "second"), NewMessage("user", "second"))


async def test_C34_two_turns_at_once_one_is_refused(store: Store) -> None:
    thread = await store.create()
    both = (store.open_turn(envelope(thread, text), NewMessage("user", text)) for text in ("uA", "uB"))
    told = await asyncio.gather(*both, return_exceptions=True)
    assert [type(one) for one in told] == [Turn, ThreadBusy]
    assert await texts(store, thread) == ["uA"]


async def test_S7_runs_on_a_view_neither_take_nor_need_the_place(store: Store) -> None:
    thread = await store.create(state={"n": 0})
    first = await ask(store, thread, n=1)
    running = await store.open_turn(envelope(thread), NewMessage("user", "q2"))
    runs = [await store.open_turn(run_of(first)) for _ in range(2)]
    for n, run in enumerate(runs):
        await store.journal(run.id, [], state={"run": n})
        settled = await store.settle(run.id, (), DONE, state={"run": n})
        assert (settled.state_before, settled.state_after, settled.stored_assistant) == ({"n": 0}, {"run": n}, None)
    assert await store.state(thread) == {"n": 1}
    assert await texts(store, thread) == ["q", "a", "q2"]
    assert (await store.turn(running.id)).status == "running"


async def test_S5_runs_and_children_store_no_message(store: Store) -> None:
    thread = await store.create()
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    child = replace(envelope(thread), kind="child", parent=turn.id, parent_step=1, parent_call="c1")
    for new in (run_of(turn), child):
        with pytest.raises(BadInput):
            await store.open_turn(new, NewMessage("user", "x"))
        opened = await store.open_turn(new)
        with pytest.raises(BadInput):
            await store.settle(opened.id, (), DONE, message=NewMessage("assistant", "x"), state={})
        assert (await store.settle(opened.id, (), DONE, state={})).status == "completed"
    assert await texts(store, thread) == ["q"]


async def test_S7_a_dead_owners_turn_is_settled_by_the_next_one(store: Store, dead: Owner) -> None:
    thread = await store.create(state={"n": 0})
    turn = await store.open_turn(envelope(thread, "lost", dead), NewMessage("user", "lost"))
    child = await store.open_turn(replace(envelope(thread, owner=dead), kind="child", parent=turn.id))
    await store.journal(turn.id, [JournalItem(1, 2, "nudge", Nudge(2, "again"))], state={"n": 1})
    assert await store.interrupted(await store.turn(turn.id))
    assert (await store.turn(turn.id)).status == "running", "who only looks settles nothing"
    assert [one.status for one in await store.turns(thread)] == ["running"]
    second = await store.open_turn(envelope(thread, "next"), NewMessage("user", "next"))
    lost = await store.turn(turn.id)
    assert (lost.status, lost.reason, lost.state_after) == ("failed", "interrupted", {"n": 1})
    assert (await store.turn(child.id)).reason == "interrupted"
    last = (await store.items(turn.id))[-1]
    assert (last.n, last.step, last.kind) == (2, 2, "settlement")
    assert isinstance(last.body, Settlement)
    assert str(dead.pid) in str(last.body.error)
    assert (second.number, second.state_before) == (2, {"n": 1})
    assert await texts(store, thread) == ["lost", "next"]
    assert not await store.interrupted(lost)


async def test_S7_elsewhere_the_lease_decides(store: Store, clock: Clock) -> None:
    thread = await store.create()
    turn = await store.open_turn(envelope(thread, "there", ELSEWHERE), NewMessage("user", "there"))
    clock.forward(14)
    await store.renew([turn.id, "nosuchid"])
    assert (await store.turn(turn.id)).lease == START + timedelta(seconds=14)
    clock.forward(14.9)
    with pytest.raises(ThreadBusy, match="another-host"):
        await store.open_turn(envelope(thread), NewMessage("user", "q"))
    assert not await store.interrupted(await store.turn(turn.id))
    clock.forward(0.2)
    assert await store.interrupted(await store.turn(turn.id))
    await store.open_turn(envelope(thread), NewMessage("user", "q"))
    assert (await store.turn(turn.id)).reason == "interrupted"


async def test_S7_a_living_owner_of_this_host_needs_no_lease(store: Store, clock: Clock) -> None:
    thread = await store.create()
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    clock.forward(3600)
    assert not await store.interrupted(turn)
    with pytest.raises(ThreadBusy):
        await store.open_turn(envelope(thread), NewMessage("user", "q"))


async def test_S7_a_run_that_lost_its_owner_does_not_stand_in_the_way(store: Store, dead: Owner) -> None:
    thread = await store.create()
    first = await ask(store, thread)
    run = await store.open_turn(run_of(first, owner=dead))
    await store.open_turn(run_of(first))
    assert (await store.turn(run.id)).reason == "interrupted"
    assert await store.state(thread) == {}


# Numbers, runs and children


async def test_turns_are_numbered_from_one_without_runs_and_children(store: Store) -> None:
    thread = await store.create()
    one = await ask(store, thread, "q1")
    run = await store.open_turn(run_of(one))
    two = await store.open_turn(replace(envelope(thread, "q2"), kind="brief"))
    child = await store.open_turn(
        replace(envelope(thread), kind="child", parent=two.id, parent_step=1, parent_call="c1")
    )
    grandchild = await store.open_turn(replace(envelope(thread), kind="child", parent=child.id))
    assert [turn.number for turn in (one, run, two, child, grandchild)] == [1, 0, 2, 0, 0]
    assert [turn.id for turn in await store.turns(thread)] == [one.id, run.id, two.id]
    assert [turn.id for turn in await store.turns(thread, runs=False)] == [one.id, two.id]
    assert [turn.id for turn in await store.children(two.id)] == [child.id]
    assert [turn.id for turn in await store.children(child.id)] == [grandchild.id]
    assert (child.parent, child.parent_step, child.parent_call) == (two.id, 1, "c1")


async def test_turns_come_in_pages_with_their_runs(store: Store) -> None:
    thread = await store.create()
    early = await store.open_turn(replace(envelope(thread), view=View(0), state={}))
    turns = [await ask(store, thread, f"q{n}") for n in range(1, 6)]
    late = await store.open_turn(run_of(turns[1]))

    async def page(before: int | None = None, limit: int | None = None) -> list[str]:
        names = {turn.id: turn.request for turn in turns} | {early.id: "early", late.id: "run of q2"}
        return [names[turn.id] for turn in await store.turns(thread, before=before, limit=limit)]

    assert await page() == ["early", "q1", "q2", "q3", "q4", "q5", "run of q2"]
    assert await page(limit=2) == ["q4", "q5"]
    assert await page(limit=2, before=4) == ["q2", "q3", "run of q2"]
    assert await page(limit=2, before=2) == ["early", "q1"]
    assert await page(before=3) == ["early", "q1", "q2", "run of q2"]
    assert await page(before=1) == await page(limit=0) == await page(limit=-1) == []
    assert len(await page(limit=10**19)) == 7


async def test_S9_a_fork_has_its_bases_turns_that_lie_within_it(store: Store) -> None:
    base = await store.create_thread(NewThread(), [NewMessage("user", "seeded")])
    one = await ask(store, base, "q1", "a1")  # rows 2, 3
    brief = await store.open_turn(replace(envelope(base, "b"), kind="brief"))
    await store.settle(brief.id, (), DONE, state={})
    two = await ask(store, base, "q2", None)  # row 4
    three = await ask(store, base, "q3", "a3")  # rows 5, 6
    run = await store.open_turn(run_of(one))
    expected = {0: [], 1: [], 2: [], 3: [one, run], 4: [one, brief, two, run], 5: [one, brief, two, run]}
    expected[6] = [one, brief, two, three, run]
    for seq, turns in expected.items():
        fork = await store.fork(base, seq)
        assert [turn.id for turn in await store.turns(fork)] == [turn.id for turn in turns], seq
        assert {turn.thread for turn in await store.turns(fork)} <= {base}
        own = await ask(store, fork, "own")
        assert own.number == len([turn for turn in turns if turn.number]) + 1
        assert [turn.id for turn in await store.turns(fork)] == [turn.id for turn in (*turns, own)]
        inner = await store.fork(fork, seq + 2)
        assert [turn.id for turn in await store.turns(inner, runs=False)] == [
            turn.id for turn in (*turns, own) if turn.number
        ]
        assert (await ask(store, inner, "inner")).number == own.number + 1


async def test_S9_a_running_turn_of_the_base_is_not_the_forks(store: Store) -> None:
    base = await store.create(state={"n": 0})
    turn = await store.open_turn(envelope(base), NewMessage("user", "q"))
    fork = await store.fork(base, 1)
    await store.settle(turn.id, (), DONE, message=NewMessage("assistant", "a"), state={"n": 1})
    assert await store.turns(fork) == []
    assert (await store.state(fork), await texts(store, fork)) == ({"n": 0}, ["q"])
    assert (await ask(store, fork)).number == 1


async def test_many_turns_and_a_fork_among_them(store: Store) -> None:
    thread = await store.create(state={"n": 0})
    turns = [await ask(store, thread, f"q{n}", "a" if n % 3 else None, n=n) for n in range(1, 41)]
    for turn in turns[::7]:
        last = turn.stored_assistant or turn.stored_user
        assert last is not None
        fork = await store.fork(thread, last)
        assert [one.number for one in await store.turns(fork)] == list(range(1, turn.number + 1))
        expected = turn.state_after if turn.stored_assistant else turn.state_before
        assert await store.state(fork) == expected


# Cancellation


async def test_T10_settling_is_whole_or_not_at_all_when_cancelled(store: Store) -> None:
    thread = await store.create()
    turn = await store.open_turn(envelope(thread), NewMessage("user", "q"))
    settling = asyncio.ensure_future(
        store.settle(turn.id, (), DONE, message=NewMessage("assistant", "done"), state={"n": 1})
    )
    settling.cancel()
    await asyncio.gather(settling, return_exceptions=True)
    assert (await store.turn(turn.id)).status == "running"
    assert await texts(store, thread) == ["q"]
    await store.settle(turn.id, (), Settlement("stopped"), state={})
    assert (await store.turn(turn.id)).status == "stopped"
