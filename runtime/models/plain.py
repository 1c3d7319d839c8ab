"""The request as plain JSON: what a model without a wire records as its body (A6)."""

from __future__ import annotations

import json

from runtime.values.items import AssistantStep, Item, Nudge, ToolResults
from runtime.values.json import Json, clean
from runtime.values.request import Request

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=dict)


def encode(value: Json) -> bytes:
    """`value` as compact JSON in UTF-8; a lone surrogate becomes U+FFFD (C65)."""
    return clean(_ENCODER.encode(value)).encode()


def body_of(request: Request) -> bytes:
    """`request` as JSON. Of attachments the name and type alone: a model without a wire reads nothing else."""
    body: dict[str, Json] = {
        "sections": [{"name": section.name, "text": section.text} for section in request.sections],
        "transcript": [_item(item) for item in request.transcript],
        "tools": [
            {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in request.tools
        ],
        "limits": {
            "contextTokens": request.limits.context_tokens,
            "reserveTokens": request.limits.reserve_tokens,
        },
        "step": request.step,
        "tier": request.tier,
    }
    if request.must_call:
        body["mustCall"] = request.must_call
    if request.attachments:
        body["attachments"] = [{"name": file.name, "type": file.media_type} for file in request.attachments]
    return encode(body)


def _item(item: Item) -> Json:
    match item:
        case AssistantStep():
            calls: list[Json] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in item.calls]
            return {"item": "assistant", "step": item.step, "text": item.text, "calls": calls, "partial": item.partial}
        case ToolResults():
            results: list[Json] = [
                {"id": r.id, "name": r.name, "output": r.output, "error": r.error} for r in item.results
            ]
            return {"item": "tools", "step": item.step, "results": results}
        case Nudge():
            return {"item": "nudge", "step": item.step, "text": item.text}
