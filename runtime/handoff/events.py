"""What happens between the agents of a session, as values: handoffs, resumed threads, returns, refusals (H12).

Every event is kept in the session's log in the store, in order, and `n` is its place there, from 1. Agents are named
as their files name them, threads by their ids, places as `FILE:LINE`. Values are as the store keeps them: mask them
with the session's `Mask` before they are shown or written anywhere (Q3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from runtime.handoff.strategy import Place
from runtime.values.json import JsonObject
from runtime.values.record import LeftOut

StrategySource = Literal["route", "project", "platform"]
Requested: TypeAlias = "int | Literal['all']"


@dataclass(frozen=True, slots=True)
class Trigger:
    """The customer message that led to a handoff: its seq in the caller's thread, and whether it is among the copies
    (H13). It is the request of the target's first turn in either case."""

    seq: int
    copied: bool


@dataclass(frozen=True, slots=True)
class Carried:
    """The values that went to a target (H9).

    `passed` came by PASS, `assigned` by SET, which wins; `summary` is the filled-in SUMMARY, empty without one;
    `skipped` are PASS fields that had no value. `kept_back` are the fields the caller had gathered and did not pass.
    """

    passed: JsonObject
    assigned: JsonObject
    summary: str
    skipped: tuple[str, ...] = ()
    kept_back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChildSeen:
    """A child of the caller (or of its children) as it was when a handoff chose its rows: how many it had (H2)."""

    thread: str
    rows: int
    sensitive: bool


@dataclass(frozen=True, slots=True)
class ChildLeftOut:
    """Rows of a child's thread that were not copied, and why (H2)."""

    thread: str
    rows: LeftOut


@dataclass(frozen=True, slots=True)
class HandoffEvent:
    """A handoff that created a target's thread.

    `written` is the route's HISTORY as it stands in the file (None: the route has none) and `written_at` where;
    `strategy` what is in force (`full`, `none`, `summary_only`, `last_6`) and `source` where that comes from.
    `requested` is how many rows the strategy asks for, `copied` how many it got, the trigger counted if it is among
    them (H13); `rows` are the copies by the place where each was first stored, oldest first. `left_out` are the
    caller's rows 1..`caller_rows` that stay; `children` what earlier children had then, `children_left_out` their rows
    that stay because a child is sensitive. `barred` and
    `barred_threads` are what no handoff may copy.
    `first_turn` is the target's first turn, `matches` whether its history section holds exactly the copies without
    the trigger, with the trigger as its request; both None until that turn has run. `as_written` says whether what is
    in force is what was written.
    """

    n: int
    caller: str
    target: str
    caller_thread: str
    thread: str
    turn: str
    route: str
    written: str | None
    written_at: str
    strategy: str
    source: StrategySource
    as_written: bool
    requested: Requested
    copied: int
    rows: tuple[Place, ...]
    left_out: tuple[LeftOut, ...]
    caller_rows: int
    trigger: Trigger
    carried: Carried
    returns: bool
    has_summary: bool
    remote: bool = False
    children: tuple[ChildSeen, ...] = ()
    children_left_out: tuple[ChildLeftOut, ...] = ()
    barred: tuple[Place, ...] = ()
    barred_threads: tuple[str, ...] = ()
    led_by: str | None = None
    first_turn: str | None = None
    matches: bool | None = None


@dataclass(frozen=True, slots=True)
class ThreadResume:
    """A handoff to an agent whose thread was still waiting: nothing is copied, HISTORY is not applied (H7).

    `rows` is how many rows the thread had by then; `written` and `written_at` are the HISTORY that was not applied.
    """

    n: int
    caller: str
    target: str
    caller_thread: str
    thread: str
    turn: str
    route: str
    written: str | None
    written_at: str
    rows: int
    left_out: tuple[LeftOut, ...]
    trigger: Trigger
    carried: Carried
    returns: bool
    led_by: str | None = None


ReturnReason = Literal["complete", "answer", "called", "done"]
"""COMPLETE held; an answer by a target with neither COMPLETE nor an open field; its model called the return; a remote
target said that it is done."""


@dataclass(frozen=True, slots=True)
class Return:
    """A child gave the conversation back to its caller (H8, H14).

    `joined` are the child's answers that joined the caller's conversation, by seq in the child's thread; `strategy`
    decides whether any do. `values` are what came back, under the caller's names; `assigned` what ON_RETURN sets.
    `action` is what the caller does now: nothing until the customer speaks, `continue`, or `resume_intent`.
    """

    n: int
    child: str
    caller: str
    thread: str
    caller_thread: str
    turn: str
    reason: ReturnReason
    strategy: str
    joined: tuple[int, ...]
    values: JsonObject
    assigned: JsonObject
    action: Literal["", "continue", "resume_intent"] = ""


@dataclass(frozen=True, slots=True)
class LeftWaiting:
    """A message that was for the caller left a returnable child waiting, to be resumed (H14)."""

    n: int
    child: str
    caller: str
    thread: str
    caller_thread: str
    turn: str
    intent: str


Refusal = Literal["self", "undeclared", "circle", "too-many"]


@dataclass(frozen=True, slots=True)
class RefusedHandoff:
    """A route that held and was not taken (H10); the next one is tried. `problem` is a sentence."""

    n: int
    caller: str
    target: str
    caller_thread: str
    turn: str
    route: str
    why: Refusal
    problem: str


@dataclass(frozen=True, slots=True)
class FailedHandoff:
    """A remote target that did not accept (H11). `action` is the route's ON_FAILURE; `problem` shows no secret."""

    n: int
    caller: str
    target: str
    caller_thread: str
    turn: str
    route: str
    action: Literal["continue", "escalate", "respond"]
    problem: str


@dataclass(frozen=True, slots=True)
class UnresolvedRoute:
    """A route's condition asked for names that have no value, or could not be evaluated (`error`)."""

    n: int
    caller: str
    target: str
    caller_thread: str
    turn: str
    route: str
    names: tuple[str, ...]
    error: str = ""


SessionEvent: TypeAlias = (
    "HandoffEvent | ThreadResume | Return | LeftWaiting | RefusedHandoff | FailedHandoff | UnresolvedRoute"
)

ThreadStatus = Literal["active", "waiting", "returned", "completed", "escalated"]
"""Spoken to now; waiting for a child or left waiting; gave the conversation back; closed by RETURN false or done;
handed to a person."""


@dataclass(frozen=True, slots=True)
class SessionThread:
    """One thread of a session, for the tree: `caller` is the thread that created it, None for the first agent's."""

    id: str
    agent: str
    caller: str | None
    status: ThreadStatus
    rows: int
    sensitive: bool
    remote: bool
    route: str
