"""All that explains one handoff, read from the store and the project: what the handoff screen shows, masked (H12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from runtime.abl import HistorySetting, default_setting
from runtime.abl.project import Project
from runtime.errors import UnknownThread
from runtime.handoff.events import HandoffEvent, ThreadResume
from runtime.handoff.evidence import Evidence
from runtime.handoff.session import Session
from runtime.handoff.strategy import place_of
from runtime.threads import Runtime
from runtime.values.diagnostic import Diagnostic
from runtime.values.messages import Message, Row
from runtime.values.record import TurnRecord
from studio_tui.gathered import Knower, Reached, gathered, lines_of, secret_in_summary
from studio_tui.masked import masked
from studio_tui.views.handed import Joined, Shown

Studied: TypeAlias = "HandoffEvent | ThreadResume"
"""What can be studied: a handoff, or a thread that was resumed."""


async def read_handoff(runtime: Runtime, session: Session, folder: Path, n: int) -> tuple[Shown, Evidence | None]:
    """The event `n` of a session with all that explains it, and what it chose from (None for a resumed thread)."""
    raw = next(one for one in session.events if one.n == n and isinstance(one, HandoffEvent | ThreadResume))
    evidence = await session.evidence(raw) if isinstance(raw, HandoffEvent) else None
    rows = evidence.rows if evidence is not None else await _up_to_trigger(runtime, raw)
    route = session.route(raw.route)
    agents = {one.id: one.agent for one in session.threads}
    joined = await _joined(runtime, agents, raw, rows)
    knowers = await _knowers(runtime, agents, raw)
    lines = lines_of(route, folder) if route is not None else {}
    mask = session.mask
    shown = Shown(
        masked(raw, mask),
        tuple(masked(row, mask) for row in rows),
        agents,
        tuple(masked(one, mask) for one in joined),
        await first_turn(runtime, session, raw),
        route,
        _about_history(session.project, raw),
        _default_of(session),
        gathered(knowers, Reached(_copied(raw, rows), joined, raw.carried, lines), session.project, mask),
        next((at for name, at in lines.items() if name in raw.carried.passed), ""),
        secret_in_summary(raw.carried.summary, knowers),
    )
    return shown, evidence


async def first_turn(runtime: Runtime, session: Session, event: Studied | None) -> TurnRecord | None:
    """The target's first turn after a handoff, masked; None before it was opened, and of a resumed thread."""
    turn = event.first_turn if isinstance(event, HandoffEvent) else None
    if turn is None:
        return None
    return masked(await runtime.record(turn, bodies=False), session.mask)


async def _up_to_trigger(runtime: Runtime, event: Studied) -> list[Row]:
    """The caller's rows as a resumed thread found them: up to the message that led there."""
    store = runtime.store
    return await store.rows(event.caller_thread, 1, event.trigger.seq or await store.length(event.caller_thread))


async def _joined(runtime: Runtime, agents: Mapping[str, str], event: Studied, rows: Sequence[Row]) -> list[Joined]:
    """The copies that do not stand in the caller's thread: what children handled, by `full`."""
    if isinstance(event, ThreadResume):
        return []
    known = {place_of(event.caller_thread, row) for row in rows if isinstance(row, Message)}
    found: list[Joined] = []
    for thread, seq in event.rows:
        if (thread, seq) in known:
            continue
        for row in await runtime.store.rows(thread, seq, seq):
            if isinstance(row, Message):
                found.append(Joined(agents.get(thread, thread), row))
    return found


async def _knowers(runtime: Runtime, agents: Mapping[str, str], event: Studied) -> list[Knower]:
    """The caller and its children, each with what it knows."""
    children = event.children if isinstance(event, HandoffEvent) else ()
    found: list[Knower] = []
    for thread in (event.caller_thread, *(one.thread for one in children)):
        try:
            found.append(Knower(agents.get(thread, thread), (await runtime.store.thread(thread)).state))
        except UnknownThread:
            continue
    return found


def _default_of(session: Session) -> HistorySetting | None:
    """The project's default for HISTORY, or the one given for the session (H5)."""
    given = session.settings.history_default
    return session.project.history_default if given is None else default_setting(given, "--history-default")


def _copied(event: Studied, rows: Sequence[Row]) -> list[Row]:
    if isinstance(event, ThreadResume):
        return []
    places = set(event.rows)
    return [row for row in rows if isinstance(row, Message) and place_of(event.caller_thread, row) in places]


def _about_history(project: Project, event: Studied) -> tuple[Diagnostic, ...]:
    """The diagnostics about the route's HISTORY: at its line, or in the lines of its block."""
    file, _, line = event.written_at.rpartition(":")
    if not line.isdigit() or event.written is None:
        return ()
    near = range(int(line), int(line) + 3)
    codes = ("W330", "W331", "W332", "W333")
    return tuple(one for one in project.diagnostics if one.file == file and one.line in near and one.code in codes)
