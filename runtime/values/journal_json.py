"""The journal as JSON and back, by hand: one pair of functions for each noun, under the key names of the turn record.

`X_json(x)` gives plain dicts and lists; `X_from_json` reads what `X_json` wrote and nothing else (it raises KeyError,
TypeError or ValueError on anything that is not that). Keys that hold nothing beyond their default (`opaque`,
`abandoned`, `configuration`, a child's `turn`) are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from runtime.values.dialogue import join
from runtime.values.items import AssistantStep, Item, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.json import Json, JsonObject, clean
from runtime.values.messages import Window
from runtime.values.record import (
    Attempt,
    ContextItem,
    ContextRecord,
    ContextRow,
    JournalBody,
    JournalKind,
    LeftOut,
    Part,
    ResultsItem,
    SectionRecord,
    Settlement,
    Since,
    StepItem,
    StepRecord,
    ToolOffered,
    View,
)
from runtime.values.usage import Usage

_Raw: TypeAlias = Mapping[str, Any]


def dumps(value: Json) -> str:
    """`value` as compact JSON that every store can keep; mappings and sequences of any class are taken (S8)."""
    return clean(_encode(value))


def loads_object(text: str) -> dict[str, Json]:
    """The JSON object in `text`. Raises ValueError if it holds anything else."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object was expected, not {type(value).__name__}")
    return value


def window_from_text(text: str) -> Window:
    """The window that `str(window)` wrote."""
    return "all" if text == "all" else int(text)


def view_json(view: View) -> dict[str, Json]:
    """`edit` maps seqs, as JSON keys are texts, to texts; `views`, `blocks`, `results` are there if they hold any."""
    edit = None if view.edit is None else {str(seq): text for seq, text in view.edit.items()}
    value: dict[str, Json] = {"upto": view.upto, "drop": list(view.drop), "edit": edit}
    if view.views is not None:
        value["views"] = dict(view.views)
    if view.blocks is not None:
        value["blocks"] = {str(number): text for number, text in view.blocks.items()}
    if view.results is not None:
        value["results"] = dict(view.results)
    return value


def view_from_json(value: JsonObject) -> View:
    """The view that `view_json` wrote."""
    raw: _Raw = value
    return View(
        raw["upto"],
        tuple(raw["drop"]),
        _by_number(raw["edit"]),
        raw.get("views"),
        _by_number(raw.get("blocks")),
        raw.get("results"),
    )


def _by_number(raw: _Raw | None) -> dict[int, Any] | None:
    return None if raw is None else {int(number): text for number, text in raw.items()}


# The opening context


def context_json(context: ContextRecord, *, ids: bool = False, joined: bool = True) -> dict[str, Json]:
    """The `context` of a turn record.

    `ids` adds to each row its store-wide `id` and its `origin`, where it has them. `joined=False` leaves out the text
    of a history section that is just its rows joined (A2): the journal does not keep it twice.
    """
    return {
        "sections": [_section_json(section, ids, joined) for section in context.sections],
        "stored": context.stored,
        "selected": context.selected,
        "left_out": [{"from": one.first, "to": one.last, "reason": one.reason} for one in context.left_out],
        "since": {
            "turn": context.since.turn,
            "entered": list(context.since.entered),
            "left": list(context.since.left),
        },
        "tools": [
            {"name": tool.name, "description": tool.description, "schema": tool.schema, "tokens": tool.tokens}
            for tool in context.tools
        ],
    }


def context_from_json(value: JsonObject) -> ContextRecord:
    """The context that `context_json` wrote, with or without ids; a section text left out is joined again."""
    raw: _Raw = value
    since = raw["since"]
    return ContextRecord(
        sections=tuple(_section_from_json(section) for section in raw["sections"]),
        stored=raw["stored"],
        selected=raw["selected"],
        left_out=tuple(LeftOut(one["from"], one["to"], one["reason"]) for one in raw["left_out"]),
        since=Since(since["turn"], tuple(since["entered"]), tuple(since["left"])),
        tools=tuple(
            ToolOffered(tool["name"], tool["description"], tool["schema"], tool["tokens"]) for tool in raw["tools"]
        ),
    )


def _section_json(section: SectionRecord, ids: bool, joined: bool) -> dict[str, Json]:
    value: dict[str, Json] = {"name": section.name}
    if joined or section.name != "history" or join(section.rows) != section.text:
        value["text"] = section.text
    value["tokens"] = section.tokens
    if section.name == "history":
        value["messages"] = [row_json(row, ids=ids) for row in section.rows]
    return value


def _section_from_json(raw: _Raw) -> SectionRecord:
    rows = tuple(row_from_json(row) for row in raw.get("messages", ()))
    text = raw["text"] if "text" in raw else join(rows)
    return SectionRecord(raw["name"], text, raw["tokens"], rows)


def row_json(row: ContextRow, *, ids: bool = False) -> dict[str, Json]:
    """A selected row as it stands in the history section's `messages`; `ids` as in `context_json`."""
    value: dict[str, Json] = {
        "seq": row.seq,
        "role": row.role,
        "text": row.text,
        "tokens": row.tokens,
        "needs": row.needs,
        "is_brief": row.is_request,
        "repeats": list(row.repeats),
    }
    if ids and row.id:
        value["id"] = row.id
    if ids and row.origin is not None:
        value["origin"] = list(row.origin)
    return value


def row_from_json(value: JsonObject) -> ContextRow:
    """The row that `row_json` wrote."""
    raw: _Raw = value
    origin = raw.get("origin")
    return ContextRow(
        raw["seq"],
        raw["role"],
        raw["text"],
        raw["tokens"],
        raw["needs"],
        raw["is_brief"],
        tuple(raw["repeats"]),
        raw.get("id", 0),
        None if origin is None else (origin[0], origin[1]),
    )


# What happens inside a turn


def item_json(item: Item) -> dict[str, Json]:
    """An entry of the `transcript`: `item` is `assistant`, `tools` or `nudge`."""
    if isinstance(item, AssistantStep):
        value: dict[str, Json] = {
            "item": "assistant",
            "step": item.step,
            "text": item.text,
            "calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in item.calls],
            "partial": item.partial,
        }
        if item.opaque is not None:
            value["opaque"] = item.opaque
        return value
    if isinstance(item, ToolResults):
        return {"item": "tools", "step": item.step, "results": [result_json(result) for result in item.results]}
    return {"item": "nudge", "step": item.step, "text": item.text}


def item_from_json(value: JsonObject) -> Item:
    """The transcript item that `item_json` wrote. Raises ValueError for a kind that is none."""
    raw: _Raw = value
    kind = raw["item"]
    if kind == "assistant":
        calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in raw["calls"])
        return AssistantStep(raw["step"], raw["text"], calls, raw["partial"], raw.get("opaque"))
    if kind == "tools":
        return ToolResults(raw["step"], tuple(result_from_json(result) for result in raw["results"]))
    if kind == "nudge":
        return Nudge(raw["step"], raw["text"])
    raise ValueError(f"{kind!r} is no transcript item")


def result_json(result: ToolResult) -> dict[str, Json]:
    """One result. `turn` is the id of the child turn behind it (a record puts the child's record there)."""
    value: dict[str, Json] = {
        "id": result.id,
        "name": result.name,
        "output": result.output,
        "error": result.error,
        "seconds": result.seconds,
    }
    if result.turn is not None:
        value["turn"] = result.turn
    if result.abandoned:
        value["abandoned"] = True
    return value


def result_from_json(value: JsonObject) -> ToolResult:
    """The result that `result_json` wrote."""
    raw: _Raw = value
    return ToolResult(
        raw["id"],
        raw["name"],
        raw["output"],
        raw["error"],
        raw["seconds"],
        raw.get("turn"),
        raw.get("abandoned", False),
    )


def step_json(step: StepRecord) -> dict[str, Json]:
    """An entry of `steps`."""
    return {
        "step": step.step,
        "estimate": step.estimate,
        "parts": parts_json(step.parts),
        "seconds": step.seconds,
        "body": step.body,
    }


def step_from_json(value: JsonObject) -> StepRecord:
    """The step that `step_json` wrote."""
    raw: _Raw = value
    return StepRecord(raw["step"], raw["estimate"], parts_from_json(raw["parts"]), raw["seconds"], raw["body"])


def parts_json(parts: Mapping[Part, int]) -> dict[str, Json]:
    """Tokens by part; they add up to the estimate (F1)."""
    return dict[str, Json](parts.items())


def parts_from_json(value: JsonObject) -> Mapping[Part, int]:
    """The parts that `parts_json` wrote."""
    return cast(Mapping[Part, int], dict(value))


def attempt_json(attempt: Attempt) -> dict[str, Json]:
    """An entry of `tiers`."""
    value: dict[str, Json] = {
        "step": attempt.step,
        "model": attempt.model,
        "outcome": attempt.outcome,
        "status": attempt.status,
        "error": attempt.error,
        "estimate": attempt.estimate,
        "usage": None if attempt.usage is None else usage_json(attempt.usage),
        "seconds": attempt.seconds,
    }
    if attempt.configuration:
        value["configuration"] = True
    if attempt.url:
        value["url"] = attempt.url
    return value


def attempt_from_json(value: JsonObject) -> Attempt:
    """The attempt that `attempt_json` wrote."""
    raw: _Raw = value
    usage = raw["usage"]
    return Attempt(
        raw["step"],
        raw["model"],
        raw["outcome"],
        raw["status"],
        raw["error"],
        raw["estimate"],
        None if usage is None else usage_from_json(usage),
        raw["seconds"],
        raw.get("configuration", False),
        raw.get("url", ""),
    )


def usage_json(usage: Usage) -> dict[str, Json]:
    """Tokens as the provider counted them; null where it said nothing (M5)."""
    return {"input": usage.input, "output": usage.output}


def usage_from_json(value: JsonObject) -> Usage:
    """The usage that `usage_json` wrote."""
    raw: _Raw = value
    return Usage(raw["input"], raw["output"])


def settlement_json(settlement: Settlement) -> dict[str, Json]:
    """How a turn ended; `handoff` is there for turns of agents written in ABL alone."""
    value: dict[str, Json] = {
        "status": settlement.status,
        "reason": settlement.reason,
        "error": settlement.error,
        "answer": settlement.answer,
        "overflow": None if settlement.overflow is None else step_json(settlement.overflow),
        "limit": settlement.limit,
    }
    if settlement.handoff is not None:
        value["handoff"] = settlement.handoff
    return value


def settlement_from_json(value: JsonObject) -> Settlement:
    """The settlement that `settlement_json` wrote."""
    raw: _Raw = value
    overflow = raw["overflow"]
    return Settlement(
        raw["status"],
        raw["reason"],
        raw["error"],
        raw["answer"],
        None if overflow is None else step_from_json(overflow),
        raw["limit"],
        raw.get("handoff"),
    )


# The journal


def body_json(body: JournalBody) -> dict[str, Json]:
    """The body of any journal item."""
    if isinstance(body, ContextItem):
        context = context_json(body.context, ids=True, joined=False)
        return {"context": context, "limit": body.limit, "reserve": body.reserve}
    if isinstance(body, StepItem):
        parts = parts_json(body.parts)
        return {"item": item_json(body.item), "estimate": body.estimate, "parts": parts, "seconds": body.seconds}
    if isinstance(body, ResultsItem):
        return {"item": item_json(body.item), "writes": body.writes}
    if isinstance(body, Attempt):
        return attempt_json(body)
    if isinstance(body, Settlement):
        return settlement_json(body)
    return item_json(body)


def body_from_json(kind: JournalKind, value: JsonObject) -> JournalBody:
    """The body of a journal item of this kind. Raises ValueError for a kind that is none."""
    read = _READERS.get(kind)
    if read is None:
        raise ValueError(f"{kind!r} is no kind of journal item")
    return read(value)


def _context_item(raw: _Raw) -> ContextItem:
    return ContextItem(context_from_json(raw["context"]), raw["limit"], raw["reserve"])


def _step_item(raw: _Raw) -> StepItem:
    item = item_from_json(raw["item"])
    if not isinstance(item, AssistantStep):
        raise ValueError("the item of a step is an assistant step")
    return StepItem(item, raw["estimate"], parts_from_json(raw["parts"]), raw["seconds"])


def _results_item(raw: _Raw) -> ResultsItem:
    item = item_from_json(raw["item"])
    if not isinstance(item, ToolResults):
        raise ValueError("the item of results is a group of results")
    return ResultsItem(item, raw["writes"])


def _nudge(raw: _Raw) -> Nudge:
    return Nudge(raw["step"], raw["text"])


_READERS: Mapping[JournalKind, Callable[[JsonObject], JournalBody]] = {
    "context": _context_item,
    "step": _step_item,
    "results": _results_item,
    "nudge": _nudge,
    "attempt": attempt_from_json,
    "settlement": settlement_from_json,
}


def _plain(value: object) -> object:
    """What `json` does not know: mappings and sequences of other classes than its own."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        raise TypeError("a set is no JSON")
    return list(cast("list[object]", value))


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode
