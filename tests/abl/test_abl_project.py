"""The compiled form: everything that runs a conversation, with its file and line; projects from folders."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.abl import AgentSource, check, compile_text, load_project
from runtime.abl.conditions import evaluate
from runtime.abl.history_setting import LastN
from runtime.abl.project import OnFailure, Parameter, Remote, Rule
from runtime.errors import BadInput

Folder = Callable[[dict[str, str]], Path]

DESK = """\
SUPERVISOR: Desk
VERSION: "1.2.0"
DESCRIPTION: "The desk"
LANGUAGE: "en"
GOAL: "Help"
PERSONA: "Calm."
IDENTITY:
  role: "Clerk"
  expertise:
    - parcels
    - bills
  limitations:
    - "No advice."
LIMITATIONS:
  - "Never guess: ask."
INSTRUCTIONS: "First."
INSTRUCTIONS: |
  Second.
SYSTEM_PROMPT: "Be brief."
BEHAVIOR:
  role: orchestrator
EXECUTION:
  model: openai:small
  max_tokens: 300
  temperature: 0.2
INTENTS:
  order status: "Where is it: the parcel?"
  refund
TEMPLATES:
  hello:
    DEFAULT: "Welcome"
ON_START:
  SET:
    channel = "desk"
  RESPOND: TEMPLATE(hello)
MEMORY:
  session:
    - order_id
      TYPE: string
    - name: tries
      type: number
      initial_value: 2
    - name: seen
      type: boolean
      initial_value: false
  persistent:
    - user.tier
GATHER:
  size:
    PROMPT: "Which size?"
    TYPE: enum
    OPTIONS: [small, "extra large"]
    REQUIRED: false
    DEFAULT: small
  pin:
    prompt: "Pin?"
    sensitive: yes
    validate: min(1000) max(9999) pattern(^[0-9]{4}$)
    retry_prompt: "Four digits."
TOOLS:
  look_up(order: string, tags: string[] = [], deep: {a: number, b?: string}) -> object
    description: "Looks an order up"
    type: http
    endpoint: "http://127.0.0.1:1/orders"
    method: post
    timeout: 3s
    parameters:
      order:
        description: "The number"
  - name: ping
    parameters:
      - name: host
        type: string
        required: true
RETURN_HANDLERS:
  wrap_up:
    RESPOND: "Anything else?"
    CLEAR: [order_id]
    CONTINUE: true
HANDOFF:
  - TO: Parcel
    WHEN: "the customer asks where a parcel is"
    PASS: order_id
    HISTORY: last_3
  - TO: Refund
    WHEN: intent.category == "refund" AND order_id IS SET
    PRIORITY: 1
    CONTEXT:
      pass:
        - order_id
        - tries
      summary: |
        Order {{order_id}}
        wants money back
      history:
        mode: last_n
        count: 4
      set:
        reason = "refund"
        again: tries
    RETURN: false
    EXPECT_RETURN: true
    ON_RETURN:
      HANDLER: wrap_up
      MAP: {refund_id: last_refund}
      SET: done = true
    ON_FAILURE: RESPOND "Not now."
  - TO: Billing
    LOCATION: remote
    REMOTE:
      endpoint: http://127.0.0.1:1/billing
    HISTORY: none
    SUMMARY: "Bill"
COMPLETE:
  - WHEN: pin IS SET
    RESPOND: ""
  - WHEN: "tries > 3"
    SET: closed = true
GUARDRAILS:
  tone:
    kind: output
"""


@pytest.fixture(scope="module")
def desk() -> AgentSource:
    agent, found = compile_text(DESK, "agents/desk.agent.abl")
    assert agent is not None
    assert [one for one in found if one.severity != "info"] == []
    return agent


def line_of(text: str) -> int:
    return DESK[: DESK.index(text)].count("\n") + 1


def test_identity_and_instructions(desk: AgentSource) -> None:
    assert (desk.kind, desk.name, desk.line, desk.role) == ("supervisor", "Desk", 1, "orchestrator")
    assert desk.persona == "Calm.\nClerk\nExpertise: parcels, bills"
    assert desk.limitations == ("Never guess: ask.", "No advice.")
    assert (desk.instructions, desk.system_prompt, desk.language) == ("First.\n\nSecond.", "Be brief.", "en")
    assert (desk.execution.model, desk.execution.max_tokens) == ("openai:small", 300)
    assert (desk.on_start.respond, desk.on_start.assignments[0].name) == ("Welcome", "channel")


def test_intents_and_memory(desk: AgentSource) -> None:
    assert [(one.name, one.description) for one in desk.intents] == [
        ("order status", "Where is it: the parcel?"),
        ("refund", ""),
    ]
    assert [(one.name, one.type, one.initial) for one in desk.memory] == [
        ("order_id", "string", None),
        ("tries", "number", 2),
        ("seen", "boolean", False),
    ]


def test_H15_fields(desk: AgentSource) -> None:
    size, pin = desk.fields
    assert (size.type, size.options, size.required, size.default) == ("enum", ("small", "extra large"), False, "small")
    assert (pin.prompt, pin.required, pin.sensitive, pin.line) == ("Pin?", True, True, line_of("  pin:"))
    assert pin.rules == (Rule("min", ("1000",)), Rule("max", ("9999",)), Rule("pattern", ("^[0-9]{4}$",)))
    assert desk.field("pin") is pin
    assert desk.field("nobody") is None


def test_declared_tools(desk: AgentSource) -> None:
    look_up, ping = desk.tools
    assert look_up.parameters == (
        Parameter("order", "string", True, None, "The number"),
        Parameter("tags", "string[]", False, [], ""),
        Parameter("deep", "{a: number, b?: string}", True, None, ""),
    )
    assert (look_up.type, look_up.method, look_up.endpoint) == ("http", "POST", "http://127.0.0.1:1/orders")
    assert (look_up.timeout, look_up.returns, look_up.description) == (3.0, "object", "Looks an order up")
    assert look_up.schema() == {
        "type": "object",
        "properties": {
            "order": {"type": "string", "description": "The number"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "deep": {"type": "object"},
        },
        "required": ["order", "deep"],
    }
    assert ping.parameters == (Parameter("host", "string", True, None, ""),)


def test_H15_routes_by_priority_then_file_order(desk: AgentSource) -> None:
    assert [route.to for route in desk.routes] == ["Parcel", "Refund", "Billing"]
    assert [route.to for route in desk.routes_in_turn] == ["Refund", "Parcel", "Billing"]
    assert [route.when.kind for route in desk.routes] == ["prose", "condition", "always"]
    condition = desk.routes[1].when.condition
    assert condition is not None
    assert evaluate(condition, {"intent": {"category": "refund"}, "order_id": "x"}).holds


def test_H9_what_a_route_hands_on(desk: AgentSource) -> None:
    parcel, refund, _ = desk.routes
    assert parcel.passes == ("order_id",)
    assert refund.passes == ("order_id", "tries")
    assert [one.name for one in refund.assignments] == ["reason", "again"]
    assert refund.summary == "Order {{order_id}}\nwants money back"
    assert refund.history is not None
    assert (refund.history.read, refund.history.line) == (LastN(4), line_of("      history:"))
    assert refund.history.written == "mode last_n, count 4"
    assert refund.place == f"agents/desk.agent.abl:{line_of('  - TO: Refund')}"


def test_H8_what_comes_back(desk: AgentSource) -> None:
    parcel, refund, _ = desk.routes
    assert (parcel.returns, refund.returns) == (False, True)
    back = refund.on_return
    assert (back.action, back.handler, back.respond, back.clear) == (
        "continue",
        "wrap_up",
        "Anything else?",
        ("order_id",),
    )
    assert back.mapping == (("refund_id", "last_refund"),)
    assert [one.name for one in back.assignments] == ["done"]
    assert parcel.on_return.mapping is None
    assert refund.on_failure == OnFailure("respond", "Not now.")


def test_H11_remote_targets(desk: AgentSource) -> None:
    assert desk.routes[2].remote == Remote("http://127.0.0.1:1/billing", "rest", "remote")
    assert desk.routes[0].remote is None


def test_completions(desk: AgentSource) -> None:
    silent, closing = desk.completions
    assert (silent.respond, closing.respond) == ("", None)
    assert closing.when.kind == "condition"
    assert closing.assignments[0].name == "closed"


def test_what_is_not_executed_is_kept_and_said(desk: AgentSource) -> None:
    assert [(one.keyword, one.text) for one in desk.kept] == [("GUARDRAILS", "GUARDRAILS:\n  tone:\n    kind: output")]
    _, found = compile_text(DESK, "f")
    lines = DESK.splitlines()
    said = {lines[(one.line or 1) - 1].strip() for one in found if one.code == "I350"}
    assert {"GUARDRAILS:", "temperature: 0.2", "persistent:"} <= said


KEEPS = [
    "HOOKS", "ON_ERROR", "MESSAGES", "ACTION_HANDLERS", "ENTITIES", "LOOKUP_TABLES", "ATTACHMENTS", "DESTINATIONS",
    "CONSTRAINTS", "GUARDRAILS", "NLU", "MULTI_INTENT", "DELEGATE", "ESCALATE", "TRANSFER_FLOW_POLICIES", "FLOW",
    "STEPS", "AGENTS", "TESTS", "ROUTING", "STATE", "POLICIES", "COMMUNICATION", "CONVERSATION",
]  # fmt: skip


@pytest.mark.parametrize("keyword", [*KEEPS, "USE BEHAVIOR_PROFILE"])
def test_every_section_is_read(keyword: str) -> None:
    agent, found = compile_text(f"AGENT: A\nGOAL: g\n{keyword}:\n  any: thing\n  - [of, any\n    shape\n", "f")
    assert agent is not None
    assert [(one.code, one.line) for one in found] == [("I350", 3)]
    assert agent.kept[0].text.endswith("shape")


def test_a_behavior_profile_is_no_agent_and_no_error() -> None:
    assert [one.code for one in compile_text("BEHAVIOR_PROFILE: Calm\nPERSONA: Calm.\n", "f")[1]] == ["I350"]


def test_PASS_may_name_what_the_agent_gets_in_any_way() -> None:
    text = """\
AGENT: A
GOAL: g
ON_START:
  SET:
    from_start = 1
TOOLS:
  f() -> x
    store_result: from_tool
FLOW:
  one:
    GATHER:
      - name: from_flow
    SET: from_step = 2
HANDOFF:
  - TO: B
    HISTORY: auto
    RETURN: true
    ON_RETURN:
      map:
        theirs: from_map
  - TO: C
    HISTORY: auto
    PASS: [from_start, from_tool, from_flow, from_step, from_map, session.channel, _meta.x, user.name, nowhere]
"""
    _, found = compile_text(text, "f")
    assert [one.message.split()[0] for one in found if one.code == "W340"] == ["`nowhere`"]


def test_H5_project_json_sets_the_default(folder: Folder) -> None:
    agent = "AGENT: A\nGOAL: g\n"
    project = load_project(folder({"project.json": '{\n  "handoffHistory": "\'LAST_2\'"\n}', "a.agent.abl": agent}))
    assert project.history_default is not None
    assert (project.history_default.read, project.history_default.line) == (LastN(2), 2)
    assert project.diagnostics == ()


@pytest.mark.parametrize(
    ("written", "codes"),
    [
        ('{"handoffHistory": "recent"}', ["W330"]),
        ('{"handoffHistory": {"mode": "none"}}', ["W330"]),
        ('{"handoffHistory": 5}', ["W330"]),
        ('{"handoffHistory": ""}', ["W330"]),
        ('{"handoffHistory": null}', []),
        ('{"handoffHistory": "last_0"}', ["I332"]),
        ('{"handoffHistory": "none"', ["E346"]),
        ("[]", ["E346"]),
        ("[" * 100_000, ["E346"]),
        ("", ["E346"]),
        ("\ufeff{}", []),
    ],
)
def test_project_json_that_is_not_right(folder: Folder, written: str, codes: list[str]) -> None:
    root = folder({"project.json": written, "a.agent.abl": "AGENT: A\nGOAL: g\n"})
    project = load_project(root)
    assert [one.code for one in project.diagnostics] == codes
    assert [one.code for one in check([root / "project.json"])] == codes
    assert all(one.file == "project.json" for one in project.diagnostics)


def test_who_is_spoken_to_first(folder: Folder) -> None:
    hub = "AGENT: Hub\nGOAL: g\nHANDOFF:\n  - TO: Leaf\n    HISTORY: auto\n"
    root = folder({"b.agent.abl": hub, "a.agent.abl": "AGENT: Leaf\nGOAL: g\n"})
    first = load_project(root).first_agent
    assert first is not None
    assert first.name == "Hub"
    folder({"project.json": json.dumps({"entry_agent": "Leaf", "name": "Shop"})})
    project = load_project(root)
    assert project.first_agent is project.agents["Leaf"]
    assert project.name == "Shop"


def test_Q1_bad_bytes_name_the_place(folder: Folder) -> None:
    root = folder({"a.agent.abl": "AGENT: A\nGOAL: g\n"})
    (root / "b.agent.abl").write_bytes(b"AGENT: B\nGOAL: caf\xe9\n")
    (only,) = load_project(root).diagnostics
    assert (only.file, only.line, only.column, only.code) == ("b.agent.abl", 2, 10, "E346")
    assert check([root])[0].file == f"{root}/b.agent.abl"


def test_Q4_a_link_cannot_leave_the_folder(folder: Folder, tmp_path: Path) -> None:
    root = folder({"a.agent.abl": "AGENT: A\nGOAL: g\n"})
    outside = tmp_path / "outside.agent.abl"
    outside.write_text("AGENT: Outside\nGOAL: g\n")
    (root / "b.agent.abl").symlink_to(outside)
    (root / "c.agent.abl").symlink_to(root / "gone.agent.abl")
    (root / "loop").symlink_to(root)
    project = load_project(root)
    assert list(project.agents) == ["A"]
    assert [(one.file, one.code) for one in project.diagnostics] == [("b.agent.abl", "E346"), ("c.agent.abl", "E346")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_Q1_a_folder_that_cannot_be_read(folder: Folder) -> None:
    root = folder({"a.agent.abl": "AGENT: A\nGOAL: g\n", "shut/b.agent.abl": "AGENT: B\nGOAL: g\n"})
    (root / "shut").chmod(0)
    try:
        with pytest.raises(BadInput, match="cannot be read"):
            load_project(root)
    finally:
        (root / "shut").chmod(0o700)


def test_a_folder_named_like_an_agent_is_no_file(folder: Folder) -> None:
    root = folder({"a.agent.abl": "AGENT: A\nGOAL: g\n", "odd.agent.abl/b.agent.abl": "AGENT: B\nGOAL: g\n"})
    assert sorted(load_project(root).agents) == ["A", "B"]


def test_two_hundred_agents_with_twenty_routes_are_read_without_a_word(folder: Folder) -> None:
    names = [f"Agent_{n}" for n in range(200)]
    files = {}
    for n, name in enumerate(names):
        routes = "".join(
            f'  - TO: {names[(n + k) % 200]}\n    WHEN: intent.category == "i{k}" AND order_id IS SET\n'
            f"    PASS: [order_id]\n    HISTORY:\n      mode: last_n\n      count: {k}\n    RETURN: true\n"
            for k in range(1, 21)
        )
        files[f"agents/{name.lower()}.agent.abl"] = (
            f"AGENT: {name}\nGOAL: g\nGATHER:\n  order_id:\n    PROMPT: Which?\nCOMPLETE:\n  - WHEN: order_id IS SET\n"
            f"HANDOFF:\n{routes}"
        )
    root = folder(files)
    project = load_project(root)
    assert project.diagnostics == ()
    assert sum(len(agent.routes) for agent in project.agents.values()) == 4000
