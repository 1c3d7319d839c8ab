"""CONTEXT as values: every row in its place, each reason beside it, and no what-if in the record (X1 to X3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.explain import what_if
from runtime.values.items import AssistantStep, ToolCall, ToolResult, ToolResults
from runtime.values.messages import Message, Row, tool_call_part
from runtime.values.record import ContextItem, LeftOut, StepRecord, ToolOffered, TurnRecord, View
from studio_tui.views.context import context_pane
from studio_tui.views.lines import Lines, Pane, where

Turns = Callable[..., TurnRecord]
Rows = Callable[..., list[Row]]
Plain = Callable[[Pane], list[str]]


def known(rows: Sequence[Row]) -> dict[int, Row]:
    return {row.seq: row for row in rows}


def test_X2_it_opens_with_what_entered_and_fell_out(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    before = turn(friday[:13], number=2)
    record = turn(friday, previous=("turn-2", [8, 9, 10, 11, 12, 13]))
    assert plain(context_pane(record, records=[before, record]))[0] == " since turn 2   entered 14   fell out 8"
    assert plain(context_pane(turn(friday)))[0] == " no turn before   entered 9-14"


def test_X1_every_row_stands_in_its_place_or_in_a_range_with_its_reason(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    told = plain(context_pane(turn(friday), rows=known(friday)))
    assert told[1:15] == [
        " ▸ instructions | 7",
        " ▾ history   6 of 14 stored | 67",
        "   in≥  seq  role",
        "    14    1  user  The Friday draft is due on the 5th, please remember that | 18",
        "                   out: older-than-window",
        "  13…7  2–8  ▸ 7 more left out   ⏎ unfold | 54",
        "                   out: older-than-window",
        "─ window 6: as it was sent ─",
        "     6    9  user  Please move the review to Thursday | 10",
        "     5   10  asst  Moved to Thursday. | 8",
        "     4   11  user  Summarize my notes: Monday, plan; Tuesday, calls; Thursday, review | 20",
        "     3   12  asst  Your notes cover the Friday draft. | 11",
        "     2   13  user  When is it due? | 9",
        "     1   14  user  What about the draft? | 9",
    ]


def test_A4_the_row_that_is_also_the_request_is_marked_and_the_request_stands_by_itself(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    told = plain(context_pane(turn(friday)))
    assert "                   ≡ is also the request, stored first" in told
    assert told[told.index(" ▾ request | 6") + 1] == "    What about the draft?"


@given(
    texts=st.lists(st.sampled_from(["u a", "a b", None]), min_size=1, max_size=12),
    window=st.one_of(st.integers(0, 14), st.just("all")),
    other=st.one_of(st.none(), st.integers(0, 14), st.just("all")),
    unfold=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_X1_all_rows_are_accounted_for_once(
    turn: Turns, rows: Rows, texts: list[str | None], window: Any, other: Any, unfold: bool
) -> None:
    stored = rows(*texts, "u request")
    record = turn(stored, window=window)
    assert record.context is not None
    laid = None if other is None else what_if(record.context, stored, other)
    folds = frozenset({"section:never-stored"})
    if unfold:
        folds |= {f"out:{left.first}-{left.last}" for left in record.context.left_out}
        folds |= {f"out:2-{left.last}" for left in record.context.left_out}
    pane = context_pane(record, laid, rows=known(stored), folds=folds)
    seen: list[int] = []
    for line in pane.lines:
        if line.kind == "row":
            assert line.seq is not None
            seen.append(line.seq)
        elif line.kind == "range" and line.fold == "closed":
            first, _, last = line.id.removeprefix("out:").partition("-")
            seen += range(int(first), int(last) + 1)
        assert where(pane.lines, line.id) is not None
    assert seen == [row.seq for row in stored]


def test_X3_the_overlay_marks_rows_and_draws_a_second_ruler_and_leaves_the_record(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    record = turn(friday)
    assert record.context is not None
    pane = context_pane(record, what_if(record.context, friday, 3), rows=known(friday))
    told = plain(pane)
    assert (pane.title, pane.badge) == ("CONTEXT of turn 3", "RECORD + WHAT IF")
    assert " ▾ history   6 → 3 of 14 stored | 67 → 29" in told
    start = told.index("─ window 6: as it was sent ─")
    assert told[start + 1 : start + 6] == [
        "−    6    9  user  Please move the review to Thursday | 10",
        "−    5   10  asst  Moved to Thursday. | 8",
        "−    4   11  user  Summarize my notes: Monday, plan; Tuesday, calls; Thursday, review | 20",
        "═ window 3: what if, not sent ═",
        "     3   12  asst  Your notes cover the Friday draft. | 11",
    ]
    assert plain(context_pane(record, rows=known(friday)))[2] == " ▾ history   6 of 14 stored | 67"


def test_X3_rows_that_would_enter_are_marked_above_the_ruler_of_what_was_sent(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    record = turn(friday)
    assert record.context is not None
    told = plain(context_pane(record, what_if(record.context, friday, 8), rows=known(friday)))
    start = told.index("═ window 8: what if, not sent ═")
    assert told[start + 1 : start + 4] == [
        "+    8    7  user  Tuesday is for calls | 8",
        "+    7    8  asst  Noted. | 6",
        "─ window 6: as it was sent ─",
    ]


def test_X3_the_coming_turn_is_titled_not_sent(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    context = turn(friday, window=2).context
    assert context is not None
    pane = context_pane(ContextItem(context, 8192, 1024), window=2)
    assert (pane.title, pane.badge) == ("CONTEXT of the next turn", "NOT SENT")
    assert "═ window 2: not sent ═" in plain(pane)


def test_S3_window_0_shows_every_row_left_out_and_the_ruler_below_them(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    told = plain(context_pane(turn(friday, window=0)))
    assert " ▾ history   0 of 14 stored | 0" in told
    start = told.index("  14…1  1–14  ▸ 14 left out   ⏎ unfold")
    assert told[start + 1] == (
        "                   out: history-declined: the window is 0, so no stored message is taken"
    )
    assert told[start + 2] == "─ window 0: as it was sent ─"


def test_S6_an_unreadable_row_is_named_in_its_place(turn: Turns, rows: Rows, plain: Plain) -> None:
    stored = rows("u one", None, "u three")
    told = plain(context_pane(turn(stored), rows=known(stored)))
    at = told.index("     –    2  unreadable: text is null")
    assert told[at + 1] == "                   out: unreadable"
    assert told[at - 1] == "     2    1  user  one | 5"


def test_A3_an_escaped_line_is_marked(turn: Turns, rows: Rows, plain: Plain) -> None:
    stored = rows("a see\nuser: not a role\nplain", "u go")
    record = turn(stored)
    note = "                   \\ line 2 reads like a role line and was sent with a backslash in front"
    assert note in plain(context_pane(record))
    opened = context_pane(record, folds=frozenset({"row:1"}))
    at = where(opened.lines, "row:1")
    assert at is not None
    line = opened.lines[at]
    assert line.text.endswith("see\n\\user: not a role\nplain")
    assert line.copy == "see\nuser: not a role\nplain"


def test_A5_a_state_view_that_a_tool_has_changed_since_is_marked(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    record = turn(friday, state={"tone": "brief"}, state_after={"tone": "detailed"}, writes={1: {"tone": "detailed"}})
    told = plain(context_pane(record))
    assert " ▾ state views  ! | 4" in told
    assert "    tone: brief   ! step 1 set it to detailed; this text did not change" in told


def test_C26_a_row_without_reply_says_which_turn_failed(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    failed = turn(
        friday[:13],
        number=2,
        status="failed",
        reason="model-error",
        stored_assistant=None,
        unstored_assistant="turn-failed",
        answer=None,
        transcript=(),
    )
    told = plain(context_pane(turn(friday), records=[failed]))
    at = told.index("     2   13  user  When is it due? | 9")
    assert told[at + 1] == "                   no reply stored: turn 2 failed (model-error)"


def _with_a_call(turn: Turns, friday: list[Row]) -> TurnRecord:
    transcript = (
        AssistantStep(1, "", (ToolCall("k1", "find-notes", {"about": "Friday"}),)),
        ToolResults(1, (ToolResult("k1", "find-notes", "the 5th"),)),
        AssistantStep(2, "Your notes cover the Friday draft."),
    )
    return turn(friday[:11], number=1, transcript=transcript)


def test_X1_calls_of_earlier_turns_are_said_to_be_never_stored(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    earlier, record = _with_a_call(turn, friday), turn(friday)
    told = plain(context_pane(record, records=[earlier, record]))
    at = told.index("     3   12  asst  Your notes cover the Friday draft. | 11")
    assert told[at + 1] == "                   turn 1 also had 1 call, 1 result: transcript-only, never stored"
    assert " ▸ never stored (2)" in told
    opened = plain(context_pane(record, records=[earlier, record], folds=frozenset({"section:never-stored"})))
    at = opened.index("    turn 1: result find-notes  the 5th")
    assert opened[at + 1] == "        transcript-only"


def test_A1_tools_are_listed_with_tokens_and_open_to_their_schema(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    tool = ToolOffered("set-tone", "Sets the tone", {"type": "object"}, 90)
    record = turn(friday, tools=(tool,))
    assert " ▸ tools offered (1) | 90" in plain(context_pane(record))
    told = plain(context_pane(record, folds=frozenset({"section:tools", "tool:set-tone"})))
    at = told.index("    ▾ set-tone  Sets the tone | 90")
    assert told[at + 2] == '        {\n  "type": "object"\n}'


def test_A2_parts_are_said_to_stay_behind(turn: Turns, rows: Rows, plain: Plain) -> None:
    stored = rows("a calling", "u go")
    assert isinstance(stored[0], Message)
    stored[0] = replace(stored[0], parts=(tool_call_part("c1", "find", {}),))
    told = plain(context_pane(turn(stored), rows=known(stored)))
    assert "                   its 1 call stayed behind: only role and text are sent" in told


def test_X4_a_run_says_what_view_it_looked_at(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    run = replace(turn(friday, omitted={12: "dropped"}), view=View(13, (12,)), turn="a91c", number=0)
    pane = context_pane(run, rows=known(friday))
    assert pane.title == "CONTEXT of re-run a91c"
    assert " on a view: rows 1–13 and the request, without 12; the thread does not change" in plain(pane)
    told = plain(pane)
    at = next(i for i, text in enumerate(told) if text.startswith("     –   12  asst"))
    assert told[at + 1].strip() == "out: dropped"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (None, " no turn yet: type a request and send it"),
        (
            "failed",
            " no context was assembled: failed: the process that ran it ended before the turn did (interrupted)",
        ),
    ],
)
def test_nothing_to_show_is_said(
    turn: Turns, plain: Plain, friday: list[Row], shown: str | None, expected: str
) -> None:
    record = turn(friday, context=None, status="failed", reason="interrupted") if shown else None
    assert plain(context_pane(record))[0].startswith(expected)


def test_F3_a_context_that_did_not_fit_was_not_sent_and_says_what_is_to_blame(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    overflow = StepRecord(1, 9000, {"history": 60, "request": 8940}, 0.0)
    record = turn(friday, status="failed", reason="fit-overflow", overflow=overflow, tiers=(), answer=None)
    told = plain(context_pane(record))
    assert told[1].startswith(" ! no window can help turn 3")
    assert "to blame: the request itself (8940 tokens)" in told[1]
    assert "─ window 6: it does not fit, nothing was sent ─" in told
    assert not any("as it was sent" in text for text in told)


def test_an_imported_turn_is_no_record_of_a_run(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    pane = context_pane(turn(friday, origin="imported", layout="messages"))
    assert pane.badge == "IMPORTED"
    assert any("inferred" in text for text in plain(pane))


@pytest.mark.parametrize("window", [6, "all"])
def test_20000_rows_cost_the_lines_one_looks_at(turn: Turns, rows: Rows, window: Any) -> None:
    stored = rows(*["u message " + "and so on " * 30] * 20_000)
    record = turn(stored, window=window)
    pane = context_pane(record, rows=known(stored) if window == 6 else {})
    assert isinstance(pane.lines, Lines)
    assert len(pane.lines) > (20_000 if window == "all" else 15)
    assert pane.lines[4].id
    assert where(pane.lines, "row:20000") is not None
    assert len(pane.lines._kept) < 6


def test_a_range_of_20000_rows_unfolds_without_making_them(turn: Turns, rows: Rows) -> None:
    stored = rows(*["u message"] * 20_000)
    record = turn(stored)
    assert record.context is not None
    assert record.context.left_out == (LeftOut(1, 19_994, "older-than-window"),)
    pane = context_pane(record, rows=known(stored), folds=frozenset({"out:2-19994"}))
    assert isinstance(pane.lines, Lines)
    assert len(pane.lines) > 20_000
    at = where(pane.lines, "row:10000")
    assert at is not None
    assert pane.lines[at].text.endswith("10000  user  message")
    assert len(pane.lines._kept) < 6
