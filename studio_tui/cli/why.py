"""`studio-tui why`: one sentence on where a message is in a turn's context, or why it is not (X8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from runtime.values.json import Json
from runtime.values.record import TurnRecord
from studio_tui.cli import options
from studio_tui.cli.masking import mask_output
from studio_tui.cli.output import print_json, print_text, tell

if TYPE_CHECKING:
    from runtime.explain import Finding


@click.command("why")
@click.argument("turn")
@click.argument("text", required=False)
@click.option("--seq", type=int, metavar="N", help="The row to ask about, by its seq.")
@click.option("--ledger", is_flag=True, help="List every row with its place or reason, and what was never a row.")
@click.option(
    "--only",
    metavar="NAME",
    help="In the ledger: in, out, never-stored, repeated, or a reason such as older-than-window.",
)
@options.store
@options.as_json
def command(
    turn: str, text: str | None, seq: int | None, ledger: bool, only: str | None, store: str | None, as_json: bool
) -> int:
    """Say where a stored message is in the turn's context, or why it is not, and which window would include it.

    Name the message by its seq, or by a text it says: rows are searched first, then what else the turn was sent and
    did, then what was never stored. With --ledger a text narrows the list to what says it.

    \b
    Example: studio-tui why 4kq2m7 "Friday draft"
    Example: studio-tui why 4kq2m7 --seq 1
    Example: studio-tui why 4kq2m7 --ledger --only older-than-window
    """
    from studio_tui.cli.session import with_runtime

    if ledger and seq is None:
        return with_runtime(store, lambda runtime: _ledger(runtime, turn, text, only, as_json))
    if ledger or only is not None:
        raise BadInput("--only narrows the list that --ledger gives; --seq asks about one row")
    if (text is None) == (seq is None):
        raise BadInput("ask about one message: --seq N, or a text it says")
    if text is not None and text.strip().isdecimal():
        tell(f"looking for the text {text.strip()!r}; for the message of that number: --seq {text.strip()}")
    about: int | str = seq if seq is not None else text or ""
    return with_runtime(store, lambda runtime: _why(runtime, turn, about, as_json))


async def _why(runtime: Runtime, turn: str, about: int | str, as_json: bool) -> int:
    from runtime.explain import ledger, why

    record = await runtime.record(turn, bodies=False)
    await mask_output(runtime, record.thread)
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


async def _ledger(runtime: Runtime, turn: str, text: str | None, only: str | None, as_json: bool) -> int:
    from runtime.explain import ledger, saying
    from runtime.explain import only as narrowed
    from runtime.values.messages import Message
    from studio_tui.cli.ledger_text import account_json, lines_of

    record = await runtime.record(turn, bodies=False)
    await mask_output(runtime, record.thread)
    stored = record.context.stored if record.context is not None else 0
    rows = await runtime.store.rows(record.thread, 1, stored)
    accounts = ledger(record, earlier=await _earlier(runtime, record), rows=rows)
    if only is not None:
        accounts = narrowed(accounts, only)
    if text is not None:
        accounts = saying(accounts, text, rows)
    if as_json:
        listed: list[Json] = [account_json(account) for account in accounts]
        print_json({"turn": record.turn, "thread": record.thread, "window": record.window, "accounts": listed})
    else:
        print_text("\n".join(lines_of(accounts, {row.seq: row for row in rows if isinstance(row, Message)})))
    return 0


def _is_told_by_rows(record: TurnRecord, found: Finding) -> bool:
    """Whether a row besides the request says it: then what was never stored need not be read."""
    return found.verdict in ("in", "out") and bool(set(found.matches) - {record.stored_user})


async def _earlier(runtime: Runtime, record: TurnRecord) -> list[TurnRecord]:
    """The thread's turns of which something may never have been stored; of imported ones all of it is rows."""
    turns = await runtime.store.turns(record.thread)
    return [await runtime.record(turn.id, bodies=False) for turn in turns if turn.origin == "run"]
