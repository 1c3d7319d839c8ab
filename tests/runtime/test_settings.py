"""The settings file and the environment beside it: what they say, and how what is wrong in them is told (Q1, Q3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import BadInput
from runtime.models.settings import ModelEntry, ModelSettings, Timeouts
from runtime.settings import load_settings, settings_file

WHOLE = """\
openai: {baseUrl: "http://localhost:11434/v1", key: sk-FILE1}
anthropic:
  key: sk-ant-FILE2
contextTokens: 32000
proxy: http://me:pw2@proxy.example:3128
stream: false
timeouts: {connect: 2, firstByte: 30.5}
models:
  local:
    model: openai:llama3.2:3b
    baseUrl: http://127.0.0.1:8080/v1
    key: ""
    contextTokens: 8192
    stream: true
    proxy: ""
    timeouts: {step: 900}
  gate:
    model: anthropic:sonnet@https://gate.example/llm
    keyFrom: GATE_KEY
  openai:gpt-big: {contextTokens: 128000}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.yaml"


def load(file: Path, text: str, **environ: str) -> ModelSettings:
    file.write_text(text, encoding="utf-8")
    return load_settings(file, environ=environ)


def test_a_settings_file_says_all_there_is_to_say(file: Path) -> None:
    settings = load(file, WHOLE)
    waits = Timeouts(connect=2, first_byte=30.5)
    assert settings == ModelSettings(
        timeouts=waits,
        proxy="http://me:pw2@proxy.example:3128",
        keys={"openai": "sk-FILE1", "anthropic": "sk-ant-FILE2"},
        base_urls={"openai": "http://localhost:11434/v1", "anthropic": ""},
        stream=False,
        context_tokens=32000,
        file=str(file),
        models={
            "local": ModelEntry(
                "openai:llama3.2:3b",
                "http://127.0.0.1:8080/v1",
                key="",
                proxy="",
                timeouts=Timeouts(connect=2, first_byte=30.5, step=900),
                stream=True,
                context_tokens=8192,
            ),
            "gate": ModelEntry("anthropic:sonnet@https://gate.example/llm", key_from="GATE_KEY"),
            "openai:gpt-big": ModelEntry("openai:gpt-big", context_tokens=128000),
        },
    )


def test_the_file_is_in_the_users_config_folder_or_where_the_environment_says(no_outside: Path) -> None:
    assert settings_file({}) == no_outside / "studio-tui" / "settings.yaml"
    assert settings_file({"STUDIO_SETTINGS": "/x/mine.yaml"}) == Path("/x/mine.yaml")
    assert load_settings(environ={}) == ModelSettings()
    with pytest.raises(BadInput, match=r"/x/mine\.yaml: there is no such file"):
        load_settings(environ={"STUDIO_SETTINGS": "/x/mine.yaml"})


def test_the_environment_goes_before_what_the_file_says_for_all(file: Path) -> None:
    settings = load(
        file,
        WHOLE,
        STUDIO_PROXY="",
        STUDIO_STREAM="true",
        STUDIO_CONTEXT_TOKENS="64000",
        STUDIO_CONNECT_SECONDS="1.5",
        STUDIO_STEP_SECONDS="60",
    )
    assert settings.timeouts == Timeouts(connect=1.5, first_byte=30.5, step=60)
    assert (settings.proxy, settings.stream, settings.context_tokens) == ("", True, 64000)
    assert settings.models["local"].timeouts == Timeouts(connect=2, first_byte=30.5, step=900)


def test_F1_the_room_of_a_model_is_its_own_then_that_of_all(file: Path) -> None:
    settings = load(file, WHOLE)
    specs = ("local", "openai:gpt-big", "openai:gpt-big@http://h/v1", "gate", "openai:other", "offline", "script")
    assert [settings.room(spec) for spec in specs] == [8192, 128000, 128000, 32000, 32000, None, None]
    assert ModelSettings().room("openai:other") is None


@pytest.mark.parametrize(
    ("text", "line", "field", "said"),
    [
        ("opnai: {}", 1, "opnai", "did you mean openai?"),
        ("openai:\n  baseurl: http://h", 2, "openai.baseurl", "did you mean baseUrl?"),
        ("openai:\n  baseUrl: localhost:1", 2, "openai.baseUrl", "http://HOST"),
        ("openai:\n  key: [a]", 2, "openai.key", "should be a text"),
        ('openai:\n  key: "sk-\\n1"', 2, "openai.key", "no header can carry"),
        ("openai: 3", 1, "openai", "should be a table"),
        ("timeouts:\n  connect: soon", 2, "timeouts.connect", "number of seconds"),
        ("timeouts:\n  step: 0", 2, "timeouts.step", "more than 0"),
        ("timeouts:\n  conect: 1", 2, "timeouts.conect", "did you mean connect?"),
        ("contextTokens: 0", 1, "contextTokens", "whole number of 1 or more"),
        ('contextTokens: "8192"', 1, "contextTokens", "whole number"),
        ("stream: yes", 1, "stream", "true or false"),
        ("proxy: socks5://h:1", 1, "proxy", "http://HOST:PORT"),
        ("proxy: h:3128", 1, "proxy", "http://HOST:PORT"),
        ("models:\n  local:\n    contextTokens: 9", 2, "models.local.model", "is missing"),
        ("models:\n  local:\n    model: llama", 3, "models.local.model", "openai:NAME"),
        ("models:\n  local:\n    model: openai:x@localhost:1", 3, "models.local.model", "begins with http"),
        ("models:\n  offline:\n    model: openai:x", 2, "models.offline", "is taken"),
        ("models:\n  a b:\n    model: openai:x", 2, "models.a b", "64 letters"),
        ("models:\n  a: {model: openai:x, keyFrom: A B}", 2, "models.a.keyFrom", "environment variable"),
        ("models:\n  a: {model: openai:x, keyFrom: A, key: b}", 2, "models.a.keyFrom", "one place"),
        ("models:\n  a: {model: openai:x, contexttokens: 1}", 2, "models.a.contexttokens", "contextTokens"),
        ("models: [a]", 1, "models", "should be a table"),
        ("openai: {key: a}\nopenai: {key: b}", 2, "", "given twice"),
        ("openai: {key: &a x}", 1, "", "anchor"),
        ("openai: {key: 'x", 1, "", "is not YAML"),
    ],
)
def test_Q1_what_is_wrong_is_said_with_its_place(file: Path, text: str, line: int, field: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(file, text)
    error = caught.value
    assert (error.file, error.line, error.field) == (str(file), line, field)
    assert said in error.problem


@pytest.mark.parametrize(
    "name", ["STUDIO_CONNECT_SECONDS", "STUDIO_FIRST_BYTE_SECONDS", "STUDIO_STREAM", "STUDIO_CONTEXT_TOKENS"]
)
@pytest.mark.parametrize("value", ["soon", "-1", "0", "nan", "1e9"])
def test_Q1_a_variable_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(BadInput) as caught:
        load_settings(environ={name: value})
    assert caught.value.field == name


@pytest.mark.parametrize(
    "text",
    [
        "openai: {key: [sk-ant-TEST1]}",
        'openai: {key: "sk-ant-TEST1é"}',
        "openai: {baseUrl: 'ftp://user:pw2@h/v1?key=KEY3'}",
        "openai: {baseUrl: 'http://us er:pw2@h/v1?key=KEY3'}",
        "proxy: 'socks5://user:pw2@h:1'",
        "models: {a: {model: 'openai:x@ftp://user:pw2@h/v1?key=KEY3'}}",
        "models: {a: {model: 'http://user:pw2@h/v1?key=KEY3'}}",
        "models: {a: {model: 'openai:x@http://user:pw2@h:y/v1?key=KEY3'}}",
    ],
)
def test_Q3_C89_no_error_about_settings_shows_a_secret(file: Path, text: str) -> None:
    try:
        said = repr(load(file, text))
    except BadInput as error:
        said = f"{error} {error!r}"
    assert not [secret for secret in ("TEST1", "pw2", "KEY3") if secret in said]


def test_Q3_C89_settings_print_no_secret(file: Path) -> None:
    said = repr(load(file, WHOLE))
    assert not [secret for secret in ("sk-FILE1", "sk-ant-FILE2", "pw2") if secret in said]
