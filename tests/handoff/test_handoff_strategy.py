"""What a handoff copies: whole units of the newest rows, and for `full` what children heard, but nothing sensitive."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import overload

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.abl import compile_text, default_setting, resolve
from runtime.abl.history_setting import HistorySetting, InForce, read_line
from runtime.handoff.strategy import Barred, Copying, Handled, select
from runtime.history import in_units, units
from runtime.values.messages import Message, Origin, Role, Row, Unreadable, tool_call_part, tool_result_part
from runtime.values.record import LeftOut

AT = datetime(2026, 1, 5, tzinfo=UTC)


def row(seq: int, text: str, *, role: Role = "user", id: int = 0, origin: Origin | None = None) -> Message:
    return Message(seq, role, text, None, None, AT, id or seq, origin)


def conversation(*words: str) -> list[Message]:
    """`u1` a customer, `a1` an answer, `A(c1,c2)` an answer with calls, `T(c1)` a result."""
    rows: list[Message] = []
    for seq, word in enumerate(words, 1):
        names = [name for name in word[2:-1].split(",") if name] if "(" in word else []
        if word[0] == "A":
            parts = tuple(tool_call_part(name, "f", {}) for name in names)
            rows.append(Message(seq, "assistant", word, parts, None, AT, seq))
        elif word[0] == "T":
            part = (tool_result_part(names[0], "f"),) if names else None
            rows.append(Message(seq, "tool", word, part, None, AT, seq))
        else:
            rows.append(row(seq, word, role="user" if word[0] == "u" else "assistant"))
    return rows


def texts(kept: Sequence[Message]) -> list[str]:
    return [one.text for one in kept]


def force(written: str, *, summary: bool = False) -> InForce:
    return resolve(HistorySetting(written, "", 1, read_line(written)), None, summary)


def copied(rows: Sequence[Row], written: str) -> Copying:
    return select("caller", rows, force(written))


C01 = conversation("u1", "A(c1)", "T(c1)", "a1", "u2")


@pytest.mark.parametrize(
    ("count", "kept"),
    [
        (1, ["u2"]),
        (2, ["a1", "u2"]),
        (3, ["a1", "u2"]),
        (4, ["A(c1)", "T(c1)", "a1", "u2"]),
        (5, ["u1", "A(c1)", "T(c1)", "a1", "u2"]),
        (99, ["u1", "A(c1)", "T(c1)", "a1", "u2"]),
        (10**18, ["u1", "A(c1)", "T(c1)", "a1", "u2"]),
    ],
)
def test_C01_H3_the_newest_whole_units(count: int, kept: list[str]) -> None:
    assert texts(copied(C01, f"last_{count}").kept) == kept


def test_C01_H3_the_walk_stops_at_the_first_unit_that_does_not_fit() -> None:
    assert copied(C01, "last_3").left_out == (LeftOut(1, 1, "older-than-count"), LeftOut(2, 3, "unit-too-large"))
    assert copied(C01, "last_2").left_out == (LeftOut(1, 3, "older-than-count"),)


C02 = conversation("u1", "A(c1,c2)", "T(c1)", "T(c2)")


@pytest.mark.parametrize("count", [1, 2])
def test_C02_H3_a_newest_unit_that_is_too_large_gives_nothing(count: int) -> None:
    found = copied(C02, f"last_{count}")
    assert found.kept == ()
    assert found.left_out == (LeftOut(1, 1, "older-than-count"), LeftOut(2, 4, "unit-too-large"))


def test_C02_H3_and_fits_at_its_own_size() -> None:
    assert texts(copied(C02, "last_3").kept) == ["A(c1,c2)", "T(c1)", "T(c2)"]
    assert texts(copied(C02, "last_4").kept) == ["u1", "A(c1,c2)", "T(c1)", "T(c2)"]


@pytest.mark.parametrize(
    ("words", "grouped"),
    [
        (["u1", "T(c1)", "a1"], [["u1"], ["T(c1)"], ["a1"]]),
        (["T(c1)", "T(c2)"], [["T(c1)"], ["T(c2)"]]),
        (["A(c1)", "T(c1)", "T(c9)"], [["A(c1)", "T(c1)"], ["T(c9)"]]),
        (["A(c1,c2)", "T(c9)", "T(c2)"], [["A(c1,c2)", "T(c9)", "T(c2)"]]),
        (["A(c1)", "T()"], [["A(c1)", "T()"]]),
        (["A(c1)", "a1", "T(c1)"], [["A(c1)"], ["a1"], ["T(c1)"]]),
        (["a1", "T(c1)"], [["a1"], ["T(c1)"]]),
        (["A(c1)", "A(c2)", "T(c2)", "T(c1)"], [["A(c1)"], ["A(c2)", "T(c2)"], ["T(c1)"]]),
        ([], []),
    ],
)
def test_H3_units(words: list[str], grouped: list[list[str]]) -> None:
    assert [texts(unit) for unit in in_units(conversation(*words))] == grouped


def test_S6_an_unreadable_row_takes_no_place_in_the_count() -> None:
    rows: list[Row] = [
        *conversation("u1", "A(c1)"),
        Unreadable(3, "damaged"),
        row(4, "T(c1)", role="tool"),
        row(5, "u2"),
    ]
    found = copied(rows, "last_3")
    assert texts(found.kept) == ["A(c1)", "T(c1)", "u2"]
    assert found.left_out == (LeftOut(1, 1, "older-than-count"), LeftOut(3, 3, "unreadable"))


SEVEN = conversation("u1", "a1", "u2", "a2", "u3", "a3", "u4")


@pytest.mark.parametrize(
    ("route", "copies"),
    [
        ("HISTORY: last_0", 0),
        ("HISTORY:\n      mode: last_n\n      count: 0", 7),
        ("HISTORY: last_n", 7),
        ("HISTORY: recent", 7),
        ("HISTORY: off", 7),
        ('HISTORY: "NONE"', 0),
        ("HISTORY: FULL", 7),
        ("PRIORITY: 1", 7),
        ("HISTORY: last_6", 6),
    ],
)
def test_C13_how_many_rows_a_route_copies(route: str, copies: int) -> None:
    agent, _ = compile_text(f"AGENT: A\nGOAL: g\nHANDOFF:\n  - TO: B\n    {route}\n", "f")
    assert agent is not None
    found = select("caller", SEVEN, agent.routes[0].in_force(None))
    assert len(found.kept) == copies


def test_H4_none_and_summary_only_copy_nothing_and_say_so() -> None:
    for written in ("none", "summary_only", "last_0"):
        assert copied(SEVEN, written).kept == ()
        assert copied(SEVEN, written).left_out == (LeftOut(1, 7, "strategy-none"),)
    assert select("caller", SEVEN, force("auto", summary=True)).kept == ()
    assert texts(select("caller", SEVEN, force("auto")).kept) == texts(SEVEN[2:])


def test_H5_the_projects_default_counts_without_a_setting() -> None:
    assert len(select("caller", SEVEN, resolve(None, default_setting("last_2"), False)).kept) == 2


def test_H2_full_adds_what_children_heard_in_the_order_of_first_insertion() -> None:
    caller = [row(1, "u1", id=1), row(2, "a1", role="assistant", id=2), row(3, "u2", id=3), row(4, "u5", id=9)]
    child = Handled(
        "child",
        [
            row(1, "u2", id=4, origin=Origin("caller", 3)),
            row(2, "p1", role="assistant", id=5),
            row(3, "u3", id=6),
            row(4, "p2", role="assistant", id=7),
            row(5, "u4", id=8),
        ],
    )
    found = select("caller", caller, force("full"), handled=[child])
    assert texts(found.kept) == ["u1", "a1", "u2", "u3", "u4", "u5"]
    assert found.threads == ("caller", "caller", "caller", "child", "child", "caller")


def test_H2_a_joined_row_stands_where_it_was_first_said() -> None:
    caller = [row(1, "u1", id=1), row(2, "p1", role="assistant", id=7, origin=Origin("child", 2)), row(3, "u3", id=8)]
    child = Handled(
        "child",
        [row(1, "u1", id=2, origin=Origin("caller", 1)), row(2, "p1", role="assistant", id=3), row(3, "u2", id=4)],
    )
    ids = {("caller", 1): 1, ("child", 2): 3, ("child", 3): 4, ("caller", 3): 8}
    found = select("caller", caller, force("full"), handled=[child], first_id=ids.__getitem__)
    assert texts(found.kept) == ["u1", "p1", "u2", "u3"]


def test_H2_last_N_looks_at_the_caller_alone() -> None:
    child = Handled("child", [row(1, "heard by the child", id=99)])
    assert texts(select("caller", SEVEN, force("last_2"), handled=[child]).kept) == ["a3", "u4"]


def test_C17_no_message_is_handed_on_twice() -> None:
    nine = [row(n, f"m{n}", role="user" if n % 2 else "assistant") for n in range(1, 10)]
    first = select("A", nine, force("full"))
    assert len(first.kept) == 9
    b = [row(n, one.text, role=one.role, id=20 + n, origin=Origin("A", one.seq)) for n, one in enumerate(first.kept, 1)]
    b += [row(10, "b answers", role="assistant", id=40), row(11, "next", id=41)]
    assert len(select("B", b, force("full"), handled=[Handled("A", nine)]).kept) == 11


def test_C24_H2_nothing_of_a_sensitive_child_is_copied() -> None:
    caller = [
        row(1, "hello", id=1),
        row(2, "my PIN is 4821", id=2),
        row(3, "What is your PIN?", role="assistant", id=5, origin=Origin("A", 2)),
        row(4, "Thank you", role="assistant", id=6, origin=Origin("A", 4)),
        row(5, "and now D", id=7),
        row(6, "Which colour?", role="assistant", id=10, origin=Origin("D", 2)),
        row(7, "now C", id=11),
    ]
    a = Handled(
        "A", [row(1, "my PIN is 4821", id=3, origin=Origin("caller", 2)), row(2, "What is your PIN?", id=4)], True
    )
    d = Handled(
        "D",
        [
            row(1, "and now D", id=8, origin=Origin("caller", 5)),
            row(2, "Which colour?", role="assistant"),
            row(3, "blue", id=9),
        ],
    )
    barred = Barred(threads=frozenset({"A"}), rows=frozenset({("caller", 2)}))
    found = select("caller", caller, force("full"), handled=[a, d], barred=barred)
    assert texts(found.kept) == ["hello", "and now D", "blue", "Which colour?", "now C"]
    assert found.left_out == (LeftOut(2, 4, "sensitive-child"),)
    assert found.children == (("A", LeftOut(1, 2, "sensitive-child")),)
    short = select("caller", caller, force("last_3"), handled=[a, d], barred=barred)
    assert texts(short.kept) == ["and now D", "Which colour?", "now C"]
    longer = select("caller", caller, force("last_4"), handled=[a, d], barred=barred)
    assert texts(longer.kept) == ["hello", "and now D", "Which colour?", "now C"]


WORDS = st.lists(st.sampled_from(["u", "a", "A(c1)", "A(c1,c2)", "T(c1)", "T(c2)", "T(c9)", "T()"]), max_size=24)


@pytest.mark.fuzz
@given(WORDS, st.integers(0, 30), st.sets(st.integers(1, 24)), st.sets(st.integers(1, 24)))
def test_H3_last_N_never_splits_a_unit_never_exceeds_N_and_is_a_suffix(
    words: list[str], count: int, unreadable: set[int], barred: set[int]
) -> None:
    rows: list[Row] = [Unreadable(one.seq, "x") if one.seq in unreadable else one for one in conversation(*words)]
    left = [one for one in rows if isinstance(one, Message) and one.seq not in barred]
    found = units(rows, count, bars=lambda one: one.seq in barred)
    assert len(found.kept) <= count
    assert list(found.kept) == left[len(left) - len(found.kept) :]
    kept = {one.seq for one in found.kept}
    for unit in in_units(left):
        assert len(kept & {one.seq for one in unit}) in (0, len(unit))
    accounted = [seq for one in found.left_out for seq in range(one.first, one.last + 1)]
    assert sorted([*accounted, *kept]) == list(range(1, len(rows) + 1))
    if len(found.kept) < min(count, len(left)):
        older = in_units(left[: len(left) - len(found.kept)])
        assert len(older[-1]) > count - len(found.kept)


class Counted(Sequence[Row]):
    """Rows that count how often one is looked at."""

    def __init__(self, rows: list[Message]) -> None:
        self.rows, self.reads = rows, 0

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        self.reads += 1
        return self.rows[at]


def test_H3_choosing_last_5_costs_the_same_from_100_000_rows() -> None:
    reads = []
    for size in (100, 100_000):
        rows = Counted([row(n, "m", role="user" if n % 2 else "assistant") for n in range(1, size + 1)])
        assert len(select("caller", rows, force("last_5")).kept) == 5
        reads.append(rows.reads)
    assert reads[0] == reads[1] <= 10
