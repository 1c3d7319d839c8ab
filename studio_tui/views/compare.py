"""Two turns side by side as panes: contexts row by row, steps, and answers word by word (X5)."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.compare import Comparison, RowPair
from runtime.explain import settlement, turn_name
from runtime.values.record import ContextRow, TurnRecord
from studio_tui.views.lines import Line, Pane, Span, StyleName

ROLES: dict[str, StyleName] = {
    "user": "role-user",
    "assistant": "role-assistant",
    "tool": "role-tool",
    "system": "role-system",
}


def contexts_pane(comparison: Comparison) -> Pane:
    """Both contexts as one list. `=` stands in both, `A` and `B` in one alone, `~` in both with other text."""
    a, b = comparison.a, comparison.b
    lines = [
        Line("sides", (Span("A ", "key"), Span(_side(a)), Span("     B ", "key"), Span(_side(b)))),
        *(_section_line(comparison, n) for n in range(len(comparison.sections))),
        Line("history", (Span(f"history   A {_selected(a)}   B {_selected(b)}", "title"),)),
        *(line for n, pair in enumerate(comparison.rows) for line in _row_lines(n, pair)),
    ]
    if not comparison.rows:
        lines.append(Line("none", (Span("neither had a stored message in front of it", "muted"),), indent=2))
    return Pane("CONTEXT  A against B", "RECORD", tuple(lines))


def outcomes_pane(comparison: Comparison) -> Pane:
    """What both did, step by step, how they ended, and their answers, then the second answer against the first."""
    return Pane("MODEL  A against B", "RECORD", tuple(_outcome_lines(comparison)))


def _outcome_lines(comparison: Comparison) -> Iterator[Line]:
    yield Line("steps", (Span("steps", "title"),))
    for pair in comparison.steps:
        if pair.same:
            yield Line(f"step:{pair.step}", (Span(f"{pair.step} = ", "number"), Span(pair.a or "")), hang=4)
            continue
        for side, words in (("A", pair.a), ("B", pair.b)):
            told = Span(words) if words is not None else Span("no such step", "muted")
            yield Line(f"step:{pair.step}:{side}", (Span(f"{pair.step} {side} ", "key"), told), hang=4)
    yield Line("gap", (Span(""),))
    for side, record in (("A", comparison.a), ("B", comparison.b)):
        style: StyleName = "ok" if record.status == "completed" else "error"
        yield Line(f"ended:{side}", (Span(f"{side} ", "key"), Span(settlement(record), style)), hang=2)
        if record.answer:
            yield Line(f"answer:{side}", (Span(record.answer),), indent=2, copy=record.answer)
    yield Line("gap2", (Span(""),))
    if comparison.same_answer:
        yield Line("words", (Span("the answers are the same" if comparison.a.answer else "neither has an answer"),))
        return
    yield Line("words", (Span("words", "title"), Span("   [only in A]   {only in B}", "muted")))
    yield Line("diff", tuple(word_spans(comparison)), indent=2)


def word_spans(comparison: Comparison) -> Iterator[Span]:
    """Marks say what colours say: what A alone has stands in brackets, what B alone has in braces."""
    for piece in comparison.words:
        if piece.sign == "=":
            yield Span(piece.text)
        elif piece.sign == "A":
            yield Span(f"[{piece.text}]", "error")
        else:
            yield Span(f"{{{piece.text}}}", "ok")


def _section_line(comparison: Comparison, n: int) -> Line:
    pair = comparison.sections[n]
    mark = Span("= ", "muted") if pair.same else Span("~ ", "what-if")
    told = f"{pair.a:,}" if pair.a == pair.b else f"A {pair.a:,}   B {pair.b:,}"
    return Line(f"section:{pair.name}", (mark, Span(pair.name)), (Span(told, "number"),), fade=pair.same)


def _row_lines(n: int, pair: RowPair) -> Iterator[Line]:
    row = pair.a or pair.b
    assert row is not None
    mark: StyleName = "muted" if pair.sign == "=" else "what-if"
    note = {"A": "only in A", "B": "only in B", "~": "other text in B", "=": ""}[pair.sign]
    yield Line(
        f"pair:{n}",
        (Span(f"{pair.sign} ", mark), Span(f"{_seqs(pair):>7}  ", "number"), _role(row), Span(_one_line(row))),
        (Span(f"{note}  " if note else "", "what-if"), Span(f"{row.tokens:,}", "number")),
        wrap=False,
        seq=row.seq,
        copy=row.text,
        fade=pair.sign == "=",
    )
    if pair.sign == "~" and pair.b is not None:
        yield Line(f"pair:{n}:b", (Span("B: ", "key"), Span(_one_line(pair.b))), indent=11, wrap=False, of=f"pair:{n}")


def _seqs(pair: RowPair) -> str:
    seqs = [row.seq for row in (pair.a, pair.b) if row is not None]
    return str(seqs[0]) if len(set(seqs)) == 1 else f"{seqs[0]}/{seqs[1]}"


def _role(row: ContextRow) -> Span:
    return Span(f"{'asst' if row.role == 'assistant' else row.role:<6}", ROLES[row.role])


def _one_line(row: ContextRow) -> str:
    return row.text + ("   ≡ is also the request" if row.is_request else "")


def _side(record: TurnRecord) -> str:
    return f"{turn_name(record)}, window {record.window}"


def _selected(record: TurnRecord) -> str:
    context = record.context
    return f"{context.selected} of {context.stored}" if context is not None else "nothing assembled"
