"""Sensitive values of sessions with ABL agents stay out of everything a command prints or writes (Q3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from runtime.stores import Thread
from runtime.threads import Runtime
from studio_tui.cli.output import use_mask

if TYPE_CHECKING:
    from runtime.handoff.masking import Mask


async def mask_output(runtime: Runtime, *threads: str) -> Mask | None:
    """Mask what is printed from here on by what the sessions of these threads hold; None if none is of a session.

    Raises UnknownThread.
    """
    return await mask_for(runtime, [await runtime.store.thread(id) for id in threads])


async def mask_for(runtime: Runtime, threads: Iterable[Thread]) -> Mask | None:
    """As `mask_output`, for threads that are read already."""
    of_sessions = [one for one in threads if one.about and ("project" in one.about or "session" in one.about)]
    if not of_sessions:
        return None
    from runtime.handoff.masking import Mask, mask_of

    mask = Mask.joined([await mask_of(runtime.store, one.id) for one in of_sessions])
    use_mask(mask.text, mask.json)
    return mask
