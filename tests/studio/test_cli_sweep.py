"""`sweep`, and what `why`, `rerun` and `verify` say of experiments: printed, and as the documented JSON."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from runtime import Runtime, open_store
from runtime.experiments import Sweep, SweepSpec, run_sweep
from studio_tui.cli import main
from studio_tui.cli.sweep import stoppable

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
try:
  - When is the Friday draft due?
expect:
  - request: When is the Friday draft due?
    window: all
    answer: {contains: ["5th"]}
    smallest: 4
"""

VARIED = """\
seed: varied
agent: {agent: parrot, historyWindow: 2, tiers: [script]}
messages:
  - user: The code is 4417.
  - assistant: Noted.
  - user: What else?
script:
  - {when: {history: "4417"}, texts: ["It is 4417.", "4417, you said.", "The code: 4417"]}
  - {texts: ["No idea.", "I was not told.", "Sorry?"]}
"""


class Ran:
    """What a command gave back."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
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


def kept_rows(path: Path) -> list[Any]:
    """The store's rows and threads as they are in the file, and the turns that are no experiment's."""
    with sqlite3.connect(path) as db:
        found = [db.execute(f"SELECT * FROM {table} ORDER BY id").fetchall() for table in ("messages", "threads")]
        turns = "SELECT id FROM turns WHERE experiment IS NULL"
        found.append(db.execute(turns + " ORDER BY id").fetchall())
        found.append(db.execute(f"SELECT * FROM items WHERE turn IN ({turns}) ORDER BY turn, n").fetchall())
    db.close()
    return found


def test_sweep_of_a_seed_prints_the_documented_json(run: Run, seed: str) -> None:
    ran = run("sweep", "--seed", seed, "--windows", "6,0,2,4,5", "--enough", "contains: 5th", "--json")
    assert ran.status == 0
    value = ran.json
    assert (value["request"], value["of"], value["enough"]) == (
        "When is the Friday draft due?", None, "contains: 5th",
    )  # fmt: skip
    assert [(c["window"], c["selected"], c["entered"], c["same_as"], c["passes"]) for c in value["cells"]] == [
        (0, 0, [], None, 0),
        (2, 2, [4, 5], None, 0),
        (4, 4, [2, 3], None, 0),
        (5, 5, [1], None, 1),
        (6, 5, [], 5, 1),
        ("all", 5, [], 5, 1),
    ]
    cell = value["cells"][3]
    assert (cell["status"], cell["answer"], cell["group"]) == (
        "completed", 'My context says: "The Friday draft is due on the 5th."', "B",
    )  # fmt: skip
    assert [(one["repeat"], one["status"], one["passed"]) for one in cell["runs"]] == [(1, "completed", True)]
    assert (cell["usage"], cell["estimate"] > 0, cell["seconds"] >= 0) == ({"input": None, "output": None}, True, True)
    assert value["cells"][4]["runs"] == []
    assert [(one["group"], one["windows"]) for one in value["groups"]] == [("A", [0, 2, 4]), ("B", [5, 6, "all"])]
    assert (value["smallest_sufficient"], value["edge_tested"]) == (5, True)
    assert value["because"]["rows"][0]["seq"] == 1
    assert "nothing leaves this machine (offline)" in ran.err
    assert "tools run LIVE, each on its run's own state: set-tone" in ran.err


def test_one_command_names_the_message_of_forty(run: Run) -> None:
    ran = run("sweep", "--seed", "one-of-forty", "--smallest", "--repeat", "2", "--enough", "contains: locker 12")
    assert ran.status == 0
    assert "SMALLEST ENOUGH  25" in ran.out
    assert 'BECAUSE  only seq 17 says "locker 12"' in ran.out
    value = run("sweep", "--seed", "long-thread", "--smallest", "--json").json
    assert (value["smallest_sufficient"], value["edge_tested"]) == (31, True)
    assert next(cell for cell in value["cells"] if cell["window"] == 31)["entered"] == [11]


def test_X4_sweep_of_a_turn_leaves_the_store_byte_for_byte_as_it_was(run: Run, seed: str, tmp_path: Path) -> None:
    turn = run("run", "--seed", seed, "--json", "When is the Friday draft due?").json["turn"]
    before = kept_rows(tmp_path / "studio.db")
    ran = run("sweep", "--from", turn, "--smallest", "--repeat", "2", "--enough", "contains: 5th", "--without", "each")
    assert ran.status == 0
    assert "calls are answered as recorded in turn 1" in ran.err
    assert "of turn 1 of" in ran.out
    assert "LEAVE ONE OUT  window 5" in ran.out
    assert "without seq 1" in ran.out
    assert kept_rows(tmp_path / "studio.db") == before


def test_with_answers_in_other_words_each_time_the_edge_is_found(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "varied.yaml"
    path.write_text(VARIED, encoding="utf-8")
    words = ("--smallest", "--repeat", "3", "--enough", "contains: 4417", "--without", "each", "--json")
    value = run("sweep", "--seed", str(path), *words, "What is the code?").json
    assert (value["smallest_sufficient"], value["edge_tested"]) == (4, True)
    assert len(value["groups"]) == 6
    assert value["without"]["decisive"] == [{"kind": "row", "key": 1}]
    changed = [one for one in value["without"]["without"] if one["changed"]]
    assert [(one["key"], one["changed"], len(one["runs"])) for one in changed] == [(1, 3, 3)]


def test_several_models_have_their_own_edges(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "varied.yaml"
    path.write_text(VARIED, encoding="utf-8")
    words = ("--models", "script,offline", "--enough", "contains: 4417", "--smallest")
    value = run("sweep", "--seed", str(path), *words, "--json", "What is the code?").json
    assert {(cell["model"], cell["window"]) for cell in value["cells"]} >= {("script", 0), ("offline", "all")}
    assert [(edge["model"], edge["smallest_sufficient"]) for edge in value["edges"]] == [("script", 4), ("offline", 4)]
    assert "who" in run("sweep", "--seed", str(path), *words, "What is the code?").out


def test_csv_and_markdown_are_written(run: Run, seed: str, tmp_path: Path) -> None:
    table, page = tmp_path / "out.csv", tmp_path / "out.md"
    ran = run("sweep", "--seed", seed, "--windows", "0,5", "--csv", str(table), "--markdown", str(page))
    assert ran.status == 0
    lines = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [(line["window"], line["selected"], line["group"]) for line in lines] == [("0", "0", "A"), ("5", "5", "B")]
    assert "| all | 5 | same as 5, not run twice |" in page.read_text(encoding="utf-8")


def test_a_kept_sweep_opens_again(run: Run, seed: str, tmp_path: Path) -> None:
    value = run("sweep", "--seed", seed, "--smallest", "--without", "each", "--json").json
    without = value.pop("without")
    again = run("sweep", "--open", value["experiment"], "--json")
    assert (again.status, again.json, again.err) == (0, value, "")
    assert run("sweep", "--open", without["experiment"], "--json").json == without
    page = tmp_path / "out.md"
    assert "LEAVE ONE OUT" in run("sweep", "--open", without["experiment"], "--markdown", str(page)).out
    assert page.read_text(encoding="utf-8").startswith("# Leave one out 2")
    assert run("sweep", "--open", "nothere").status == 2
    assert run("sweep", "--open", value["experiment"], "--seed", seed).status == 2


def test_exit_status_1_where_no_window_is_enough(run: Run, seed: str) -> None:
    ran = run("sweep", "--seed", seed, "--enough", "contains: 6th")
    assert ran.status == 1
    assert "SMALLEST ENOUGH  none" in ran.out
    assert 'nothing in this thread says "6th"' in ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give --from or --seed"),
        (("--seed", "friday-notes", "--from", "x"), "give --from or --seed"),
        (("--from", "nothere"), "unknown turn"),
        (("--seed", "friday-notes", "--windows", "2,x"), "--windows: a window is a whole number or all, not 'x'"),
        (("--seed", "friday-notes", "--enough", "holds: x"), "is no predicate"),
        (("--seed", "friday-notes", "--models", "gpt"), "a model is offline"),
        (("--seed", "friday-notes", "--tools", "recorded"), "no result is recorded"),
        (("--seed", "friday-notes", "--drop", "99"), "row 99 is not among the rows"),
        (("--seed", "friday-notes", "--agents", "nobody"), "nobody"),
        (("--seed", "friday-notes", " "), "a request needs a text"),
    ],
)
def test_Q1_bad_input_is_one_line_and_leaves_no_thread(run: Run, words: tuple[str, ...], said: str) -> None:
    ran = run("sweep", *words)
    assert ran.status == 2
    assert said in ran.err
    assert ran.out == ""
    assert run("threads", "--json").json == []


async def test_ctrl_c_stops_a_sweep_and_gives_what_is_done() -> None:
    runtime = Runtime(open_store("memory:"))
    subject = await runtime.subject_on(await runtime.create_thread(seed="friday-notes"), "When is the draft due?")
    spec = SweepSpec((0, 1, 2, 3, 4, 5, 6), concurrency=1)

    async def work(told: Callable[[Sweep], None]) -> Sweep:
        def after(sweep: Sweep) -> None:
            told(sweep)
            if sweep.done == 2 and sweep.state == "running":
                os.kill(os.getpid(), signal.SIGINT)

        return await run_sweep(runtime, subject, spec, progress=after)

    found = await stoppable(work)
    assert found.state == "stopped"
    assert 2 <= found.done < found.total
    assert f"Stopped after {found.done} of {found.total} runs." in found.finding


def test_why_lists_and_narrows_the_ledger(run: Run, seed: str) -> None:
    turn = run("run", "--seed", seed, "--json", "What else?").json["turn"]
    value = run("why", turn, "--ledger", "--json").json
    assert [(one["kind"], one.get("seq"), one.get("from"), one.get("to")) for one in value["accounts"]] == [
        ("out", None, 1, 3), ("in", 4, None, None), ("in", 5, None, None),
    ]  # fmt: skip
    assert value["accounts"][-1]["repeats"] == ["request"]
    out = run("why", turn, "--ledger", "--only", "older-than-window", "what else").out
    assert "left out: older-than-window" in out
    assert "What else?" in out
    assert "Friday" not in out
    assert run("why", turn, "--ledger", "--only", "nonsense").status == 2
    assert run("why", turn, "--only", "in", "x").status == 2


def test_rerun_with_another_request_and_other_instructions(run: Run, seed: str, tmp_path: Path) -> None:
    turn = run("run", "--seed", seed, "--json", "What else?").json["turn"]
    other = tmp_path / "other.txt"
    other.write_text("Be kind.", encoding="utf-8")
    words = ("--request", "When is the Friday draft due?", "--instructions", str(other), "--window", "all")
    value = run("rerun", turn, *words, "--json").json
    texts = {section["name"]: section["text"] for section in value["context"]["sections"]}
    assert (texts["instructions"], texts["request"]) == ("Be kind.", "When is the Friday draft due?")
    assert "5th" in value["answer"]
    assert run("rerun", turn, "--instructions", str(tmp_path / "none.txt")).status == 2
    live = run("rerun", turn, "--tools", "live")
    assert "tools that run live, on the run's own state: set-tone" in live.err


def test_verify_speaks_of_the_smallest_window_also_in_junit(run: Run, seed: str, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    ran = run("verify", seed, "--junit", str(report))
    assert ran.status == 1
    assert "the smallest window that is enough is 5, not 4" in ran.out
    suite = ElementTree.parse(report).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert "is 5, not 4" in (suite[0][0].get("message") or "")
