"""From what people write to a model: `offline`, `script`, `openai:NAME`, `anthropic:NAME`, with `@BASE_URL` (M4)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from runtime.errors import ConfigurationError
from runtime.models import Model
from runtime.models.endpoint import Redactor
from runtime.models.offline import OfflineModel
from runtime.models.script import ScriptModel
from runtime.models.settings import ModelSettings
from runtime.values.seed import ScriptEntry

if TYPE_CHECKING:
    import httpx

ALLOWED = "offline, script, openai:NAME or anthropic:NAME, the last two with an optional @BASE_URL"

_BASE_URL = re.compile(r"@(?=https?://)")
_MEANT_A_URL = re.compile(r"@(localhost|127\.[\d.]+|\[[\da-f:]+\]|[\w.-]+:\d+)(?=[:/]|\Z)", re.IGNORECASE)


def open_model(
    spec: str,
    *,
    script: Sequence[ScriptEntry] | None = None,
    environ: Mapping[str, str] = os.environ,
    settings: ModelSettings | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Model:
    """The model that `spec` names. Nothing is contacted; adapters with connections have an `aclose`.

    `script` are the entries of the seed for `script`. Keys and base URLs come from `environ` (`OPENAI_API_KEY`,
    `OPENAI_BASE_URL`, the same for `ANTHROPIC`), else from `settings`. The environment's key goes to whatever server
    the base URL names. `transport` stands in for the network.

    Raises ConfigurationError for a spec that names no model, and for a base URL or key that cannot be used.
    """
    spec = spec.strip()
    if spec == "offline":
        return OfflineModel()
    if spec == "script":
        if not script:
            raise ConfigurationError("script answers from a seed, and this thread's seed has no script", field="model")
        return ScriptModel(script)
    provider, _, rest = spec.partition(":")
    if provider not in ("openai", "anthropic") or not rest.strip():
        raise ConfigurationError(f"a model is {ALLOWED}, not {Redactor()(spec)!r}", field="model")
    name, base_url = _split(rest)
    settings = settings or ModelSettings()
    prefix = provider.upper()
    base_url = base_url or environ.get(f"{prefix}_BASE_URL", "").strip() or settings.base_urls.get(provider, "")
    key = environ.get(f"{prefix}_API_KEY", "") or settings.keys.get(provider, "")
    if provider == "openai":
        from runtime.models import openai_chat as openai

        url = base_url or openai.BASE_URL
        return openai.OpenAIChat(name, base_url=url, key=key, settings=settings, transport=transport)
    from runtime.models import anthropic

    url = base_url or anthropic.BASE_URL
    return anthropic.AnthropicMessages(name, base_url=url, key=key, settings=settings, transport=transport)


def _split(rest: str) -> tuple[str, str]:
    """Name and base URL of `NAME[@BASE_URL]`; a name may hold `:`, `/` and `@` itself."""
    at = _BASE_URL.search(rest)
    name = rest[: at.start()] if at else rest
    if not name.strip():
        raise ConfigurationError(f"a model is {ALLOWED}; the name is missing", field="model")
    if meant := _MEANT_A_URL.search(name):
        host = meant[1]
        raise ConfigurationError(f"a base URL begins with http:// or https://: @http://{host}", field="model")
    return name.strip(), rest[at.end() :].strip() if at else ""
