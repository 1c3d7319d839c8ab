"""Every code once where it belongs and once where it does not, and no other code as warning or error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from runtime.abl import CODES, check, compile_text, has_errors, load_project
from runtime.abl.diagnostics import Code
from runtime.errors import BadInput
from runtime.values.diagnostic import Diagnostic

Folder = Callable[[dict[str, str]], Path]

HEAD = "AGENT: Caller\nGOAL: g\n"
ROUTE = "HANDOFF:\n  - TO: Target\n    WHEN: a == 1\n    HISTORY: {history}\n"


def one_route(*lines: str, head: str = "") -> str:
    entry = "".join(f"    {line}\n" for line in lines)
    return f"{HEAD}{head}HANDOFF:\n  - TO: Target\n{entry}"


GATHER = "GATHER:\n  pin:\n    PROMPT: Pin?\n"
GIVEN = ("PASS: [pin]", "HISTORY: last_3")

POSITIVE: list[tuple[Code, str, int, int]] = [
    ("E330", one_route("HISTORY:", "  mode: recent"), 6, 13),
    ("E331", one_route("HISTORY:", "  mode: last_n"), 6, 7),
    ("W330", one_route("HISTORY: recent"), 5, 14),
    ("W331", one_route("HISTORY:", "  mode: last_n", "  count: 0"), 7, 14),
    ("W332", one_route("HISTORY: summary_only"), 5, 5),
    ("W333", one_route("CONTEXT:", "  HISTORY: none"), 6, 7),
    ("W340", one_route("PASS: [pin]", "HISTORY: last_3"), 5, 12),
    ("E343", HEAD + "BEHAVIOR:\n  role: router\n", 3, 1),
    ("E344", HEAD + "GOAL: h\n", 3, 1),
    ("W345", one_route("HISTROY: none"), 5, 5),
    ("E346", one_route("WHEN: a == "), 5, 15),
    ("I330", one_route("WHEN: a == 1"), 4, 3),
    ("I331", one_route("HISTORY: none"), 5, 5),
    ("I332", one_route("HISTORY: last_0"), 5, 14),
    ("I333", one_route("HISTORY: full"), 5, 5),
    ("I350", HEAD + "GUARDRAILS:\n  x:\n    kind: input\n", 3, 1),
]


@pytest.mark.parametrize(("code", "text", "line", "column"), POSITIVE, ids=[row[0] for row in POSITIVE])
def test_code_where_it_belongs(code: Code, text: str, line: int, column: int) -> None:
    _, found = compile_text(text, "a.agent.abl")
    (only,) = [one for one in found if one.code == code]
    assert (only.file, only.line, only.column) == ("a.agent.abl", line, column)
    assert only.severity == {"E": "error", "W": "warning", "I": "info"}[code[0]]


def test_every_code_has_a_place_here() -> None:
    assert set(CODES) == set(get_args(Code))
    assert {row[0] for row in POSITIVE} | {"E341", "W342"} == set(CODES)


NEGATIVE: list[tuple[Code, str]] = [
    ("E330", one_route("HISTORY:", "  mode: none")),
    ("E331", one_route("HISTORY:", "  mode: last_n", "  count: 1")),
    ("W330", one_route("HISTORY: AUTO")),
    ("W331", one_route("HISTORY:", "  mode: last_n", "  count: 1")),
    ("W332", one_route("HISTORY: summary_only", "SUMMARY: why")),
    ("W333", one_route("CONTEXT:", "  history: none", "PASS: [pin]")),
    ("W340", one_route(*GIVEN, head=GATHER)),
    ("E343", one_route("HISTORY: auto", head="BEHAVIOR:\n  role: router\n")),
    ("E344", HEAD + "INSTRUCTIONS: a\nINSTRUCTIONS: b\nGATHER:\n  a:\nGATHER:\n  b:\n"),
    ("W345", one_route("history: none", "expect_return: false")),
    ("E346", one_route("WHEN: the customer is upset")),
    ("I330", one_route("HISTORY: recent")),
    ("I331", one_route("HISTORY: none", "SUMMARY: why")),
    ("I332", one_route("HISTORY: last_1")),
    ("I333", one_route("HISTORY: last_99")),
    ("I350", HEAD + "ON_START:\n  RESPOND: hello\n"),
]


@pytest.mark.parametrize(("code", "text"), NEGATIVE, ids=[row[0] for row in NEGATIVE])
def test_code_where_it_does_not_belong(code: Code, text: str) -> None:
    _, found = compile_text(text, "a.agent.abl")
    assert code not in [one.code for one in found]


CALLER = one_route("WHEN: a == 1", "HISTORY: auto", "RETURN: true").replace("AGENT: Caller", "SUPERVISOR: Caller")
TARGET = "AGENT: Target\nGOAL: g\nCOMPLETE:\n  - WHEN: done\n"


def codes_of(project: Path) -> list[str]:
    return [one.code for one in load_project(project).diagnostics if one.severity != "info"]


def test_E341_and_W342_need_the_whole_project(folder: Folder) -> None:
    project = folder({"agents/caller.agent.abl": CALLER})
    (only,) = load_project(project).diagnostics
    assert (only.code, only.file, only.line, only.column) == ("E341", "agents/caller.agent.abl", 4, 9)
    assert check([project / "agents/caller.agent.abl"]) == []
    folder({"agents/deep/down/target.agent.abl": "AGENT: Target\nGOAL: g\n"})
    assert codes_of(project) == ["W342"]
    folder({"agents/deep/down/target.agent.abl": TARGET})
    assert codes_of(project) == []


def test_E341_suggests_the_name_that_was_meant(folder: Folder) -> None:
    project = folder({"a.agent.abl": CALLER, "b.agent.abl": TARGET.replace("Target", "target")})
    (only,) = load_project(project).diagnostics
    assert only.code == "E341"
    assert "write target" in only.message


def test_E341_is_not_for_remote_targets(folder: Folder) -> None:
    remote = CALLER.replace("    RETURN: true", "    ENDPOINT: http://127.0.0.1:1/x\n    RETURN: true")
    assert codes_of(folder({"a.agent.abl": remote})) == []


def test_E346_two_agents_of_one_name(folder: Folder) -> None:
    project = folder({"a.agent.abl": TARGET, "b.agent.abl": TARGET})
    (only,) = load_project(project).diagnostics
    assert (only.code, only.file) == ("E346", "b.agent.abl")
    assert "a.agent.abl" in only.message


def test_H6_a_project_with_errors_does_not_run(folder: Folder) -> None:
    assert not load_project(folder({"a.agent.abl": CALLER})).runs
    assert load_project(folder({"b.agent.abl": TARGET})).runs


@pytest.mark.parametrize(
    ("written", "codes"),
    [
        ("GOAL: g\n", ["E346"]),
        ("AGENT:\nGOAL: g\n", ["E346"]),
        ("AGENT: A\n", ["E346"]),
        ("", ["E346"]),
        ("AGENT: A\nGOAL: g\nSUPERVISOR: B\n", ["E344"]),
        ("AGENT: A\nGoal: g\nGOAL: g\n", ["W345"]),
        ("AGENT: A\nGOAL: g\nMODEL: x\n", ["W345"]),
        ("AGENT: A\nGOAL: g\nHANDOF:\n  - TO: B\n", ["W345"]),
        ("AGENT: A\nGOAL: g\nsome words at the margin\n", ["E346"]),
        ("AGENT: A\nGOAL: g\n/* never closed\n", ["E346"]),
        ("AGENT: A\nGOAL: g\nHANDOFF: # routes\n  - TO: B\n    HISTORY: auto\n", ["E346"]),
        ("AGENT: A\nGOAL: g\nHANDOFF:\n  - WHEN: x\n    TO: B\n", ["E346"]),
        ('AGENT: A\nGOAL: g\nHANDOFF:\n  - TO: "B"\n', ["E346"]),
        ("AGENT: A\nGOAL: g\nHANDOFF:\n  - TO: Order-Agent\n", ["E346"]),
        ("AGENT: A\nGOAL: g\nCOMPLETE:\n  - WHEN: when the customer is happy\n", ["E346"]),
        ("AGENT: A\nGOAL: g\nCOMPLETE:\n  WHEN: done\n", ["E346"]),
        ("AGENT: A\nGOAL: g\nTOOLS:\n  f(a: string -> x\n", ["E346"]),
        ("AGENT: A\nGOAL: g\nTOOLS:\n  f()\n  f()\n", ["E346"]),
        ("AGENT: A\nGOAL: g\nMEMORY:\n  session:\n    - a\n    - a\n", ["E346"]),
        ("AGENT: A\nGOAL: g\nGATHER:\n  a:\n    REQUIRED: True\n", ["W345"]),
        ("AGENT: A\nGOAL: g\nGATHER:\n  a:\n    VALIDATE: pattern((a)\\1)\n", ["E346"]),
        ("AGENT: A\nGOAL: g\nBEHAVIOR:\n  role: boss\n", ["W345"]),
        ("AGENT: A\nGOAL: g\nON_START:\n  RESPOND: TEMPLATE(hello)\n", ["W345"]),
        ('AGENT: A\nGOAL: g\nON_START:\n  RESPOND: "{{#if a}}b"\n', ["E346"]),
        ('AGENT: A\nGOAL: g\nCOMPLETE:\n  - WHEN: CONTAINS(a, "b")\n', ["W345"]),
        ("AGENT: A\nGOAL: g\nCOMPLETE:\n  - WHEN: a = 1\n", ["E346"]),
    ],
)
def test_what_is_wrong_in_one_file(written: str, codes: list[str]) -> None:
    _, found = compile_text(written, "a.agent.abl")
    assert [one.code for one in found if one.severity != "info"] == codes


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("ON_RETURN: continue", []),
        ("ON_RETURN: wrap_up", []),
        ("ON_RETURN: something", ["W345"]),
        ("ON_RETURN:\n      action: continue\n      handler: wrap_up", ["E346"]),
        ("ON_FAILURE: escalate", []),
        ('ON_FAILURE: RESPOND "sorry"', []),
        ("ON_FAILURE: retry", ["E346"]),
        ("PRIORITY: high", ["E346"]),
        ("RETURN: yes", ["W345"]),
        ("LOCATION: remote", ["E346"]),
        ("ENDPOINT: http://h/x\n    PROTOCOL: carrier", ["E346"]),
        ("SET:\n      nothing here", ["E346"]),
        ("PASS: [order_id", ["E346"]),
        ("RESPOND: null", ["W345"]),
    ],
)
def test_what_is_wrong_in_one_route(line: str, codes: list[str]) -> None:
    handlers = "RETURN_HANDLERS:\n  wrap_up:\n    RESPOND: bye\n    CONTINUE: true\n"
    text = one_route("RETURN: true", "HISTORY: auto", line, head=handlers + GATHER.replace("pin", "order_id"))
    _, found = compile_text(text, "a.agent.abl")
    assert [one.code for one in found if one.severity != "info"] == codes


def test_findings_come_in_file_order_and_once() -> None:
    _, found = compile_text(one_route("HISTORY: recent", "PASS: [x, y]"), "a")
    assert found == sorted(found, key=lambda one: (one.line or 0, one.column or 0))
    assert len(found) == len(set(found)) == 3
    assert not has_errors(found)


def test_shipped_projects_have_no_error_and_no_warning() -> None:
    root = Path(__file__).parents[2] / "seeds"
    loud: list[Diagnostic] = [one for one in check([root / "retail", root / "clinic"]) if one.severity != "info"]
    assert loud == []


def test_Q1_paths_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        check([tmp_path / "gone.agent.abl"])
    with pytest.raises(BadInput, match="no such file"):
        check([tmp_path / "gone"])
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(BadInput, match="expected here"):
        check([tmp_path / "notes.txt"])
    with pytest.raises(BadInput, match=r"no \*.agent.abl file"):
        check([tmp_path])
