"""A session: who is spoken to, what a turn leaves, guards, prose routes, reopening, stopping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.abl import Project
from runtime.errors import BadInput, ThreadBusy
from runtime.events import Ended, ModelEvent, Opened, Sent, TextDelta
from runtime.handoff.events import HandoffEvent, RefusedHandoff, Return, ThreadResume, UnresolvedRoute
from runtime.handoff.session import Said, Session
from runtime.models.plain import body_of
from runtime.stores import Store, open_store
from runtime.stores.adopted import Adopted
from runtime.stores.memory import MemoryStore
from runtime.threads import Runtime
from runtime.values.items import AssistantStep, Nudge
from runtime.values.request import Request
from runtime.values.understanding import UNDERSTAND

Build = Callable[..., Project]
Open = Callable[..., Any]
Make = Callable[..., Any]

SEEDS = Path(__file__).parents[2] / "seeds"


def agent(name: str, *sections: str, goal: str = "helps") -> str:
    return f'AGENT: {name}\nGOAL: "{goal}"\n' + "".join(f"{section}\n" for section in sections)


def routes(*entries: str) -> str:
    return "HANDOFF:\n" + "\n".join(f"  - TO: {entry}" for entry in entries)


def to(name: str, *lines: str) -> str:
    return "\n".join([name, *(f"    {line}" for line in lines)])


async def test_S3_an_agent_written_in_abl_has_window_all_unless_told_otherwise(build: Build, open_desk: Open) -> None:
    project = build({"A": agent("A")})
    rows = tuple(f"u {n}" for n in range(9))
    assert (await (await open_desk(project, rows=rows)).say("hi")).turns[0].context.selected == 9
    desk = await open_desk(project, rows=rows, window=3)
    record = (await desk.say("hi")).turns[0]
    assert (record.window, [row.text for row in record.context.rows]) == (3, ["7", "8"])


async def test_H12_matches_is_false_when_the_window_of_the_run_is_smaller(build: Build, open_desk: Open) -> None:
    project = build({"A": agent("A", routes(to("B", "WHEN: true", "HISTORY: full"))), "B": agent("B")})
    desk = await open_desk(project, "A", rows=("u 1", "a 2"), window=2)
    await desk.say("hi")
    assert (desk.handoff.copied, desk.handoff.matches) == (3, False)


async def test_H15_the_first_step_is_the_understanding_request_and_leaves_no_row(build: Build, open_desk: Open) -> None:
    desk = await open_desk(build({"A": agent("A")}))
    said = await desk.say("hello")
    first = said.turns[0].transcript[0]
    assert isinstance(first, AssistantStep)
    assert [call.name for call in first.calls] == [UNDERSTAND]
    assert await desk.rows("A") == ["user hello", "assistant Noted."]


async def test_H15_a_targets_first_turn_understands_for_itself_also_when_every_field_is_set(
    build: Build, open_desk: Open
) -> None:
    gather = 'GATHER:\n  kind:\n    PROMPT: "Which kind?"'
    project = build({
        "A": agent("A", "MEMORY:\n  session:\n    - kind", routes(to("B", "WHEN: true", "PASS: [kind]"))),
        "B": agent("B", gather, 'COMPLETE:\n  - WHEN: kind IS SET\n    RESPOND: "It is {{kind}}."'),
    })  # fmt: skip
    desk = await open_desk(project, "A", state={"kind": "oak"})
    said = await desk.say("hello")
    assert said.replies == ("It is oak.",)
    assert [call.name for call in said.turns[1].transcript[0].calls] == [UNDERSTAND]
    # H9: what was passed fills the field and is not gathered there.
    notes = (await desk.store.state(desk.thread_of("B")))["_agent"]
    assert notes["givers"] == {"kind": "pass"}


async def test_H15_an_answer_to_the_field_just_asked_for_sets_no_intent(build: Build, open_desk: Open) -> None:
    a = agent(
        "A",
        'INTENTS:\n  returning: "Return something."\n  status: "Status of an order."',
        'GATHER:\n  order_id:\n    PROMPT: "The number looks like ORD-1."',
        routes(
            to("B", 'WHEN: intent.category == "returning" AND order_id IS SET'),
            to("C", 'WHEN: intent.category == "status" AND order_id IS SET'),
        ),
    )
    desk = await open_desk(build({"A": a, "B": agent("B"), "C": agent("C")}), "A")
    await desk.say("I want to return it")
    await desk.say("the order is ORD-7")
    assert desk.handoff.target == "B"


async def test_H15_a_filled_field_is_replaced_only_by_a_value_named_as_such(build: Build, open_desk: Open) -> None:
    gather = 'GATHER:\n  order_id:\n    PROMPT: "The number looks like ORD-1."\n  note:\n    PROMPT: "Your note?"'
    desk = await open_desk(build({"A": agent("A", gather)}))
    await desk.say("ORD-1", "compare it with ORD-2")
    assert (await desk.store.state(desk.session.id))["order_id"] == "ORD-1"
    await desk.say("no, my order is ORD-3")
    assert (await desk.store.state(desk.session.id))["order_id"] == "ORD-3"


async def test_H15_routes_are_tried_by_priority_then_in_file_order(build: Build, open_desk: Open) -> None:
    a = agent(
        "A", routes(to("B", "WHEN: true"), to("C", "WHEN: true", "PRIORITY: 2"), to("D", "WHEN: true", "PRIORITY: 1"))
    )
    desk = await open_desk(build({name: agent(name) for name in "BCD"} | {"A": a}), "A")
    await desk.say("hi")
    assert desk.handoff.target == "D"


async def test_H15_a_prose_route_is_offered_and_taken_by_its_words(build: Build, open_desk: Open) -> None:
    gather = 'GATHER:\n  city:\n    PROMPT: "Which city?"'
    a = agent("A", gather, routes(to("B", 'WHEN: "the customer wants a refund of money"', "HISTORY: last_1")))
    desk = await open_desk(build({"A": a, "B": agent("B")}), "A")
    said = await desk.say("hello")
    offered = [tool.name for tool in said.turns[0].context.tools]
    assert offered == [UNDERSTAND, "handoff_to_B"]
    assert said.replies == ("Which city?",)  # the model took no route: what it said besides is no answer
    said = await desk.say("give my money as a refund")
    assert (desk.handoff.target, desk.handoff.copied) == ("B", 1)
    assert said.turns[0].answer is None
    assert (await desk.rows("A"))[-1] == "user give my money as a refund"


async def test_H10_a_refused_handoff_is_an_event_and_the_next_route_is_tried(build: Build, open_desk: Open) -> None:
    b = agent("B", routes(to("B", "WHEN: true"), to("A", "WHEN: true"), to("C", "WHEN: true")))
    a = agent("A", routes(to("B", "WHEN: true", "RETURN: true")))
    c = 'COMPLETE:\n  - WHEN: false\n    RESPOND: "never"'
    desk = await open_desk(build({"A": a, "B": b + c, "C": agent("C")}), "A")
    said = await desk.say("hi")
    refused = [one for one in said.events if isinstance(one, RefusedHandoff)]
    assert [(one.caller, one.target, one.why) for one in refused] == [("B", "B", "self"), ("B", "A", "circle")]
    assert desk.handoff.target == "C"
    assert said.replies == ("Noted.",)


async def test_H10_at_most_ten_handoffs_for_one_message(build: Build, open_desk: Open) -> None:
    a, b = (agent(one, routes(to(other, "WHEN: true"))) for one, other in ("AB", "BA"))
    desk = await open_desk(build({"A": a, "B": b}), "A")
    said = await desk.say("hi")
    assert sum(isinstance(one, HandoffEvent) for one in said.events) == 10
    (refused,) = [one for one in said.events if isinstance(one, RefusedHandoff)]
    assert refused.why == "too-many"
    assert said.completed
    assert said.replies == ("Noted.",)


async def test_H10_a_model_cannot_hand_off_to_an_agent_that_no_route_names(
    build: Build, open_desk: Open, script: Make
) -> None:
    a = agent("A", routes(to("B", 'WHEN: "the customer is angry"')))
    model = script([{}], [[("handoff_to_Nobody", {})], "I stay."])
    desk = await open_desk(build({"A": a, "B": agent("B")}), "A", model=model)
    said = await desk.say("hi")
    (refused,) = said.events
    assert (refused.target, refused.why) == ("Nobody", "undeclared")
    assert said.replies == ("I stay.",)


async def test_H14_return_false_closes_the_caller_and_complete_fires_once(build: Build, open_desk: Open) -> None:
    project = build({
        "A": agent("A", routes(to("B", "WHEN: true"))),
        "B": agent("B", 'COMPLETE:\n  - WHEN: true\n    RESPOND: "Done it."'),
    })  # fmt: skip
    desk = await open_desk(project, "A")
    assert (await desk.say("hi")).replies == ("Done it.",)
    assert desk.statuses() == {"A": "completed", "B": "active"}
    assert (await desk.say("and now")).replies == ("Noted.",)
    assert desk.session.agent == "B"


async def test_H14_an_answer_without_complete_or_open_field_gives_it_back(build: Build, open_desk: Open) -> None:
    project = build({"A": agent("A", routes(to("B", 'WHEN: input contains "b"', "RETURN: true"))), "B": agent("B")})
    desk = await open_desk(project, "A")
    said = await desk.say("to b")
    assert [type(one) for one in said.events] == [HandoffEvent, Return]
    assert (said.events[1].reason, desk.session.agent) == ("answer", "A")
    assert await desk.rows("A") == ["user to b", "assistant Noted."]


async def test_H14_the_model_of_a_child_may_give_it_back(build: Build, open_desk: Open, script: Make) -> None:
    project = build({
        "A": agent("A", routes(to("B", 'WHEN: input contains "b"', "RETURN: true"))),
        "B": agent("B", 'COMPLETE:\n  - WHEN: false'),
    })  # fmt: skip
    model = script([{}, {}, {}, {}], ["What is it?", [("return_to_caller", {})], "The desk answers."])
    desk = await open_desk(project, "A", model=model)
    await desk.say("to b")
    said = await desk.say("something else")
    (back,) = said.events
    assert (back.reason, said.replies, desk.session.agent) == ("called", ("The desk answers.",), "A")
    assert [record.agent for record in said.turns] == ["B", "A"]
    (row,) = [row for row in await desk.messages("A") if row.text == "something else"]
    assert row.origin.thread == back.thread


async def test_H14_on_return_continue_and_resume_intent_open_a_turn_of_the_caller(
    build: Build, open_desk: Open
) -> None:
    def project(action: str) -> Project:
        a = agent(
            "A",
            "MEMORY:\n  session:\n    - known",
            routes(
                to(
                    "B",
                    "WHEN: known IS NOT SET",
                    "RETURN: true",
                    "ON_RETURN:",
                    f"  action: {action}",
                    "  set:",
                    "    known = true",
                )
            ),
            'COMPLETE:\n  - WHEN: known == true\n    RESPOND: "Back: {{input}}"',
        )
        return build({"A": a, "B": agent("B", 'COMPLETE:\n  - WHEN: true\n    RESPOND: "B did."')})

    desk = await open_desk(project("resume_intent"), "A")
    said = await desk.say("help me")
    assert said.replies == ("B did.", "Back: help me")
    assert await desk.rows("A") == ["user help me", "assistant B did.", "assistant Back: help me"]
    assert said.turns[2].stored_user == 1
    desk = await open_desk(project("continue"), "A")
    said = await desk.say("help me")
    assert said.replies == ("B did.", "Back: B has given the conversation back. Go on.")
    assert (said.turns[2].kind, len(said.turns[2].steps)) == ("brief", 0)
    assert (await desk.rows("A"))[-1] == "assistant Back: B has given the conversation back. Go on."


async def test_H8_without_a_map_what_the_child_gathered_returns_but_not_what_is_sensitive(
    build: Build, open_desk: Open
) -> None:
    b = agent(
        "B",
        'GATHER:\n  size:\n    PROMPT: "Size?"\n    TYPE: number\n'
        '  code:\n    PROMPT: "Secret code?"\n    SENSITIVE: true',
        'COMPLETE:\n  - WHEN: size IS SET AND code IS SET\n    RESPOND: "Good."',
    )
    a = agent("A", routes(to("B", 'WHEN: input contains "b"', "RETURN: true", "HISTORY: none")))
    desk = await open_desk(build({"A": a, "B": b}), "A")
    await desk.say("to b", "7")
    said = await desk.say("X99")
    assert said.events[-1].values == {"size": 7}
    state = await desk.store.state(desk.session.id)
    assert state["size"] == 7
    assert "code" not in state


async def test_H9_set_wins_over_pass_an_unset_field_is_skipped_and_nothing_else_crosses(
    build: Build, open_desk: Open
) -> None:
    a = agent(
        "A",
        "MEMORY:\n  session:\n    - a\n    - b\n    - c\n    - kept",
        routes(
            to("B", "WHEN: true", "PASS: [a, b, c]", "SET:", '  b = "set"', "SUMMARY: About {{a}}.", "HISTORY: none")
        ),
    )
    desk = await open_desk(build({"A": a, "B": agent("B")}), "A", state={"a": "1", "b": "2", "kept": "3"})
    await desk.say("hi")
    carried = desk.handoff.carried
    assert (carried.passed, carried.assigned, carried.skipped) == ({"a": "1", "b": "2"}, {"b": "set"}, ("c",))
    state = await desk.store.state(desk.thread_of("B"))
    values = {name: value for name, value in state.items() if name != "_agent"}
    assert values == {"a": "1", "b": "set", "handoff_from": "A", "handoff_summary": "About 1."}
    record = await desk.first_request("B")
    assert record.context.section("state").text.splitlines() == [
        "handoff_from: A", "handoff_summary: About 1.", "a: 1", "b: set",
    ]  # fmt: skip


async def test_H5_the_projects_default_and_the_runs_take_the_place_of_full(build: Build, open_desk: Open) -> None:
    files = {"A": agent("A", routes(to("B", "WHEN: true"))), "B": agent("B")}
    rows = ("u 1", "a 2", "u 3")
    for manifest, given, expected in (
        (None, None, ("full", "platform", 4)),
        ({"handoffHistory": "last_2"}, None, ("last_2", "project", 2)),
        ({"handoffHistory": "last_2"}, "none", ("none", "project", 0)),
        (None, "auto", ("last_5", "project", 4)),
        (None, "recent", ("full", "platform", 4)),
    ):
        desk = await open_desk(build(files, manifest or {}), "A", rows=rows, history_default=given)
        await desk.say("hi")
        assert (desk.handoff.strategy, desk.handoff.source, desk.handoff.copied) == expected


async def test_H4_auto_and_summary_only(build: Build, open_desk: Open) -> None:
    rows = tuple(f"u {n}" for n in range(8))
    for lines, expected in (
        (["HISTORY: auto"], ("last_5", 5, "")),
        (["HISTORY: auto", "SUMMARY: It is {{input}}."], ("summary_only", 0, "It is hi.")),
        (["HISTORY: summary_only", "SUMMARY: S"], ("summary_only", 0, "S")),
    ):
        project = build({"A": agent("A", routes(to("B", "WHEN: true", *lines))), "B": agent("B")})
        desk = await open_desk(project, "A", rows=rows)
        await desk.say("hi")
        event = desk.handoff
        assert (event.strategy, event.copied, event.carried.summary) == expected
        if not event.copied:
            assert {one.reason for one in event.left_out} == {"strategy-none"}


async def test_H12_a_condition_that_asks_for_a_name_nobody_declares_is_told(build: Build, open_desk: Open) -> None:
    desk = await open_desk(build({"A": agent("A", routes(to("B", "WHEN: ordr_id == 3"))), "B": agent("B")}), "A")
    said = await desk.say("hi")
    (event,) = said.events
    assert isinstance(event, UnresolvedRoute)
    assert event.names == ("ordr_id",)


async def test_on_start_is_said_once_before_anybody_speaks_and_sets_values(build: Build, open_desk: Open) -> None:
    start = 'ON_START:\n  SET:\n    shop = "Oak"\n  RESPOND: "Welcome to {{shop}}."'
    project = build({"A": agent("A", start, routes(to("B", 'WHEN: input contains "b"'))), "B": agent("B", start)})
    desk = await open_desk(project, "A")
    assert desk.session.greeting == "Welcome to Oak."
    assert await desk.rows("A") == ["assistant Welcome to Oak."]
    said = await desk.say("to b")
    assert said.replies == ("Welcome to Oak.\nNoted.",)


async def test_a_retry_prompt_asks_again_after_what_cannot_be_used(build: Build, open_desk: Open) -> None:
    gather = (
        'GATHER:\n  age:\n    PROMPT: "How old?"\n    TYPE: number\n    VALIDATE: min(18) max(120)\n'
        '    RETRY_PROMPT: "A number from 18, please."'
    )
    desk = await open_desk(build({"A": agent("A", gather)}))
    assert (await desk.say("hello")).replies == ("How old?",)
    said = await desk.say("12")
    assert said.replies == ("A number from 18, please.",)
    assert said.turns[0].transcript[1].results[0].output == {"noted": [], "not usable": {"age": "it is below 18"}}
    assert (await desk.say("33")).replies == ("Noted.",)


async def test_a_default_is_a_value_until_the_customer_says_another(build: Build, open_desk: Open) -> None:
    gather = (
        'GATHER:\n  size:\n    PROMPT: "Which size?"\n    TYPE: enum\n    OPTIONS: [small, large]\n    DEFAULT: small'
    )
    desk = await open_desk(build({"A": agent("A", gather)}))
    assert (await desk.say("hello")).replies == ("Noted.",)
    assert (await desk.store.state(desk.session.id))["size"] == "small"
    await desk.say("a large one")
    assert (await desk.store.state(desk.session.id))["size"] == "large"


async def test_a_model_that_writes_json_instead_of_calling_is_understood(
    build: Build, open_desk: Open, script: Make
) -> None:
    class Writes(script):  # type: ignore[misc, valid-type]  # a fixture's class
        async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
            self.requests.append(request)
            yield Sent(body_of(request))
            yield TextDelta('Sure: {"fields": {"city": "Rome"}}' if request.must_call else "Fine.")
            yield Ended("stop")

    gather = 'GATHER:\n  city:\n    PROMPT: "Which city?"'
    model = Writes()
    desk = await open_desk(build({"A": agent("A", gather)}), model=model)
    said = await desk.say("I live in Rome")
    assert said.replies == ("Fine.",)
    assert (await desk.store.state(desk.session.id))["city"] == "Rome"
    assert isinstance(model.requests[-1].transcript[-1], Nudge)


async def test_H14_only_a_completed_turn_leaves_rows_or_hands_off(build: Build, open_desk: Open, script: Make) -> None:
    from runtime.errors import ModelError

    class Fails(script):  # type: ignore[misc, valid-type]  # a fixture's class
        async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
            if not request.must_call:
                raise ModelError("down")
            async for event in super().stream(request):
                yield event

    desk = await open_desk(build({"A": agent("A")}), model=Fails())
    said = await desk.say("hi")
    assert (said.completed, said.replies) == (False, ())
    assert (said.turns[0].status, said.turns[0].reason) == ("failed", "model-error")
    assert await desk.rows("A") == ["user hi"]


@pytest.mark.parametrize("kind", ["memory", "sqlite", "adopted"])
async def test_a_session_is_reopened_from_the_store_alone(open_desk: Open, tmp_path: Path, kind: str) -> None:
    store: Store = open_store(f"sqlite:///{tmp_path / 's.db'}") if kind == "sqlite" else MemoryStore()
    if kind == "adopted":
        store = Adopted(store)
    desk = await open_desk(SEEDS / "clinic", store=store)
    await desk.say("Please identify me", "P-3071", "4821", "I want to book an appointment", "eyes")
    said_before = await desk.session.messages()
    if kind == "sqlite":
        await store.close()
        store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    again = await Session.reopen(Runtime(store), desk.session.id)
    assert again.threads == desk.session.threads
    assert again.events == desk.session.events
    assert (again.agent, again.thread) == ("Appointment_Agent", desk.session.thread)
    assert await again.messages() == said_before
    said = await again.say("2026-03-05")
    assert isinstance(said.events[-1], Return)
    assert again.mask.text("4821") == "[sensitive: access_pin]"
    (copy,) = [row for row in await store.list_messages(again.id, 100) if row.text.startswith("You are expected")]
    assert copy.origin is not None
    await store.close()


async def test_reopening_what_is_no_session_is_refused() -> None:
    runtime = Runtime(MemoryStore())
    with pytest.raises(BadInput, match="not the first of a session"):
        await Session.reopen(runtime, await runtime.create_thread())


class Slow:
    """A model that waits in its second step until it is stopped."""

    name = "scripted"

    def __init__(self) -> None:
        self.waiting = asyncio.Event()

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        yield Sent(body_of(request))
        yield TextDelta("half")
        if not request.must_call:
            self.waiting.set()
            await asyncio.Event().wait()
        yield Ended("stop")


async def test_T10_stopping_a_session_frees_it_and_keeps_the_agent(build: Build, open_desk: Open) -> None:
    model = Slow()
    desk = await open_desk(build({"A": agent("A")}), model=model)
    task = asyncio.create_task(desk.session.say("hi"))
    await model.waiting.wait()
    with pytest.raises(ThreadBusy):
        await desk.session.say("again")
    await desk.session.stop()
    said = await task
    assert (said.turns[0].status, said.replies) == ("stopped", ())
    assert await desk.rows("A") == ["user hi"]


async def test_a_stream_tells_turns_and_events_and_ends_with_what_was_said(build: Build, open_desk: Open) -> None:
    project = build({"A": agent("A", routes(to("B", "WHEN: true"))), "B": agent("B")})
    desk = await open_desk(project, "A")
    news = [one async for one in desk.session.stream("hi")]
    assert isinstance(news[-1], Said)
    assert news[-1].replies == ("Noted.",)
    assert [one.turn.agent for one in news if isinstance(one, Opened)] == ["A", "B"]
    assert sum(isinstance(one, HandoffEvent) for one in news) == 1


async def test_closing_a_stream_stops_the_turn(build: Build, open_desk: Open) -> None:
    model = Slow()
    desk = await open_desk(build({"A": agent("A")}), model=model)
    stream = desk.session.stream("hi")
    async for _ in stream:
        if model.waiting.is_set():
            break
    await stream.aclose()
    (turn,) = await desk.store.turns(desk.session.id)
    assert turn.status == "stopped"


async def test_Q1_no_text_and_unknown_agents_are_refused_before_anything_is_stored(
    build: Build, open_desk: Open
) -> None:
    project = build({"A": agent("A"), "B": agent("B")})
    with pytest.raises(BadInput, match="name the first agent: A, B"):
        await open_desk(project)
    with pytest.raises(BadInput, match="no agent 'Z'"):
        await open_desk(project, "Z")
    desk = await open_desk(project, "A")
    with pytest.raises(BadInput):
        await desk.say("  ")
    assert await desk.rows("A") == []


async def test_H7_a_resumed_thread_returns_to_whoever_resumed_it(build: Build, open_desk: Open) -> None:
    b = agent(
        "B",
        'GATHER:\n  size:\n    PROMPT: "Size?"\n    TYPE: enum\n    OPTIONS: [small]',
        "COMPLETE:\n  - WHEN: size IS SET",
    )
    a = agent(
        "A",
        'INTENTS:\n  size: "Size of a shoe."\n  weather: "Rain and sun."',
        routes(to("B", 'WHEN: intent.category == "size"', "RETURN: true")),
    )
    desk = await open_desk(build({"A": a, "B": b}), "A")
    await desk.say("the shoe", "rain?", "the shoe again")
    assert isinstance(desk.session.events[-1], ThreadResume)
    said = await desk.say("small")
    assert said.replies == ("That is done.",)
    assert desk.session.agent == "A"
