"""From a spec to where and how its server is reached: the spec's own word, then the model's, the environment, all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from runtime.errors import ConfigurationError
from runtime.models.endpoint import Redactor
from runtime.models.settings import PROVIDERS, ModelEntry, ModelSettings

ALLOWED = "offline, script, openai:NAME or anthropic:NAME, the last two with an optional @BASE_URL"

_BASE_URL = re.compile(r"@(?=https?://)", re.IGNORECASE)
_MEANT_A_URL = re.compile(r"@(localhost|127\.[\d.]+|\[[\da-f:]+\]|[\w.-]+:\d+)(?=[:/]|\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spec:
    """`PROVIDER:NAME[@BASE_URL]` in its parts; `base_url` is empty if it names none."""

    provider: str
    name: str
    base_url: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Reach:
    """How one model is reached. `base_url` empty is the provider's own server.

    `key_source` says where the key comes from, empty if none is sent; `key_name` is the variable to set for one.
    `settings` holds the waits, the proxy and whether to stream, the model's own before those of all.
    """

    spec: Spec
    base_url: str = field(repr=False)
    key: str = field(repr=False)
    key_source: str
    key_name: str
    context_tokens: int | None
    settings: ModelSettings


def read_spec(text: str, known: Mapping[str, object] | None = None) -> Spec:
    """The parts of a spec. Raises ConfigurationError for what names no model; `known` are names it could have been."""
    provider, _, rest = text.partition(":")
    if provider not in PROVIDERS or not rest.strip():
        named = f"; your settings name {', '.join(known)}" if known else ""
        raise ConfigurationError(f"a model is {ALLOWED}, not {Redactor()(text)!r}{named}", field="model")
    at = _BASE_URL.search(rest)
    name = rest[: at.start()] if at else rest
    if not name.strip():
        raise ConfigurationError(f"a model is {ALLOWED}; the name is missing", field="model")
    if meant := _MEANT_A_URL.search(name):
        raise ConfigurationError(f"a base URL begins with http:// or https://: @http://{meant[1]}", field="model")
    if "://" in name:  # another scheme: what follows may hold a password, and a name is shown
        raise ConfigurationError("a base URL begins with http:// or https://", field="model")
    return Spec(provider, name.strip(), rest[at.end() :].strip() if at else "")


def reach(text: str, settings: ModelSettings, environ: Mapping[str, str]) -> Reach:
    """How the model that people write as `text` is reached. A name of the settings stands for its spec.

    The base URL is the spec's own, else the model's, else that of the environment (`OPENAI_BASE_URL`), else that of
    all. The key is the model's own, else the environment's (`OPENAI_API_KEY`), else that of all; the environment's
    goes to whatever server the base URL names. Raises ConfigurationError for what names no model.
    """
    entry = settings.models.get(text)
    spec = read_spec(entry.spec if entry else text, settings.models)
    own = entry or ModelEntry(text)
    prefix = spec.provider.upper()
    base_url = (
        spec.base_url
        or own.base_url
        or environ.get(f"{prefix}_BASE_URL", "").strip()
        or settings.base_urls.get(spec.provider, "")
    )
    key, source = _key(text, own, spec.provider, settings, environ)
    return Reach(
        spec,
        base_url,
        key,
        source,
        own.key_from or f"{prefix}_API_KEY",
        settings.room(text),
        replace(
            settings,
            timeouts=own.timeouts or settings.timeouts,
            proxy=settings.proxy if own.proxy is None else own.proxy,
            stream=settings.stream if own.stream is None else own.stream,
        ),
    )


def _key(
    text: str, own: ModelEntry, provider: str, settings: ModelSettings, environ: Mapping[str, str]
) -> tuple[str, str]:
    """The key, and where it comes from."""
    if own.key_from:
        key = environ.get(own.key_from, "")
        return key, f"${own.key_from}" if key.strip() else ""
    if own.key is not None:
        return own.key, f"settings, models.{text}.key" if own.key.strip() else ""
    variable = f"{provider.upper()}_API_KEY"
    if key := environ.get(variable, ""):
        return key, f"${variable}" if key.strip() else ""
    key = settings.keys.get(provider, "")
    return key, f"settings, {provider}.key" if key.strip() else ""
