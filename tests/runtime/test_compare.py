"""Two turns compared: contexts by row, transcripts by step, answers by word (X5)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runtime.compare import compare, comparison_json, words
from runtime.compare import rows_of as paired
from runtime.fit import row_tokens
from runtime.values.items import AssistantStep
from runtime.values.record import ToolOffered, View

FOURTEEN = [f"{'ua'[n % 2]} message {n + 1}" for n in range(13)] + ["u What about the draft?"]


def signs(comparison: Any) -> list[tuple[str, int | None, int | None]]:
    return [(p.sign, p.a.seq if p.a else None, p.b.seq if p.b else None) for p in comparison.rows]


def test_X5_two_windows_on_one_thread(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of(*FOURTEEN)
    run = turn_on(rows, window=3, turn="r1", number=0, view=View(13), answer="Another answer.", stored_assistant=None)
    told = compare(turn_on(rows, window=5), run)
    assert signs(told) == [("A", 10, None), ("A", 11, None), ("=", 12, 12), ("=", 13, 13), ("=", 14, 14)]
    tokens = sum(row.tokens for row in told.only_a)
    assert told.finding == (
        f"turn 3 (window 5) against re-run r1 (window 3): only turn 3 had seq 10-11 (2 messages, {tokens} tokens); "
        "the answers differ."
    )


def test_X4_a_runs_own_request_row_is_the_same_row(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u a", "a b", "u c")
    run_rows = [*rows[:2], replace(rows[2], id=0)]
    assert [sign for sign, *_ in signs(compare(turn_on(rows), turn_on(run_rows, view=View(2))))] == ["=", "=", "="]


def test_X5_a_fork_has_its_bases_rows(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u a", "a b", "u c")
    forked = turn_on([*rows[:2], replace(rows[2], text="other", id=900)], thread="t2")
    assert signs(compare(turn_on(rows), forked)) == [("=", 1, 1), ("=", 2, 2), ("A", 3, None), ("B", None, 3)]


def test_X5_copies_are_matched_by_origin(turn_on: Any, rows_of: Any) -> None:
    from runtime.values.messages import Origin

    rows = rows_of("u same", "u same", "u q")
    copies = [replace(rows[1], seq=1, id=901, origin=Origin("t1", 2)), replace(rows[2], seq=2, id=902)]
    told = compare(turn_on(rows), turn_on(copies, thread="t2"))
    assert signs(told) == [("A", 1, None), ("=", 2, 1), ("=", 3, 2)]


def test_X5_rows_of_unrelated_threads_are_matched_by_role_and_text_in_order(turn_on: Any, rows_of: Any) -> None:
    one, other = rows_of("u a", "a b", "u c"), rows_of("u c", "u a", "a b", "u d")
    other = [replace(row, id=row.id + 1000) for row in other]
    told = compare(turn_on(one), turn_on(other, thread="t2"))
    assert signs(told) == [("B", None, 1), ("=", 1, 2), ("=", 2, 3), ("A", 3, None), ("B", None, 4)]


def test_X5_an_edited_row_is_the_same_row_with_another_text(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u a", "a b", "u c")
    edited = [rows[0], replace(rows[1], text="bee"), rows[2]]
    told = compare(turn_on(rows), turn_on(edited, turn="r1", number=0, view=View(2, edit={2: "bee"})))
    assert [sign for sign, *_ in signs(told)] == ["=", "~", "="]
    assert "seq 2 had another text" in told.finding


@given(
    st.lists(st.sampled_from(["u a", "a a", "u b", "t c"]), max_size=12),
    st.lists(st.sampled_from(["u a", "a a", "u b", "t c"]), max_size=12),
    st.booleans(),
)
def test_X5_both_histories_stand_whole_and_in_order(one: list[str], other: list[str], related: bool) -> None:
    a, b = _record(one, "t1"), _record(other, "t1" if related else "t2", 0 if related else 1000)
    pairs = paired(a, b)
    assert [p.a for p in pairs if p.a] == list(a.context.rows)
    assert [p.b for p in pairs if p.b] == list(b.context.rows)
    assert all(p.a and p.b and (p.a.role, p.a.text) == (p.b.role, p.b.text) for p in pairs if p.sign == "=")


def test_X5_sections_and_tools(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u q")
    a = turn_on(rows, tools=[ToolOffered("f", "", {}, 9)], state={"tone": "brief"}, views=("tone",))
    b = turn_on(rows, instructions="Answer at length.")
    told = {(pair.name, pair.same, pair.a > 0, pair.b > 0) for pair in compare(a, b).sections}
    assert told == {
        ("instructions", False, True, True),
        ("state", False, True, False),
        ("request", True, True, True),
        ("tools", False, True, False),
    }


def test_X5_transcripts_by_step(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    rows = rows_of("u q")
    a = turn_on(rows, transcript=(*call_of("find", {"about": "x"}, 2), AssistantStep(2, "Two.")))
    b = turn_on(rows, transcript=(AssistantStep(1, "None."),))
    told = compare(a, b).steps
    assert [(step.step, step.same, step.a, step.b) for step in told] == [
        (1, False, '→ find {"about":"x"} · ← find 2', '"None."'),
        (2, False, '"Two."', None),
    ]
    assert all(step.same for step in compare(a, replace(a, turn="other")).steps)


def test_X5_answers_word_by_word() -> None:
    pieces = words("It is due on Monday.", "It is due on the 5th.")
    assert [(p.sign, p.text) for p in pieces] == [("=", "It is due on "), ("A", "Monday"), ("B", "the 5th"), ("=", ".")]


def test_X5_a_changed_phrase_reads_as_one() -> None:
    pieces = words("no idea at all", "on the fifth at all")
    assert [(p.sign, p.text) for p in pieces] == [("A", "no idea"), ("B", "on the fifth"), ("=", " at all")]


@given(st.text(alphabet="ab \n.é", max_size=60), st.text(alphabet="ab \n.é", max_size=60))
def test_X5_the_pieces_give_both_answers_back(a: str, b: str) -> None:
    pieces = words(a, b)
    assert "".join(p.text for p in pieces if p.sign in "=A") == a
    assert "".join(p.text for p in pieces if p.sign in "=B") == b


def test_X5_answers_too_long_for_words_are_compared_all_the_same() -> None:
    a = "\n".join(f"word {n} here" for n in range(4000))
    pieces = words(a, a + "\nend")
    assert "".join(p.text for p in pieces if p.sign in "=B") == a + "\nend"
    assert [(p.sign, p.text) for p in pieces] == [("=", a), ("B", "\nend")]
    huge = "x\n" * 8000
    assert "".join(p.text for p in words(huge, "y\n" * 8000) if p.sign in "=A") == huge


def test_X5_two_contexts_of_2000_rows_with_nothing_in_common_are_told_row_by_row(turn_on: Any, rows_of: Any) -> None:
    one = turn_on(rows_of(*[f"u message {n % 7}" for n in range(2000)]), window="all")
    other = rows_of(*[f"u message {n % 5}" for n in range(2000)])
    unrelated = turn_on([replace(row, id=row.id + 5000) for row in other], window="all", thread="t2")
    apart = compare(one, unrelated)
    assert len(apart.rows) >= 2000
    assert {row.sign for row in compare(one, replace(one, window=3)).rows} == {"="}


def test_compare_json_is_plain(turn_on: Any, rows_of: Any) -> None:
    told = comparison_json(compare(turn_on(rows_of(*FOURTEEN), window=2), turn_on(rows_of(*FOURTEEN), window=3)))
    assert json.loads(json.dumps(told)) == told
    assert told["context"]["rows"][0] == {  # type: ignore[index,call-overload]  # JSON
        "in": "b", "same": False, "a": None, "b": 12, "role": "assistant", "text": "message 12",
        "tokens": row_tokens("assistant", "message 12"),
    }  # fmt: skip
    assert told["answer"] == {"same": True, "words": [{"in": "both", "text": "An answer."}]}


def test_outcomes_are_told(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u q")
    failed = turn_on(rows, status="failed", reason="model-error", answer=None)
    assert compare(turn_on(rows), failed).finding.endswith("the first completed, the second failed (model-error).")
    assert compare(failed, failed).finding.endswith("the same context; both failed (model-error).")


def _record(texts: list[str], thread: str, offset: int = 0) -> Any:
    from datetime import UTC, datetime

    from runtime.context import Sources, assemble
    from runtime.values.agent import Agent
    from runtime.values.messages import Message
    from runtime.values.record import TurnRecord
    from runtime.values.usage import Usage

    roles: Any = {"u": "user", "a": "assistant", "t": "tool"}
    when = datetime(2026, 1, 5, tzinfo=UTC)
    rows = [
        Message(n, roles[t[0]], t[2:], None, None, when, id=n + offset if offset else 0)
        for n, t in enumerate(texts, start=1)
    ]
    context = assemble(Agent("a"), (), Sources(rows, len(rows), "all", "q", {}))
    return TurnRecord(
        "t", thread, "run", "sections", "a", "brief", "all", "q", when, None, context, None, (), (), (), "completed",
        None, None, "x", None, None, None, None, {}, {}, Usage(),
    )  # fmt: skip
