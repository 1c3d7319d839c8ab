"""The ledger, narrowed down: by what became of a message, by its reason, by a text it says (X1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from runtime.errors import BadInput
from runtime.explain.accounts import Account, InContext, LeftOutRows, NeverStored
from runtime.values.messages import Message, Row
from runtime.values.record import LeftOutReason, UnstoredReason

Kept = Literal["in", "out", "never-stored", "repeated"]
"""What a ledger can be narrowed to besides a reason: in the context, left out, never a row, said twice (X6)."""

NAMES: tuple[str, ...] = tuple(dict.fromkeys((*get_args(Kept), *get_args(LeftOutReason), *get_args(UnstoredReason))))
"""Every name that `only` takes."""


def only(accounts: Sequence[Account], name: str) -> tuple[Account, ...]:
    """The accounts of one kind (`in`, `out`, `never-stored`, `repeated`) or with one reason. Raises BadInput."""
    if name not in NAMES:
        raise BadInput(f"{name!r} is no reason; known: {', '.join(NAMES)}", field="only")
    return tuple(account for account in accounts if _is(account, name))


def saying(accounts: Sequence[Account], text: str, rows: Sequence[Row] = ()) -> tuple[Account, ...]:
    """The accounts that say `text`, whatever its case; of a range that was left out, the rows that do.

    `rows` are the thread's, by which left-out rows are searched; without them none is found.
    """
    wanted = text.casefold()
    said = {row.seq for row in rows if isinstance(row, Message) and wanted in row.text.casefold()}
    return tuple(found for account in accounts for found in _saying(account, wanted, said))


def _is(account: Account, name: str) -> bool:
    match account:
        case InContext():
            return name == "in" or (name == "repeated" and bool(account.repeats))
        case LeftOutRows():
            return name in ("out", account.reason)
        case NeverStored():
            return name in ("never-stored", account.reason)


def _saying(account: Account, wanted: str, said: set[int]) -> Iterator[Account]:
    if isinstance(account, LeftOutRows):
        for seq in sorted(seq for seq in said if account.first <= seq <= account.last):
            needs = None if account.needs_last is None else account.needs_last + account.last - seq
            yield LeftOutRows(seq, seq, account.reason, needs, needs)
    elif wanted in account.text.casefold() or (isinstance(account, NeverStored) and wanted in account.name.casefold()):
        yield account
