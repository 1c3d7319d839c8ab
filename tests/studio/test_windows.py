"""What the window bar offers and says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.explain import window_words
from runtime.values.messages import Window
from studio_tui.windows import LADDER, in_short, ladder, larger, same, shown, smaller


def test_the_bar_holds_the_usual_values_and_the_ones_in_use() -> None:
    assert ladder() == (0, 1, 2, 3, 4, 5, 6, 8, 12, "all")
    assert ladder(9, None, "all", 6) == (0, 1, 2, 3, 4, 5, 6, 8, 9, 12, "all")


@pytest.mark.parametrize(
    ("window", "down", "up"), [(0, 0, 1), (6, 5, 8), (7, 6, 8), (12, 8, "all"), ("all", 12, "all")]
)
def test_stepping(window: Window, down: Window, up: Window) -> None:
    assert smaller(window) == down
    assert larger(window) == up


@given(st.one_of(st.integers(), st.just("all")))
def test_stepping_up_and_down_ends_at_the_ends(window: Window) -> None:
    for _ in range(len(LADDER) + 1):
        window = larger(window)
    assert window == "all"
    for _ in range(len(LADDER) + 1):
        window = smaller(window)
    assert window == 0


def test_the_short_words_fit_80_columns() -> None:
    assert in_short(window_words(3, 14)) == "3 = the request + 2 before it"
    assert in_short(window_words(2, 14)) == "2 = the request + 1 before it"
    assert in_short(window_words("all", 14)) == "all = every stored message (14)"


def test_S3_windows_of_zero_and_less_are_the_same_one() -> None:
    assert same(0, -4)
    assert not same(0, 1)
    assert not same("all", 12)


def test_S3_a_window_of_many_digits_does_not_flood_the_bar() -> None:
    assert len(shown(10**400)) == 12
    assert shown("all") == "all"
