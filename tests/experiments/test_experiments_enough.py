"""Enough: predicates in the words of `expect`, read from text, and what passes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadInput
from runtime.experiments.enough import (
    BY_HAND,
    SAME_AS_ALL,
    Enough,
    Predicate,
    Said,
    passes,
    read_enough,
    read_predicate,
)


def said(answer: str | None, *calls: str) -> Said:
    return Said("t1", "completed" if answer is not None else "failed", answer, calls)


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("contains: 5th", Predicate("contains", "5th")),
        ("  Contains :  on the 5th  ", Predicate("contains", "on the 5th")),
        ('contains: "due: 5th"', Predicate("contains", "due: 5th")),
        ("lacks: sorry", Predicate("lacks", "sorry")),
        ("matches: ^\\d+: ", Predicate("matches", "^\\d+:")),
        ("equals: 'It is due.'", Predicate("equals", "It is due.")),
        ("calls: find-notes", Predicate("calls", "find-notes")),
        ('json: {"due": 5}', Predicate("json", '{"due": 5}')),
        ('json: "5"', Predicate("json", '"5"')),
        ("same as all", SAME_AS_ALL),
        ("Same-as-all", SAME_AS_ALL),
        ("by hand", BY_HAND),
    ],
)
def test_a_predicate_is_read_in_the_words_of_expect(text: str, predicate: Predicate) -> None:
    assert read_predicate(text) == predicate


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("5th", "is no predicate"),
        ("holds: 5th", "is no predicate"),
        ("same as all: yes", "is no predicate"),
        ("contains:", "needs a value"),
        ('contains: ""', "needs a value"),
        ("matches: (", "no regular expression"),
        ("json: {due: 5}", "no JSON"),
        ("", "is no predicate"),
    ],
)
def test_Q1_what_is_no_predicate_is_one_clear_error(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        read_predicate(text)


@pytest.mark.parametrize(
    ("text", "answer", "holds"),
    [
        ("contains: 5TH", "Due on the 5th.", True),
        ("contains: 6th", "Due on the 5th.", False),
        ("lacks: 6th", "Due on the 5th.", True),
        ("lacks: DUE", "Due on the 5th.", False),
        ("matches: \\d+th", "Due on the 5th.", True),
        ("matches: ^5", "Due on the 5th.", False),
        ("equals: due on  the 5th.", "Due on the\n5th. ", True),
        ("equals: due on the 5th", "Due on the 5th.", False),
        ('json: {"a": 1, "b": [1.0, true]}', '{"b": [1, true], "a": 1}', True),
        ('json: {"a": 1}', '```json\n{"a": 1}\n```', True),
        ('json: {"a": 1}', '{"a": true}', False),
        ('json: {"a": 1}', "a is 1", False),
        ("json: [1, 2]", "[2, 1]", False),
        ("same as all", "IT is due\non the 5th", True),
        ("same as all", "It was due on the 5th", False),
    ],
)
def test_what_a_predicate_asks_of_an_answer(text: str, answer: str, holds: bool) -> None:
    assert passes(read_predicate(text), said(answer), "It is due on the 5th") is holds


def test_calls_asks_for_a_tool_that_was_called() -> None:
    run = said("done", "set-tone", "find-notes")
    assert passes(read_predicate("calls: find-notes"), run) is True
    assert passes(read_predicate("calls: notes"), run) is False


@pytest.mark.parametrize("text", ["contains: a", "lacks: zzz", "calls: find-notes", "same as all"])
def test_a_turn_that_did_not_complete_never_passes(text: str) -> None:
    assert passes(read_predicate(text), said(None, "find-notes"), "a") is False


def test_nothing_is_the_same_as_no_answer() -> None:
    assert passes(SAME_AS_ALL, said("a"), None) is False


def test_marks_by_hand_judge_and_what_is_not_marked_is_open() -> None:
    run = said("anything")
    assert passes(BY_HAND, run, marks={"t1": True}) is True
    assert passes(BY_HAND, run, marks={"t1": False}) is False
    assert passes(BY_HAND, run, marks={"t2": True}) is None
    assert passes(Enough((BY_HAND, Predicate("contains", "no"))), run) is False


def test_all_predicates_together_must_hold() -> None:
    both = read_enough(["contains: 5th", "lacks: sorry"])
    assert passes(both, said("On the 5th")) is True
    assert passes(both, said("Sorry, the 5th")) is False
    assert read_enough([]) == Enough((SAME_AS_ALL,))


def test_k_of_n_repeats() -> None:
    assert Enough().needed(5) == 5
    assert read_enough(["contains: a"], at_least=3).needed(5) == 3
    assert Enough(at_least=3).needed(2) == 2
    with pytest.raises(BadInput):
        read_enough([], at_least=0)


words = st.sampled_from(["contains", "lacks", "equals", "calls"])
values = st.text(min_size=1, max_size=30).filter(lambda text: text == text.strip() and text[0] not in "\"'")


@given(words, values)
def test_a_predicate_reads_back_as_it_is_written(word: str, value: str) -> None:
    predicate = Predicate(word, value)  # type: ignore[arg-type]  # one of the words
    assert read_predicate(str(predicate)) == predicate
