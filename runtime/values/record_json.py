"""The turn record as the JSON that `--json` prints and back; its schema is in `runtime.values.record_schema`.

Every key is always there, null where there is nothing. A delegated turn stands under the result it answers. Of a turn
that failed `fit-overflow` the step that was not made is the last of `steps`, so that its parts can be read (F1).
Two keys more, `view` and `rerun_of`, are there for runs on a view alone (X4). What only the store knows (a row's
insertion number, the number of the turn, who runs it) is not told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from runtime.errors import BadInput
from runtime.values.items import Item, ToolResult, ToolResults
from runtime.values.journal_json import (
    attempt_from_json,
    attempt_json,
    context_from_json,
    context_json,
    item_from_json,
    item_json,
    result_json,
    step_from_json,
    step_json,
    usage_from_json,
    usage_json,
    view_from_json,
    view_json,
)
from runtime.values.json import Json, JsonObject
from runtime.values.record import ContextRecord, Fit, StepRecord, TurnRecord

_Raw: TypeAlias = Mapping[str, Any]


def record_json(record: TurnRecord) -> dict[str, Json]:
    """The record as plain dicts and lists, in the order of CLI.md."""
    steps = [*record.steps, record.overflow] if record.overflow is not None else record.steps
    value: dict[str, Json] = {
        "turn": record.turn,
        "thread": record.thread,
        "origin": record.origin,
        "layout": record.layout,
        "agent": record.agent,
        "kind": record.kind,
        "window": record.window,
        "at": time_json(record.at),
        "seconds": record.seconds,
        "context": context_json(record.context) if record.context is not None else None,
        "fit": _fit_json(record.fit) if record.fit is not None else None,
        "steps": [step_json(step) for step in steps],
        "transcript": [_transcript_json(item, record.children or {}) for item in record.transcript],
        "tiers": [attempt_json(attempt) for attempt in record.tiers],
        "status": record.status,
        "reason": record.reason,
        "error": record.error,
        "answer": record.answer,
        "stored_user": record.stored_user,
        "stored_assistant": record.stored_assistant,
        "unstored": {"user": record.unstored_user, "assistant": record.unstored_assistant},
        "handoff": record.handoff,
        "state": {"before": record.state_before, "after": record.state_after},
        "usage": usage_json(record.usage),
    }
    if record.view is not None:
        value["view"] = view_json(record.view)
        value["rerun_of"] = record.rerun_of
    return value


def record_from_json(value: JsonObject) -> TurnRecord:
    """The record that `record_json` wrote, without what it does not tell. Raises BadInput for anything else."""
    try:
        return _record(value)
    except KeyError as missing:
        raise BadInput(f"a turn record has the key {missing}", field="turn record") from None
    except (TypeError, ValueError, AttributeError) as wrong:
        raise BadInput(f"this is no turn record: {wrong}", field="turn record") from None


def time_json(when: datetime) -> str:
    """A time as `2026-01-05T09:00:00Z`: UTC, whole seconds."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_from_json(text: str) -> datetime:
    """The time that `time_json` wrote, aware. Raises ValueError."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def _record(raw: _Raw) -> TurnRecord:
    context = context_from_json(raw["context"]) if raw["context"] is not None else None
    transcript = tuple(_transcript_from_json(item) for item in raw["transcript"])
    steps, overflow = _steps(raw)
    view = raw.get("view")
    return TurnRecord(
        turn=raw["turn"],
        thread=raw["thread"],
        origin=raw["origin"],
        layout=raw["layout"],
        agent=raw["agent"],
        kind=raw["kind"],
        window=raw["window"],
        request=_request(context),
        at=time_from_json(raw["at"]),
        seconds=raw["seconds"],
        context=context,
        fit=Fit(raw["fit"]["limit"], raw["fit"]["reserve"], raw["fit"]["estimate"]) if raw["fit"] is not None else None,
        steps=steps,
        transcript=transcript,
        tiers=tuple(attempt_from_json(attempt) for attempt in raw["tiers"]),
        status=raw["status"],
        reason=raw["reason"],
        error=raw["error"],
        answer=raw["answer"],
        stored_user=raw["stored_user"],
        stored_assistant=raw["stored_assistant"],
        unstored_user=raw["unstored"]["user"],
        unstored_assistant=raw["unstored"]["assistant"],
        state_before=raw["state"]["before"],
        state_after=raw["state"]["after"],
        usage=usage_from_json(raw["usage"]),
        view=view_from_json(view) if view is not None else None,
        rerun_of=raw.get("rerun_of"),
        overflow=overflow,
        children=_children(raw) or None,
        handoff=raw["handoff"],
    )


def _request(context: ContextRecord | None) -> str:
    section = context.section("request") if context is not None else None
    return section.text if section is not None else ""


def _steps(raw: _Raw) -> tuple[tuple[StepRecord, ...], StepRecord | None]:
    steps = tuple(step_from_json(step) for step in raw["steps"])
    if raw["reason"] != "fit-overflow" or not steps:
        return steps, None
    return steps[:-1], steps[-1]


def _fit_json(fit: Fit) -> dict[str, Json]:
    return {"limit": fit.limit, "reserve": fit.reserve, "estimate": fit.estimate}


def _transcript_json(item: Item, children: Mapping[str, TurnRecord]) -> dict[str, Json]:
    if not isinstance(item, ToolResults):
        return item_json(item)
    results: list[Json] = [_result_json(result, children.get(result.id)) for result in item.results]
    return {**item_json(item), "results": results}


def _result_json(result: ToolResult, child: TurnRecord | None) -> dict[str, Json]:
    value = result_json(replace(result, turn=None))
    return value if child is None else {**value, "turn": record_json(child)}


def _transcript_from_json(raw: _Raw) -> Item:
    if raw["item"] != "tools":
        return item_from_json(raw)
    results = [{**result, "turn": result["turn"]["turn"]} if "turn" in result else result for result in raw["results"]]
    return item_from_json({**raw, "results": results})


def _children(raw: _Raw) -> dict[str, TurnRecord]:
    return {
        result["id"]: replace(_record(result["turn"]), parent=raw["turn"], parent_call=result["id"])
        for item in raw["transcript"]
        if item["item"] == "tools"
        for result in item["results"]
        if "turn" in result
    }
