"""The commands on real threads: what they print, and that `--json` is the documented shape."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from studio_tui.cli import main

SEED = """\
seed: mini
about: A fact that falls out of the window
agent:
  agent: mini
  instructions: Be brief.
  historyWindow: 2
  stateViews: [tone]
  tools: [set-tone]
state: {tone: brief}
messages:
  - user: The Friday draft is due on the 5th.
  - assistant: Noted.
  - user: What else?
  - assistant: Nothing else.
expect:
  - request: When is the Friday draft due?
    window: all
    context: {selected: 5}
    answer: {contains: ["5th"]}
    smallest: 5
  - request: When is the Friday draft due?
    context: {selected: 2, lacks: ["5th"]}
    sameAnswer: [0, 1, 2]
"""


class Ran:
    """What a command gave back."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        assert self.err == "", self.err
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on a store of the test's own."""
    monkeypatch.setenv("STUDIO_STORE", str(tmp_path / "studio.db"))

    def command(*words: str) -> Ran:
        capsys.readouterr()
        status = main(words)
        return Ran(status, *capsys.readouterr())

    return command


@pytest.fixture
def seed(tmp_path: Path) -> str:
    path = tmp_path / "mini.yaml"
    path.write_text(SEED, encoding="utf-8")
    return str(path)


def asked(run: Run, seed: str, *words: str) -> Any:
    return run("run", "--seed", seed, *words, "--json", "When is the Friday draft due?").json


def test_run_json_is_the_turn_record(run: Run, seed: str) -> None:
    record = asked(run, seed)
    assert list(record) == [
        "turn", "thread", "origin", "layout", "agent", "kind", "window", "at", "seconds", "context", "fit", "steps",
        "transcript", "tiers", "status", "reason", "error", "answer", "stored_user", "stored_assistant", "unstored",
        "handoff", "state", "usage",
    ]  # fmt: skip
    assert (record["window"], record["kind"], record["status"]) == (2, "envelope", "completed")
    assert record["context"]["stored"] == 5
    assert record["context"]["left_out"] == [{"from": 1, "to": 3, "reason": "older-than-window"}]
    assert (record["stored_user"], record["stored_assistant"]) == (5, 6)
    sent = {section["name"]: section["text"] for section in record["steps"][0]["body"]["sections"]}
    assert sent == {section["name"]: section["text"] for section in record["context"]["sections"]}
    assert record["fit"]["estimate"] == record["steps"][0]["estimate"] == sum(record["steps"][0]["parts"].values())


@pytest.mark.parametrize(
    ("window", "selected"), [("-1", 0), ("0", 0), ("1", 1), ("all", 5), ("10000000000000000000", 5)]
)
def test_S3_every_window_from_the_command_line(run: Run, seed: str, window: str, selected: int) -> None:
    assert asked(run, seed, "--window", window)["context"]["selected"] == selected


def test_run_for_people_shows_context_steps_answer_and_finding(run: Run, seed: str) -> None:
    ran = run("run", "--seed", seed, "When is the Friday draft due?")
    assert ran.status == 0
    assert "CONTEXT  2 of 5 stored messages" in ran.out
    assert "left out: older-than-window" in ran.out
    assert "(also the request)" in ran.out
    assert "no LLM: quotes only what it sees" in ran.out
    assert "ENDED    completed; the answer is stored as seq 6" in ran.out
    assert "FINDING  turn 1: window 2 selected 2 of 5 stored messages (seq 4-5); seq 1-3 left out" in ran.out


def test_A5_run_for_people_marks_a_state_view_that_changed(run: Run, seed: str) -> None:
    ran = run("run", "--seed", seed, "Set the tone to detailed")
    assert "! tone: step 1 set it to detailed; this text did not change" in ran.out
    assert "and not 1 call, 1 result" in ran.out


def test_run_on_a_thread_goes_on_there(run: Run, seed: str) -> None:
    first = asked(run, seed)
    second = run("run", "--thread", first["thread"], "--json", "And then?").json
    assert second["thread"] == first["thread"]
    assert second["stored_user"] == 7
    assert second["context"]["since"]["turn"] == first["turn"]


def test_S5_run_brief_stores_nothing(run: Run, seed: str) -> None:
    record = asked(run, seed, "--brief")
    assert (record["kind"], record["stored_user"], record["stored_assistant"]) == ("brief", None, None)
    assert record["unstored"] == {"user": "brief-turn", "assistant": "brief-turn"}
    assert len(run("show", record["thread"], "--json").json["messages"]) == 4


def test_S4_an_unknown_thread_is_an_error(run: Run) -> None:
    ran = run("run", "--thread", "nope", "hi")
    assert (ran.status, ran.out, ran.err) == (2, "", "error: unknown thread 'nope'\n")


def test_Q1_a_blank_request_is_refused(run: Run, seed: str) -> None:
    ran = run("run", "--seed", seed, "  ")
    assert (ran.status, ran.out) == (2, "")
    assert "a request needs a text" in ran.err


def test_attaching_an_image_and_refusing_anything_else(run: Run, seed: str, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    picture.write_bytes(b"\x89PNG")
    record = asked(run, seed, "--attach", str(picture))
    rows = run("show", record["thread"], "--json").json["messages"]
    assert rows[4]["parts"][0]["name"] == "p.png"
    for name, said in ((seed, "only images can be attached"), (str(tmp_path / "no.png"), "cannot be read")):
        ran = run("run", "--seed", seed, "--attach", name, "hi")
        assert ran.status == 2
        assert said in ran.err


def test_why_by_seq_and_by_text(run: Run, seed: str) -> None:
    turn = asked(run, seed)["turn"]
    ran = run("why", turn, "--seq", "1")
    assert ran.status == 0
    assert ran.out == (
        "seq 1 is not in the context of turn 1: older-than-window; window 2 took seq 4-5; a window of 5 or more would "
        "include it.\n"
    )
    told = run("why", turn, "friday DRAFT is due on", "--json").json
    assert (told["verdict"], told["seq"], told["needs"], told["reason"]) == ("out", 1, 5, "older-than-window")
    assert told["sentence"].startswith('seq 1 says "friday DRAFT is due on" and is not in the context of turn 1')
    assert run("why", "nope", "--seq", "1").err == "error: unknown turn 'nope'\n"


def test_X1_why_finds_a_tool_result_of_an_earlier_turn(run: Run) -> None:
    first = run("run", "--seed", "forgotten-result", "--json", "Is order A-1042 on its way?").json
    second = run("run", "--thread", first["thread"], "--json", "And on which day does it arrive?").json
    ran = run("why", second["turn"], "12 May")
    assert ran.out == (
        '"12 May" stands in a result of look-up-order in step 1 of turn 1, transcript-only: calls and results live in '
        "their own turn and are never stored, so no window brings it to turn 2.\n"
    )


def test_T8_a_delegated_turn_stands_whole_under_its_result(run: Run) -> None:
    record = run("run", "--seed", "researcher", "--json", "Ask the researcher to find the notes about the ferry").json
    results = [result for item in record["transcript"] if item["item"] == "tools" for result in item["results"]]
    child = results[0]["turn"]
    assert list(child) == list(record)
    assert (child["kind"], child["thread"], child["unstored"]["user"]) == ("child", record["thread"], "child-turn")
    shown = run("show", record["turn"])
    assert f"delegated to {child['agent']}, window 0, {child['turn']}: completed" in shown.out


def test_F3_run_says_what_is_to_blame_for_an_overflow(run: Run) -> None:
    ran = run("run", "--seed", "no-room", "Is a bicycle a vehicle?")
    assert ran.status == 1
    assert "no window can help turn 1: without any history it is still" in ran.out
    assert "to blame: the instructions (" in ran.out
    huge = run("run", "--seed", "one-huge-message", "Why does the link step fail?", "--json")
    record = json.loads(huge.out)
    assert (huge.status, record["status"], record["reason"]) == (1, "failed", "fit-overflow")
    assert record["fit"]["estimate"] + record["fit"]["reserve"] > record["fit"]["limit"]
    assert sum(record["steps"][-1]["parts"].values()) == record["fit"]["estimate"]
    assert record["tiers"] == []


def test_X4_rerun_leaves_the_thread_as_it_was(run: Run, seed: str) -> None:
    record = asked(run, seed)
    before = run("show", record["thread"], "--json").json["messages"]
    again = run("rerun", record["turn"], "--window", "all", "--json").json
    assert (again["rerun_of"], again["window"], again["stored_user"]) == (record["turn"], "all", None)
    assert "5th" in again["answer"]
    assert run("show", record["thread"], "--json").json["messages"] == before
    told = run("rerun", record["turn"], "--window", "all", "--drop", "1")
    assert "dropped" in told.out
    assert "COMPARE  turn 1 (window 2) against re-run" in told.out


def test_X5_compare(run: Run, seed: str) -> None:
    record = asked(run, seed)
    again = run("rerun", record["turn"], "--window", "all", "--json").json
    told = run("compare", record["turn"], again["turn"], "--json").json
    assert [row["b"] for row in told["context"]["rows"] if row["in"] == "b"] == [1, 2, 3]
    assert told["answer"]["same"] is False
    ran = run("compare", record["turn"], again["turn"])
    assert "B     1  user       The Friday draft is due on the 5th." in ran.out
    assert "{+" in ran.out
    assert ran.out.rstrip().endswith(told["finding"])


def test_threads_and_show(run: Run, seed: str) -> None:
    assert run("threads").err.startswith("no threads yet")
    record = asked(run, seed)
    told = run("threads", "--json").json
    assert [(one["id"], one["stored"], one["origin"]) for one in told] == [(record["thread"], 6, "seed")]
    assert record["thread"] in run("threads").out
    shown = run("show", record["thread"])
    assert "1  user       The Friday draft is due on the 5th." in shown.out
    assert record["turn"] in shown.out
    assert run("show", record["turn"], "--json").json == record
    assert run("show", "nope").status == 2


def test_export_and_read_back_as_a_seed(run: Run, seed: str, tmp_path: Path) -> None:
    record = asked(run, seed)
    out = tmp_path / "out.yaml"
    ran = run("export", record["thread"], "--out", str(out))
    assert (ran.status, ran.out) == (0, "")
    assert "wrote 6 messages" in ran.err
    text = out.read_text(encoding="utf-8").replace("agent: mini\n", "")
    out.write_text(text, encoding="utf-8")
    again = run("run", "--seed", str(out), "--window", "all", "--json", "When?").json
    rows = again["context"]["sections"][0]["messages"]
    assert rows[0]["text"] == "The Friday draft is due on the 5th."
    refused = run("export", record["thread"], "--out", str(out))
    assert refused.status == 2
    assert "--force replaces it" in refused.err
    assert run("export", record["thread"], "--out", str(tmp_path / "x.txt")).status == 2


def test_Q2_export_keeps_control_characters_as_stored(run: Run, tmp_path: Path) -> None:
    chat = tmp_path / "c.json"
    text = "a\x1b[2Jb\x07\x9bc [/x]"
    chat.write_text(json.dumps([{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]))
    thread = run("import", str(chat), "--json").json["thread"]
    out = tmp_path / "out.json"
    run("export", thread, "--out", str(out))
    assert json.loads(out.read_text(encoding="utf-8"))[0]["content"] == text
    assert "\x1b" not in run("show", thread).out


def test_import_export_round_trip_of_calls(run: Run, tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "balance?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "balance", "arguments": '{"of":"me"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "300"},
        {"role": "assistant", "content": "300."},
    ]
    chat = tmp_path / "c.json"
    chat.write_text(json.dumps(messages))
    told = run("import", str(chat), "--json").json
    assert (told["format"], told["messages"], len(told["turns"])) == ("openai-chat", 4, 1)
    out = tmp_path / "out.json"
    run("export", told["thread"], "--out", str(out))
    assert json.loads(out.read_text(encoding="utf-8")) == messages
    shown = run("show", told["turns"][0])
    assert "imported: recorded are messages, calls, results, answer; inferred are" in shown.out


def test_import_as_a_seed_and_of_several(run: Run, tmp_path: Path) -> None:
    line = json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]})
    many = tmp_path / "many.jsonl"
    many.write_text(f"{line}\n{line}\n")
    ran = run("import", str(many))
    assert ran.status == 2
    assert "holds 2 conversations: name one with --pick" in ran.err
    out = tmp_path / "case.yaml"
    ran = run("import", str(many), "--pick", "2", "--out", str(out))
    assert ran.status == 0
    assert "- user: hi" in out.read_text(encoding="utf-8")
    assert run("import", str(tmp_path / "no.json")).status == 2


def test_delete(run: Run, seed: str) -> None:
    thread = asked(run, seed)["thread"]
    assert run("delete", thread, "--json").json == {"deleted": [thread]}
    assert run("delete", thread).err == f"error: unknown thread '{thread}'\n"


def test_check_prints_as_compilers_do(run: Run, seed: str, tmp_path: Path) -> None:
    assert run("check", seed).status == 0
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("agent: a\nhistoryWindow: true\n", encoding="utf-8")
    ran = run("check", str(wrong))
    assert ran.status == 1
    assert ran.out.startswith(f"{wrong}:2:16: error ")
    assert "    2 | historyWindow: true\n      |                ^\n" in ran.out
    told = run("check", str(tmp_path), "--json")
    found = json.loads(told.out)
    assert told.status == 1
    assert found["errors"] == 1
    assert list(found["diagnostics"][0]) == ["file", "line", "column", "code", "severity", "message"]
    assert (found["diagnostics"][0]["line"], found["diagnostics"][0]["column"]) == (2, 16)
    missing = run("check", str(tmp_path / "none.yaml"))
    assert (missing.status, missing.out) == (2, "")


def test_check_takes_abl_projects_beside_seeds(run: Run, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    (project / "project.json").write_text("{", encoding="utf-8")
    (project / "desk.agent.abl").write_text("AGENT: Desk\n", encoding="utf-8")
    (tmp_path / "seed.yaml").write_text("seed: s\nmessages: []\nodd: 1\n", encoding="utf-8")
    told = run("check", str(tmp_path), "--json")
    found = {Path(one["file"]).name: one for one in json.loads(told.out)["diagnostics"] if one["severity"] == "error"}
    assert told.status == 1
    assert {"project.json", "seed.yaml"} <= set(found)
    (tmp_path / "empty").mkdir()
    assert run("check", str(tmp_path / "empty")).status == 2


def test_verify_holds_and_does_not(run: Run, seed: str, tmp_path: Path) -> None:
    ran = run("verify", seed)
    assert (ran.status, ran.err) == (0, "1 seed, 2 expectations, 0 failed\n")
    other = tmp_path / "other.yaml"
    other.write_text(SEED.replace("smallest: 5", "smallest: 3").replace("selected: 2", "selected: 4"), encoding="utf-8")
    report = tmp_path / "report.xml"
    ran = run("verify", str(other), "--junit", str(report), "--json")
    assert ran.status == 1
    told = json.loads(ran.out)
    assert (told["expected"], told["failed"]) == (2, 2)
    assert told["outcomes"][0]["failures"] == ["the smallest window that is enough is 5, not 3"]
    assert told["outcomes"][1]["failures"] == ["the context has 2 of 5 messages, not 4"]
    suite = ElementTree.fromstring(report.read_text(encoding="utf-8")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert run("verify", "no-such-seed").status == 2


def test_every_shipped_seed_holds_what_it_expects(run: Run) -> None:
    names = [one["seed"] for one in run("seeds", "--json").json]
    assert len(names) >= 8
    ran = run("verify", *names)
    assert ran.status == 0, ran.out


def test_schemas(run: Run) -> None:
    for what, title in (("turn", "turn record"), ("seed", "Seed"), ("agent", "Agent")):
        assert run("schema", what).json["title"] == title


def test_Q4_an_agent_file_of_ones_own_may_not_run_its_tools_unasked(run: Run, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (tmp_path / "own_tools.py").write_text(
        f"from pathlib import Path\nPath({str(marker)!r}).touch()\n\ndef shout(text: str) -> str:\n"
        '    """Shout a text."""\n    return text.upper()\n'
    )
    own = tmp_path / "own.yaml"
    own.write_text("agent: own\ntools: [own_tools:shout]\n", encoding="utf-8")
    ran = run("run", "--agent", str(own), "hi")
    assert ran.status == 2
    assert "--allow-tools" in ran.err
    assert not marker.exists()
    assert run("threads", "--json").json == []
    assert run("run", "--agent", str(own), "--allow-tools", "hi").status == 0
    assert marker.exists()


def test_an_offline_run_loads_nothing_of_the_wire(tmp_path: Path) -> None:
    code = (
        "import sys; from studio_tui.cli import main\n"
        "assert main(['run', '--store', 'memory:', '--model', 'offline', '--seed', 'friday-notes', 'When?']) == 0\n"
        "found = {'httpx', 'pydantic', 'runtime.settings', 'runtime.models.endpoint', 'runtime.models.reach'}\n"
        "sys.exit(' '.join(found & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
