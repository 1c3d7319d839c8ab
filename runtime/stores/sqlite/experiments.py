"""Experiments in SQLite. Sync, on an open connection; the transactions are the store's."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import datetime
from typing import Any

from runtime.errors import UnknownExperiment
from runtime.stores import Experiment
from runtime.stores.ids import experiment_id
from runtime.stores.sqlite import threads
from runtime.values.journal_json import dumps, loads_object

_SELECT = """
SELECT e.uid, e.id, e.kind, t.uid, e.of_turn, e.spec, e.state, e.at
FROM experiments e JOIN threads t ON t.id = e.thread
"""


def put(db: sqlite3.Connection, experiment: Experiment, at: datetime) -> Experiment:
    """Insert an experiment without an id, or replace `spec` and `state` of a known one.

    Raises UnknownThread, UnknownExperiment.
    """
    spec = dumps(experiment.spec)
    if experiment.id:
        changed = db.execute(
            "UPDATE experiments SET spec = ?, state = ? WHERE uid = ?", (spec, experiment.state, experiment.id)
        )
        if not changed.rowcount:
            raise UnknownExperiment(experiment.id)
        return get(db, experiment.id)
    place = threads.locate(db, experiment.thread)
    uid = experiment_id(
        lambda uid: db.execute("SELECT 1 FROM experiments WHERE uid = ?", (uid,)).fetchone() is not None
    )
    number = db.execute(
        "INSERT INTO experiments (uid, kind, thread, of_turn, spec, state, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (uid, experiment.kind, place.id, experiment.of_turn, spec, experiment.state, at.isoformat()),
    ).lastrowid
    assert number is not None
    return replace(experiment, id=uid, number=number, at=at)


def get(db: sqlite3.Connection, experiment: str) -> Experiment:
    """Raises UnknownExperiment; ids match exactly."""
    found = db.execute(_SELECT + "WHERE e.uid = ?", (experiment,)).fetchone() if experiment.isascii() else None
    if found is None:
        raise UnknownExperiment(experiment)
    return _experiment(found)


def newest_first(db: sqlite3.Connection, thread: str | None, limit: int | None) -> list[Experiment]:
    """Raises UnknownThread."""
    count = -1 if limit is None else min(max(0, limit), 2**62)
    where, values = ("", ()) if thread is None else ("WHERE e.thread = ? ", (threads.locate(db, thread).id,))
    found = db.execute(_SELECT + where + "ORDER BY e.id DESC LIMIT ?", (*values, count)).fetchall()
    return [_experiment(raw) for raw in found]


def delete(db: sqlite3.Connection, thread: int) -> None:
    """All experiments of a thread."""
    db.execute("DELETE FROM experiments WHERE thread = ?", (thread,))


def _experiment(raw: tuple[Any, ...]) -> Experiment:
    uid, number, kind, thread, of_turn, spec, state, at = raw
    return Experiment(kind, thread, of_turn, loads_object(spec), state, uid, number, datetime.fromisoformat(at))
