"""S10: the public contract passes for our stores, and fails for each of the stores it was written to catch."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import BadInput, UnknownThread
from runtime.stores import Threads
from runtime.stores.adopted import Adopted
from runtime.stores.contract import ThreadsContract
from runtime.stores.memory import MemoryStore
from runtime.stores.sqlite import SqliteStore
from runtime.values.json import Json
from runtime.values.messages import Message, NewMessage, Unreadable


class BackwardsClock:
    """Tells an earlier time at every look."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> datetime:
        self.looks += 1
        return datetime(2026, 1, 5, 9, 0, tzinfo=UTC) - timedelta(minutes=self.looks)


class TestMemory(ThreadsContract):
    @pytest.fixture
    def threads(self) -> Threads:
        return MemoryStore(clock=BackwardsClock())

    async def damage(self, threads: Threads, thread: str, seq: int) -> bool:
        assert isinstance(threads, MemoryStore)
        rows = threads._ledger.entry(thread).rows
        rows[seq - 1] = Unreadable(seq, "damaged")
        return True


class TestSqlite(ThreadsContract):
    @pytest.fixture
    def threads(self, tmp_path: Path) -> Iterator[Threads]:
        stores = [SqliteStore(tmp_path / "threads.db", clock=BackwardsClock())]
        self.opened = stores
        yield stores[0]
        for store in stores:
            asyncio.run(store.close())

    def another(self, threads: Threads) -> Threads:
        assert isinstance(threads, SqliteStore)
        self.opened.append(SqliteStore(threads._file.path))
        return self.opened[-1]

    async def damage(self, threads: Threads, thread: str, seq: int) -> bool:
        assert isinstance(threads, SqliteStore)
        sql = "UPDATE messages SET text = NULL WHERE seq = ? AND thread = (SELECT id FROM threads WHERE uid = ?)"
        threads._file.db.execute(sql, (seq, thread))
        return True


class TestAdopted(ThreadsContract):
    """A class of somebody else's, with our ledger beside it, is still a store of threads."""

    @pytest.fixture
    def threads(self) -> Threads:
        self.theirs = Lists()
        return Adopted(self.theirs)

    async def damage(self, threads: Threads, thread: str, seq: int) -> bool:
        return await blank(self, self.theirs, thread, seq)


def is_bad(row: Message) -> bool:
    text: object = row.text
    return text is None


class Lists:
    """What somebody might write: a dict of lists, five methods, rows told by the clock of the module."""

    def __init__(self) -> None:
        self.kept: dict[str, list[Message]] = {}

    async def create(self, *, agent: str = "", state: Mapping[str, Json] | None = None) -> str:
        thread = f"thread-{len(self.kept)}"
        self.kept[thread] = []
        return thread

    async def append(self, thread: str, *messages: NewMessage) -> tuple[Message, ...]:
        rows = self.rows(thread)
        at = datetime.now(UTC)
        added = tuple(Message(len(rows) + n, m.role, m.text, m.parts, None, at) for n, m in enumerate(messages, 1))
        rows.extend(added)
        return added

    async def list_messages(self, thread: str, window: int) -> list[Message]:
        rows = [row for row in self.rows(thread) if not is_bad(row)]
        return rows[-min(window, len(rows)) :] if window > 0 and rows else []

    async def length(self, thread: str) -> int:
        return len(self.rows(thread))

    async def fork(self, thread: str, seq: int) -> str:
        rows = self.rows(thread)
        if not 0 <= seq <= len(rows):
            raise BadInput(f"row {seq} is outside the thread", field="seq")
        fork = await self.create()
        self.kept[fork] = rows[:seq]
        return fork

    def rows(self, thread: str) -> list[Message]:
        if thread not in self.kept:
            raise UnknownThread(thread)
        return self.kept[thread]


async def blank(self: ThreadsContract, threads: Threads, thread: str, seq: int) -> bool:
    assert isinstance(threads, Lists)
    rows = threads.kept[thread]
    rows[seq - 1] = replace(rows[seq - 1], text=None)  # type: ignore[arg-type]  # damage is what no type allows
    return True


class TestLists(ThreadsContract):
    damage = blank

    @pytest.fixture
    def threads(self) -> Threads:
        return Lists()


# Stores that are wrong, each in one way


class SlicesFromMinusZero(Lists):
    async def list_messages(self, thread: str, window: int) -> list[Message]:
        return self.rows(thread)[-max(0, window) :]


class PassesNegativeLimit(Lists):
    async def list_messages(self, thread: str, window: int) -> list[Message]:
        limit = window  # as SQLite reads it: LIMIT -1 is no limit
        return (await super().list_messages(thread, limit)) if limit >= 0 else list(self.rows(thread))


class OrdersByClock(Lists):
    async def list_messages(self, thread: str, window: int) -> list[Message]:
        rows = sorted(self.rows(thread), key=lambda row: row.at)
        return rows[-min(window, len(rows)) :] if window > 0 and rows else []


class SharesSeq(Lists):
    async def append(self, thread: str, *messages: NewMessage) -> tuple[Message, ...]:
        length = len(self.rows(thread))
        await asyncio.sleep(0)  # a connection of its own would let others in here
        at = datetime.now(UTC)
        added = tuple(Message(length + n, m.role, m.text, m.parts, None, at) for n, m in enumerate(messages, 1))
        self.rows(thread).extend(added)
        return added


class RaisesOnABadRow(Lists):
    async def list_messages(self, thread: str, window: int) -> list[Message]:
        if any(is_bad(row) for row in self.rows(thread)):
            raise ValueError("a row cannot be decoded")
        return await super().list_messages(thread, window)


class CountsBadRows(Lists):
    async def list_messages(self, thread: str, window: int) -> list[Message]:
        rows = self.rows(thread)
        newest = rows[-min(window, len(rows)) :] if window > 0 and rows else []
        return [row for row in newest if not is_bad(row)]


class AnswersForUnknownThreads(Lists):
    async def list_messages(self, thread: str, window: int) -> list[Message]:
        return await super().list_messages(thread, window) if thread in self.kept else []


class AnswersForUnknownAtZero(Lists):
    async def list_messages(self, thread: str, window: int) -> list[Message]:
        return [] if window <= 0 else await super().list_messages(thread, window)


class MatchesByPrefix(Lists):
    def rows(self, thread: str) -> list[Message]:
        found = next((id for id in self.kept if thread and id.startswith(thread)), thread)
        return super().rows(found)


class MatchesByLike(Lists):
    def rows(self, thread: str) -> list[Message]:
        fits = [
            id
            for id in self.kept
            if len(id) == len(thread) and all(p in ("_", c) for p, c in zip(thread, id, strict=True))
        ]
        return super().rows(fits[0] if fits else thread)


class CopiesTheBaseLate(Lists):
    """A fork that reads its base through, also what came later."""

    async def fork(self, thread: str, seq: int) -> str:
        fork = await super().fork(thread, seq)
        self.kept[fork] = self.kept[thread]
        return fork


class StripsTexts(Lists):
    async def append(self, thread: str, *messages: NewMessage) -> tuple[Message, ...]:
        return await super().append(thread, *(replace(message, text=message.text.strip()) for message in messages))


CAUGHT = {
    SlicesFromMinusZero: "test_S3_a_window_of_zero_or_less_is_none",
    PassesNegativeLimit: "test_S3_a_window_of_zero_or_less_is_none",
    OrdersByClock: "test_S1_insertion_decides_never_the_clock",
    SharesSeq: "test_S1_two_writers_never_share_a_seq",
    RaisesOnABadRow: "test_S6_an_unreadable_row_uses_no_place_and_does_not_raise",
    CountsBadRows: "test_S6_an_unreadable_row_uses_no_place_and_does_not_raise",
    AnswersForUnknownThreads: "test_S4_an_unknown_thread_is_an_error_whatever_the_window",
    AnswersForUnknownAtZero: "test_S4_an_unknown_thread_is_an_error_whatever_the_window",
    MatchesByPrefix: "test_S4_ids_match_exactly",
    MatchesByLike: "test_S4_ids_match_exactly",
    CopiesTheBaseLate: "test_S9_a_fork_holds_the_rows_up_to_its_point_and_goes_on",
    StripsTexts: "test_S8_every_store_gives_back_the_same_text",
}


class Damaging(ThreadsContract):
    damage = blank


def failures(store: type[Lists]) -> dict[str, BaseException]:
    """The contract's tests that fail on fresh stores of a class, by name, with what they raised."""
    failed: dict[str, BaseException] = {}
    for name, test in inspect.getmembers(Damaging(), inspect.ismethod):
        for arguments in _arguments(test) if name.startswith("test_") else ():
            try:
                with pytest.MonkeyPatch.context() as patch:
                    wanted = {"monkeypatch": patch} if "monkeypatch" in inspect.signature(test).parameters else {}
                    test(store(), **arguments, **wanted)
            except (AssertionError, ValueError, pytest.fail.Exception) as error:
                failed.setdefault(name, error)
    return failed


def _arguments(test: Callable[..., None]) -> list[dict[str, Any]]:
    for mark in getattr(test, "pytestmark", ()):
        names = mark.args[0] if isinstance(mark.args[0], tuple) else (mark.args[0],)
        values = [value if isinstance(value, tuple) else (value,) for value in mark.args[1]]
        return [dict(zip(names, value, strict=True)) for value in values]
    return [{}]


@pytest.mark.parametrize("store", CAUGHT, ids=lambda store: store.__name__)
def test_S10_the_contract_catches(store: type[Lists]) -> None:
    failed = failures(store)
    assert CAUGHT[store] in failed
    if store is not RaisesOnABadRow:
        assert isinstance(failed[CAUGHT[store]], AssertionError | pytest.fail.Exception)


def test_S10_a_store_that_is_right_has_no_failures() -> None:
    assert failures(Lists) == {}


def test_S10_the_contract_needs_one_fixture_and_pytest_alone(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        textwrap.dedent(
            """
            import pytest
            from runtime.stores.contract import ThreadsContract
            from runtime.stores.memory import MemoryStore

            class TestMine(ThreadsContract):
                @pytest.fixture
                def threads(self):
                    return MemoryStore()
            """
        )
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path)]
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    told = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "1 skipped" in told.stdout
