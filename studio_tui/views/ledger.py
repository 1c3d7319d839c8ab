"""The ledger of a turn as lines: every message with its place or its reason, and what was never stored (X1, X2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from runtime.explain import Account, InContext, LeftOutRows, NeverStored
from runtime.values.messages import Message, Row, Unreadable
from studio_tui.views.lines import Line, Lines, Pane, Span
from studio_tui.views.words import role_span

GROUP = 64


def ledger_pane(accounts: Sequence[Account], rows: Mapping[int, Row], narrowed: str) -> Pane:
    """Two lines for each message and each thing that was never stored; of a range that was left out every row.

    Ids: `row:SEQ`, `never:N`. `narrowed` is part of the title, so that another filter begins at the top.
    """
    groups = list(_groups(accounts))

    def make(group: int) -> tuple[Line, ...]:
        return tuple(line for n, account in groups[group] for line in _lines(n, account, rows))

    count = sum(len(group) for group in groups)
    title = f"{count:,} entries" + (f": {narrowed}" if narrowed else "")
    return Pane(title, "", Lines([2 * len(group) for group in groups], make))


class _Rows(Sequence[tuple[int, Account]]):
    """The rows of a part of a range that was left out, one by one; made when they are looked at."""

    def __init__(self, n: int, account: LeftOutRows, first: int, last: int) -> None:
        self._n, self._account, self._first, self._last = n, account, first, last

    def __len__(self) -> int:
        return self._last - self._first + 1

    @overload
    def __getitem__(self, index: int) -> tuple[int, Account]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[int, Account]]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, Account] | Sequence[tuple[int, Account]]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        account, seq = self._account, self._first + index
        needs = None if account.needs_last is None else account.needs_last + account.last - seq
        return self._n, LeftOutRows(seq, seq, account.reason, needs, needs)


def _groups(accounts: Sequence[Account]) -> Iterator[Sequence[tuple[int, Account]]]:
    """The accounts a few at a time, each with its number; a range as its rows."""
    few: list[tuple[int, Account]] = []
    for n, account in enumerate(accounts):
        if isinstance(account, LeftOutRows) and account.count > 1:
            if few:
                yield few
                few = []
            for first in range(account.first, account.last + 1, GROUP):
                yield _Rows(n, account, first, min(account.last, first + GROUP - 1))
            continue
        few.append((n, account))
        if len(few) == GROUP:
            yield few
            few = []
    if few:
        yield few


def _lines(n: int, account: Account, rows: Mapping[int, Row]) -> Iterator[Line]:
    if isinstance(account, InContext):
        yield _row(str(account.needs), account.seq, (role_span(account.role), Span("  "), Span(account.text)),
                   Span(f"{account.tokens:,}", "number"), account.text)  # fmt: skip
        told = f"in, at place {account.place}" + (", and it is the request" if account.is_request else "")
        told += f"; says the same as {', '.join(account.repeats)}" if account.repeats else ""
        yield _why(f"row:{account.seq}", told, "ok")
    elif isinstance(account, LeftOutRows):
        yield from _out(account, rows)
    else:
        assert isinstance(account, NeverStored)
        what = f"{account.what} {account.name}".strip()
        id = f"never:{n}"
        yield Line(id, (Span(f"{'–':>6}  {'–':>7}  ", "number"), Span(f"{what}  ", "role-tool"), Span(account.text)),
                   wrap=False, kind="never", copy=account.text)  # fmt: skip
        yield _why(id, f"never a message: {account.turn_name}, {account.reason}", "reason")


def _out(account: LeftOutRows, rows: Mapping[int, Row]) -> Iterator[Line]:
    """One row that was left out."""
    id, row = f"row:{account.first}", rows.get(account.first)
    spans: tuple[Span, ...] = (Span("cannot be read" if isinstance(row, Unreadable) else "not loaded", "muted"),)
    if isinstance(row, Message):
        spans = (role_span(row.role), Span("  "), Span(row.text))
    copy = row.text if isinstance(row, Message) else None
    needs = "–" if account.needs_first is None else str(account.needs_first)
    columns = Span(f"{needs:>6}  {account.first:>7}  ", "number")
    yield Line(id, (columns, *spans), wrap=False, seq=account.first, kind="out", copy=copy, fade=True)
    told = f"out: {account.reason}"
    if account.needs_first is not None:
        told += f"; a window of {account.needs_first} or more would include it"
    yield _why(id, told, "reason")


def _row(needs: str, seq: int, spans: tuple[Span, ...], right: Span, text: str) -> Line:
    columns = Span(f"{needs:>6}  {seq:>7}  ", "number")
    return Line(f"row:{seq}", (columns, *spans), (right,), wrap=False, seq=seq, kind="row", copy=text)


def _why(of: str, told: str, style: str) -> Line:
    return Line(
        f"{of}:why", (Span(told, "ok" if style == "ok" else "reason"),), indent=17, of=of, wrap=False, kind="note"
    )
