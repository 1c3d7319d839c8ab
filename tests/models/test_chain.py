"""A chain of tiers: who is asked, in which order, and what is told of it (M2, M3, F1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from runtime.errors import ConfigurationError, FitOverflow, ModelError
from runtime.events import Ended, ModelEvent, Sent, TextDelta
from runtime.models import Model
from runtime.models.chain import AttemptBegan, AttemptEnded, AttemptFailed, Chain, ChainEvent, Tier
from runtime.models.script import ScriptModel
from runtime.values.request import Limits, Request
from runtime.values.seed import ScriptEntry, When


class Waits:
    """Stands for time: what was waited for, in seconds."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def prepare(number: int, tier: Tier, step: int = 1) -> Request:
    return Request((), "hi", (), (), tier.limits, "t1", step, number)


def at_step(step: int) -> Callable[[int, Tier], Request]:
    return lambda number, tier: prepare(number, tier, step)


def tiers(*models: Model) -> list[Tier]:
    return [Tier(model, Limits()) for model in models]


def failing(status: int | None = 500, *, retry_after: float | None = None, text: str = "") -> ScriptModel:
    return ScriptModel([ScriptEntry(text=text, fail="no", status=status, retry_after=retry_after)])


def saying(text: str) -> ScriptModel:
    return ScriptModel([ScriptEntry(text=text)])


async def told(
    chain: Chain, ready: Callable[[int, Tier], Request] = prepare
) -> tuple[list[ChainEvent], ModelError | None]:
    events: list[ChainEvent] = []
    try:
        async for event in chain.stream(ready):
            events.append(event)
    except ModelError as error:
        return events, error
    return events, None


def attempts(events: list[ChainEvent]) -> list[tuple[str, int]]:
    names = {AttemptBegan: "began", AttemptFailed: "failed", AttemptEnded: "ended"}
    return [
        (names[type(event)], event.tier)
        for event in events
        if isinstance(event, AttemptBegan | AttemptFailed | AttemptEnded)
    ]


async def test_M2_the_first_tier_answers() -> None:
    events, error = await told(Chain(tiers(saying("ok"), saying("never"))))
    assert error is None
    assert attempts(events) == [("began", 1), ("ended", 1)]
    assert events[0] == AttemptBegan(1, "script")
    assert isinstance(events[1], Sent)
    assert events[2:4] == [TextDelta("ok"), Ended("stop")]
    last = events[-1]
    assert isinstance(last, AttemptEnded)
    assert last.reason == "stop"
    assert last.seconds >= 0


async def test_M2_a_failed_tier_hands_over_and_its_text_is_marked_as_streamed() -> None:
    events, error = await told(Chain(tiers(failing(text="Part"), saying("whole"))))
    assert error is None
    assert attempts(events) == [("began", 1), ("failed", 1), ("began", 2), ("ended", 2)]
    failed = next(event for event in events if isinstance(event, AttemptFailed))
    assert failed.streamed
    assert failed.error.status == 500


async def test_M2_prepare_is_called_for_each_attempt_with_its_tier() -> None:
    asked: list[tuple[int, int]] = []

    def ready(number: int, tier: Tier) -> Request:
        asked.append((number, tier.limits.context_tokens))
        return prepare(number, tier)

    await told(Chain([Tier(failing(), Limits(100)), Tier(saying("ok"), Limits(200))]), ready)
    assert asked == [(1, 100), (2, 200)]


async def test_M2_a_failed_tier_is_not_called_again_in_this_turn() -> None:
    chain = Chain(tiers(failing(), saying("ok")))
    await told(chain, at_step(1))
    events, _ = await told(chain, at_step(2))
    assert attempts(events) == [("began", 2), ("ended", 2)]


async def test_M2_all_tiers_failed_raises_the_last_error() -> None:
    chain = Chain(tiers(failing(500), failing(401)), sleep=Waits())
    events, error = await told(chain)
    assert attempts(events) == [("began", 1), ("failed", 1), ("began", 2), ("failed", 2)]
    assert error is not None
    assert (error.status, error.configuration) == (401, True)
    assert await told(chain) == ([], error)


@pytest.mark.parametrize(
    ("status", "retry_after", "waited"),
    [(429, 2.5, [2.5]), (503, 99.0, [10.0]), (429, None, [1.0]), (503, -4.0, [0.0]), (500, 2.0, []), (None, 2.0, [])],
)
async def test_M2_the_last_tier_is_tried_once_more_on_429_and_503(
    status: int | None, retry_after: float | None, waited: list[float]
) -> None:
    waits = Waits()
    events, error = await told(Chain(tiers(failing(500), failing(status, retry_after=retry_after)), sleep=waits))
    assert waits.seconds == waited
    assert error is not None
    assert attempts(events).count(("began", 2)) == 1 + len(waited)
    assert attempts(events).count(("began", 1)) == 1


async def test_M2_the_second_try_may_answer() -> None:
    class Once:
        name = "once"
        asked = 0

        async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
            yield Sent(b"")
            self.asked += 1
            if self.asked == 1:
                raise ModelError("slow down", kind="status", status=429)
            yield Ended("stop")

    events, error = await told(Chain(tiers(Once()), sleep=Waits()))
    assert error is None
    assert attempts(events) == [("began", 1), ("failed", 1), ("began", 1), ("ended", 1)]


async def test_M3_a_stream_that_ends_without_its_mark_is_cut_off() -> None:
    events, error = await told(Chain(tiers(ScriptModel([ScriptEntry(text="The answer is", cut=True)]), saying("ok"))))
    failed = next(event for event in events if isinstance(event, AttemptFailed))
    assert error is None
    assert (failed.error.kind, failed.streamed) == ("cut-off", True)


class Broken:
    """An adapter with a fault of its own."""

    name = "broken"

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        yield Sent(b"{}")
        yield TextDelta("half an ")
        raise KeyError("choices")


async def test_M2_an_adapter_that_breaks_is_a_tier_that_failed() -> None:
    events, error = await told(Chain(tiers(Broken(), saying("yes"))))
    assert error is None
    assert attempts(events) == [("began", 1), ("failed", 1), ("began", 2), ("ended", 2)]
    failed = next(event for event in events if isinstance(event, AttemptFailed))
    assert (failed.error.kind, str(failed.error), failed.streamed) == ("malformed", "KeyError: 'choices'", True)


async def test_F1_an_overflow_passes_through_and_calls_nobody() -> None:
    def ready(number: int, tier: Tier) -> Request:
        raise FitOverflow(estimate=10, reserve=1, limit=5, parts={"history": 10})

    with pytest.raises(FitOverflow):
        await anext(Chain(tiers(saying("x"), saying("y"))).stream(ready))


async def test_T10_closing_a_step_closes_the_model_stream_at_once() -> None:
    closed = asyncio.Event()

    class Slow:
        name = "slow"

        async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
            try:
                yield Sent(b"")
                await asyncio.Event().wait()
            finally:
                closed.set()

    async def run() -> None:
        async for _ in Chain(tiers(Slow())).stream(prepare):
            pass

    task = asyncio.create_task(run())
    while not task.done() and not closed.is_set():
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()


def test_a_chain_of_no_tiers_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError):
        Chain([])


async def test_C16_the_script_tells_tiers_apart() -> None:
    model = ScriptModel([ScriptEntry(When(tier=1), fail="down"), ScriptEntry(When(tier=2), "second")])
    events, _ = await told(Chain(tiers(model, model)))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["second"]
