"""A seed's `expect`, run: each entry on a fresh thread of the seed, with what did not hold in sentences."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace

from runtime.errors import StudioError
from runtime.expectations import failures, mismatches
from runtime.threads import Runtime
from runtime.values.messages import Window
from runtime.values.record import TurnRecord
from runtime.values.seed import Check, Expectation, Seed

LADDER = (0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64)
"""The windows tried, besides those an expectation names, to tell the smallest one that is enough."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One entry of `expect` and what of it did not hold; `turn` is the turn that was run, None if none could be."""

    seed: Seed
    expectation: Expectation
    failures: tuple[str, ...]
    turn: str | None
    seconds: float

    @property
    def held(self) -> bool:
        return not self.failures


async def verify(runtime: Runtime, seed: Seed) -> AsyncIterator[Outcome]:
    """The outcome of each entry of the seed's `expect`, in order, as it is known."""
    for expectation in seed.expect:
        yield await _verify(runtime, seed, expectation)


async def _verify(runtime: Runtime, seed: Seed, expectation: Expectation) -> Outcome:
    try:
        thread = await runtime.create_thread(seed=seed)
        for request in expectation.after:
            await runtime.send(thread, request)
        record = await runtime.send(thread, expectation.request, window=expectation.window)
        found = [*failures(expectation, record), *await _over_windows(runtime, record, expectation)]
    except StudioError as error:
        return Outcome(seed, expectation, (str(error),), None, 0.0)
    return Outcome(seed, expectation, tuple(found), record.turn, record.seconds or 0.0)


async def _over_windows(runtime: Runtime, record: TurnRecord, expectation: Expectation) -> list[str]:
    """What `smallest` and `sameAnswer` ask of the same request under other windows, each a run on a view."""
    answers = _Answers(runtime, record)
    found = await _same(answers, expectation.same_answer) if expectation.same_answer else []
    if expectation.smallest is not None:
        smallest = await _smallest(answers, expectation)
        if smallest != expectation.smallest:
            told = "no window is enough" if smallest is None else f"the smallest window that is enough is {smallest}"
            found.append(f"{told}, not {expectation.smallest}")
    return found


class _Answers:
    """The answers to one turn's request under other windows, each run once."""

    def __init__(self, runtime: Runtime, of: TurnRecord) -> None:
        self._runtime, self._of = runtime, of
        self._known: dict[Window, TurnRecord] = {}

    @property
    def stored(self) -> int:
        """How many rows the turn could have selected."""
        return self._of.context.stored if self._of.context is not None else 0

    async def at(self, window: Window) -> TurnRecord:
        """The run with this window; its tools run on the state that the turn began with."""
        if window not in self._known:
            self._known[window] = await self._runtime.rerun(self._of.turn, window=window)
        return self._known[window]


async def _same(answers: _Answers, windows: Iterable[Window]) -> list[str]:
    given = [(window, (await answers.at(window)).answer) for window in windows]
    first_window, first = given[0]
    return [
        f"window {window} answers {answer!r}, window {first_window} {first!r}"
        for window, answer in given[1:]
        if _folded(answer) != _folded(first)
    ]


async def _smallest(answers: _Answers, expectation: Expectation) -> Window | None:
    """The least tried window such that it and every larger one is enough (the answer holds)."""
    named = expectation.smallest
    edge = {named - 1, named} if isinstance(named, int) else {answers.stored - 1}
    counts = sorted({count for count in {*LADDER, *edge} if 0 <= count < answers.stored})
    found: Window | None = None
    tried: list[Window] = ["all", *reversed(counts)]
    for window in tried:
        if not _enough(await answers.at(window), expectation):
            break
        found = window
    return _named(found, named, answers.stored)


def _named(found: Window | None, named: Window | None, stored: int) -> Window | None:
    """`all` and a window of every row are the same: told in the words of the seed, else as a number."""
    if found != "all" or named == "all":
        return found
    return named if isinstance(named, int) and named >= stored else stored


def _enough(record: TurnRecord, expectation: Expectation) -> bool:
    if record.status != "completed":
        return False
    check = expectation.answer
    if check == Check():
        return not failures(replace(expectation, context=Check(), selected=None), record)
    return not mismatches(check, record.answer or "", "the answer")


def _folded(text: str | None) -> str | None:
    return None if text is None else " ".join(text.casefold().split())
