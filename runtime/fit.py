"""How many tokens a text will cost: an estimate from the text's shape, never presented as exact (F1, F2).

A modern vocabulary first cuts a text into pieces (a word with the blank before it, up to three digits, a run of
signs), then each piece into tokens. Cutting is cheap with a regular expression; what a piece costs is told from its
length and script. Every count is cached, so that the rows of a thread are counted once.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from runtime.pieces import price
from runtime.values.items import AssistantStep, Item, Nudge, ToolCall, ToolResult
from runtime.values.json import JsonObject, as_text, compact
from runtime.values.messages import Role
from runtime.values.record import PARTS, Part
from runtime.values.request import SectionName, ToolSpec

IMAGE_TOKENS: Final = 1100
"""What an image part costs, whatever its size in bytes (F2)."""

REQUEST_OVERHEAD: Final = 16
"""Tokens of a request besides its texts: the marks of its system and first user message, the two labels of M6."""

ROW_OVERHEAD: Final = 3
"""Tokens of `role: ` before a row's text and the newline after it (A2)."""

MESSAGE_OVERHEAD: Final = 4
"""Tokens that frame one message of the transcript on the wire."""

CALL_OVERHEAD: Final = 8
"""Tokens that frame a call beside its name and arguments: its id and the dialect's own keys."""

RESULT_OVERHEAD: Final = 8
"""Tokens that frame a result beside its text: the id of its call and the marks of a message."""

TOOL_OVERHEAD: Final = 8
"""Tokens that frame an offered tool beside its name, description and schema."""

LARGE: Final = 50_000
"""Characters from which `count_large` leaves the event loop."""

_REMEMBERED: Final = 65_536

_counted: dict[tuple[int, int], int] = {}


def count(text: str) -> int:
    """The estimated tokens of `text`; 0 for an empty one. Linear in its length, remembered by its hash."""
    key = (hash(text), len(text))
    known = _counted.get(key)
    if known is None:
        known = math.ceil(price(text))
        if len(_counted) >= _REMEMBERED:
            _counted.clear()
        _counted[key] = known
    return known


async def count_large(text: str) -> int:
    """As `count`, but a text of over LARGE characters is counted in a thread."""
    if len(text) <= LARGE or (hash(text), len(text)) in _counted:
        return count(text)
    return await asyncio.to_thread(count, text)


async def count_all(texts: Sequence[str]) -> None:
    """Count texts that are over LARGE characters together in a thread, those that are counted already left out."""
    if sum(map(len, texts)) <= LARGE:
        return
    fresh = [text for text in texts if (hash(text), len(text)) not in _counted]
    if sum(map(len, fresh)) > LARGE:
        await asyncio.to_thread(lambda: [count(text) for text in fresh])


def row_tokens(role: Role, text: str) -> int:
    """A row as it stands in the history section: `role: text` and a newline (A2)."""
    return count(text) + ROW_OVERHEAD


def parts_tokens(parts: Iterable[JsonObject] | None) -> int:
    """What a stored row's parts cost beside its text when the row is sent as a message: its calls and its pictures."""
    cost = 0
    for part in parts or ():
        if part.get("type") == "tool_call":
            cost += CALL_OVERHEAD + count(as_text(part.get("name"))) + count(as_text(part.get("arguments")))
        elif part.get("type") == "image":
            cost += IMAGE_TOKENS
    return cost


def call_tokens(call: ToolCall) -> int:
    """A call as the transcript carries it."""
    return CALL_OVERHEAD + count(call.name) + count(call.arguments_text())


def result_tokens(result: ToolResult) -> int:
    """A result as the transcript carries it."""
    return RESULT_OVERHEAD + count(as_text(result.output))


def item_tokens(item: Item) -> int:
    """A transcript item as it goes on the wire; an empty step is not sent and costs nothing (T6)."""
    if isinstance(item, AssistantStep):
        return 0 if item.empty else MESSAGE_OVERHEAD + count(item.text) + sum(map(call_tokens, item.calls))
    if isinstance(item, Nudge):
        return MESSAGE_OVERHEAD + count(item.text)
    return sum(map(result_tokens, item.results))


def transcript_tokens(items: Iterable[Item]) -> int:
    """A transcript's items together."""
    return sum(map(item_tokens, items))


def tool_tokens(tool: ToolSpec) -> int:
    """An offered tool: name, description and schema."""
    return TOOL_OVERHEAD + count(tool.name) + count(tool.description) + count(compact(tool.schema))


def parts(
    sections: Mapping[SectionName, int], *, tools: int = 0, transcript: int = 0, attachments: int = 0
) -> dict[Part, int]:
    """The estimate of a request by part, in tokens; the values add up to the estimate (F1).

    `sections` are the tokens of those sections that are not empty; `attachments` is a number of tokens and belongs to
    the request. The sum of the result is the estimate.
    """
    found: dict[Part, int] = dict.fromkeys(PARTS, 0)
    for name, tokens in sections.items():
        found[name] = tokens
    found["request"] += attachments
    found["tools"], found["transcript"], found["overhead"] = tools, transcript, REQUEST_OVERHEAD
    return found
