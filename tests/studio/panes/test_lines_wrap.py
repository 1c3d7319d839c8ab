"""Wrapping: nothing is lost, nothing is too wide, and what is measured is what is drawn."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio_tui.widgets.wrap import WORK, one_row, width_of, wrap


def rows(text: str, first: int, width: int) -> list[str]:
    return [text[start:end] for start, end in wrap(text, first, width)]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("", 10, [""]),
        ("one two three", 7, ["one two", "three"]),
        ("one two  three", 7, ["one two", " three"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("a\n\nb\n", 4, ["a", "", "b", ""]),
        ("    indented text", 8, ["    inde", "nted", "text"]),
        ("漢字漢字", 5, ["漢字", "漢字"]),
        ("漢", 1, ["漢"]),
        ("a\tb", 9, ["a\tb"]),
        ("a\tb", 8, ["a\t", "b"]),
        ("👩‍👩‍👧 b", 3, ["👩‍👩‍👧", "b"]),
    ],
)
def test_rows_break_at_blanks_or_where_full(text: str, width: int, expected: list[str]) -> None:
    assert rows(text, width, width) == expected


def test_the_first_row_may_be_shorter() -> None:
    assert rows("one two three four", 3, 9) == ["one", "two three", "four"]


JOINED_TO_NOTHING = re.compile("(?:\\A|(?<=[\u200d\ufe0f\u0301\\s]))\u200d+")
"""A joiner with nothing before it to join: the library measures it in two ways, and terminals draw it in more."""

TEXT = st.text(st.sampled_from("ab é漢字👩\u200d\ufe0f\t\n \x1b\u0301"), max_size=120).map(
    lambda text: JOINED_TO_NOTHING.sub("", text)
)


@given(TEXT, st.integers(1, 12), st.integers(2, 30))
def test_C82_rows_hold_everything_and_fit(text: str, first: int, width: int) -> None:
    found = wrap(text, first, width)
    at = 0
    for number, (start, end) in enumerate(found):
        assert text[at:start] in ("", " ", "\n")
        room = first if number == 0 else width
        alone = width_of(text[start : start + 1]) > room or len(text[start:end].rstrip("\u200d\ufe0f\u0301")) <= 3
        assert width_of(text[start:end]) <= room or alone, "only a character wider than the row may stick out"
        at = end
    assert at == len(text)


@given(TEXT, st.integers(1, 30))
def test_C82_one_row_fits_with_its_ellipsis(text: str, width: int) -> None:
    end, cut = one_row(text, width)
    assert width_of(text[:end]) + cut <= width
    assert cut or end == len(text)


def test_C84_a_cut_row_looks_at_a_few_characters_only() -> None:
    before = WORK.characters
    assert one_row("x" * 1_000_000, 80) == (79, True)
    assert WORK.characters - before <= 400
