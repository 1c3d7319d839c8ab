"""Agent files: strict, every problem with file, line and field, and windows exactly as S3 says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agents import (
    agents_beside,
    check_agent,
    load_agent,
    refuse_circles,
    shipped_agent,
    shipped_agent_names,
    with_delegates,
)
from runtime.errors import BadInput, ConfigurationError
from runtime.values.agent import Agent, Budget, FitLimits, TierSpec


def write(folder: Path, text: str, name: str = "a.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


WHOLE = """\
agent: notes
description: keeps notes
instructions: |
  Answer briefly.
historyWindow: 3
tiers: [offline, {model: "openai:small@http://h:1/v1", contextTokens: 128000}]
tools: [set-tone, my.tools:run]
stateViews: [tone]
delegates: [researcher]
nudges: 1
budget: {steps: 2, toolCalls: 3, seconds: 1.5, tokens: 400}
fit: {contextTokens: 1000, reserveTokens: 0}
"""


def test_an_agent_file_is_read_whole(tmp_path: Path) -> None:
    path = write(tmp_path, WHOLE)
    assert load_agent(path) == Agent(
        name="notes",
        description="keeps notes",
        instructions="Answer briefly.\n",
        window=3,
        tiers=(TierSpec("offline"), TierSpec("openai:small@http://h:1/v1", 128_000)),
        tools=("set-tone", "my.tools:run"),
        state_views=("tone",),
        delegates=("researcher",),
        nudges=1,
        budget=Budget(2, 3, 1.5, 400),
        fit=FitLimits(1000, 0),
        file=str(path),
        line=1,
    )


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    path = write(tmp_path, "agent: bare\ntools:\n")
    assert load_agent(path) == Agent("bare", file=str(path), line=1)


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("", 6),
        ("historyWindow: 0", 0),
        ("historyWindow: 1", 1),
        ("historyWindow: -2", -2),
        ("historyWindow: all", "all"),
        ("historyWindow: 007", 7),
        ("historyWindow: -0", 0),
        (f"historyWindow: {10**19}", 10**19),
    ],
)
def test_S3_C06_a_window_left_out_is_6_and_zero_stays_zero(tmp_path: Path, written: str, window: object) -> None:
    assert load_agent(write(tmp_path, f"agent: a\n{written}\n")).window == window


@pytest.mark.parametrize(
    "written",
    ["true", '"3"', "'3'", "2.5", "", "~", "null", "six", "ALL", "+3", "1_000", "3 4", "[3]", "{n: 3}", "0x3", "1e1",
     "|\n  3", "- 3", "٣", "--1", '"all"'],
)  # fmt: skip
def test_S3_any_other_window_is_an_error_with_file_line_and_field(tmp_path: Path, written: str) -> None:
    path = write(tmp_path, f"agent: a\nhistoryWindow: {written}\n")
    with pytest.raises(BadInput) as raised:
        load_agent(path)
    error = raised.value
    assert (error.file, error.line) == (str(path), 2)
    if written != "- 3":  # this one is no YAML
        assert error.field == "historyWindow"
        assert "a window is a whole number or all" in error.problem


@pytest.mark.parametrize(
    ("line", "field", "problem"),
    [
        ("historywindow: 3", "historywindow", "did you mean historyWindow?"),
        ("history_window: 3", "history_window", "did you mean historyWindow?"),
        ("zzz: 3", "zzz", "is not known here; known are agent"),
        ("nudges: -1", "nudges", "should be a whole number of 0 or more, not '-1'"),
        ('nudges: "2"', "nudges", "not the quoted text '2'"),
        ("budget: {steps: many}", "budget.steps", "should be a whole number of 0 or more"),
        ("budget: {seconds: soon}", "budget.seconds", "should be a number of seconds"),
        ("budget: {step: 3}", "budget.step", "did you mean steps?"),
        ("budget: 3", "budget", "should be a table of keys and values, not a text"),
        ("fit: {contextTokens: 0}", "fit.contextTokens", "of 1 or more"),
        ("tiers: []", "tiers", "names no model"),
        ("tiers: ['']", "tiers[1]", "is empty"),
        ("tiers: [{contextTokens: 3}]", "tiers[1].model", "is missing"),
        ("tools: [set-tone, set-tone]", "tools[2]", "names set-tone a second time"),
        ("tools: {a: b}", "tools", "should be a list, not a table"),
        ("tools: [[a]]", "tools[1]", "should be a text, not a list"),
        ("tools: [set-tone]\ndelegates: [set-tone]", "delegates", "is also the name of a tool"),
        ("instructions: [a]", "instructions", "should be a text, not a list"),
    ],
)
def test_Q1_an_error_names_file_line_and_field(tmp_path: Path, line: str, field: str, problem: str) -> None:
    path = write(tmp_path, f"agent: a\n{line}\n")
    with pytest.raises(BadInput) as raised:
        load_agent(path)
    error = raised.value
    assert (error.file, error.line, error.field) == (str(path), 2 + line.count("\n"), field)
    assert problem in error.problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("historyWindow: 3", "is missing"),
        ("agent: ''", "is empty"),
        ("agent: ../x", "a name is up to 64 letters"),
        ("agent: two words", "a name is up to 64 letters"),
        ("- agent: a", "should be a table of keys and values, not a list"),
        ("just text", "should be a table"),
        ("", "is missing"),
    ],
)
def test_Q1_an_agent_has_a_name(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        load_agent(write(tmp_path, text))


def test_check_lists_every_problem_in_one_go(tmp_path: Path) -> None:
    text = "agent: a\nhistoryWindow: x\nnudge: 2\ntools: [set-tome]\ntiers: [ofline]\nbudget:\n  steps: '3'\n"
    found = check_agent(write(tmp_path, text))
    assert [(d.line, d.column, d.code, d.severity, d.field) for d in found] == [
        (2, 16, "S104", "error", "historyWindow"),
        (7, 10, "S105", "error", "budget.steps"),
        (3, 1, "S101", "error", "nudge"),
        (4, 8, "S108", "error", "tools"),
        (5, 8, "S108", "warning", "tiers"),
    ]
    assert "did you mean set-tone?" in found[3].message


def test_check_of_what_is_no_yaml_is_one_problem(tmp_path: Path) -> None:
    found = check_agent(write(tmp_path, "agent: a\nx: [\n"))
    assert [(d.code, d.line) for d in found] == [("S100", 3)]


def test_delegates_are_found_beside_then_in_agents_then_shipped(tmp_path: Path) -> None:
    write(tmp_path, "agent: one\nhistoryWindow: 1\n", "one.yaml")
    write(tmp_path, "agent: one\nhistoryWindow: 2\n", "agents/one.yaml")
    write(tmp_path, "agent: two\nhistoryWindow: 2\n", "agents/two.yaml")
    find = agents_beside(tmp_path)
    windows = {name: agent.window for name in ("one", "two") if (agent := find(name))}
    assert windows == {"one": 1, "two": 2}
    assert find("nobody") is None
    shipped = find("notes")
    assert shipped is not None
    assert shipped.shipped
    write(tmp_path, "agent: other\n", "three.yaml")
    with pytest.raises(BadInput, match=r"three\.yaml:1: agent: the file of agent three calls it other"):
        find("three")
    with pytest.raises(BadInput, match="is no name"):
        find("../one")


def test_T8_circles_of_delegates_are_a_configuration_error(tmp_path: Path) -> None:
    a = write(tmp_path, "agent: a\ndelegates: [b]\n", "a.yaml")
    write(tmp_path, "agent: b\ndelegates: [c, d]\n", "b.yaml")
    write(tmp_path, "agent: c\n", "c.yaml")
    write(tmp_path, "agent: d\ndelegates: [c, a]\n", "d.yaml")
    with pytest.raises(ConfigurationError, match=r"a\.yaml:1: delegates: delegates go in a circle: a -> b -> d -> a"):
        with_delegates(load_agent(a), agents_beside(tmp_path))
    assert [d.code for d in check_agent(a)] == ["S109"]


def test_T8_an_agent_that_delegates_to_itself_is_a_circle() -> None:
    with pytest.raises(ConfigurationError, match="a -> a"):
        refuse_circles({"a": Agent("a", delegates=("a",))})


def test_T8_two_ways_to_the_same_delegate_are_no_circle() -> None:
    agents = {name: Agent(name, delegates=to) for name, to in
              {"a": ("b", "c"), "b": ("d",), "c": ("d",), "d": ()}.items()}  # fmt: skip
    refuse_circles(agents)


@given(st.integers(2, 2000))
def test_T8_a_long_chain_is_no_circle_until_it_closes(length: int) -> None:
    chain = {str(n): Agent(str(n), delegates=(str(n + 1),)) for n in range(length)}
    with pytest.raises(ConfigurationError, match="0 -> 1"):
        refuse_circles({"0": chain["0"]} | chain | {str(length): Agent(str(length), delegates=("0",))})


def test_T8_a_delegate_nobody_knows_is_a_configuration_error(tmp_path: Path) -> None:
    path = write(tmp_path, "agent: a\ndelegates: [reseacher]\n")
    with pytest.raises(ConfigurationError, match="there is no agent reseacher; did you mean researcher"):
        with_delegates(load_agent(path), agents_beside(tmp_path))


def test_shipped_agents_load_and_keep_the_names_of_their_files() -> None:
    names = shipped_agent_names()
    assert {"notes", "researcher"} <= set(names)
    for name in names:
        agent = shipped_agent(name)
        assert (agent.name, agent.shipped) == (name, True)
        assert check_agent(agent.file) == []
    with pytest.raises(ConfigurationError, match="did you mean notes"):
        shipped_agent("nots")


@given(st.text(alphabet="agent: 0\n[]{}'\"-all,tools#", max_size=80))
def test_Q1_any_text_is_an_agent_or_one_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text("agent: a\n" + text)
    errors = [found for found in check_agent(path) if found.severity == "error" and found.code not in ("S108", "S109")]
    error = error_of(path)
    assert bool(errors) == (error is not None)
    assert error is None or (error.file == str(path) and "\n" not in str(error))


def error_of(path: Path) -> BadInput | None:
    try:
        load_agent(path)
    except BadInput as error:
        return error
    return None
