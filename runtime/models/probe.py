"""Asking a model for one word, to see whether it answers and what it counts (`studio-tui models --probe`)."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, cast

from runtime import fit
from runtime.errors import ModelError
from runtime.events import Ended, ModelEvent, TextDelta, UsageReported
from runtime.models import Model
from runtime.values.request import Limits, Request, Section
from runtime.values.usage import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

QUESTION = "Is this thing working? Please answer with the single word yes, and with nothing else before or after it."

PATIENCE = 60.0
"""Seconds that a probe waits at most: local servers load a model first."""

ROOM_FOR_THE_WORD = 256
"""Tokens: enough for a model that thinks before it speaks."""


@dataclass(frozen=True, slots=True)
class Probed:
    """How a model behaved. `outcome` is `ok`, or the `kind` of the ModelError with its `status` and words.

    `estimate` is ours of the request, in tokens; `usage` is what the provider reported, None if it reported none.
    """

    outcome: str
    text: str
    seconds: float
    estimate: int
    usage: Usage | None = None
    status: int | None = None
    error: str | None = None


async def probe(model: Model, *, patience: float = PATIENCE) -> Probed:
    """Ask `model` for one word. Every way in which it can fail is an outcome; nothing is stored."""
    request = Request(
        (Section("request", QUESTION),), QUESTION, (), (), Limits(8192, ROOM_FOR_THE_WORD), "probe", step=1, tier=1
    )
    estimate = sum(fit.parts({"request": fit.count(QUESTION)}).values())
    began, text, usage, ended = perf_counter(), "", None, False
    try:
        async with (
            asyncio.timeout(patience),
            aclosing(cast("AsyncGenerator[ModelEvent, None]", model.stream(request))) as events,
        ):
            async for event in events:
                match event:
                    case TextDelta(piece):
                        text += piece
                    case UsageReported(reported):
                        usage = reported
                    case Ended():
                        ended = True
        if not ended:
            raise ModelError("the answer broke off before its end", kind="cut-off")
    except TimeoutError:
        error = ModelError(f"no whole answer within {patience:g} s", kind="timeout")
    except ModelError as failed:
        error = failed
    else:
        return Probed("ok", text.strip(), perf_counter() - began, estimate, usage)
    return Probed(error.kind, text.strip(), perf_counter() - began, estimate, usage, error.status, error.message)
