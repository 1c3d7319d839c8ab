"""The SQLite file: its URL, what it refuses, migrations, two processes, waiting for a lock, kill -9."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runtime.errors import BadInput, StoreError, ThreadBusy, UnknownThread
from runtime.stores import NewThread, NewTurn, open_store
from runtime.stores.memory import MemoryStore
from runtime.stores.owner import this_process
from runtime.stores.sqlite import SqliteStore, schema
from runtime.values.messages import NewMessage
from runtime.values.record import Settlement

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "studio.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path, patience=0.2)
    yield opened
    asyncio.run(opened.close())


def said(*texts: str) -> list[NewMessage]:
    return [NewMessage("user", text) for text in texts]


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process that runs `code`, its input and output piped."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


# URLs


async def test_a_url_names_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for url, name in (
        ("sqlite:///relative.db", "relative.db"),
        (f"sqlite:///{tmp_path}/absolute.db", "absolute.db"),
        ("plain.db", "plain.db"),
        (f"{tmp_path}/plain absolute?#%41.db", "plain absolute?#%41.db"),
        ("~/home.db", "home.db"),
    ):
        store = open_store(url)
        thread = await store.create_thread(NewThread(), said(*"abc"))
        assert [one.id for one in await store.threads()] == [thread]  # by a second connection, by URI
        await store.close()
        assert (tmp_path / name).is_file()
    memory = open_store("memory:")
    assert isinstance(memory, MemoryStore)


@pytest.mark.parametrize("url", [
    "", "  ", "sqlite:", "sqlite://x.db", "sqlite:x.db", "postgres://u:secret@h/db", "memory:x", "sqlite:///",
    "sqlite:///:memory:", ":memory:", "a\x00b", "sqlite:////tmp/",
])  # fmt: skip
def test_Q1_a_url_that_names_no_store_is_bad_input(url: str) -> None:
    with pytest.raises(BadInput) as raised:
        open_store(url)
    assert "secret" not in str(raised.value)


# What is refused


def test_Q1_a_missing_folder_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        open_store(str(tmp_path / "missing" / "x.db"))
    with pytest.raises(BadInput, match="is a folder"):
        open_store(str(tmp_path))


@pytest.mark.parametrize("content", [b"hello, I am a text\n" * 100, b"SQLite format 3\x00" + b"\xff" * 600])
def test_Q1_a_file_that_is_no_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match=str(path)):
        open_store(str(path))
    assert path.read_bytes() == content


def test_Q1_a_database_of_something_else_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE bookmarks (url)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="something else"):
        open_store(str(path))
    assert path.read_bytes() == before


async def test_Q1_a_newer_schema_is_refused(path: Path) -> None:
    await open_store(str(path)).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("INSERT INTO schema_version VALUES (?, 'from the future', '')", (len(schema.MIGRATIONS) + 1,))
    with pytest.raises(StoreError, match="newer version"):
        open_store(str(path))


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    asyncio.run(open_store(str(path)).close())
    assert path.stat().st_size > 0


@pytest.mark.parametrize(
    ("pragma", "said_so"), [("query_only = ON", "read-only"), ("max_page_count = 1", "disk is full")]
)
async def test_Q1_a_file_that_cannot_be_written_is_one_sentence(store: SqliteStore, pragma: str, said_so: str) -> None:
    thread = await store.create_thread(NewThread(), said("kept"))
    store._file.db.execute(f"PRAGMA {pragma}")
    with pytest.raises(StoreError, match=said_so) as raised:
        await store.append(thread, *said("x" * 100_000))
    assert str(store._file.path) in str(raised.value)
    assert [row.text for row in await store.list_messages(thread, 9)] == ["kept"]
    with pytest.raises(StoreError, match=said_so):
        await store.open_turn(NewTurn(thread, "envelope", "n", 6, "q" * 50_000), NewMessage("user", "q" * 100_000))
    assert await store.turns(thread) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize(("file", "folder", "said_so"), [(0o444, 0o777, "read-only"), (0o666, 0o555, "cannot be")])
def test_Q1_a_read_only_file_or_folder_is_one_sentence(file: int, folder: int, said_so: str) -> None:
    """Tried as somebody who is not root, to whom permissions mean nothing."""
    code = """
        import os, sys
        import runtime.stores.sqlite
        from runtime.errors import StudioError
        from runtime.stores import open_store
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            open_store(sys.argv[1])
        except StudioError as error:
            print(error)
    """
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "studio.db"
        asyncio.run(SqliteStore(path).close())
        path.chmod(file)
        path.parent.chmod(folder)
        told, _ = python(code, path).communicate()
        path.parent.chmod(0o700)
    assert told.startswith(f"{path} ")
    assert said_so in told


async def test_a_closed_store_says_so(path: Path) -> None:
    store = open_store(str(path))
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.create()


async def test_a_damaged_journal_is_a_store_error(store: SqliteStore) -> None:
    turn = await store.open_turn(NewTurn(await store.create(), "brief", "n", 6, "q"))
    await store.settle(turn.id, (), Settlement("stopped"), state={})
    for body in ("{", "[]", "{}", b"\x00", '{"status": 1}'):
        store._file.db.execute("UPDATE items SET body = ?", (body,))
        with pytest.raises(StoreError, match=f"item 1 of turn {turn.id} is damaged"):
            await store.items(turn.id)


# Migrations


def test_migrations_are_ordered_named_and_leave_the_same_schema(tmp_path: Path) -> None:
    names = [migration.name for migration in schema.MIGRATIONS]
    assert len(set(names)) == len(names)
    shapes = []
    for name, steps in (("one.db", [len(names)]), ("by_one.db", range(1, len(names) + 1))):
        with closing(sqlite3.connect(tmp_path / name, isolation_level=None)) as db:
            for upto in steps:
                schema.migrate(db, name, upto=upto)
                assert schema.version_of(db, name) == upto
            schema.migrate(db, name)
            assert [row[0] for row in db.execute("SELECT name FROM schema_version ORDER BY version")] == names
            shapes.append(db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall())
    assert shapes[0] == shapes[1]


async def test_an_older_file_is_migrated_and_keeps_its_rows(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.migrate(db, "", upto=1)
        db.execute(
            "INSERT INTO threads (uid, origin, segments, agent, name, initial, state, born, created)"
            " VALUES ('abc123', 'user', '[]', 'notes', '', '{}', '{}', 0, '2026-01-05T09:00:00+00:00')"
        )
        db.execute(
            "INSERT INTO messages (id, thread, seq, role, text, at)"
            " VALUES (1, 1, 1, 'user', 'old', '2026-01-05T09:00:00+00:00')"
        )
    store = SqliteStore(path)
    assert [row.text for row in await store.list_messages("abc123", 6)] == ["old"]
    turn = await store.open_turn(NewTurn("abc123", "brief", "n", 6, "q"))
    await store.journal(turn.id, [], bodies={1: b"body"})
    assert await store.body(turn.id, 1) == b"body"
    await store.close()


def test_a_migration_that_fails_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (*schema.MIGRATIONS, schema.Migration("broken", ("CREATE TABLE fine (x)", "NO SUCH STATEMENT")))
    monkeypatch.setattr(schema, "MIGRATIONS", broken)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        with pytest.raises(sqlite3.OperationalError):
            schema.migrate(db, "", upto=len(broken))
        assert db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_two_processes_may_create_the_file_at_once(path: Path) -> None:
    code = """
        import asyncio, sys
        from runtime.stores import open_store
        input()
        store = open_store(sys.argv[1])
        print(asyncio.run(store.create()))
    """
    processes = [python(code, path) for _ in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.communicate()[0].strip() for process in processes]
    assert len(set(told)) == 3
    with closing(sqlite3.connect(path)) as db:
        assert {row[0] for row in db.execute("SELECT uid FROM threads")} == set(told)


# Two processes


def test_C35_two_processes_append_to_one_thread(path: Path) -> None:
    store = SqliteStore(path)
    thread = asyncio.run(store.create())
    code = """
        import asyncio, sys
        from runtime.stores import open_store
        from runtime.values.messages import NewMessage
        async def main():
            store = open_store(sys.argv[1])
            input()
            for n in range(50):
                await store.append(sys.argv[2], NewMessage("user", f"{sys.argv[3]} {n}"))
            await store.close()
        asyncio.run(main())
    """
    processes = [python(code, path, thread, name) for name in ("A", "B")]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[1] or process.returncode for process in processes] == [0, 0]
    rows = asyncio.run(store.list_messages(thread, 1000))
    assert [row.seq for row in rows] == list(range(1, 101))
    assert len({row.text for row in rows}) == 100
    for name in ("A", "B"):
        assert [row.text for row in rows if row.text.startswith(name)] == [f"{name} {n}" for n in range(50)]
    asyncio.run(store.close())


async def test_S7_a_turn_of_another_process_holds_the_place_until_it_dies(store: SqliteStore, path: Path) -> None:
    thread = await store.create()
    code = """
        import asyncio, sys
        from runtime.stores import NewTurn, open_store
        from runtime.stores.owner import this_process
        from runtime.values.messages import NewMessage
        async def main():
            store = open_store(sys.argv[1])
            new = NewTurn(sys.argv[2], "envelope", "notes", 6, "theirs", this_process())
            print((await store.open_turn(new, NewMessage("user", "theirs"))).id, flush=True)
            input()
        asyncio.run(main())
    """
    new = NewTurn(thread, "envelope", "notes", 6, "ours", this_process())
    with python(code, path, thread) as process:
        assert process.stdout is not None
        theirs = process.stdout.readline().strip()
        with pytest.raises(ThreadBusy, match=f"pid {process.pid}"):
            await store.open_turn(new, NewMessage("user", "ours"))
        process.kill()
        process.wait()
    assert await store.interrupted(await store.turn(theirs))
    ours = await store.open_turn(new, NewMessage("user", "ours"))
    assert ((await store.turn(theirs)).reason, ours.number) == ("interrupted", 2)
    assert [row.text for row in await store.list_messages(thread, 9)] == ["theirs", "ours"]


async def test_another_connections_writes_are_seen(store: SqliteStore, path: Path) -> None:
    thread = await store.create_thread(NewThread(), said("a"))
    assert len(await store.list_messages(thread, 6)) == 1
    seen = await store.changed()
    assert await store.changed() == seen
    await store.append(thread, *said("b"))
    assert await store.changed() == seen, "one's own writes are no news"
    other = SqliteStore(path)
    await other.append(thread, *said("c"))
    assert await store.changed() != seen
    assert [row.text for row in await store.list_messages(thread, 6)] == ["a", "b", "c"]
    await other.delete_thread(thread)
    with pytest.raises(UnknownThread):
        await store.list_messages(thread, 6)
    await other.close()


# Waiting


async def test_a_locked_file_is_waited_for_without_holding_up_the_loop(store: SqliteStore, path: Path) -> None:
    thread = await store.create()
    store._file.patience = 30.0
    ticks = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        appending = asyncio.ensure_future(store.append(thread, *said("waited")))
        while ticks < 50:
            await asyncio.sleep(0)
            ticks += 1
        assert not appending.done()
        assert await store.list_messages(thread, 6) == [], "readers do not wait for a writer"
        other.execute("COMMIT")
    (row,) = await appending
    assert row.seq == 1


async def test_a_file_that_stays_locked_is_a_store_error(store: SqliteStore, path: Path) -> None:
    thread = await store.create()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"locked by another process; gave up after 0\.2 s"):
            await store.append(thread, *said("never"))
        other.execute("ROLLBACK")
    assert await store.length(thread) == 0


async def test_T10_a_wait_that_is_cancelled_leaves_nothing_half_done(store: SqliteStore, path: Path) -> None:
    store._file.patience = 30.0
    thread = await store.create()
    turn = await store.open_turn(NewTurn(thread, "envelope", "n", 6, "q", this_process()), NewMessage("user", "q"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        ended = Settlement("completed", answer="a")
        settling = asyncio.ensure_future(
            store.settle(turn.id, (), ended, message=NewMessage("assistant", "a"), state={"n": 1})
        )
        await asyncio.sleep(0)
        settling.cancel()
        await asyncio.gather(settling, return_exceptions=True)
        other.execute("ROLLBACK")
    assert (await store.turn(turn.id)).status == "running"
    assert await store.state(thread) == {}
    assert not store._file.db.in_transaction
    assert await store.length(thread) == 1


# kill -9


@pytest.mark.parametrize("after", [1, 7, 23])
async def test_kill_9_loses_no_stored_message_and_invents_none(store: SqliteStore, path: Path, after: int) -> None:
    """The process is killed in the middle of appends, right after it has told that number `after` is stored."""
    thread = await store.create()
    code = """
        import asyncio, itertools, sys
        from runtime.stores import NewTurn, open_store
        from runtime.stores.owner import this_process
        from runtime.values.messages import NewMessage
        from runtime.values.record import Settlement
        async def main():
            store, thread = open_store(sys.argv[1]), sys.argv[2]
            for n in itertools.count(1):
                new = NewTurn(thread, "envelope", "notes", 6, f"q{n}", this_process())
                turn = await store.open_turn(new, NewMessage("user", f"q{n}"))
                ended, message = Settlement("completed", answer=f"a{n}"), NewMessage("assistant", f"a{n}")
                await store.settle(turn.id, (), ended, message=message, state={"n": n})
                print(n, flush=True)
        asyncio.run(main())
    """
    with python(code, path, thread) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < after:
            pass
        process.kill()
        told = [after, *(int(line) for line in process.stdout.read().split("\n")[:-1])]
    rows = await store.list_messages(thread, 10**9)
    expected = [text for n in range(1, told[-1] + 2) for text in (f"q{n}", f"a{n}")]
    assert [row.text for row in rows] == expected[: len(rows)]
    assert 2 * told[-1] <= len(rows) <= 2 * told[-1] + 2
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    turns = await store.turns(thread)
    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
    assert {turn.status for turn in turns[:-1]} <= {"completed"}
    await store.open_turn(NewTurn(thread, "brief", "notes", 6, "next", this_process()))
    assert await store.state(thread) == {"n": len(rows) // 2}
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
