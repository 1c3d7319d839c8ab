"""Our estimate beside what the provider counted, and by how much it was off (M5, F2)."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.values.record import Attempt, TurnRecord


def estimate_ratio(record: TurnRecord) -> float | None:
    """Our estimate over the provider's count of what it was sent, over all steps of a turn that it counted.

    1.0 is exact, less is too low. None where no provider reported a count; delegated turns count for themselves.
    """
    return ratio_of(record.tiers)


def ratio_of(attempts: Iterable[Attempt]) -> float | None:
    """The same for some attempts: those that were answered, with a count of input and an estimate."""
    estimate = said = 0
    for attempt in attempts:
        if attempt.outcome == "ok" and attempt.usage is not None and attempt.usage.input and attempt.estimate:
            estimate += attempt.estimate
            said += attempt.usage.input
    return estimate / said if said else None


def off_by(ratio: float) -> str:
    """By how much an estimate of this ratio was off, in words: `7% under`, `25% over`, `exact`."""
    percent = round((ratio - 1) * 100)
    return f"{percent}% over" if percent > 0 else f"{-percent}% under" if percent < 0 else "exact"
