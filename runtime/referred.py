"""A journal that names rows by seq, with the rows put in: imported turns keep their history by reference."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from runtime import fit, history
from runtime.context import repeats_of
from runtime.stores import Ledger
from runtime.values.dialogue import join
from runtime.values.items import Item, Nudge
from runtime.values.messages import Message, Row
from runtime.values.record import (
    Attempt,
    ContextItem,
    ContextRecord,
    ContextRow,
    JournalItem,
    Part,
    ResultsItem,
    SectionRecord,
    StepItem,
    Turn,
)

OFF_LOOP = 1_000
"""Rows from which their tokens are counted in a thread, so that the event loop does not stand still."""


async def with_rows(ledger: Ledger, turn: Turn, items: Sequence[JournalItem]) -> list[JournalItem]:
    """The journal of a turn that was not run here, its history rows and its estimates filled in."""
    opening = next((item.body for item in items if isinstance(item.body, ContextItem)), None)
    counted = all(item.body.estimate for item in items if isinstance(item.body, StepItem))
    if opening is None or opening.context.rows or (counted and not opening.context.selected):
        return list(items)
    rows: list[Row] = []
    for first, last in _sent(opening.context) if opening.context.selected else ():
        rows += await ledger.rows(turn.thread, first, last)
    if len(rows) < OFF_LOOP:
        return _filled(items, rows)
    return await asyncio.to_thread(_filled, items, rows)


def _sent(context: ContextRecord) -> Iterator[tuple[int, int]]:
    """The ranges of rows that were not left out; of a compacted session they are a small part. Gaps too small to be
    worth a question of their own are read with what surrounds them."""
    first = 1
    for left in sorted(context.left_out, key=lambda one: one.first):
        if left.count >= OFF_LOOP:
            if first < left.first:
                yield first, left.first - 1
            first = left.last + 1
    if first <= context.stored:
        yield first, context.stored


def _filled(items: Sequence[JournalItem], rows: Sequence[Row]) -> list[JournalItem]:
    filled: list[JournalItem] = []
    sections: dict[Part, int] = {}
    transcript: list[Item] = []
    for item in items:
        body = item.body
        if isinstance(body, ContextItem):
            body = replace(body, context=_context(body.context, rows))
            tokens = {section.name: section.tokens for section in body.context.sections}
            sections = fit.parts(tokens, tools=sum(tool.tokens for tool in body.context.tools))
        elif isinstance(body, StepItem | Attempt):
            if not body.estimate:  # a recorder counts what each call held
                body = _estimated(body, {**sections, "transcript": fit.transcript_tokens(transcript)})
            if isinstance(body, StepItem):
                transcript.append(body.item)
        elif isinstance(body, ResultsItem):
            transcript.append(body.item)
        elif isinstance(body, Nudge):
            transcript.append(body)
        filled.append(replace(item, body=body))
    return filled


def _estimated(body: StepItem | Attempt, parts: dict[Part, int]) -> StepItem | Attempt:
    estimate = sum(parts.values())
    if isinstance(body, Attempt):
        return replace(body, estimate=estimate)
    return replace(body, parts=parts, estimate=estimate)


def _context(context: ContextRecord, rows: Sequence[Row]) -> ContextRecord:
    gone = {seq for left in context.left_out for seq in range(left.first, left.last + 1)}
    shown = [row for row in rows if isinstance(row, Message) and row.seq not in gone]
    request = context.section("request")
    repeats = repeats_of([(row.seq, row.text) for row in shown], request.text if request is not None else "", None)
    kept = tuple(
        ContextRow(
            row.seq,
            row.role,
            row.text,
            fit.row_tokens(row.role, row.text) + fit.parts_tokens(row.parts),
            history.needs(row.seq, context.stored),
            repeats=repeats.get(row.seq, ()),
            id=row.id,
            origin=(row.origin.thread, row.origin.seq) if row.origin else None,
        )
        for row in shown
    )
    section = SectionRecord("history", join(kept), sum(row.tokens for row in kept), kept)
    return replace(context, sections=tuple(section if one.name == "history" else one for one in context.sections))
