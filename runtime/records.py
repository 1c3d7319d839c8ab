"""Reading records: a turn's row, its journal and its children's, folded (A6)."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.fold import fold
from runtime.referred import with_rows
from runtime.stores import Ledger
from runtime.values.record import ContextItem, JournalItem, Turn, TurnRecord


async def read_record(ledger: Ledger, turn: Turn, *, bodies: bool) -> TurnRecord:
    """The record of `turn`, delegated turns in it; with `bodies` also the request bodies that are still kept."""
    items = await ledger.items(turn.id)
    if turn.origin != "run":
        items = await with_rows(ledger, turn, items)
    children: list[TurnRecord] = []
    if any(item.kind == "step" for item in items):
        children = [await read_record(ledger, child, bodies=bodies) for child in await ledger.children(turn.id)]
    found = await _bodies(ledger, turn.id, items) if bodies else None
    return fold(turn, items, bodies=found, children=children)


async def read_opening(ledger: Ledger, turn: str) -> ContextItem | None:
    """The opening context in a turn's journal; None if it ended before it was assembled."""
    items = await ledger.items(turn)
    for item in await with_rows(ledger, await ledger.turn(turn), items) if _by_reference(items) else items:
        if isinstance(item.body, ContextItem):
            return item.body
    return None


def _by_reference(items: Sequence[JournalItem]) -> bool:
    """Whether the context in this journal names its rows without holding them (imported turns)."""
    opening = next((item.body.context for item in items if isinstance(item.body, ContextItem)), None)
    return opening is not None and bool(opening.selected) and not opening.rows


async def selected_before(ledger: Ledger, turn: str) -> tuple[str, Sequence[int]]:
    """`turn` with the seqs its context held: what the turn after it is compared with (X2)."""
    opening = await read_opening(ledger, turn)
    return turn, tuple(row.seq for row in opening.context.rows) if opening else ()


async def _bodies(ledger: Ledger, turn: str, items: Sequence[JournalItem]) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for step in sorted({item.step for item in items if item.kind == "step"}):
        body = await ledger.body(turn, step)
        if body is not None:
            found[step] = body
    return found
