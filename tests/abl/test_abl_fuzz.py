"""Whatever a file holds, the compiler answers with diagnostics, never with a traceback, and in bounded time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.abl import CODES, compile_text
from runtime.abl.conditions import evaluate
from runtime.abl.templates import render

SEEDS = Path(__file__).parents[2] / "seeds"
FILES = [path.read_text(encoding="utf-8") for path in sorted(SEEDS.rglob("*.agent.abl"))]
RICH = (Path(__file__).parent / "rich.agent.abl").read_text(encoding="utf-8")
TEXTS = [*FILES, RICH]

PIECES = st.sampled_from(
    [
        "", " ", "  ", "\t", "\n", "\r", "|", "\"", "'", "[", "]", "{", "}", "(", ")", ":", "- ", "#", "//", "/*", "*/",
        "=", "==", "!", "-", "\x00", "\ufeff", "\u2028", "\ud800", "\U0001f600", "{{", "}}", "{{#if a}}", "{{/if}}",
        "GOAL:", "HANDOFF:", "  - TO: X\n", "HISTORY:", "mode: last_n", "count:", "WHEN: a == ", "CONTEXT:\n", "9" * 30,
        "(" * 90, "NOT " * 90, "pattern((a+)+$)", "MAP: {a", "TEMPLATE(x)", "GATHER:\n  ", "last_" + "9" * 40,
    ]
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A valid file with a few cuts, doublings, swaps and insertions."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        kind = draw(st.sampled_from(["cut", "put", "double", "line", "swap", "case"]))
        if kind == "cut":
            text = text[:start] + text[end:]
        elif kind == "put":
            text = text[:start] + draw(PIECES) + text[start:]
        elif kind == "double":
            text = text[:end] + text[start:]
        elif kind == "case":
            text = text[:start] + text[start:end].swapcase() + text[end:]
        else:
            lines = text.split("\n")
            one, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
            if kind == "swap":
                lines[one], lines[other] = lines[other], lines[one]
            else:
                lines[one] = draw(st.sampled_from(["", " ", "   ", "\t"])) + lines[one].lstrip()
            text = "\n".join(lines)
    return text


@pytest.mark.fuzz
@given(mutated())
def test_a_mutated_file_gives_diagnostics_and_never_a_traceback(text: str) -> None:
    agent, found = compile_text(text, "a.agent.abl")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for one in found:
        assert one.code in CODES
        assert one.line is not None
        assert one.column is not None
        assert 1 <= one.line <= len(lines)
        assert 1 <= one.column <= len(lines[one.line - 1]) + 1
        assert one.message
    if agent is not None:
        for route in agent.routes:
            requested = route.in_force(None).requested
            assert requested == "all" or requested >= 0
            if route.when.condition is not None:
                evaluate(route.when.condition, {"order_id": "x", "intent": {"category": "y"}})
            render(route.summary, {"order_id": "x"})
        for completion in agent.completions:
            render(completion.respond or "", {"order_id": "x"})
        for tool in agent.tools:
            tool.schema()
        assert sorted(route.order for route in agent.routes_in_turn) == list(range(len(agent.routes)))


@pytest.mark.fuzz
@given(st.text(max_size=300))
def test_any_text_gives_diagnostics(text: str) -> None:
    agent, found = compile_text(text, "a.agent.abl")
    assert agent is not None or found


def test_the_rich_file_is_correct() -> None:
    _, found = compile_text(RICH, "a.agent.abl")
    assert [one for one in found if one.severity != "info"] == []
