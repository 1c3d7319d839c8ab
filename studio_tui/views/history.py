"""The history section of CONTEXT: every row of the thread in its place, in front of the model or left out, with the
lines where the window cuts (X1 to X3)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from runtime.explain import LEFT_OUT_WORDS, WhatIf
from runtime.explain.accounts import WINDOW_REASONS, needs_of, unreadable_seqs
from runtime.fit import row_tokens
from runtime.values.dialogue import escaped_lines
from runtime.values.messages import Message, Role, Row, Unreadable, Window
from runtime.values.record import ContextRecord, ContextRow, LeftOut
from studio_tui.views.lines import Line, Span, StyleName
from studio_tui.views.notes import Notes
from studio_tui.views.words import role_span

COUNTED = 20_000
"""Characters above which the tokens of a row that was left out are not counted for the screen."""

CHUNK = 64
"""Rows whose lines are made together."""

ALONE = 2
"""Rows up to which a range is shown row by row without being unfolded."""


@dataclass(frozen=True, slots=True)
class Body:
    """What the history section is drawn from. `rows` are stored rows whose text is known, by seq; `said` is what the
    ruler says of the window, `sent` False for the coming turn, whose window cuts but sent nothing."""

    context: ContextRecord
    window: Window
    what_if: WhatIf | None
    rows: Mapping[int, Row]
    notes: Notes
    folds: frozenset[str]
    said: str = "as it was sent"
    sent: bool = True


@dataclass(slots=True)
class Plan:
    """The groups of lines of the body: how many lines each has, and what it is made from."""

    sizes: list[int] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _In:
    """Rows in front of the model, or that the what-if would bring in (`+`) or take away (`−`); one row, if it has
    notes."""

    rows: Sequence[ContextRow]
    mark: str
    notes: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class _Out:
    """A range left out, folded or with its rows below it."""

    left: LeftOut
    opened: bool


@dataclass(frozen=True, slots=True)
class _OutRows:
    """The rows first..last of a range, one by one; `reason` says why under each."""

    first: int
    last: int
    left: LeftOut
    reason: bool


@dataclass(frozen=True, slots=True)
class _Ruler:
    text: str
    fill: str
    style: StyleName
    id: str


_Part = _In | _Out | _OutRows | _Ruler


class History:
    """The body in groups, made when looked at: a context of 20,000 rows costs the lines of one screen."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._unreadable = unreadable_seqs(body.context, list(body.rows.values()))
        self._seq_width = max(3, len(str(body.context.stored)))
        self._needs_width = max(4, len(str(body.context.stored)))
        self._firsts: list[tuple[int, int]] = []
        self.plan = Plan()
        for part in self._parts():
            self.plan.parts.append(part)
            self.plan.sizes.append(_size(part))

    def make(self, group: int) -> tuple[Line, ...]:
        """The lines of one group."""
        part = self.plan.parts[group]
        match part:
            case _In():
                return tuple(line for row in part.rows for line in self._row(row, part.mark, part.notes))
            case _Out():
                return self._range(part)
            case _OutRows():
                seqs = range(part.first, part.last + 1)
                return tuple(line for seq in seqs for line in self._out_row(seq, part.left, part.reason))
            case _Ruler():
                return (Line(part.id, (Span(part.text, part.style),), fill=part.fill, kind="ruler"),)

    def find(self, id: str) -> int | None:
        """The group that holds the line `id`, None if none does."""
        kind, _, rest = id.partition(":")
        if kind in ("row", "note"):
            seq = rest.partition(":")[0]
            return self._group_of(int(seq)) if seq.isdigit() else None
        if kind == "out":
            first = rest.partition("-")[0]
            return next(
                (
                    at
                    for at, part in enumerate(self.plan.parts)
                    if isinstance(part, _Out) and f"{part.left.first}" == first
                ),
                None,
            )
        return next((at for at, part in enumerate(self.plan.parts) if isinstance(part, _Ruler) and part.id == id), None)

    def heading(self) -> Line:
        """The names of the columns."""
        return Line(
            "columns",
            (Span(f"  {'in≥':>{self._needs_width}}  {'seq':>{self._seq_width}}  role", "muted"),),
            kind="head",
        )

    def needs(self, seq: int) -> int:
        """The smallest window that would include a row (X2)."""
        return needs_of(seq, self._body.context.stored, self._unreadable)

    # What stands where

    def _parts(self) -> Iterator[_Part]:
        """The body from the oldest row to the newest, with the rulers above the first row that each window takes."""
        body, what_if = self._body, self._body.what_if
        inside: Sequence[ContextRow] = body.context.rows
        entered = {row.seq for row in what_if.entered} if what_if else set()
        left = {row.seq for row in what_if.left} if what_if else set()
        if what_if and entered:
            inside = sorted([*inside, *what_if.entered], key=lambda row: row.seq)
        seqs = [row.seq for row in inside]
        between: dict[int, list[_Part]] = {}
        for one in sorted(self._ranges(sorted(entered)), key=lambda one: one.first):
            between.setdefault(bisect_left(seqs, one.first), []).extend(self._left_out(one))
        for first, ruler in self._rulers():
            between.setdefault(len(seqs) if first is None else bisect_left(seqs, first), []).append(ruler)
        marks = ["+" if seq in entered else "−" if seq in left else "" for seq in seqs] if entered or left else None
        for start, end in pairwise(sorted({*self._cuts(seqs, marks), *between, 0, len(seqs)})):
            yield from between.get(start, ())
            mark = marks[start] if marks else ""
            notes = body.notes.get(seqs[start], ())
            for at in range(start, end, CHUNK):
                yield _In(inside[at : min(end, at + CHUNK)], mark, notes)
        yield from between.get(len(seqs), ())

    def _cuts(self, seqs: list[int], marks: list[str] | None) -> Iterator[int]:
        """Where rows in front of the model cannot be made together: at notes, and where the mark changes."""
        for seq in self._body.notes:
            at = bisect_left(seqs, seq)
            if at < len(seqs) and seqs[at] == seq:
                yield at
                yield at + 1
        if marks is not None:
            yield from (at for at in range(1, len(marks)) if marks[at] != marks[at - 1])

    def _rulers(self) -> list[tuple[int | None, _Ruler]]:
        """The rulers with the row each stands above, in the order of these; None stands below all rows."""
        body, what_if = self._body, self._body.what_if
        first = body.context.rows[0].seq if body.context.rows else None
        style: StyleName = "ruler" if body.sent else "what-if"
        rulers = [(first, _Ruler(f"window {body.window}: {body.said}", "─" if body.sent else "═", style, "ruler:sent"))]
        if what_if is not None:
            text = f"window {what_if.window}: what if, not sent"
            rulers.append((what_if.ruler, _Ruler(text, "═", "what-if", "ruler:what-if")))
        return sorted(rulers, key=lambda one: (one[0] is None, one[0] or 0))

    def _ranges(self, entered: Sequence[int]) -> Iterator[LeftOut]:
        """The ranges left out, without the rows that would enter."""
        for left in self._body.context.left_out:
            first = left.first
            for seq in entered[bisect_left(entered, left.first) :]:
                if seq > left.last:
                    break
                if first < seq:
                    yield LeftOut(first, seq - 1, left.reason)
                first = seq + 1
            if first <= left.last:
                yield LeftOut(first, left.last, left.reason)

    def _left_out(self, left: LeftOut) -> Iterator[_Part]:
        """A range: its oldest row where its text is known, the others folded into one line."""
        if left.count <= ALONE:
            yield _OutRows(left.first, left.last, left, True)
            return
        if left.first == 1 and left.first in self._body.rows:
            yield _OutRows(left.first, left.first, left, True)
            left = LeftOut(left.first + 1, left.last, left.reason)
        opened = f"out:{left.first}-{left.last}" in self._body.folds
        yield _Out(left, opened)
        if opened:
            for first in range(left.first, left.last + 1, CHUNK):
                yield _OutRows(first, min(left.last, first + CHUNK - 1), left, False)

    def _group_of(self, seq: int) -> int | None:
        """The group of a row that stands by itself; seqs ascend over the groups."""
        if not self._firsts:
            for group, part in enumerate(self.plan.parts):
                if isinstance(part, _In | _OutRows):
                    self._firsts.append((part.rows[0].seq if isinstance(part, _In) else part.first, group))
        at = bisect_right(self._firsts, (seq, len(self.plan.parts))) - 1
        return self._firsts[at][1] if at >= 0 else None

    # How it looks

    def _columns(self, mark: str, needs: str, seq: str) -> tuple[Span, ...]:
        style: StyleName = "what-if" if mark else "text"
        return (
            Span(f"{mark:<1} ", style),
            Span(f"{needs:>{self._needs_width}}  ", "number"),
            Span(f"{seq:>{self._seq_width}}  ", "text"),
        )

    @property
    def _hang(self) -> int:
        return 2 + self._needs_width + 2 + self._seq_width + 2 + 6

    def _row(self, row: ContextRow, mark: str, notes: tuple[Span, ...]) -> tuple[Line, ...]:
        columns = (*self._columns(mark, str(row.needs), str(row.seq)), role_span(row.role), Span("  "))
        id = f"row:{row.seq}"
        opened = id in self._body.folds
        line = Line(
            id,
            (*columns, *(_whole(row.text) if opened else (Span(row.text),))),
            right=(Span(str(row.tokens), "number"),),
            hang=self._hang,
            wrap=opened,
            fold="open" if opened else "closed",
            seq=row.seq,
            kind="row",
            copy=row.text,
        )
        return (line, *self._notes(row.seq, notes))

    def _notes(self, seq: int, notes: Sequence[Span]) -> Iterator[Line]:
        for number, note in enumerate(notes):
            yield Line(
                f"note:{seq}:{number}",
                (note,),
                indent=self._hang,
                of=f"row:{seq}",
                seq=seq,
                kind="note",
                copy=note.text,
            )

    def _out_row(self, seq: int, left: LeftOut, reason: bool) -> tuple[Line, ...]:
        row = self._body.rows.get(seq)
        needs = str(self.needs(seq)) if left.reason in WINDOW_REASONS else "–"
        id, columns = f"row:{seq}", self._columns("", needs, str(seq))
        opened = id in self._body.folds
        right: tuple[Span, ...] = ()
        if isinstance(row, Message):
            columns = (*columns, role_span(row.role), Span("  "))
            text = _whole(row.text) if opened else (Span(row.text),)
            right = _size_of(row.role, row.text)
        elif isinstance(row, Unreadable):
            text = (Span(f"unreadable: {row.problem}", "error"),)
        else:
            text = (Span("not loaded", "muted"),)
        line = Line(
            id,
            (*columns, *text),
            right=right,
            hang=self._hang,
            wrap=opened,
            fold=("open" if opened else "closed") if isinstance(row, Message) else None,
            seq=seq,
            kind="row",
            copy=row.text if isinstance(row, Message) else None,
            fade=True,
        )
        if not reason:
            return (line,)
        note = Span(f"out: {left.reason}", "reason")
        return (line, *self._notes(seq, (note,)))

    def _range(self, part: _Out) -> tuple[Line, ...]:
        left = part.left
        curable = left.reason in WINDOW_REASONS
        needs = f"{self.needs(left.first)}…{self.needs(left.last)}" if curable else "–"
        sign = "▾" if part.opened else "▸"
        seqs = f"{left.first}–{left.last}"
        more = "more " if left.first > 1 and 1 in self._body.rows else ""
        id = f"out:{left.first}-{left.last}"
        line = Line(
            id,
            (
                Span(f"{needs:>{self._needs_width + 2}}  ", "number"),
                Span(f"{seqs:>{self._seq_width}}  "),
                Span(f"{sign} {left.count} {more}left out", "text"),
                Span("   ⏎ fold" if part.opened else "   ⏎ unfold", "key"),
            ),
            right=self._tokens(left),
            wrap=False,
            fold="open" if part.opened else "closed",
            seq=left.last,
            kind="range",
            fade=True,
        )
        words = "" if left.reason == "older-than-window" else f": {LEFT_OUT_WORDS[left.reason]}"
        why = Span(f"out: {left.reason}{words}", "reason")
        return (line, Line(f"{id}:why", (why,), indent=self._hang, of=id, seq=left.last, kind="note"))

    def _tokens(self, left: LeftOut) -> tuple[Span, ...]:
        """The tokens of a range, where all of its rows are known and it is short."""
        if left.count > 50:
            return ()
        found = [self._body.rows.get(seq) for seq in range(left.first, left.last + 1)]
        known = [row for row in found if isinstance(row, Message)]
        if len(known) < left.count or sum(len(row.text) for row in known) > COUNTED:
            return ()
        return (Span(str(sum(_count(row.role, row.text) for row in known)), "number"),)


def _size(part: _Part) -> int:
    match part:
        case _In():
            return len(part.rows) + len(part.notes)
        case _Out():
            return 2
        case _OutRows():
            return (part.last - part.first + 1) * (2 if part.reason else 1)
        case _Ruler():
            return 1


def _whole(text: str) -> tuple[Span, ...]:
    """All of a row's text, with the backslash it was sent with before each line that reads like a role line (A3)."""
    marked = set(escaped_lines(text))
    if not marked:
        return (Span(text),)
    spans: list[Span] = []
    for number, line in enumerate(text.split("\n")):
        if number:
            spans.append(Span("\n"))
        if number in marked:
            spans.append(Span("\\", "mark"))
        spans.append(Span(line))
    return tuple(spans)


def _size_of(role: Role, text: str) -> tuple[Span, ...]:
    return (Span(str(_count(role, text)), "number"),) if len(text) <= COUNTED else ()


@lru_cache(maxsize=2048)
def _count(role: Role, text: str) -> int:
    return row_tokens(role, text)
