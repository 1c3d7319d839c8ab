"""Writing the window found into an agent's file: one line changes, and only after it could be shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agent_window import window_change, write_window
from runtime.agents import load_agent, shipped_agent
from runtime.errors import BadInput
from runtime.seeds import load_seed
from runtime.values.agent import Agent
from runtime.values.messages import Window

PLAIN = "# mine\nagent: clerk\ninstructions: |\n  Be brief.\nhistoryWindow: 6   # short\ntools: [find-notes]\n"


def written(tmp_path: Path, text: str, window: Window, name: str = "clerk.yaml") -> tuple[str, Agent]:
    path = tmp_path / name
    path.write_bytes(text.encode())
    change = window_change(load_agent(path), window)
    write_window(change)
    return path.read_bytes().decode(), load_agent(path)


def test_only_the_number_changes(tmp_path: Path) -> None:
    text, agent = written(tmp_path, PLAIN, 14)
    assert text == PLAIN.replace("historyWindow: 6 ", "historyWindow: 14 ")
    assert agent.window == 14


@pytest.mark.parametrize(
    "text",
    [
        "agent: clerk\ninstructions: Be brief.\n",
        "agent: clerk",
        "{agent: clerk, instructions: Be brief.}\n",
        "{agent: clerk, historyWindow: all}",
        "agent: clerk\r\ninstructions: Be brief.\r\n",
        'instructions: "a\n  b"\nagent: "clerk"\n',
        "agent:\n  clerk\ntools: []\n",
        "\ufeffagent: clerk\nhistoryWindow: 0\n",
    ],
)
@pytest.mark.parametrize("window", [0, 14, "all"])
def test_every_way_of_writing_the_file_takes_the_window(tmp_path: Path, text: str, window: Window) -> None:
    after, agent = written(tmp_path, text, window)
    assert agent.window == window
    assert agent.name == "clerk"
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert ("\r\n" in after) == ("\r\n" in text)
    if "\r\n" in text:
        assert "\n" not in after.replace("\r\n", "")


def test_the_difference_is_shown_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "clerk.yaml"
    path.write_text(PLAIN)
    change = window_change(load_agent(path), "all")
    assert "-historyWindow: 6   # short" in change.diff
    assert "+historyWindow: all   # short" in change.diff
    assert (change.was, change.window, change.line) == (6, "all", 5)
    assert path.read_text() == PLAIN


def test_a_file_that_says_it_already_has_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "clerk.yaml"
    path.write_text(PLAIN)
    assert window_change(load_agent(path), 6).diff == ()


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "clerk.yaml"
    path.write_text(PLAIN)
    change = window_change(load_agent(path), 9)
    path.write_text(PLAIN + "nudges: 1\n")
    with pytest.raises(BadInput, match="has changed"):
        write_window(change)
    assert path.read_text() == PLAIN + "nudges: 1\n"


def test_an_agent_written_in_place_changes_in_its_seed(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = "seed: mine\nagent:\n  agent: clerk\n  instructions: Be brief.\nmessages:\n  - user: hello\n"
    path.write_text(text)
    agent = load_seed(path).agents["clerk"]
    write_window(window_change(agent, 3))
    assert load_seed(path).agents["clerk"].window == 3
    assert load_seed(path).messages == load_seed(path).messages
    assert path.read_text().splitlines()[-2:] == ["messages:", "  - user: hello"]


def test_the_mode_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "clerk.yaml"
    path.write_text(PLAIN)
    path.chmod(0o640)
    write_window(window_change(load_agent(path), 3))
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["clerk.yaml"]


def test_a_copy_leaves_the_shipped_file_alone(tmp_path: Path) -> None:
    agent = shipped_agent("notes")
    before = Path(agent.file).read_bytes()
    change = window_change(agent, 14, to=tmp_path / "notes.yaml")
    assert Path(agent.file).read_bytes() == before
    (tmp_path / "notes.yaml").write_bytes(change.after)
    assert load_agent(tmp_path / "notes.yaml").window == 14


def test_Q1_an_agent_without_a_file_and_one_that_is_gone_are_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no file"):
        window_change(Agent("made"), 3)
    path = tmp_path / "clerk.yaml"
    path.write_text(PLAIN)
    agent = load_agent(path)
    path.write_text("agent: another\n")
    with pytest.raises(BadInput, match="no longer in this file"):
        window_change(agent, 3)
    path.unlink()
    with pytest.raises(BadInput, match="no such file"):
        window_change(agent, 3)


@given(
    before=st.lists(st.sampled_from(["# note", "nudges: 1", 'description: "x: y"', "tools: []", ""]), unique=True),
    after=st.lists(st.sampled_from(["stateViews: [tone]", "# end", "fit: {contextTokens: 900}"]), unique=True),
    window=st.one_of(st.integers(0, 10**6), st.just("all")),
    given_=st.sampled_from(["", "historyWindow: 2\n", "historyWindow:   all # c\n"]),
)
def test_whatever_stands_around_it_stays(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], after: list[str], window: Window, given_: str
) -> None:
    text = "".join(f"{line}\n" for line in before) + "agent: clerk\n" + given_ + "".join(f"{line}\n" for line in after)
    result, agent = written(tmp_path_factory.mktemp("agents"), text, window)
    assert agent.window == window
    left = [line for line in result.splitlines() if "historyWindow" not in line]
    assert left == [line for line in text.splitlines() if "historyWindow" not in line]
