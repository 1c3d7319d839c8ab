"""What a recorded thread and the opening context of its turns keep of a call: rows by reference, texts as sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from runtime import fit
from runtime.recorder.reading import Sent
from runtime.values.json import Json, JsonObject
from runtime.values.record import ContextRecord, LeftOut, LeftOutReason, SectionRecord, Since

SEEN: Final = ("messages", "calls", "results", "answers", "request bodies", "times", "errors")
INFERRED: Final = ("which calls belong together", "where a turn begins", "tokens")

_TITLE = 80


def title_of(sent: Sent) -> str:
    """What the user said first, as a title for a list."""
    text = next((row.text for row in sent.rows if row.role == "user" and row.text.strip()), "")
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def about_of(sent: Sent, upstream: str) -> JsonObject:
    """What a thread keeps of its first call: where it went, model, instructions and tools, what no row carries."""
    tools: list[Json] = [
        {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in sent.tools
    ]
    lost: list[Json] = [{"what": one.what, "count": one.count, "reason": one.reason} for one in sent.lost]
    return {
        "recorder": True,
        "format": sent.dialect,
        "why": f"recorded on the way to {upstream}",
        "upstream": upstream,
        "model": sent.model,
        "instructions": sent.instructions,
        "tools": tools,
        "lost": lost,
        "recorded": list(SEEN),
        "inferred": list(INFERRED),
    }


def context_of(sent: Sent, seqs: Sequence[int], before: tuple[str, Sequence[int]] | None) -> ContextRecord:
    """The opening context of a turn: `seqs` are the rows of the messages up to the request's, in the program's order.

    The history is by reference: the rows 1..stored that are not left out. `before` is the turn before with the seqs
    of its history (X2).
    """
    asked = sent.request
    history = list(seqs) if asked is None else list(seqs[:-1])
    request = None if asked is None else seqs[-1]
    stored = max(seqs, default=0)
    sections = []
    if sent.instructions:
        sections.append(SectionRecord("instructions", sent.instructions, fit.count(sent.instructions)))
    if history:
        sections.append(SectionRecord("history", "", 0))
    if asked is not None and sent.rows[asked].text:
        row = sent.rows[asked]
        sections.append(SectionRecord("request", row.text, fit.count(row.text) + fit.parts_tokens(row.parts)))
    return ContextRecord(
        tuple(sections),
        stored,
        len(history),
        tuple(_left_out(set(history), request, stored)),
        _since(history, before),
        sent.tools,
    )


def _left_out(sent: set[int], request: int | None, stored: int) -> Iterator[LeftOut]:
    """The rows that the program did not send, in ranges, and the request's, which was sent once."""
    first = 1
    while first <= stored:
        if first in sent:
            first += 1
            continue
        reason: LeftOutReason = "is-request" if first == request else "dropped-by-client"
        last = first
        while reason != "is-request" and last < stored and last + 1 not in sent and last + 1 != request:
            last += 1
        yield LeftOut(first, last, reason)
        first = last + 1


def _since(history: Sequence[int], before: tuple[str, Sequence[int]] | None) -> Since:
    if before is None:
        return Since(None, tuple(sorted(history)), ())
    turn, had = before
    now, then = set(history), set(had)
    return Since(turn, tuple(sorted(now - then)), tuple(sorted(then - now)))
