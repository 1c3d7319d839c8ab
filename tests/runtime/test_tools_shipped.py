"""The four tools that come with the program: what they read of the state, and what they say (T9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import ToolError
from runtime.tools import Outcome, call, shipped
from runtime.tools.calculate import LONGEST, calculate
from runtime.values.json import JsonObject

NOTES = ["Monday: call the printer", "Tuesday: the Friday draft needs a title", "Wednesday: buy stamps"]


async def run(name: str, arguments: JsonObject, state: JsonObject | None = None) -> Outcome:
    return await call(shipped()[name], arguments, state or {})


def test_the_shipped_tools_describe_every_argument() -> None:
    for tool in shipped().values():
        assert tool.description
        properties = tool.spec.schema["properties"]
        assert isinstance(properties, dict)
        assert all(schema.get("description") for schema in properties.values())


async def test_A5_set_tone_writes_the_state() -> None:
    assert await run("set-tone", {"tone": "detailed"}) == Outcome({"tone": "detailed"}, writes={"tone": "detailed"})
    assert (await run("set-tone", {"tone": "loud"})).error


@pytest.mark.parametrize(
    "notes", [NOTES, "\n".join(NOTES), {"Tuesday": "the Friday draft needs a title", "Wednesday": "buy stamps"}]
)
async def test_find_notes_gives_the_best_matches_of_the_state(notes: JsonObject) -> None:
    assert await run("find-notes", {"about": "the drafts"}, {"notes": notes}) == Outcome(
        "Tuesday: the Friday draft needs a title"
        + ("\nMonday: call the printer" if "Monday: call the printer" in notes else "")
    )


async def test_find_notes_says_when_there_is_nothing() -> None:
    assert await run("find-notes", {"about": "draft"}) == Outcome("this thread's state holds no notes", error=True)
    assert await run("find-notes", {"about": "tax"}, {"notes": NOTES}) == Outcome(
        "none of the 3 notes speaks of 'tax'", error=True
    )


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("12 * 7", 84),
        ("(12 + 30) * 1.5 =", 63),
        ("0.1 + 0.2", 0.3),
        ("1,250 ÷ 2", 625),
        ("2^10", 1024),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("2 ** 0.5", 2**0.5),
        ("1_000 - 1", 999),
        ("12345678901234567890 * 1000", 12345678901234567890000),
    ],
)
async def test_calculate_works_out_arithmetic(expression: str, result: float) -> None:
    assert await run("calculate", {"expression": expression}) == Outcome(result)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("1 / 0", "divides by zero"),
        ("10 ** 10 ** 10", "too large"),
        ("9" * (LONGEST + 1), "at most 500 characters"),
        ("__import__('os').system('true')", "is not arithmetic"),
        ("True + 1", "is not arithmetic"),
        ("1 +", "is not arithmetic"),
        ("(" * 400, "is not arithmetic"),
        ("1 << 3", "is not arithmetic"),
        ("(-1) ** 0.5", "no result among the numbers"),
        ("'a' * 3", "is not arithmetic"),
        ("0x10 + 1", "is not arithmetic"),
        ("(3)(4)", "is not arithmetic"),
        ("1j", "is not arithmetic"),
    ],
)
async def test_calculate_refuses_with_a_sentence(expression: str, said: str) -> None:
    result = await run("calculate", {"expression": expression})
    assert result.error
    assert said in str(result.output)


@given(st.text(alphabet="0123456789+-*/%()., e^_", max_size=60))
def test_calculate_gives_a_number_or_a_sentence(expression: str) -> None:
    try:
        assert isinstance(calculate.run(expression), int | float)
    except ToolError:
        return


@pytest.mark.parametrize(
    "orders", [{"A-1042": {"status": "shipped"}, "1043": "lost"}, [{"id": "A-1042", "status": "shipped"}, {"id": 1043}]]
)
async def test_look_up_order_reads_the_state(orders: JsonObject) -> None:
    found = await run("look-up-order", {"order": "a-1042, please"}, {"orders": orders})
    assert isinstance(found.output, dict)
    assert found.output["status"] == "shipped"
    assert (await run("look-up-order", {"order": "42"}, {"orders": orders})).output == "there is no order '42'"
    assert (await run("look-up-order", {"order": "1043"}, {"orders": orders})).error is False
    assert (await run("look-up-order", {"order": "1"})).output == "this thread's state holds no orders"
