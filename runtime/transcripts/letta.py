"""Letta's agent files: an agent's messages, and which of them are in its context."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.transcripts import openai_chat
from runtime.transcripts.rows import Rows, tools_of
from runtime.transcripts.shapes import either, numbered, obj, objs, seq, txt


def agents_of(value: object) -> list[Mapping[str, object]]:
    """The agents of a file; none if it is no agent file."""
    agents = objs(obj(value).get("agents"))
    return agents if any("in_context_message_ids" in agent or is_agent(agent) for agent in agents) else []


def is_agent(found: Mapping[str, object]) -> bool:
    """Whether an object is one agent of such a file."""
    return isinstance(found.get("messages"), list) and ("in_context_message_ids" in found or "message_ids" in found)


def add_body(rows: Rows, agent: Mapping[str, object], pointer: str) -> None:
    """One agent's messages; with `last-seen` those that are in its context."""
    rows.title = rows.title or txt(agent.get("name"))
    rows.model = rows.model or txt(obj(agent.get("llm_config")).get("model"))
    tools_of(rows, [obj(tool).get("json_schema") for tool in seq(agent.get("tools"))])
    inside = either(agent, "in_context_message_ids", "message_ids")
    ids = {txt(id) for id in seq(inside)}
    outside = 0
    for message, place in numbered(agent.get("messages"), f"{pointer}/messages"):
        gone = bool(ids) and txt(obj(message).get("id")) not in ids
        outside += gone
        if not (gone and rows.compaction == "last-seen"):
            openai_chat.add(rows, message, place.strip())
    if outside:
        kept = "left out: what the model last saw" if rows.compaction == "last-seen" else "kept: the whole file"
        rows.lose("message that is not in the agent's context any more", kept, outside)
