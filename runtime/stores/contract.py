"""The public test suite for anyone's `Threads` (S10): pytest, one class, one fixture.

    from runtime.stores.contract import ThreadsContract

    class TestMine(ThreadsContract):
        @pytest.fixture
        def threads(self):
            return MyThreads(...)

The fixture gives a store without threads. Nothing but pytest is needed: every test runs its own event loop, so the
store must not be bound to another one before it is first used. Three methods may be overridden where a store allows
more to be tested: `another`, `damage` and `turn_back_clock`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Coroutine, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest

from runtime.errors import BadInput, UnknownThread
from runtime.stores import Threads
from runtime.values.json import Json
from runtime.values.messages import Message, NewMessage, Role

HUGE = 10**19
"""A window that no 64-bit integer holds."""

ABSENT = "no-such-thread"


class ThreadsContract:
    """What every store must do, by rule. Subclass it with a fixture named `threads`."""

    def another(self, threads: Threads) -> Threads:
        """A second handle on the same threads (another connection), for the writers' test; by default the same."""
        return threads

    async def damage(self, threads: Threads, thread: str, seq: int) -> bool:
        """Make row `seq` of a thread unreadable in the storage itself; False where that cannot be done (S6)."""
        return False

    def turn_back_clock(self, threads: Threads, patch: pytest.MonkeyPatch) -> None:
        """Make every later look at the clock tell an earlier time than the one before.

        By default in `time`, and in the modules that define the store's class for what they import of `time` and
        `datetime`. A store that is given its clock some other way overrides this.
        """
        _turn_back(threads, patch)

    # S1: rows in insertion order, seq 1, 2, 3 ...

    def test_S1_rows_are_numbered_from_one_without_holes(self, threads: Threads) -> None:
        async def check() -> None:
            thread = await threads.create()
            first = await threads.append(thread, user("a"), assistant("b"))
            second = await threads.append(thread, user("c"))
            assert [row.seq for row in (*first, *second)] == [1, 2, 3], "append returns the rows with their seq"
            assert [row.seq for row in await threads.list_messages(thread, 10)] == [1, 2, 3]
            assert await threads.length(thread) == 3

        run(check())

    def test_S1_threads_do_not_mix(self, threads: Threads) -> None:
        async def check() -> None:
            one, two = await threads.create(), await threads.create()
            assert one != two
            for n in range(3):
                await threads.append(one, user(f"one {n}"))
                await threads.append(two, user(f"two {n}"))
            assert texts(await threads.list_messages(two, 10)) == ["two 0", "two 1", "two 2"]
            assert [row.seq for row in await threads.list_messages(one, 10)] == [1, 2, 3]

        run(check())

    def test_S1_a_row_keeps_role_text_parts_and_time(self, threads: Threads) -> None:
        async def check() -> None:
            thread = await threads.create(agent="notes", state={"tone": "brief"})
            given = [NewMessage(role, f"from {role}") for role in ROLES_IN_ORDER]
            given.append(NewMessage("assistant", "", parts=({"type": "tool_call", "id": "c1", "arguments": {"n": 1}},)))
            given.append(NewMessage("user", "", parts=()))
            await threads.append(thread, *given)
            rows = await threads.list_messages(thread, 10)
            assert [(row.role, row.text) for row in rows] == [(new.role, new.text) for new in given]
            assert [_parts(row) for row in rows] == [None if new.parts is None else list(new.parts) for new in given]
            assert all(row.at.utcoffset() == timedelta(0) for row in rows), "times are aware, UTC"

        run(check())

    def test_S1_nothing_appended_is_nothing_stored(self, threads: Threads) -> None:
        async def check() -> None:
            thread = await threads.create()
            assert await threads.append(thread) == ()
            assert await threads.length(thread) == 0

        run(check())

    def test_S1_insertion_decides_never_the_clock(self, threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
        async def check() -> None:
            thread = await threads.create()
            for n in range(1, 5):
                await threads.append(thread, user(f"m{n}"))
            await threads.append(thread, user("m5"), assistant("m6"))
            assert texts(await threads.list_messages(thread, 3)) == ["m4", "m5", "m6"]
            assert texts(await threads.list_messages(thread, 9)) == [f"m{n}" for n in range(1, 7)]

        with monkeypatch.context() as patch:
            self.turn_back_clock(threads, patch)
            run(check())

    def test_S1_two_writers_never_share_a_seq(self, threads: Threads) -> None:
        async def check() -> None:
            thread, other = await threads.create(), self.another(threads)

            async def write(store: Threads, name: str) -> list[int]:
                return [(await store.append(thread, user(f"{name} {n}")))[0].seq for n in range(20)]

            told = await asyncio.gather(*(write(store, f"writer {n}") for n, store in enumerate((threads, other) * 3)))
            rows = await threads.list_messages(thread, HUGE)
            assert [row.seq for row in rows] == list(range(1, 121)), "each row has a seq of its own, without holes"
            assert len(set(texts(rows))) == 120, "no row is lost or doubled"
            assert sorted(seq for seqs in told for seq in seqs) == list(range(1, 121)), "append tells the seq it gave"

        run(check())

    # S2, S3: windows

    def test_S2_the_newest_rows_oldest_first(self, threads: Threads) -> None:
        async def check() -> None:
            thread = await thread_with(threads, 8)
            assert texts(await threads.list_messages(thread, 3)) == ["m6", "m7", "m8"]
            assert texts(await threads.list_messages(thread, 1)) == ["m8"]

        run(check())

    def test_S2_a_window_may_begin_at_a_tool_row(self, threads: Threads) -> None:
        async def check() -> None:
            thread = await threads.create()
            call = NewMessage("assistant", "", parts=({"type": "tool_call", "id": "c1"},))
            await threads.append(thread, user("q"), call, NewMessage("tool", "42"), assistant("a"))
            assert [row.role for row in await threads.list_messages(thread, 2)] == ["tool", "assistant"]

        run(check())

    @pytest.mark.parametrize("window", [0, -1, -6, -HUGE])
    def test_S3_a_window_of_zero_or_less_is_none(self, threads: Threads, window: int) -> None:
        async def check() -> None:
            thread = await thread_with(threads, 5)
            assert list(await threads.list_messages(thread, window)) == []
            assert list(await threads.list_messages(await threads.create(), window)) == []

        run(check())

    @pytest.mark.parametrize("window", [5, 6, 99, 2**63, HUGE])
    def test_S3_a_window_larger_than_the_thread_is_all_of_it(self, threads: Threads, window: int) -> None:
        async def check() -> None:
            thread = await thread_with(threads, 5)
            assert texts(await threads.list_messages(thread, window)) == ["m1", "m2", "m3", "m4", "m5"]
            assert list(await threads.list_messages(await threads.create(), window)) == []

        run(check())

    # S4: unknown threads

    @pytest.mark.parametrize("window", [0, -1, 1, 6, HUGE])
    def test_S4_an_unknown_thread_is_an_error_whatever_the_window(self, threads: Threads, window: int) -> None:
        async def check() -> None:
            await thread_with(threads, 2)
            with pytest.raises(UnknownThread):
                await threads.list_messages(ABSENT, window)

        run(check())

    def test_S4_an_unknown_thread_is_an_error_for_every_method(self, threads: Threads) -> None:
        async def check() -> None:
            await thread_with(threads, 2)
            for ask in (
                lambda: threads.append(ABSENT, user("x")),
                lambda: threads.append(ABSENT),
                lambda: threads.length(ABSENT),
                lambda: threads.fork(ABSENT, 0),
            ):
                with pytest.raises(UnknownThread):
                    await ask()
            with pytest.raises(UnknownThread):
                await threads.length(ABSENT)

        run(check())

    def test_S4_ids_match_exactly(self, threads: Threads) -> None:
        async def check() -> None:
            thread = await thread_with(threads, 2)
            for near in {*_near(thread)} - {thread}:
                with pytest.raises(UnknownThread):
                    await threads.list_messages(near, 6)
                with pytest.raises(UnknownThread):
                    await threads.append(near, user("x"))
            assert await threads.length(thread) == 2

        run(check())

    # S6: unreadable rows

    def test_S6_an_unreadable_row_uses_no_place_and_does_not_raise(self, threads: Threads) -> None:
        async def check() -> None:
            thread = await thread_with(threads, 5)
            for seq in (4, 5):
                if not await self.damage(threads, thread, seq):
                    pytest.skip("this store has no way to damage a row")
            assert texts(await threads.list_messages(thread, 2)) == ["m2", "m3"]
            assert texts(await threads.list_messages(thread, HUGE)) == ["m1", "m2", "m3"]
            assert await threads.length(thread) == 5, "the rows are still there"
            (row,) = await threads.append(thread, user("m6"))
            assert row.seq == 6
            assert texts(await threads.list_messages(thread, 2)) == ["m3", "m6"]

        run(check())

    # S8: the same text back

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("nul \x00 inside", "nul \ufffd inside"),
            ("lone \ud83d half", "lone \ufffd half"),
            ("\U0001f600 \u2028 \u0085 \u202e \ufeff é e\u0301", "\U0001f600 \u2028 \u0085 \u202e \ufeff é e\u0301"),
            ("tab\t, line\nend\r\n, \x1b[2J, \x7f, \x9b", "tab\t, line\nend\r\n, \x1b[2J, \x7f, \x9b"),
            ("  blanks kept  ", "  blanks kept  "),
            ("", ""),
            ("None", "None"),
            ("%_'\"\\;--", "%_'\"\\;--"),
        ],
    )
    def test_S8_every_store_gives_back_the_same_text(self, threads: Threads, given: str, kept: str) -> None:
        async def check() -> None:
            thread = await threads.create()
            await threads.append(thread, NewMessage("user", given, parts=({"text": given},)))
            (row,) = await threads.list_messages(thread, 1)
            assert row.text == kept
            assert _parts(row) == [{"text": kept}]

        run(check())

    def test_S8_a_large_text_comes_back_whole(self, threads: Threads) -> None:
        async def check() -> None:
            thread, text = await threads.create(), "0123456789" * 100_000
            await threads.append(thread, user(text))
            assert (await threads.list_messages(thread, 1))[0].text == text

        run(check())

    # S9: forks

    def test_S9_a_fork_holds_the_rows_up_to_its_point_and_goes_on(self, threads: Threads) -> None:
        async def check() -> None:
            base = await thread_with(threads, 5)
            fork = await threads.fork(base, 3)
            await threads.append(base, user("later"))
            assert await threads.length(fork) == 3
            assert texts(await threads.list_messages(fork, 9)) == ["m1", "m2", "m3"]
            (row,) = await threads.append(fork, user("f4"))
            assert row.seq == 4
            assert texts(await threads.list_messages(fork, 2)) == ["m3", "f4"]
            assert [row.seq for row in await threads.list_messages(fork, 9)] == [1, 2, 3, 4]

        run(check())

    def test_S9_the_original_never_changes(self, threads: Threads) -> None:
        async def check() -> None:
            base = await thread_with(threads, 3)
            fork = await threads.fork(base, 3)
            await threads.append(fork, user("only in the fork"))
            assert await threads.length(base) == 3
            assert texts(await threads.list_messages(base, 9)) == ["m1", "m2", "m3"]

        run(check())

    def test_S9_forks_of_forks(self, threads: Threads) -> None:
        async def check() -> None:
            thread, expected = await thread_with(threads, 3), ["m1", "m2", "m3"]
            for depth in range(12):
                thread = await threads.fork(thread, len(expected))
                await threads.append(thread, user(f"d{depth}"))
                expected.append(f"d{depth}")
            assert texts(await threads.list_messages(thread, 6)) == expected[-6:]
            assert texts(await threads.list_messages(thread, HUGE)) == expected
            inside = await threads.fork(thread, 2)
            await threads.append(inside, user("again"))
            assert texts(await threads.list_messages(inside, 9)) == ["m1", "m2", "again"]
            assert list(await threads.list_messages(inside, 0)) == []

        run(check())

    def test_S9_a_fork_at_the_start_is_empty(self, threads: Threads) -> None:
        async def check() -> None:
            fork = await threads.fork(await thread_with(threads, 2), 0)
            assert list(await threads.list_messages(fork, 6)) == []
            assert (await threads.append(fork, user("first")))[0].seq == 1

        run(check())

    @pytest.mark.parametrize("seq", [-1, 4, HUGE])
    def test_S9_a_point_outside_the_thread_is_refused(self, threads: Threads, seq: int) -> None:
        async def check() -> None:
            thread = await thread_with(threads, 3)
            with pytest.raises(BadInput):
                await threads.fork(thread, seq)

        run(check())


ROLES_IN_ORDER: tuple[Role, ...] = ("system", "user", "assistant", "tool")


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run one test to its end on an event loop of its own."""
    with asyncio.Runner() as runner:
        runner.run(test)


def user(text: str) -> NewMessage:
    """A user's message."""
    return NewMessage("user", text)


def assistant(text: str) -> NewMessage:
    """An assistant's message."""
    return NewMessage("assistant", text)


async def thread_with(threads: Threads, count: int) -> str:
    """A thread with the rows m1, m2 ... m`count`, appended one by one."""
    thread = await threads.create()
    for n in range(1, count + 1):
        await threads.append(thread, user(f"m{n}") if n % 2 else assistant(f"m{n}"))
    return thread


def texts(rows: list[Message]) -> list[str]:
    """The texts of rows, in their order."""
    return [row.text for row in rows]


def _parts(row: Message) -> list[Json] | None:
    return None if row.parts is None else list(row.parts)


def _near(thread: str) -> Iterator[str]:
    """Ids that a prefix, a pattern, or a loose comparison would take for `thread`."""
    yield from (thread[:-1], thread[: len(thread) // 2 or 1], thread + "x", thread + " ", " " + thread, thread + "\x00")
    yield from ("", "%", "_" * len(thread), thread[:-1] + "_", thread[:1] + "%", "*", thread[:1] + "*")
    yield from (thread.upper(), thread.lower(), thread.title(), thread + "\ud800")


def _turn_back(threads: Threads, patch: pytest.MonkeyPatch) -> None:
    start, looks = time.time(), iter(range(1, 10**9))

    def seconds() -> float:
        return start - 60.0 * next(looks)

    class Backwards(datetime):
        """A `datetime` whose clock runs backwards."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Backwards:
            return cls.fromtimestamp(seconds(), tz)

        @classmethod
        def utcnow(cls) -> Backwards:
            return cls.now(UTC).replace(tzinfo=None)

    real_time = time.time
    patch.setattr(time, "time", seconds)
    patch.setattr(time, "time_ns", lambda: int(seconds() * 1e9))
    for module in {sys.modules[kind.__module__] for kind in type(threads).__mro__ if kind.__module__ in sys.modules}:
        for name, value in list(vars(module).items()):
            if value is datetime:
                patch.setattr(module, name, Backwards)
            elif value is real_time:
                patch.setattr(module, name, seconds)
            elif value is sys.modules["datetime"]:
                patch.setattr(module, name, _DatetimeModule(Backwards))


class _DatetimeModule:
    """Stands for the module `datetime` where a store imported it whole."""

    def __init__(self, backwards: type[datetime]) -> None:
        self.datetime = backwards

    def __getattr__(self, name: str) -> object:
        return getattr(sys.modules["datetime"], name)
