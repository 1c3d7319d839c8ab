"""A turn while it runs: its events become a record (the fold of the journal so far) and what lies between two items."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from runtime.events import (
    CallBegan,
    CallEnded,
    Journaled,
    Opened,
    Settled,
    StepBegan,
    Streamed,
    TurnEvent,
    Withdrawn,
)
from runtime.fold import fold
from runtime.values.items import ToolCall, ToolResult
from runtime.values.record import JournalItem, Turn, TurnRecord
from studio_tui.views.model import Live


@dataclass(slots=True)
class _Now:
    """What one turn, root or delegated, is doing."""

    turn: Turn
    items: list[JournalItem] = field(default_factory=list)
    step: int = 0
    model: str = ""
    text: list[str] = field(default_factory=list)
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    children: list[str] = field(default_factory=list)
    settled: TurnRecord | None = None


class LiveTurn:
    """Follows the events of one `Runtime.stream`; a delegated turn's events are kept apart from its parent's (C37)."""

    def __init__(self) -> None:
        self.root: str | None = None
        self._turns: dict[str, _Now] = {}

    @property
    def turn(self) -> Turn | None:
        """The root turn's row as it was opened; None before that."""
        return self._turns[self.root].turn if self.root else None

    @property
    def settled(self) -> TurnRecord | None:
        """The root turn's record, once it has ended."""
        return self._turns[self.root].settled if self.root else None

    @property
    def step(self) -> int:
        """The step under way, 0 before the first."""
        return self._turns[self.root].step if self.root else 0

    def tell(self, event: TurnEvent) -> None:
        """Take in one event."""
        if isinstance(event, Opened):
            self._open(event.turn)
            return
        now = self._turns.get(event.turn)
        if now is None:
            return
        match event:
            case StepBegan():
                now.step, now.model = event.step, event.model
                now.text, now.calls, now.results = [], (), ()
            case Streamed():
                now.text.append(event.text)
            case Withdrawn():
                now.text = []
            case CallBegan():
                now.calls = (*now.calls, event.call)
            case CallEnded():
                now.results = (*now.results, event.result)
            case Journaled():
                now.items.append(event.item)
                if event.item.kind == "step":
                    now.text = []
                elif event.item.kind == "results":
                    now.calls, now.results = (), ()
            case Settled():
                now.settled = event.record

    def record(self, turn: str | None = None) -> TurnRecord | None:
        """The record so far of `turn` (None: the root), its delegated turns in it; None if it is not of this run."""
        now = self._turns.get(turn or self.root or "")
        if now is None:
            return None
        if now.settled is not None:
            return now.settled
        children = [child for id in now.children if (child := self.record(id)) is not None]
        return fold(now.turn, now.items, children=children)

    def live(self, turn: str | None = None) -> Live | None:
        """What `turn` (None: the root) is doing between two journal items; None once it has ended."""
        now = self._turns.get(turn or self.root or "")
        if now is None or now.settled is not None:
            return None
        return Live(max(now.step, 1), now.model, "".join(now.text), now.calls, now.results)

    def _open(self, turn: Turn) -> None:
        self._turns[turn.id] = _Now(turn)
        if self.root is None:
            self.root = turn.id
        elif turn.parent in self._turns:
            self._turns[turn.parent].children.append(turn.id)


def outline(turn: Turn) -> TurnRecord:
    """A record of a turn's row alone: what a list of turns needs, before its journal was read."""
    return fold(replace(turn, state_before={}, state_after={}), ())
