"""Threads in SQLite: create, append, select, fork, delete, and the state at a point. Sync, on an open connection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from runtime.errors import ForksRemain, UnknownThread
from runtime.stores import NewThread, Selected, Thread
from runtime.stores.ids import thread_id
from runtime.stores.sqlite import rows
from runtime.stores.turns import check_seq
from runtime.values.journal_json import dumps, loads_object
from runtime.values.json import JsonObject, clean
from runtime.values.messages import Message, NewMessage, Unreadable, Window

Segment: TypeAlias = tuple[int, int, int]
"""A part of a base that a fork holds: (threads.id, rows up to this seq, turns up to this number); oldest first."""


_BATCH = 256


@dataclass(slots=True, eq=False)
class Place:
    """Where a thread's rows are: its `threads.id`, the segments before its own rows, and how many rows in all.

    Not frozen only because every read makes one, and a frozen one costs three times as much to make.
    """

    id: int
    segments: Sequence[Segment]
    length: int

    @property
    def start(self) -> int:
        """How many rows come before its own."""
        return self.segments[-1][1] if self.segments else 0

    @property
    def inherited(self) -> int:
        """How many turns come before its own."""
        return self.segments[-1][2] if self.segments else 0

    def upto(self, seq: int | None) -> int:
        """The rows 1..`seq` in number, None being all of them."""
        return self.length if seq is None else min(max(0, seq), self.length)

    def ranges(self, first: int, last: int) -> list[rows.Range]:
        """Where the rows first..last are, newest range first."""
        if first > last:
            return []
        if first > self.start:
            return [(self.id, first, last)]
        found: list[rows.Range] = []
        holder = self.id
        for n in range(len(self.segments) - 1, -2, -1):
            start = self.segments[n][1] if n >= 0 else 0
            if last > start:
                found.append((holder, max(first, start + 1), last))
                last = start
            if first > start or n < 0:
                break
            holder = self.segments[n][0]
        return found

    def holder(self, seq: int) -> int:
        """The `threads.id`, its own or a base's, that owns row `seq`."""
        return next((base for base, upto, _ in self.segments if seq <= upto), self.id)


_LOCATE = "SELECT id, segments, (SELECT max(seq) FROM messages WHERE thread = threads.id) FROM threads WHERE uid = ?"


def locate(db: sqlite3.Connection, thread: str) -> Place:
    """Raises UnknownThread; ids match exactly (S4)."""
    # A text that is not ASCII is no id, and one with a lone surrogate could not even be asked for.
    found = db.execute(_LOCATE, (thread,)).fetchone() if thread.isascii() and ":" not in thread else None
    if found is None:
        raise UnknownThread(thread)
    id, segments, own = found
    bases = () if segments == "[]" else json.loads(segments)
    return Place(id, bases, own if own is not None else bases[-1][1] if bases else 0)


def create(db: sqlite3.Connection, new: NewThread, at: datetime) -> tuple[str, Place]:
    """A new thread without rows."""
    state = dumps(new.state or {})
    uid = _fresh(db)
    id = _insert(db, uid, new, [], None, state, at)
    return uid, Place(id, (), 0)


HIDDEN = "filling:"
"""What the id of a thread begins with while it is filled: no id that is asked for has a colon."""


def create_hidden(db: sqlite3.Connection, new: NewThread, at: datetime, owner: str) -> tuple[str, int]:
    """A thread that nobody sees until `show`: the id it will have, and its `threads.id`. `owner` fills it."""
    uid = _fresh(db)
    return uid, _insert(db, HIDDEN + uid, replace(new, status=owner), [], None, dumps(new.state or {}), at)


def hidden(db: sqlite3.Connection) -> list[tuple[int, str, str]]:
    """The threads that are being filled, as (threads.id, owner, created)."""
    return db.execute("SELECT id, status, created FROM threads WHERE uid GLOB 'filling:*'").fetchall()


def show(db: sqlite3.Connection, id: int, uid: str, status: str) -> None:
    """Give a hidden thread its id."""
    db.execute("UPDATE threads SET uid = ?, status = ? WHERE id = ?", (uid, clean(status), id))


def append(
    db: sqlite3.Connection, place: Place, messages: Sequence[NewMessage], turn: str | None, at: datetime
) -> tuple[Message, ...]:
    """Append rows to a thread that was located in this transaction."""
    if not messages:
        return ()
    first = rows.insert(db, place.id, place.length, messages, turn, at)
    return rows.stored(first, place.length, messages, turn, at)


def select(db: sqlite3.Connection, place: Place, window: Window, stored: int) -> Selected:
    """The newest `window` readable rows of rows 1..`stored` (S2, S3, S6)."""
    wanted = stored if window == "all" else min(max(0, window), stored)
    found = rows.read(db, place.ranges(stored - wanted + 1, stored)) if wanted else []
    kept = [row for row in found if isinstance(row, Message)]
    if len(kept) == wanted:
        return Selected(tuple(kept), (), stored)
    kept.clear()
    unreadable: list[Unreadable] = []
    last = stored
    while found and len(kept) < wanted:
        for row in reversed(found):
            if len(kept) == wanted:
                break
            if isinstance(row, Message):
                kept.append(row)
            else:
                unreadable.append(row)
        last = found[0].seq - 1
        found = rows.read(db, place.ranges(max(1, last - _BATCH + 1), last)) if last else []
    return Selected(tuple(reversed(kept)), tuple(reversed(unreadable)), stored)


def select_soon(db: sqlite3.Connection, known: Place, window: int, last: int) -> Selected | None:
    """The newest `window` (1 or more) of rows 1..`last`, by what is known of where a thread's rows are.

    One statement for a thread that has them itself. None if anything is out of the ordinary: no own row up to
    `last` (perhaps the thread has been deleted), or one that cannot be read; `locate` and `select` know then.
    """
    own = rows.newest(db, known.id, last, window)
    if not own:
        return None
    own.reverse()
    stored, start = own[-1].seq, known.start
    if start and len(own) < window:
        own = rows.read(db, known.ranges(max(1, stored - window + 1), start)) + own
    kept = tuple([row for row in own if isinstance(row, Message)])
    return Selected(kept, (), stored) if len(kept) == min(window, stored) else None


def fork(db: sqlite3.Connection, thread: str, seq: int, at: datetime) -> str:
    """A thread that refers to rows 1..`seq` of `thread`. Raises UnknownThread, BadInput."""
    place = locate(db, thread)
    check_seq(seq, place.length)
    known = db.execute("SELECT * FROM threads WHERE id = ?", (place.id,))
    base = _named(known, known.fetchone())
    new = NewThread(
        base["agent"], "fork", base["name"], base["seed"], base["seed_digest"], None, thread, _object(base["about"])
    )
    uid = _fresh(db)
    _insert(db, uid, new, _segments(db, place, seq), seq, _state_text(db, place, seq), at)
    return uid


def update(
    db: sqlite3.Connection, thread: str, status: str | None, state: JsonObject | None, name: str | None = None
) -> None:
    """Change a thread's status, state or name; None leaves it. Raises UnknownThread."""
    id = locate(db, thread).id
    if name is not None:
        db.execute("UPDATE threads SET name = ? WHERE id = ?", (clean(name), id))
    if status is not None:
        db.execute("UPDATE threads SET status = ? WHERE id = ?", (clean(status), id))
    if state is not None:
        db.execute("UPDATE threads SET state = ? WHERE id = ?", (dumps(state), id))


def state(db: sqlite3.Connection, thread: str, seq: int | None) -> JsonObject:
    """The state now, or right after row `seq` was stored; 0 is the start (S9)."""
    place = locate(db, thread)
    if seq is None:
        return loads_object(db.execute("SELECT state FROM threads WHERE id = ?", (place.id,)).fetchone()[0])
    check_seq(seq, place.length)
    return loads_object(_state_text(db, place, seq))


_DESCRIBED = """
SELECT t.uid, t.agent, t.origin, t.name, t.seed, t.seed_digest, t.state, t.created,
  (SELECT max(seq) FROM messages WHERE thread = t.id) AS own, t.segments, t.parent, t.forked_at, t.about, t.status,
  coalesce(t.route, '') AS route,
  max(t.born, coalesce((SELECT id FROM messages WHERE thread = t.id ORDER BY seq DESC LIMIT 1), 0)) AS touched
FROM threads t
"""


def described(db: sqlite3.Connection, thread: str) -> Thread:
    """Raises UnknownThread."""
    place = locate(db, thread)
    return _thread(db.execute(_DESCRIBED + "WHERE t.id = ?", (place.id,)).fetchone())


def newest_first(db: sqlite3.Connection, limit: int | None) -> list[Thread]:
    """All threads, the one in which a row was stored last (or that was created last) first."""
    count = -1 if limit is None else min(max(0, limit), 2**62)
    found = db.execute(
        _DESCRIBED + "WHERE t.uid NOT GLOB 'filling:*' ORDER BY touched DESC, t.id DESC LIMIT ?", (count,)
    )
    return [_thread(raw) for raw in found.fetchall()]


def forks(db: sqlite3.Connection, thread: str) -> list[Thread]:
    """The direct forks, oldest first. Raises UnknownThread."""
    locate(db, thread)
    found = db.execute(_DESCRIBED + "WHERE t.parent = ? AND t.forked_at IS NOT NULL ORDER BY t.id", (thread,))
    return [_thread(raw) for raw in found.fetchall()]


def with_forks(db: sqlite3.Connection, thread: str) -> list[tuple[int, str]]:
    """The thread and everything forked from it, as (threads.id, uid), bases first. Raises UnknownThread."""
    family = [(locate(db, thread).id, thread)]
    for _, uid in family:
        family += db.execute(
            "SELECT id, uid FROM threads WHERE parent = ? AND forked_at IS NOT NULL", (uid,)
        ).fetchall()
    return family


def check_forks(family: Sequence[tuple[int, str]], allowed: bool) -> None:
    """Raises ForksRemain if the thread that leads `family` has forks and they may not go with it."""
    if len(family) > 1 and not allowed:
        raise ForksRemain(family[0][1], tuple(uid for _, uid in family[1:]))


def delete_rows(db: sqlite3.Connection, thread: int) -> None:
    """Delete a thread and its own rows; their insertion numbers are never given again."""
    db.execute("UPDATE counters SET value = max(value, ?) WHERE name = 'messages'", (rows.next_id(db) - 1,))
    db.execute("DELETE FROM messages WHERE thread = ?", (thread,))
    db.execute("DELETE FROM threads WHERE id = ?", (thread,))


def delete_some(db: sqlite3.Connection, thread: int, count: int) -> bool:
    """Delete up to `count` rows of a thread that was never shown, of its turns and journals; False when all is gone."""
    for sql in (
        "DELETE FROM items WHERE turn IN (SELECT id FROM turns WHERE thread = ? LIMIT ?)",
        "DELETE FROM turns WHERE id IN (SELECT id FROM turns WHERE thread = ? LIMIT ?)",
        "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE thread = ? LIMIT ?)",
    ):
        newest = rows.next_id(db) - 1
        if db.execute(sql, (thread, count)).rowcount > 0 and not sql.startswith("DELETE FROM items"):
            db.execute("UPDATE counters SET value = max(value, ?) WHERE name = 'messages'", (newest,))
            return True
    db.execute("DELETE FROM threads WHERE id = ?", (thread,))
    return False


_NTH = """
SELECT number, began, ended, status, stored_user, stored_assistant, state_before, state_after FROM turns
WHERE thread = ? AND number = ? AND parent_turn IS NULL AND place = 1
"""


def _turn_before(db: sqlite3.Connection, thread: int, seq: int) -> tuple[Any, ...] | None:
    """The newest of a thread's own root turns that had begun before row `seq` was stored.

    Numbers and beginnings rise together, so the numbers are halved; an index by beginning would cost every turn.
    Numbers below the thread's own belong to its bases and are not found here.
    """
    newest = db.execute("SELECT max(number) FROM turns WHERE thread = ? AND parent_turn IS NULL", (thread,))
    low, high = 1, newest.fetchone()[0] or 0
    found: tuple[Any, ...] | None = None
    while low <= high:
        middle = (low + high) // 2
        turn: tuple[Any, ...] | None = db.execute(_NTH, (thread, middle)).fetchone()
        if turn is not None and turn[1] >= seq:
            high = middle - 1
        else:
            low, found = middle + 1, turn or found
    return found


def _segments(db: sqlite3.Connection, base: Place, seq: int) -> list[Segment]:
    """The segments of a fork after row `seq`, resolved now so that depth costs nothing later (S9)."""
    whole = [segment for segment in base.segments if segment[1] < seq]
    if seq <= (whole[-1][1] if whole else 0):
        return whole
    holder = base.holder(seq)
    turns = whole[-1][2] if whole else 0
    newest = _turn_before(db, holder, seq)
    if newest is not None:
        number, began, _, status, user, assistant, _, _ = newest
        # A turn belongs to the fork if it had settled and all its rows are there.
        turns = number if status != "running" and (assistant or user or began) <= seq else number - 1
    return [*whole, (holder, seq, turns)]


def _state_text(db: sqlite3.Connection, place: Place, seq: int) -> str:
    if seq == 0:
        holder = place.segments[0][0] if place.segments else place.id
    else:
        holder = place.holder(seq)
        newest = _turn_before(db, holder, seq)
        if newest is not None:
            _, _, ended, _, _, assistant, before, after = newest
            settled = after is not None and ended is not None
            text: str = after if settled and (seq == assistant or seq > ended) else before
            return text
    initial: str = db.execute("SELECT initial FROM threads WHERE id = ?", (holder,)).fetchone()[0]
    return initial


def _insert(
    db: sqlite3.Connection,
    uid: str,
    new: NewThread,
    segments: Sequence[Segment],
    forked_at: int | None,
    state: str,
    at: datetime,
) -> int:
    values = {
        "uid": uid,
        "origin": new.origin,
        "segments": json.dumps(segments),
        "parent": new.parent,
        "forked_at": forked_at,
        "agent": clean(new.agent),
        "name": clean(new.name),
        "seed": None if new.seed is None else clean(new.seed),
        "seed_digest": new.seed_digest,
        "about": None if new.about is None else dumps(new.about),
        "route": clean(new.route) or None,
        "status": clean(new.status),
        "initial": state,
        "state": state,
        "born": rows.next_id(db) - 1,
        "created": at.isoformat(),
    }
    sql = f"INSERT INTO threads ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
    id = db.execute(sql, tuple(values.values())).lastrowid
    assert id is not None
    return id


def _thread(raw: tuple[Any, ...]) -> Thread:
    (
        uid, agent, origin, name, seed, digest, state, created, own, segments, parent, forked_at, about, status, route,
        _,
    ) = raw  # fmt: skip
    return Thread(
        id=uid,
        agent=agent,
        origin=origin,
        name=name,
        seed=seed,
        seed_digest=digest,
        state=loads_object(state),
        created=datetime.fromisoformat(created),
        length=own if own is not None else (json.loads(segments) or [(0, 0, 0)])[-1][1],
        parent=parent,
        forked_at=forked_at,
        about=_object(about),
        status=status,
        route=route,
    )


def _object(text: str | None) -> JsonObject | None:
    return None if text is None else loads_object(text)


def _named(cursor: sqlite3.Cursor, raw: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, raw, strict=True)}


def _fresh(db: sqlite3.Connection) -> str:
    taken = "SELECT 1 FROM threads WHERE uid IN (?, ?)"
    return thread_id(lambda uid: db.execute(taken, (uid, HIDDEN + uid)).fetchone() is not None)
