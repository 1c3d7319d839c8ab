"""The point of a thread that runs look at (X4), and what a run may change there: values alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runtime.calls import CallKey, ToolMode, canonical
from runtime.errors import BadInput
from runtime.stores import Thread
from runtime.values.agent import Agent
from runtime.values.items import AssistantStep, ToolResult, ToolResults
from runtime.values.json import JsonObject, clean
from runtime.values.messages import Window
from runtime.values.record import Kind, Turn, TurnRecord, View
from runtime.values.request import Attachment
from runtime.values.seed import Seed


@dataclass(frozen=True, slots=True)
class Overrides:
    """What holds for one turn alone; None takes the agent's window, the thread's agent, the agent's chain, the
    turn's own request, the agent's own instructions."""

    window: Window | None = None
    agent: str | None = None
    model: str | None = None
    request: str | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What a run changes of what the turn was sent: how tools answer (X4), and parts left out or with other text (X7).

    `drop` are rows left out (the request's own may be), `edit` rows with other text, by seq. `views` are state views
    by name, `blocks` the paragraphs of the instructions by number from 1, `results` the turn's tool results by the id
    of their call: each with other text, or None to leave it out.
    """

    tools: ToolMode = "live"
    drop: tuple[int, ...] = ()
    edit: Mapping[int, str] | None = None
    views: Mapping[str, str | None] | None = None
    blocks: Mapping[int, str | None] | None = None
    results: Mapping[str, str | None] | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """A point of a thread under study: rows 1..`upto`, the state there, and a request that counts as the newest row.

    `of` is the turn whose request it is, None for a request that was never sent. `before` is the turn before it with
    the seqs it selected. `recorded` are the results of the turn's calls in order, `call_places` where each call id
    stands among them. `attachments` are the files it was asked with, without data where that is gone.
    """

    thread: Thread
    seed: Seed | None
    upto: int
    request: str
    kind: Kind
    state: JsonObject
    agent: Agent
    window: Window
    of: Turn | None = None
    before: tuple[str, Sequence[int]] | None = None
    recorded: Mapping[CallKey, tuple[ToolResult, ...]] | None = None
    call_places: Mapping[str, tuple[CallKey, int]] | None = None
    attachments: tuple[Attachment, ...] = ()

    @property
    def stored(self) -> int:
        """How many rows `all` counts: the request's too, unless the turn runs on a brief."""
        return self.upto + (self.kind == "envelope")

    @property
    def tools(self) -> ToolMode:
        """How tools answer unless told otherwise: as recorded in the turn, live for a request that was never sent."""
        return "live" if self.of is None else "recorded"

    @property
    def name(self) -> str:
        """What a sentence calls it: `turn 3`, `re-run ID`, or the thread where nothing was sent."""
        if self.of is None:
            return f"thread {self.thread.id}"
        if self.of.view is not None:
            return f"re-run {self.of.id}"
        return f"turn {self.of.number}" if self.of.number else f"turn {self.of.id}"

    def view(self, changes: Changes, agent: Agent) -> View:
        """The view of a run of `agent` with these changes. Raises BadInput for a part that the turn could not see."""
        edit = {seq: clean(text) for seq, text in (changes.edit or {}).items()}
        for seq in (*changes.drop, *edit):
            if not 1 <= seq <= self.upto and not (seq == self.stored and seq in changes.drop):
                raise BadInput(f"row {seq} is not among the rows 1 to {self.upto} before {self._where}", field="seq")
        _known(changes.views, agent.state_views, "state view")
        _known(changes.blocks, range(1, len(blocks_of(agent.instructions)) + 1), "paragraph of the instructions")
        _known(changes.results, self.call_places or (), "recorded call")
        return View(
            self.upto,
            tuple(sorted(set(changes.drop))),
            edit or None,
            dict(changes.views) if changes.views else None,
            dict(changes.blocks) if changes.blocks else None,
            dict(changes.results) if changes.results else None,
        )

    def instead(self, changes: Changes) -> dict[tuple[CallKey, int], str | None]:
        """Which call (by name, arguments, and how many were like it before) gets which text as its result."""
        places = self.call_places or {}
        return {places[id]: text for id, text in (changes.results or {}).items()}

    @property
    def _where(self) -> str:
        return f"turn {self.of.id}" if self.of is not None else "the request"


def changed_agent(agent: Agent, changes: Changes, instructions: str | None = None) -> Agent:
    """The agent with other instructions, and with paragraphs and state views changed or left out."""
    text = agent.instructions if instructions is None else clean(instructions)
    if changes.blocks:
        blocks = {**dict(enumerate(blocks_of(text), 1)), **changes.blocks}
        text = "\n\n".join(clean(block) for _, block in sorted(blocks.items()) if block is not None)
    gone = {name for name, shown in (changes.views or {}).items() if shown is None}
    views = tuple(name for name in agent.state_views if name not in gone)
    if text == agent.instructions and views == agent.state_views:
        return agent
    return replace(agent, instructions=text, state_views=views)


def shown_state(changes: Changes) -> dict[str, str] | None:
    """The state views that show another text, by name."""
    shown = {name: clean(text) for name, text in (changes.views or {}).items() if text is not None}
    return shown or None


def blocks_of(instructions: str) -> list[str]:
    """The paragraphs of instructions: what blank lines part."""
    return [block.strip("\n") for block in re.split(r"\n[^\S\n]*\n\s*", instructions) if block.strip()]


def recorded_results(record: TurnRecord) -> dict[CallKey, tuple[ToolResult, ...]]:
    """The results of a record by name and arguments of their calls, in order (X4)."""
    found: dict[CallKey, tuple[ToolResult, ...]] = {}
    for key, result in _results(record):
        found[key] = (*found.get(key, ()), result)
    return found


def call_places(record: TurnRecord) -> dict[str, tuple[CallKey, int]]:
    """Where each call id of a record stands in `recorded_results`: under which key, and at which place from 0."""
    count: dict[CallKey, int] = {}
    found: dict[str, tuple[CallKey, int]] = {}
    for key, result in _results(record):
        found[result.id] = (key, count.get(key, 0))
        count[key] = count.get(key, 0) + 1
    return found


def _results(record: TurnRecord) -> list[tuple[CallKey, ToolResult]]:
    calls = {call.id: call for item in record.transcript if isinstance(item, AssistantStep) for call in item.calls}
    return [
        ((calls[result.id].name, canonical(calls[result.id].arguments)), result)
        for item in record.transcript
        if isinstance(item, ToolResults)
        for result in item.results
    ]


def _known(given: Mapping[str, object] | Mapping[int, object] | None, names: object, what: str) -> None:
    known = list(names)  # type: ignore[call-overload]  # names or numbers, whatever holds them
    for name in given or ():
        if name not in known:
            there = f"; there are: {', '.join(map(str, known))}" if known else ""
            raise BadInput(f"there is no {what} {name}{there}", field=what)
