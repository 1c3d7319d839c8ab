"""`studio-tui show`: a thread's rows and turns, or a turn whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from runtime.errors import BadInput, UnknownThread, UnknownTurn
from runtime.explain import estimate_ratio, off_by
from runtime.threads import Runtime
from runtime.values.json import Json
from runtime.values.messages import Message, Row
from runtime.values.record import TurnRecord
from studio_tui.cli import options
from studio_tui.cli.masking import mask_output
from studio_tui.cli.output import columns, one_line, print_json, print_text


@click.command("show")
@click.argument("name", metavar="THREAD|TURN")
@click.option("--curl", type=click.IntRange(1), metavar="STEP", help="Print a step of the turn as a curl command.")
@options.store
@options.as_json
def command(name: str, curl: int | None, store: str | None, as_json: bool) -> int:
    """Show a thread (its rows and turns) or a turn (its context, steps, answer and finding).

    With --curl, the request of one of the turn's steps as a command for the shell: the body as it was sent, the key as
    $OPENAI_API_KEY or $ANTHROPIC_API_KEY.

    \b
    Example: studio-tui show 4kq2m7
    """
    from studio_tui.cli.session import with_runtime

    if curl is not None:
        if as_json:
            raise BadInput("a curl command is no JSON: give --curl or --json", field="--curl")
        return with_runtime(store, lambda runtime: _show_curl(runtime, name, curl))
    return with_runtime(store, lambda runtime: _show(runtime, name, as_json))


async def _show_curl(runtime: Runtime, turn: str, step: int) -> int:
    from runtime.explain import curl_command

    record = await runtime.record(turn, bodies=False)
    await mask_output(runtime, record.thread)
    print_text(curl_command(record, step, await runtime.store.body(turn, step)))
    return 0


async def _show(runtime: Runtime, name: str, as_json: bool) -> int:
    try:
        await runtime.store.turn(name)
    except UnknownTurn:
        try:
            await _show_thread(runtime, name, as_json)
        except UnknownThread:
            raise BadInput(f"no thread and no turn has the id {name!r}; studio-tui threads lists them") from None
        return 0
    await _show_turn(runtime, name, as_json)
    return 0


async def _show_turn(runtime: Runtime, turn: str, as_json: bool) -> None:
    record = await runtime.record(turn)
    await mask_output(runtime, record.thread)
    if as_json:
        from runtime.values.record_json import record_json

        print_json(record_json(record))
    else:
        from studio_tui.cli.turn_text import turn_text

        print_text(turn_text(record))


async def _show_thread(runtime: Runtime, name: str, as_json: bool) -> None:
    from studio_tui.cli.threads import thread_json

    thread = await runtime.store.thread(name)
    rows = await runtime.store.rows(name, 1, thread.length)
    turns = await runtime.records(name)
    forks = await runtime.store.forks(name)
    await mask_output(runtime, name)
    if as_json:
        print_json(
            {
                **thread_json(thread),
                "messages": [row_json(row) for row in rows],
                "turns": [_turn_json(turn) for turn in turns],
                "forks": [fork.id for fork in forks],
            }
        )
        return
    print_text("\n".join(_lines(name, thread.agent, rows, turns)))


def row_json(row: Row) -> dict[str, Json]:
    """A stored row; one that cannot be read gives its seq and the problem (S6)."""
    if not isinstance(row, Message):
        return {"seq": row.seq, "unreadable": row.problem}
    from runtime.values.record_json import time_json

    origin: Json = {"thread": row.origin.thread, "seq": row.origin.seq} if row.origin else None
    return {
        "seq": row.seq,
        "role": row.role,
        "text": row.text,
        "parts": row.parts,
        "turn": row.turn,
        "at": time_json(row.at),
        "origin": origin,
        "source": row.source,
        "flags": row.flags,
    }


def _turn_json(turn: TurnRecord) -> dict[str, Json]:
    ratio = estimate_ratio(turn)
    return {
        "turn": turn.turn,
        "number": turn.number or None,
        "kind": turn.kind,
        "window": turn.window,
        "request": turn.request,
        "status": turn.status,
        "reason": turn.reason,
        "rerun_of": turn.rerun_of,
        "stored_user": turn.stored_user,
        "stored_assistant": turn.stored_assistant,
        "estimate_ratio": None if ratio is None else round(ratio, 4),
    }


def _lines(name: str, agent: str, rows: Sequence[Row], turns: Sequence[TurnRecord]) -> Iterator[str]:
    yield f"thread {name} · agent {agent or 'plain'} · {len(rows)} rows"
    yield ""
    cells = [
        (str(row.seq), row.role, one_line(row.text, 90)) if isinstance(row, Message)
        else (str(row.seq), "-", f"unreadable: {row.problem}")
        for row in rows
    ]  # fmt: skip
    yield from (f"  {line}" for line in columns(cells, right=(0,)))
    if not turns:
        return
    yield ""
    counted = any(estimate_ratio(turn) is not None for turn in turns)
    told = [
        (
            str(turn.number) if turn.number else "re-run" if turn.rerun_of else "run",
            turn.turn,
            f"window {turn.window}",
            f"{turn.status} ({turn.reason})" if turn.reason else turn.status,
            *((_off(turn),) if counted else ()),
            one_line(turn.request, 60),
        )
        for turn in turns
    ]
    yield "turns"
    yield from (f"  {line}" for line in columns(told))


def _off(turn: TurnRecord) -> str:
    """How far the estimate was off, where a provider counted (F2)."""
    ratio = estimate_ratio(turn)
    return "" if ratio is None else f"est {off_by(ratio)}"
