"""The JSON Schemas of seed and agent files, for editors and for `studio-tui schema seed|agent`."""

from __future__ import annotations

from collections.abc import Mapping

from runtime import agents
from runtime.seeds import reading
from runtime.values.agent import Budget, FitLimits
from runtime.values.json import Json, JsonObject
from runtime.values.messages import DEFAULT_WINDOW

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: JsonObject = {"type": ["string", "number", "boolean", "null"], "description": "A text; scalars stay as written."}
_TEXTS: JsonObject = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_WINDOW: JsonObject = {
    "oneOf": [{"type": "integer"}, {"const": "all"}],
    "description": "How many of the newest stored messages are selected; 0 or less is none.",
}


def agent_schema() -> JsonObject:
    """The JSON Schema (2020-12) of an agent file."""
    return {"$schema": _DIALECT, "title": "Agent", **_agent()}


def seed_schema() -> JsonObject:
    """The JSON Schema (2020-12) of a seed file."""
    properties: Mapping[str, Json] = {
        "seed": _said("The seed's name."),
        "about": _said("One line for the picker: what it teaches."),
        "agent": {
            "anyOf": [{"type": "string"}, {"$ref": "#/$defs/agent"}],
            "description": "NAME.yaml beside the seed, in agents/ beside it, or a shipped one; or an agent in place.",
        },
        "state": _values("The state of the fresh thread: texts by key, or a JSON object in quotes."),
        "messages": {"type": "array", "items": {"$ref": "#/$defs/message"}},
        "try": {**_TEXTS, "description": "Requests worth sending."},
        "script": {"type": "array", "items": {"$ref": "#/$defs/entry"}},
        "expect": {"type": "array", "items": {"$ref": "#/$defs/expectation"}},
    }
    assert tuple(properties) == reading.KEYS
    definitions: Mapping[str, Json] = {
        "agent": _agent(),
        "message": _message(),
        "call": _call(),
        "entry": _entry(),
        "expectation": _expectation(),
    }
    return {"$schema": _DIALECT, "title": "Seed", **_object(properties, "seed"), "$defs": definitions}


def _agent() -> JsonObject:
    budget, fit = Budget(), FitLimits()
    properties: Mapping[str, Json] = {
        "agent": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
        "description": _said("What another agent's model reads when it may delegate to this one."),
        "instructions": _said("The first section of every request."),
        "historyWindow": {**_WINDOW, "default": DEFAULT_WINDOW},
        "tiers": {
            "description": "Models in the order they are tried.",
            "anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"anyOf": [
                {"type": "string"},
                _object({"model": {"type": "string"}, "contextTokens": _count(least=1)}, "model"),
            ]}}],
        },
        "tools": {**_TEXTS, "description": "Names of shipped tools, or package.module:function."},
        "stateViews": {**_TEXTS, "description": "Keys of the state that every request shows."},
        "delegates": {**_TEXTS, "description": "Agents that are offered as tools."},
        "nudges": _count(2),
        "budget": _object({
            "steps": _count(budget.steps),
            "toolCalls": _count(budget.tool_calls),
            "seconds": {"type": "number", "minimum": 0, "default": budget.seconds},
            "tokens": _count(budget.tokens),
        }),
        "fit": _object({
            "contextTokens": _count(fit.context_tokens, least=1),
            "reserveTokens": _count(fit.reserve_tokens),
        }),
    }  # fmt: skip
    assert tuple(properties) == agents.KEYS
    return _object(properties, "agent")


def _message() -> JsonObject:
    parts: JsonObject = {"type": ["array", "string"], "description": "Structured parts, or their JSON in quotes."}
    shared: Mapping[str, Json] = {"parts": parts, "flags": _TEXTS}
    return {
        "oneOf": [
            _object({"user": _TEXT, **shared}, "user"),
            _object({"system": _TEXT, **shared}, "system"),
            _object(
                {"assistant": _TEXT, "calls": {"type": "array", "items": {"$ref": "#/$defs/call"}}, **shared},
                "assistant",
            ),
            _object(
                {
                    "tool": {"description": "The result: a text, or what becomes compact JSON."},
                    "call": _said("The id of the call it answers."),
                    "error": {"type": "boolean"},
                    **shared,
                },
                "tool",
            ),
        ]
    }


def _call() -> JsonObject:
    arguments = _values("Texts by name, or JSON in quotes, which keeps numbers.")
    return _object({"id": _TEXT, "name": {"type": "string"}, "arguments": arguments}, "name")


def _entry() -> JsonObject:
    when = _object({
        "turn": _count(least=1), "step": _count(least=1), "tier": _count(least=1),
        "request": _TEXT, "history": _TEXT, "result": _TEXT,
    })  # fmt: skip
    return _object({
        "when": {**when, "description": "Conditions that must all hold; texts are contained."},
        "text": _TEXT,
        "texts": {**_TEXTS, "description": "Said in turn, one more each time."},
        "calls": {"type": "array", "items": {"$ref": "#/$defs/call"}},
        "chunks": _count(1, least=1),
        "delay": {"type": "number", "minimum": 0, "description": "Seconds before each chunk."},
        "fail": _said("The tier fails with these words."),
        "status": {"type": "integer", "minimum": 300, "maximum": 599},
        "retryAfter": {"type": "number", "minimum": 0},
        "truncate": {"type": "boolean"},
        "empty": {"type": "boolean"},
        "cut": {"type": "boolean"},
    })  # fmt: skip


def _expectation() -> JsonObject:
    return _object(
        {
            "request": _TEXT,
            "after": {**_TEXTS, "description": "Requests sent before it on the same thread."},
            "window": _WINDOW,
            "context": _object({"selected": _count(), "contains": _TEXTS, "lacks": _TEXTS}),
            "answer": _object({"contains": _TEXTS, "lacks": _TEXTS, "matches": _TEXT, "equals": _TEXT}),
            "calls": {**_TEXTS, "description": "The tools called, in order."},
            "status": {"enum": list(reading.STATUSES)},
            "reason": {"enum": list(reading.REASONS)},
            "smallest": _WINDOW,
            "sameAnswer": {"type": "array", "items": _WINDOW, "minItems": 2},
        },
        "request",
    )


def _object(properties: Mapping[str, Json], *required: str) -> JsonObject:
    needed: JsonObject = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def _said(description: str) -> JsonObject:
    return {**_TEXT, "description": description}


def _values(description: str) -> JsonObject:
    return {"type": ["object", "string"], "description": description}


def _count(default: int | None = None, *, least: int = 0) -> JsonObject:
    given: JsonObject = {} if default is None else {"default": default}
    return {"type": "integer", "minimum": least, **given}
