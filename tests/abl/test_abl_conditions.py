"""Conditions: what holds for which values, what is prose, what is broken and where, and that none of it runs away."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.abl.conditions import Outcome, evaluate, read_condition
from runtime.abl.expressions import NotAnExpression, parse
from runtime.abl.patterns import NotAPattern, compile_pattern
from runtime.values.json import Json

VALUES: dict[str, Json] = {
    "intent": {"category": "order_status", "confidence": 0.8},
    "order_id": "ORD-48213",
    "empty": "",
    "nothing": None,
    "five": "5",
    "count": 7,
    "yes": True,
    "no": False,
    "false_text": "false",
    "tags": ["red", "blue"],
    "none_of": [],
    "cart": {"lines": [{"sku": "A1"}, {"sku": "B2"}]},
    "_meta.channel": "web",
}

HOLDS = [
    'intent.category == "order_status" AND order_id IS SET',
    "intent.category == 'order_status'",
    '"order_id IS SET"',
    "order_id is set and not missing",
    "missing IS NOT SET",
    "nothing IS NOT SET",
    "empty IS SET",
    "NOT missing IS SET",
    "missing != true",
    'missing != "x"',
    'order_id != "x"',
    "missing == missing2",
    "five == 5",
    "5 == five",
    "count > five",
    "count >= 7 && count <= 7",
    "missing < 1",
    "yes > no",
    "tags > 1",
    '"apple" < "pear"',
    "five < 10",
    "yes == true",
    "order_id",
    "NOT false_text",
    "!empty",
    "!none_of",
    "!missing || missing",
    'tags contains "red"',
    'tags NOT CONTAINS "green"',
    'order_id contains "ORD"',
    'NOT order_id contains "ord"',
    'order_id.contains("482")',
    'tags.contains("blue")',
    'order_id startsWith "ORD-" AND order_id endsWith "3"',
    '"red" IN tags',
    'order_id NOT IN ["a", "b"]',
    "five IN [1, 5]",
    'order_id matches "^ORD-[0-9]{5}$"',
    'cart.lines[1].sku == "B2"',
    "cart.lines.length == 2",
    "count + 1 == 8",
    "count % 4 == 3 and count - 2 * 3 == 1",
    "-count < 0",
    "(count > 100 OR yes) AND order_id",
    "no AND missing OR yes",
    "yes OR no AND no",
    "count > 5 ? yes : no",
    "UPPER(intent.category) == 'ORDER_STATUS'",
    "LENGTH(tags) == 2",
    "COALESCE(missing, five) == 5",
    "is_number(five)",
    '_meta.channel == "web"',
    "intent.confidence >= 0.8",
    "true",
    '"Ü" == "Ü"',
]

DOES_NOT_HOLD = [
    "missing == null",
    "missing == true",
    "missing",
    "false_text",
    "empty",
    "none_of",
    "0",
    'order_id == "ord-48213"',
    "order_id > 5",
    "missing > 0",
    'missing contains "x"',
    "order_id contains missing",
    'tags contains "re"',
    "NOT order_id == missing",
    "true == 'true'",
    "1 / 0 == 1",
    'order_id matches "("',
    'MATCHES(order_id, "O")',
    "unheard_of(order_id)",
    "order_id IN missing",
]


@pytest.mark.parametrize("text", HOLDS)
def test_condition_holds(text: str) -> None:
    kind, condition = read_condition(text)
    assert condition is not None
    assert (kind, evaluate(condition, VALUES).holds) == ("condition", True)


@pytest.mark.parametrize("text", DOES_NOT_HOLD)
def test_condition_does_not_hold(text: str) -> None:
    kind, condition = read_condition(text)
    assert condition is not None
    assert (kind, evaluate(condition, VALUES).holds) == ("condition", False)


@pytest.mark.parametrize(
    "text",
    [
        "user asks about refunds",
        '"the customer wants to know where a parcel is"',
        "'someone is angry, or about to be'",
        '"refunds or returns"',
        '"customers in distress"',
        '"message contains swearing"',
        '"escalate"',
        '"Hello there!"',
        '"rating < 3 stars and upset"',
    ],
)
def test_prose_is_left_to_the_model(text: str) -> None:
    assert read_condition(text) == ("prose", None)


def test_no_text_is_always() -> None:
    assert read_condition("   ") == ("always", None)


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("a == ", 4, "missing at the end"),
        ("order_id = 5", 9, "write =="),
        ("a == 1 b == 2", 7, "AND"),
        ('"a == "', 5, "missing"),
        ("(a == 1", 7, "`)` is missing"),
        ('a == "x', 5, "never closed"),
        ("a IS EMPTY == 1", 5, "`SET` is missing"),
        ("AND a == 1", 0, "expected before `AND`"),
        ("a == 5stars", 5, "no place"),
        ("a == [1, 2", 10, "missing"),
        ("a NOT b == 1", 6, "NOT between"),
    ],
)
def test_broken_conditions_name_the_place(text: str, at: int, said: str) -> None:
    with pytest.raises(NotAnExpression) as refused:
        read_condition(text)
    assert refused.value.at == at
    assert said in refused.value.problem


def test_evaluate_names_what_is_unresolved_and_what_failed() -> None:
    assert _evaluate("a == 1 OR b.c > 2 OR a") == Outcome(False, ("a", "b.c"))
    assert _evaluate("a IS SET AND b") == Outcome(False, ())
    assert _evaluate("count == 7 OR b") == Outcome(True, ())
    assert _evaluate("count / none") == Outcome(None, ("none",), "division by zero")


def _evaluate(text: str) -> Outcome:
    _, condition = read_condition(text)
    assert condition is not None
    return evaluate(condition, VALUES)


def test_precedence_loosest_to_tightest() -> None:
    assert parse("a OR b AND c == d + e * -f") == parse("a OR (b AND (c == (d + (e * (-f)))))")
    assert parse("NOT a IS SET") == parse("NOT (a IS SET)")
    assert parse("NOT a == b") == parse("(NOT a) == b")
    assert parse("a ? b : c ? d : e") == parse("a ? b : (c ? d : e)")


@pytest.mark.parametrize(
    "text", ["(" * 5000 + "a", "NOT " * 900 + "a", "a + " * 900 + "a", "f(" * 900 + "a", "[" * 900]
)
def test_nesting_is_bounded(text: str) -> None:
    with pytest.raises(NotAnExpression):
        parse(text)


def test_many_alternatives_are_no_nesting() -> None:
    text = " OR ".join(f"a == {n}" for n in range(300))
    assert _evaluate_with(text, {"a": 299}).holds


def _evaluate_with(text: str, values: dict[str, Json]) -> Outcome:
    return evaluate(parse(text), values)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 5000 + "b"),
        ("(a|a)*b", "a" * 5000),
        ("(a*)*(a*)*(a*)*b", "a" * 2000),
        ("(.*)(.*)(.*)x", "y" * 3000),
    ],
)
def test_matches_cannot_run_away(pattern: str, text: str) -> None:
    assert not compile_pattern(pattern).found_in(text)


@pytest.mark.parametrize(
    "pattern", ["(", "a)", "*", "a**", "[b-a]", "(?=a)", "(?<!a)b", "(a)\\1", "a{5,2}", "a{9999999}", "["]
)
def test_patterns_that_cannot_be_used(pattern: str) -> None:
    with pytest.raises(NotAPattern):
        compile_pattern(pattern)
    assert evaluate(parse(f"a matches '{pattern}'"), {"a": "x"}).error is not None


def test_a_pattern_is_bounded_in_size_and_work() -> None:
    with pytest.raises(NotAPattern):
        compile_pattern("(((a{40}){40}){40}){40}")
    with pytest.raises(NotAPattern, match="work"):
        compile_pattern("(a?){300}b").found_in("a" * 5000)


ATOMS = ["a", "b", "[ab]", "[^a]", ".", "\\d", "\\w", "(a|b)", "(?:ab)", "(b|)", "\\.", "-", "\\b", "^", "$"]
REPEATS = ["", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"]


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.sampled_from(ATOMS), st.sampled_from(REPEATS)), max_size=6),
    st.text("ab1-. \n", max_size=8),
)
def test_patterns_agree_with_the_library(parts: list[tuple[str, str]], text: str) -> None:
    pattern = "".join(atom if atom in ("\\b", "^", "$") else atom + repeat for atom, repeat in parts)
    expected = re.search(pattern.replace("$", r"\Z"), text, re.ASCII) is not None
    assert compile_pattern(pattern).found_in(text) is expected


@pytest.mark.fuzz
@given(st.text(string.ascii_letters + string.digits + " \"'()[]!=<>&|+-*/%?:.,_{}\t", max_size=60))
def test_any_text_is_a_condition_prose_or_refused(text: str) -> None:
    place = 0
    condition = None
    try:
        _, condition = read_condition(text)
    except NotAnExpression as problem:
        place = problem.at
    assert 0 <= place <= len(text)
    if condition is not None:
        assert isinstance(evaluate(condition, VALUES).holds, bool)


WORDS = st.sampled_from(
    ["order_id", "five", "count", "tags", "missing", "cart.lines[0].sku", '"red"', "3", "true", "null", "[1, five]",
     "LENGTH(tags)", "order_id.contains(five)"]
)  # fmt: skip
OPERATORS = st.sampled_from(
    ["==", "!=", "<", ">=", "AND", "or", "+", "-", "*", "/", "%", "IN", "NOT IN", "contains", "matches", "startsWith"]
)


@pytest.mark.fuzz
@given(st.lists(st.tuples(WORDS, OPERATORS), max_size=12), WORDS)
def test_every_well_formed_condition_evaluates(pairs: list[tuple[str, str]], last: str) -> None:
    text = " ".join(f"{word} {operator}" for word, operator in pairs) + f" {last}"
    outcome = evaluate(parse(text), VALUES)
    assert isinstance(outcome.holds, bool)
