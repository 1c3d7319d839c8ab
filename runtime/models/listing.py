"""The models a user can name, and how each is reached; nothing here is secret, and nothing is contacted (Q3)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runtime.models import anthropic, openai_chat
from runtime.models.endpoint import Redactor, read_endpoint
from runtime.models.reach import reach
from runtime.models.settings import ModelSettings, Timeouts

ANY = "NAME"
"""Stands for the name of a model on a provider's server."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One model. `model` is what people write, `spec` what it stands for, `url` where requests go (empty: nowhere).

    `key` says where its key comes from, empty if none is sent; `missing` is the variable that was meant to hold it.
    `context_tokens` None means the agent's own. `proxy` None means what the environment says.
    """

    model: str
    spec: str
    about: str = ""
    url: str = ""
    key: str = ""
    missing: str = ""
    context_tokens: int | None = None
    proxy: str | None = None
    stream: bool = True
    timeouts: Timeouts | None = None


def listed(settings: ModelSettings, *more: str, environ: Mapping[str, str] = os.environ) -> Iterator[Listed]:
    """Offline and script, the models of the settings, `more` as they are written, and what any other name reaches.

    Raises ConfigurationError for one of `more` that names no model, and for a base URL that cannot be used.
    """
    yield Listed("offline", "offline", "no LLM: quotes only what it sees")
    yield Listed("script", "script", "answers from the script of a thread's seed")
    for name in dict.fromkeys((*settings.models, *more)):
        if name not in ("offline", "script"):
            yield _listed(name, settings, environ)
    for provider in ("openai", "anthropic"):
        yield _listed(f"{provider}:{ANY}", settings, environ, "any model by its name there")


def _listed(name: str, settings: ModelSettings, environ: Mapping[str, str], about: str = "") -> Listed:
    found = reach(name, settings, environ)
    if found.spec.provider == "openai":
        endpoint = read_endpoint(found.base_url or openai_chat.BASE_URL, openai_chat.chat_path)
    else:
        endpoint = read_endpoint(found.base_url or anthropic.BASE_URL, anthropic.messages_path)
    proxy = found.settings.proxy
    return Listed(
        Redactor()(name),
        f"{found.spec.provider}:{found.spec.name}",
        about,
        endpoint.shown,
        found.key_source,
        found.key_name if not found.key_source and found.key_name != f"{found.spec.provider.upper()}_API_KEY" else "",
        found.context_tokens,
        None if proxy is None else Redactor()(proxy),
        found.settings.stream,
        found.settings.timeouts,
    )
