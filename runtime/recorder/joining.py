"""Which thread a call belongs to: the one whose messages it goes on from, a branch of one, or none that is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from runtime.recorder.aligning import Placement, place
from runtime.recorder.open_turn import OpenTurn
from runtime.recorder.reading import Sent
from runtime.values.messages import NewMessage, calls_of

TELLING = 24
"""Characters from which a message is taken to be no chance likeness: `ok` and `yes` join no threads."""

_COMPARED = 4_000
_TRIMMED = 64


@dataclass(slots=True)
class Known:
    """A thread that is being recorded.

    `keys` are those of its rows, by seq from 1; `last` the seqs the program had at its last call, in its order, the
    answer last. `answers` are the rows that a recorded call brought. `newest` is the newest of `last`, `instructions`
    the hash of what led the last call. `front` is the newest turn with the seqs of its history.
    """

    id: str
    keys: list[bytes] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    answers: set[int] = field(default_factory=set)
    newest: NewMessage | None = None
    instructions: int = 0
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
    candidates = [_Candidate(sent, thread) for thread in threads]
    found = [joined for candidate in candidates if (joined := candidate.exactly()) is not None]
    if not any(joined.how == "goes-on" and 2 * matched >= len(sent.keys) for matched, joined in found):
        found += [joined for candidate in candidates[:_TRIMMED] if (joined := candidate.trimmed()) is not None]
    best = max(found, key=lambda one: _rank(sent, *one), default=None)  # of equals the first, the most recent
    return best[1] if best is not None else None


def _rank(sent: Sent, matched: int, joined: Joined) -> tuple[int, bool, bool]:
    return matched, joined.how == "goes-on", joined.thread.instructions == hash(sent.instructions)


class _Candidate:
    """How one thread compares with what was sent."""

    def __init__(self, sent: Sent, thread: Known) -> None:
        self._sent, self._thread = sent, thread
        shorter = min(len(sent.keys), len(thread.last))
        pairs = zip(sent.keys, thread.last, strict=False)
        differing = (n for n, (key, seq) in enumerate(pairs) if thread.keys[seq - 1] != key)
        self._same = next(differing, shorter)

    def exactly(self) -> tuple[int, Joined] | None:
        """How many messages begin both, if it goes on from the newest, or branches off a recorded answer."""
        thread, same = self._thread, self._same
        if not same:
            return None
        if not thread.busy:
            if same == len(thread.last):
                return same, Joined(thread, "goes-on", len(thread.keys))
            rows = self._sent.rows
            if same == len(thread.last) - 1 and same < len(rows) and rewritten(thread.newest, rows[same]):
                return same, Joined(thread, "goes-on", len(thread.keys))
        shared = thread.last[:same]
        return (same, Joined(thread, "branches", max(shared))) if thread.answers.intersection(shared) else None

    def trimmed(self) -> tuple[int, Joined] | None:
        """How many messages are in both in order, if the newest is among them and older ones are missing."""
        thread = self._thread
        if thread.busy or self._same == len(thread.last) or thread.keys[thread.last[-1] - 1] not in self._sent.keys:
            return None
        placed = place(self._sent.keys, thread.keys, thread.last)
        if not placed.reaches or not _convinces(thread, placed):
            return None
        return placed.matched, Joined(thread, "goes-on", len(thread.keys))


def _convinces(thread: Known, placed: Placement) -> bool:
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
