"""How a model is reached: which base URL, which key, whose waits, when several places name one (M4, Q3)."""

from __future__ import annotations

import httpx
import pytest

from runtime.errors import ConfigurationError, ModelError
from runtime.models.catalog import open_model
from runtime.models.endpoint import read_endpoint, read_proxy
from runtime.models.openai_chat import OpenAIChat, chat_path
from runtime.models.reach import reach
from runtime.models.settings import ModelEntry, ModelSettings, Timeouts
from tests.models.dialects import Dialect, request_of

SETTINGS = ModelSettings(
    keys={"openai": "sk-ALL"},
    base_urls={"openai": "http://all/v1"},
    models={
        "local": ModelEntry("openai:llama", "http://local/v1", key=""),
        "gate": ModelEntry("openai:big@http://gate/v1", key_from="GATE_KEY", timeouts=Timeouts(step=5), stream=False),
        "own": ModelEntry("anthropic:c", key="sk-OWN", proxy=""),
        "openai:gpt": ModelEntry("openai:gpt", context_tokens=9),
    },
)


@pytest.mark.parametrize(
    ("text", "environ", "url", "key", "source"),
    [
        ("openai:x", {}, "http://all/v1", "sk-ALL", "settings, openai.key"),
        ("openai:gpt", {}, "http://all/v1", "sk-ALL", "settings, openai.key"),
        ("openai:x@http://here/v1", {}, "http://here/v1", "sk-ALL", "settings, openai.key"),
        (
            "openai:x",
            {"OPENAI_API_KEY": "sk-E", "OPENAI_BASE_URL": "http://env/v1"},
            "http://env/v1",
            "sk-E",
            "$OPENAI_API_KEY",
        ),
        (
            "local",
            {"OPENAI_API_KEY": "sk-E", "OPENAI_BASE_URL": "http://env/v1"},
            "http://local/v1",
            "",
            "",
        ),
        ("gate", {"OPENAI_API_KEY": "sk-E", "GATE_KEY": "sk-G"}, "http://gate/v1", "sk-G", "$GATE_KEY"),
        ("gate", {"OPENAI_API_KEY": "sk-E"}, "http://gate/v1", "", ""),
        ("own", {"ANTHROPIC_API_KEY": "sk-E"}, "", "sk-OWN", "settings, models.own.key"),
        ("anthropic:x", {}, "", "", ""),
    ],
)
def test_M4_the_nearest_word_counts(text: str, environ: dict[str, str], url: str, key: str, source: str) -> None:
    found = reach(text, SETTINGS, environ)
    assert (found.base_url, found.key, found.key_source) == (url, key, source)


def test_M4_a_model_has_its_own_waits_and_proxy() -> None:
    gate, own = reach("gate", SETTINGS, {}).settings, reach("own", SETTINGS, {}).settings
    assert (gate.timeouts, gate.stream, gate.proxy) == (Timeouts(step=5), False, None)
    assert (own.timeouts, own.stream, own.proxy) == (Timeouts(), True, "")


def test_M4_a_name_of_the_settings_opens_its_model() -> None:
    assert repr(open_model("local", settings=SETTINGS)) == "OpenAIChat('llama', 'http://local/v1/chat/completions')"
    assert open_model("gate", settings=SETTINGS, environ={}).name == "openai:big"


def test_Q1_an_unknown_name_is_told_what_the_settings_name() -> None:
    with pytest.raises(ConfigurationError, match="your settings name local, gate, own, openai:gpt"):
        open_model("locl", settings=SETTINGS)


async def test_a_401_without_a_key_names_the_models_own_variable(dialect: Dialect) -> None:
    settings = ModelSettings(models={"gate": ModelEntry(f"{dialect.name}:x@http://h", key_from="GATE_KEY")})
    refusing = httpx.MockTransport(lambda _: httpx.Response(401, json={"error": {"message": "who?"}}))
    model = open_model("gate", settings=settings, environ={}, transport=refusing)
    with pytest.raises(ModelError, match="set GATE_KEY"):
        [event async for event in model.stream(request_of())]


def test_Q3_what_reaches_a_model_prints_no_secret() -> None:
    settings = ModelSettings(
        keys={"openai": "sk-S"},
        models={"a": ModelEntry("openai:x", "http://u:pw2@h/v1?key=KEY3", key="sk-S", proxy="http://u:pw2@p")},
    )
    for text in ("a", "openai:y@http://u:pw2@h/v1?key=KEY3"):
        said = repr(reach(text, settings, {"OPENAI_API_KEY": "sk-S"})) + repr(open_model(text, settings=settings))
        assert not [secret for secret in ("sk-S", "pw2", "KEY3") if secret in said]


@pytest.mark.parametrize(
    ("base", "shown"),
    [
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://user:pw2@h/v1", "http://[redacted]@h/v1/chat/completions"),
        (
            "https://h/x?api-version=2&key=KEY3&q=a b",
            "https://h/x/chat/completions?api-version=2&key=[redacted]&q=a%20b",
        ),
    ],
)
def test_Q3_an_address_as_it_may_be_shown(base: str, shown: str) -> None:
    assert read_endpoint(base.replace(" ", "%20"), chat_path).shown == shown


@pytest.mark.parametrize("proxy", ["proxy:3128", "ftp://p", "socks5://user:pw2@p:1", "http://", "http://p:x"])
def test_Q1_what_is_no_proxy_is_refused_without_showing_it(proxy: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIChat("x", settings=ModelSettings(proxy=proxy))
    assert "pw2" not in str(caught.value)
    assert read_proxy(" http://me:pw2@p:3128 ") == "http://me:pw2@p:3128"
    assert read_proxy("") == ""


async def test_Q1_a_proxy_of_the_environment_that_cannot_be_used_fails_the_tier(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "socks5://user:pw2@p:1")
    with pytest.raises(ModelError, match="the environment's proxy") as caught:
        [event async for event in dialect.model("http://model.test").stream(request_of())]
    assert caught.value.kind == "connection"
    assert "pw2" not in str(caught.value)
