"""Which of the messages a program sent are rows that are known already: by content, in order, from the newest back.

Programs append, trim, summarise, reorder and rewrite between two calls. Messages are compared by role and by what they
say; ids, blanks and the words beside calls do not count, since frameworks change those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from runtime.calls import canonical
from runtime.values.json import JsonObject, compact
from runtime.values.messages import NewMessage, calls_of


def key_of(row: NewMessage) -> bytes:
    """What two messages have in common when they are the same message."""
    calls = calls_of(row.parts)
    if calls:
        made = [[part.get("name"), canonical(_arguments(part))] for part in calls]
        said = f"calls {compact(made)}"
    else:
        said = f"{row.role} {' '.join(row.text.split())}"
    refs = [str(part.get("ref")) for part in row.parts or () if part.get("ref")]
    return blake2b("\0".join([said, *refs]).encode("utf-8", "replace"), digest_size=16).digest()


def _arguments(part: JsonObject) -> JsonObject | str:
    value = part.get("arguments")
    return value if isinstance(value, str | dict) else {}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where each message stands in the thread: `seqs` holds the seq of its row, or None for one that is new.

    `same` counts the messages that begin the list as before; `matched` those found in order; `reaches` is true if the
    newest row of before is among them. `tail` is the index after the last one found: from there on all are new.
    """

    seqs: tuple[int | None, ...]
    same: int
    matched: int
    reaches: bool
    tail: int


def common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many keys both begin with."""
    shorter = min(len(one), len(other))
    return next((n for n in range(shorter) if one[n] != other[n]), shorter)


def place(sent: Sequence[bytes], known: Sequence[bytes], last: Sequence[int]) -> Placement:
    """Place the messages `sent` among rows: `known` are the keys of rows 1.. in order, `last` the seqs that the
    program had at its last call, in its order (which differs from theirs once it inserts a summary)."""
    order = [known[seq - 1] for seq in last]
    same = common(sent, order)
    pairs = [(n, n) for n in range(same)]
    if same < len(order) and same < len(sent):
        pairs += _latest(sent, order, _in_order(sent[same:], order[same:]), same)
    found = {at: last[to] for at, to in pairs}
    tail = pairs[-1][0] + 1 if pairs else 0
    reaches = bool(pairs) and pairs[-1][1] == len(order) - 1
    _come_back(found, sent[:tail], known)
    return Placement(tuple(found.get(at) for at in range(len(sent))), same, len(pairs), reaches, tail)


def _in_order(sent: Sequence[bytes], order: Sequence[bytes]) -> list[tuple[int, int]]:
    """The longest list of pairs that rises on both sides."""
    from rapidfuzz.distance import LCSseq

    return [
        (block.src_start + n, block.dest_start + n)
        for block in LCSseq.opcodes(sent, order)
        if block.tag == "equal"
        for n in range(block.src_end - block.src_start)
    ]


def _latest(
    sent: Sequence[bytes], order: Sequence[bytes], pairs: list[tuple[int, int]], start: int
) -> list[tuple[int, int]]:
    """`pairs` (counted from `start`), each moved to the newest row that says the same: windows keep the newest."""
    moved: list[tuple[int, int]] = []
    bound = len(order)
    for at, to in reversed(pairs):
        at, to = at + start, to + start
        key = sent[at]
        to = next((n for n in range(bound - 1, to, -1) if order[n] == key), to)
        moved.append((at, to))
        bound = to
    moved.reverse()
    return moved


def _come_back(found: dict[int, int], sent: Sequence[bytes], known: Sequence[bytes]) -> None:
    """Rows left out before, or moved, that stand among those found: they are not new."""
    missing = [at for at in range(len(sent)) if at not in found]
    if not missing:
        return
    taken = set(found.values())
    wanted = {sent[at] for at in missing}
    places: dict[bytes, list[int]] = {}
    for seq, key in enumerate(known, start=1):
        if key in wanted and seq not in taken:
            places.setdefault(key, []).append(seq)
    for at in reversed(missing):
        free = places.get(sent[at])
        if free:
            found[at] = free.pop()
