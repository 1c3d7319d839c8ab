"""Our estimate beside the provider's count (M5, F2)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.explain import estimate_ratio, off_by
from runtime.values.record import Attempt
from runtime.values.usage import Usage


def test_F2_the_ratio_is_over_all_steps_that_were_counted(turn_on: Any, rows_of: Any) -> None:
    tiers = (
        Attempt(1, "a", "status", 503, estimate=900, usage=Usage(1, 1)),
        Attempt(1, "b", "ok", estimate=100, usage=Usage(80, 5)),
        Attempt(2, "b", "ok", estimate=140, usage=Usage(120, 5)),
        Attempt(3, "b", "ok", estimate=500),
        Attempt(4, "b", "ok", estimate=500, usage=Usage(None, 5)),
        Attempt(5, "b", "stopped", estimate=500, usage=Usage(5, 5)),
    )
    assert estimate_ratio(turn_on(rows_of("u q"), tiers=tiers)) == 240 / 200


@pytest.mark.parametrize("usage", [None, Usage(None, 3), Usage(0, 3)])
def test_F2_without_a_count_there_is_no_ratio(turn_on: Any, rows_of: Any, usage: Usage | None) -> None:
    assert estimate_ratio(turn_on(rows_of("u q"), tiers=(Attempt(1, "b", "ok", estimate=9, usage=usage),))) is None


@pytest.mark.parametrize(
    ("ratio", "words"), [(0.93, "7% under"), (1.25, "25% over"), (1.0, "exact"), (1.004, "exact"), (0.5, "50% under")]
)
def test_F2_off_by_in_words(ratio: float, words: str) -> None:
    assert off_by(ratio) == words
