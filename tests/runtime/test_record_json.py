"""The turn record in JSON: exactly the shape that is documented, and back."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from pydantic import TypeAdapter

from runtime import fit
from runtime.errors import BadInput
from runtime.values.items import AssistantStep, Nudge
from runtime.values.record import Attempt, Fit, StepRecord, ToolOffered, TurnRecord, View
from runtime.values.record_json import record_from_json, record_json, time_json
from runtime.values.record_schema import RecordJson, turn_schema
from runtime.values.usage import Usage

KEYS = [
    "turn", "thread", "origin", "layout", "agent", "kind", "window", "at", "seconds", "context", "fit", "steps",
    "transcript", "tiers", "status", "reason", "error", "answer", "stored_user", "stored_assistant", "unstored",
    "handoff", "state", "usage",
]  # fmt: skip


@pytest.fixture
def full(turn_on: Any, rows_of: Any, call_of: Any) -> TurnRecord:
    parts = fit.parts({"instructions": 120, "state": 4, "history": 60, "request": 12}, tools=180)
    return cast(
        TurnRecord,
        turn_on(
            rows_of(*[f"u message {n}" for n in range(13)], "u What about the draft?"),
            window=2,
            state={"tone": "brief"},
            views=("tone",),
            tools=[ToolOffered("set-tone", "Sets the tone.", {"type": "object"}, 90)],
            transcript=(
                *call_of("set-tone", {"tone": "detailed"}, {"tone": "detailed"}),
                AssistantStep(2, ""),
                Nudge(2, "Please answer."),
                AssistantStep(3, "Done."),
            ),
            steps=(StepRecord(1, sum(parts.values()), parts, 0.1, {"model": "m"}),),
            tiers=(Attempt(1, "offline", "ok", estimate=400, usage=Usage(3, None), seconds=0.1),),
            state_after={"tone": "detailed"},
            previous=("turn-2", [8, 9, 10, 11, 12, 13]),
        ),
    )


def through_text(record: TurnRecord) -> Any:
    return json.loads(json.dumps(record_json(record)))


def test_every_key_of_the_record_in_its_order(full: TurnRecord) -> None:
    told = through_text(full)
    assert list(told) == KEYS
    assert list(told["context"]) == ["sections", "stored", "selected", "left_out", "since", "tools"]
    assert told["context"]["stored"] == 14
    assert told["context"]["selected"] == 2
    assert told["context"]["left_out"] == [{"from": 1, "to": 12, "reason": "older-than-window"}]
    assert told["context"]["since"] == {"turn": "turn-2", "entered": [14], "left": [8, 9, 10, 11, 12]}
    history = told["context"]["sections"][2]
    assert list(history) == ["name", "text", "tokens", "messages"]
    assert history["messages"][-1] == {
        "seq": 14,
        "role": "user",
        "text": "What about the draft?",
        "tokens": fit.row_tokens("user", "What about the draft?"),
        "needs": 1,
        "is_brief": True,
        "repeats": ["request"],
    }
    assert [item["item"] for item in told["transcript"]] == ["assistant", "tools", "assistant", "nudge", "assistant"]
    assert told["transcript"][1]["results"] == [
        {"id": "c1", "name": "set-tone", "output": {"tone": "detailed"}, "error": False, "seconds": 0.0}
    ]
    assert told["unstored"] == {"user": None, "assistant": None}
    assert told["state"] == {"before": {"tone": "brief"}, "after": {"tone": "detailed"}}
    assert sum(told["steps"][0]["parts"].values()) == told["steps"][0]["estimate"]
    assert told["at"] == "2026-01-05T12:00:00Z"


def test_a_record_with_nothing_in_it_has_every_key(full: TurnRecord) -> None:
    told = through_text(
        replace(
            full, context=None, fit=None, steps=(), transcript=(), tiers=(), seconds=None, status="failed",
            reason="interrupted", answer=None, stored_assistant=None, unstored_assistant="turn-failed", usage=Usage(),
        )
    )  # fmt: skip
    assert list(told) == KEYS
    assert (told["context"], told["fit"], told["steps"], told["usage"]) == (
        None,
        None,
        [],
        {"input": None, "output": None},
    )
    assert told["unstored"] == {"user": None, "assistant": "turn-failed"}


def test_F1_the_step_that_did_not_fit_tells_its_parts(full: TurnRecord) -> None:
    parts = fit.parts({"request": 9000})
    overflow = StepRecord(1, sum(parts.values()), parts, 0.0)
    record = replace(
        full, steps=(), transcript=(), tiers=(), status="failed", reason="fit-overflow", overflow=overflow,
        fit=Fit(8192, 1024, overflow.estimate), answer=None,
    )  # fmt: skip
    told = through_text(record)
    assert told["steps"] == [{"step": 1, "estimate": 9016, "parts": dict(parts), "seconds": 0.0, "body": None}]
    assert record_from_json(told).overflow == overflow


def test_T8_a_delegated_turn_stands_under_its_result(full: TurnRecord, call_of: Any) -> None:
    child = replace(
        full, turn="child-1", kind="child", number=0, unstored_user="child-turn", unstored_assistant="child-turn",
        stored_user=None, stored_assistant=None, parent=full.turn, parent_call="c1", context=full.context,
    )  # fmt: skip
    step, results = call_of("researcher", {"brief": "look"}, "found")
    result = replace(results.results[0], turn="child-1")
    parent = replace(full, transcript=(step, replace(results, results=(result,))), children={"c1": child})
    told = through_text(parent)
    assert list(told["transcript"][1]["results"][0]["turn"]) == KEYS
    assert told["transcript"][1]["results"][0]["turn"]["kind"] == "child"
    again = record_from_json(told)
    assert again.children is not None
    assert again.children["c1"].parent == full.turn
    assert record_json(again) == record_json(parent)


def test_X4_a_run_tells_its_view(full: TurnRecord) -> None:
    record = replace(
        full, view=View(13, (2,), {3: "other"}), rerun_of="turn-3", number=0, stored_user=None, stored_assistant=None,
        unstored_user="view-run", unstored_assistant="view-run",
    )  # fmt: skip
    told = through_text(record)
    assert told["view"] == {"upto": 13, "drop": [2], "edit": {"3": "other"}}
    assert (told["stored_user"], told["stored_assistant"]) == (None, None)
    assert told["unstored"] == {"user": "view-run", "assistant": "view-run"}
    assert record_from_json(told).view == record.view


def test_the_record_reads_back_as_it_was_told(full: TurnRecord) -> None:
    told = through_text(full)
    again = record_from_json(told)
    assert record_json(again) == told
    assert again.request == full.request
    assert again.context is not None
    assert full.context is not None
    assert again.context.left_out == full.context.left_out
    assert again.transcript == full.transcript


def test_Q1_what_is_no_record_is_one_clear_error(full: TurnRecord) -> None:
    told = through_text(full)
    del told["status"]
    with pytest.raises(BadInput, match="turn record: a turn record has the key 'status'"):
        record_from_json(told)
    with pytest.raises(BadInput, match="this is no turn record"):
        record_from_json({**through_text(full), "at": "yesterday"})
    with pytest.raises(BadInput):
        record_from_json({**through_text(full), "context": 5})


def test_the_published_schema_is_the_shape_that_is_printed(full: TurnRecord) -> None:
    adapter = TypeAdapter(RecordJson)
    told = through_text(full)
    assert adapter.dump_python(adapter.validate_python(told, strict=True)) == told
    wrong = {**told, "kind": "other"}
    with pytest.raises(ValueError, match="kind"):
        adapter.validate_python(wrong)
    schema = cast("dict[str, Any]", turn_schema())
    assert set(KEYS) == set(_definition(schema, "RecordJson")["required"])


def test_times_are_utc_to_the_second() -> None:
    assert time_json(datetime(2026, 1, 5, 9, 0, 0, 999_000, UTC)) == "2026-01-05T09:00:00Z"


def _definition(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return cast("dict[str, Any]", schema.get("$defs", {}).get(name, schema))
