"""What another history window would do, and when none can help: pure, over the record of a turn (X3, F3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from runtime import fit
from runtime.context import since as difference
from runtime.explain.accounts import WINDOW_REASONS, needs_of, unreadable_seqs
from runtime.explain.words import plural, quoted, turn_name, window_words
from runtime.values.items import ToolResults
from runtime.values.messages import Message, Role, Row, Window
from runtime.values.record import PARTS, ContextRecord, ContextRow, Part, Since, TurnRecord


def since(previous: ContextRecord | None, turn: str | None, rows: Iterable[ContextRow | Message]) -> Since:
    """What entered and fell out between the context of the turn before and `rows`, oldest first (X2).

    `turn` is the id of the turn before; without one, everything selected entered.
    """
    before = None if previous is None or turn is None else (turn, [row.seq for row in previous.rows])
    return difference(before, [row.seq for row in rows])


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Another window laid over a record; nothing was sent (X3).

    `rows` are the seqs it would select, `entered` and `left` the rows by which it differs from the record, oldest
    first. `ruler` is the seq of the oldest row it takes (the ruler stands above it), `sent_ruler` the record's; None
    where no row is taken. `before` and `after` are tokens by part, for the first step; both add up to the estimates.
    """

    window: Window
    words: str
    stored: int
    rows: tuple[int, ...]
    entered: tuple[ContextRow, ...]
    left: tuple[ContextRow, ...]
    ruler: int | None
    sent_ruler: int | None
    before: Mapping[Part, int]
    after: Mapping[Part, int]

    @property
    def selected(self) -> int:
        return len(self.rows)

    @property
    def tokens_before(self) -> int:
        return sum(self.before.values())

    @property
    def tokens_after(self) -> int:
        return sum(self.after.values())

    @property
    def sentence(self) -> str:
        """The difference in one sentence: `window 3 would select 3 of 14 stored messages: ...` (X8)."""
        moves = [
            f"{plural(len(rows), 'message')} {verb}"
            for verb, rows in (("would leave", self.left), ("would enter", self.entered))
            if rows
        ]
        change = self.tokens_after - self.tokens_before
        size = f"{plural(abs(change), 'token')} {'more' if change > 0 else 'fewer'}" if change else "the same tokens"
        what = f"{' and '.join(moves)}, {size}" if moves else "the same rows as were sent"
        return f"window {self.window} would select {self.selected} of {self.stored} stored messages: {what}"


def what_if(
    context: ContextRecord,
    rows: Sequence[Row],
    window: Window,
    *,
    count: Callable[[Role, str], int] = fit.row_tokens,
) -> WhatIf:
    """The context under another window (X3). The record is not touched.

    `rows` are stored rows among which entering ones are found: at least the newest `window` of the rows the record
    left out, in any order; none are needed for a smaller window. What an experiment dropped or a file hides stays
    out (X7). `count` gives a row's tokens; only entering rows are counted.
    """
    unreadable = unreadable_seqs(context, rows)
    wide = context.stored if window == "all" else window
    kept = [row for row in context.rows if row.needs <= wide]
    left = tuple(row for row in context.rows if row.needs > wide)
    entered = _entering(context, rows, wide, unreadable, count)
    seqs = sorted([row.seq for row in kept] + [row.seq for row in entered])
    before = parts_of(context)
    history = before["history"] - sum(row.tokens for row in left) + sum(row.tokens for row in entered)
    return WhatIf(
        window=window,
        words=window_words(window, context.stored, has_request=request_stored(context)),
        stored=context.stored,
        rows=tuple(seqs),
        entered=entered,
        left=left,
        ruler=seqs[0] if seqs else None,
        sent_ruler=context.rows[0].seq if context.rows else None,
        before=before,
        after={**before, "history": history if seqs else 0},
    )


def _entering(
    context: ContextRecord,
    rows: Sequence[Row],
    wide: int,
    unreadable: Sequence[int],
    count: Callable[[Role, str], int],
) -> tuple[ContextRow, ...]:
    curable = [left for left in context.left_out if left.reason in WINDOW_REASONS]
    found = []
    for row in rows:
        if not isinstance(row, Message) or not any(left.first <= row.seq <= left.last for left in curable):
            continue
        needs = needs_of(row.seq, context.stored, unreadable)
        if needs <= wide:
            origin = (row.origin.thread, row.origin.seq) if row.origin else None
            tokens = count(row.role, row.text)
            found.append(ContextRow(row.seq, row.role, row.text, tokens, needs, id=row.id, origin=origin))
    return tuple(sorted(found, key=lambda row: row.seq))


def parts_of(context: ContextRecord) -> Mapping[Part, int]:
    """The tokens of the opening context by part: what the first step is estimated at."""
    sections = {section.name: section.tokens for section in context.sections}
    return fit.parts(sections, tools=sum(tool.tokens for tool in context.tools))


def request_stored(context: ContextRecord) -> bool:
    """Whether the newest row is the turn's own request: it is among the rows, or the window took none of them."""
    return any(row.is_request for row in context.rows) or not context.rows


def window_that_fits(record: TurnRecord) -> int | None:
    """The largest window smaller than the record's that would have fitted; None if none would (or nothing overflowed).

    Tells only about a turn that failed `fit-overflow`. Rows that entered later than the record cannot be told.
    """
    overflow, fits, context = record.overflow, record.fit, record.context
    if overflow is None or fits is None or context is None:
        return None
    room = fits.limit - fits.reserve - (overflow.estimate - overflow.parts.get("history", 0))
    if room < 0:
        return None
    best = 0
    for row in reversed(context.rows):
        room -= row.tokens
        if room < 0:
            return best
        best = row.needs
    return best


def window_cannot_help(record: TurnRecord) -> str | None:
    """Why no window cures this overflow and what is to blame, with its tokens; None if one can, or nothing overflowed.

    A window limits rows only: one huge request, the tools and the transcript still count (F3).
    """
    overflow, fits = record.overflow, record.fit
    if overflow is None or fits is None or window_that_fits(record) is not None:
        return None
    without = overflow.estimate - overflow.parts.get("history", 0)
    return (
        f"no window can help {turn_name(record)}: without any history it is still {without} tokens + {fits.reserve} "
        f"kept for the answer = {without + fits.reserve} of {fits.limit}; to blame: {to_blame(record)}"
    )


def overflow_words(record: TurnRecord) -> str | None:
    """What is to blame for an overflow and which window would fit, or that none can; None if nothing overflowed."""
    if record.overflow is None or record.fit is None:
        return None
    none_helps = window_cannot_help(record)
    if none_helps is not None:
        return none_helps
    fits = window_that_fits(record)
    at_most = "a window of 0" if fits == 0 else f"a window of {fits} or less"
    return f"{at_most} would have fitted {turn_name(record)}; to blame: {to_blame(record)}"


def to_blame(record: TurnRecord) -> str:
    """The largest part of the request that overflowed, with its tokens and its largest member."""
    assert record.overflow is not None
    parts = record.overflow.parts
    largest = max(PARTS, key=lambda part: parts.get(part, 0))
    return f"{_PART_WORDS[largest]} ({parts[largest]} tokens{_largest_member(record, largest)})"


_PART_WORDS: dict[Part, str] = {
    "instructions": "the instructions",
    "state": "the state views",
    "history": "the history",
    "request": "the request itself",
    "tools": "the tools offered",
    "transcript": "what this turn has done so far",
    "overhead": "the framing of the request",
}


def _largest_member(record: TurnRecord, part: Part) -> str:
    context = record.context
    if part == "history" and context is not None and context.rows:
        row = max(context.rows, key=lambda row: row.tokens)
        return f", {row.tokens} of them seq {row.seq} {quoted(row.text, 30)}"
    if part == "tools" and context is not None and context.tools:
        tool = max(context.tools, key=lambda tool: tool.tokens)
        return f" for {plural(len(context.tools), 'tool')}, {tool.tokens} of them {tool.name}"
    if part == "transcript":
        results = [result for item in record.transcript if isinstance(item, ToolResults) for result in item.results]
        if results:
            largest = max(results, key=fit.result_tokens)
            return f", {fit.result_tokens(largest)} of them a result of {largest.name}"
    return ""
