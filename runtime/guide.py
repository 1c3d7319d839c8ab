"""What decides between the steps of a turn that any text does not end: agents written in ABL (H14, H15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from runtime.values.items import Item
from runtime.values.json import JsonObject
from runtime.values.messages import NewMessage
from runtime.values.request import ToolSpec


@dataclass(frozen=True, slots=True)
class Ask:
    """One more model call, with these tools; `must_call` is the one it has to call, if any.

    `nudge` is said before it, as a user message on the wire that is never stored; empty says nothing. `writes` join
    the turn's state.
    """

    tools: tuple[ToolSpec, ...]
    must_call: str = ""
    nudge: str = ""
    writes: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class End:
    """The turn completes with this answer, or with none (it hands off, or is silent).

    `rows` are stored before the answer, in the same transaction; `writes` join the turn's state; `decision` is told in
    the record as `handoff`.
    """

    answer: str | None
    rows: tuple[NewMessage, ...] = ()
    writes: JsonObject = field(default_factory=dict)
    decision: JsonObject | None = None


class Guide(Protocol):
    """Asked before the first step of a turn and after each: what comes next.

    `transcript` is the turn's so far, `state` the thread's with the turn's writes. What it raises fails the turn.
    """

    async def next(self, transcript: Sequence[Item], state: JsonObject) -> Ask | End: ...
