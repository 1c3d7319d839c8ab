"""What stays of a turn, in plain words (A5, S5, X6, Q5)."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.explain import (
    InContext,
    answer_repeats,
    finding,
    ledger,
    next_sees,
    only,
    repetition,
    settlement,
    state_changed_since,
)
from runtime.values.items import AssistantStep
from runtime.values.record import Fit, StepRecord


def test_S5_the_next_turn_sees_the_rows_and_not_the_transcript(
    turn_on: Any, rows_of: Any, call_of: Any, nudge_of: Any
) -> None:
    record = turn_on(
        rows_of("u q"),
        transcript=(*call_of("set-tone", {}, "ok"), AssistantStep(2, ""), nudge_of(2), AssistantStep(3, "Done.")),
        state={"tone": "brief"},
        state_after={"tone": "detailed"},
    )
    seen = next_sees(record)
    assert seen.sees == ("the request (seq 1)", "the answer (seq 2)", "the state it left (tone)")
    assert seen.not_sees == ("1 call", "1 result", "1 time asked again")


def test_C26_of_a_failed_turn_the_next_sees_the_request_alone(turn_on: Any, rows_of: Any) -> None:
    record = turn_on(
        rows_of("u q1"),
        status="failed",
        reason="model-error",
        error="no tier answered",
        answer=None,
        stored_assistant=None,
        unstored_assistant="turn-failed",
        transcript=(AssistantStep(1, "Hel", partial=True),),
    )
    assert next_sees(record).sees == ("the request (seq 1)",)
    assert next_sees(record).not_sees == ("what was said of an answer",)


def test_A5_a_state_view_that_a_tool_changed_is_marked(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    record = turn_on(
        rows_of("u q"),
        state={"tone": "brief", "notes": "n"},
        views=("tone",),
        transcript=(*call_of("set-tone", {"tone": "detailed"}, "ok"), AssistantStep(2, "Done.")),
        state_after={"tone": "detailed", "notes": "n", "seen": 1},
        writes={1: {"tone": "detailed", "seen": 1}},
    )
    seen, tone = state_changed_since(record)
    assert tone.sentence == "step 1 set it to detailed; this text did not change"
    assert (tone.before, tone.after, tone.shown) == ("brief", "detailed", True)
    assert seen.sentence == "step 1 set it to 1; no state view shows it"
    assert (seen.before, seen.shown) == (None, False)


def test_A5_a_value_that_a_tool_removed(turn_on: Any, rows_of: Any) -> None:
    record = turn_on(rows_of("u q"), state={"tone": "brief"}, views=("tone",), state_after={})
    assert state_changed_since(record)[0].sentence == "a tool removed it; this text did not change"


def test_X6_the_request_in_its_own_history(turn_on: Any, rows_of: Any) -> None:
    record = turn_on(rows_of("u ping", "a pong", "u ping"))
    assert repetition(record.context) == {
        1: ("says the same as the request",),
        3: ("is also the request, stored first",),
    }


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "completed; the answer is stored as seq 2"),
        (
            {"stored_assistant": None, "unstored_assistant": "brief-turn"},
            "completed; the answer is not stored: the turn ran on a brief, which writes nothing to the thread",
        ),
        (
            {"stored_assistant": None, "unstored_assistant": "view-run"},
            "completed; the answer is not stored: a re-run looks at the thread and never writes to it",
        ),
        (
            {"status": "failed", "reason": "model-error", "error": "offline:\n gone"},
            "failed: no model answered (model-error): offline: gone; no answer is stored",
        ),
        (
            {"status": "failed", "reason": "no-output"},
            "failed: the model said nothing, also when asked again (no-output); no answer is stored",
        ),
        (
            {"status": "failed", "reason": "interrupted"},
            "failed: the process that ran it ended before the turn did (interrupted); no answer is stored",
        ),
        (
            {
                "status": "failed",
                "reason": "fit-overflow",
                "fit": Fit(800, 100, 900),
                "overflow": StepRecord(1, 900, {}, 0.0),
            },
            "failed: the request does not fit (900 tokens + 100 kept for the answer = 1000 of 800), so none was made; "
            "no answer is stored",
        ),
        (
            {"status": "cut", "reason": "tool-calls"},
            "ended: the tool calls granted to the turn ran out (tool-calls); no answer is stored",
        ),
        ({"status": "stopped"}, "stopped; no answer is stored, what came so far is kept in the record alone"),
        (
            {"status": "truncated"},
            "truncated: the model reached its output limit; its calls did not run and no answer is stored",
        ),
        ({"status": "running"}, "running"),
    ],
)
def test_T5_every_settlement_in_plain_words(turn_on: Any, rows_of: Any, fields: Any, sentence: str) -> None:
    assert settlement(turn_on(rows_of("u q"), **fields)) == sentence


def test_X6_the_same_text_twice_in_one_context(turn_on: Any, rows_of: Any) -> None:
    record = turn_on(rows_of("u ping", "a pong", "u  pong ", "a pong", "u  ", "a ", "u when?"))
    assert repetition(record.context) == {
        3: ("says the same as seq 2",),
        4: ("says the same as seq 2",),
        7: ("is also the request, stored first",),
    }
    assert [row.repeats for row in record.context.rows if row.seq > 1] == [
        (), ("seq 2",), ("seq 2",), (), (), ("request",),
    ]  # fmt: skip
    assert [a.seq for a in only(ledger(record), "repeated") if isinstance(a, InContext)] == [3, 4, 7]


def test_X6_an_answer_that_repeats_an_earlier_one(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u ping", "a It is  PONG.", "u pong", "a It is pong.", "u ping?")
    record = turn_on(rows, answer="it is\npong.")
    assert answer_repeats(record) == 4
    assert finding(record).endswith("; the answer says the same as seq 4.")
    assert answer_repeats(turn_on(rows, answer="pong")) is None
    assert answer_repeats(turn_on(rows, answer=None, status="failed")) is None
