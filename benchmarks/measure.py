"""How every benchmark measures: both sides in turn in one process, the ratio of each pair, the median quoted."""

from __future__ import annotations

import inspect
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """A ratio to its limit. `ours` and `theirs` are medians in seconds (or bytes), `ratio` the median of the pairs."""

    name: str
    ours: float
    theirs: float
    ratio: float
    limit: float
    unit: str = "s"

    @property
    def kept(self) -> bool:
        return self.ratio <= self.limit

    def __str__(self) -> str:
        verdict = "kept" if self.kept else "NOT KEPT"
        shown = f"{_amount(self.ours, self.unit)} against {_amount(self.theirs, self.unit)}"
        return f"{verdict:8}  {self.ratio:6.2f}x of {self.limit:g}x   {self.name}   ({shown})"


def paired(
    name: str,
    limit: float,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    pairs: int = 15,
    times: int = 1,
) -> Promise:
    """Run `ours` and `theirs` in turn, `times` calls a side and pair; one pair first is not counted."""
    mine, other = [], []
    for _ in range(pairs + 1):
        mine.append(_timed(ours, times))
        other.append(_timed(theirs, times))
    return promise(name, limit, mine[1:], other[1:])


async def paired_async(
    name: str,
    limit: float,
    ours: Callable[[], Awaitable[object]],
    theirs: Callable[[], object],
    *,
    pairs: int = 15,
    times: int = 1,
) -> Promise:
    """As `paired`, where `ours` is awaited, and what `theirs` returns if it is awaitable."""
    mine, other = [], []
    for _ in range(pairs + 1):
        mine.append(await _timed_async(ours, times))
        other.append(await _timed_either(theirs, times))
    return promise(name, limit, mine[1:], other[1:])


def promise(name: str, limit: float, ours: list[float], theirs: list[float], unit: str = "s") -> Promise:
    """The promise that `ours` is at most `limit` times `theirs`, pair by pair."""
    ratio = statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
    return Promise(name, statistics.median(ours), statistics.median(theirs), ratio, limit, unit)


def _timed(work: Callable[[], object], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - began) / times


async def _timed_async(work: Callable[[], Awaitable[object]], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        await work()
    return (time.perf_counter() - began) / times


async def _timed_either(work: Callable[[], object], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        done = work()
        if inspect.isawaitable(done):
            await done
    return (time.perf_counter() - began) / times


def _amount(value: float, unit: str) -> str:
    if unit != "s":
        return f"{value:,.1f} {unit}"
    if value < 0.001:
        return f"{value * 1e6:.0f} us"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"
