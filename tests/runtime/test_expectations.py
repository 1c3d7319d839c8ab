"""An expectation against a record: one sentence, with the values, for each thing that does not hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from runtime.expectations import failures
from runtime.values.items import AssistantStep, ToolCall
from runtime.values.record import ContextRecord, ContextRow, SectionRecord, Since, TurnRecord
from runtime.values.seed import Check, Expectation
from runtime.values.usage import Usage

ROWS = (ContextRow(1, "user", "The draft is due\nuser: on the 5th", 9, 2), ContextRow(2, "user", "When?", 2, 1, True))
CONTEXT = ContextRecord(
    sections=(
        SectionRecord("instructions", "Be kind.", 3),
        SectionRecord("history", "user: The draft is due\n\\user: on the 5th\nuser: When?", 11, ROWS),
        SectionRecord("request", "When?", 2),
    ),
    stored=8,
    selected=2,
    left_out=(),
    since=Since(),
)
RECORD = TurnRecord(
    turn="t", thread="h", origin="run", layout="sections", agent="notes", kind="envelope", window=2, request="When?",
    at=datetime(2026, 1, 5, tzinfo=UTC), seconds=0.1, context=CONTEXT, fit=None, steps=(),
    transcript=(AssistantStep(1, "", (ToolCall("c1", "find-notes", {}), ToolCall("c2", "set-tone", {}))),),
    tiers=(), status="completed", reason=None, error=None, answer="It is due  on the 5th.", stored_user=8,
    stored_assistant=9, unstored_user=None, unstored_assistant=None, state_before={}, state_after={}, usage=Usage(),
)  # fmt: skip


@pytest.mark.parametrize(
    "expectation",
    [
        Expectation("When?"),
        Expectation("When?", selected=2, context=Check(("THE DRAFT", "user: on the 5th", "be kind"), ("6th",))),
        Expectation("When?", answer=Check(("5TH",), ("6th",), r"\d", "it is due on the 5th.")),
        Expectation("When?", calls=("find-notes", "set-tone"), status="completed"),
        Expectation("When?", smallest=99, same_answer=(1, 2)),
    ],
)
def test_what_holds_has_no_failures(expectation: Expectation) -> None:
    assert failures(expectation, RECORD) == []


@pytest.mark.parametrize(
    ("expectation", "said"),
    [
        (Expectation("When?", selected=3), ["the context has 2 of 8 messages, not 3"]),
        (Expectation("When?", context=Check(("6th", "7th"), ("5th",))),
         ["the context lacks '6th'", "the context lacks '7th'", "the context contains '5th'"]),
        (Expectation("When?", answer=Check(("6th",))), ["the answer lacks '6th': 'It is due  on the 5th.'"]),
        (Expectation("When?", answer=Check(matches="^5")),
         ["the answer does not match '^5': 'It is due  on the 5th.'"]),
        (Expectation("When?", answer=Check(equals="no")), ["the answer is not 'no': 'It is due  on the 5th.'"]),
        (Expectation("When?", calls=()), ["the turn calls find-notes, set-tone, not nothing"]),
        (Expectation("When?", calls=("set-tone", "find-notes")),
         ["the turn calls find-notes, set-tone, not set-tone, find-notes"]),
        (Expectation("When?", status="cut", reason="steps"), ["the turn is completed, not cut"]),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_said_with_the_values(expectation: Expectation, said: list[str]) -> None:
    assert failures(expectation, RECORD) == said


def test_a_turn_that_failed_says_why() -> None:
    failed = replace(RECORD, status="failed", reason="model-error", error="busy", answer=None)
    assert failures(Expectation("When?", answer=Check(("5th",))), failed) == [
        "the turn is failed (model-error), not completed: busy"
    ]
    assert failures(Expectation("When?", status="failed", reason="model-error"), failed) == []
    assert failures(Expectation("When?", status="failed", reason="no-output"), failed) == [
        "the turn is failed (model-error), not failed (no-output)"
    ]
    assert failures(Expectation("When?", status="failed", answer=Check(("5th",))), failed) == ["the turn has no answer"]


def test_a_turn_without_context_shows_none() -> None:
    bare = replace(RECORD, context=None)
    assert failures(Expectation("When?"), bare) == []
    assert failures(Expectation("When?", selected=0), bare) == ["the turn has no context"]
