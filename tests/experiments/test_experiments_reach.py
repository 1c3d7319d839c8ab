"""What a window reaches, told without running anything: the same rows that selecting them gives."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from runtime import history
from runtime.experiments.assess import edge_of, ordered
from runtime.experiments.reach import Reach
from runtime.experiments.results import Cell, Variant
from runtime.values.messages import Message, Row, Unreadable, Window

AT = datetime(2026, 1, 5, tzinfo=UTC)


def rows_of(readable: list[bool]) -> list[Row]:
    return [
        Message(seq, "user", str(seq), None, None, AT) if good else Unreadable(seq, "damaged")
        for seq, good in enumerate(readable, start=1)
    ]


windows = st.one_of(st.integers(-2, 14), st.just("all"))


@given(st.lists(st.booleans(), max_size=12), windows, windows, st.frozensets(st.integers(1, 12), max_size=4))
def test_S6_X7_a_reach_names_the_rows_that_a_window_selects(
    readable: list[bool], window: Window, smaller: Window, drop: frozenset[int]
) -> None:
    rows = rows_of(readable)
    bad = tuple(row.seq for row in rows if isinstance(row, Unreadable))
    reach = Reach(len(rows), bad, frozenset(seq for seq in drop if seq <= len(rows)))

    def selected(size: Window) -> set[int]:
        return {row.seq for row in history.window(rows, size).kept} - drop

    assert set(reach.entered(window, None)) == selected(window)
    assert reach.selected(window) == len(selected(window))
    assert reach.counted(window) == len(history.window(rows, window).kept)
    assert set(reach.entered(window, smaller)) == selected(window) - selected(smaller)


def test_windows_are_sorted_without_doubles() -> None:
    assert ordered(["all", 6, 2, 6, -3, 0, "all"]) == [0, 2, 6, "all"]
    assert ordered([10**19, 1]) == [1, 10**19]


@given(st.dictionaries(st.integers(0, 12), st.sampled_from([True, False, None]), min_size=1))
def test_the_smallest_enough_is_the_least_tested_from_which_every_tested_window_is(
    verdicts: dict[int, bool | None],
) -> None:
    reach = Reach(20)
    cells = [
        Cell(Variant(), window, None, window, (), 1, (), enough=enough) for window, enough in sorted(verdicts.items())
    ]
    tested = {window: enough for window, enough in verdicts.items() if enough is not None}
    wanted = [window for window in tested if all(tested[other] for other in tested if other >= window)]
    edge = edge_of(reach, cells)
    assert edge.smallest == min(wanted, default=None)
    assert edge.edge_tested == (edge.smallest is not None and (edge.smallest == 0 or edge.smallest - 1 in tested))
