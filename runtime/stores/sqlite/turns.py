"""Turns and their journals in SQLite. Sync, on an open connection; the transactions are the store's."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from runtime.errors import StoreError, ThreadBusy, UnknownTurn
from runtime.stores import NewTurn, PastTurn
from runtime.stores.ids import turn_id
from runtime.stores.owner import is_gone
from runtime.stores.sqlite.threads import Place
from runtime.stores.turns import interruption, opened, page_of_turns, takes_place
from runtime.values.journal_json import (
    body_from_json,
    body_json,
    dumps,
    loads_object,
    view_from_json,
    view_json,
    window_from_text,
)
from runtime.values.json import clean
from runtime.values.messages import NewMessage
from runtime.values.record import JournalItem, Owner, Settlement, Turn

_SELECT = """
SELECT t.uid, h.uid, t.kind, t.agent, t.window, coalesce(t.request, m.text, ''), t.opened, t.state_before, t.origin,
  t.layout, t.view, t.parent_turn, t.parent_step, t.parent_call, t.rerun_of, t.experiment, t.cell, t.owner,
  t.lease, t.status, t.reason, t.settled, t.state_after, t.stored_user, t.stored_assistant, t.number,
  t.id, t.thread, coalesce(t.root, t.id), t.place, coalesce(t.state, t.state_before)
FROM turns t JOIN threads h ON h.id = t.thread
LEFT JOIN messages m ON t.request IS NULL AND m.thread = t.thread AND m.seq = t.stored_user
"""

_CURRENT = """
SELECT state, (SELECT max(number) FROM turns WHERE thread = threads.id AND parent_turn IS NULL)
FROM threads WHERE id = ?
"""

_COMPRESSED_FROM = 16_384  # bytes of JSON; below it a journal stays readable with any SQLite tool


@dataclass(frozen=True, slots=True)
class Key:
    """What a transaction needs of a turn: its rowid, its thread's, its root's, and the state it has now, as JSON."""

    id: int
    thread: int
    root: int
    running: bool
    on_view: bool
    experiment: bool
    state: str


def find(db: sqlite3.Connection, turn: str) -> Key:
    """Raises UnknownTurn; ids match exactly."""
    sql = (
        "SELECT id, thread, coalesce(root, id), status, experiment, coalesce(state, state_before), place"
        " FROM turns WHERE uid = ?"
    )
    found = db.execute(sql, (turn,)).fetchone() if turn.isascii() else None
    if found is None:
        raise UnknownTurn(turn)
    id, thread, root, status, experiment, state, place = found
    return Key(id, thread, root, status == "running", _on_view(db, root, place), experiment is not None, state)


def _on_view(db: sqlite3.Connection, root: int, place: int | None) -> bool:
    return place is None and db.execute("SELECT place FROM turns WHERE id = ?", (root,)).fetchone()[0] is None


def get(db: sqlite3.Connection, turn: str) -> Turn:
    """Raises UnknownTurn."""
    found = db.execute(_SELECT + "WHERE t.uid = ?", (turn,)).fetchone() if turn.isascii() else None
    if found is None:
        raise UnknownTurn(turn)
    return _turn(found)


def find_whole(db: sqlite3.Connection, turn: str) -> tuple[Turn, Key]:
    """Both at once. Raises UnknownTurn."""
    found = db.execute(_SELECT + "WHERE t.uid = ?", (turn,)).fetchone() if turn.isascii() else None
    if found is None:
        raise UnknownTurn(turn)
    whole = _turn(found)
    id, thread, root, place, state = found[-5:]
    running, experiment = whole.status == "running", whole.experiment is not None
    return whole, Key(id, thread, root, running, _on_view(db, root, place), experiment, state)


def running(db: sqlite3.Connection, thread: int) -> list[Turn]:
    """The turns of a thread that have not settled: roots, runs and children."""
    found = db.execute(_SELECT + "WHERE t.thread = ? AND t.status = 'running' ORDER BY t.id", (thread,)).fetchall()
    return [_turn(raw) for raw in found]


def make_room(db: sqlite3.Connection, place: Place, new: NewTurn, now: datetime) -> None:
    """Settle what dead owners left on the thread, before a root turn opens there.

    Raises ThreadBusy if the turn takes the thread's place and a living root turn has it (S7).
    """
    if new.parent is not None:
        return
    for turn in running(db, place.id):
        if is_gone(turn.owner, turn.lease, now):
            key = find(db, turn.id)
            end(db, key, (), interruption(turn), key.state, now, place.length, None)
        elif takes_place(new) and takes_place(turn):
            raise ThreadBusy(turn.thread, turn.id, str(turn.owner or ""))


def insert(db: sqlite3.Connection, place: Place, new: NewTurn, message: NewMessage | None, now: datetime) -> Turn:
    """A turn's row, on a thread located before its user message, the next row, is stored."""
    root = find(db, new.parent).root if new.parent is not None else None
    current, newest = db.execute(_CURRENT, (place.id,)).fetchone()
    number = _number(db, new, max(place.inherited, newest or 0))
    state = current if new.state is None else dumps(new.state)
    stored_user = None if message is None else place.length + 1
    uid = fresh(db)
    owner, request = new.owner, clean(new.request)
    values = {
        "uid": uid,
        "thread": place.id,
        "number": number,
        "began": place.length if new.stored_user is None else new.stored_user - 1,
        "place": 1 if takes_place(new) else None,
        "view": None if new.view is None else dumps(view_json(new.view)),
        "kind": new.kind,
        "origin": new.origin,
        "layout": new.layout,
        "agent": clean(new.agent),
        "window": str(new.window),
        "request": None if message is not None and message.text == request else request,
        "state_before": state,
        "parent_turn": new.parent,
        "parent_step": new.parent_step,
        "parent_call": None if new.parent_call is None else clean(new.parent_call),
        "root": root,
        "rerun_of": new.rerun_of,
        "experiment": new.experiment,
        "cell": new.cell,
        "owner": None if owner is None else dumps([owner.host, owner.pid, owner.started]),
        "lease": now.isoformat(),
        "status": "running",
        "opened": now.isoformat(),
        "stored_user": new.stored_user if stored_user is None else stored_user,
        "stored_assistant": new.stored_assistant,
    }
    db.execute(f"INSERT INTO turns ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", (*values.values(),))
    return opened(new, id=uid, number=number, state=loads_object(state), stored_user=stored_user, now=now)


def fresh(db: sqlite3.Connection) -> str:
    """An id that no turn has."""
    return turn_id(lambda uid: db.execute("SELECT 1 FROM turns WHERE uid = ?", (uid,)).fetchone() is not None)


_INSERT_PAST = """
INSERT INTO turns (uid, thread, number, began, ended, place, kind, origin, layout, agent, window, request,
  state_before, state_after, lease, status, reason, opened, settled, stored_user, stored_assistant)
VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, CASE WHEN ? IS (SELECT text FROM messages WHERE thread = ? AND seq = ?)
  THEN NULL ELSE ? END, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def insert_past(
    db: sqlite3.Connection, thread: int, number: int, past: Sequence[PastTurn], state: str, now: datetime
) -> None:
    """Settled turns with their journals, numbered from `number`; the thread has `state` before and after each."""
    when = now.isoformat()
    for one in past:
        new, end, request = one.new, one.settlement, clean(one.new.request)
        values = (
            one.id, thread, number, one.began, one.ended, new.kind, new.origin, new.layout, clean(new.agent),
            str(new.window), request, thread, new.stored_user, request, state, state, when, end.status, end.reason,
            when, when, new.stored_user, new.stored_assistant,
        )  # fmt: skip
        turn = db.execute(_INSERT_PAST, values).lastrowid
        assert turn is not None
        n, step = (one.items[-1].n, one.items[-1].step) if one.items else (0, 0)
        add_items(db, turn, [*one.items, JournalItem(n + 1, step, "settlement", end)])
        number += 1


def _number(db: sqlite3.Connection, new: NewTurn, newest: int) -> int:
    """The number after the thread's newest; of a run, that of the turn it repeats, else of the newest."""
    if takes_place(new):
        return newest + 1
    repeated = db.execute("SELECT number FROM turns WHERE uid = ?", (new.rerun_of,)).fetchone()
    return newest if repeated is None else min(newest, repeated[0])


def _newest_number(db: sqlite3.Connection, place: Place) -> int:
    newest = db.execute("SELECT max(number) FROM turns WHERE thread = ? AND parent_turn IS NULL", (place.id,))
    return max(place.inherited, newest.fetchone()[0] or 0)


def add_items(db: sqlite3.Connection, turn: int, items: Iterable[JournalItem]) -> None:
    """Journal items of a turn. Raises StoreError for a number that is taken."""
    values = [(turn, item.n, item.step, item.kind, _packed(item)) for item in items]
    try:
        db.executemany("INSERT INTO items (turn, n, step, kind, body) VALUES (?, ?, ?, ?, ?)", values)
    except sqlite3.IntegrityError as error:
        raise StoreError(f"items {', '.join(str(v[1]) for v in values)}: one of them is journaled already") from error


def set_state(db: sqlite3.Connection, key: Key, state: str) -> None:
    """The state after a turn's writes: the turn's, and the thread's or, on a view, the run's."""
    turns = (key.id,) if key.root == key.id or not key.on_view else (key.id, key.root)
    for turn in turns:
        db.execute("UPDATE turns SET state = ? WHERE id = ? AND state IS NOT ?", (state, turn, state))
    if not key.on_view:
        _set_thread_state(db, key.thread, state)


def end(
    db: sqlite3.Connection,
    key: Key,
    items: Sequence[JournalItem],
    settlement: Settlement,
    state: str,
    now: datetime,
    length: int,
    stored_assistant: int | None,
) -> None:
    """Settle a running turn with its last items; its thread has `length` rows now, the answer's among them."""
    if items:
        n, step = items[-1].n, items[-1].step
    else:
        last = db.execute("SELECT n, step FROM items WHERE turn = ? ORDER BY n DESC LIMIT 1", (key.id,)).fetchone()
        n, step = last or (0, 0)
    add_items(db, key.id, [*items, JournalItem(n + 1, step, "settlement", settlement)])
    db.execute(
        "UPDATE turns SET status = ?, reason = ?, settled = ?, state = NULL, state_after = ?, ended = ?,"
        " stored_assistant = coalesce(?, stored_assistant) WHERE id = ?",
        (settlement.status, settlement.reason, now.isoformat(), state, length, stored_assistant, key.id),
    )
    if key.root == key.id and not key.on_view:
        _set_thread_state(db, key.thread, state)


def _set_thread_state(db: sqlite3.Connection, thread: int, state: str) -> None:
    # A row that stays as it is costs no page of the log.
    db.execute("UPDATE threads SET state = ? WHERE id = ? AND state IS NOT ?", (state, thread, state))


def renew(db: sqlite3.Connection, turns: Sequence[str], now: datetime) -> None:
    """Renew the leases of those that run."""
    db.executemany(
        "UPDATE turns SET lease = ? WHERE uid = ? AND status = 'running'", [(now.isoformat(), turn) for turn in turns]
    )


def listed(db: sqlite3.Connection, place: Place, runs: bool, before: int | None, limit: int | None) -> list[Turn]:
    """The thread's root turns, those of its bases that lie within its rows first; no runs of experiments."""
    page = page_of_turns(_newest_number(db, place), before, limit)
    if not page:
        return []
    sql = _SELECT + "WHERE t.thread = ? AND t.parent_turn IS NULL AND t.experiment IS NULL AND t.number BETWEEN ? AND ?"
    sql += " ORDER BY t.id" if runs else " AND t.view IS NULL ORDER BY t.id"
    found: list[Turn] = []
    lower = 0
    for base, _, turns in place.segments:
        first, last = max(lower + 1, page[0]), min(turns, page[-1])
        if first <= last:
            found += [_turn(raw) for raw in db.execute(sql, (base, first, last)).fetchall()]
        lower = turns
    return found + [_turn(raw) for raw in db.execute(sql, (place.id, page[0], page[-1])).fetchall()]


def runs_of(db: sqlite3.Connection, experiment: str) -> list[Turn]:
    """The root turns of an experiment, oldest first."""
    if not experiment.isascii():
        return []
    sql = _SELECT + "WHERE t.experiment = ? AND t.parent_turn IS NULL ORDER BY t.id"
    return [_turn(raw) for raw in db.execute(sql, (experiment,)).fetchall()]


def children(db: sqlite3.Connection, turn: str) -> list[Turn]:
    """The turns delegated by one turn, in the order they were opened. Raises UnknownTurn."""
    find(db, turn)
    return [_turn(raw) for raw in db.execute(_SELECT + "WHERE t.parent_turn = ? ORDER BY t.id", (turn,)).fetchall()]


def items(db: sqlite3.Connection, turn: str) -> list[JournalItem]:
    """A turn's journal. Raises UnknownTurn, StoreError for an item that cannot be read."""
    key = find(db, turn)
    found = db.execute("SELECT n, step, kind, body FROM items WHERE turn = ? ORDER BY n", (key.id,)).fetchall()
    return [_item(turn, *raw) for raw in found]


def delete(db: sqlite3.Connection, thread: int) -> None:
    """All turns of a thread with their journals; their bodies went before."""
    db.execute("DELETE FROM items WHERE turn IN (SELECT id FROM turns WHERE thread = ?)", (thread,))
    db.execute("DELETE FROM turns WHERE thread = ?", (thread,))


def _packed(item: JournalItem) -> str | bytes:
    text = dumps(body_json(item.body))
    return text if len(text) < _COMPRESSED_FROM else zlib.compress(text.encode(), 1)


def _item(turn: str, n: int, step: int, kind: str, body: str | bytes) -> JournalItem:
    try:
        text = body if isinstance(body, str) else zlib.decompress(body).decode()
        known = cast("Any", kind)  # body_from_json refuses what is no kind
        return JournalItem(n, step, known, body_from_json(known, loads_object(text)))
    except (ValueError, KeyError, TypeError, IndexError, zlib.error, RecursionError) as error:
        raise StoreError(f"item {n} of turn {turn} is damaged and cannot be read") from error


def _turn(raw: tuple[Any, ...]) -> Turn:
    (
        uid, thread, kind, agent, window, request, opened, before, origin, layout, view, parent, parent_step,
        parent_call, rerun_of, experiment, cell, owner, lease, status, reason, settled, after, user, assistant, number,
        *_,
    ) = raw  # fmt: skip
    return Turn(
        id=uid,
        thread=thread,
        kind=kind,
        agent=agent,
        window=window_from_text(window),
        request=request,
        opened=datetime.fromisoformat(opened),
        state_before=loads_object(before),
        origin=origin,
        layout=layout,
        view=None if view is None else view_from_json(loads_object(view)),
        parent=parent,
        parent_step=parent_step,
        parent_call=parent_call,
        rerun_of=rerun_of,
        experiment=experiment,
        cell=cell,
        owner=None if owner is None else Owner(*json.loads(owner)),
        lease=datetime.fromisoformat(lease),
        status=status,
        reason=reason,
        settled=None if settled is None else datetime.fromisoformat(settled),
        state_after=None if after is None else loads_object(after),
        stored_user=user,
        stored_assistant=assistant,
        number=number if view is None and parent is None else 0,
    )
