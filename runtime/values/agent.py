"""An agent as the engine runs it: frozen, resolved from a file, from ABL, or written in Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from runtime.values.json import JsonObject
from runtime.values.messages import DEFAULT_WINDOW, Window

BudgetName = Literal["steps", "tool-calls", "seconds", "tokens"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The work granted to a turn (T7). `seconds` is wall time, `tokens` reported usage, else the estimate."""

    steps: int = 8
    tool_calls: int = 16
    seconds: float = 120.0
    tokens: int = 50_000


@dataclass(frozen=True, slots=True)
class TierSpec:
    """One tier of an agent's chain (M2): `offline`, `script`, `openai:NAME` or `anthropic:NAME`, `@BASE_URL` after it.

    `context_tokens` None means what the settings know of the model, else the agent's `fit`.
    """

    model: str
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class FitLimits:
    """Tokens (F1): the room of a tier that names none, and what is kept for the answer."""

    context_tokens: int = 8192
    reserve_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Agent:
    """What runs a turn. Tool and delegate names are resolved by the Runtime; `window` None was left out (6, S3).

    `file` is where it was read from, `line` where it begins; `shipped` agents may run their own tools without asking
    (T9). `description` is what a parent's model reads when the agent is offered as a delegate (T8).
    """

    name: str
    instructions: str = ""
    window: Window = DEFAULT_WINDOW
    tiers: tuple[TierSpec, ...] = (TierSpec("offline"),)
    tools: tuple[str, ...] = ()
    state_views: tuple[str, ...] = ()
    delegates: tuple[str, ...] = ()
    nudges: int = 2
    budget: Budget = Budget()
    fit: FitLimits = FitLimits()
    description: str = ""
    file: str = ""
    line: int | None = None
    shipped: bool = False
    tool_schemas: tuple[JsonObject, ...] = field(default=())
    """Tools known by their schema alone (an imported request body): offered, never run."""
