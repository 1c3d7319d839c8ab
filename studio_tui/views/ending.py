"""How a turn ended and what stays of it; what another window would do; and what its re-runs did (T5, S5, X3, X4)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from runtime.explain import WhatIf, next_sees, overflow_words, ranges, settlement
from runtime.values.record import PARTS, StepRecord, TurnRecord
from studio_tui.views.lines import Line, Span
from studio_tui.views.steps import PART_WORDS
from studio_tui.views.words import STATUS, ago, seconds, status_span, status_words


def ending_lines(record: TurnRecord) -> Iterator[Line]:
    """How the turn ended, in plain words; what does not fit; what the next turn sees of it, and does not."""
    mark, style = STATUS[record.status]
    yield Line("blank:ended", (), kind="blank")
    right = (Span(seconds(record.seconds), "number"),) if record.seconds is not None and record.origin == "run" else ()
    words = settlement(record)
    yield Line("ended", (Span(f"{mark} ", style), Span(words)), right=right, indent=1, hang=2, kind="ended", copy=words)
    if record.overflow is not None:
        yield from _overflow(record, record.overflow)
    if record.status == "running":
        return
    sees = next_sees(record)
    if record.is_run:
        words = "nothing of it: a re-run looks at the thread and never writes to it"
        yield Line("sees", (Span("next turn sees   ", "muted"), Span(words)), indent=3, hang=4, kind="sees")
        return
    yield Line(
        "sees",
        (Span("next turn sees   ", "muted"), Span(", ".join(sees.sees) or "nothing of it")),
        indent=3,
        hang=4,
        kind="sees",
    )
    if sees.not_sees:
        unseen = Span(", ".join(sees.not_sees))
        yield Line("unseen", (Span("and not          ", "muted"), unseen), indent=3, hang=4, kind="sees")
    if record.usage.input is not None or record.usage.output is not None:
        count = f"{record.usage.input or 0} in, {record.usage.output or 0} out"
        yield Line("usage", (Span("tokens in all    ", "muted"), Span(f"{count} (provider's count)")), indent=3, hang=4)


def _overflow(record: TurnRecord, overflow: StepRecord) -> Iterator[Line]:
    """What the request that did not fit was made of (F1), and whether a window can help (F3)."""
    for part in sorted(PARTS, key=lambda part: -overflow.parts.get(part, 0)):
        if overflow.parts.get(part):
            name = Span(PART_WORDS[part])
            right = (Span(str(overflow.parts[part]), "number"),)
            yield Line(f"overflow:{part}", (name,), right=right, indent=5, of="ended", kind="part")
    if record.fit is not None:
        total = overflow.estimate + record.fit.reserve
        words = f"{overflow.estimate} + {record.fit.reserve} kept for the answer, of {record.fit.limit}"
        right = (Span(str(total), "error"),)
        yield Line("overflow:total", (Span(words, "error"),), right=right, indent=5, hang=2, of="ended", kind="part")
    blame = overflow_words(record)
    if blame is not None:
        yield Line("overflow:words", (Span(f"! {blame}", "warning"),), indent=3, hang=2, kind="note", copy=blame)


def what_if_lines(record: TurnRecord, what_if: WhatIf) -> Iterator[Line]:
    """What the window shown would change, and what running it would do (X3, X4)."""
    yield Line("blank:what-if", (), kind="blank")
    title = f"what if: window {what_if.window} · not run"
    yield Line("what-if:ruler", (Span(title, "what-if"),), fill="─", kind="ruler")
    yield Line("what-if", (Span(what_if.sentence, "what-if"),), indent=3, kind="what-if", copy=what_if.sentence)
    if record.kind == "child":
        return
    upto = record.view.upto if record.view is not None else (record.stored_user or 0) - 1
    view = f" before seq {upto + 1}" if upto >= 0 and record.kind == "envelope" else ""
    models = sorted({attempt.model for attempt in record.tiers})
    model = f" ({', '.join(models)})" if models else ""
    run = Span(f"runs it on a view{view}: 1 or more model calls{model}")
    yield Line("what-if:run", (Span("^r ", "key"), run), indent=3, hang=3, kind="note")
    tools = [tool.name for tool in record.context.tools] if record.context is not None else []
    if tools:
        live = Span(f"its tools run LIVE, on the run's own state: {', '.join(tools)}", "warning")
        yield Line("what-if:tools", (live,), indent=3, kind="note")


def rerun_lines(record: TurnRecord, rerun: TurnRecord, now: datetime | None) -> Iterator[Line]:
    """One run on a view: its window, when, its answer, and how that differs from the turn's (X4, X5)."""
    id = f"rerun:{rerun.turn}"
    yield Line(f"blank:{rerun.turn}", (), kind="blank")
    when = ago(rerun.at, now)
    head = (
        Span("↻ ", "key"),
        Span(f"re-run w{rerun.window}  ", "title"),
        status_span(rerun),
        Span(f"  {rerun.turn}", "muted"),
        *((Span(f"  {when}", "muted"),) if when else ()),
    )
    yield Line(id, head, indent=1, kind="rerun", hang=2)
    if rerun.answer is not None:
        yield Line(f"{id}:answer", (Span(rerun.answer),), indent=3, of=id, kind="text", wrap=False)
    else:
        yield Line(f"{id}:answer", (Span(settlement(rerun), "muted"),), indent=3, hang=2, of=id, kind="note")
    verdict = " · ".join([_verdict(record, rerun), *_given(record, rerun)])
    yield Line(f"{id}:verdict", (Span(verdict, "reason"),), indent=3, of=id, kind="note")
    keys = (Span("⏎", "key"), Span(" opens it   ", "muted"), Span("^l", "key"), Span(" compares it", "muted"))
    yield Line(f"{id}:keys", keys, indent=3, of=id, kind="note")


def verdict(record: TurnRecord, rerun: TurnRecord) -> str:
    """`same`, `differs`, or how the run ended if it has no answer."""
    if rerun.answer is None:
        return status_words(rerun) or rerun.status
    return "same" if rerun.answer == record.answer else "differs"


def _verdict(record: TurnRecord, rerun: TurnRecord) -> str:
    word = verdict(record, rerun)
    return {"same": "the same answer", "differs": "answer differs"}.get(word, word)


def _given(record: TurnRecord, rerun: TurnRecord) -> Iterator[str]:
    """The rows by which the two contexts differ."""
    if record.context is None or rerun.context is None:
        return
    had = {row.seq for row in record.context.rows}
    has = {row.seq for row in rerun.context.rows}
    if had - has:
        yield f"lacked {ranges(sorted(had - has))}"
    if has - had:
        yield f"had also {ranges(sorted(has - had))}"
