"""`studio-tui why`: one sentence on where a message is in a turn's context, or why it is not (X8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from runtime.values.record import TurnRecord
from studio_tui.cli import options
from studio_tui.cli.output import print_json, print_text

if TYPE_CHECKING:
    from runtime.explain import Finding


@click.command("why")
@click.argument("turn")
@click.argument("text", required=False)
@click.option("--seq", type=int, metavar="N", help="The row to ask about, by its seq.")
@options.store
@options.as_json
def command(turn: str, text: str | None, seq: int | None, store: str | None, as_json: bool) -> int:
    """Say where a stored message is in the turn's context, or why it is not, and which window would include it.

    Name the message by its seq, or by a text it says: rows are searched first, then what else the turn was sent and
    did, then what was never stored.

    \b
    Example: studio-tui why 4kq2m7 "Friday draft"
    Example: studio-tui why 4kq2m7 --seq 1
    """
    if (text is None) == (seq is None):
        raise BadInput("ask about one message: --seq N, or a text it says")
    about: int | str = seq if seq is not None else text or ""
    from studio_tui.cli.session import with_runtime

    return with_runtime(store, lambda runtime: _why(runtime, turn, about, as_json))


async def _why(runtime: Runtime, turn: str, about: int | str, as_json: bool) -> int:
    from runtime.explain import ledger, why

    record = await runtime.record(turn, bodies=False)
    first = max(about, 1) if isinstance(about, int) else 1
    rows = await runtime.store.rows(record.thread, first, await runtime.store.length(record.thread))
    found = why(record, ledger(record, rows=rows), about, rows)
    if isinstance(about, str) and not _is_told_by_rows(record, found):
        found = why(record, ledger(record, earlier=await _earlier(runtime, record), rows=rows), about, rows)
    if not as_json:
        print_text(f"{found.sentence}.")
        return 0
    print_json(
        {
            "turn": record.turn,
            "thread": record.thread,
            "window": found.window,
            "verdict": found.verdict,
            "seq": found.seq,
            "place": found.place,
            "reason": found.reason,
            "needs": found.needs,
            "of_turn": found.turn,
            "matches": found.matches,
            "sentence": found.sentence,
        }
    )
    return 0


def _is_told_by_rows(record: TurnRecord, found: Finding) -> bool:
    """Whether a row besides the request says it: then what was never stored need not be read."""
    return found.verdict in ("in", "out") and bool(set(found.matches) - {record.stored_user})


async def _earlier(runtime: Runtime, record: TurnRecord) -> list[TurnRecord]:
    """The thread's turns of which something may never have been stored; of imported ones all of it is rows."""
    turns = await runtime.store.turns(record.thread)
    return [await runtime.record(turn.id, bodies=False) for turn in turns if turn.origin == "run"]
