"""Base URLs, specs and secrets (C58, C89, Q3)."""

from __future__ import annotations

import pytest

from runtime.errors import ConfigurationError
from runtime.models import Model
from runtime.models.anthropic import messages_path
from runtime.models.catalog import open_model
from runtime.models.endpoint import Redactor, read_endpoint, read_key
from runtime.models.openai_chat import chat_path
from runtime.models.settings import ModelSettings
from runtime.values.seed import ScriptEntry


@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/proxy/v1/", "http://h:1/proxy/v1/chat/completions"),
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1//v1//", "http://h:1/v1/chat/completions"),
        (
            "https://h/openai/deployments/x?api-version=2",
            "https://h/openai/deployments/x/chat/completions?api-version=2",
        ),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://[::1]:8/v1", "http://[::1]:8/v1/chat/completions"),
        ("HTTP://h/v1#part", "http://h/v1/chat/completions"),
    ],
)
def test_C58_base_urls_of_chat_completions(base: str, address: str) -> None:
    assert read_endpoint(base, chat_path).address == address


@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("http://h:1", "http://h:1/v1/messages"),
        ("http://h:1/", "http://h:1/v1/messages"),
        ("http://h:1/v1", "http://h:1/v1/messages"),
        ("http://h:1/v1/", "http://h:1/v1/messages"),
        ("http://h:1/anthropic", "http://h:1/anthropic/v1/messages"),
        ("http://h:1/v1/messages/", "http://h:1/v1/messages"),
    ],
)
def test_C58_base_urls_of_messages(base: str, address: str) -> None:
    assert read_endpoint(base, messages_path).address == address


@pytest.mark.parametrize("base", ["", "h:1/v1", "ftp://h", "http://", "http://h:x/v1", "http://a b/v1", "http://[h/v1"])
def test_Q1_what_is_no_base_url_is_an_error(base: str) -> None:
    with pytest.raises(ConfigurationError, match="URL"):
        read_endpoint(base, chat_path)


def test_Q3_an_error_about_a_base_url_shows_no_password() -> None:
    for base in ("ftp://user:pw2@h/", "http://user:p/pw2@h/v1", "http://us er:pw2@h/", "x://user:a@pw2@h", "pw2@"):
        with pytest.raises(ConfigurationError) as caught:
            read_endpoint(base, chat_path)
        assert "pw2" not in str(caught.value)


def test_Q3_secrets_are_kept_apart_from_what_is_shown() -> None:
    endpoint = read_endpoint("http://user:p%40w@h/v1?key=KEY3&api-version=2&sig=S9", chat_path)
    assert endpoint.url == "http://h/v1/chat/completions"
    assert endpoint.address == "http://h/v1/chat/completions?key=KEY3&api-version=2&sig=S9"
    assert endpoint.basic == "Basic dXNlcjpwQHc="
    assert set(endpoint.secrets) == {"p@w", "dXNlcjpwQHc=", "KEY3", "S9"}
    assert "KEY3" not in repr(endpoint)


def test_Q3_a_redactor_takes_out_what_it_knows_and_what_looks_like_a_secret() -> None:
    redact = Redactor(["sk-ant-TEST1", "p@w/1", "x"])
    assert redact("key sk-ant-TEST1, p@w/1, p%40w%2F1") == "key [redacted], [redacted], [redacted]"
    assert redact("extra x, x-ray") == "extra [redacted], [redacted]-ray"
    assert redact("see http://me:you@h/p?a=1&api_key=Z9&b=2") == "see http://[redacted]@h/p?a=1&api_key=[redacted]&b=2"
    assert redact("mail a@b about http://h/y") == "mail a@b about http://h/y"
    assert repr(redact) == "Redactor()"


def test_a_key_is_stripped_and_one_that_no_header_carries_is_refused() -> None:
    assert read_key(" sk-1\n", field="K") == "sk-1"
    for key in ("sk-\n1", "clé"):
        with pytest.raises(ConfigurationError) as caught:
            read_key(key, field="OPENAI_API_KEY")
        assert key not in str(caught.value)
        assert "OPENAI_API_KEY" in str(caught.value)


def shown(spec: str, **environ: str) -> str:
    return repr(open_model(spec, environ=environ))


def test_M4_specs_of_models() -> None:
    assert open_model("offline").name == "offline"
    assert open_model("script", script=[ScriptEntry(text="x")]).name == "script"
    assert open_model("openai:llama3.2:3b", environ={}).name == "openai:llama3.2:3b"
    assert shown("openai:gpt") == "OpenAIChat('gpt', 'https://api.openai.com/v1/chat/completions')"
    assert shown("anthropic:c") == "AnthropicMessages('c', 'https://api.anthropic.com/v1/messages')"
    assert shown("openai:@cf/a@1@http://h:1/v1") == "OpenAIChat('@cf/a@1', 'http://h:1/v1/chat/completions')"
    assert shown("openai:x@http://u:p@h/v1") == "OpenAIChat('x', 'http://h/v1/chat/completions')"
    assert shown("openai:x", OPENAI_BASE_URL="http://h/v1/") == "OpenAIChat('x', 'http://h/v1/chat/completions')"
    assert shown("anthropic:x", OPENAI_BASE_URL="http://h", ANTHROPIC_BASE_URL="http://i").endswith(
        "'http://i/v1/messages')"
    )


def test_settings_name_what_the_environment_does_not() -> None:
    settings = ModelSettings(base_urls={"openai": "http://s/v1"}, keys={"openai": "sk-S"}, proxy="http://u:pw2@p")
    assert "http://s/v1" in repr(open_model("openai:x", environ={}, settings=settings))
    assert "http://e/v1" in repr(open_model("openai:x", environ={"OPENAI_BASE_URL": "http://e"}, settings=settings))
    assert "sk-S" not in repr(settings)
    assert "pw2" not in repr(settings)


@pytest.mark.parametrize(
    "spec", ["", "gpt", "openai", "openai:", "openai:@http://h", "mistral:x", "http://user:pw2@h/v1"]
)
def test_Q1_a_spec_that_names_no_model_says_what_is_allowed(spec: str) -> None:
    with pytest.raises(ConfigurationError, match="openai:NAME") as caught:
        open_model(spec)
    assert "pw2" not in str(caught.value)


@pytest.mark.parametrize("spec", ["openai:x@localhost:11434", "openai:x@127.0.0.1/v1", "anthropic:x@host.lan:80/v1"])
def test_Q1_a_base_url_without_its_scheme_is_said(spec: str) -> None:
    with pytest.raises(ConfigurationError, match="begins with http"):
        open_model(spec, environ={})


def test_Q1_script_without_a_script_is_said() -> None:
    for script in (None, ()):
        with pytest.raises(ConfigurationError, match="seed has no script"):
            open_model("script", script=script)


def test_names_with_an_at_sign_are_names() -> None:
    model: Model = open_model("anthropic:claude@20240620", environ={})
    assert model.name == "anthropic:claude@20240620"
