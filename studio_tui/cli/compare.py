"""`studio-tui compare`: two turns side by side, contexts by row, steps, answers by word (X5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from runtime.threads import Runtime
from studio_tui.cli import options
from studio_tui.cli.masking import mask_output
from studio_tui.cli.output import columns, one_line, print_json, print_text

if TYPE_CHECKING:
    from runtime.compare import Comparison, Piece, RowPair


@click.command("compare")
@click.argument("first", metavar="TURN")
@click.argument("second", metavar="TURN")
@options.store
@options.as_json
def command(first: str, second: str, store: str | None, as_json: bool) -> int:
    """Compare two turns or runs: which rows only one of them had, what they did, where their answers differ.

    In ANSWERS, [-words-] stand in the first alone and {+words+} in the second alone.

    \b
    Example: studio-tui compare 4kq2m7 8ws3pd
    """
    from studio_tui.cli.session import with_runtime

    return with_runtime(store, lambda runtime: _compare(runtime, first, second, as_json))


async def _compare(runtime: Runtime, first: str, second: str, as_json: bool) -> int:
    from runtime.compare import compare, comparison_json

    a, b = await runtime.record(first, bodies=False), await runtime.record(second, bodies=False)
    comparison = compare(a, b)
    await mask_output(runtime, a.thread, b.thread)
    if as_json:
        print_json(comparison_json(comparison))
    else:
        print_text("\n".join(_lines(comparison)))
    return 0


def _lines(comparison: Comparison) -> Iterator[str]:
    a, b = comparison.a, comparison.b
    yield f"A  {a.turn}  window {a.window}  {a.status}"
    yield f"B  {b.turn}  window {b.window}  {b.status}"
    yield ""
    yield "CONTEXT"
    for pair in comparison.sections:
        yield f"  {'=' if pair.same else '≠'}  {pair.name}  {pair.a} · {pair.b} tokens"
    yield from (f"  {line}" for line in columns([_row(pair) for pair in comparison.rows], right=(1, 2, 5)))
    yield ""
    yield "STEPS"
    for step in comparison.steps:
        yield f"  {'=' if step.same else '≠'}  step {step.step}"
        if step.same:
            yield f"       {step.a}"
        else:
            yield f"     A {step.a or 'no such step'}"
            yield f"     B {step.b or 'no such step'}"
    yield ""
    yield "ANSWERS" if not comparison.same_answer else "ANSWERS  the same"
    yield from (f"  {line}" for line in "".join(map(_piece, comparison.words)).split("\n"))
    yield ""
    yield f"FINDING  {comparison.finding}"


def _row(pair: RowPair) -> tuple[str, ...]:
    row = pair.a or pair.b
    assert row is not None
    sign = {"=": "=", "~": "≠", "A": "A", "B": "B"}[pair.sign]
    a, b = (str(side.seq) if side else "" for side in (pair.a, pair.b))
    where = {"A": "only in A", "B": "only in B", "~": "another text"}.get(pair.sign, "")
    return sign, a, b, row.role, one_line(row.text, 60), str(row.tokens), where


def _piece(piece: Piece) -> str:
    return {"=": piece.text, "A": f"[-{piece.text}-]", "B": f"{{+{piece.text}+}}"}[piece.sign]
