"""The cases of the field, as whole conversations: C13, C17, C18, C20, C22, C23, C24."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from runtime.abl import Project
from runtime.errors import BadInput
from runtime.handoff import log
from runtime.handoff.events import HandoffEvent, LeftWaiting, Return, ThreadResume
from runtime.handoff.masking import mask_of
from runtime.values.items import ToolResults
from runtime.values.record import TurnRecord
from runtime.values.record_json import record_json

Build = Callable[..., Project]
Open = Callable[..., Any]

PIN = re.compile(r"(?<![\w.])4821(?!\w)")
"""The secret, told from digits of a number that happens to hold them."""

TARGET = 'AGENT: B\nGOAL: "answers"\n'
SEVEN = ("u one", "a two", "u three", "a four", "u five", "a six")


def caller(*history: str, extra: str = "") -> str:
    """An agent whose one route holds at once, with these HISTORY lines."""
    lines = "".join(f"    {line}\n" for line in history)
    return f'AGENT: A\nGOAL: "hands on"\n{extra}HANDOFF:\n  - TO: B\n    WHEN: input contains "go"\n{lines}'


def without_request(record: TurnRecord) -> list[str]:
    return [row.text for row in record.context.rows] if record.context else []


@pytest.mark.parametrize(
    ("history", "copied"),
    [
        (["HISTORY: last_0"], 0),
        (["HISTORY:", "  mode: last_n", "  count: 0"], 7),
        (["HISTORY: last_n"], 7),
        (["HISTORY: recent"], 7),
        (["HISTORY: off"], 7),
        (['HISTORY: "NONE"'], 0),
        (["HISTORY: FULL"], 7),
        ([], 7),
        (["HISTORY: last_6"], 6),
    ],
)
async def test_C13_H6_what_is_written_decides_how_many_rows(
    build: Build, open_desk: Open, history: Sequence[str], copied: int
) -> None:
    desk = await open_desk(build({"A": caller(*history), "B": TARGET}), "A", rows=SEVEN)
    await desk.say("go on")
    event = desk.handoff
    assert (event.copied, event.matches, event.trigger.copied) == (copied, True, copied > 0)
    record = await desk.first_request("B")
    assert len(without_request(record)) == max(0, copied - 1)
    assert record.request == "go on"


@pytest.mark.parametrize(
    ("history", "code"),
    [(["HISTORY:", "  mode: last_n"], "E331"), (["HISTORY:", "  mode: recent"], "E330")],
)
async def test_C13_H6_a_project_with_errors_does_not_run(
    build: Build, open_desk: Open, history: Sequence[str], code: str
) -> None:
    with pytest.raises(BadInput, match=code):
        await open_desk(build({"A": caller(*history), "B": TARGET}), "A", rows=SEVEN)


async def test_H13_last_6_of_7_is_five_earlier_messages_and_the_request(build: Build, open_desk: Open) -> None:
    desk = await open_desk(build({"A": caller("HISTORY: last_6"), "B": TARGET}), "A", rows=SEVEN)
    await desk.say("go on")
    record = await desk.first_request("B")
    assert without_request(record) == ["two", "three", "four", "five", "six"]
    assert [(left.first, left.last, left.reason) for left in record.context.left_out] == [(6, 6, "is-request")]
    assert [(left.first, left.last, left.reason) for left in desk.handoff.left_out] == [(1, 1, "older-than-count")]
    assert await desk.rows("B") == [
        "assistant two", "user three", "assistant four", "user five", "assistant six", "user go on",
        "assistant Noted.",
    ]  # fmt: skip


async def test_H13_none_copies_nothing_and_the_request_is_appended(build: Build, open_desk: Open) -> None:
    desk = await open_desk(build({"A": caller("HISTORY: none"), "B": TARGET}), "A", rows=SEVEN)
    await desk.say("go on")
    (request, _) = await desk.messages("B")
    assert (request.text, request.origin.thread, request.origin.seq) == ("go on", desk.session.id, 7)
    record = await desk.first_request("B")
    assert without_request(record) == []
    assert record.stored_user == 1


async def test_C17_H2_full_hands_on_everything_once(build: Build, open_desk: Open) -> None:
    b = caller("HISTORY: full").replace("AGENT: A", "AGENT: B").replace("TO: B", "TO: C")
    b = b.replace('contains "go"', 'contains "further"')
    project = build({"A": caller("HISTORY: full"), "B": b, "C": 'AGENT: C\nGOAL: "ends"\n'})
    desk = await open_desk(project, "A", rows=("u 1", "a 2", "u 3", "a 4", "u 5", "a 6", "u 7", "a 8"))
    await desk.say("go on")
    (first,) = desk.events(HandoffEvent)
    assert first.copied == 9
    await desk.say("go further")
    second = desk.handoff
    assert second.copied == 11
    texts = [row.text for row in await desk.messages("C")]
    assert texts[:11] == ["1", "2", "3", "4", "5", "6", "7", "8", "go on", "Noted.", "go further"]
    assert len(texts[:11]) == len(set(texts[:11]))
    assert (first.matches, second.matches) == (True, True)


async def test_C18_H9_none_with_pass_tells_the_value_and_nothing_else(build: Build, open_desk: Open) -> None:
    extra = "MEMORY:\n  session:\n    - order_id\n      TYPE: string\n"
    a = caller("HISTORY: none", "PASS: [order_id]", extra=extra).replace('"go"', '"order"')
    rows = ("u my PIN is 4821", "A check", "T check balance 300", "a your balance is 300")
    desk = await open_desk(build({"A": a, "B": TARGET}), "A", rows=rows, state={"order_id": "ORD-7"})
    await desk.say("where is my order?")
    record = await desk.first_request("B")
    sent = json.dumps([step.body for step in record.steps])
    assert "where is my order?" in sent
    assert "order_id: ORD-7" in sent
    assert not PIN.search(sent)
    assert "300" not in sent
    assert desk.handoff.carried.passed == {"order_id": "ORD-7"}


@pytest.mark.parametrize("order", ["tool-first", "handoff-first"])
async def test_C20_both_calls_have_a_result_before_anything_goes_on(
    build: Build, open_desk: Open, script: Any, order: str
) -> None:
    a = (
        'AGENT: A\nGOAL: "helps"\nTOOLS:\n  look_up(what: string) -> string\n    description: "Looks up"\n'
        'HANDOFF:\n  - TO: B\n    WHEN: "the customer is upset"\n    HISTORY: full\n'
    )

    def look_up(what: str) -> str:
        """Looks up."""
        return f"found {what}"

    both = [("look_up", {"what": "lamp"}), ("handoff_to_B", {})]
    model = script([{}, {}], [both if order == "tool-first" else both[::-1], "I am sorry."])
    desk = await open_desk(build({"A": a, "B": TARGET}), "A", model=model, tools=[look_up])
    said = await desk.say("the lamp is broken!")
    first = said.turns[0]
    groups = [item for item in first.transcript if isinstance(item, ToolResults)]
    assert {result.name: result.error for result in groups[-1].results} == {"look_up": False, "handoff_to_B": False}
    assert [one.answer for one in said.turns] == [None, "I am sorry."]
    # H14: the tool rows are appended, then copied; the handoff call is a step and no row.
    assert await desk.rows("A") == ["user the lamp is broken!", "assistant ", "tool found lamp"]
    assert (await desk.rows("B"))[:3] == await desk.rows("A")
    (call,) = [row for row in await desk.messages("A") if row.role == "assistant"]
    assert [part["name"] for part in call.parts] == ["look_up"]
    assert desk.handoff.matches is True
    assert desk.handoff.trigger.seq == 1


CHILD = """AGENT: B
GOAL: "books"
GATHER:
  size:
    PROMPT: "Which size?"
    TYPE: enum
    OPTIONS: [small, large]
COMPLETE:
  - WHEN: size IS SET
    RESPOND: "Booked {{size}}."
"""
DESK = """AGENT: A
GOAL: "the desk"
INTENTS:
  booking: "Book a table or a room."
  weather: "The weather, rain and sun."
HANDOFF:
  - TO: B
    WHEN: intent.category == "booking"
    PASS: [guest]
    HISTORY: last_2
    RETURN: true
MEMORY:
  session:
    - guest
"""


async def test_C22_H7_a_waiting_target_is_resumed_with_its_own_history(build: Build, open_desk: Open) -> None:
    desk = await open_desk(build({"A": DESK, "B": CHILD}), "A", rows=("u hello", "a hi"), state={"guest": "Ada"})
    await desk.say("book a table")
    assert desk.handoff.copied == 2
    before = await desk.rows("B")
    assert before == ["assistant hi", "user book a table", "assistant Which size?"]
    await desk.say("how is the weather?")
    (left,) = desk.events(LeftWaiting)
    assert (left.child, left.caller, left.intent) == ("B", "A", "weather")
    assert desk.statuses() == {"A": "active", "B": "waiting"}
    assert (await desk.rows("A"))[-2:] == ["user how is the weather?", "assistant Nothing in my context answers that."]
    store = desk.store
    await store.update_thread(desk.session.id, state={**await store.state(desk.session.id), "guest": "Bob"})
    await desk.say("book a room then")
    (resumed,) = desk.events(ThreadResume)
    assert len(desk.events(HandoffEvent)) == 1
    assert resumed.thread == desk.handoff.thread
    assert [(one.first, one.last, one.reason) for one in resumed.left_out] == [(1, 6, "thread-resumed")]
    assert await desk.rows("B") == [
        *before,
        "user how is the weather?",
        "user book a room then",
        "assistant Which size?",
    ]
    assert (await store.state(resumed.thread))["guest"] == "Bob"
    assert (await desk.say("large")).replies == ("Booked large.",)
    assert desk.statuses() == {"A": "active", "B": "returned"}


THREE = """AGENT: B
GOAL: "asks twice"
GATHER:
  one:
    PROMPT: "Say the first."
  two:
    PROMPT: "Say the second."
COMPLETE:
  - WHEN: one IS SET AND two IS SET
    RESPOND: "r"
"""


@pytest.mark.parametrize(
    ("history", "rows"), [("full", 7), ("last_2", 7), ("none", 4), ("last_0", 4), ("summary_only", 4)]
)
async def test_C23_H8_the_answers_of_a_returning_child_join_or_do_not(
    build: Build, open_desk: Open, history: str, rows: int
) -> None:
    a = caller(f"HISTORY: {history}", "SUMMARY: A case.", "RETURN: true")
    desk = await open_desk(build({"A": a, "B": THREE}), "A", rows=("u one", "a two", "u three"))
    await desk.say("go on", "x", "y")
    found = await desk.rows("A")
    assert len(found) == rows
    assert found[:4] == ["user one", "assistant two", "user three", "user go on"]
    assert found[4:] == ["assistant Say the first.", "assistant Say the second.", "assistant r"][: rows - 4]
    (back,) = desk.events(Return)
    assert back.reason == "complete"
    assert len(back.joined) == rows - 4
    for row in (await desk.messages("A"))[4:]:
        assert row.origin.thread == desk.thread_of("B")


SECRET = """AGENT: Pin
GOAL: "knows who calls"
GATHER:
  pin:
    PROMPT: "Your pin code?"
    SENSITIVE: true
COMPLETE:
  - WHEN: pin IS SET
    RESPOND: "Thank you."
"""
COLOUR = """AGENT: Colour
GOAL: "colours"
GATHER:
  colour:
    PROMPT: "Which colour?"
COMPLETE:
  - WHEN: colour IS SET
    RESPOND: "Noted the colour."
"""
FRONT = """AGENT: Front
GOAL: "the front"
HANDOFF:
  - TO: Pin
    WHEN: input contains "identify"
    HISTORY: full
    RETURN: true
  - TO: Colour
    WHEN: input contains "paint"
    HISTORY: full
    RETURN: true
  - TO: C
    WHEN: input contains "complain"
    HISTORY: full
"""


async def test_C24_H2_Q3_nothing_of_a_sensitive_child_is_handed_on(build: Build, open_desk: Open) -> None:
    project = build({"Front": FRONT, "Pin": SECRET, "Colour": COLOUR, "C": 'AGENT: C\nGOAL: "complaints"\n'})
    desk = await open_desk(project, "Front")
    await desk.say("please identify me", "it is 4821", "paint my house", "blue")
    await desk.say("I complain")
    event = desk.handoff
    texts = [row.text for row in await desk.messages("C")][: event.copied]
    assert "blue" in texts
    assert texts == [
        "please identify me", "paint my house", "Which colour?", "blue", "Noted the colour.", "I complain",
    ]  # fmt: skip
    assert event.matches is True
    pin = next(one for one in desk.session.threads if one.agent == "Pin")
    assert pin.sensitive is True
    assert [one.thread for one in event.children_left_out] == [pin.id]
    assert {left.reason for left in event.left_out} == {"sensitive-child"}
    record = await desk.first_request("C")
    assert not PIN.search(json.dumps([step.body for step in record.steps]))
    # The export and the log: the store keeps the value, nothing that is shown does.
    mask = desk.session.mask
    assert "4821" in json.dumps([event_row.text for event_row in await desk.messages("Pin")])
    for told in await desk.session.records(bodies=True):
        assert not PIN.search(json.dumps(mask.json(record_json(told)), default=dict))
    for one in desk.session.events:
        assert not PIN.search(json.dumps(mask.json(log.event_json(one)), default=dict))
    assert (await mask_of(desk.store, pin.id)).text("pin 4821, twice 4821!") == (
        "pin [sensitive: pin], twice [sensitive: pin]!"
    )
