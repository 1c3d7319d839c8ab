"""The offline model: the rules of its first line, one by one, and what must never change its answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.events import Called, Ended, Sent, TextDelta
from runtime.models import Model
from runtime.models.arguments import find_arguments
from runtime.models.offline import NOTED, NOTHING, OfflineModel, answer, evidence, is_question
from runtime.models.words import STOP_WORDS, words
from runtime.values.dialogue import join
from runtime.values.items import AssistantStep, Item, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.json import Json, JsonObject
from runtime.values.messages import NewMessage, Role
from runtime.values.request import Limits, Request, Section, SectionName, ToolSpec

STRING: JsonObject = {"type": "string"}


def request_of(
    brief: str,
    *rows: tuple[Role, str],
    instructions: str = "",
    state: str = "",
    tools: tuple[ToolSpec, ...] = (),
    transcript: tuple[Item, ...] = (),
) -> Request:
    texts: list[tuple[SectionName, str]] = [
        ("instructions", instructions),
        ("state", state),
        ("history", join(NewMessage(role, text) for role, text in rows)),
        ("request", brief),
    ]
    sections = tuple(Section(name, text) for name, text in texts if text)
    return Request(sections, brief, transcript, tools, Limits(), "t1", 1, 1)


def tool(name: str, description: str = "", required: tuple[str, ...] | None = None, **properties: Json) -> ToolSpec:
    needs = tuple(properties) if required is None else required
    return ToolSpec(name, description, {"type": "object", "properties": dict(properties), "required": list(needs)})


FIND = tool("find-notes", "Search the notes for a phrase.", about=STRING)
TONE = tool("set-tone", "Choose how detailed answers are.", tone={"enum": ["brief", "detailed"], "type": "string"})
DUE: tuple[Role, str] = ("user", "The Friday draft is due on the 5th.")


async def test_offline_streams_sent_first_and_ended_last() -> None:
    model: Model = OfflineModel()
    events = [event async for event in model.stream(request_of("When is the draft due?", DUE))]
    assert isinstance(events[0], Sent)
    assert b"The Friday draft is due" in events[0].body
    assert events[1:] == [TextDelta('My context says: "The Friday draft is due on the 5th."'), Ended("stop")]


async def test_offline_calls_as_an_event() -> None:
    events = [event async for event in OfflineModel().stream(request_of("Find notes: lunch", tools=(FIND,)))]
    assert events[1:] == [Called(ToolCall("call_1", "find-notes", {"about": "lunch"})), Ended("stop")]


def test_words_are_casefolded_without_stop_words_and_a_final_s() -> None:
    assert words("What about the Drafts, STRASSE ß 5th?") == {"draft", "strasse", "5th", "ss".removesuffix("s")}
    assert all(word == word.casefold() for word in STOP_WORDS)


@pytest.mark.parametrize(
    ("brief", "expected"),
    [
        ("Find the notes about the draft.", {"about": "draft"}),
        ("find notes: lunch on Monday", {"about": "lunch on Monday"}),
        ('Please find my notes on "blue moon", will you?', {"about": "blue moon"}),
        ("Search the notes for a phrase like “red”", {"about": "red"}),
    ],
)
def test_rule_1_a_named_or_described_tool_is_called(brief: str, expected: JsonObject) -> None:
    assert answer(request_of(brief, tools=(TONE, FIND))) == ToolCall("call_1", "find-notes", expected)


def test_rule_1_one_word_of_the_name_is_not_enough() -> None:
    assert answer(request_of("What about the notes?", tools=(FIND,))) == NOTHING


def test_rule_1_a_tie_of_descriptions_calls_none() -> None:
    one, two = tool("alpha", "red green apples"), tool("beta", "green red pears")
    assert answer(request_of("red and green", tools=(one, two))) == NOTED
    assert answer(request_of("red and green pears", tools=(one, two))) == ToolCall("call_1", "beta", {})


def test_rule_1_without_the_arguments_no_call() -> None:
    assert answer(request_of("Set the tone.", tools=(TONE,))) == NOTED
    assert answer(request_of("Find the notes.", tools=(FIND,))) == NOTED


def test_rule_1_a_delegate_likewise() -> None:
    researcher = tool("researcher", "Reads the archive.", brief=STRING)
    called = answer(request_of("Ask the researcher: when is the draft due?", tools=(researcher,)))
    assert called == ToolCall("call_1", "researcher", {"brief": "when is the draft due?"})


def test_rule_1_once_per_turn_and_the_other_named_tool_after_it() -> None:
    brief = "Set the tone to detailed and find notes about lunch"
    first = answer(request_of(brief, tools=(TONE, FIND)))
    assert first == ToolCall("call_1", "set-tone", {"tone": "detailed"})
    assert isinstance(first, ToolCall)
    done = (AssistantStep(1, "", (first,)), ToolResults(1, (ToolResult("call_1", "set-tone", {"tone": "detailed"}),)))
    second = answer(request_of(brief, tools=(TONE, FIND), transcript=done))
    assert second == ToolCall("call_2", "find-notes", {"about": "lunch"})
    assert isinstance(second, ToolCall)
    more = (*done, AssistantStep(2, "", (second,)), ToolResults(2, (ToolResult("call_2", "find-notes", "Lunch at 1"),)))
    assert answer(request_of(brief, tools=(TONE, FIND), transcript=more)) == (
        'set-tone says: {"tone":"detailed"}\nfind-notes says: Lunch at 1'
    )


@pytest.mark.parametrize(
    ("brief", "schema", "expected"),
    [
        ("add 3 and -4.5", {"a": {"type": "integer"}, "b": {"type": "number"}}, {"a": 3, "b": -4.5}),
        ("add 1,200", {"a": {"type": "number"}}, {"a": 1200}),
        ("add A7 and 7th", {"a": {"type": "integer"}}, None),
        ("add 2.5", {"a": {"type": "integer"}}, None),
        ('add "12" 7', {"a": {"type": "integer"}}, {"a": 7}),
        ("add in Light Blue please", {"a": {"enum": ["blue", "light_blue"]}}, {"a": "light_blue"}),
        ("add bluebells", {"a": {"enum": ["blue"]}}, None),
        ("add it: yes", {"a": {"type": "boolean"}}, {"a": True}),
        ('add "x" "y"', {"a": {"type": "string"}, "b": {"type": "string"}}, {"a": "x", "b": "y"}),
        ("add something", {"a": {"type": "string"}, "b": {"type": "string"}}, None),
        ("add 'it is' don't", {"a": {"type": "string"}}, {"a": "it is"}),
        ("add 1 2 3", {"a": {"type": "array", "items": {"type": "integer"}}}, {"a": [1, 2, 3]}),
        ("add lunch", {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, {"a": "lunch"}),
        ("add: -3 + 5", {"a": {"type": "string"}}, {"a": "-3 + 5"}),
        ("add - for the lunch!", {"a": {"type": "string"}}, {"a": "lunch"}),
        ("add lunch", {"a": {"type": ["null", "string"]}}, {"a": "lunch"}),
        ("add", {"a": {"type": "object"}}, None),
        ("add", {"a": {"const": 4}}, {"a": 4}),
    ],
)
def test_rule_1_arguments_come_from_the_schema(brief: str, schema: JsonObject, expected: JsonObject | None) -> None:
    assert find_arguments(brief, tool("add", "", None, **schema)) == expected


def test_rule_1_what_is_not_required_may_be_missing_and_references_are_followed() -> None:
    assert find_arguments("add", tool("add", "", (), a={"type": "integer"}, b=STRING)) == {}
    schema: JsonObject = {
        "properties": {"size": {"$ref": "#/$defs/Size"}},
        "required": ["size"],
        "$defs": {"Size": {"enum": ["small", "large"]}},
    }
    assert find_arguments("add a large one", ToolSpec("add", "", schema)) == {"size": "large"}
    assert find_arguments("anything", ToolSpec("add", "", {})) == {}


def test_rule_2_an_error_result_is_said_too() -> None:
    step = AssistantStep(1, "", (ToolCall("c", "find-notes", {}),))
    results = ToolResults(1, (ToolResult("c", "find-notes", "nothing of that kind", error=True),))
    assert answer(request_of("Find notes!", transcript=(step, results))) == "find-notes says: nothing of that kind"


def test_rule_3_restates_user_messages_oldest_first_without_the_request() -> None:
    asked = "What did I say earlier?"
    seen = request_of(asked, ("user", "first"), ("assistant", "noise"), ("user", "second?"), ("user", asked))
    assert answer(seen) == "first\nsecond?"
    assert answer(request_of(asked, ("user", asked))) == NOTHING


def test_rule_4_most_words_win_and_ties_go_to_the_newest() -> None:
    rows: tuple[tuple[Role, str], ...] = (
        ("user", "The draft is red."),
        ("assistant", "The draft is blue."),
        ("tool", "a line\nthe draft has a green cover"),
    )
    assert answer(request_of("What about the draft?", *rows)) == 'My context says: "the draft has a green cover"'
    assert answer(request_of("Is the draft blue?", *rows)) == 'My context says: "The draft is blue."'
    assert answer(request_of("What of the moon?", *rows)) == NOTHING


def test_rule_4_instructions_request_and_questions_are_no_evidence() -> None:
    asked = "When is the draft due?"
    seen = request_of(asked, ("user", "Is the draft due soon?"), ("user", asked), instructions="The draft is due.")
    assert answer(seen) == NOTHING
    assert answer(request_of("Tell me of the draft", ("user", "Tell me of the draft"))) == NOTHING
    two = "The draft is due.\nWhen is that?"
    assert answer(request_of(two, ("user", two))) == NOTHING


def test_rule_4_state_views_are_evidence() -> None:
    assert answer(request_of("Which tone?", state="tone: brief\norder: 12")) == 'My context says: "tone: brief"'


def test_rule_4_an_earlier_answer_counts_as_the_line_it_quoted() -> None:
    quoted: tuple[Role, str] = ("assistant", 'My context says: "The draft is due."')
    asked = "When is the draft due?"
    assert answer(request_of(asked, quoted)) == 'My context says: "The draft is due."'
    assert answer(request_of("What is in my context?", ("assistant", NOTHING), ("assistant", NOTED))) == NOTHING


def test_rule_5_a_statement_is_noted() -> None:
    assert answer(request_of("The draft moved to Friday.", DUE)) == NOTED
    assert answer(request_of("")) == NOTED


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("When is it due", True),
        ("The draft moved. Is that right? Thanks.", True),
        ("(is it?)", True),
        ("please tell me the date", True),
        ("see http://h/?q=1", False),
        ("Whatever you like.", False),
        ("Remind me on Friday", False),
    ],
)
def test_what_counts_as_a_question(text: str, asks: bool) -> None:
    assert is_question(text) is asks


def test_A3_escaped_rows_are_read_back_as_one_message() -> None:
    seen = request_of("Who owns the boat?", ("user", "look:\nassistant: the boat is mine"))
    assert evidence(seen) == ["look:", "assistant: the boat is mine"]


TEXTS = st.sampled_from(["The draft is due.", "the moon is red", "Is it due?", "tone: brief", "note: draft red", ""])
ROWS = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), TEXTS), max_size=8)


@given(ROWS, ROWS, st.sampled_from(["When is the draft due?", "What is red?", "Which tone?"]))
def test_equal_evidence_gives_an_equal_answer(
    rows: list[tuple[Role, str]], others: list[tuple[Role, str]], asked: str
) -> None:
    one, two = request_of(asked, *rows), request_of(asked, *others, instructions="Be kind.")
    if evidence(one) == evidence(two):
        assert answer(one) == answer(two)
    questions: list[tuple[Role, str]] = [("user", asked), ("assistant", "And is the draft red?")]
    padded = request_of(asked, *questions, *rows, *questions)
    assert answer(padded) == answer(one)


@given(ROWS, st.text(max_size=40))
def test_an_answer_is_given_to_any_request(rows: list[tuple[Role, str]], asked: str) -> None:
    transcript: tuple[Item, ...] = (AssistantStep(1, ""), Nudge(1, "Please go on."))
    said = answer(request_of(asked, *rows, tools=(FIND, TONE), transcript=transcript))
    assert isinstance(said, ToolCall) or said
