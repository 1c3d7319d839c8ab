"""Two windows of a sweep side by side: which rows only one of them had, and what each was answered, word by word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from runtime.compare import Comparison, RowPair
from runtime.experiments.results import Cell, Sweep
from runtime.values.record import ContextRow
from studio_tui.views.compare import word_spans
from studio_tui.views.lines import Line, Pane, Span, StyleName
from studio_tui.views.words import role_span
from studio_tui.windows import shown

FEW = 4
"""Rows in a line that both have, or one alone, up to which each is shown."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cells with the records that stand for them, compared. `deciding` are the rows that the sweep blames, with
    the words they say."""

    a: Cell
    b: Cell
    comparison: Comparison
    deciding: Mapping[int, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called: their windows, and who answered where that differs."""
        if self.a.variant == self.b.variant:
            return shown(self.a.window), shown(self.b.window)
        one, other = (f"{shown(cell.window)} ({str(cell.variant) or 'own'})" for cell in (self.a, self.b))
        return one, other


def deciding_of(sweep: Sweep) -> dict[int, tuple[str, ...]]:
    """The rows that the edges of a sweep are explained by, with their words."""
    return {row.seq: row.words for edge in sweep.edges if edge.because is not None for row in edge.because.rows}


def pair_contexts_pane(pair: Pair, folds: frozenset[str] = frozenset()) -> Pane:
    """Both contexts as one list, oldest first; what both had is folded, what decides is marked. Ids: `pair:N` for a
    row, `rows:N` for folded ones."""
    one, other = pair.names
    return Pane(f"CONTEXT  {one} against {other}", "", tuple(_context_lines(pair, folds)))


def _context_lines(pair: Pair, folds: frozenset[str]) -> Iterator[Line]:
    one, other = pair.names
    rows = pair.comparison.rows
    if not rows:
        yield Line("none", (Span("neither had a stored message in front of it", "muted"),), indent=2)
    numbered = list(enumerate(rows))
    for sign, group in groupby(numbered, key=lambda item: (item[1].sign, _decides(pair, item[1]))):
        found = list(group)
        if len(found) <= FEW or sign[1] or sign[0] == "~":
            for n, each in found:
                yield from _row_lines(pair, n, each)
            continue
        yield from _folded(pair, found, folds, keep_last=sign[0] != "=")
    yield Line("gap", (), kind="blank")
    yield from _sections(pair.comparison, one, other)


def _decides(pair: Pair, row: RowPair) -> bool:
    return row.sign in "AB" and any(each.seq in pair.deciding for each in (row.a, row.b) if each is not None)


def _folded(
    pair: Pair, found: Sequence[tuple[int, RowPair]], folds: frozenset[str], *, keep_last: bool
) -> Iterator[Line]:
    """Rows of one kind as one line that unfolds."""
    first, last = _row(found[0][1]), _row(found[-1][1])
    id = f"rows:{found[0][0]}"
    opened = id in folds
    sign = found[0][1].sign
    note = _note(pair, sign)
    tokens = sum(_row(each).tokens for _, each in found)
    yield Line(
        id,
        (
            Span(f"{_mark(sign)} ", "what-if" if sign != "=" else "muted"),
            Span(f"{f'{first.seq}–{last.seq}':>9}  ", "number"),
            Span(f"{'▾' if opened else '▸'} {len(found):,} rows"),
        ),
        (Span(f"{note}  ", "what-if" if sign != "=" else "muted"), Span(f"{tokens:,}", "number")),
        wrap=False,
        fold="open" if opened else "closed",
        kind="rows",
        fade=sign == "=",
    )
    if opened:
        for n, each in found:
            yield from _row_lines(pair, n, each)


def _row_lines(pair: Pair, n: int, found: RowPair) -> Iterator[Line]:
    row = _row(found)
    said = pair.deciding.get(row.seq) if _decides(pair, found) else None
    note = _note(pair, found.sign) + (" ◀" if said else "")
    style: StyleName = "muted" if found.sign == "=" else "what-if"
    text = row.text + ("   ≡ is also the request" if row.is_request else "")
    yield Line(
        f"pair:{n}",
        (Span(f"{_mark(found.sign)} ", style), Span(f"{row.seq:>9}  ", "number"), role_span(row.role), Span("  "),
         Span(text)),
        (Span(f"{note}  ", style), Span(f"{row.tokens:,}", "number")),
        hang=19,
        wrap=bool(said),
        seq=row.seq,
        kind="row",
        copy=row.text,
        fade=found.sign == "=",
    )  # fmt: skip
    if said:
        words = ", ".join(f"“{word}”" for word in said[:4])
        yield Line(f"pair:{n}:says", (Span(f"says {words}", "reason"),), indent=13, of=f"pair:{n}", kind="note")
    if found.sign == "~" and found.b is not None:
        other = Span(f"in {pair.names[1]}: ", "key")
        yield Line(f"pair:{n}:b", (other, Span(found.b.text)), indent=13, wrap=False, of=f"pair:{n}", kind="note")


def _note(pair: Pair, sign: str) -> str:
    return {"A": f"only in {pair.names[0]}", "B": f"only in {pair.names[1]}", "~": "other text", "=": "="}[sign]


def _mark(sign: str) -> str:
    return {"A": "−", "B": "+"}.get(sign, sign)


def _row(pair: RowPair) -> ContextRow:
    row = pair.a or pair.b
    assert row is not None
    return row


def _sections(comparison: Comparison, one: str, other: str) -> Iterator[Line]:
    same = [pair.name for pair in comparison.sections if pair.same]
    if same:
        yield Line("same", (Span(f"  {', '.join(same)}", "muted"),), (Span("=", "muted"),), wrap=False)
    for pair in comparison.sections:
        if not pair.same:
            told = f"{one}: {pair.a:,} tokens   {other}: {pair.b:,}"
            yield Line(f"section:{pair.name}", (Span("~ ", "what-if"), Span(pair.name)), (Span(told, "number"),))


def pair_answers_pane(sweep: Sweep, pair: Pair) -> Pane:
    """What each of the two was answered, how often, then the words that differ and the steps."""
    one, other = pair.names
    return Pane(f"ANSWER  {one} against {other}", "", tuple(_answer_lines(sweep, pair)))


def _answer_lines(sweep: Sweep, pair: Pair) -> Iterator[Line]:
    for side, (cell, name) in enumerate(zip((pair.a, pair.b), pair.names, strict=True)):
        yield from _side(sweep, cell, name, side)
        yield Line(f"gap:{side}", (), kind="blank")
    comparison = pair.comparison
    if comparison.same_answer:
        yield Line("words", (Span("the answers are the same" if comparison.a.answer else "neither has an answer"),))
    else:
        one, other = pair.names
        yield Line("words", (Span("words", "title"), Span(f"   [only in {one}]   {{only in {other}}}", "muted")))
        yield Line("diff", tuple(word_spans(comparison)), indent=2)
    yield from _steps(pair)


def _side(sweep: Sweep, cell: Cell, name: str, side: int) -> Iterator[Line]:
    """One window's answers, the most frequent first."""
    answers = {group.letter: group.answer for group in sweep.groups}
    many = len(cell.runs)
    for at, (letter, count) in enumerate(cell.groups):
        head = Span(f"{name:<5}" if at == 0 else " " * 5, "title")
        often = f", {count} of {many} runs" if many > 1 else ""
        if not letter:
            bad = next(run for run in cell.runs if run.group is None)
            words = f"no answer{often}: {bad.reason or bad.status}{f': {bad.error}' if bad.error else ''}"
            yield Line(f"side:{side}:{at}", (head, Span(words, "error")), hang=5)
            continue
        passed = next((run.passed for run in cell.runs if run.group == letter), None)
        yield Line(f"side:{side}:{at}", (head, Span(f"{letter}{often}  ", "key"), _verdict(passed)), hang=5)
        answer = answers.get(letter, "")
        yield Line(f"answer:{side}:{at}", (Span(answer),), indent=5, copy=answer)


def _verdict(passed: bool | None) -> Span:
    if passed is None:
        return Span("not judged yet", "muted")
    return Span("✔ enough", "ok") if passed else Span("✘ not enough", "warning")


def _steps(pair: Pair) -> Iterator[Line]:
    steps = pair.comparison.steps
    if len(steps) < 2 and all(step.same for step in steps):
        return
    yield Line("gap:steps", (), kind="blank")
    yield Line("steps", (Span("steps", "title"),))
    for step in steps:
        if step.same:
            yield Line(f"step:{step.step}", (Span(f"{step.step} =  ", "number"), Span(step.a or "")), indent=2, hang=5)
            continue
        for side, words in zip(pair.names, (step.a, step.b), strict=True):
            told = Span(words) if words is not None else Span("no such step", "muted")
            id = f"step:{step.step}:{side}"
            yield Line(id, (Span(f"{step.step}  {side}: ", "key"), told), indent=2, hang=5)
