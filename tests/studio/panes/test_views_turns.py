"""TURNS as values: how each turn ended, its runs under it, the coming turn and the forks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from runtime.stores import Thread
from runtime.values.messages import Row
from runtime.values.record import TurnRecord, View
from studio_tui.views.lines import Lines, Pane, where
from studio_tui.views.turns import FEW, NEXT, turns_pane

Turns = Callable[..., TurnRecord]
Plain = Callable[[Pane], list[str]]


def run_of(record: TurnRecord, id: str, answer: str, window: int = 2) -> TurnRecord:
    return replace(
        record,
        turn=id,
        number=0,
        window=window,
        answer=answer,
        rerun_of=record.turn,
        view=View(13),
        stored_user=None,
        stored_assistant=None,
    )


def test_X4_runs_stand_under_their_turn_and_the_coming_turn_last(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    first = turn(friday[:13], number=2, status="failed", reason="model-error", stored_assistant=None)
    second = turn(friday)
    runs = [run_of(second, "r1", "other"), run_of(second, "r2", "An answer.", 9)]
    assert plain(turns_pane([first, second, *runs])) == [
        "2 ✘ w6 When is it due?",
        "  seq 13   model-error",
        "3 ✔ w6 What about the draft?",
        "  seq 14→15   1 step",
        "  ├ w2 re-run  differs",
        "  └ w9 re-run  same",
        "▹ next (nothing sent)",
    ]


def test_many_runs_begin_folded(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    record = turn(friday)
    runs = [run_of(record, f"r{n}", "other") for n in range(FEW + 1)]
    assert plain(turns_pane([record, *runs]))[2:] == [f"  ▸ ↻ {FEW + 1} re-runs", "▹ next (nothing sent)"]
    opened = turns_pane([record, *runs], folds=frozenset({f"runs:{record.turn}"}))
    assert len(opened.lines) == 2 + 1 + len(runs) + 1
    assert where(opened.lines, "turn:r3") is not None


def test_S9_forks_are_listed_with_their_place(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    fork = Thread("f1", "notes", "fork", "no tools", None, None, {}, datetime.now(UTC), 12, "7f3a", 9)
    told = plain(turns_pane([turn(friday)], forks=[fork]))
    assert told[-2:] == ["forks of this thread", " at 9  no tools   12 messages"]


def test_an_empty_thread_says_so(plain: Plain) -> None:
    assert plain(turns_pane([])) == ["no turns yet", "▹ next (nothing sent)"]


def test_T5_each_status_has_its_own_mark(turn: Turns, friday: list[Row]) -> None:
    marks = set()
    for status in ("running", "completed", "failed", "cut", "stopped", "truncated"):
        pane = turns_pane([turn(friday, status=status)])
        marks.add(pane.lines[0].text.split()[1])
    assert len(marks) == 6


def test_10000_turns_cost_the_lines_one_looks_at(turn: Turns, friday: list[Row]) -> None:
    record = turn(friday)
    pane = turns_pane([replace(record, turn=f"t{n}", number=n) for n in range(1, 10_001)])
    assert isinstance(pane.lines, Lines)
    assert len(pane.lines) == 20_001
    assert where(pane.lines, "turn:t5000") == 2 * 4_999
    assert where(pane.lines, NEXT) == 20_000
    assert len(pane.lines._kept) < 4
