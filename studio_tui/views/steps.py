"""The steps of a turn: tiers asked, text, calls with their results, asked again, delegated turns below (T2 to T8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from runtime.explain import off_by, ratio_of
from runtime.values.items import AssistantStep, Item, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.json import as_text
from runtime.values.record import PARTS, Attempt, Part, StepRecord, TurnRecord
from studio_tui.views.lines import Line, Span, StyleName
from studio_tui.views.words import number, seconds, status_span, status_words

PART_WORDS: dict[Part, str] = {
    "instructions": "instructions",
    "state": "state views",
    "history": "history",
    "request": "request",
    "tools": "tools",
    "transcript": "this turn so far",
    "overhead": "framing",
}
"""The parts of an estimate in plain words (F1)."""

DEEP = 20
"""Levels of delegated turns below which nothing is drawn any deeper."""


@dataclass(frozen=True, slots=True)
class Live:
    """What a running turn is doing between two journal items: the step and tier called, its text so far, its calls.

    `results` are those of calls that have ended while others of their group still run.
    """

    step: int = 1
    model: str = ""
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


def step_lines(record: TurnRecord, live: Live | None, folds: frozenset[str]) -> Iterator[Line]:
    """Every step of the record, the one under way (`live`) last."""
    yield from _Steps(record, live, folds, "", 0).lines()


@dataclass(frozen=True, slots=True)
class _Steps:
    """One turn's steps. `prefix` keeps the ids of a delegated turn apart, `depth` is how far below the root it is."""

    record: TurnRecord
    live: Live | None
    folds: frozenset[str]
    prefix: str
    depth: int

    def lines(self) -> Iterator[Line]:
        record = self.record
        steps = {step.step: step for step in record.steps}
        numbers = sorted({*steps, *(one.step for one in record.tiers), *(item.step for item in record.transcript)})
        if self.live is not None and self.live.step not in numbers:
            numbers.append(self.live.step)
        for step in numbers:
            items = [item for item in record.transcript if item.step == step]
            attempts = [attempt for attempt in record.tiers if attempt.step == step]
            yield from self._step(step, steps.get(step), attempts, items)

    def _step(self, step: int, told: StepRecord | None, attempts: list[Attempt], items: list[Item]) -> Iterator[Line]:
        id = f"{self.prefix}step:{step}"
        live = self.live if self.live is not None and self.live.step == step else None
        yield self._head(id, step, told, attempts, live)
        if id in self.folds and told is not None:
            yield from self._parts(id, told)
        if len(attempts) > 1 or any(attempt.outcome != "ok" for attempt in attempts):
            yield from self._attempts(id, attempts)
        results = {result.id: result for item in items if isinstance(item, ToolResults) for result in item.results} | (
            {result.id: result for result in live.results} if live is not None else {}
        )
        said = next((item for item in items if isinstance(item, AssistantStep)), None)
        if said is not None:
            yield from self._said(id, said, results)
        elif live is not None:
            yield from self._saying(id, live, results)
        for item in items:
            if isinstance(item, Nudge):
                asked = (Span("↻ asked again  ", "warning"), Span(item.text, "muted"))
                yield self._line(f"{self.prefix}nudge:{step}", asked, kind="nudge", hang=2, copy=item.text)

    def _head(self, id: str, step: int, told: StepRecord | None, attempts: list[Attempt], live: Live | None) -> Line:
        model = attempts[-1].model if attempts else live.model if live is not None else ""
        spans = [Span(f"step {step}", "title")]
        if model:
            spans.append(Span(f"  {model}"))
        if told is not None:
            spans.append(Span(f"  est {told.estimate}", "number"))
            spans += _usage(attempts[-1] if attempts else None)
        elif live is not None:
            spans.append(Span("  running", "what-if"))
        return replace(
            self._line(id, tuple(spans), kind="step"),
            indent=1 + 2 * self.depth,
            hang=4,
            fold=None if told is None or not told.parts else "open" if id in self.folds else "closed",
        )

    def _parts(self, id: str, told: StepRecord) -> Iterator[Line]:
        for part in PARTS:
            if told.parts.get(part):
                line = self._line(f"{id}:{part}", (Span(PART_WORDS[part], "muted"),), kind="note", deeper=2)
                yield replace(line, of=id, right=(Span(str(told.parts[part]), "number"),))
        if self.record.origin == "run":
            line = self._line(f"{id}:seconds", (Span("time until it had answered", "muted"),), kind="note", deeper=2)
            yield replace(line, of=id, right=(Span(seconds(told.seconds), "number"),))

    def _attempts(self, id: str, attempts: list[Attempt]) -> Iterator[Line]:
        """One line for each tier asked, with the status and the server's words (M2)."""
        for at, attempt in enumerate(attempts):
            before = attempts[at - 1].model if at else None
            verb = "" if before is None else "tried again  " if before == attempt.model else "fallback to  "
            good = attempt.outcome == "ok"
            spans = [
                Span("✔ " if good else "✘ ", "ok" if good else "error"),
                Span(verb, "warning"),
                Span(attempt.model),
            ]
            if not good:
                status = f"{attempt.status}" if attempt.status is not None else attempt.outcome
                spans.append(Span(f"  {status}", "error"))
                if attempt.configuration:
                    spans.append(Span("  configuration error", "error"))
                if attempt.error:
                    spans.append(Span(f"  {attempt.error}"))
            line = self._line(f"{id}:attempt:{at + 1}", tuple(spans), kind="attempt", hang=4, copy=attempt.error)
            yield replace(line, right=(Span(seconds(attempt.seconds), "number"),))

    def _said(self, id: str, said: AssistantStep, results: dict[str, ToolResult]) -> Iterator[Line]:
        if said.text:
            yield self._line(f"{id}:text", (Span(said.text),), kind="text", copy=said.text)
        elif not said.calls:
            yield self._line(f"{id}:text", (Span("said nothing: no text, no calls", "muted"),), kind="note")
        if said.partial:
            yield self._line(f"{id}:partial", (Span("cut off here", "warning"),), kind="note")
        for call in said.calls:
            yield from self._call(call, results.get(call.id))

    def _saying(self, id: str, live: Live, results: dict[str, ToolResult]) -> Iterator[Line]:
        """The step under way: its text so far, its calls with the results that are there."""
        if live.text or not live.calls:
            yield self._line(f"{id}:text", (Span(live.text), Span("▏", "what-if")), kind="text", copy=live.text)
        for call in live.calls:
            yield from self._call(call, results.get(call.id), running=True)

    def _call(self, call: ToolCall, result: ToolResult | None, *, running: bool = False) -> Iterator[Line]:
        id = f"{self.prefix}call:{call.id}"
        opened = id in self.folds
        arguments = call.arguments_text()
        bad = isinstance(call.arguments, str)
        spans: tuple[Span, ...] = (Span("→ ", "key"), Span(call.name, "role-tool"), Span(f" {arguments}"))
        if bad:
            spans = (*spans, Span("  not a JSON object", "error"))
        line = self._line(id, spans, kind="call", hang=2, copy=arguments)
        yield replace(line, wrap=opened, fold="open" if opened else "closed")
        child = (self.record.children or {}).get(call.id)
        if child is not None and self.depth < DEEP:
            yield from self._child(child)
        if result is not None:
            yield from self._result(result)
        elif running:
            yield self._line(f"{id}:running", (Span("… running", "what-if"),), kind="note")

    def _result(self, result: ToolResult) -> Iterator[Line]:
        id = f"{self.prefix}result:{result.id}"
        opened = id in self.folds
        text = as_text(result.output)
        style: StyleName = "error" if result.error else "text"
        spans = (Span("← ", "key"), *((Span("error  ", "error"),) if result.error else ()), Span(text, style))
        line = self._line(id, spans, kind="result", hang=2, copy=text)
        right = (Span(seconds(result.seconds), "number"),) if self.record.origin == "run" else ()
        yield replace(line, wrap=opened, fold="open" if opened else "closed", right=right)
        if result.abandoned:
            words = "could not be interrupted: what it returned later was dropped"
            yield replace(self._line(f"{id}:abandoned", (Span(words, "warning"),), kind="note", deeper=2), of=id)

    def _child(self, child: TurnRecord) -> Iterator[Line]:
        """A delegated turn: one line, its steps where it is unfolded, and the line that enters it."""
        id = f"delegated:{child.turn}"
        opened = id in self.folds
        steps = len(child.steps)
        sign = "▾ " if opened else "▸ "
        how = status_words(child)
        spans = (
            Span(sign, "key"),
            Span("delegated to "),
            Span(child.agent, "title"),
            Span(f"  w{child.window}  ", "muted"),
            status_span(child),
            Span(f" {steps} step{'' if steps == 1 else 's'}"),
            *((Span(f"  {how}", "error"),) if how else ()),
        )
        line = self._line(id, spans, kind="delegated", hang=2, deeper=1)
        yield replace(line, fold="open" if opened else "closed")
        if opened:
            yield self._line(f"{id}:context", (Span(_given(child), "reason"),), kind="note", deeper=3)
            below = _Steps(child, None, self.folds, f"{child.turn}/", self.depth + 2)
            yield from below.lines()
        enter = (Span("⏎ enter", "key"), Span(" its CONTEXT and MODEL", "muted"))
        yield self._line(f"child:{child.turn}", enter, kind="child", deeper=3)

    def _line(
        self,
        id: str,
        spans: tuple[Span, ...],
        *,
        kind: str,
        hang: int = 0,
        deeper: int = 0,
        copy: str | None = None,
    ) -> Line:
        return Line(id, spans, indent=2 + 2 * self.depth + deeper, hang=hang, kind=kind, copy=copy)


def _usage(attempt: Attempt | None) -> Iterator[Span]:
    """What the provider counted, beside our estimate and named for what it is, and how far we were off (M5, F2)."""
    usage = attempt.usage if attempt is not None else None
    if usage is None or (usage.input is None and usage.output is None):
        yield Span(" · said –", "number")
        return
    yield Span(f" · said {number(usage.input)} in, {number(usage.output)} out", "number")
    ratio = ratio_of([attempt]) if attempt is not None else None
    if ratio is not None:
        yield Span(f" · est {off_by(ratio)}", "number")


def _given(child: TurnRecord) -> str:
    """What a delegated turn was given of the thread."""
    context = child.context
    if context is None:
        return "no context was assembled"
    if not context.rows:
        return "given no stored message" + (": its window is 0" if child.window != "all" and child.window <= 0 else "")
    return f"given {context.selected} of {context.stored} stored messages"
