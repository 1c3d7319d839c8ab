"""Request bodies in SQLite: compressed, shared by digest, kept by size with runs of experiments going first (A6)."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Mapping

_BATCH = 64
_SMALL = 32_768
_INSERT = "INSERT OR IGNORE INTO wire (turn, step, blob, experiment) VALUES (?, ?, ?, ?)"
_KEEP = """
INSERT INTO blobs (digest, uses, size, body) VALUES (?, 1, ?, ?)
ON CONFLICT (digest) DO UPDATE SET uses = uses + 1 RETURNING id
"""


def put(db: sqlite3.Connection, turn: int, bodies: Mapping[int, bytes], *, experiment: bool, limit: int) -> None:
    """Keep the bodies of a turn's steps (the last one of a step stands), then make room down to `limit` bytes."""
    for step, body in bodies.items():
        wire = (turn, step, _keep(db, body), 1 if experiment else None)
        if not db.execute(_INSERT, wire).rowcount:
            _drop(db, db.execute("SELECT turn, step, blob FROM wire WHERE turn = ? AND step = ?", wire[:2]).fetchall())
            db.execute(_INSERT, wire)
    if bodies:
        _make_room(db, limit)


def get(db: sqlite3.Connection, turn: int, step: int) -> bytes | None:
    """The body of a step; None if it was never put or had to go."""
    found = db.execute(
        "SELECT body FROM blobs WHERE id = (SELECT blob FROM wire WHERE turn = ? AND step = ?)", (turn, step)
    ).fetchone()
    return None if found is None else zlib.decompress(found[0])


def forget_thread(db: sqlite3.Connection, thread: int) -> None:
    """Drop all bodies of a thread's turns that no other turn shares."""
    sql = "SELECT turn, step, blob FROM wire WHERE turn IN (SELECT id FROM turns WHERE thread = ?)"
    _drop(db, db.execute(sql, (thread,)).fetchall())


def _keep(db: sqlite3.Connection, body: bytes) -> int:
    packed = _packed(body)
    kept = db.execute(_KEEP, (hashlib.sha256(body).digest(), len(packed), packed)).fetchall()
    id: int = kept[0][0]
    return id


def _packed(body: bytes) -> bytes:
    if len(body) > _SMALL:
        return zlib.compress(body, 1)
    # Most of the price of a small body is the room that zlib sets up for a large one.
    small = zlib.compressobj(1, zlib.DEFLATED, 13, 6)
    return small.compress(body) + small.flush()


def _make_room(db: sqlite3.Connection, limit: int) -> None:
    for of in ("WHERE experiment = 1 ", ""):
        while _size(db) > limit:
            oldest = db.execute(
                f"SELECT turn, step, blob FROM wire {of}ORDER BY turn, step LIMIT ?", (_BATCH,)
            ).fetchall()
            if not oldest:
                break
            for one in oldest:
                _drop(db, [one])
                if _size(db) <= limit:
                    return


def _drop(db: sqlite3.Connection, wires: list[tuple[int, int, int]]) -> None:
    for turn, step, blob in wires:
        db.execute("DELETE FROM wire WHERE turn = ? AND step = ?", (turn, step))
        db.execute("UPDATE blobs SET uses = uses - 1 WHERE id = ?", (blob,))
        db.execute("DELETE FROM blobs WHERE id = ? AND uses = 0", (blob,))


def _size(db: sqlite3.Connection) -> int:
    size: int = db.execute("SELECT value FROM counters WHERE name = 'blobs'").fetchone()[0]
    return size
