"""`studio-tui why`: one sentence on where a message is in a turn's context, or why it is not (X8)."""

from __future__ import annotations

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from studio_tui.cli import options
from studio_tui.cli.output import print_json, print_text


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
    earlier = await runtime.records(record.thread)
    rows = await runtime.store.rows(record.thread, 1, await runtime.store.length(record.thread))
    found = why(record, ledger(record, earlier=earlier, rows=rows), about, rows)
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
