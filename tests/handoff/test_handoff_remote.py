"""Targets elsewhere and tools behind an address: what goes over, what comes back, what happens when nothing does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runtime.abl import Project
from runtime.handoff.events import FailedHandoff, HandoffEvent, Return

Build = Callable[..., Project]
Open = Callable[..., Any]

ROWS = ("u one", "A look", "T look 42", "a two")


def desk_of(url: str, *lines: str) -> str:
    below = "".join(f"    {line}\n" for line in lines)
    return (
        'AGENT: A\nGOAL: "the desk"\nMEMORY:\n  session:\n    - card\n'
        'HANDOFF:\n  - TO: Bills\n    WHEN: input contains "bill"\n'
        f"    LOCATION: remote\n    ENDPOINT: {url}/take\n    PROTOCOL: rest\n{below}"
    )


async def test_H11_the_selected_rows_go_over_as_they_are_stored(build: Build, open_desk: Open, server: Any) -> None:
    lines = ["HISTORY: last_4", "PASS: [card]", "SUMMARY: Card {{card}}.", "RETURN: true"]
    server.answers = [(200, {"reply": "Which bill?", "values": {}, "done": False})]
    desk = await open_desk(build({"A": desk_of(server.url, *lines)}), rows=ROWS, state={"card": "P-1"})
    said = await desk.say("my bill is wrong")
    assert server.paths == ["POST /take"]
    assert server.posted == [
        {
            "agent": "Bills",
            "message": "my bill is wrong",
            "messages": [
                {"role": "assistant", "text": "", "parts": [
                    {"type": "tool_call", "id": "klook", "name": "look", "arguments": {}}]},
                {"role": "tool", "text": "42", "parts": [
                    {"type": "tool_result", "call": "klook", "name": "look", "error": False}]},
                {"role": "assistant", "text": "two", "parts": None},
                {"role": "user", "text": "my bill is wrong", "parts": None},
            ],
            "summary": "Card P-1.",
            "values": {"card": "P-1"},
        }
    ]  # fmt: skip
    assert said.replies == ("Which bill?",)
    (event,) = said.events
    assert isinstance(event, HandoffEvent)
    assert (event.remote, event.copied, event.matches, event.trigger.copied) == (True, 4, True, True)
    assert [one.remote for one in desk.session.threads] == [False, True]
    # What was posted is the body of the target's first turn.
    record = await desk.first_request("Bills")
    assert record.steps[0].body == server.posted[0]
    assert record.tiers[0].model == "rest:Bills"


async def test_H11_done_gives_the_conversation_back_with_its_values(build: Build, open_desk: Open, server: Any) -> None:
    server.answers = [
        (200, {"reply": "Which bill?", "values": {}, "done": False}),
        (200, {"reply": "Paid.", "values": {"paid": 12}, "done": True}),
    ]
    lines = ["RETURN: true", "HISTORY: none", "ON_RETURN:", "  map:", "    paid: last_paid"]
    desk = await open_desk(build({"A": desk_of(server.url, *lines)}))
    await desk.say("my bill is wrong")
    said = await desk.say("the one of May")
    assert server.posted[1]["message"] == "the one of May"
    assert [row["text"] for row in server.posted[1]["messages"]] == ["my bill is wrong", "Which bill?"]
    (back,) = said.events
    assert isinstance(back, Return)
    assert (back.reason, back.values, desk.session.agent) == ("done", {"last_paid": 12}, "A")
    assert (await desk.store.state(desk.session.id))["last_paid"] == 12


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ((502, "<html>Bad Gateway [/b]</html>"), "502: <html>Bad Gateway"),
        ((200, "<html>"), "no JSON"),
        ((200, {"answer": "x"}), "no object with a text `reply`"),
        ((200, ["x"]), "no object with a text `reply`"),
    ],
)
async def test_H11_a_failure_before_it_accepts_follows_on_failure(
    build: Build, open_desk: Open, server: Any, answer: tuple[int, Any], problem: str
) -> None:
    server.answers = [answer]
    desk = await open_desk(
        build({"A": desk_of(server.url, 'ON_FAILURE: RESPOND "Call again, {{card}}."')}), state={"card": "P-1"}
    )
    said = await desk.say("my bill is wrong")
    (failed,) = said.events
    assert isinstance(failed, FailedHandoff)
    assert problem in failed.problem
    assert (failed.action, said.replies, desk.session.agent) == ("respond", ("Call again, P-1.",), "A")
    assert await desk.rows("A") == ["user my bill is wrong", "assistant Call again, P-1."]
    assert len(desk.session.threads) == 1


async def test_H11_continue_tries_the_next_route_and_escalate_asks_a_person(
    build: Build, open_desk: Open, server: Any
) -> None:
    server.answers = [(500, "x"), (500, "x")]
    more = "  - TO: B\n    WHEN: true\n"
    project = build({"A": desk_of(server.url, "ON_FAILURE: CONTINUE") + more, "B": 'AGENT: B\nGOAL: "b"\n'})
    desk = await open_desk(project, "A")
    said = await desk.say("my bill")
    assert [type(one) for one in said.events] == [FailedHandoff, HandoffEvent]
    assert desk.session.agent == "B"
    desk = await open_desk(build({"A": desk_of(server.url, "ON_FAILURE: ESCALATE")}), "A")
    said = await desk.say("my bill")
    assert said.replies == ("A person will take over from here.",)
    assert desk.statuses() == {"A": "escalated"}


async def test_Q3_no_password_of_an_endpoint_is_shown(build: Build, open_desk: Open) -> None:
    desk = await open_desk(build({"A": desk_of("http://user:pw2@127.0.0.1:9/x?key=KEY3&a=1")}))
    said = await desk.say("my bill")
    (failed,) = said.events
    assert "pw2" not in failed.problem
    assert "KEY3" not in failed.problem
    assert "127.0.0.1:9" in failed.problem


async def test_H11_a_later_failure_is_a_failed_turn(build: Build, open_desk: Open, server: Any) -> None:
    server.answers = [(200, {"reply": "Which?"}), (503, "busy")]
    desk = await open_desk(build({"A": desk_of(server.url)}))
    await desk.say("my bill")
    said = await desk.say("that one")
    assert (said.completed, said.turns[0].reason) == (False, "model-error")
    assert (await desk.rows("Bills"))[-1] == "user that one"


async def test_a_prose_route_to_a_remote_target_that_fails_lets_the_model_answer(
    build: Build, open_desk: Open, server: Any, script: Any
) -> None:
    server.answers = [(500, "x")]
    a = desk_of(server.url).replace('input contains "bill"', '"the customer asks about a bill"')
    model = script([{}], [[("handoff_to_Bills", {})], "I cannot reach them."])
    desk = await open_desk(build({"A": a}), model=model)
    said = await desk.say("my bill")
    assert said.replies == ("I cannot reach them.",)
    assert [tool.name for tool in model.requests[-1].tools] == []


TOOL = """AGENT: A
GOAL: "looks things up"
TOOLS:
  find_order(order: string, days: number = 3) -> object
    description: "Find an order"
    type: http
    method: {method}
    endpoint: {url}/orders/{{order}}
    timeout: 5
"""


@pytest.mark.parametrize(
    ("method", "path", "body"), [("GET", "GET /orders/O%2F1?days=2", {}), ("POST", "POST /orders/O%2F1", {"days": 2})]
)
async def test_a_declared_http_tool_is_called(
    build: Build, open_desk: Open, server: Any, script: Any, method: str, path: str, body: dict[str, Any]
) -> None:
    server.answers = [(200, {"state": "sent"})]
    model = script([{}], [[("find_order", {"order": "O/1", "days": 2})], "It is sent."])
    desk = await open_desk(build({"A": TOOL.format(url=server.url, method=method)}), model=model)
    await desk.say("my order")
    assert (server.paths, server.posted) == ([path], [body])
    assert await desk.rows("A") == ["user my order", "assistant ", 'tool {"state":"sent"}', "assistant It is sent."]


async def test_T4_what_a_tool_cannot_do_is_an_error_result(
    build: Build, open_desk: Open, server: Any, script: Any
) -> None:
    server.answers = [(404, "none")]
    calls = [
        ("find_order", {"order": "1"}),
        ("find_order", {}),
        ("find_order", {"order": "1", "x": 2}),
        ("nothing", {}),
    ]
    model = script([{}], [calls, "No."])
    text = TOOL.format(url=server.url, method="GET") + "  unbound() -> string\n"
    desk = await open_desk(build({"A": text}), model=model)
    said = await desk.say("my order")
    outputs = [(result.error, result.output) for result in said.turns[0].transcript[3].results]
    assert all(error for error, _ in outputs)
    assert [
        part in output
        for (_, output), part in zip(outputs, ["404", "needs order", "takes no x", "nothing"], strict=True)
    ] == [True] * 4
