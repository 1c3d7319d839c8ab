"""The journal's JSON: what is written is read back equal, under the key names of the turn record."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.values import journal_json as codec
from runtime.values.dialogue import join
from runtime.values.items import AssistantStep, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.json import Json
from runtime.values.messages import ROLES
from runtime.values.record import (
    Attempt,
    ContextItem,
    ContextRecord,
    ContextRow,
    JournalBody,
    JournalKind,
    LeftOut,
    ResultsItem,
    SectionRecord,
    Settlement,
    Since,
    StepItem,
    StepRecord,
    ToolOffered,
    View,
)
from runtime.values.usage import Usage

ROWS = (
    ContextRow(13, "assistant", "draft\nuser: quoted", 44, 2, id=1013, origin=("abc123", 4)),
    ContextRow(14, "user", "what is in it?", 16, 1, is_request=True, repeats=("request",), id=1014),
)
CONTEXT = ContextRecord(
    sections=(
        SectionRecord("instructions", "Be brief.", 3),
        SectionRecord("history", join(ROWS), 60, ROWS),
        SectionRecord("request", "what is in it?", 4),
    ),
    stored=14,
    selected=2,
    left_out=(LeftOut(1, 11, "older-than-window"), LeftOut(12, 12, "unreadable")),
    since=Since("turn0001", (14,), (11, 12)),
    tools=(ToolOffered("set-tone", "sets the tone", {"type": "object", "properties": {}}, 90),),
)
STEP = AssistantStep(1, "one moment", (ToolCall("c1", "find", {"about": "draft"}), ToolCall("c2", "find", "{oops")))
RESULTS = ToolResults(
    1,
    (
        ToolResult("c1", "find", {"found": [1, 2.5, None, True]}, seconds=0.25, turn="child001"),
        ToolResult("c2", "find", "no JSON object", error=True, abandoned=True),
    ),
)
OVERFLOW = StepRecord(1, 9000, {"instructions": 8000, "request": 1000}, 0.0)
BODIES: tuple[tuple[JournalKind, JournalBody], ...] = (
    ("context", ContextItem(CONTEXT, 8192, 1024)),
    ("step", StepItem(STEP, 468, {"instructions": 400, "request": 68}, 0.5)),
    ("step", StepItem(AssistantStep(2, "cut o", partial=True, opaque={"there": [{"x": 1}]}), 9, {"request": 9}, 0.0)),
    ("results", ResultsItem(RESULTS, {"tone": "detailed"})),
    ("nudge", Nudge(2, "Please answer.")),
    ("attempt", Attempt(1, "openai:m", "status", 401, "bad key", 468, Usage(5, None), 0.1, configuration=True)),
    ("attempt", Attempt(1, "offline", "ok")),
    ("settlement", Settlement("failed", "fit-overflow", "too large", None, OVERFLOW)),
    ("settlement", Settlement("completed", answer="done")),
)


@pytest.mark.parametrize(("kind", "body"), BODIES)
def test_A6_every_journal_body_is_read_back_equal(kind: JournalKind, body: JournalBody) -> None:
    text = codec.dumps(codec.body_json(body))
    assert codec.body_from_json(kind, codec.loads_object(text)) == body


def test_context_in_the_record_has_the_documented_keys() -> None:
    value = json.loads(codec.dumps(codec.context_json(CONTEXT)))
    assert list(value) == ["sections", "stored", "selected", "left_out", "since", "tools"]
    assert value["sections"][0] == {"name": "instructions", "text": "Be brief.", "tokens": 3}
    assert list(value["sections"][1]) == ["name", "text", "tokens", "messages"]
    assert value["sections"][1]["messages"][1] == {
        "seq": 14, "role": "user", "text": "what is in it?", "tokens": 16, "needs": 1, "is_brief": True,
        "repeats": ["request"],
    }  # fmt: skip
    assert value["left_out"][0] == {"from": 1, "to": 11, "reason": "older-than-window"}
    assert value["since"] == {"turn": "turn0001", "entered": [14], "left": [11, 12]}


def test_the_journal_keeps_joined_rows_once() -> None:
    value = json.loads(codec.dumps(codec.context_json(CONTEXT, ids=True, joined=False)))
    assert "text" not in value["sections"][1]
    edited = ContextRecord((SectionRecord("history", "as sent: otherwise", 9, ROWS),), 14, 2, (), Since())
    assert codec.context_from_json(codec.context_json(edited, ids=True, joined=False)) == edited


def test_items_have_the_documented_keys() -> None:
    assert codec.item_json(AssistantStep(2, "hi")) == {
        "item": "assistant", "step": 2, "text": "hi", "calls": [], "partial": False,
    }  # fmt: skip
    assert codec.result_json(ToolResult("c1", "find", 1)) == {
        "id": "c1", "name": "find", "output": 1, "error": False, "seconds": 0.0,
    }  # fmt: skip
    assert list(codec.attempt_json(Attempt(1, "offline", "ok"))) == [
        "step", "model", "outcome", "status", "error", "estimate", "usage", "seconds",
    ]  # fmt: skip


@pytest.mark.parametrize("view", [View(3), View(9, (1, 4), {2: "other"}), View(0, (), {})])
def test_X4_a_view_is_read_back_equal(view: View) -> None:
    assert codec.view_from_json(codec.loads_object(codec.dumps(codec.view_json(view)))) == view


def test_windows_are_read_back() -> None:
    assert [codec.window_from_text(str(window)) for window in (0, -3, 10**30, "all")] == [0, -3, 10**30, "all"]


def test_S8_foreign_mappings_and_surrogates_can_be_kept() -> None:
    value: Json = MappingProxyType({"a": ("x\ud800", MappingProxyType({"b": 1})), "n": "\x00"})
    text = codec.dumps(value)
    assert json.loads(text) == {"a": ["x\ufffd", {"b": 1}], "n": "\x00"}
    text.encode()


def test_what_is_no_item_is_refused() -> None:
    with pytest.raises(ValueError, match="no transcript item"):
        codec.item_from_json({"item": "poem"})
    with pytest.raises(ValueError, match="JSON object"):
        codec.loads_object("[1]")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(ROLES), st.text(max_size=30)), max_size=5), json_values)
def test_any_history_and_any_output_come_back(spoken: list[tuple[str, str]], output: Json) -> None:
    rows = tuple(ContextRow(n, role, text, 1, 1) for n, (role, text) in enumerate(spoken, 1))  # type: ignore[arg-type]  # drawn from ROLES
    context = ContextRecord((SectionRecord("history", join(rows), 1, rows),), len(rows), len(rows), (), Since())
    bodies: tuple[tuple[JournalKind, JournalBody], ...] = (
        ("context", ContextItem(context, 1, 1)),
        ("results", ResultsItem(ToolResults(1, (ToolResult("c", "t", output),)), {"o": output})),
    )
    for kind, body in bodies:
        text = json.dumps(codec.body_json(body))
        assert codec.body_from_json(kind, json.loads(text)) == body
