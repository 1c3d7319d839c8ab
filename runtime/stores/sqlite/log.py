"""The log of a session in SQLite: what happened between agents, by the session's first thread. Sync."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from runtime.errors import StoreError
from runtime.values.journal_json import dumps, loads_object
from runtime.values.json import JsonObject, clean_json


def append(db: sqlite3.Connection, thread: int, events: Sequence[JsonObject]) -> None:
    """Append entries to the log of a thread."""
    last: int = db.execute("SELECT coalesce(max(n), 0) FROM events WHERE thread = ?", (thread,)).fetchone()[0]
    values = [(thread, last + n, dumps(clean_json(event))) for n, event in enumerate(events, 1)]
    db.executemany("INSERT INTO events (thread, n, body) VALUES (?, ?, ?)", values)


def read(db: sqlite3.Connection, name: str, thread: int) -> list[JsonObject]:
    """The entries of the log, oldest first. Raises StoreError for one that cannot be read; `name` is the thread's."""
    found = db.execute("SELECT n, body FROM events WHERE thread = ? ORDER BY n", (thread,)).fetchall()
    return [_entry(name, n, body) for n, body in found]


def delete(db: sqlite3.Connection, thread: int) -> None:
    """The whole log of a thread."""
    db.execute("DELETE FROM events WHERE thread = ?", (thread,))


def _entry(name: str, n: int, body: str) -> JsonObject:
    try:
        return loads_object(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"entry {n} in the log of thread {name} is damaged and cannot be read") from error
