"""A conversation from somebody's file becomes a thread with its turns, what was recorded and what is inferred apart.

The rows are stored once. The journal of an imported turn names what was in front of the model by seq; `referred` puts
the rows in when the journal is read, since rows never change (S1). So a long session costs what its rows cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from runtime import fit
from runtime.plan import IMPORTED
from runtime.stores import NewThread, NewTurn, Store
from runtime.transcripts import Conversation
from runtime.transcripts.turns import INFERRED, RECORDED, ImportedTurn, recover
from runtime.values.items import AssistantStep, ToolResults
from runtime.values.json import Json, JsonObject
from runtime.values.messages import NewMessage
from runtime.values.record import (
    PARTS,
    Attempt,
    ContextItem,
    ContextRecord,
    JournalBody,
    JournalItem,
    JournalKind,
    LeftOut,
    ResultsItem,
    SectionRecord,
    Settlement,
    Since,
    StepItem,
    ToolOffered,
)


@dataclass(frozen=True, slots=True)
class Imported:
    """The thread a conversation became, and how many turns were recovered in it."""

    thread: str
    turns: int


async def import_conversation(
    store: Store, conversation: Conversation, *, progress: Callable[[int, int], None] | None = None
) -> Imported:
    """Store the conversation as a fresh thread, each assistant message with what preceded it as an imported turn.

    What the file tells besides its rows (format, model, tools, what was not carried) is the thread's `about`.
    `progress` is told turns written and turns in all; what it raises stops the import. An import that is stopped or
    cancelled leaves no thread.
    """
    messages = conversation.messages
    turns = await asyncio.to_thread(recover, messages)
    thread = await store.create_thread(
        NewThread(origin="imported", name=conversation.title, about=_about(conversation)), messages
    )
    try:
        await _write(store, thread, turns, conversation, progress)
    except BaseException:
        await _undo(store, thread)
        raise
    return Imported(thread, len(turns))


async def _write(
    store: Store,
    thread: str,
    turns: Sequence[ImportedTurn],
    conversation: Conversation,
    progress: Callable[[int, int], None] | None,
) -> None:
    messages = conversation.messages
    before: tuple[ImportedTurn, str] | None = None
    tools = tuple(
        ToolOffered(tool.name, tool.description, tool.schema, fit.tool_tokens(tool)) for tool in conversation.tools
    )
    for turn in turns:
        opened = await store.open_turn(_new(thread, turn, messages))
        context = _context(turn, messages, tools, before)
        journal = [
            JournalItem(n, step, kind, body)
            for n, (step, kind, body) in enumerate(_journal(turn, context, conversation.model), start=1)
        ]
        await store.settle(opened.id, journal, turn.settlement, state={})
        before = (turn, opened.id)
        if progress:
            progress(turn.number, len(turns))
        await asyncio.sleep(0)


async def _undo(store: Store, thread: str) -> None:
    for turn in await store.turns(thread):
        if turn.status == "running":
            await store.settle(turn.id, (), Settlement("failed", "interrupted"), state={})
    await store.delete_thread(thread)


def _about(conversation: Conversation) -> JsonObject:
    lost: list[Json] = [{"what": lost.what, "count": lost.count, "reason": lost.reason} for lost in conversation.lost]
    tools: list[Json] = [
        {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in conversation.tools
    ]
    return {
        "format": conversation.format,
        "why": conversation.detected.why,
        "file": conversation.file,
        "number": conversation.number,
        "of": conversation.of,
        "model": conversation.model,
        "tools": tools,
        "lost": lost,
        "recorded": list(RECORDED),
        "inferred": list(INFERRED),
    }


def _new(thread: str, turn: ImportedTurn, messages: Sequence[NewMessage]) -> NewTurn:
    return NewTurn(
        thread,
        "envelope" if turn.request is not None else "brief",
        IMPORTED,
        "all",
        messages[turn.request - 1].text if turn.request is not None else "",
        origin="imported",
        layout="messages",
        stored_user=turn.request,
        stored_assistant=turn.answered,
    )


def _journal(turn: ImportedTurn, context: ContextRecord, model: str) -> Iterator[tuple[int, JournalKind, JournalBody]]:
    yield 0, "context", ContextItem(context, 0, 0)
    nothing = dict.fromkeys(PARTS, 0)
    for item in turn.items:
        if isinstance(item, AssistantStep):
            if model:
                yield item.step, "attempt", Attempt(item.step, model, "ok")
            yield item.step, "step", StepItem(item, 0, nothing, 0.0)
        elif isinstance(item, ToolResults):
            yield item.step, "results", ResultsItem(item, {})
        else:
            yield item.step, "nudge", item


def _context(
    turn: ImportedTurn,
    messages: Sequence[NewMessage],
    tools: tuple[ToolOffered, ...],
    before: tuple[ImportedTurn, str] | None,
) -> ContextRecord:
    """The context with its history by reference: the rows 1..stored that are not left out."""
    left_out = _with_request(turn)
    text = messages[turn.request - 1].text if turn.request is not None else ""
    request = (SectionRecord("request", text, fit.count(text)),) if text else ()
    selected = turn.opened - sum(left.count for left in left_out)
    history = (SectionRecord("history", "", 0),) if selected else ()
    return ContextRecord((*history, *request), turn.opened, selected, left_out, _since(turn, before), tools)


def _with_request(turn: ImportedTurn) -> tuple[LeftOut, ...]:
    """What was not sent as history: the request's row too, which was sent once, as the request."""
    if turn.request is None or not 1 <= turn.request <= turn.opened:
        return turn.left_out
    return tuple(sorted((*turn.left_out, LeftOut(turn.request, turn.request, "is-request")), key=lambda one: one.first))


def _since(turn: ImportedTurn, before: tuple[ImportedTurn, str] | None) -> Since:
    """What entered and left since the turn before; only rows that can have changed are looked at."""
    gone = _gone(turn)
    if before is None:
        return Since(None, tuple(seq for seq in range(1, turn.opened + 1) if seq not in gone))
    earlier, id = before
    gone_before = _gone(earlier)
    came = {*range(earlier.opened + 1, turn.opened + 1), *gone_before} - gone
    left = {seq for seq in gone - gone_before if seq <= earlier.opened}
    return Since(id, tuple(sorted(seq for seq in came if seq <= turn.opened)), tuple(sorted(left)))


def _gone(turn: ImportedTurn) -> set[int]:
    return {seq for left in _with_request(turn) for seq in range(left.first, left.last + 1)}
