"""A thread written as a seed loads back to the same rows, whatever their texts are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.seeds import parse_seed, seed_yaml
from runtime.values.json import Json, JsonObject, clean, clean_json
from runtime.values.messages import ROLES, NewMessage, tool_call_part, tool_result_part

ODD_TEXTS = [
    "yes", "no", "NULL", "~", "12:30", "2024-01-01", "1_000", "0x1F", "", " ", "\n", "a\n", "a\nb", "a\nb\n",
    "a\nb\n\n\n", "  indented\nfirst", "\n\nlater", "trailing \nblanks ", "tab\there", "\ttab\nfirst", "cr\r\nlf",
    "line\u2028sep\u2029par\x85nel", "a\nb\u2028c", "\ufeffbom", "\x1b[2J", "a: b", "- a", "# not a comment", "a #b",
    "{a: b}", "[x]", "*alias", "&anchor", "!tag", "%x", "@x", "`x`", "'single'", '"double"', "back\\slash", "🙂",
    "user: not a role", "x" * 3000, "word " * 500, "---", "...", "--- a\n... b", "a\n--- \nb", "<<", "=", "a,b",
    "e\u0301", " \nblank first", "a\n \nb", "a\n\n  \nb",
]  # fmt: skip


def written(rows: list[NewMessage], **options: object) -> tuple[NewMessage, ...]:
    return parse_seed(seed_yaml(rows, name="s", **options)).messages  # type: ignore[arg-type]  # options are its own


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_C76_a_text_survives_in_every_place(text: str) -> None:
    yaml = seed_yaml(
        [NewMessage("user", text), NewMessage("tool", text)],
        name="s",
        about=text,
        state={"key": text, "list": [text, [text]], "inner": {"k": text}},
        suggestions=[text + "."],
    )
    seed = parse_seed(yaml)
    assert [row.text for row in seed.messages] == [text, text]
    assert seed.about == text
    assert seed.state == {"key": text, "list": [text, [text]], "inner": {"k": text}}
    assert seed.suggestions == (text + ".",)


def test_calls_and_results_are_written_as_a_person_would() -> None:
    rows = [
        NewMessage("user", "Where is A-1?"),
        NewMessage("assistant", "", (tool_call_part("c1", "look-up-order", {"order": "A-1"}),)),
        NewMessage("tool", '{"status":"shipped"}', (tool_result_part("c1", "look-up-order", error=True),)),
        NewMessage("assistant", "One.\nTwo.", flags=("summary",)),
    ]
    assert written(rows) == tuple(rows)
    assert seed_yaml(rows, name="orders", agent="notes", state={"tone": "yes", "n": 3}, suggestions=["Again?"]) == (
        "seed: orders\n"
        "agent: notes\n"
        'state: "{\\"tone\\":\\"yes\\",\\"n\\":3}"\n'
        "messages:\n"
        '  - user: "Where is A-1?"\n'
        '  - assistant: ""\n'
        "    calls:\n"
        "      - id: c1\n"
        "        name: look-up-order\n"
        "        arguments:\n"
        "          order: A-1\n"
        '  - tool: "{\\"status\\":\\"shipped\\"}"\n'
        "    call: c1\n"
        "    error: true\n"
        "  - assistant: |-\n"
        "      One.\n"
        "      Two.\n"
        "    flags:\n"
        "      - summary\n"
        "try:\n"
        '  - "Again?"\n'
    )


def test_no_rows_are_a_seed_too() -> None:
    assert written([]) == ()


@pytest.mark.parametrize(
    "parts",
    [
        (),
        ({"type": "image", "data": "aGk=", "size": 3},),
        (tool_result_part("nobody", "f"),),
        (tool_call_part("", "f", {}),),
        (tool_call_part("a", "f", {"n": 1, "deep": {"x": None}}),),
        (tool_call_part("a", "f", None),),
        (tool_call_part("a", "f", "not json"), tool_call_part("b", "g", {})),
        (tool_call_part("a", "f", "{}"),),
        (tool_call_part("a", "f", {}), tool_call_part("a", "f", {})),
        (tool_call_part("a", "f", {}), {"type": "text", "text": "x"}),
        ({"type": "tool_call", "id": "a", "name": "f", "arguments": {}, "more": True},),
    ],
)
@pytest.mark.parametrize("role", ROLES)
def test_parts_that_are_no_plain_calls_survive(role: str, parts: tuple[JsonObject, ...]) -> None:
    rows = [NewMessage(role, "x", parts), NewMessage("tool", "y", (tool_result_part("a", "f"),))]  # type: ignore[arg-type]  # one of ROLES
    assert [(row.text, row.parts or None) for row in written(rows)] == [(row.text, row.parts or None) for row in rows]


def test_a_call_among_odd_parts_is_open_for_the_rows_after_it() -> None:
    call = tool_call_part("c1", "f", {})
    rows = [NewMessage("user", "", (call,)), NewMessage("assistant", "", (call,)), NewMessage("assistant", "", (call,))]
    assert written(rows) == tuple(rows)


TEXT = st.text(max_size=40).map(clean) | st.sampled_from(ODD_TEXTS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def threads(draw: st.DrawFn) -> list[NewMessage]:
    rows = []
    for _ in range(draw(st.integers(0, 5))):
        role = draw(st.sampled_from(ROLES))
        parts: tuple[JsonObject, ...] | None = None
        if draw(st.booleans()):
            id = draw(st.sampled_from(["c1", "c2", "yes", " "]))
            made = tool_call_part(id, draw(TEXT), draw(st.dictionaries(TEXT, JSON, max_size=2) | TEXT))
            parts = (draw(st.sampled_from([made, tool_result_part(id, draw(TEXT)), {"type": "x", "v": draw(JSON)}])),)
        rows.append(NewMessage(role, draw(TEXT), parts, flags=draw(st.sampled_from([(), ("summary", "yes")]))))
    return rows


@pytest.mark.fuzz
@given(threads(), st.dictionaries(TEXT, JSON, max_size=3))
def test_any_thread_loads_back_to_the_same_rows(rows: list[NewMessage], state: dict[str, Json]) -> None:
    seed = parse_seed(seed_yaml(rows, name="s", state=state))
    assert seed.messages == tuple(rows)
    assert seed.state == clean_json(state)
