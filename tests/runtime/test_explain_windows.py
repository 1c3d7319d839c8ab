"""Another window over a record, and when none can help (X3, F3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import fit
from runtime.explain import (
    overflow_words,
    since,
    what_if,
    window_cannot_help,
    window_that_fits,
    window_words,
)
from runtime.values.messages import Window
from runtime.values.record import Fit, StepRecord, ToolOffered, TurnRecord

FOURTEEN = [f"{'ua'[n % 2]} message number {n + 1}" for n in range(13)] + ["u What about the draft?"]


def test_X3_a_smaller_window_names_the_rows_that_would_leave(turn_on: Any, rows_of: Any) -> None:
    record = turn_on(rows_of(*FOURTEEN), window=6)
    assert record.context is not None
    other = what_if(record.context, (), 3)
    assert other.rows == (12, 13, 14)
    assert [row.seq for row in other.left] == [9, 10, 11]
    assert other.entered == ()
    assert (other.sent_ruler, other.ruler) == (9, 12)
    assert other.tokens_before - other.tokens_after == sum(row.tokens for row in other.left)
    assert other.words == "3 = the request + the 2 messages before it"
    assert other.sentence == (
        f"window 3 would select 3 of 14 stored messages: 3 messages would leave, "
        f"{sum(row.tokens for row in other.left)} tokens fewer"
    )


@pytest.mark.parametrize("sent", [0, 1, 3, 6, "all"])
@pytest.mark.parametrize("window", [-1, 0, 1, 5, 14, 10**19, "all"])
def test_X3_a_what_if_is_what_a_turn_with_that_window_is_sent(
    turn_on: Any, rows_of: Any, sent: Window, window: Window
) -> None:
    rows = rows_of(*FOURTEEN)
    record, real = turn_on(rows, window=sent), turn_on(rows, window=window)
    other = what_if(record.context, rows, window)
    assert other.rows == tuple(row.seq for row in real.context.rows)
    sections = {section.name: section.tokens for section in real.context.sections}
    assert other.after == fit.parts(sections)
    assert other.tokens_after == sum(fit.parts(sections).values())


@given(
    readable=st.lists(st.booleans(), min_size=1, max_size=20),
    sent=st.one_of(st.integers(-1, 25), st.just("all")),
    window=st.one_of(st.integers(-1, 25), st.just("all")),
)
def test_X3_with_unreadable_rows_too(readable: list[bool], sent: Window, window: Window) -> None:
    from runtime import history
    from runtime.context import Sources, assemble
    from runtime.values.agent import Agent
    from runtime.values.messages import Unreadable

    rows = [_row(n, ok) for n, ok in enumerate(readable, start=1)]
    chosen = history.window(rows, sent)
    met = [row for row in rows if isinstance(row, Unreadable) and chosen.kept and row.seq > chosen.kept[0].seq]
    context = assemble(Agent("a"), (), Sources(chosen.kept, len(rows), sent, "q", {}, unreadable=met, request_seq=None))
    assert what_if(context, rows, window).rows == tuple(row.seq for row in history.window(rows, window).kept)


def test_X3_the_record_is_not_altered(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of(*FOURTEEN)
    record = turn_on(rows, window=6)
    before = repr(record)
    what_if(record.context, rows, "all")
    assert repr(record) == before


def test_X7_what_an_experiment_dropped_stays_out(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u a", "u b", "u c", "u d")
    record = turn_on(rows, window=2, omitted={3: "dropped"})
    assert what_if(record.context, rows, "all").rows == (1, 2, 4)


@pytest.mark.parametrize(
    ("window", "stored", "words"),
    [
        (3, 14, "3 = the request + the 2 messages before it"),
        (2, 14, "2 = the request + the message before it"),
        (1, 14, "1 = the request's own row, nothing before it"),
        (0, 14, "0 = no stored messages: the request alone"),
        (-1, 14, "-1 = no stored messages: the request alone"),
        ("all", 14, "all = every stored message (14)"),
        (20, 14, "20 = every stored message (14)"),
        (6, 0, "6 = no stored messages: the request alone"),
    ],
)
def test_X3_what_a_window_means_in_words(window: Window, stored: int, words: str) -> None:
    assert window_words(window, stored) == words


def test_X3_a_brief_turn_has_no_request_among_the_rows() -> None:
    assert window_words(3, 14, has_request=False) == "3 = the 3 newest messages"
    assert window_words(1, 14, has_request=False) == "1 = the newest message"


def test_X2_what_entered_and_fell_out(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of(*FOURTEEN)
    before, now = turn_on(rows[:12], window=6, number=2), turn_on(rows, window=6)
    told = since(before.context, before.turn, now.context.rows)
    assert (told.turn, told.entered, told.left) == ("turn-2", (13, 14), (7, 8))
    assert since(None, None, now.context.rows).left == ()


def overflowed(
    record: TurnRecord, *, limit: int, reserve: int = 100, tools: int = 0, transcript: int = 0
) -> TurnRecord:
    from dataclasses import replace

    assert record.context is not None
    sections = {section.name: section.tokens for section in record.context.sections}
    parts = fit.parts(sections, tools=tools, transcript=transcript)
    estimate = sum(parts.values())
    return replace(
        record,
        status="failed",
        reason="fit-overflow",
        answer=None,
        fit=Fit(limit, reserve, estimate),
        overflow=StepRecord(1, estimate, parts, 0.0),
    )


def test_F3_tools_too_large_for_any_window(turn_on: Any, rows_of: Any) -> None:
    tools = [ToolOffered("huge", "", {}, 900), ToolOffered("small", "", {}, 100)]
    record = overflowed(turn_on(rows_of(*FOURTEEN), tools=tools), limit=800, tools=1000)
    assert window_that_fits(record) is None
    told = window_cannot_help(record)
    assert told is not None
    without = record.overflow.estimate - record.overflow.parts["history"]  # type: ignore[union-attr]  # it overflowed
    assert told == (
        f"no window can help turn 3: without any history it is still {without} tokens + 100 kept for the answer = "
        f"{without + 100} of 800; to blame: the tools offered (1000 tokens for 2 tools, 900 of them huge)"
    )
    assert overflow_words(record) == told


def test_F3_one_huge_message_and_the_window_that_leaves_it_out(turn_on: Any, rows_of: Any) -> None:
    record = overflowed(turn_on(rows_of("u hi", "a " + "word " * 2000, "a ok", "u so?"), window=6), limit=400)
    assert window_cannot_help(record) is None
    assert window_that_fits(record) == 2
    told = overflow_words(record)
    assert told is not None
    assert told.startswith("a window of 2 or less would have fitted turn 3; to blame: the history (")
    assert "of them seq 2 " in told


def test_F3_a_huge_request_is_counted_twice_and_only_no_window_or_none_helps(turn_on: Any, rows_of: Any) -> None:
    record = overflowed(turn_on(rows_of("u hi", "u " + "word " * 500)), limit=800)
    assert window_that_fits(record) == 0
    assert overflow_words(record) == (f"a window of 0 would have fitted turn 3; to blame: {_blame(record)}")
    smaller = overflowed(turn_on(rows_of("u hi", "u " + "word " * 500)), limit=500)
    assert window_cannot_help(smaller) is not None


def test_F3_a_long_transcript_is_named_with_its_largest_result(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    record = turn_on(rows_of("u q"), transcript=call_of("dump", {}, "line " * 900))
    told = window_cannot_help(overflowed(record, limit=500, transcript=920))
    assert told is not None
    assert "to blame: what this turn has done so far (920 tokens" in told
    assert "a result of dump" in told


def test_F3_a_turn_that_fitted_has_nothing_to_blame(turn_on: Any, rows_of: Any) -> None:
    record = turn_on(rows_of("u q"))
    assert (window_cannot_help(record), overflow_words(record), window_that_fits(record)) == (None, None, None)


def _blame(record: TurnRecord) -> str:
    from runtime.explain import to_blame

    return to_blame(record)


def _row(n: int, readable: bool) -> Any:
    from datetime import UTC, datetime

    from runtime.values.messages import Message, Unreadable

    when = datetime(2026, 1, 5, tzinfo=UTC)
    return Message(n, "user", f"m{n}", None, None, when) if readable else Unreadable(n, "bad")
