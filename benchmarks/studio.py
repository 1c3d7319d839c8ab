"""The Studio on a terminal: a long thread against a short one, and how long a key takes with 10,000 turns."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Promise, promise
from benchmarks.terminal import Terminal
from runtime import NewMessage, open_store
from runtime.stores import NewThread, NewTurn
from runtime.values.items import AssistantStep
from runtime.values.record import (
    ContextItem,
    ContextRecord,
    JournalItem,
    LeftOut,
    SectionRecord,
    Settlement,
    Since,
    StepItem,
)

TEXT = "x" * 290
MEGABYTE = 1_000_000


def promises() -> Iterator[Promise]:
    """The promises on the screen."""
    quick = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=quick) as folder:
        url = f"sqlite:///{Path(folder) / 'studio.db'}"
        long, short, busy, huge = asyncio.run(_fill(url))
        yield from _opening(url, long, short)
        yield from _one_huge_message(url, huge, short)
        yield from _keys(url, busy)


def _opening(url: str, long: str, short: str) -> Iterator[Promise]:
    """Open both threads in turn; time until the history is on the screen, and memory then."""
    times: dict[str, list[float]] = {long: [], short: []}
    memory: dict[str, list[float]] = {long: [], short: []}
    for _ in range(6):
        for thread, shown in ((long, b"of 20001 stored"), (short, b"of 201 stored")):
            with Terminal(_studio(url, thread)) as terminal:
                times[thread].append(terminal.until(shown))
                terminal.quiet()
                memory[thread].append(float(terminal.memory()))
    yield promise("opening a thread of 20,000 messages, against one of 200", 2, times[long][1:], times[short][1:])
    more = [(one - other) / MEGABYTE for one, other in zip(memory[long], memory[short], strict=True)]
    yield promise("memory more for it, against 60 MB", 1, more, [60.0] * len(more), "MB")


def _one_huge_message(url: str, huge: str, short: str) -> Iterator[Promise]:
    times: dict[str, list[float]] = {huge: [], short: []}
    for _ in range(5):
        for thread in (huge, short):
            with Terminal(_studio(url, thread)) as terminal:
                times[thread].append(terminal.until(b" stored"))
    more = [one - other for one, other in zip(times[huge], times[short], strict=True)]
    yield promise(
        "a message of 1,000,000 characters more, against 0.5 s", 1, [max(0.0, m) for m in more], [0.5] * len(more)
    )


def _keys(url: str, busy: str) -> Iterator[Promise]:
    with Terminal(_studio(url, busy)) as terminal:
        terminal.until(b" stored")
        terminal.quiet()  # the cursor blinks twice a second
        terminal.painted_after(b"\x1b")
        found = [terminal.painted_after(key) for key in (b"[", b"[", b"]", b"[", b"-", b"+", b"[", b"]") * 10]
    median, late = statistics.median(found), sorted(found)[int(len(found) * 0.95)]
    yield promise("key to painted with 10,000 turns, median, against 50 ms", 1, [median], [0.050])
    yield promise("key to painted with 10,000 turns, p95, against 100 ms", 1, [late], [0.100])


def _studio(url: str, thread: str) -> list[str]:
    return [sys.executable, "-m", "studio_tui", thread, "--store", url, "--model", "offline"]


async def _fill(url: str) -> tuple[str, str, str, str]:
    store = open_store(url)
    found = []
    for count in (20_000, 200):
        thread = await store.create_thread(NewThread())
        rows = [NewMessage("user" if n % 2 else "assistant", f"{n:08} {TEXT}") for n in range(count)]
        await store.append(thread, *rows)
        found.append(thread)
    busy = await store.create_thread(NewThread())
    for n in range(10_000):
        await _turn(store, busy, n)
    huge = await store.create_thread(NewThread())
    await store.append(huge, NewMessage("user", "y" * 1_000_000))
    await store.close()
    return found[0], found[1], busy, huge


async def _turn(store: object, thread: str, n: int) -> None:
    """A settled turn, journaled as the engine would."""
    from runtime.stores.sqlite import SqliteStore

    assert isinstance(store, SqliteStore)
    request = f"request {n} about the draft"
    turn = await store.open_turn(NewTurn(thread, "envelope", "plain", 6, request), NewMessage("user", request))
    stored = 2 * n + 1
    left = (LeftOut(1, stored - 1, "older-than-window"),) if n else ()
    context = ContextRecord((SectionRecord("request", request, 6),), stored, 0, left, Since())
    step = StepItem(AssistantStep(1, f"answer {n}"), 30, {"request": 6, "overhead": 24}, 0.01)
    items = [JournalItem(1, 0, "context", ContextItem(context, 8192, 1024)), JournalItem(2, 1, "step", step)]
    answer = NewMessage("assistant", f"answer {n}")
    await store.settle(turn.id, items, Settlement("completed", answer=answer.text), message=answer, state={})


if __name__ == "__main__":
    for one in promises():
        print(one)
