"""Assembly: agent, state, selected rows and request become the opening context that is recorded and sent (A1-A6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runtime import fit, history
from runtime.values import dialogue
from runtime.values.agent import Agent
from runtime.values.json import JsonObject, as_text
from runtime.values.messages import Message, Unreadable, Window
from runtime.values.record import ContextRecord, ContextRow, LeftOutReason, SectionRecord, Since, ToolOffered
from runtime.values.request import Section, ToolSpec


@dataclass(frozen=True, slots=True)
class Sources:
    """What a context is assembled from, besides the agent.

    `rows` are the newest readable rows that `window` selected, oldest first, `unreadable` those met among them, and
    `stored` the number of rows selected from. `request_seq` is the row that is also the request (None: none is).
    `omitted` names rows to leave out of the selection by seq, without anything older moving up (X7, H13).
    `previous` is the turn before on the thread with the seqs it selected.
    """

    rows: Sequence[Message]
    stored: int
    window: Window
    request: str
    state: JsonObject
    unreadable: Sequence[Unreadable] = ()
    request_seq: int | None = None
    omitted: Mapping[int, LeftOutReason] | None = None
    previous: tuple[str, Sequence[int]] | None = None


def assemble(agent: Agent, tools: Sequence[ToolOffered], sources: Sources) -> ContextRecord:
    """The opening context: sections in the order instructions, state, history, request; empty ones left out (A1)."""
    omitted = sources.omitted or {}
    unreadable = [row.seq for row in sources.unreadable]
    kept = [row for row in sources.rows if row.seq not in omitted] if omitted else sources.rows
    repeats = repeats_of([(row.seq, row.text) for row in kept], sources.request, sources.request_seq)
    rows = tuple(
        ContextRow(
            row.seq,
            row.role,
            row.text,
            fit.row_tokens(row.role, row.text),
            history.needs(row.seq, sources.stored, unreadable),
            row.seq == sources.request_seq,
            repeats.get(row.seq, ()),
            row.id,
            (row.origin.thread, row.origin.seq) if row.origin else None,
        )
        for row in kept
    )
    seqs = [row.seq for row in rows]
    left_out = history.left_out(seqs, unreadable, stored=sources.stored, size=sources.window, omitted=omitted)
    sections = [
        SectionRecord("instructions", agent.instructions, fit.count(agent.instructions)),
        _state_section(agent, sources.state),
        SectionRecord("history", dialogue.join(rows), sum(row.tokens for row in rows), rows),
        SectionRecord("request", sources.request, fit.count(sources.request)),
    ]
    return ContextRecord(
        tuple(section for section in sections if section.text or section.rows),
        sources.stored,
        len(rows),
        left_out,
        since(sources.previous, seqs),
        tuple(tools),
    )


def repeats_of(rows: Iterable[tuple[int, str]], request: str, request_seq: int | None) -> dict[int, tuple[str, ...]]:
    """What rows (seq and text, oldest first) say that stands elsewhere in the same context, by seq (X6).

    `request`: the row is the request, or says the same; `seq 3`: it says the same as the row 3 before it, the first
    of them. White space around a text does not count, and blank texts repeat nothing.
    """
    found: dict[int, tuple[str, ...]] = {}
    first: dict[str, int] = {}
    asked = request.strip()
    for seq, text in rows:
        said = text.strip()
        if seq == request_seq or (said and said == asked):
            found[seq] = ("request",)
        elif said and (before := first.setdefault(said, seq)) != seq:
            found[seq] = (f"seq {before}",)
    return found


def offered(tool: ToolSpec) -> ToolOffered:
    """The tool with what offering it costs in tokens."""
    return ToolOffered(tool.name, tool.description, tool.schema, fit.tool_tokens(tool))


async def count_large_texts(sources: Sources) -> None:
    """Count what is much to count in `sources` off the event loop, so that `assemble` finds it counted."""
    await fit.count_all([sources.request, *(row.text for row in sources.rows)])


def since(previous: tuple[str, Sequence[int]] | None, selected: Sequence[int]) -> Since:
    """What entered and fell out since the turn before, by seq (X2). Without one, everything selected entered."""
    if previous is None:
        return Since(None, tuple(selected), ())
    turn, before = previous
    had, has = set(before), set(selected)
    return Since(turn, tuple(seq for seq in selected if seq not in had), tuple(seq for seq in before if seq not in has))


def sections_of(context: ContextRecord) -> tuple[Section, ...]:
    """The sections as the model's request carries them: the recorded texts themselves (A6)."""
    return tuple(Section(section.name, section.text) for section in context.sections)


def _state_section(agent: Agent, state: JsonObject) -> SectionRecord:
    """The state views as `name: value` lines, rendered once when the turn opens (A5); values not set are skipped."""
    views = [f"{name}: {as_text(state[name])}" for name in agent.state_views if name in state]
    text = "\n".join(views)
    return SectionRecord("state", text, fit.count(text))
