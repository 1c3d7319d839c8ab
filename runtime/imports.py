"""A conversation from somebody's file becomes a thread with its turns, what was recorded and what is inferred apart.

The rows are stored once. The journal of an imported turn names what was in front of the model by seq; `referred` puts
the rows in when the journal is read, since rows never change (S1). So a long session costs what its rows cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from runtime import fit
from runtime.plan import IMPORTED
from runtime.stores import NewThread, NewTurn, PastTurn, Store
from runtime.transcripts import Conversation
from runtime.transcripts.turns import INFERRED, RECORDED, ImportedTurn, turns_of
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
    Since,
    StepItem,
    ToolOffered,
)

Progress: TypeAlias = Callable[[int, int], None]
"""Told what is done, and what there is to do in all. It may raise to stop the import."""

_ROWS_AT_ONCE: Final = 1_000
_SIZE_AT_ONCE: Final = 1_000_000
_ITEMS_AT_ONCE: Final = 600


@dataclass(frozen=True, slots=True)
class Imported:
    """The thread a conversation became, and how many turns were recovered in it."""

    thread: str
    turns: int


async def import_conversation(
    store: Store, conversation: Conversation, *, progress: Progress | None = None
) -> Imported:
    """Store the conversation as a fresh thread, each assistant message with what preceded it as an imported turn.

    What the file tells besides its rows (format, model, tools, what was not carried) is the thread's `about`. Rows
    and turns go into the store in batches while the event loop stays free; a long conversation never stands in memory
    whole. `progress` is told rows gone through (each once as a row, once for its turn) and twice their number; what it
    raises stops the import. An import that is stopped or cancelled leaves no thread.
    """
    rows = conversation.messages
    count = 0
    about = await asyncio.to_thread(_about, conversation)
    new = NewThread(origin="imported", name=conversation.title, about=about)
    async with store.fill(new) as filling:
        done, remaining = 0, iter(rows)
        while some := await asyncio.to_thread(_some_rows, remaining):
            await filling.append(some)
            done += len(some)
            if progress:
                progress(done, 2 * len(rows))
        writer = _Writer(filling.thread, conversation)
        while turns := await asyncio.to_thread(writer.some):
            ids = await filling.turn_ids(len(turns))
            await filling.add_turns(await asyncio.to_thread(writer.written, turns, ids))
            count += len(turns)
            if progress:
                progress(done + turns[-1].last, 2 * len(rows))
    return Imported(filling.thread, count)


def _some_rows(rows: Iterator[NewMessage]) -> list[NewMessage]:
    """The next rows: few enough to be stored in a moment."""
    found: list[NewMessage] = []
    size = 0
    for row in rows:
        found.append(row)
        size += len(row.text)
        if len(found) >= _ROWS_AT_ONCE or size > _SIZE_AT_ONCE:
            break
    return found


class _Writer:
    """The turns of a conversation on their way into journals; what a turn says of the one before is remembered."""

    def __init__(self, thread: str, conversation: Conversation) -> None:
        self._thread, self._model, self._rows = thread, conversation.model, conversation.messages
        self._turns = turns_of(conversation.messages)
        self._before: tuple[ImportedTurn, str] | None = None
        self._tools = tuple(
            ToolOffered(tool.name, tool.description, tool.schema, fit.tool_tokens(tool)) for tool in conversation.tools
        )

    def some(self) -> list[ImportedTurn]:
        """The next turns: few enough to be stored in a moment, one at least."""
        found: list[ImportedTurn] = []
        items = 0
        for turn in self._turns:
            found.append(turn)
            items += len(turn.items) + 2
            if items >= _ITEMS_AT_ONCE:
                break
        return found

    def written(self, turns: Sequence[ImportedTurn], ids: Sequence[str]) -> list[PastTurn]:
        """Turns with their journals, under these ids."""
        return [self._written(turn, id) for turn, id in zip(turns, ids, strict=True)]

    def _written(self, turn: ImportedTurn, id: str) -> PastTurn:
        asked = self._rows[turn.request - 1].text if turn.request is not None else ""
        context = _context(turn, asked, self._tools, self._before)
        self._before = turn, id
        journal = tuple(
            JournalItem(n, step, kind, body)
            for n, (step, kind, body) in enumerate(_journal(turn, context, self._model), start=1)
        )
        began = turn.opened if turn.request is None else turn.request - 1
        return PastTurn(id, _new(self._thread, turn, asked), journal, turn.settlement, began, turn.last)


def _about(conversation: Conversation) -> JsonObject:
    lost: list[Json] = [{"what": one.what, "count": one.count, "reason": one.reason} for one in conversation.lost]
    marked: list[Json] = [{"what": one.what, "count": one.count, "reason": one.reason} for one in conversation.marked()]
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
        "marked": marked,
        "recorded": list(RECORDED),
        "inferred": list(INFERRED),
    }


def _new(thread: str, turn: ImportedTurn, asked: str) -> NewTurn:
    return NewTurn(
        thread,
        "envelope" if turn.request is not None else "brief",
        IMPORTED,
        "all",
        asked,
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
    asked: str,
    tools: tuple[ToolOffered, ...],
    before: tuple[ImportedTurn, str] | None,
) -> ContextRecord:
    """The context with its history by reference: the rows 1..stored that are not left out."""
    left_out = _with_request(turn)
    request = (SectionRecord("request", asked, fit.count(asked)),) if asked else ()
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
    gone = _ranges(turn)
    if before is None:
        return Since(None, tuple(_within(_minus([(1, turn.opened)], gone), turn.opened)))
    earlier, id = before
    gone_before = _ranges(earlier)
    came = sorted({*_within(_minus([(earlier.opened + 1, turn.opened)], gone), turn.opened),
                   *_within(_minus(gone_before, gone), turn.opened)})  # fmt: skip
    return Since(id, tuple(came), tuple(_within(_minus(gone, gone_before), earlier.opened)))


def _ranges(turn: ImportedTurn) -> list[tuple[int, int]]:
    return [(left.first, left.last) for left in _with_request(turn)]


def _minus(ranges: Iterable[tuple[int, int]], others: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of rising ranges that lie in none of the others, which rise too."""
    at = 0
    for first, last in ranges:
        while at < len(others) and others[at][1] < first:
            at += 1
        here = at
        while here < len(others) and others[here][0] <= last:
            if first < others[here][0]:
                yield first, others[here][0] - 1
            first = max(first, others[here][1] + 1)
            here += 1
        if first <= last:
            yield first, last


def _within(ranges: Iterable[tuple[int, int]], last: int) -> Iterator[int]:
    """The numbers in ranges, up to `last`."""
    return (seq for low, high in ranges for seq in range(low, min(high, last) + 1))
