"""Token counts as a provider reported them, never mixed with our estimate (M5)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens a provider reported for a call; None where it said nothing."""

    input: int | None = None
    output: int | None = None

    def plus(self, other: Usage) -> Usage:
        """Both together; a count is None only if neither has it."""
        return Usage(_sum(self.input, other.input), _sum(self.output, other.output))


def _sum(one: int | None, other: int | None) -> int | None:
    if one is None:
        return other
    return one if other is None else one + other
