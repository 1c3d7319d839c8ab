"""The offline model's rules for ABL (DESIGN): fields by pattern, then the intent by shared words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models.offline import answer, is_question
from runtime.models.offline_abl import understand
from runtime.values.items import AssistantStep, ToolCall, ToolResult, ToolResults
from runtime.values.request import Limits, Request, Section
from runtime.values.understanding import UNDERSTAND, KnownIntent, OpenField, Questions, Understood

ORDER = OpenField("order_id", about="The number looks like ORD-48213.")


def fields(message: str, *some: OpenField) -> dict[str, Any]:
    return dict(understand(message, Questions(some), is_question(message)).fields)


@pytest.mark.parametrize(
    ("field", "message", "value"),
    [
        (OpenField("size", "enum", options=("small", "extra large")), "an extra-large one", "extra large"),
        (OpenField("size", "enum", options=("small", "large")), "neither", None),
        (OpenField("count", "number"), "I want 12 of them", 12),
        (OpenField("count", "number"), "it costs 1,250.50 in all", 1250.5),
        (OpenField("sure", "boolean", asked=True), "yes, please", True),
        (OpenField("sure", "boolean", asked=True), "No.", False),
        (OpenField("sure", "boolean"), "no idea", None),
        (OpenField("day", "date"), "on 2026-03-05 at noon", "2026-03-05"),
        (OpenField("mail", "email"), "write to ada.l@example.org.", "ada.l@example.org"),
        (OpenField("phone", "phone"), "call +49 (30) 123-4567 today", "+49 (30) 123-4567"),
        (ORDER, "it is ord-7, I think", "ord-7"),
        (ORDER, "covid-19 made it late", None),
        (OpenField("pin", about="Your secret pin?"), "that is A77", "A77"),
        (OpenField("pin", about="Your secret pin?"), "I forgot", None),
        (OpenField("reason", about="What is wrong?", asked=True), " It hums. ", "It hums."),
        (OpenField("reason", about="What is wrong?", asked=True), "What do you mean?", None),
        (OpenField("reason", about="What is wrong?"), "It hums.", None),
    ],
)
def test_a_field_takes_what_its_rule_finds(field: OpenField, message: str, value: object) -> None:
    assert fields(message, field).get(field.name) == value


def test_a_token_is_given_to_one_field_the_surest_first() -> None:
    pin, card = OpenField("pin", about="Your pin?"), OpenField("card", about="It looks like P-3071.")
    assert fields("P-1 and 4821", pin, card) == {"pin": "4821", "card": "P-1"}


def test_a_known_field_is_replaced_only_if_the_message_names_it() -> None:
    known = OpenField("order_id", about="The number looks like ORD-48213.", known=True)
    pin = OpenField("pin", about="Your pin?")
    assert fields("compare with ORD-2", known, pin) == {}
    assert fields("the order is ORD-2", known, pin) == {"order_id": "ORD-2"}
    assert fields("ORD-2 and 99", known, pin) == {"pin": "99"}


STATUS = KnownIntent("order_status", "Where is my order, when does the parcel arrive.")
RETURN = KnownIntent("return_item", "Send something back for a refund.")


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        ("Where is my order?", "order_status"),
        ("I want to RETURN it", "return_item"),
        ("refund the order", None),  # one word each: a tie changes nothing
        ("hello", None),
    ],
)
def test_the_intent_shares_most_words_and_a_tie_changes_nothing(message: str, intent: str | None) -> None:
    assert understand(message, Questions(intents=(STATUS, RETURN)), False).intent == intent


def test_the_words_of_a_field_just_filled_do_not_count_for_an_intent() -> None:
    reason = OpenField("reason", about="What is wrong?", asked=True)
    found = understand("I want a refund", Questions((reason,), (STATUS, RETURN)), False)
    assert (dict(found.fields), found.intent) == ({"reason": "I want a refund"}, None)


def test_the_callers_intents_are_asked_beside_the_agents_own() -> None:
    found = understand("refund", Questions(intents=(STATUS,), caller_intents=(STATUS, RETURN)), False)
    assert (found.intent, found.caller_intent) == (None, "return_item")


def request(brief: str, *, history: str = "", tools: Any = (), transcript: Any = (), must: str = "") -> Request:
    sections = tuple(Section(name, text) for name, text in (("history", history), ("request", brief)) if text)  # type: ignore[arg-type]  # names of sections
    return Request(sections, brief, transcript, tools, Limits(), "t", 1, 1, must_call=must)


def test_the_offline_model_notes_first_and_what_it_noted_is_no_evidence() -> None:
    tool = Questions((ORDER,), (STATUS,)).tool()
    step = answer(request("Where is ORD-7?", tools=(tool,), must=UNDERSTAND))
    assert step == ToolCall("call_1", UNDERSTAND, {"fields": {"order_id": "ORD-7"}, "question": True})
    done = (AssistantStep(1, "", (step,)), ToolResults(1, (ToolResult("call_1", UNDERSTAND, {"noted": ["order_id"]}),)))
    assert answer(request("Where is ORD-7?", transcript=done)) == "Nothing in my context answers that."
    assert answer(request("What did I say earlier?", history="user: a lamp", transcript=done)) == "a lamp"


names = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
texts = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=30).map(lambda text: " ".join(text.split()))
open_fields = st.builds(
    OpenField,
    names,
    st.sampled_from(["string", "number", "boolean", "date", "datetime", "email", "phone"]),
    texts,
    known=st.booleans(),
    asked=st.booleans(),
)


@given(
    st.lists(open_fields, max_size=4, unique_by=lambda one: one.name),
    st.lists(st.builds(KnownIntent, names, texts), max_size=3, unique_by=lambda one: one.name),
)
def test_the_questions_are_read_again_from_the_tool_that_asks_them(
    some: list[OpenField], intents: list[KnownIntent]
) -> None:
    asked = Questions(tuple(some), tuple(intents), tuple(intents))
    assert Questions.of(asked.tool()) == asked


@given(st.text(max_size=60), st.lists(open_fields, max_size=4, unique_by=lambda one: one.name))
def test_any_message_is_understood_without_a_fault(message: str, some: list[OpenField]) -> None:
    found = understand(message, Questions(tuple(some), (STATUS,)), is_question(message))
    assert Understood.of(found.arguments()) == found
    assert set(found.fields) <= {one.name for one in some}


@pytest.mark.parametrize(
    "arguments", [None, "x", 3, [], {"fields": [1]}, {"intent": 3}, {"question": "yes"}, {"fields": {"a": None}}]
)
def test_T4_what_a_model_writes_as_arguments_is_taken_as_far_as_it_can_be_read(arguments: Any) -> None:
    assert Understood.of(arguments) == Understood()
