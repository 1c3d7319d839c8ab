"""A chain of tiers: one step asks them in order until one answers (M2). Told attempt by attempt, nothing hidden."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, TypeAlias

from runtime.errors import ConfigurationError, ModelError
from runtime.events import Ended, ModelEvent, TextDelta
from runtime.models import Model
from runtime.values.request import Limits, Request

LONGEST_WAIT = 10.0
"""Seconds: the most that Retry-After is waited for (M2)."""

WAIT_WITHOUT_A_TIME = 1.0
"""Seconds before the last tier is tried once more when its server named no time."""


@dataclass(frozen=True, slots=True)
class Tier:
    """One tier of a turn's chain: an open model, and its room in tokens."""

    model: Model
    limits: Limits


@dataclass(frozen=True, slots=True)
class AttemptBegan:
    """A tier is about to be called; `tier` counts from 1."""

    tier: int
    model: str


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """The tier failed after `seconds`. `streamed`: text of it was told, and is to be taken back (M2)."""

    tier: int
    model: str
    error: ModelError
    seconds: float
    streamed: bool


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """The tier answered; the last event of a step."""

    tier: int
    model: str
    seconds: float
    reason: Literal["stop", "length"]


ChainEvent: TypeAlias = "AttemptBegan | ModelEvent | AttemptFailed | AttemptEnded"
Prepare: TypeAlias = "Callable[[int, Tier], Request]"


class Chain:
    """The tiers of one turn. What it holds is which of them have failed: those are not called again (M2)."""

    def __init__(self, tiers: Sequence[Tier], *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        if not tiers:
            raise ConfigurationError("a chain needs at least one tier", field="tiers")
        self._left = list(enumerate(tiers, 1))
        self._sleep = sleep
        self._error: ModelError | None = None

    async def stream(self, prepare: Prepare) -> AsyncIterator[ChainEvent]:
        """One step. `prepare` makes the request for a tier before each attempt; its FitOverflow passes through (F1).

        A tier that fails hands over to the next. The last one left is tried once more in a step on 429 and 503, after
        the wait that its server asks for, at most `LONGEST_WAIT`. Raises the last ModelError when all have failed.
        """
        retried = False
        while self._left:
            number, tier = self._left[0]
            request = prepare(number, tier)
            name = tier.model.name
            yield AttemptBegan(number, name)
            began, streamed = perf_counter(), False
            reason: Literal["stop", "length"] | None = None
            events = tier.model.stream(request)
            try:
                async for event in events:
                    if type(event) is TextDelta:
                        streamed = True
                    elif type(event) is Ended:
                        reason = event.reason
                    yield event
                if reason is None:
                    raise ModelError("the answer broke off before its end", kind="cut-off")
            except ModelError as error:
                failed = self._error = error
            except Exception as fault:  # noqa: BLE001  an adapter is somebody else's code; its fault is its tier's
                failed = self._error = ModelError(f"{type(fault).__name__}: {fault}", kind="malformed")
            else:
                yield AttemptEnded(number, name, perf_counter() - began, reason)
                return
            finally:
                close = getattr(events, "aclose", None)
                if close is not None:
                    await close()
            yield AttemptFailed(number, name, failed, perf_counter() - began, streamed)
            if len(self._left) == 1 and not retried and failed.status in (429, 503):
                retried = True
                asked = WAIT_WITHOUT_A_TIME if failed.retry_after is None else failed.retry_after
                await self._sleep(min(max(asked, 0.0), LONGEST_WAIT))
            else:
                self._left.pop(0)
        assert self._error is not None
        raise self._error
