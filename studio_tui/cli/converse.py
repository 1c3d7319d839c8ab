"""`studio-tui converse`: a project of agents written in ABL, headless; one customer message per --say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from runtime.errors import BadInput
from studio_tui.cli import options
from studio_tui.cli.output import one_line, print_json, print_text, tell

if TYPE_CHECKING:
    from runtime.handoff.events import SessionEvent
    from runtime.handoff.masking import Mask
    from runtime.handoff.session import Said, Session
    from runtime.threads import Runtime
    from runtime.values.json import Json
    from runtime.values.messages import Row, Window
    from runtime.values.record import TurnRecord


class Asked(NamedTuple):
    """What the command line asks for."""

    folder: str
    agent: str | None
    says: tuple[str, ...]
    model: str | None
    history_default: str | None
    window: Window | None
    as_json: bool


@click.command("converse")
@click.argument("folder", metavar="DIR")
@click.option("--agent", metavar="NAME", help="The agent that is spoken to first (default: whom the project names).")
@click.option(
    "--say", "says", multiple=True, required=True, metavar="TEXT", help="A customer message; may be repeated."
)
@options.model
@click.option(
    "--history-default", metavar="V", help="What routes without a usable HISTORY copy: full, none, last_5, ... (H5)."
)
@options.window
@options.store
@options.allow_tools
@options.as_json
def command(
    folder: str,
    agent: str | None,
    says: tuple[str, ...],
    model: str | None,
    history_default: str | None,
    window: Window | None,
    store: str | None,
    allow_tools: bool,
    as_json: bool,
) -> int:
    """Say one message after the other to a project of agents, and print what they answer and hand on.

    Values of sensitive fields are masked. Ctrl-C stops the turn under way and ends the conversation. Exit status 0:
    every turn completed; 1: one did not; 2: the project has errors, or there is none.

    \b
    Example: studio-tui converse seeds/retail --agent Retail_Hub --say "Where is my parcel?" --say "It is ORD-48213"
    """
    from studio_tui.cli.session import with_runtime

    asked = Asked(folder, agent, says, model, history_default, window, as_json)
    return with_runtime(store, lambda runtime: _converse(runtime, asked), allow_tools=allow_tools)


async def _converse(runtime: Runtime, asked: Asked) -> int:
    from runtime.handoff.session import Session

    _check_default(asked.history_default)
    session = await Session.open(
        runtime,
        asked.folder,
        asked.agent,
        history_default=asked.history_default,
        model=asked.model,
        window="all" if asked.window is None else asked.window,
    )
    if session.greeting and not asked.as_json:
        print_text(f"{session.agent}: {session.mask.text(session.greeting)}")
    said: list[Said] = []
    for text in asked.says:
        try:
            said.append(await _said(session, text))
        except BadInput:
            if not said:  # the first turn was refused before it opened: the thread made for it has no use
                await runtime.store.delete_thread(session.id)
            raise
        if not asked.as_json:
            print_text("\n".join(_lines(said[-1], session.mask)))
        if not said[-1].completed:
            break
    if asked.as_json:
        print_json(await document(session, said))
    return _status(said, asked)


async def _said(session: Session, text: str) -> Said:
    """Say one message; Ctrl-C stops the turn it is in."""
    import asyncio

    from studio_tui.cli.following import interrupts

    stops: list[asyncio.Task[None]] = []
    task = asyncio.current_task()

    def stop() -> None:
        if not stops:
            stops.append(asyncio.ensure_future(session.stop()))
        elif task is not None:
            task.cancel()

    with interrupts(stop):
        try:
            said = await session.say(text)
            await asyncio.gather(*stops)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
    return said


async def document(session: Session, said: list[Said]) -> dict[str, Json]:
    """The whole conversation as `--json` prints it, masked (Q3)."""
    from runtime.handoff.log import event_json
    from runtime.values.record_json import record_json

    mask = session.mask
    store = session.runtime.store
    threads: list[Json] = []
    for one in session.threads:
        rows = await store.rows(one.id, 1, await store.length(one.id))
        threads.append(
            mask.object(
                {
                    "id": one.id,
                    "agent": one.agent,
                    "parent": one.caller,
                    "status": one.status,
                    "messages": [_row(row) for row in rows],
                }
            )
        )
    return {
        "threads": threads,
        "turns": [mask.object(record_json(record)) for one in said for record in one.turns],
        "events": [mask.object(event_json(event)) for event in session.events],
        "replies": [mask.text(reply) for one in said for reply in one.replies],
    }


def _row(row: Row) -> dict[str, Json]:
    from runtime.values.messages import Unreadable

    if isinstance(row, Unreadable):
        return {"seq": row.seq, "unreadable": row.problem}
    origin: Json = None if row.origin is None else {"thread": row.origin.thread, "seq": row.origin.seq}
    parts: Json = None if row.parts is None else list(row.parts)
    return {"seq": row.seq, "role": row.role, "text": row.text, "parts": parts, "turn": row.turn, "origin": origin}


def _lines(said: Said, mask: Mask) -> Iterator[str]:
    yield f"> {mask.text(said.text)}"
    answers = [record for record in said.turns if record.answer]
    for event in said.events:
        yield f"    {mask.text(_event_words(event))}"
    told = {record.answer for record in answers}
    for record in answers:
        yield f"{record.agent}: {mask.text(record.answer or '')}"
    yield from (mask.text(reply) for reply in said.replies if reply not in told)
    for record in said.turns:
        if record.status != "completed":
            yield f"{record.agent}: [{record.status}{f': {record.error}' if record.error else ''}]"


def _event_words(event: SessionEvent) -> str:
    """One event on a line."""
    from runtime.handoff.events import (
        FailedHandoff,
        HandoffEvent,
        LeftWaiting,
        RefusedHandoff,
        Return,
        ThreadResume,
        UnresolvedRoute,
    )

    match event:
        case HandoffEvent():
            wanted = "all" if event.requested == "all" else event.requested
            rows = f"asked {wanted}, copied {event.copied}, {'matches' if event.matches else 'does not match'}"
            odd = "" if event.as_written else f"; written {one_line(event.written or '', 40)}"
            force = f"{event.strategy} ({event.source}{odd})"
            return f"handoff {event.caller} → {event.target}  {force}  {rows}  {event.route}"
        case ThreadResume():
            return f"resumed {event.caller} → {event.target}  its own history, nothing copied  {event.route}"
        case Return():
            back = ", ".join((*event.values, *event.assigned)) or "no values"
            return f"return  {event.child} → {event.caller}  {event.reason}; {len(event.joined)} answers joined; {back}"
        case LeftWaiting():
            return f"waiting {event.child}; {event.intent} is for {event.caller}"
        case RefusedHandoff():
            return f"refused {event.caller} → {event.target}: {event.problem}  {event.route}"
        case FailedHandoff():
            return f"failed  {event.caller} → {event.target}: {event.problem}  {event.route}"
        case UnresolvedRoute():
            asked = event.error or f"nobody declares {', '.join(event.names)}"
            return f"route   {event.caller} → {event.target}: {asked}  {event.route}"


def _check_default(written: str | None) -> None:
    from runtime.abl import default_setting

    if written is not None and default_setting(written).read is None:
        tell(f"warning: --history-default {one_line(written, 40)!r} is not recognised, so full counts (H6)")


def _status(said: list[Said], asked: Asked) -> int:
    from runtime.explain import settlement

    failed: list[TurnRecord] = [one for told in said for one in told.turns if one.status != "completed"]
    for record in failed:
        tell(f"the turn of {record.agent} did not complete: {settlement(record)}")
    left = len(asked.says) - len(said)
    if left:
        tell(f"{left} more {'messages were' if left > 1 else 'message was'} not said")
    return 1 if failed else 0
