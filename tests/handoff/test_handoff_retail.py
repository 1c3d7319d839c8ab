"""The shipped projects as people try them: the six steps of the guide on retail, the whole of the clinic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtime.abl import check, load_project
from runtime.handoff.events import HandoffEvent, LeftWaiting, Return, ThreadResume
from runtime.tools import tool
from runtime.values.record import TurnRecord

SEEDS = Path(__file__).parents[2] / "seeds"
Open = Callable[..., Any]


def earlier(record: TurnRecord) -> list[str]:
    """The earlier messages in a turn's context."""
    return [row.text for row in record.context.rows] if record.context else []


async def test_H_the_six_steps_of_the_guide_on_retail(open_desk: Open) -> None:
    # 1. The checker has nothing to say against any of the four files.
    assert [one for one in check([SEEDS / "retail"]) if one.severity != "info"] == []

    # 2. A status request after two other messages leads to a handoff to the status agent.
    desk = await open_desk(SEEDS / "retail")
    await desk.say("Hello there", "I bought a lamp last week", "Where is my parcel?")
    said = await desk.say("ORD-48213")
    (handed,) = said.events
    assert isinstance(handed, HandoffEvent)
    assert (handed.caller, handed.target, handed.strategy) == ("Retail_Hub", "Order_Status_Agent", "none")
    assert said.replies == ("Order ORD-48213 has left the warehouse and is on the road.",)

    # 3. It does not know what was said earlier.
    said = await desk.say("What did I say earlier?")
    assert "lamp" not in said.replies[0]
    assert "Hello" not in said.replies[0]
    assert (handed.copied, handed.matches) == (0, True)

    # 4. A return request: the returns agent knows the latest six messages and no more.
    desk = await open_desk(SEEDS / "retail")
    await desk.say("Hello there", "I bought a lamp last week", "It was delivered by noon", "I want to return it")
    said = await desk.say("ORD-48213")
    assert (desk.handoff.target, desk.handoff.requested, desk.handoff.copied) == ("Returns_Agent", 6, 6)
    returns = await desk.first_request("Returns_Agent")
    assert len(earlier(returns)) == 5
    assert not any("lamp" in text for text in earlier(returns))
    said = await desk.say("What did I say earlier?")
    assert "I want to return it" in said.replies[0]
    assert "lamp" not in said.replies[0]

    # 5. A complaint: the complaint agent can restate everything.
    desk = await open_desk(SEEDS / "retail")
    await desk.say("Hello there", "I bought a lamp last week", "I have to complain about a rude clerk")
    assert desk.handoff.target == "Complaint_Agent"
    said = await desk.say("What did I say earlier?")
    for text in ("Hello there", "I bought a lamp last week", "I have to complain about a rude clerk"):
        assert text in said.replies[0]

    # 6. In each target's first model call the earlier messages are those that the route says.
    assert desk.handoff.copied == desk.handoff.caller_rows == 5
    complaint = await desk.first_request("Complaint_Agent")
    assert len(earlier(complaint)) == 4
    assert complaint.request == "I have to complain about a rude clerk"
    assert desk.handoff.matches is True
    assert desk.handoff.as_written is True


async def test_H15_a_router_with_nothing_to_ask_lists_its_intents(open_desk: Open) -> None:
    desk = await open_desk(SEEDS / "retail")
    await desk.say("Hello")
    said = await desk.say("ORD-48213")
    assert said.replies[0].startswith("I can help with:\n- order status: ")
    assert said.turns[0].handoff == {"decision": "intents"}


async def test_H14_a_question_asked_while_a_field_is_open_is_answered_then_it_is_asked_again(open_desk: Open) -> None:
    desk = await open_desk(SEEDS / "retail")
    await desk.say("Hello", "My parcel was blue")
    said = await desk.say("Which colour was my parcel?")
    assert said.replies == (
        'My context says: "My parcel was blue"\nWhich order is it? The number looks like ORD-48213.',
    )
    assert (await desk.rows("Retail_Hub"))[-1] == f"assistant {said.replies[0]}"


async def test_H8_the_clinic_recognises_books_and_comes_back(open_desk: Open) -> None:
    @tool(name="opening-hours")
    def opening_hours(day: str = "today") -> str:
        """Opening hours."""
        return f"open from nine ({day})"

    desk = await open_desk(SEEDS / "clinic", tools=[opening_hours])
    said = await desk.say("Please identify me")
    assert said.replies == ("What is the number on your card? It looks like P-3071.",)
    await desk.say("P-3071")
    assert (await desk.say("12")).replies == ("And your secret pin?",)  # it does not fit the pattern
    said = await desk.say("4821")
    (back,) = said.events
    assert isinstance(back, Return)
    assert (back.values, back.assigned, back.joined) == ({"patient_id": "P-3071"}, {"identified": True}, ())
    desk_state = await desk.store.state(desk.session.id)
    assert desk_state["identified"] is True
    assert "4821" not in str(desk_state)
    # A declared tool is bound by name: its call and its result are rows, the understanding is none.
    said = await desk.say("What are your opening hours?")
    assert said.replies == ("opening_hours says: open from nine (today)",)
    assert (await desk.rows("Clinic_Desk"))[-4:] == [
        "user What are your opening hours?", "assistant ", "tool open from nine (today)",
        "assistant opening_hours says: open from nine (today)",
    ]  # fmt: skip
    await desk.say("I want to book an appointment")
    assert (desk.handoff.strategy, desk.handoff.carried.passed) == ("last_4", {"patient_id": "P-3071"})
    assert desk.handoff.carried.assigned == {"channel": "desk"}
    # The unit of call and result does not fit into what last_4 has left: trigger, answer, and the unit of two.
    assert desk.handoff.copied == 4
    await desk.say("eyes")
    await desk.say("When are your opening hours, when do you open?")
    assert desk.events(LeftWaiting)[-1].intent == "opening_hours"
    said = await desk.say("the appointment again: 2026-03-05")
    assert isinstance(said.events[0], ThreadResume)
    assert said.replies == ("You are expected in EYES on 2026-03-05. Please bring card P-3071.",)
    assert (await desk.store.state(desk.session.id))["last_visit_day"] == "2026-03-05"
    assert desk.statuses() == {"Clinic_Desk": "active", "Identity_Agent": "returned", "Appointment_Agent": "returned"}


async def test_H11_the_clinics_billing_office_is_elsewhere(open_desk: Open, server: Any) -> None:
    project = load_project(SEEDS / "clinic")
    front = project.agents["Clinic_Desk"]
    moved = tuple(
        replace(route, remote=replace(route.remote, endpoint=f"{server.url}/billing")) if route.remote else route
        for route in front.routes
    )
    project = replace(project, agents={**project.agents, "Clinic_Desk": replace(front, routes=moved)})
    server.answers = [
        (200, {"reply": "Which invoice is it?", "values": {}, "done": False}),
        (200, {"reply": "It is paid.", "values": {"invoice_state": "paid"}, "done": True}),
        (503, "closed"),
    ]
    desk = await open_desk(project)
    said = await desk.say("Please identify me", "P-3071", "4821", "I have a question about an invoice")
    assert said.replies == ("Which invoice is it?",)
    # HISTORY is left out: the project's default counts. What the child was told stays with it.
    assert (desk.handoff.written, desk.handoff.strategy, desk.handoff.source) == (None, "last_4", "project")
    assert server.posted[0]["values"] == {"patient_id": "P-3071"}
    assert server.posted[0]["summary"] == "A patient asks about a bill. Card: P-3071"
    assert [row["text"] for row in server.posted[0]["messages"]] == [
        "Please identify me", "I have a question about an invoice",
    ]  # fmt: skip
    said = await desk.say("the one of May")
    assert (said.replies, desk.session.agent) == (("It is paid.",), "Clinic_Desk")
    assert (await desk.store.state(desk.session.id))["invoice_state"] == "paid"
    said = await desk.say("another invoice")
    assert said.replies == ("The billing office cannot be reached. Please call again tomorrow.",)


async def test_H1_a_handoff_copies_rows_once_and_each_copy_keeps_its_origin(open_desk: Open) -> None:
    desk = await open_desk(SEEDS / "retail")
    await desk.say("Hello there", "I bought a lamp last week", "I have to complain about a rude clerk")
    caller = desk.thread_of("Retail_Hub")
    copies = [row for row in await desk.messages("Complaint_Agent") if row.origin is not None]
    assert [(row.origin.thread, row.origin.seq) for row in copies] == [(caller, seq) for seq in range(1, 6)]
    before = len(copies)
    await desk.say("An apology would do")
    after = [row for row in await desk.messages("Complaint_Agent") if row.origin is not None]
    assert len(after) == before == desk.handoff.copied
