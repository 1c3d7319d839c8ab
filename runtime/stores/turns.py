"""What every ledger decides the same way about turns: who takes the place, how pages are cut, what may be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from runtime.errors import BadInput
from runtime.stores import NewTurn
from runtime.values.json import JsonObject, clean
from runtime.values.messages import NewMessage
from runtime.values.record import Settlement, Turn


def takes_place(turn: Turn | NewTurn) -> bool:
    """Whether a turn takes its thread's one place: a root turn that is no run on a view (S7)."""
    return turn.view is None and turn.parent is None


def opened(new: NewTurn, *, id: str, number: int, state: JsonObject, stored_user: int | None, now: datetime) -> Turn:
    """The turn as it is right after opening; `stored_user` is the row just stored for it, None if there is none."""
    return Turn(
        id=id,
        thread=new.thread,
        kind=new.kind,
        agent=clean(new.agent),
        window=new.window,
        request=clean(new.request),
        opened=now,
        state_before=state,
        origin=new.origin,
        layout=new.layout,
        view=new.view,
        parent=new.parent,
        parent_step=new.parent_step,
        parent_call=None if new.parent_call is None else clean(new.parent_call),
        rerun_of=new.rerun_of,
        experiment=new.experiment,
        cell=new.cell,
        owner=new.owner,
        lease=now,
        stored_user=new.stored_user if stored_user is None else stored_user,
        stored_assistant=new.stored_assistant,
        number=number if takes_place(new) else 0,
    )


def settled(turn: Turn, settlement: Settlement, *, state: JsonObject, stored: int | None, now: datetime) -> Turn:
    """The turn as it is right after settling; `stored` is the row of its answer, None if there is none."""
    return replace(
        turn,
        status=settlement.status,
        reason=settlement.reason,
        settled=now,
        state_after=state,
        stored_assistant=turn.stored_assistant if stored is None else stored,
    )


def check_message(turn: Turn | NewTurn, message: NewMessage | None) -> None:
    """Raises BadInput if `turn` must not write rows: a run on a view, or a delegated turn (S5, X4)."""
    if message is not None and not takes_place(turn):
        what = "a run on a view" if turn.view is not None else "a delegated turn"
        raise BadInput(f"{what} stores no message", field="message")


def check_rows(turn: Turn, rows: Sequence[NewMessage], message: NewMessage | None) -> None:
    """Raises BadInput if `turn` must not write the rows it is settled with."""
    for row in rows if message is None else (*rows, message):
        check_message(turn, row)


def check_seq(seq: int, length: int) -> None:
    """Raises BadInput for a `seq` outside 0..`length`."""
    if not 0 <= seq <= length:
        raise BadInput(f"row {seq} is outside the thread, which has {length}", field="seq")


def interruption(turn: Turn) -> Settlement:
    """How a turn ends whose process is gone (S7)."""
    return Settlement("failed", "interrupted", f"the process that ran it ({turn.owner or 'unknown'}) is gone")


def page_of_turns(newest: int, before: int | None, limit: int | None) -> range:
    """The numbers of the turns to list: the newest `limit` among those below `before`.

    Number 0 stands for the runs made before the first turn; they are listed with it.
    """
    if (limit is not None and limit <= 0) or (before is not None and before <= 1):
        return range(0)
    last = newest if before is None else min(newest, before - 1)
    first = 1 if limit is None else max(1, last - limit + 1)
    return range(0 if first == 1 else first, last + 1)


def utc_now() -> datetime:
    """The time, aware, UTC."""
    return datetime.now(UTC)
