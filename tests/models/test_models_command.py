"""`studio-tui models`: what is configured, whether it answers, and no key anywhere (M5, F2, Q3)."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from studio_tui.cli import main
from tests.models.dialects import Dialect
from tests.models.server import Act, ModelServer, plain, streamed

SECRETS = ("sk-ant-TEST1", "pw2", "KEY3")


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def models(self) -> dict[str, Any]:
        return {model["model"]: model for model in json.loads(self.out)["models"]}


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs a command with settings and a store of the test's own."""
    monkeypatch.setenv("STUDIO_SETTINGS", str(tmp_path / "settings.yaml"))
    monkeypatch.setenv("STUDIO_STORE", str(tmp_path / "studio.db"))

    def command(*words: str, settings: str = "") -> Ran:
        (tmp_path / "settings.yaml").write_text(settings, encoding="utf-8")
        (tmp_path / "settings.yaml").chmod(0o600)
        capsys.readouterr()
        status = main(words)
        return Ran(status, *capsys.readouterr())

    return command


def settings_of(dialect: Dialect, server: ModelServer, **more: str) -> str:
    base = server.url.replace("http://", "http://user:pw2@") + "/v1?key=KEY3"
    entry = {"model": f"{dialect.name}:small", "baseUrl": base, "key": "sk-ant-TEST1", **more}
    return json.dumps({"models": {"mine": entry}})


def test_models_lists_what_can_be_named(run: Callable[..., Ran], dialect: Dialect, model_server: ModelServer) -> None:
    ran = run("models", "--json", settings=settings_of(dialect, model_server))
    assert list(ran.models) == ["offline", "script", "mine", "openai:NAME", "anthropic:NAME"]
    mine = ran.models["mine"]
    host = model_server.url.removeprefix("http://")
    assert (mine["is"], mine["url"]) == (
        f"{dialect.name}:small",
        f"http://[redacted]@{host}{dialect.path}?key=[redacted]",
    )
    assert (mine["key"], mine["context_tokens"]) == ("settings, models.mine.key", None)
    assert ran.models["openai:NAME"]["url"] == "https://api.openai.com/v1/chat/completions"
    assert model_server.received == []


def test_models_for_people_say_where_the_key_comes_from(
    run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ant-TEST1")
    settings = 'contextTokens: 9000\nmodels: {gate: {model: "openai:big@http://h/v1", keyFrom: GATE_KEY}}'
    ran = run("models", "anthropic:c@http://user:pw2@h2", settings=settings)
    assert "no LLM: quotes only what it sees" in ran.out
    assert "key: $OPENAI_API_KEY" in ran.out
    assert "no key: $GATE_KEY is not set" in ran.out
    assert "9000 tokens" in ran.out
    assert "anthropic:c@http://[redacted]@h2" in ran.out
    assert not [secret for secret in SECRETS if secret in ran.out + ran.err]


def test_models_without_settings_or_store_makes_neither(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STUDIO_SETTINGS")
    ran = run("models")
    assert ran.status == 0
    assert "(there is none)" in ran.out
    assert not (tmp_path / "studio.db").exists()


def test_probe_asks_for_one_word_and_says_how_it_went(
    run: Callable[..., Ran], dialect: Dialect, model_server: ModelServer
) -> None:
    model_server.will(streamed(dialect.stream(dialect.text(" yes\n"), dialect.usage(30, 2)), dialect.end()))
    ran = run("models", "--probe", "mine", "--json", settings=settings_of(dialect, model_server))
    probed = ran.models["mine"]["probe"]
    assert ran.status == 0
    assert (probed["outcome"], probed["text"], probed["status"], probed["error"]) == ("ok", "yes", None, None)
    assert probed["usage"]["input"] == 30
    assert probed["estimate_ratio"] == round(probed["estimate"] / 30, 4)
    assert probed["seconds"] >= 0
    assert "probe" not in ran.models["offline"]
    asked = model_server.received[0].json["messages"]
    assert [message["role"] for message in asked] == ["user"]


def test_probe_for_people_says_by_how_much_the_estimate_is_off(
    run: Callable[..., Ran], dialect: Dialect, model_server: ModelServer
) -> None:
    model_server.will(streamed(dialect.stream(dialect.text("yes"), dialect.usage(78, 2)), dialect.end()))
    ran = run("models", "--probe", settings=settings_of(dialect, model_server))
    assert "“Nothing in my context answers that.”" in ran.out
    assert "“yes” · est 39 · said 78 in" in ran.out
    assert "est 50% under" in ran.out


def test_Q3_C89_a_probe_that_is_refused_shows_status_and_words_and_no_secret(
    run: Callable[..., Ran],
    dialect: Dialect,
    model_server: ModelServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    refusal = {"error": {"message": "bad key sk-ant-TEST1 for http://user:pw2@h/?key=KEY3"}}
    for words in (["--json"], []):
        model_server.will(plain(401, refusal))
        ran = run("models", "--probe", "mine", *words, settings=settings_of(dialect, model_server))
        assert ran.status == 1
        assert "401" in ran.out
        assert "bad key [redacted]" in ran.out
        told = ran.out + ran.err + caplog.text
        assert not [secret for secret in SECRETS if secret in told]


@pytest.mark.parametrize("fault", ["connection", "cut-off"])
def test_probe_says_what_fails(
    run: Callable[..., Ran], dialect: Dialect, model_server: ModelServer, fault: str
) -> None:
    if fault == "cut-off":
        model_server.will(streamed(dialect.stream(dialect.text("ye")), Act.CLOSE))
        url = model_server.url
    else:
        url = "http://127.0.0.1:9"
    ran = run("models", "--probe", f"{dialect.name}:x@{url}", "--json")
    probed = ran.models[f"{dialect.name}:x@{url}"]["probe"]
    assert (ran.status, probed["outcome"]) == (1, fault)


def test_F2_models_say_how_far_the_estimate_was_off_in_the_turns_of_the_store(
    run: Callable[..., Ran], dialect: Dialect, model_server: ModelServer
) -> None:
    settings = settings_of(dialect, model_server)
    model_server.will(streamed(dialect.stream(dialect.text("Hi."), dialect.usage(200, 2)), dialect.end()))
    ran = run("run", "--model", "mine", "--json", "Hello?", settings=settings)
    turn = json.loads(ran.out)
    estimate = turn["tiers"][0]["estimate"]
    mine = run("models", "--json", settings=settings).models["mine"]
    assert (mine["estimate_ratio"], mine["steps_counted"]) == (round(estimate / 200, 4), 1)
    off = f"{round((1 - estimate / 200) * 100)}% under"
    assert f"our estimate was {off} what it counted in 1 step" in run("models", settings=settings).out
    shown = run("show", turn["turn"], settings=settings).out
    assert "said 200 in" in shown
    assert f"out · est {off}" in shown
    thread = run("show", turn["thread"], "--json", settings=settings)
    assert json.loads(thread.out)["turns"][0]["estimate_ratio"] == mine["estimate_ratio"]
    assert f"est {off}" in run("show", turn["thread"], settings=settings).out


def test_a_step_can_be_shown_as_a_curl_command(
    run: Callable[..., Ran], dialect: Dialect, model_server: ModelServer
) -> None:
    ran = run("run", "--model", "mine", "--json", "Hello?", settings=settings_of(dialect, model_server))
    turn = json.loads(ran.out)["turn"]
    shown = run("show", turn, "--curl", "1")
    assert shown.out.startswith("curl -N --user ")
    assert f"{dialect.name.upper()}_API_KEY" in shown.out
    assert model_server.received[0].body.decode() in shown.out.replace("'\"'\"'", "'")
    assert not [secret for secret in SECRETS if secret in shown.out + ran.out]
    assert run("show", turn, "--curl", "2").err == f"error: step: turn {turn} has no step 2; its steps are 1\n"
    assert run("show", turn, "--curl", "1", "--json").status == 2


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_Q3_a_key_that_others_can_read_is_said(
    run: Callable[..., Ran], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("models", settings="openai: {key: sk-1}").err == ""
    (tmp_path / "settings.yaml").chmod(0o644)
    main(["models"])
    assert "can be read by others: chmod 600 it" in capsys.readouterr().err
    (tmp_path / "settings.yaml").write_text("contextTokens: 9")
    main(["models"])
    assert capsys.readouterr().err == ""


def test_Q1_a_settings_file_that_is_wrong_is_one_line(run: Callable[..., Ran], tmp_path: Path) -> None:
    ran = run("models", settings="openai:\n  keey: 1\n")
    assert ran.status == 2
    assert ran.err == f"error: {tmp_path / 'settings.yaml'}:2: openai.keey: is not known here; did you mean key?\n"
    assert run("run", "--model", "nobody", "x", settings="models: {mine: {model: 'openai:x'}}").err.startswith(
        "error: Invalid value for '--model': a model is offline, script"
    )
