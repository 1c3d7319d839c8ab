"""How model servers are reached: waits, proxy, keys, base URLs and room, as a user has set them for all or for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PROVIDERS = ("openai", "anthropic")
"""The dialects of model servers; a spec begins with one of them (M4)."""

WITHOUT_A_WIRE = ("offline", "script")
"""The models that no server is asked for."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to wait: for the connection, for the first byte of the answer, between two pieces, for a whole step."""

    connect: float = 10.0
    first_byte: float = 120.0
    between: float = 60.0
    step: float = 600.0


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model as the settings name it. What is None here is as for all models.

    `spec` is `openai:NAME` or `anthropic:NAME`. `base_url` empty is the provider's. `key` is the key itself, an empty
    one sends none; `key_from` names an environment variable that holds it and goes before `key`. `context_tokens` is
    the model's whole room.
    """

    spec: str
    base_url: str = field(default="", repr=False)
    key: str | None = field(default=None, repr=False)
    key_from: str = ""
    proxy: str | None = field(default=None, repr=False)
    timeouts: Timeouts | None = None
    stream: bool | None = None
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What a user has set for all models. Keys and base URLs are by provider, `openai` or `anthropic`; keys are never
    printed.

    `proxy` is a URL that all servers but local ones are reached through; None means what the environment says, an
    empty text none. `stream` false asks for whole answers. `models` are those with a name or a setting of their own,
    by what people write for them. `context_tokens` is the room of servers' models that name none (None: the agent's
    `fit`). `file` is where it was read from, empty if there was no file.
    """

    timeouts: Timeouts = Timeouts()
    proxy: str | None = field(default=None, repr=False)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    stream: bool = True
    models: Mapping[str, ModelEntry] = field(default_factory=dict)
    context_tokens: int | None = None
    file: str = ""

    def room(self, spec: str) -> int | None:
        """The context of a model in tokens, as far as it is set; `spec` as people write it, `@BASE_URL` or not."""
        if spec in WITHOUT_A_WIRE:
            return None
        entry = self.models.get(spec) or self.models.get(spec.partition("@http")[0])
        return (entry.context_tokens if entry else None) or self.context_tokens
