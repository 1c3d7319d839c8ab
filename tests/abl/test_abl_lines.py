"""Lines to a tree: indentation, pipe blocks, comments, line ends, and the shapes that files have in the wild."""

from __future__ import annotations

import pytest

from runtime.abl import compile_text
from runtime.abl.diagnostics import Findings
from runtime.abl.lines import Node, read_nodes, split_lines, text_of

PLAIN = """\
AGENT: Desk
GOAL: "Answer"
PERSONA: |
  Kind.

    # not a comment
  Short.
# a comment at the margin
GATHER:
  order_id:
    PROMPT: "Which?"
"""


def nodes(text: str) -> tuple[Node, ...]:
    return read_nodes(split_lines(text), Findings("f"))


def test_a_pipe_block_keeps_its_lines_and_its_hashes() -> None:
    persona = nodes(PLAIN)[2]
    assert persona.block == "Kind.\n\n  # not a comment\nShort."
    assert [node.key for node in nodes(PLAIN)] == ["AGENT", "GOAL", "PERSONA", "GATHER"]


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_do_not_matter(end: str) -> None:
    one, found = compile_text(PLAIN.replace("\n", end), "f")
    assert (one, found) == compile_text(PLAIN, "f")


def test_C70_a_byte_order_mark_loses_nothing() -> None:
    assert compile_text("\ufeff" + PLAIN, "f") == compile_text(PLAIN, "f")


def test_no_final_newline() -> None:
    assert compile_text(PLAIN.rstrip("\n"), "f") == compile_text(PLAIN, "f")


def test_tabs_indent() -> None:
    agent, found = compile_text("AGENT: A\nGOAL: g\nGATHER:\n\torder_id:\n\t\tPROMPT: Which?\n", "f")
    assert agent is not None
    assert (agent.fields[0].prompt, found) == ("Which?", [])


def test_any_deeper_indentation_is_a_child() -> None:
    agent, found = compile_text(
        "AGENT: A\nGOAL: g\nHANDOFF:\n      - TO: B\n        PASS: []\n        CONTEXT:\n         history: none\n"
        "  - TO: C\n    HISTORY: auto\n",
        "f",
    )
    assert agent is not None
    assert [(route.to, route.history and route.history.read) for route in agent.routes] == [
        ("B", "none"),
        ("C", "auto"),
    ]
    assert [one.code for one in found] == ["I331"]


def test_comments_are_whole_lines() -> None:
    agent, found = compile_text(
        "// first\nAGENT: A\n/* more\n   GOAL: wrong\n*/\nGOAL: g # not a comment\n  # indented\n", "f"
    )
    assert agent is not None
    assert (agent.goal, found) == ("g # not a comment", [])


def test_goal_may_stand_below_its_key() -> None:
    agent, _ = compile_text('AGENT: A\nGOAL:\n  "Sell things"\n', "f")
    assert agent is not None
    assert agent.goal == "Sell things"


def test_a_block_in_a_list_entry() -> None:
    agent, found = compile_text(
        "AGENT: A\nGOAL: g\nCOMPLETE:\n  - WHEN: done\n    RESPOND: |\n      Two\n      lines\n    SET:\n      a = 1\n",
        "f",
    )
    assert agent is not None
    (only,) = agent.completions
    assert (only.respond, only.assignments[0].name, found) == ("Two\nlines", "a", [])


def test_a_block_below_a_bullets_own_key() -> None:
    (section,) = nodes("X:\n  - RESPOND: |\n    text\n  - RESPOND: |\n      text\n    SET: a = 1\n")
    assert [child.block for child in section.children] == ["text", "text"]
    assert [child.key for child in section.children[1].children] == ["SET"]


def test_an_indented_section_inside_gather_is_no_section_and_no_error() -> None:
    agent, found = compile_text(
        "AGENT: A\nGOAL: g\nGATHER:\n  a:\n    prompt: x\n TOOLS:\n    f() -> x\n    type: string\n", "f"
    )
    assert agent is not None
    assert [field.name for field in agent.fields] == ["a"]
    assert [(one.code, one.line) for one in found] == [("W345", 6)]


def test_indentation_too_deep_is_one_error_and_no_traceback() -> None:
    text = "AGENT: A\nGOAL: g\nFLOW:\n" + "".join(" " * n + "x:\n" for n in range(1, 400))
    _, found = compile_text(text, "f")
    assert "E346" in [one.code for one in found]


def test_size_is_bounded() -> None:
    _, found = compile_text("# x\n" * 30_000, "f")
    assert [one.code for one in found] == ["E346"]
    _, found = compile_text("x" * 1_000_001, "f")
    assert [one.code for one in found] == ["E346"]


def test_flow_steps_may_stand_at_the_margin() -> None:
    agent, found = compile_text(
        "AGENT: A\nGOAL: g\nFLOW:\n  steps: [one]\none:\n  RESPOND: hi\nCOMPLETE:\n  - WHEN: x\n", "f"
    )
    assert agent is not None
    (flow,) = agent.kept
    assert flow.text == "FLOW:\n  steps: [one]\none:\n  RESPOND: hi"
    assert [one.code for one in found] == ["I350"]


def test_text_of_a_key() -> None:
    (quoted, bare, below) = nodes('A: "x: y"\nB: "a" b\nC:\n  one\n  - two\n')
    assert [text_of(node) for node in (quoted, bare, below)] == ["x: y", '"a" b', "one\n- two"]


def test_S8_nul_and_surrogates_become_replacement_characters() -> None:
    agent, _ = compile_text("AGENT: A\nGOAL: a\x00b\ud83d\n", "f")
    assert agent is not None
    assert agent.goal == "a\ufffdb\ufffd"
