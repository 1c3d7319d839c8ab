"""Events of a session as JSON and back: what the store keeps, and what `converse --json` prints once masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from runtime.handoff.events import (
    Carried,
    ChildLeftOut,
    ChildSeen,
    FailedHandoff,
    HandoffEvent,
    LeftWaiting,
    RefusedHandoff,
    Return,
    SessionEvent,
    ThreadResume,
    Trigger,
    UnresolvedRoute,
)
from runtime.handoff.strategy import Place
from runtime.values.json import Json, JsonObject
from runtime.values.record import LeftOut

_Raw: TypeAlias = Mapping[str, Any]

FIRST_TURN = "first_turn"
SAID = "said"
ESCALATED = "escalated"
"""Entries of the log that are no events: the first turn of a target, where a customer's message is, a person asked."""


def event_json(event: SessionEvent) -> dict[str, Json]:
    """The event under `event` and the names of CLI.md; `from` and `to` are agents."""
    match event:
        case HandoffEvent():
            return _handoff_json(event)
        case ThreadResume():
            return {
                **_between("thread_resume", event.n, event.caller, event.target, event.route),
                "written": event.written,
                "written_at": event.written_at,
                "rows": event.rows,
                "left_out": _ranges(event.left_out),
                "trigger": _trigger(event.trigger),
                **_carried(event.carried),
                "returns": event.returns,
                "led_by": event.led_by,
                **_threads(event.caller_thread, event.thread, event.turn),
            }
        case Return():
            return {
                **_between("return", event.n, event.child, event.caller, None),
                "reason": event.reason,
                "strategy": event.strategy,
                "joined": list(event.joined),
                "values": event.values,
                "set": event.assigned,
                "action": event.action,
                **_threads(event.caller_thread, event.thread, event.turn),
            }
        case LeftWaiting():
            return {
                **_between("left_waiting", event.n, event.child, event.caller, None),
                "intent": event.intent,
                **_threads(event.caller_thread, event.thread, event.turn),
            }
        case RefusedHandoff():
            extra: dict[str, Json] = {"why": event.why, "problem": event.problem}
            return {
                **_between("handoff_refused", event.n, event.caller, event.target, event.route),
                **extra,
                **_at(event),
            }
        case FailedHandoff():
            extra = {"action": event.action, "problem": event.problem}
            return {
                **_between("handoff_failed", event.n, event.caller, event.target, event.route),
                **extra,
                **_at(event),
            }
        case UnresolvedRoute():
            extra = {"names": list(event.names), "error": event.error}
            head = _between("route_unresolved", event.n, event.caller, event.target, event.route)
            return {**head, **extra, **_at(event)}


def events_of(log: Sequence[JsonObject]) -> tuple[SessionEvent, ...]:
    """The events in a log; what became known of a target's first turn later stands in its handoff.

    Raises KeyError, TypeError or ValueError for an entry that is none.
    """
    found: dict[int, SessionEvent] = {}
    for raw in log:
        entry: _Raw = raw
        name = str(entry.get("event"))
        if name == FIRST_TURN:
            event = found[entry["of"]]
            assert isinstance(event, HandoffEvent)
            found[entry["of"]] = replace(event, first_turn=entry["turn"], matches=entry["matches"])
        elif name in _READERS:
            found[entry["n"]] = _READERS[name](entry)
    return tuple(found.values())


def numbered(event: SessionEvent, n: int) -> SessionEvent:
    """The event with its place in the log."""
    return replace(event, n=n)


def _handoff_json(event: HandoffEvent) -> dict[str, Json]:
    return {
        **_between("handoff", event.n, event.caller, event.target, event.route),
        "written": event.written,
        "written_at": event.written_at,
        "strategy": event.strategy,
        "source": event.source,
        "as_written": event.as_written,
        "requested": event.requested,
        "copied": event.copied,
        "left_out": _ranges(event.left_out),
        "trigger": _trigger(event.trigger),
        "matches": event.matches,
        **_carried(event.carried),
        "returns": event.returns,
        "remote": event.remote,
        "has_summary": event.has_summary,
        "led_by": event.led_by,
        "rows": [list(place) for place in event.rows],
        "caller_rows": event.caller_rows,
        "children": [{"thread": one.thread, "rows": one.rows, "sensitive": one.sensitive} for one in event.children],
        "children_left_out": [{"thread": one.thread, **_range(one.rows)} for one in event.children_left_out],
        "barred": [list(place) for place in event.barred],
        "barred_threads": list(event.barred_threads),
        "first_turn": event.first_turn,
        **_threads(event.caller_thread, event.thread, event.turn),
    }


def _read_handoff(raw: _Raw) -> HandoffEvent:
    return HandoffEvent(
        n=raw["n"],
        caller=raw["from"],
        target=raw["to"],
        caller_thread=raw["caller_thread"],
        thread=raw["thread"],
        turn=raw["turn"],
        route=raw["route"],
        written=raw["written"],
        written_at=raw["written_at"],
        strategy=raw["strategy"],
        source=raw["source"],
        as_written=raw["as_written"],
        requested=raw["requested"],
        copied=raw["copied"],
        rows=_places(raw["rows"]),
        left_out=tuple(map(_read_range, raw["left_out"])),
        caller_rows=raw["caller_rows"],
        trigger=Trigger(raw["trigger"]["seq"], raw["trigger"]["copied"]),
        carried=_read_carried(raw),
        returns=raw["returns"],
        has_summary=raw["has_summary"],
        remote=raw["remote"],
        children=tuple(ChildSeen(one["thread"], one["rows"], one["sensitive"]) for one in raw["children"]),
        children_left_out=tuple(ChildLeftOut(one["thread"], _read_range(one)) for one in raw["children_left_out"]),
        barred=_places(raw["barred"]),
        barred_threads=tuple(raw["barred_threads"]),
        led_by=raw["led_by"],
        first_turn=raw["first_turn"],
        matches=raw["matches"],
    )


def _read_resume(raw: _Raw) -> ThreadResume:
    return ThreadResume(
        raw["n"],
        raw["from"],
        raw["to"],
        raw["caller_thread"],
        raw["thread"],
        raw["turn"],
        raw["route"],
        raw["written"],
        raw["written_at"],
        raw["rows"],
        tuple(map(_read_range, raw["left_out"])),
        Trigger(raw["trigger"]["seq"], raw["trigger"]["copied"]),
        _read_carried(raw),
        raw["returns"],
        raw["led_by"],
    )


def _read_return(raw: _Raw) -> Return:
    return Return(
        raw["n"],
        raw["from"],
        raw["to"],
        raw["thread"],
        raw["caller_thread"],
        raw["turn"],
        raw["reason"],
        raw["strategy"],
        tuple(raw["joined"]),
        raw["values"],
        raw["set"],
        raw["action"],
    )


def _read_left(raw: _Raw) -> LeftWaiting:
    threads = raw["thread"], raw["caller_thread"], raw["turn"]
    return LeftWaiting(raw["n"], raw["from"], raw["to"], *threads, raw["intent"])


def _read_refused(raw: _Raw) -> RefusedHandoff:
    return RefusedHandoff(*_read_head(raw), raw["why"], raw["problem"])


def _read_failed(raw: _Raw) -> FailedHandoff:
    return FailedHandoff(*_read_head(raw), raw["action"], raw["problem"])


def _read_unresolved(raw: _Raw) -> UnresolvedRoute:
    return UnresolvedRoute(*_read_head(raw), tuple(raw["names"]), raw["error"])


_READERS: Mapping[str, Callable[[_Raw], SessionEvent]] = {
    "handoff": _read_handoff,
    "thread_resume": _read_resume,
    "return": _read_return,
    "left_waiting": _read_left,
    "handoff_refused": _read_refused,
    "handoff_failed": _read_failed,
    "route_unresolved": _read_unresolved,
}


def _between(name: str, n: int, one: str, other: str, route: str | None) -> dict[str, Json]:
    head: dict[str, Json] = {"event": name, "n": n, "from": one, "to": other}
    return head if route is None else {**head, "route": route}


def _threads(caller: str, thread: str, turn: str) -> dict[str, Json]:
    return {"caller_thread": caller, "thread": thread, "turn": turn}


def _at(event: RefusedHandoff | FailedHandoff | UnresolvedRoute) -> dict[str, Json]:
    return {"caller_thread": event.caller_thread, "turn": event.turn}


def _read_head(raw: _Raw) -> tuple[int, str, str, str, str, str]:
    return raw["n"], raw["from"], raw["to"], raw["caller_thread"], raw["turn"], raw["route"]


def _carried(carried: Carried) -> dict[str, Json]:
    return {
        "passed": carried.passed,
        "set": carried.assigned,
        "summary": carried.summary,
        "skipped": list(carried.skipped),
        "kept_back": list(carried.kept_back),
    }


def _read_carried(raw: _Raw) -> Carried:
    return Carried(raw["passed"], raw["set"], raw["summary"], tuple(raw["skipped"]), tuple(raw["kept_back"]))


def _trigger(trigger: Trigger) -> dict[str, Json]:
    return {"seq": trigger.seq, "copied": trigger.copied}


def _range(one: LeftOut) -> dict[str, Json]:
    return {"from": one.first, "to": one.last, "reason": one.reason}


def _ranges(left: Sequence[LeftOut]) -> list[Json]:
    return [_range(one) for one in left]


def _read_range(raw: _Raw) -> LeftOut:
    return LeftOut(raw["from"], raw["to"], raw["reason"])


def _places(raw: Sequence[Sequence[Any]]) -> tuple[Place, ...]:
    return tuple((str(thread), int(seq)) for thread, seq in raw)
