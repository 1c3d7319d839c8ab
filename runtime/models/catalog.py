"""From what people write to a model: `offline`, `script`, `openai:NAME`, `anthropic:NAME`, with `@BASE_URL` (M4)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from runtime.errors import ConfigurationError
from runtime.models import Model
from runtime.values.seed import ScriptEntry

if TYPE_CHECKING:
    import httpx

    from runtime.models.settings import ModelSettings


def open_model(
    spec: str,
    *,
    script: Sequence[ScriptEntry] | None = None,
    environ: Mapping[str, str] = os.environ,
    settings: ModelSettings | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Model:
    """The model that `spec` names, or that `settings` name so. Nothing is contacted; adapters with connections have an
    `aclose`.

    `script` are the entries of the seed for `script`. Keys and base URLs come from `environ` (`OPENAI_API_KEY`,
    `OPENAI_BASE_URL`, the same for `ANTHROPIC`) and from `settings`; `reach` says in which order. `transport` stands in
    for the network.

    Raises ConfigurationError for a spec that names no model, and for a base URL, proxy or key that cannot be used.
    """
    spec = spec.strip()
    if spec == "offline":
        from runtime.models.offline import OfflineModel

        return OfflineModel()
    if spec == "script":
        if not script:
            raise ConfigurationError("script answers from a seed, and this thread's seed has no script", field="model")
        from runtime.models.script import ScriptModel

        return ScriptModel(script)
    from runtime.models.reach import reach
    from runtime.models.settings import ModelSettings

    found = reach(spec, settings or ModelSettings(), environ)
    name, url = found.spec.name, found.base_url
    if found.spec.provider == "openai":
        from runtime.models import openai_chat as openai

        return openai.OpenAIChat(
            name,
            base_url=url or openai.BASE_URL,
            key=found.key,
            key_name=found.key_name,
            settings=found.settings,
            transport=transport,
        )
    from runtime.models import anthropic

    return anthropic.AnthropicMessages(
        name,
        base_url=url or anthropic.BASE_URL,
        key=found.key,
        key_name=found.key_name,
        settings=found.settings,
        transport=transport,
    )
