"""The rows a turn of an ABL thread leaves beside its answer: calls and results of the agent's own tools (H14)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from runtime.values.items import AssistantStep, Item, ToolResult, ToolResults
from runtime.values.json import as_text
from runtime.values.messages import NewMessage, tool_call_part, tool_result_part
from runtime.values.understanding import is_reserved


def tool_rows(transcript: Sequence[Item]) -> tuple[NewMessage, ...]:
    """The calls and results as rows, in order; what the runtime offers itself leaves none."""
    rows: list[NewMessage] = []
    for item, following in pairwise(transcript):
        if not isinstance(item, AssistantStep) or not isinstance(following, ToolResults):
            continue
        calls = [call for call in item.calls if not is_reserved(call.name)]
        if calls:
            parts = tuple(tool_call_part(call.id, call.name, call.arguments) for call in calls)
            rows.append(NewMessage("assistant", item.text, parts))
            rows.extend(_result_row(result) for result in following.results if not is_reserved(result.name))
    return tuple(rows)


def _result_row(result: ToolResult) -> NewMessage:
    part = tool_result_part(result.id, result.name, error=result.error)
    return NewMessage("tool", as_text(result.output), (part,))
