"""SQLite files of two kits: the Agents SDK's sessions and ADK's session service, opened for reading only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from runtime.errors import BadInput
from runtime.transcripts.conversation import Detected
from runtime.transcripts.shapes import decoded

AGENTS_SDK: Final = frozenset(("agent_sessions", "agent_messages"))
ADK: Final = frozenset(("sessions", "events"))


def sessions(path: Path) -> tuple[Detected, list[tuple[str, ...]]]:
    """What the file is and the keys of its sessions, oldest first. Raises BadInput if it is neither."""
    with closing(_open(path)) as database:
        try:
            tables = {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables >= AGENTS_SDK:
                query = "SELECT session_id FROM agent_messages GROUP BY session_id ORDER BY min(id)"
                found: list[tuple[str, ...]] = [(str(key),) for (key,) in database.execute(query)]
                return Detected("agents-sdk", "its tables are `agent_sessions` and `agent_messages`"), found
            columns = {str(row[1]) for row in database.execute("PRAGMA table_info(events)")}
            if tables >= ADK and "event_data" in columns:
                query = "SELECT app_name, user_id, session_id FROM events GROUP BY 1, 2, 3 ORDER BY min(rowid)"
                keys = [tuple(map(str, row)) for row in database.execute(query)]
                return Detected("adk-session", "its tables are `sessions` and `events` with `event_data`"), keys
        except sqlite3.Error as error:
            raise BadInput(f"the database cannot be read: {error}", file=str(path)) from error
    names = ", ".join(sorted(tables)[:6]) or "none"
    raise BadInput(f"a SQLite file without conversations that are known here; its tables: {names}", file=str(path))


def items(path: Path, session: tuple[str, ...]) -> Iterator[tuple[object, str]]:
    """The items (Agents SDK) or events (ADK) of one session, in order, each with its source."""
    if len(session) == 1:
        query = "SELECT id, message_data FROM agent_messages WHERE session_id = ? ORDER BY id"
        table = "agent_messages"
    else:
        query = (
            "SELECT rowid, event_data FROM events WHERE app_name = ? AND user_id = ? AND session_id = ? "
            "ORDER BY timestamp, rowid"
        )
        table = "events"
    with closing(_open(path)) as database:
        try:
            for id, text in database.execute(query, session):
                yield decoded(text) if isinstance(text, str) else None, f"{table} {id}"
        except sqlite3.Error as error:
            raise BadInput(f"the database cannot be read: {error}", file=str(path)) from error


def _open(path: Path) -> sqlite3.Connection:
    log = path.with_name(f"{path.name}-wal")
    try:
        # Even a reader leaves files beside a database with a log; one whose log is empty is read as it lies there.
        quiet = "" if log.exists() and log.stat().st_size else "&immutable=1"
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{quiet}", uri=True)
    except sqlite3.Error as error:
        raise BadInput(f"the database cannot be opened: {error}", file=str(path)) from error
