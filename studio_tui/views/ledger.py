"""The ledger of a turn as lines: every message with its place or its reason, and what was never stored (X1, X2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from runtime.explain import Account, InContext, LeftOutRows, NeverStored
from runtime.values.messages import Message, Row
from studio_tui.views.lines import Line, Lines, Pane, Span
from studio_tui.views.words import role_span

GROUP = 64


def ledger_pane(accounts: Sequence[Account], rows: Mapping[int, Row], narrowed: str) -> Pane:
    """One or two lines for each account; a left-out range of rows is told row by row where the texts are known.

    Ids: `row:SEQ`, `out:FIRST-LAST`, `never:N`. `narrowed` is part of the title, so that another filter begins at the
    top.
    """
    groups = [accounts[first : first + GROUP] for first in range(0, len(accounts), GROUP)]

    def make(group: int) -> tuple[Line, ...]:
        return tuple(
            line for n, account in enumerate(groups[group], group * GROUP) for line in _lines(n, account, rows)
        )

    title = f"{len(accounts):,} entries" + (f": {narrowed}" if narrowed else "")
    return Pane(title, "", Lines([2 * len(group) for group in groups], make))


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
    id = f"row:{account.first}" if account.count == 1 else f"out:{account.first}-{account.last}"
    row = rows.get(account.first) if account.count == 1 else None
    needs = "–" if account.needs_first is None else f"{account.needs_first}"
    if account.count > 1 and account.needs_last is not None:
        needs = f"{needs}…{account.needs_last}"
    seqs = str(account.first) if account.count == 1 else f"{account.first}–{account.last}"
    spans: tuple[Span, ...] = (Span(f"{account.count:,} messages"),)
    if isinstance(row, Message):
        spans = (role_span(row.role), Span("  "), Span(row.text))
    copy = row.text if isinstance(row, Message) else None
    yield Line(id, (Span(f"{needs:>6}  {seqs:>7}  ", "number"), *spans), wrap=False, kind="out", copy=copy, fade=True)
    window = "" if account.needs_first is None else f"; a window of {account.needs_first} or more would include "
    window += "" if account.needs_first is None else ("it" if account.count == 1 else "all of them")
    yield _why(id, f"out: {account.reason}{window}", "reason")


def _row(needs: str, seq: int, spans: tuple[Span, ...], right: Span, text: str) -> Line:
    columns = Span(f"{needs:>6}  {seq:>7}  ", "number")
    return Line(f"row:{seq}", (columns, *spans), (right,), wrap=False, seq=seq, kind="row", copy=text)


def _why(of: str, told: str, style: str) -> Line:
    return Line(
        f"{of}:why", (Span(told, "ok" if style == "ok" else "reason"),), indent=17, of=of, wrap=False, kind="note"
    )
