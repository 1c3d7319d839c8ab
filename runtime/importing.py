"""A conversation somebody already has becomes a thread with its turns: rows first, then a journal for each turn.

The journal of an imported turn says what the file says (messages, calls, results, answer) in the same items as a turn
that ran here, so that its record is read alike. Its layout is `messages`: the rows were sent as messages, the request
among them, and stand in no section of text. What is inferred is named in the thread's `about`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from runtime import fit
from runtime.context import offered, since
from runtime.stores import Ledger, NewThread, NewTurn
from runtime.transcripts.conversation import Conversation
from runtime.transcripts.turns import INFERRED, RECORDED, ImportedTurn, recover
from runtime.values import dialogue
from runtime.values.agent import Agent
from runtime.values.items import AssistantStep, ToolCall, ToolResults
from runtime.values.json import Json, JsonObject
from runtime.values.messages import Message, NewMessage, calls_of
from runtime.values.record import (
    Attempt,
    ContextItem,
    ContextRecord,
    ContextRow,
    JournalBody,
    JournalItem,
    JournalKind,
    LeftOut,
    Part,
    ResultsItem,
    SectionRecord,
    Settlement,
    StepItem,
    ToolOffered,
)
from runtime.values.request import SectionName, ToolSpec

IMPORTED: Final = "imported"
"""What the turns of an imported thread name as their agent: the file does not say which it was."""

KEPT_CONTEXTS: Final = 8 * 1024 * 1024
"""Characters of opening contexts that are journaled for one thread, newest turns first. What an older turn was given
is the same rows of the thread; `opening_of` assembles it when it is asked for."""

_Row = NewMessage | Message


@dataclass(frozen=True, slots=True)
class Sent:
    """What went with every turn of a conversation: the tools it offered and the model that answered."""

    tools: tuple[ToolOffered, ...] = ()
    model: str = ""


class Costs:
    """What each row costs as a message, in tokens, and any stretch of rows at once."""

    def __init__(self, rows: Sequence[_Row]) -> None:
        self._upto = [0]
        for row in rows:
            self._upto.append(self._upto[-1] + _row_cost(row))

    def of(self, first: int, last: int) -> int:
        """The rows first..last (seq, inclusive)."""
        return self._upto[last] - self._upto[first - 1]

    def sections(self, turn: ImportedTurn) -> dict[SectionName, int]:
        """The history and the request of a turn."""
        request = self.of(turn.request, turn.request) if turn.request else 0
        gone = sum(self.of(one.first, one.last) for one in turn.left_out)
        return {"history": self.of(1, turn.opened) - gone - request, "request": request}


async def import_thread(
    ledger: Ledger,
    conversation: Conversation,
    *,
    name: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """A new thread with the conversation's rows and imported turns; returns its id.

    `progress` is told turns written and turns in all; what it raises stops the import and deletes the thread.
    """
    turns = await asyncio.to_thread(recover, conversation.messages)
    about = about_of(conversation)
    title = name or conversation.title
    thread = await ledger.create_thread(NewThread(origin="imported", name=title, about=about), conversation.messages)
    try:
        await _write(ledger, thread, turns, sent_with(about), progress)
    except BaseException:  # a stop or a cancellation leaves nothing half imported
        await _undo(ledger, thread)
        raise
    return thread


async def opening_of(ledger: Ledger, thread: str, number: int) -> ContextItem | None:
    """The opening context of an imported turn whose journal does not hold it; `number` counts the thread's turns.

    The same rows give the same context. None if the thread has no such turn. Raises UnknownThread.
    """
    known = await ledger.thread(thread)
    rows = [row for row in await ledger.rows(thread, 1, known.length) if isinstance(row, Message)]
    turns = recover([_as_new(row) for row in rows])
    if not 1 <= number <= len(turns):
        return None
    before = turns[number - 2] if number > 1 else None
    return ContextItem(context_of(turns[number - 1], rows, sent_with(known.about or {}), before=before), 0, 0)


def about_of(conversation: Conversation) -> JsonObject:
    """What a thread keeps of the file it came from: format and reason, tools, model, losses, what is inferred."""
    leading = _leading_system(conversation.messages)
    tools: list[Json] = [
        {"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in conversation.tools
    ]
    lost: list[Json] = [{"what": one.what, "count": one.count, "reason": one.reason} for one in conversation.lost]
    return {
        "format": conversation.format,
        "why": conversation.detected.why,
        "file": conversation.file,
        "number": conversation.number,
        "of": conversation.of,
        "model": conversation.model,
        "instructions": leading,
        "tools": tools,
        "lost": lost,
        "recorded": list(RECORDED),
        "inferred": list(INFERRED),
    }


def imported_agent(about: JsonObject) -> Agent:
    """The agent that goes on with an imported thread: the file's system text as instructions, its tools by schema.

    Its window is `all`, as in the file. The tools are offered, never run.
    """
    tools = about.get("tools")
    schemas = tuple(tool for tool in tools if isinstance(tool, Mapping)) if isinstance(tools, list | tuple) else ()
    return Agent(IMPORTED, instructions=_text(about.get("instructions")), window="all", tool_schemas=schemas)


def sent_with(about: JsonObject) -> Sent:
    """The tools and the model of a thread's `about`."""
    tools = about.get("tools")
    found = []
    for tool in tools if isinstance(tools, list | tuple) else ():
        if isinstance(tool, Mapping):
            schema = tool.get("schema")
            held = schema if isinstance(schema, Mapping) else {}
            found.append(offered(ToolSpec(_text(tool.get("name")), _text(tool.get("description")), held)))
    return Sent(tuple(found), _text(about.get("model")))


def context_of(
    turn: ImportedTurn, rows: Sequence[_Row], sent: Sent, *, before: ImportedTurn | None = None, name: str | None = None
) -> ContextRecord:
    """What stood in front of the model when the turn opened. `rows` are the whole thread's, in order.

    The request stands in its own section; its row is left out of the history (`is-request`) as it was sent once.
    `before` is the turn before, by the id `name` (None: its number), for what entered and fell out since (X2).
    """
    stored = turn.opened
    kept = tuple(_context_row(seq, rows[seq - 1], stored) for seq in turn.sent())
    request = rows[turn.request - 1].text if turn.request else ""
    sections = [
        SectionRecord("history", dialogue.join(kept), sum(row.tokens for row in kept), kept),
        SectionRecord("request", request, _row_cost(rows[turn.request - 1]) if turn.request else 0),
    ]
    earlier = (name or str(before.number), _in_front(before)) if before else None
    return ContextRecord(
        tuple(section for section in sections if section.rows or section.text),
        stored,
        len(kept),
        _left_out(turn),
        since(earlier, _in_front(turn)),
        sent.tools,
    )


def journal_of(
    turn: ImportedTurn, rows: Sequence[_Row], sent: Sent, context: ContextRecord | None, *, costs: Costs | None = None
) -> list[JournalItem]:
    """The journal of an imported turn, settlement and all; without `context` it has no opening entry.

    Estimates are ours (the file tells none); seconds are 0, limits are 0: neither is known. `costs` are the rows'
    tokens, if they were counted before.
    """
    items: list[JournalItem] = []

    def add(step: int, kind: JournalKind, body: JournalBody) -> None:
        items.append(JournalItem(len(items) + 1, step, kind, body))

    if context is not None:
        add(0, "context", ContextItem(context, 0, 0))
    cost = (costs or Costs(rows)).sections(turn)
    tools = sum(tool.tokens for tool in sent.tools)
    said = 0
    number = 0
    for item in turn.items:
        if isinstance(item, AssistantStep):
            number = item.step
            parts: dict[Part, int] = fit.parts(cost, tools=tools, transcript=said)
            estimate = sum(parts.values())
            if sent.model:
                add(number, "attempt", Attempt(number, sent.model, "ok", estimate=estimate))
            add(number, "step", StepItem(item, estimate, parts, 0.0))
        elif isinstance(item, ToolResults):
            add(number, "results", ResultsItem(item, {}))
        else:
            add(number, "nudge", item)
        said += fit.item_tokens(item)
    add(number, "settlement", turn.settlement)
    return items


async def _write(
    ledger: Ledger,
    thread: str,
    turns: Sequence[ImportedTurn],
    sent: Sent,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Every turn with its journal, oldest first; contexts from the newest back as far as they are kept."""
    length = (await ledger.thread(thread)).length
    rows = [row for row in await ledger.rows(thread, 1, length) if isinstance(row, Message)]
    costs = await asyncio.to_thread(Costs, rows)
    with_context = _affordable(turns, rows, sent)
    before: ImportedTurn | None = None
    name: str | None = None
    for done, turn in enumerate(turns, 1):
        opened = await ledger.open_turn(
            NewTurn(
                thread,
                "envelope" if turn.request else "brief",
                IMPORTED,
                "all",
                rows[turn.request - 1].text if turn.request else "",
                origin="imported",
                layout="messages",
                stored_user=turn.request,
                stored_assistant=turn.answered,
            )
        )
        context = context_of(turn, rows, sent, before=before, name=name) if turn.number >= with_context else None
        items = journal_of(turn, rows, sent, context, costs=costs)
        await ledger.settle(opened.id, items, turn.settlement, state={})
        before, name = turn, opened.id
        if progress:
            progress(done, len(turns))
        if done % 5 == 0:
            await asyncio.sleep(0)


async def _undo(ledger: Ledger, thread: str) -> None:
    for turn in await ledger.turns(thread):
        if turn.status == "running":
            await ledger.settle(turn.id, (), Settlement("failed", "interrupted"), state={})
    await ledger.delete_thread(thread)


def _affordable(turns: Sequence[ImportedTurn], rows: Sequence[_Row], sent: Sent) -> int:
    """The number of the oldest turn whose context is still journaled."""
    sizes = [0]
    for row in rows:
        sizes.append(sizes[-1] + len(row.text) + 64)
    tools = 200 * len(sent.tools)
    left = KEPT_CONTEXTS
    for turn in reversed(turns):
        gone = sum(sizes[one.last] - sizes[one.first - 1] for one in turn.left_out)
        left -= sizes[turn.opened] - gone + tools
        if left < 0:
            return turn.number + 1
    return 1


def _in_front(turn: ImportedTurn) -> list[int]:
    """The rows in front of the model, the request's among them."""
    return [*turn.sent(), *((turn.request,) if turn.request else ())]


def _left_out(turn: ImportedTurn) -> tuple[LeftOut, ...]:
    own = (LeftOut(turn.request, turn.request, "is-request"),) if turn.request else ()
    return tuple(sorted((*turn.left_out, *own), key=lambda one: one.first))


def _context_row(seq: int, row: _Row, stored: int) -> ContextRow:
    id = row.id if isinstance(row, Message) else 0
    return ContextRow(seq, row.role, row.text, _row_cost(row), stored - seq + 1, id=id)


def _row_cost(row: _Row) -> int:
    """A row as a message of its own: its text, its calls, its pictures (F2: flat)."""
    calls = sum(
        fit.call_tokens(ToolCall(_text(part.get("id")), _text(part.get("name")), _arguments(part.get("arguments"))))
        for part in calls_of(row.parts)
    )
    images = sum(1 for part in row.parts or () if part.get("type") == "image")
    return fit.MESSAGE_OVERHEAD + fit.count(row.text) + calls + images * fit.IMAGE_TOKENS


def _leading_system(rows: Iterable[NewMessage]) -> str:
    texts = []
    for row in rows:
        if row.role != "system" or {"summary", "injected", "hidden"} & set(row.flags):
            break
        texts.append(row.text)
    return "\n\n".join(texts)


def _as_new(row: Message) -> NewMessage:
    return NewMessage(row.role, row.text, row.parts, row.source, row.flags)


def _arguments(value: Json) -> JsonObject | str:
    return value if isinstance(value, str | Mapping) else {}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
