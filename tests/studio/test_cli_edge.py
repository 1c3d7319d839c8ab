"""The edge of the command: exit statuses, one line for people, one document on stdout, never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from runtime.errors import BadInput, StoreError, ThreadBusy, UnknownThread, UnknownTurn
from studio_tui.cli import edge, main, root
from studio_tui.cli.output import print_json

SEED = """\
seed: mini
agent: {agent: mini, instructions: Be brief., historyWindow: 2, tiers: [script]}
messages:
  - user: The Friday draft is due on the 5th.
  - assistant: Noted.
script:
  - {when: {request: slow}, text: "a b c d e f", chunks: 6, delay: 30}
  - {when: {request: bell}, text: "ring \\a \\x9b2J [/b] done"}
  - {when: {request: fail}, fail: gone}
  - {text: "It is due."}
"""


def command(*words: str, **others: object) -> subprocess.CompletedProcess[bytes]:
    arguments = [sys.executable, "-m", "studio_tui", *words]
    return subprocess.run(arguments, capture_output=True, check=False, timeout=60, **others)  # type: ignore[call-overload,no-any-return]  # keywords of run


@pytest.fixture
def seed(tmp_path: Path) -> str:
    path = tmp_path / "mini.yaml"
    path.write_text(SEED, encoding="utf-8")
    return str(path)


def test_json_is_one_document_on_stdout_and_nothing_else(seed: str) -> None:
    done = command("run", "--seed", seed, "--store", "memory:", "--json", "When?")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["answer"] == "It is due."


def test_json_is_whole_on_a_stdout_that_is_not_utf8(seed: str) -> None:
    other = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = command("run", "--seed", seed, "--store", "memory:", "--json", "Über 5 €?", env=other)
    assert json.loads(done.stdout.decode("ascii"))["context"]["sections"][-1]["text"] == "Über 5 €?"
    shown = command("run", "--seed", seed, "--store", "memory:", "Über 5 €?", env=other)
    assert shown.returncode == 0
    assert "Über 5 ??" in shown.stdout.decode("latin-1")


def test_json_has_null_for_numbers_that_json_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [float("nan"), 1.5, {"b": float("-inf")}], "c": "\ud83d"})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5, {"b": None}], "c": "\ufffd"}


def test_a_turn_that_did_not_complete_is_status_1_and_still_one_document(seed: str) -> None:
    done = command("run", "--seed", seed, "--store", "memory:", "--json", "fail")
    assert done.returncode == 1
    record = json.loads(done.stdout)
    assert (record["status"], record["reason"], record["answer"]) == ("failed", "model-error", None)
    assert b"the turn did not complete: failed: no model answered (model-error)" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_piped_seed_is_read_from_stdin() -> None:
    done = command("run", "--seed", "-", "--store", "memory:", "--json", "When?", input=SEED.encode())
    assert done.returncode == 0
    assert json.loads(done.stdout)["context"]["stored"] == 3


def test_a_broken_piped_seed_names_its_line() -> None:
    done = command("run", "--seed", "-", "--store", "memory:", "When?", input=b"seed: x\nmessages: 5\n")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"error: -:2: messages: " in done.stderr


def test_a_reader_that_goes_away_is_no_traceback(seed: str) -> None:
    arguments = [sys.executable, "-m", "studio_tui", "run", "--seed", seed, "--store", "memory:", "When?"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(arguments, stdout=write, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_T10_interrupting_settles_the_turn_and_prints_its_record(seed: str, tmp_path: Path) -> None:
    store = str(tmp_path / "studio.db")
    running = subprocess.Popen(
        [sys.executable, "-m", "studio_tui", "run", "--seed", seed, "--store", store, "--json", "slow"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _wait_for_a_running_turn(store)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 1, err
    record = json.loads(out)
    assert (record["status"], record["stored_user"], record["stored_assistant"]) == ("stopped", 3, None)
    assert record["unstored"] == {"user": None, "assistant": "turn-stopped"}
    shown = command("show", record["thread"], "--store", store, "--json")
    assert [row["role"] for row in json.loads(shown.stdout)["messages"]] == ["user", "assistant", "user"]


def test_Q2_no_control_character_of_an_answer_reaches_the_terminal(seed: str) -> None:
    done = command("run", "--seed", seed, "--store", "memory:", "bell")
    text = done.stdout.decode()
    assert done.returncode == 0
    assert "[/b] done" in text
    assert not {sign for sign in text if ord(sign) < 32 or 127 <= ord(sign) < 160} - {"\n"}


def test_the_studio_needs_a_terminal() -> None:
    done = command("--seed", "friday-notes", env={**os.environ, "TERM": "xterm"})
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"needs a terminal" in done.stderr


def test_C87_a_dumb_terminal_is_told_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert main(["--seed", "friday-notes"]) == 2
    assert "TERM says this one cannot" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (BadInput("is wrong", file="a.yaml", line=3, field="try"), 2, "error: a.yaml:3: try: is wrong\n"),
        (UnknownThread("t"), 2, "error: unknown thread 't'\n"),
        (UnknownTurn("t"), 2, "error: unknown turn 't'\n"),
        (ThreadBusy("t", "u"), 1, "error: thread t is busy: turn u is running; stop it or wait for it\n"),
        (StoreError("no room"), 1, "error: no room\n"),
        (KeyboardInterrupt(), 1, "stopped\n"),
        (click.Abort(), 1, "stopped\n"),
        (RecursionError("deep\nin"), 1, "internal error: RecursionError: deep in (run it again with --debug to keep"),
        (BadInput("\x1b[2J"), 2, "error: \u241b[2J\n"),
    ],
)
def test_Q1_every_error_is_one_line_and_a_status(
    error: BaseException, status: int, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(root.command, "main", fails)
    assert main(["seeds"]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_debug_keeps_the_details_of_a_crash(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(root.command, "main", fails)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert edge.run(["seeds", "--debug"]) == 1
    line = capsys.readouterr().err.strip()
    kept = Path(line.rpartition("details in ")[2].rstrip(")"))
    assert line.startswith("internal error: ZeroDivisionError: oh (details in ")
    assert "ZeroDivisionError: oh" in kept.read_text(encoding="utf-8")


def test_debug_after_two_dashes_is_a_word_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(root.command, "main", lambda words, **_: seen.append(words))
    main(["run", "--", "--debug"])
    assert seen == [["run", "--", "--debug"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "Missing argument 'REQUEST'"),
        (["run", "--window", "two", "x"], "Invalid value for '--window'"),
        (["run", "--window", "2.5", "x"], "a window is a whole number or all, not '2.5'"),
        (["run", "--model", "gpt", "x"], "a model is offline, script, openai:NAME or anthropic:NAME"),
        (["run", "--no-such", "x"], "No such option"),
        (["why", "t"], "ask about one message: --seq N, or a text it says"),
        (["why", "t", "text", "--seq", "1"], "ask about one message"),
        (["compare", "a"], "Missing argument 'TURN'"),
        (["schema", "thing"], "Invalid value"),
        (["shwo"], "there is no command 'shwo'; did you mean show?"),
        (["--seed", "a", "b"], "open one thing at a time"),
        (["--seed", "-"], "give a file"),
        (["run", "--seed", "a", "--thread", "t", "x"], "give --thread or --seed"),
    ],
)
def test_wrong_usage_is_status_2(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_Q3_a_key_in_a_model_that_is_refused_is_not_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--model", "openai:m@ftp://user:pw2@h/v1?key=KEY3", "x"]) == 2
    err = capsys.readouterr().err
    assert "pw2" not in err
    assert "KEY3" not in err


@pytest.mark.parametrize("name", ["", *root.COMMANDS, "open"])
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"] if name else ["--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "studio-tui " in out
    assert "Example: studio-tui" in out or not name


def test_help_and_run_load_no_screen_and_no_heavy_library(seed: str) -> None:
    heavy = {"textual", "rich", "httpx", "pydantic"}
    for words in (["--help"], ["run", "--seed", seed, "--store", "memory:", "--json", "When?"]):
        code = (
            f"import sys; from studio_tui.cli import main; main({words!r}); "
            f"sys.stderr.write(' '.join(sorted({heavy!r} & set(sys.modules))))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
        assert done.stderr == b"", words


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("studio-tui ")


def _wait_for_a_running_turn(store: str) -> None:
    """Until the store holds a running turn that has a context: its first step streams."""
    import sqlite3
    import threading

    pause = threading.Event()

    for _ in range(600):
        try:
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
                running = db.execute("SELECT count(*) FROM turns WHERE status = 'running'").fetchone()[0]
                if running and db.execute("SELECT count(*) FROM items").fetchone()[0]:
                    return
        except sqlite3.Error:
            pass
        pause.wait(0.05)
    raise AssertionError("no turn began")
