"""The tables, and the ordered, named migrations that lead to them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from runtime.errors import StoreError
from runtime.stores.turns import utc_now

APPLICATION_ID = 0x53_54_55_44
"""Marks a file as ours, so that somebody else's database is never migrated."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema; its version is its place in `MIGRATIONS`, from 1."""

    name: str
    statements: tuple[str, ...]


_THREADS = """
CREATE TABLE threads (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: what is remembered of a deleted thread finds no rows
  uid TEXT NOT NULL UNIQUE,
  origin TEXT NOT NULL,
  segments TEXT NOT NULL,      -- [[base, upto, turns] ...]: rows up to upto, turns up to that number, oldest first
  parent TEXT,
  forked_at INTEGER,
  route TEXT,
  agent TEXT NOT NULL,
  name TEXT NOT NULL,
  seed TEXT,
  seed_digest TEXT,
  about TEXT,
  status TEXT NOT NULL DEFAULT '',
  initial TEXT NOT NULL,       -- the state before its first own row
  state TEXT NOT NULL,
  born INTEGER NOT NULL,       -- the newest insertion number when it was created
  created TEXT NOT NULL
)"""

# No constraint on what a row says: one that was damaged is read as unreadable (S6), and must be able to exist.
_MESSAGES = """
CREATE TABLE messages (
  id INTEGER PRIMARY KEY,      -- one insertion number over the whole store, never used twice
  thread INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  role TEXT,
  text TEXT,
  parts TEXT,
  turn TEXT,
  from_thread TEXT,
  from_seq INTEGER,
  source TEXT,
  flags TEXT,
  at TEXT
)"""

_TURNS = """
CREATE TABLE turns (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  thread INTEGER NOT NULL,
  number INTEGER NOT NULL,     -- among the root turns; of a run, that of the turn it belongs to
  began INTEGER NOT NULL,      -- rows of the thread just before it opened
  ended INTEGER,               -- and just after it settled
  place INTEGER,               -- 1: it takes the thread's place while it runs (S7); null: a run or a child
  view TEXT,
  kind TEXT NOT NULL,
  origin TEXT NOT NULL,
  layout TEXT NOT NULL,
  agent TEXT NOT NULL,
  window TEXT NOT NULL,
  request TEXT,                -- null: the text of row stored_user
  state_before TEXT NOT NULL,
  state TEXT,                  -- since its first write, while it runs
  state_after TEXT,
  parent_turn TEXT,
  parent_step INTEGER,
  parent_call TEXT,
  root INTEGER,                -- the turn at the top of a delegation; null is itself
  rerun_of TEXT,
  experiment TEXT,
  cell TEXT,
  owner TEXT,                  -- [host, pid, started]
  lease TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  opened TEXT NOT NULL,
  settled TEXT,
  stored_user INTEGER,
  stored_assistant INTEGER
)"""

MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "threads, rows, turns and journals",
        (
            _THREADS,
            "CREATE INDEX threads_parent ON threads (parent)",
            _MESSAGES,
            "CREATE UNIQUE INDEX messages_seq ON messages (thread, seq)",
            _TURNS,
            # Nulls are all different: one turn with a place, any number without.
            "CREATE UNIQUE INDEX turns_place ON turns (thread, place) WHERE status = 'running'",
            "CREATE INDEX turns_number ON turns (thread, number) WHERE parent_turn IS NULL",
            "CREATE INDEX turns_parent ON turns (parent_turn) WHERE parent_turn IS NOT NULL",
            "CREATE TABLE items (turn INTEGER NOT NULL, n INTEGER NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL,"
            " body NOT NULL, PRIMARY KEY (turn, n)) WITHOUT ROWID",
            "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
            "INSERT INTO counters VALUES ('messages', 0), ('blobs', 0)",
        ),
    ),
    Migration(
        "request bodies, kept by size",
        (
            "CREATE TABLE wire (turn INTEGER NOT NULL, step INTEGER NOT NULL, blob INTEGER NOT NULL,"
            " experiment INTEGER, PRIMARY KEY (turn, step)) WITHOUT ROWID",
            "CREATE INDEX wire_experiments ON wire (turn, step) WHERE experiment = 1",
            "CREATE TABLE blobs (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, uses INTEGER NOT NULL,"
            " size INTEGER NOT NULL, body BLOB NOT NULL)",
            "CREATE TRIGGER blobs_in AFTER INSERT ON blobs BEGIN"
            " UPDATE counters SET value = value + new.size WHERE name = 'blobs'; END",
            "CREATE TRIGGER blobs_out AFTER DELETE ON blobs BEGIN"
            " UPDATE counters SET value = value - old.size WHERE name = 'blobs'; END",
        ),
    ),
    Migration(
        "experiments",
        (
            "CREATE TABLE experiments (id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,"
            " of_turn TEXT, spec TEXT NOT NULL, state TEXT NOT NULL)",
        ),
    ),
    Migration(
        "experiments of a thread, and their runs",
        (
            "ALTER TABLE experiments ADD COLUMN thread INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE experiments ADD COLUMN at TEXT NOT NULL DEFAULT ''",
            "CREATE INDEX experiments_thread ON experiments (thread)",
            "CREATE INDEX turns_experiment ON turns (experiment) WHERE experiment IS NOT NULL",
        ),
    ),
    Migration(
        "what happens between agents",
        (
            "CREATE TABLE events (thread INTEGER NOT NULL, n INTEGER NOT NULL, body TEXT NOT NULL,"
            " PRIMARY KEY (thread, n)) WITHOUT ROWID",
        ),
    ),
)


def version_of(db: sqlite3.Connection, path: str) -> int:
    """The schema version of an open file, 0 for an empty one.

    Raises StoreError for a database of something else, or one that a newer version wrote.
    """
    ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    if not ours:
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreError(f"{path} is a SQLite database of something else, not a store of ours")
        return 0
    version: int = db.execute("SELECT max(version) FROM schema_version").fetchone()[0]
    if version > len(MIGRATIONS):
        known = len(MIGRATIONS)
        raise StoreError(f"{path} was written by a newer version (schema {version}, known here: {known}); upgrade")
    return version


def migrate(db: sqlite3.Connection, path: str, *, upto: int = len(MIGRATIONS)) -> None:
    """Apply the migrations that an open file lacks, all in one transaction."""
    if version_of(db, path) >= upto:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        done = version_of(db, path)  # another process may have been faster
        if done == 0:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(
                "CREATE TABLE schema_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL)"
            )
        for version, migration in enumerate(MIGRATIONS[done:upto], done + 1):
            for statement in migration.statements:
                db.execute(statement)
            row = (version, migration.name, utc_now().isoformat())
            db.execute("INSERT INTO schema_version VALUES (?, ?, ?)", row)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
