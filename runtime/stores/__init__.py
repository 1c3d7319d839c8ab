"""Doors to storage: the two protocols every store speaks, and the URL that opens one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from runtime.errors import BadInput
from runtime.values.json import Json, JsonObject
from runtime.values.messages import Message, NewMessage, Row, Unreadable, Window
from runtime.values.record import (
    JournalItem,
    Kind,
    Layout,
    Owner,
    Settlement,
    Turn,
    TurnOrigin,
    View,
)


class Threads(Protocol):
    """What other people implement to keep threads (S10). `runtime.stores.contract` is its test suite."""

    async def create(self, *, agent: str = "", state: Mapping[str, Json] | None = None) -> str:
        """A new empty thread; returns its id."""
        ...

    async def append(self, thread: str, *messages: NewMessage) -> tuple[Message, ...]:
        """Append all of `messages` in one transaction, durable; returns the rows with their seq (S1).

        Raises UnknownThread.
        """
        ...

    async def list_messages(self, thread: str, window: int) -> list[Message]:
        """The newest `window` readable rows, oldest first; none for `window <= 0`, all for a larger one (S2, S3, S6).

        Raises UnknownThread whatever the window (S4).
        """
        ...

    async def length(self, thread: str) -> int:
        """How many rows the thread holds, unreadable ones too. Raises UnknownThread."""
        ...

    async def fork(self, thread: str, seq: int) -> str:
        """A thread that holds rows 1..`seq` of `thread` (0 to its length) and goes on at seq + 1 (S9).

        Copies no rows. Raises UnknownThread, or BadInput for a `seq` outside the thread.
        """
        ...


ThreadOrigin = Literal["seed", "user", "fork", "handoff", "imported", "recorded"]


@dataclass(frozen=True, slots=True)
class NewThread:
    """A thread to create. `seed` is a shipped name or an absolute path, `seed_digest` its SHA-256 in hex.

    `parent` is the thread that handed off to it, `route` the place (`FILE:LINE`) by which; `status` as in `Thread`.
    """

    agent: str = ""
    origin: ThreadOrigin = "user"
    name: str = ""
    seed: str | None = None
    seed_digest: str | None = None
    state: JsonObject | None = None
    parent: str | None = None
    about: JsonObject | None = None
    route: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread's row. `parent` is the base of a fork, `forked_at` its seq there; `length` counts rows.

    Of a thread that a handoff created, `parent` is the caller's, `route` the route's `FILE:LINE`, and `status` who is
    spoken to: `active`, `waiting`, `returned`, `completed` or `escalated` (H14); else both are empty.

    `about` keeps what else its origin told: the tools and model of an imported request body, what was not carried.
    """

    id: str
    agent: str
    origin: ThreadOrigin
    name: str
    seed: str | None
    seed_digest: str | None
    state: JsonObject
    created: datetime
    length: int
    parent: str | None = None
    forked_at: int | None = None
    about: JsonObject | None = None
    status: str = ""
    route: str = ""


@dataclass(frozen=True, slots=True)
class Selected:
    """What a window takes of a thread: `rows` oldest first, the unreadable rows met among them, rows in all."""

    rows: tuple[Message, ...]
    unreadable: tuple[Unreadable, ...]
    stored: int


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn to open; see `Turn` for the fields. `owner` is the process that will run it."""

    thread: str
    kind: Kind
    agent: str
    window: Window
    request: str
    owner: Owner | None = None
    origin: TurnOrigin = "run"
    layout: Layout = "sections"
    view: View | None = None
    parent: str | None = None
    parent_step: int | None = None
    parent_call: str | None = None
    rerun_of: str | None = None
    experiment: str | None = None
    cell: str | None = None
    state: JsonObject | None = None
    """The state the turn opens with; None is the thread's current one (views and children give their own)."""
    stored_user: int | None = None
    stored_assistant: int | None = None
    """Rows that were there before the turn (imported, recorded): what it asked and what it answered."""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn that ran elsewhere, whole: opened, journaled and settled at once.

    `id` is one of those that `Filling.turn_ids` gave; `new` names the rows it asked and answered with; `began` and
    `ended` count the thread's rows just before it opened and just after it settled.
    """

    id: str
    new: NewTurn
    items: Sequence[JournalItem]
    settlement: Settlement
    began: int
    ended: int


class Filling(Protocol):
    """A thread on its way in. Rows come first, then turns; many of them are one transaction each time."""

    @property
    def thread(self) -> str:
        """The id it will have."""
        ...

    async def append(self, messages: Sequence[NewMessage]) -> None:
        """The next rows of the thread."""
        ...

    async def turn_ids(self, count: int) -> list[str]:
        """Ids for the next turns."""
        ...

    async def add_turns(self, turns: Sequence[PastTurn]) -> None:
        """The next turns, oldest first; they take the thread's next numbers and leave its state as it is."""
        ...


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment on one point of a thread. Its runs are the turns that name it; their `cell` says what each tried.

    `kind` is `sweep` or `ablation`, `of_turn` the turn under study (None: a request that was never sent), `spec` what
    was to be tried, as JSON, `state` how far it is. `id`, `number` (counted over the whole store, from 1) and `at`
    are given when it is first kept.
    """

    kind: str
    thread: str
    of_turn: str | None
    spec: JsonObject
    state: str
    id: str = ""
    number: int = 0
    at: datetime | None = None


class Ledger(Protocol):
    """What the Studio keeps besides the rows: threads with their origin, turns, journals, bodies, experiments.

    Ours (S10).
    """

    async def create_thread(self, new: NewThread, messages: Sequence[NewMessage] = ()) -> str:
        """A thread with its first rows, in one transaction; returns its id."""
        ...

    def fill(self, new: NewThread) -> AbstractAsyncContextManager[Filling]:
        """A thread filled from outside, however long, while the event loop stays free.

        It is there, durable, when the context ends; nobody sees it before, and nothing is left of it if the context
        ends by an exception or with the process. (A store of others that is adopted shows its rows as they come, and
        keeps them.)
        """
        ...

    async def thread(self, thread: str) -> Thread:
        """Raises UnknownThread."""
        ...

    async def threads(self, *, limit: int | None = None) -> list[Thread]:
        """The threads, newest activity first."""
        ...

    async def forks(self, thread: str) -> list[Thread]:
        """The threads forked directly from `thread`, oldest first."""
        ...

    async def update_thread(
        self, thread: str, *, status: str | None = None, state: JsonObject | None = None, name: str | None = None
    ) -> None:
        """Change a thread's status, state or name between its turns; None leaves it. Raises UnknownThread."""
        ...

    async def add_events(self, thread: str, events: Sequence[JsonObject]) -> None:
        """Append to the thread's log of what happens between agents (H12), in one transaction. Raises UnknownThread."""
        ...

    async def events(self, thread: str) -> list[JsonObject]:
        """The thread's log, oldest first; empty for a thread that is no session's first. Raises UnknownThread."""
        ...

    async def delete_thread(self, thread: str, *, with_forks: bool = False) -> tuple[str, ...]:
        """Delete the thread with its turns; returns the ids deleted. Raises UnknownThread, ForksRemain, ThreadBusy."""
        ...

    async def select(self, thread: str, window: Window, *, upto: int | None = None) -> Selected:
        """The newest `window` readable rows among rows 1..`upto` (None: all), as `list_messages` counts them.

        `stored` is the number of rows among which was selected. Raises UnknownThread.
        """
        ...

    async def rows(self, thread: str, first: int, last: int) -> list[Row]:
        """The rows first..last (seq, inclusive; cut to what there is), unreadable ones in their place."""
        ...

    async def state(self, thread: str, *, seq: int | None = None) -> JsonObject:
        """The thread's state, or as it was right after row `seq` was stored (S9; 0: at the start)."""
        ...

    async def open_turn(self, new: NewTurn, message: NewMessage | None = None) -> Turn:
        """Open a turn; a root turn's user message is appended in the same transaction, durable (S5a).

        A root turn without a view takes the thread's one place (S7): raises ThreadBusy if it is taken by a living
        owner, and settles a dead owner's turn `failed` (`interrupted`) first. Raises UnknownThread.
        """
        ...

    async def journal(
        self,
        turn: str,
        items: Sequence[JournalItem],
        *,
        state: JsonObject | None = None,
        bodies: Mapping[int, bytes] | None = None,
    ) -> None:
        """Append journal items in one transaction; `state` becomes the state of the thread (of the run, on a view),
        `bodies` are request bodies by step, kept by size, newest first (A6)."""
        ...

    async def settle(
        self,
        turn: str,
        items: Sequence[JournalItem],
        settlement: Settlement,
        *,
        rows: Sequence[NewMessage] = (),
        message: NewMessage | None = None,
        state: JsonObject,
        bodies: Mapping[int, bytes] | None = None,
    ) -> Turn:
        """End the turn in one transaction: last items, status, `state` as state_after, and the assistant message if
        there is one (S5b), after `rows`: the calls and results that a turn in an ABL thread keeps (H14). Frees the
        thread's place. Settling a settled turn again changes nothing and returns it."""
        ...

    async def renew(self, turns: Sequence[str]) -> None:
        """Renew the leases of running turns (S7)."""
        ...

    async def interrupted(self, turn: Turn) -> bool:
        """Whether a running turn's owner is gone: a dead pid on this host, elsewhere a lease over 15 s old (S7)."""
        ...

    async def turn(self, turn: str) -> Turn:
        """Raises UnknownTurn."""
        ...

    async def turns(
        self, thread: str, *, runs: bool = True, before: int | None = None, limit: int | None = None
    ) -> list[Turn]:
        """The thread's root turns, oldest first, with their runs on views if `runs`; no children.

        The runs of experiments are not among them: `runs_of` lists those.
        `limit` takes the newest; `before` those with a number below it.
        """
        ...

    async def children(self, turn: str) -> list[Turn]:
        """The delegated turns below one turn, in the order they were opened."""
        ...

    async def items(self, turn: str) -> list[JournalItem]:
        """A turn's journal. Raises UnknownTurn."""
        ...

    async def body(self, turn: str, step: int) -> bytes | None:
        """The request body of a step as it went on the wire; None if it is pruned or was never sent."""
        ...

    async def put_experiment(self, experiment: Experiment) -> Experiment:
        """Keep an experiment: one without an id is given id, number and time; of a known one `spec` and `state` are
        replaced. It goes when its thread is deleted. Raises UnknownThread, UnknownExperiment."""
        ...

    async def experiment(self, experiment: str) -> Experiment:
        """Raises UnknownExperiment."""
        ...

    async def experiments(self, thread: str | None = None, *, limit: int | None = None) -> list[Experiment]:
        """The experiments on a thread (None: on any), newest first. Raises UnknownThread."""
        ...

    async def runs_of(self, experiment: str) -> list[Turn]:
        """The root turns that an experiment ran, oldest first; their children are not among them."""
        ...

    async def changed(self) -> int:
        """A number that differs when another connection has written since it was last asked (to follow live)."""
        ...

    async def close(self) -> None: ...


class Store(Threads, Ledger, Protocol):
    """A store of ours: both protocols at once."""


BODY_BYTES = 256 * 1024 * 1024
"""How many bytes of request bodies a store keeps unless told otherwise (A6)."""


def open_store(url: str, *, body_bytes: int = BODY_BYTES) -> Store:
    """The store that `url` names: `memory:`, `sqlite:///relative.db`, `sqlite:////absolute.db`, or a plain path.

    A file that is not there is made; its folder is not. `body_bytes` bounds the request bodies kept (A6). Raises
    BadInput for a URL that names no store, StoreError for a file that is none of ours or cannot be written.
    """
    if url == "memory:":
        from runtime.stores.memory import MemoryStore

        return MemoryStore(body_bytes=body_bytes)
    from runtime.stores.sqlite import SqliteStore

    return SqliteStore(_path_of(url), body_bytes=body_bytes)


def _path_of(url: str) -> Path:
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", url)
    if scheme is None:
        path = url
    elif scheme[1] == "sqlite" and url.startswith("sqlite:///"):
        path = url.removeprefix("sqlite:///")
    else:
        known = "memory:, sqlite:///relative.db, sqlite:////absolute.db or a path"
        raise BadInput(f"{_without_secrets(url)!r} names no store; give {known}", field="store")
    if path == ":memory:":
        raise BadInput("a store in memory is called memory:", field="store")
    if not path.strip() or "\x00" in path or path.endswith("/"):
        raise BadInput(f"{url!r} names no file", field="store")
    return Path(path).expanduser()


def _without_secrets(url: str) -> str:
    """The URL without what follows its scheme if it could hold a password or a key (Q3)."""
    return f"{url.partition(':')[0]}:..." if re.search(r"[@?]", url) else url
