"""Which thread a call belongs to: the one whose messages it goes on from, a branch of one, or none that is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from runtime.recorder.aligning import Placement, common, place
from runtime.recorder.open_turn import OpenTurn
from runtime.recorder.reading import Sent
from runtime.values.messages import NewMessage, calls_of

TELLING = 24
"""Characters from which a message is taken to be no chance likeness: `ok` and `yes` join no threads."""

_COMPARED = 4_000


@dataclass(slots=True)
class Known:
    """A thread that is being recorded.

    `keys` are those of its rows, by seq from 1; `last` the seqs the program had at its last call, in its order, the
    answer last. `answers` are the rows that a recorded call brought. `newest` is the newest of `last`, `instructions`
    what led the last call. `front` is the newest turn with the seqs of its history.
    """

    id: str
    keys: list[bytes] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    answers: set[int] = field(default_factory=set)
    newest: NewMessage | None = None
    instructions: str = ""
    front: tuple[str, tuple[int, ...]] | None = None
    turn: OpenTurn | None = None
    lost: int = 0

    @property
    def busy(self) -> bool:
        """Whether a call of it is under way."""
        return self.turn is not None and self.turn.call is not None

    def copy(self) -> Known:
        """The thread as it is, to come back to."""
        return Known(
            self.id,
            list(self.keys),
            list(self.last),
            set(self.answers),
            self.newest,
            self.instructions,
            self.front,
            self.turn.copy() if self.turn else None,
            self.lost,
        )


@dataclass(frozen=True, slots=True)
class Joined:
    """The thread a call belongs to. `how`: it goes on from its newest row, or branches off after row `seq`."""

    thread: Known
    how: Literal["goes-on", "branches"]
    seq: int


def join(sent: Sent, threads: Iterable[Known]) -> Joined | None:
    """The thread among `threads` (most recent first) with which `sent` has most in common, None for a new one.

    Two conversations may begin alike, so a branch needs an answer in common that was recorded: else it is a new
    thread. A thread with a call under way cannot be gone on from.
    """
    best: Joined | None = None
    most = (0, 0, 0)
    for thread in threads:
        found = _with(sent, thread)
        if found is None:
            continue
        matched, joined = found
        rank = (matched, int(joined.how == "goes-on"), int(thread.instructions == sent.instructions))
        if rank > most:
            best, most = joined, rank
    return best


def _with(sent: Sent, thread: Known) -> tuple[int, Joined] | None:
    """How many messages `sent` has in common with a thread, and how it goes on from it."""
    order = [thread.keys[seq - 1] for seq in thread.last]
    same = common(sent.keys, order)
    if not order or (not same and order[-1] not in sent.keys):
        return None
    if not thread.busy:
        if same == len(order):
            return same, Joined(thread, "goes-on", len(thread.keys))
        placed = place(sent.keys, thread.keys, thread.last)
        if placed.reaches and _convinces(sent, thread, placed):
            return placed.matched, Joined(thread, "goes-on", len(thread.keys))
        if same == len(order) - 1 and same < len(sent.rows) and rewritten(thread.newest, sent.rows[same]):
            return same, Joined(thread, "goes-on", len(thread.keys))
    shared = thread.last[:same]
    if not thread.answers.intersection(shared):
        return None
    return same, Joined(thread, "branches", max(shared))


def _convinces(sent: Sent, thread: Known, placed: Placement) -> bool:
    """Whether a list that does not begin as before is the same conversation: trimmed or summarised, not like it."""
    if placed.same:
        return True
    newest = thread.newest
    telling = newest is not None and (bool(calls_of(newest.parts)) or len(newest.text) >= TELLING)
    return telling or (placed.matched >= 2 and 2 * placed.matched >= placed.tail)


def rewritten(answer: NewMessage | None, row: NewMessage) -> bool:
    """Whether `row` is `answer` in other words: thoughts cut out, a text trimmed or parsed, arguments filled in."""
    if answer is None or answer.role != "assistant" or row.role != "assistant":
        return False
    ours, theirs = _plain(answer), _plain(row)
    if not ours or not theirs:
        return True
    if theirs in ours or ours in theirs:
        return True
    from rapidfuzz import fuzz

    return fuzz.ratio(ours[:_COMPARED], theirs[:_COMPARED]) >= 60


def _plain(row: NewMessage) -> str:
    return " ".join(row.text.split())


def seqs_of(placement: Sequence[int | None]) -> list[int]:
    """The seqs of a list whose every message has its row."""
    found = [seq for seq in placement if seq is not None]
    assert len(found) == len(placement), "every message sent has a row by now"
    return found
