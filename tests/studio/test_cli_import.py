"""`import` and `export`: what a file holds, what was lost, where rows came from; round trips; imported turns swept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.transcripts import load
from studio_tui.cli import main
from studio_tui.cli.progress import Progress

SAMPLES = Path(__file__).parents[1] / "runtime" / "transcript_samples"
NAMES = sorted(path.name for path in SAMPLES.iterdir())

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on a store of the test's own: status, stdout, stderr."""
    monkeypatch.setenv("STUDIO_STORE", str(tmp_path / "studio.db"))

    def command(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(words)
        out, err = capsys.readouterr()
        return status, out, err

    return command


def told(run: Run, *words: str) -> Any:
    status, out, err = run(*words, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_json_tells_where_each_row_came_from_and_what_was_lost_and_marked(run: Run) -> None:
    found = told(run, "import", str(SAMPLES / "claude-code.jsonl"))
    assert found["rows"][0] == {"seq": 1, "role": "user", "source": "line 2", "flags": []}
    assert {key: found["lost"][-1][key] for key in ("what", "count")} == {"what": "side chain", "count": 1}
    assert [(one["what"], one["count"]) for one in found["marked"]] == [("summary message", 1)]
    assert len(found["turns"]) == 2


def test_side_chains_do_not_need_a_pick_but_can_be_picked(run: Run) -> None:
    assert told(run, "import", str(SAMPLES / "claude-code.jsonl"))["of"] == 2
    side = told(run, "import", str(SAMPLES / "claude-code.jsonl"), "--pick", "2")
    assert [row["role"] for row in side["rows"]] == ["user", "assistant"]


def test_a_file_of_several_is_listed(run: Run) -> None:
    path = SAMPLES / "openai-finetune.jsonl"
    status, out, err = run("import", str(path))
    assert status == 2
    assert "holds 2 conversations: name one with --pick" in err
    assert [line.split()[:4] for line in out.splitlines()[1:]] == [["1", "3", "line", "1"], ["2", "4", "line", "2"]]
    status, out, _ = run("import", str(path), "--json")
    assert status == 2
    assert [one["aside"] for one in json.loads(out)["conversations"]] == [False, False]


def test_what_the_model_last_saw_can_be_taken_instead_of_everything(run: Run) -> None:
    path = str(SAMPLES / "claude-code.jsonl")
    assert told(run, "import", path)["messages"] == 7
    seen = told(run, "import", path, "--compaction", "last-seen")
    assert seen["messages"] == 3
    assert seen["rows"][0]["flags"] == ["summary"]
    assert "message before the last compaction" in {one["what"] for one in seen["lost"]}


def test_what_is_lost_is_said_in_words(run: Run) -> None:
    status, out, err = run("import", str(SAMPLES / "claude-code.jsonl"))
    assert status == 0
    assert out.endswith("7 messages, 2 turns\n")
    assert "not carried: 1 x meta message: written by the program for itself" in err
    assert "kept, but marked: 1 x summary message: what a program wrote" in err


@pytest.mark.parametrize("form", ["openai", "anthropic", "seed"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("otel.json",)])
def test_what_was_imported_is_exported_and_imported_as_the_same_conversation(
    run: Run, tmp_path: Path, name: str, form: str
) -> None:
    first = told(run, "import", str(SAMPLES / name), "--pick", "1")
    out = tmp_path / ("out.yaml" if form == "seed" else "out.json")
    status, _, _ = run("export", first["thread"], "--out", str(out), "--format", form)
    assert status == 0
    if form == "seed":
        assert run("check", str(out))[0] == 0
        again = told(run, "run", "--seed", str(out), "--window", "all", "And then?")
        assert again["context"]["stored"] == first["messages"] + 1
        return
    second = load(out)
    original = load(SAMPLES / name, 1)
    assert [tool.name for tool in second.tools] == [tool.name for tool in original.tools]
    assert second.model == original.model
    if form == "openai":
        assert [(row.role, row.text) for row in second.messages] == [(row.role, row.text) for row in original.messages]


def test_an_export_names_what_its_dialect_cannot_say_and_warns_of_what_a_session_saw(run: Run, tmp_path: Path) -> None:
    thread = told(run, "import", str(SAMPLES / "claude-code.jsonl"))["thread"]
    status, _, err = run("export", thread, "--out", str(tmp_path / "o.json"))
    assert status == 0
    assert "not carried: 1 x compaction summary: written as a system message" in err
    assert "look before you share it" in err


def test_Q1_a_name_that_says_no_format_needs_one(run: Run, tmp_path: Path) -> None:
    thread = told(run, "import", str(SAMPLES / "openai-chat.json"))["thread"]
    out = tmp_path / "o.txt"
    status, _, err = run("export", thread, "--out", str(out))
    assert (status, out.exists()) == (2, False)
    assert "--format says what to write" in err
    assert run("export", thread, "--out", str(out), "--format", "openai")[0] == 0
    assert load(out).format == "openai-chat"


def test_an_imported_turn_is_swept_with_the_offline_model(run: Run) -> None:
    turns = told(run, "import", str(SAMPLES / "openai-chat.json"))["turns"]
    status, out, _ = run("sweep", "--from", turns[-1], "--windows", "0,2,all", "--models", "offline", "--json")
    found = json.loads(out)
    assert status == 0
    assert [cell["window"] for cell in found["cells"]] == [0, 2, "all"]
    assert {cell["status"] for cell in found["cells"]} == {"completed"}
    assert found["cells"][0]["selected"] == 0
    assert found["cells"][-1]["selected"] > 2


def test_progress_is_silent_for_a_second_then_tells_tenths(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("studio_tui.cli.progress.time.monotonic", lambda: now[0])
    progress = Progress("reading big.jsonl")
    for tenths in range(1, 10):
        progress(tenths, 10)
        now[0] += 0.3
    progress.end()
    assert capsys.readouterr().err.splitlines() == [f"reading big.jsonl: {n}0%" for n in range(5, 10)]


@pytest.mark.skipif(os.name != "posix", reason="sends a signal as a terminal does")
def test_ctrl_c_stops_an_import_and_leaves_no_thread(tmp_path: Path) -> None:
    path, store = tmp_path / "s.jsonl", str(tmp_path / "s.db")
    line = (
        json.dumps({"role": "user", "content": "u"}) + "\n" + json.dumps({"role": "assistant", "content": "a"}) + "\n"
    )
    path.write_text(line * 20_000, "utf-8")
    program = (
        "import os, signal, sys\n"
        "from runtime import imports\n"
        "from studio_tui.cli import main\n"
        "rows = imports._some_rows\n"
        "def stopped(remaining):\n"
        "    found = rows(remaining)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return found\n"
        "imports._some_rows = stopped\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    words = [sys.executable, "-c", program, "import", str(path), "--store", store]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, preexec_fn=_heeds_ctrl_c)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "stopped" in ran.stderr
    assert "Traceback" not in ran.stderr
    listed = subprocess.run(
        [sys.executable, "-m", "studio_tui", "threads", "--store", store, "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(listed.stdout) == []


def _heeds_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
