"""How model servers are reached: waits, proxy, keys and base URLs, as read from the environment or a settings file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to wait: for the connection, for the first byte of the answer, between two pieces, for a whole step."""

    connect: float = 10.0
    first_byte: float = 120.0
    between: float = 60.0
    step: float = 600.0


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What a user has set for all models. Keys and base URLs are by provider, `openai` or `anthropic`; keys are never
    printed.

    `proxy` is a URL that all servers but local ones are reached through; None means what the environment says, an
    empty text none. `stream` false asks for whole answers.
    """

    timeouts: Timeouts = Timeouts()
    proxy: str | None = field(default=None, repr=False)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_urls: Mapping[str, str] = field(default_factory=dict, repr=False)
    stream: bool = True
