"""Request bodies in SQLite: compressed, shared by digest, kept by size with runs of experiments going first (A6)."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Mapping

_BATCH = 64


def put(db: sqlite3.Connection, turn: int, bodies: Mapping[int, bytes], *, experiment: bool, limit: int) -> None:
    """Keep the bodies of a turn's steps (the last one of a step stands), then make room down to `limit` bytes."""
    for step, body in bodies.items():
        digest = hashlib.sha256(body).digest()
        _drop(db, db.execute("SELECT id, digest FROM wire WHERE turn = ? AND step = ?", (turn, step)).fetchall())
        if db.execute("SELECT 1 FROM blobs WHERE digest = ?", (digest,)).fetchone() is None:
            packed = zlib.compress(body, 1)
            db.execute("INSERT INTO blobs (digest, size, body) VALUES (?, ?, ?)", (digest, len(packed), packed))
        db.execute(
            "INSERT INTO wire (turn, step, digest, rank) VALUES (?, ?, ?, ?)",
            (turn, step, digest, 0 if experiment else 1),
        )
    while _size(db) > limit:
        oldest = db.execute("SELECT id, digest FROM wire ORDER BY rank, id LIMIT ?", (_BATCH,)).fetchall()
        if not oldest:
            return
        for one in oldest:
            _drop(db, [one])
            if _size(db) <= limit:
                return


def get(db: sqlite3.Connection, turn: int, step: int) -> bytes | None:
    """The body of a step; None if it was never put or had to go."""
    found = db.execute(
        "SELECT body FROM blobs WHERE digest = (SELECT digest FROM wire WHERE turn = ? AND step = ?)", (turn, step)
    ).fetchone()
    return None if found is None else zlib.decompress(found[0])


def forget_thread(db: sqlite3.Connection, thread: int) -> None:
    """Drop all bodies of a thread's turns that no other turn shares."""
    sql = "SELECT id, digest FROM wire WHERE turn IN (SELECT id FROM turns WHERE thread = ?)"
    _drop(db, db.execute(sql, (thread,)).fetchall())


def _drop(db: sqlite3.Connection, wires: list[tuple[int, bytes]]) -> None:
    for id, digest in wires:
        db.execute("DELETE FROM wire WHERE id = ?", (id,))
        if db.execute("SELECT 1 FROM wire WHERE digest = ?", (digest,)).fetchone() is None:
            db.execute("DELETE FROM blobs WHERE digest = ?", (digest,))


def _size(db: sqlite3.Connection) -> int:
    size: int = db.execute("SELECT value FROM counters WHERE name = 'blobs'").fetchone()[0]
    return size
