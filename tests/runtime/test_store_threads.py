"""Threads in both of our stores: rows, windows at a point, unreadable rows, forks and their state, deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from runtime.errors import BadInput, ForksRemain, ThreadBusy, UnknownThread
from runtime.stores import NewThread, NewTurn, Store, open_store
from runtime.stores.ids import ALPHABET
from runtime.stores.memory import MemoryStore
from runtime.stores.owner import this_process
from runtime.stores.sqlite import SqliteStore
from runtime.values.json import Json
from runtime.values.messages import Message, NewMessage, Origin, Row, Unreadable
from runtime.values.record import Settlement, Turn, View

Damage: TypeAlias = Callable[[str, int, str, object], None]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = open_store("memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/studio.db")
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "studio.db")
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def damage(sqlite: SqliteStore) -> Damage:
    def write(thread: str, seq: int, column: str, value: object) -> None:
        where = "seq = ? AND thread = (SELECT id FROM threads WHERE uid = ?)"
        sqlite._file.db.execute(f"UPDATE messages SET {column} = ? WHERE {where}", (value, seq, thread))

    return write


def said(*texts: str) -> list[NewMessage]:
    return [NewMessage("user", text) for text in texts]


def texts(rows: tuple[Row, ...] | list[Row] | list[Message]) -> list[str]:
    return [row.text if isinstance(row, Message) else f"?{row.seq}" for row in rows]


async def ask(store: Store, thread: str, text: str, answer: str | None, **state: Json) -> Turn:
    """One whole turn on a thread: its request, its answer if there is one, the state it leaves."""
    turn = await store.open_turn(
        NewTurn(thread, "envelope", "notes", 6, text, this_process()), NewMessage("user", text)
    )
    ended = Settlement("completed", answer=answer) if answer is not None else Settlement("failed", "no-output")
    message = None if answer is None else NewMessage("assistant", answer)
    return await store.settle(turn.id, (), ended, message=message, state=state or turn.state_before)


# Rows and ids


async def test_S1_one_insertion_number_runs_over_the_whole_store(store: Store) -> None:
    one = await store.create_thread(NewThread(), said("a", "b"))
    two = await store.create_thread(NewThread(), said("c"))
    (row,) = await store.append(one, *said("d"))
    ids = [row.id for thread in (one, two) for row in await store.list_messages(thread, 9)]
    assert ids == [1, 2, 4, 3]
    assert row.id == 4


async def test_S1_an_insertion_number_is_never_given_twice(store: Store) -> None:
    await store.create_thread(NewThread(), said("a"))
    gone = await store.create_thread(NewThread(), said("b", "c"))
    await store.delete_thread(gone)
    kept = await store.create_thread(NewThread(), said("d"))
    assert [row.id for row in await store.list_messages(kept, 9)] == [4]


async def test_S1_a_row_keeps_origin_source_and_flags(store: Store) -> None:
    given = NewMessage("tool", "42", source="file.json#/3", flags=("summary", "hidden"), origin=Origin("abc123", 7))
    thread = await store.create_thread(NewThread(), [given])
    (row,) = await store.list_messages(thread, 1)
    assert (row.origin, row.source, row.flags, row.turn) == (given.origin, given.source, given.flags, None)


async def test_ids_are_crockford_and_of_fixed_length(store: Store) -> None:
    thread = await store.create()
    turn = await ask(store, thread, "q", "a")
    assert (len(thread), len(turn.id)) == (6, 8)
    assert set(thread + turn.id) <= set(ALPHABET)
    assert not set("ilou") & set(ALPHABET)


async def test_a_thread_keeps_what_it_was_created_with(store: Store) -> None:
    new = NewThread(
        "notes", "imported", "Friday", "seeds/friday.yaml", "ab" * 32, {"tone": "brief"}, "parent", {"tools": ["x"]}
    )
    thread = await store.thread(await store.create_thread(new, said("a", "b")))
    assert (thread.agent, thread.origin, thread.name, thread.seed, thread.seed_digest, thread.state) == (
        "notes", "imported", "Friday", "seeds/friday.yaml", "ab" * 32, {"tone": "brief"},
    )  # fmt: skip
    assert (thread.parent, thread.about, thread.length, thread.forked_at) == ("parent", {"tools": ["x"]}, 2, None)
    assert thread.created.utcoffset() is not None


async def test_S8_names_and_states_are_made_storable(store: Store) -> None:
    thread = await store.create_thread(
        NewThread("a\x00", name="n\ud800", seed="\udcff.yaml", state={"k\ud800": "\x00"})
    )
    kept = await store.thread(thread)
    assert (kept.agent, kept.name, kept.seed) == ("a\ufffd", "n\ufffd", "\ufffd.yaml")
    assert kept.state["k\ufffd"] in ("\ufffd", "\x00")


async def test_the_callers_state_is_copied(store: Store) -> None:
    notes: list[Json] = ["a"]
    thread = await store.create(state={"notes": notes})
    notes.append("b")
    assert await store.state(thread) == {"notes": ["a"]}


# Windows


async def test_C09_window_3_of_8(store: Store) -> None:
    thread = await store.create_thread(NewThread(), said(*(f"m{n}" for n in range(1, 9))))
    assert texts(await store.list_messages(thread, 3)) == ["m6", "m7", "m8"]


async def test_C04_window_0_of_5_is_none(store: Store) -> None:
    thread = await store.create_thread(NewThread(), said("a", "b", "c", "d", "e"))
    selected = await store.select(thread, 0)
    assert (selected.rows, selected.unreadable, selected.stored) == ((), (), 5)


@pytest.mark.parametrize(("window", "count"), [(6, 6), (0, 0), (1, 1), ("all", 8), (10**19, 8), (-(10**19), 0)])
async def test_C06_windows_of_eight_rows(store: Store, window: int, count: int) -> None:
    thread = await store.create_thread(NewThread(), said(*(f"m{n}" for n in range(1, 9))))
    for _ in range(2):  # the second time the place of the thread is known
        selected = await store.select(thread, window)
        assert texts(list(selected.rows)) == [f"m{n}" for n in range(9 - count, 9)]
        assert selected.stored == 8


@pytest.mark.parametrize(("upto", "window", "expected", "stored"), [
    (3, 2, ["m2", "m3"], 3), (3, "all", ["m1", "m2", "m3"], 3), (0, 6, [], 0), (-5, 6, [], 0), (99, 2, ["m4", "m5"], 5),
    (10**19, "all", ["m1", "m2", "m3", "m4", "m5"], 5), (1, 10**19, ["m1"], 1),
])  # fmt: skip
async def test_X4_a_window_among_the_rows_up_to_a_point(
    store: Store, upto: int, window: int, expected: list[str], stored: int
) -> None:
    thread = await store.create_thread(NewThread(), said("m1", "m2", "m3", "m4", "m5"))
    for _ in range(2):
        selected = await store.select(thread, window, upto=upto)
        assert (texts(list(selected.rows)), selected.stored) == (expected, stored)


async def test_S2_a_window_of_thousands(store: Store) -> None:
    thread = await store.create_thread(NewThread(), said(*(f"m{n}" for n in range(1, 5001))))
    for window in (4000, "all"):
        selected = await store.select(thread, window)
        assert len(selected.rows) == (4000 if window == 4000 else 5000)
        assert selected.rows[-1].text == "m5000"
    assert len(await store.rows(thread, 1, 5000)) == 5000


async def test_rows_are_cut_to_what_there_is(store: Store) -> None:
    thread = await store.create_thread(NewThread(), said("m1", "m2", "m3"))
    assert texts(await store.rows(thread, 2, 3)) == ["m2", "m3"]
    assert texts(await store.rows(thread, -4, 10**19)) == ["m1", "m2", "m3"]
    assert await store.rows(thread, 3, 2) == []
    assert await store.rows(thread, 4, 9) == []


async def test_S4_every_question_about_an_unknown_thread_is_an_error(store: Store) -> None:
    thread = await store.create_thread(NewThread(), said("a"))
    for unknown in ("nosuch", thread.upper() + "x", thread[:5], thread + "\ud800", ""):
        for ask_for in (
            store.thread(unknown), store.select(unknown, 0), store.rows(unknown, 1, 1), store.state(unknown),
            store.forks(unknown), store.turns(unknown), store.delete_thread(unknown), store.append(unknown),
            store.open_turn(NewTurn(unknown, "envelope", "notes", 6, "q"), NewMessage("user", "q")),
        ):  # fmt: skip
            with pytest.raises(UnknownThread):
                await ask_for


# Unreadable rows


async def test_C08_unreadable_rows_take_no_place_and_are_named(sqlite: SqliteStore, damage: Damage) -> None:
    thread = await sqlite.create_thread(NewThread(), said("valid0", "valid1", "valid2", "bad", "bad"))
    damage(thread, 4, "text", None)
    damage(thread, 5, "parts", "{oops")
    for _ in range(2):
        selected = await sqlite.select(thread, 2)
        assert texts(list(selected.rows)) == ["valid1", "valid2"]
        assert [row.seq for row in selected.unreadable] == [4, 5]
        assert selected.stored == 5
    assert [row.problem for row in selected.unreadable] == ["its text is null", "its parts are no JSON list of objects"]
    assert texts(await sqlite.rows(thread, 3, 5)) == ["valid2", "?4", "?5"]


@pytest.mark.parametrize(("column", "value"), [
    ("text", None), ("text", b"\xff\xfe"), ("role", "robot"), ("role", None), ("role", b"user"), ("parts", "{}"),
    ("parts", "3"), ("parts", "[1]"), ("parts", "[" * 100_000), ("parts", b"[]"), ("at", "yesterday"), ("at", None),
    ("flags", "{"), ("source", b"\x00"),
])  # fmt: skip
async def test_S6_any_damage_is_named(sqlite: SqliteStore, damage: Damage, column: str, value: object) -> None:
    thread = await sqlite.create_thread(NewThread(), said("a", "b", "c"))
    damage(thread, 2, column, value)
    selected = await sqlite.select(thread, "all")
    assert texts(list(selected.rows)) == ["a", "c"]
    (bad,) = selected.unreadable
    assert (bad.seq, bad.id) == (2, 2)
    assert bad.problem


@pytest.mark.parametrize("column", ["text", "role", "source", "parts"])
async def test_S6_bytes_that_are_no_utf8(sqlite: SqliteStore, damage: Damage, column: str) -> None:
    thread = await sqlite.create_thread(NewThread(), said("é 1", "b", "é 3"))
    where = "seq = 2 AND thread = (SELECT id FROM threads WHERE uid = ?)"
    sqlite._file.db.execute(f"UPDATE messages SET {column} = CAST(x'c328ff' AS TEXT) WHERE {where}", (thread,))
    for _ in range(2):
        selected = await sqlite.select(thread, 2)
        assert texts(list(selected.rows)) == ["é 1", "é 3"]
        assert [row.seq for row in selected.unreadable] == [2]


async def test_S6_only_unreadable_rows_that_were_met_are_named(sqlite: SqliteStore, damage: Damage) -> None:
    thread = await sqlite.create_thread(NewThread(), said(*(f"m{n}" for n in range(1, 11))))
    damage(thread, 2, "text", None)
    damage(thread, 9, "text", None)
    assert [row.seq for row in (await sqlite.select(thread, 3)).unreadable] == [9]
    assert [row.seq for row in (await sqlite.select(thread, 0)).unreadable] == []
    assert [row.seq for row in (await sqlite.select(thread, "all")).unreadable] == [2, 9]


async def test_S6_memory_and_sqlite_count_unreadable_rows_alike(sqlite: SqliteStore, damage: Damage) -> None:
    memory = MemoryStore()
    bad = {1, 3, 4, 7}
    ours, theirs = [await s.create_thread(NewThread(), said(*"abcdefgh")) for s in (memory, sqlite)]
    for seq in bad:
        damage(theirs, seq, "text", None)
        memory._ledger.entry(ours).rows[seq - 1] = Unreadable(seq, "its text is null", seq)
    for window in range(10):
        for upto in (None, *range(10)):
            one, two = await memory.select(ours, window, upto=upto), await sqlite.select(theirs, window, upto=upto)
            assert texts(list(one.rows)) == texts(list(two.rows))
            assert (one.unreadable, one.stored) == (two.unreadable, two.stored)


# Forks and state


async def test_S9_the_state_of_a_fork_is_as_it_was_at_that_point(store: Store) -> None:
    thread = await store.create_thread(NewThread(state={"tone": "seed"}), said("s1", "s2"))
    await ask(store, thread, "q1", "a1", tone="one")
    await ask(store, thread, "q2", "a2", tone="two")
    expected = ["seed", "seed", "seed", "seed", "one", "one", "two"]
    assert [(await store.state(thread, seq=seq))["tone"] for seq in range(7)] == [
        "seed", "seed", "seed", "seed", "one", "one", "two",
    ]  # fmt: skip
    for seq, tone in enumerate(expected):
        fork = await store.fork(thread, seq)
        assert await store.state(fork) == {"tone": tone}
        assert (await store.thread(fork)).state == {"tone": tone}
    assert await store.state(thread) == {"tone": "two"}


async def test_S9_rows_without_a_turn_keep_the_state_they_came_in(store: Store) -> None:
    thread = await store.create_thread(NewThread(state={"tone": "seed"}))
    await store.append(thread, *said("before any turn"))
    turn = await store.open_turn(NewTurn(thread, "brief", "notes", 6, "q", this_process()))
    await store.append(thread, *said("while it runs"))
    await store.settle(turn.id, (), Settlement("completed", answer="a"), state={"tone": "brief"})
    await store.append(thread, *said("afterwards"))
    assert [(await store.state(thread, seq=n))["tone"] for n in range(4)] == ["seed", "seed", "seed", "brief"]


async def test_S9_writes_stay_however_the_turn_settles(store: Store) -> None:
    thread = await store.create_thread(NewThread(state={"tone": "seed"}))
    await ask(store, thread, "q1", None, tone="failed")
    await ask(store, thread, "q2", "a2", tone="last")
    assert [(await store.state(thread, seq=n))["tone"] for n in range(4)] == ["seed", "seed", "failed", "last"]


async def test_S9_the_state_at_a_row_of_a_base_far_down(store: Store) -> None:
    thread = await store.create_thread(NewThread(state={"n": 0}))
    for n in range(1, 6):
        await ask(store, thread, f"q{n}", f"a{n}", n=n)
        thread = await store.fork(thread, 2 * n)
    assert [(await store.state(thread, seq=seq))["n"] for seq in range(11)] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    with pytest.raises(BadInput):
        await store.state(thread, seq=11)


async def test_S9_forks_know_their_base(store: Store) -> None:
    base = await store.create_thread(NewThread("notes", "seed", "Friday", "s", "d", {}, None, {"x": 1}), said("a", "b"))
    one, two = await store.fork(base, 1), await store.fork(base, 2)
    inner = await store.fork(one, 1)
    fork = await store.thread(one)
    assert (fork.origin, fork.parent, fork.forked_at, fork.length, fork.agent) == ("fork", base, 1, 1, "notes")
    assert (fork.seed, fork.seed_digest, fork.about) == ("s", "d", {"x": 1})
    assert [thread.id for thread in await store.forks(base)] == [one, two]
    assert [thread.id for thread in await store.forks(one)] == [inner]


async def test_S9_a_thread_with_forks_goes_only_with_them(store: Store) -> None:
    base = await store.create_thread(NewThread(), said("a", "b"))
    one = await store.fork(base, 1)
    inner = await store.fork(one, 1)
    other = await store.create_thread(NewThread(), said("kept"))
    with pytest.raises(ForksRemain) as raised:
        await store.delete_thread(base)
    assert raised.value.forks == (one, inner)
    assert await store.delete_thread(inner) == (inner,)
    assert await store.delete_thread(base, with_forks=True) == (base, one)
    assert [thread.id for thread in await store.threads()] == [other]
    for gone in (base, one, inner):
        with pytest.raises(UnknownThread):
            await store.list_messages(gone, 6)


async def test_S9_a_known_thread_that_was_deleted_is_unknown(store: Store) -> None:
    thread = await store.create_thread(NewThread(), said("a", "b"))
    await store.list_messages(thread, 6)
    await store.delete_thread(thread)
    await store.create_thread(NewThread(), said("somebody else"))
    with pytest.raises(UnknownThread):
        await store.list_messages(thread, 6)


async def test_S7_a_thread_with_a_running_turn_is_not_deleted(store: Store) -> None:
    thread = await store.create_thread(NewThread(), said("a"))
    turn = await store.open_turn(NewTurn(thread, "envelope", "notes", 6, "q", this_process(), view=View(1), state={}))
    with pytest.raises(ThreadBusy):
        await store.delete_thread(thread)
    await store.settle(turn.id, (), Settlement("stopped"), state={})
    assert await store.delete_thread(thread) == (thread,)


async def test_threads_are_listed_by_activity_newest_first(store: Store) -> None:
    one, two, three = [await store.create_thread(NewThread(name=n), said("x")) for n in "abc"]
    assert [thread.id for thread in await store.threads()] == [three, two, one]
    await store.append(one, *said("again"))
    assert [thread.id for thread in await store.threads(limit=2)] == [one, three]
    empty = await store.create()
    assert (await store.threads())[0].id == empty
    assert await store.threads(limit=0) == []
