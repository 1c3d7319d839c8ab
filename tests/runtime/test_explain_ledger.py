"""The ledger: every row accounted for, ranges as ranges, and what was never a row (X1, X2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import history
from runtime.errors import BadInput
from runtime.explain import InContext, LeftOutRows, NeverStored, ledger, only, saying
from runtime.values.items import AssistantStep
from runtime.values.messages import Message, Unreadable, Window
from runtime.values.record import ContextRecord, ContextRow, LeftOut, SectionRecord, Since, TurnRecord, View
from runtime.values.usage import Usage

TIME = datetime(2026, 1, 5, tzinfo=UTC)
FOURTEEN = [f"{'ua'[n % 2]} message {n + 1}" for n in range(13)] + ["u What about the draft?"]


def seqs_of(accounts: tuple[Any, ...]) -> list[int]:
    found: list[int] = []
    for account in accounts:
        if isinstance(account, InContext):
            found.append(account.seq)
        elif isinstance(account, LeftOutRows):
            found += range(account.first, account.last + 1)
    return found


def test_X1_every_row_is_in_with_its_place_or_out_with_its_reason(turn_on: Any, rows_of: Any) -> None:
    accounts = ledger(turn_on(rows_of(*FOURTEEN), window=6))
    assert accounts[0] == LeftOutRows(1, 8, "older-than-window", 14, 7)
    assert [(a.seq, a.place, a.needs) for a in accounts if isinstance(a, InContext)] == [
        (9, 1, 6), (10, 2, 5), (11, 3, 4), (12, 4, 3), (13, 5, 2), (14, 6, 1),
    ]  # fmt: skip
    assert accounts[-1].is_request  # type: ignore[union-attr]  # the request is the newest row


def test_X1_window_zero_declines_history(turn_on: Any, rows_of: Any) -> None:
    assert ledger(turn_on(rows_of(*FOURTEEN), window=0)) == (LeftOutRows(1, 14, "history-declined", 14, 1),)


def test_C08_unreadable_rows_are_named_and_take_no_place(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u zero", "u one", "u two", None, None)
    accounts = ledger(turn_on(rows, window=2), rows=rows)
    assert accounts[0] == LeftOutRows(1, 1, "older-than-window", 3, 3)
    assert [(a.seq, a.needs) for a in accounts if isinstance(a, InContext)] == [(2, 2), (3, 1)]
    assert accounts[-1] == LeftOutRows(4, 5, "unreadable", None, None)


def test_S6_unreadable_rows_beyond_the_window_are_named_when_the_rows_are_given(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u zero", None, "u two", "u three")
    accounts = ledger(turn_on(rows, window=1), rows=rows)
    assert accounts[:3] == (
        LeftOutRows(1, 1, "older-than-window", 3, 3),
        LeftOutRows(2, 2, "unreadable", None, None),
        LeftOutRows(3, 3, "older-than-window", 2, 2),
    )


def test_X7_a_dropped_row_keeps_its_place_in_the_count(turn_on: Any, rows_of: Any) -> None:
    record = turn_on(rows_of("u a", "u b", "u c", "u d"), window=3, omitted={3: "dropped"})
    accounts = ledger(record)
    assert seqs_of(accounts) == [1, 2, 3, 4]
    assert accounts[2] == LeftOutRows(3, 3, "dropped", None, None)
    assert accounts[1].needs == 3  # type: ignore[union-attr]  # nothing older moved up


@given(
    readable=st.lists(st.booleans(), max_size=30),
    window=st.one_of(st.integers(-2, 40), st.just("all")),
)
def test_X1_every_row_is_accounted_for_exactly_once(readable: list[bool], window: Window) -> None:
    rows: list[Message | Unreadable] = [
        Message(n, "user", f"m{n}", None, None, TIME) if ok else Unreadable(n, "bad")
        for n, ok in enumerate(readable, start=1)
    ]
    chosen = history.window(rows, window)
    record = _record_of(chosen.kept, chosen.left_out, len(rows), window)
    accounts = ledger(record, rows=rows)
    assert seqs_of(accounts) == list(range(1, len(rows) + 1))
    for account in accounts:
        if isinstance(account, LeftOutRows) and account.needs_last is not None:
            assert account.last in {row.seq for row in history.window(rows, account.needs_last).kept}
            assert account.last not in {row.seq for row in history.window(rows, account.needs_last - 1).kept}


def test_X1_calls_and_results_of_earlier_turns_are_transcript_only(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    earlier = turn_on(
        rows_of("u balance?"),
        number=1,
        transcript=(
            *call_of("balance", {"of": "me"}, {"euros": 300}, text="Looking."),
            AssistantStep(2, "You have it."),
        ),
    )
    accounts = ledger(turn_on(rows_of("u balance?", "a You have it.", "u how much?"), number=2), earlier=[earlier])
    never = [a for a in accounts if isinstance(a, NeverStored)]
    assert [(a.what, a.name, a.text, a.reason, a.step, a.turn_name) for a in never] == [
        ("text", "", "Looking.", "transcript-only", 1, "turn 1"),
        ("call", "balance", '{"of":"me"}', "transcript-only", 1, "turn 1"),
        ("result", "balance", '{"euros":300}', "transcript-only", 1, "turn 1"),
    ]


def test_X1_answers_that_were_not_stored_are_told_with_the_ending(turn_on: Any, rows_of: Any) -> None:
    for status, reason in (
        ("failed", "turn-failed"),
        ("cut", "turn-cut"),
        ("stopped", "turn-stopped"),
        ("truncated", "turn-truncated"),
    ):
        earlier = turn_on(
            rows_of("u q1"),
            number=1,
            transcript=(AssistantStep(1, "Hel", partial=True),),
            status=status,
            answer=None,
            stored_assistant=None,
            unstored_assistant=reason,
        )
        accounts = ledger(turn_on(rows_of("u q1", "u q2"), number=2), earlier=[earlier])
        assert [(a.what, a.text, a.reason) for a in accounts if isinstance(a, NeverStored)] == [
            ("answer", "Hel", reason)
        ]


def test_T1_a_brief_turn_stored_neither_request_nor_answer(turn_on: Any, rows_of: Any) -> None:
    earlier = turn_on(
        rows_of("u q1"),
        "sum up",
        number=1,
        kind="brief",
        stored_user=None,
        stored_assistant=None,
        unstored_user="brief-turn",
        unstored_assistant="brief-turn",
    )
    accounts = ledger(turn_on(rows_of("u q1"), number=2), earlier=[earlier])
    assert [(a.what, a.text, a.reason) for a in accounts if isinstance(a, NeverStored)] == [
        ("request", "sum up", "brief-turn"),
        ("answer", "An answer.", "brief-turn"),
    ]


def test_T8_a_delegated_turn_is_told_inside_its_parent(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    unstored = {"stored_user": None, "stored_assistant": None, "number": 0, "unstored_user": "child-turn"}
    child = turn_on([], "look it up", kind="child", unstored_assistant="child-turn", **unstored)
    parent = turn_on(
        rows_of("u q1"), number=1, transcript=(*call_of("researcher", {"brief": "look it up"}, "found"),),
        children={"c1": child},
    )  # fmt: skip
    accounts = ledger(turn_on(rows_of("u q1", "u q2"), number=2), earlier=[parent])
    assert [(a.what, a.reason) for a in accounts if isinstance(a, NeverStored)] == [
        ("call", "transcript-only"),
        ("request", "child-turn"),
        ("answer", "child-turn"),
        ("result", "transcript-only"),
    ]


def test_X1_turns_that_came_later_are_not_told(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    with_call = {"transcript": call_of("find-notes", {}, "x")}
    records = [turn_on(rows_of("u q"), number=number, **with_call) for number in (1, 2, 3)]
    told = [a.turn for a in ledger(records[1], earlier=records) if isinstance(a, NeverStored)]
    assert set(told) == {"turn-1"}


def test_X4_a_re_run_stands_where_the_turn_it_repeats_stood(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    with_call = {"transcript": call_of("find-notes", {}, "x")}
    records = [turn_on(rows_of("u q"), number=number, **with_call) for number in (1, 2, 3)]
    run = turn_on(rows_of("u q"), number=0, turn="run-1", view=View(0), rerun_of="turn-2", at=records[2].at)
    told = {a.turn for a in ledger(run, earlier=records) if isinstance(a, NeverStored)}
    assert told == {"turn-1"}


def test_X1_an_imported_turns_calls_are_rows_and_not_told_twice(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    earlier = turn_on(rows_of("u q"), number=1, origin="imported", transcript=call_of("f", {}, "42"))
    assert not [a for a in ledger(turn_on(rows_of("u q", "u r")), earlier=[earlier]) if isinstance(a, NeverStored)]


def test_a_turn_without_a_context_accounts_for_no_row(turn_on: Any, rows_of: Any) -> None:
    assert ledger(replace(turn_on(rows_of("u q")), context=None)) == ()


def test_the_ledger_of_100_000_rows_costs_nothing_for_what_is_left_out(turn_on: Any, rows_of: Any) -> None:
    many: list[Message | Unreadable] = [Message(n, "user", "x" * 300, None, None, TIME) for n in range(1, 100_001)]
    record = turn_on(many, window=6)
    accounts = ledger(record, rows=many)
    assert len(accounts) == 7


def _record_of(kept: tuple[Message, ...], left_out: tuple[LeftOut, ...], stored: int, window: Window) -> TurnRecord:
    unreadable = [seq for left in left_out if left.reason == "unreadable" for seq in range(left.first, left.last + 1)]
    rows = tuple(ContextRow(row.seq, row.role, row.text, 1, history.needs(row.seq, stored, unreadable)) for row in kept)
    context = ContextRecord(
        (SectionRecord("history", "", len(rows), rows),) if rows else (), stored, len(rows), left_out, Since()
    )
    return TurnRecord(
        "t", "th", "run", "sections", "a", "envelope", window, "q", TIME, None, context, None, (), (), (), "completed",
        None, None, None, None, None, None, None, {}, {}, Usage(),
    )  # fmt: skip


def test_X1_the_ledger_is_narrowed_to_a_kind_a_reason_or_a_text(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    rows = rows_of("u the Draft", "a two", "u draft three", "a four", "u the draft?")
    earlier = turn_on(rows[:1], number=1, transcript=call_of("find-notes", {"about": "draft"}, "nothing"))
    accounts = ledger(turn_on(rows, window=2, number=2), earlier=[earlier], rows=rows)
    assert [a.seq for a in only(accounts, "in") if isinstance(a, InContext)] == [4, 5]
    assert (
        only(accounts, "out") == only(accounts, "older-than-window") == (LeftOutRows(1, 3, "older-than-window", 5, 3),)
    )
    assert {a.reason for a in only(accounts, "never-stored") if isinstance(a, NeverStored)} == {"transcript-only"}
    assert only(accounts, "unreadable") == ()
    with pytest.raises(BadInput, match="older-than-window"):
        only(accounts, "because")
    said = saying(accounts, "DRAFT", rows)
    assert said[:2] == (LeftOutRows(1, 1, "older-than-window", 5, 5), LeftOutRows(3, 3, "older-than-window", 3, 3))
    assert [a.seq for a in said if isinstance(a, InContext)] == [5]
    assert [(a.what, a.name) for a in said if isinstance(a, NeverStored)] == [("call", "find-notes")]
    assert saying(accounts, "no such words", rows) == ()
