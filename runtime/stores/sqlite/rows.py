"""Rows of `messages` as values and back; a row that cannot be decoded is named, never raised (S6)."""

from __future__ import annotations

import gc
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeAlias

from runtime.values.journal_json import dumps
from runtime.values.messages import ROLES, Message, NewMessage, Origin, Role, Row, Unreadable

Range: TypeAlias = tuple[int, int, int]
"""Rows of one thread's own: (threads.id, first seq, last seq)."""

_COLUMNS = "id, seq, role, text, parts, turn, from_thread, from_seq, source, flags, at"
_ARM = f"SELECT {_COLUMNS} FROM messages WHERE thread = ? AND seq BETWEEN ? AND ?"
_ONE = f"{_ARM} ORDER BY seq"
_NEWEST = f"SELECT {_COLUMNS} FROM messages WHERE thread = ? AND seq <= ? ORDER BY seq DESC LIMIT ?"
_INSERT = (
    "INSERT INTO messages (id, thread, seq, role, text, parts, turn, from_thread, from_seq, source, flags, at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_NEXT = "SELECT max((SELECT coalesce(max(id), 0) FROM messages), value) + 1 FROM counters WHERE name = 'messages'"
_INSERT_NEXT = _INSERT.replace("(?, ", f"(({_NEXT}), ", 1)
_ARMS = 100  # SQLite takes 500 terms in one compound SELECT

_MANY = 2000  # rows from which the collector waits

_ROLES = frozenset(ROLES)


class _NotText(bytes):
    """Bytes that stand in a text column and are no UTF-8."""


def read(db: sqlite3.Connection, ranges: Sequence[Range]) -> list[Row]:
    """The rows of `ranges`, by seq."""
    if sum(last - first for _, first, last in ranges) >= _MANY:
        with _uncollected():
            return _read(db, ranges)
    return _read(db, ranges)


def _read(db: sqlite3.Connection, ranges: Sequence[Range]) -> list[Row]:
    if len(ranges) == 1:
        return [_row(one) for one in _fetch(db, _ONE, ranges[0])]
    raw: list[tuple[Any, ...]] = []
    for start in range(0, len(ranges), _ARMS):
        some = ranges[start : start + _ARMS]
        raw += _fetch(db, " UNION ALL ".join([_ARM] * len(some)), [bound for one in some for bound in one])
    raw.sort(key=_by_seq)
    return [_row(one) for one in raw]


@contextmanager
def _uncollected() -> Iterator[None]:
    """While many rows are made the garbage collector would walk over all that there is again and again, for nothing:
    in a process with much in it that is half of the time that reading a long thread takes."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def newest(db: sqlite3.Connection, thread: int, last: int, count: int) -> list[Row]:
    """The newest `count` of a thread's own rows up to `last`, newest first."""
    return [_row(one) for one in _fetch(db, _NEWEST, (thread, last, count))]


def next_id(db: sqlite3.Connection) -> int:
    """The next insertion number: one more than any that was ever given, rows deleted since included."""
    following: int = db.execute(_NEXT).fetchone()[0]
    return following


def insert(
    db: sqlite3.Connection,
    thread: int,
    after: int,
    messages: Sequence[NewMessage],
    turn: str | None,
    at: datetime,
) -> int:
    """Insert rows `after` + 1 and on of a thread; returns the insertion number of the first."""
    when = at.isoformat()
    if len(messages) == 1:
        inserted = db.execute(_INSERT_NEXT, _values(thread, after + 1, messages[0], turn, when)).lastrowid
        assert inserted is not None
        return inserted
    first = next_id(db)
    numbered = enumerate(messages)
    db.executemany(_INSERT, ((first + n, *_values(thread, after + 1 + n, new, turn, when)) for n, new in numbered))
    return first


def stored(
    first: int, after: int, messages: Sequence[NewMessage], turn: str | None, at: datetime
) -> tuple[Message, ...]:
    """The rows that `insert` wrote."""
    return tuple(
        Message(after + 1 + n, new.role, new.text, new.parts, turn, at, first + n, new.origin, new.source, new.flags)
        for n, new in enumerate(messages)
    )


def _values(thread: int, seq: int, new: NewMessage, turn: str | None, when: str) -> tuple[object, ...]:
    origin = new.origin
    return (
        thread,
        seq,
        new.role,
        new.text,
        None if new.parts is None else dumps(new.parts),
        turn,
        None if origin is None else origin.thread,
        None if origin is None else origin.seq,
        new.source,
        dumps(new.flags) if new.flags else None,
        when,
    )


def _by_seq(raw: tuple[Any, ...]) -> int:
    seq: int = raw[1]
    return seq


def _fetch(db: sqlite3.Connection, sql: str, bounds: Sequence[int]) -> list[tuple[Any, ...]]:
    try:
        return db.execute(sql, bounds).fetchall()
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
    # Some text of these rows is no UTF-8: read again and mark it, at a price that whole rows need not pay.
    factory = db.text_factory
    db.text_factory = _text_or_not
    try:
        return db.execute(sql, bounds).fetchall()
    finally:
        db.text_factory = factory


def _text_or_not(raw: bytes) -> str | _NotText:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return _NotText(raw)


def _row(raw: tuple[Any, ...]) -> Row:
    id, seq, role, text, parts, turn, from_thread, from_seq, source, flags, at = raw
    if role not in _ROLES:
        shown = repr(role) if isinstance(role, str) else "nothing" if role is None else "no text"
        return Unreadable(seq, f"its role is {shown}, none of the four", id)
    if type(text) is not str:
        return Unreadable(seq, "its text is null" if text is None else "its text is no text", id)
    try:
        return _built(
            seq,
            role,
            text,
            None if parts is None else _parts(parts),
            None if turn is None else _text(turn, "turn"),
            datetime.fromisoformat(at),
            id,
            None if from_thread is None else Origin(_text(from_thread, "origin"), int(from_seq)),
            None if source is None else _text(source, "source"),
            () if flags is None else tuple(json.loads(flags)),
        )
    except _Damaged as damage:
        return Unreadable(seq, str(damage), id)
    except (ValueError, TypeError, RecursionError):
        return Unreadable(seq, "its time, origin or flags cannot be read", id)


# A frozen dataclass sets each field through object.__setattr__, which is most of what reading a window costs. Its
# slots take the same values at half the price.
_new = Message.__new__
_set: list[Any] = [getattr(Message, slot).__set__ for slot in Message.__slots__]
_seq, _role, _the_text, _the_parts, _turn, _at, _id, _origin, _source, _flags = _set


def _built(
    seq: int,
    role: Role,
    text: str,
    parts: tuple[Any, ...] | None,
    turn: str | None,
    at: datetime,
    id: int,
    origin: Origin | None,
    source: str | None,
    flags: tuple[str, ...],
) -> Message:
    message = _new(Message)
    _seq(message, seq)
    _role(message, role)
    _the_text(message, text)
    _the_parts(message, parts)
    _turn(message, turn)
    _at(message, at)
    _id(message, id)
    _origin(message, origin)
    _source(message, source)
    _flags(message, flags)
    return message


class _Damaged(Exception):
    """A column that does not hold what it should; the text says which."""


def _parts(text: object) -> tuple[Any, ...]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise _Damaged("its parts are no JSON list of objects")
    return tuple(value)


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise _Damaged(f"its {what} is no text")
    return value
