"""`studio-tui converse`, and what other commands tell of its threads: plain words, one document, nothing secret."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from studio_tui.cli import main

SEEDS = Path(__file__).parents[2] / "seeds"
PIN = re.compile(r"(?<![\w.])4821(?!\w)")
"""The secret, told from digits of a number that happens to hold them."""

CLINIC = ["--say", "Please identify me", "--say", "P-3071", "--say", "my pin is 4821"]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main([str(word) for word in words])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_converse_says_one_message_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    says = ["--say", "Where is my parcel?", "--say", "ORD-48213"]
    status, out, err = run(capsys, "converse", SEEDS / "retail", "--agent", "Retail_Hub", "--store", "memory:", *says)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "> Where is my parcel?",
        "Retail_Hub: Nothing in my context answers that.",
        "Which order is it? The number looks like ORD-48213.",
        "> ORD-48213",
        "    handoff Retail_Hub → Order_Status_Agent  none (route)  asked 0, copied 0, matches  "
        "agents/retail-hub.agent.abl:27",
        "Order_Status_Agent: Order ORD-48213 has left the warehouse and is on the road.",
    ]


def test_converse_json_is_one_document_of_the_shape_of_CLI(capsys: pytest.CaptureFixture[str]) -> None:
    says = ["--say", "hello", "--say", "I want to return it", "--say", "ORD-48213"]
    status, out, _ = run(capsys, "converse", SEEDS / "retail", "--json", "--store", "memory:", *says)
    found = json.loads(out)
    assert status == 0
    assert set(found) == {"threads", "turns", "events", "replies"}
    hub, returns = found["threads"]
    assert (hub["agent"], hub["parent"], hub["status"]) == ("Retail_Hub", None, "completed")
    assert (returns["agent"], returns["parent"], returns["status"]) == ("Returns_Agent", hub["id"], "active")
    assert {"seq", "role", "text"} <= set(returns["messages"][0])
    (event,) = found["events"]
    wanted: dict[str, Any] = {
        "event": "handoff", "from": "Retail_Hub", "to": "Returns_Agent", "route": "agents/retail-hub.agent.abl:34",
        "written": "mode last_n, count 6", "strategy": "last_6", "source": "route", "requested": 6, "copied": 5,
        "left_out": [], "trigger": {"seq": 5, "copied": True}, "matches": True,
    }  # fmt: skip
    assert {key: event[key] for key in wanted} == wanted
    assert [turn["agent"] for turn in found["turns"]] == ["Retail_Hub"] * 3 + ["Returns_Agent"]
    assert [turn["handoff"]["decision"] for turn in found["turns"]] == ["ask", "ask", "handoff", "ask"]
    assert len(found["replies"]) == 3


def test_converse_takes_a_default_for_history(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.agent.abl").write_text('AGENT: A\nGOAL: "a"\nHANDOFF:\n  - TO: B\n    WHEN: true\n')
    (tmp_path / "b.agent.abl").write_text('AGENT: B\nGOAL: "b"\n')
    words = ["converse", tmp_path, "--json", "--store", "memory:", "--agent", "A", "--say", "hi"]
    for given, strategy, warned in (
        (["--history-default", "last_3"], "last_3", False),
        (["--history-default", "off"], "full", True),
        ([], "full", False),
    ):
        status, out, err = run(capsys, *words, *given)
        assert (status, json.loads(out)["events"][0]["strategy"], "not recognised" in err) == (0, strategy, warned)


def test_Q1_what_cannot_be_conversed_with_is_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    say = ["--store", "memory:", "--say", "hi"]
    status, out, err = run(capsys, "converse", tmp_path, *say)
    assert (status, out) == (2, "")
    assert "no *.agent.abl file" in err
    (tmp_path / "a.agent.abl").write_text(
        'AGENT: A\nGOAL: "a"\nHANDOFF:\n  - TO: B\n    HISTORY:\n      mode: recent\n'
    )
    status, _, err = run(capsys, "converse", tmp_path, *say)
    assert status == 2
    assert "a.agent.abl:" in err
    assert "E3" in err
    status, _, err = run(capsys, "converse", SEEDS / "retail", "--agent", "Nobody", *say)
    assert status == 2
    assert "no agent 'Nobody'" in err
    assert run(capsys, "converse", SEEDS / "retail")[0] == 2
    store = ["--store", tmp_path / "s.db"]
    status, _, err = run(capsys, "converse", SEEDS / "retail", "--model", "script", "--say", "hi", *store)
    assert status == 2
    assert "script" in err
    assert json.loads(run(capsys, "threads", "--json", *store)[1]) == []


def test_C24_Q3_no_command_prints_a_sensitive_value(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store = ["--store", f"sqlite:///{tmp_path / 's.db'}"]
    status, out, _ = run(capsys, "converse", SEEDS / "clinic", *store, *CLINIC, "--json")
    assert status == 0
    found = json.loads(out)
    child = found["threads"][1]["id"]
    told = [out, run(capsys, "converse", SEEDS / "clinic", *store, *CLINIC)[1]]
    told.append(run(capsys, "show", child, *store)[1])
    told.append(run(capsys, "show", child, "--json", *store)[1])
    told.append(run(capsys, "threads", "--json", *store)[1])
    for turn in found["turns"]:
        told.append(run(capsys, "show", turn["turn"], *store)[1])
        told.append(run(capsys, "show", turn["turn"], "--json", *store)[1])
        told.append(run(capsys, "why", turn["turn"], "4821", *store)[1])
        told.append(run(capsys, "why", turn["turn"], "--ledger", *store)[1])
    for name in ("seed.yaml", "chat.json"):
        assert run(capsys, "export", child, "--out", tmp_path / name, *store)[0] == 0
        told.append((tmp_path / name).read_text())
    for text in told:
        assert text
        assert not PIN.search(text)
    assert "[sensitive: access_pin]" in told[1]
    assert "my pin is [sensitive: access_pin]" in (tmp_path / "chat.json").read_text()
    files = [*tmp_path.glob("s.db*")]
    assert any(b"4821" in file.read_bytes() for file in files)  # the store keeps it


def test_a_turn_that_does_not_complete_ends_the_conversation_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["converse", SEEDS / "retail", "--store", "memory:", "--model", "openai:x@http://127.0.0.1:9"]
    status, out, err = run(capsys, *words, "--say", "hi", "--say", "more")
    assert status == 1
    assert "did not complete" in err
    assert "1 more message was not said" in err
    assert "Retail_Hub: [failed" in out
