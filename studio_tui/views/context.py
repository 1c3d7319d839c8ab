"""The CONTEXT pane: what was in front of the model and why, and what another window would change (X1 to X3)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runtime.explain import WhatIf, overflow_words, ranges, settlement, state_changed_since, turn_name
from runtime.explain.accounts import never_stored
from runtime.recorder.words import program_words, sent_words
from runtime.values.messages import Row, Window
from runtime.values.record import ContextItem, ContextRecord, SectionRecord, TurnRecord
from runtime.values.request import SectionName
from studio_tui.views.history import Body, History
from studio_tui.views.lines import Fold, Line, Lines, Pane, Span
from studio_tui.views.notes import notes_of

OPEN = frozenset({"section:state", "section:history", "section:request"})
"""The folds that begin open."""

NAMES: dict[SectionName, str] = {
    "instructions": "instructions",
    "state": "state views",
    "history": "history",
    "request": "request",
}

COUNTED = 200
"""Earlier turns up to which what they never stored is counted in the head of its section."""


def context_pane(
    shown: TurnRecord | ContextItem | None,
    what_if: WhatIf | None = None,
    *,
    window: Window = 6,
    records: Sequence[TurnRecord] = (),
    rows: Mapping[int, Row] | None = None,
    folds: frozenset[str] = frozenset(),
) -> Pane:
    """The context of a turn's record, or of the coming turn (a ContextItem as `Runtime.preview` gives it; `window` is
    its window).

    `what_if` overlays another window and never alters the record. `records` are the thread's, for what was never
    stored; `rows` maps seq to rows whose text is known (those left out; load more when a range is unfolded). `folds`
    are the ids whose fold differs from how it begins. Ids: `row:SEQ`, `out:FIRST-LAST`, `section:NAME`, `tool:NAME`.
    """
    if shown is None:
        return Pane("CONTEXT", "", _told("no turn yet: type a request and send it"))
    record = shown if isinstance(shown, TurnRecord) else None
    context = record.context if record is not None else shown.context
    title = f"CONTEXT of {turn_name(record)}" if record is not None else "CONTEXT of the next turn"
    badge = _badge(record, what_if)
    if context is None:
        assert record is not None
        ended = f"no context was assembled: {settlement(record)}"
        return Pane(title, badge, _told("waiting for the context" if record.status == "running" else ended))
    view = _View(
        record=record,
        context=context,
        what_if=what_if,
        window=record.window if record is not None else window,
        records=records,
        folds=folds,
    )
    body = Body(
        context,
        view.window,
        what_if,
        rows or {},
        notes_of(context, record, records, rows or {}, what_if.entered if what_if is not None else ()),
        folds,
        said=_said(record),
        sent=record is not None,
    )
    return Pane(title, badge, _lines(view, History(body)))


def _badge(record: TurnRecord | None, what_if: WhatIf | None) -> str:
    if record is None:
        return "NOT SENT"
    name = "RECORD" if record.origin == "run" else record.origin.upper()
    return f"{name} + WHAT IF" if what_if is not None else name


def _said(record: TurnRecord | None) -> str:
    """What became of the context."""
    if record is None:
        return "not sent"
    if record.reason == "fit-overflow" and not record.tiers:
        return "it does not fit, nothing was sent"
    return "as it was sent" if record.origin == "run" else "as far as is known"


def _told(text: str) -> tuple[Line, ...]:
    return (Line("told", (Span(text, "muted"),), indent=1, kind="note"),)


@dataclass(frozen=True, slots=True)
class _View:
    record: TurnRecord | None
    context: ContextRecord
    what_if: WhatIf | None
    window: Window
    records: Sequence[TurnRecord]
    folds: frozenset[str]

    def fold(self, id: str) -> Fold:
        return "open" if (id in OPEN) != (id in self.folds) else "closed"


def _lines(view: _View, history: History) -> Lines:
    """The whole pane: what stands before the history's rows, the rows, what stands after them."""
    head, tail = tuple(_head(view, history)), tuple(_tail(view))
    opened = view.fold("section:history") == "open"
    sizes = [len(head), *(history.plan.sizes if opened else ()), len(tail)]
    last = len(sizes) - 1

    def make(group: int) -> tuple[Line, ...]:
        if group == 0:
            return head
        return tail if group == last else history.make(group - 1)

    def find(id: str) -> int | None:
        if any(line.id == id for line in head):
            return 0
        if any(line.id == id for line in tail):
            return last
        group = history.find(id) if opened else None
        return None if group is None else group + 1

    return Lines(sizes, make, find)


def _head(view: _View, history: History) -> Iterator[Line]:
    yield _since(view)
    yield from _provenance(view)
    for name in ("instructions", "state"):
        section = view.context.section(name)
        if section is not None:
            yield from _section(view, section)
        elif name == "state":
            yield from _unseen_state(view)
    yield _history_head(view)
    if view.fold("section:history") == "open" and view.context.stored:
        yield history.heading()


def _tail(view: _View) -> Iterator[Line]:
    yield from _never_stored(view)
    request = view.context.section("request")
    if request is not None:
        yield from _section(view, request)
    yield from _tools(view)
    if any(left.reason in ("older-than-window", "history-declined") for left in view.context.left_out):
        oldest = view.context.stored
        yield Line("blank", (), kind="blank")
        words = f"in≥ {oldest} = window {oldest} or more would include it"
        yield Line("legend", (Span(words, "muted"),), indent=1, of="legend", kind="note")


def _since(view: _View) -> Line:
    """What entered and fell out since the turn before (X2)."""
    since = view.context.since
    before = next((record for record in view.records if record.turn == since.turn), None)
    if since.turn is None:
        first = Span("no turn before", "text")
    else:
        first = Span(f"since {turn_name(before) if before is not None else 'the turn before'}", "text")
    spans = [first, Span("   entered ", "muted"), Span(ranges(since.entered) or "nothing", "ok")]
    if since.turn is not None:
        spans += [
            Span("   fell out ", "muted"),
            Span(ranges(since.left) or "nothing", "warning" if since.left else "ok"),
        ]
    return Line("since", tuple(spans), indent=1, hang=2, kind="since")


def _provenance(view: _View) -> Iterator[Line]:
    """What this record is, where it is not simply what was sent of a thread; what is to blame if it did not fit."""
    record = view.record
    if record is None:
        return
    blame = overflow_words(record)
    if blame is not None:
        yield Line("overflow", (Span(f"! {blame}", "warning"),), indent=1, hang=2, kind="note", copy=blame)
    if record.origin == "recorded":
        yield from _program(view.context)
    elif record.origin != "run":
        words = "messages as in the file; where each turn begins, tokens and in≥ are inferred"
        yield Line("provenance", (Span(f"{record.origin}: {words}", "reason"),), indent=1, kind="note")
    if record.layout == "messages":
        words = "sent as separate messages, not as one history text"
        yield Line("layout", (Span(words, "reason"),), indent=1, kind="note")
    if record.view is not None:
        words = f"on a view: rows 1–{record.view.upto} and the request" if record.view.upto else "on a view: no rows"
        if record.view.drop:
            words += f", without {ranges(record.view.drop)}"
        if record.view.edit:
            words += f", with other text in {ranges(sorted(record.view.edit))}"
        yield Line("view", (Span(f"{words}; the thread does not change", "reason"),), indent=1, kind="note")


def _program(context: ContextRecord) -> Iterator[Line]:
    """What a recorded program did with its messages between two calls."""
    yield Line("provenance", (Span(sent_words(context), "reason"),), indent=1, kind="note")
    for number, words in enumerate(program_words(context)):
        yield Line(f"program:{number}", (Span(f"! {words}", "warning"),), indent=1, hang=2, kind="note", copy=words)


def _heading(view: _View, id: str, name: str, right: Span, extra: tuple[Span, ...] = ()) -> Line:
    fold = view.fold(id)
    sign = Span("▾ " if fold == "open" else "▸ ", "key")
    return Line(
        id, (sign, Span(name, "title"), *extra), right=(right,), indent=1, wrap=False, fold=fold, kind="section"
    )


def _section(view: _View, section: SectionRecord) -> Iterator[Line]:
    """A section other than the history: its head, and its text where it is unfolded."""
    id = f"section:{section.name}"
    changes = [change for change in state_changed_since(view.record) if change.shown] if view.record else []
    flag = (Span("  !", "warning"),) if section.name == "state" and changes else ()
    yield _heading(view, id, NAMES[section.name], Span(str(section.tokens), "number"), flag)
    if view.fold(id) == "closed":
        return
    if section.name != "state":
        yield Line(f"{id}:text", (Span(section.text),), indent=4, kind="text", copy=section.text)
        return
    marks = {change.key: change.sentence for change in changes}
    for number, text in enumerate(section.text.split("\n")):
        key = text.partition(":")[0]
        mark = (Span(f"   ! {marks.pop(key)}", "warning"),) if key in marks else ()
        yield Line(f"{id}:{number}", (Span(text), *mark), indent=4, hang=4, kind="text", copy=text)
    yield from _unseen_state(view)


def _unseen_state(view: _View) -> Iterator[Line]:
    """State that this turn's tools changed and that no state view shows."""
    for change in state_changed_since(view.record) if view.record else ():
        if not change.shown:
            words = f"! {change.key}: {change.sentence}"
            yield Line(f"state:{change.key}", (Span(words, "warning"),), indent=4, hang=2, kind="note")


def _history_head(view: _View) -> Line:
    context, what_if = view.context, view.what_if
    section = context.section("history")
    tokens = str(section.tokens if section is not None else 0)
    count = str(context.selected)
    if what_if is not None:
        tokens = f"{tokens} → {what_if.after['history']}"
        count = f"{count} → {what_if.selected}"
    words = f"   {count} of {context.stored} stored" if context.stored else "   nothing stored"
    right = Span(tokens, "what-if" if what_if is not None else "number")
    return _heading(view, "section:history", NAMES["history"], right, (Span(words, "text"),))


def _tools(view: _View) -> Iterator[Line]:
    tools = view.context.tools
    if not tools:
        return
    total = sum(tool.tokens for tool in tools)
    yield _heading(view, "section:tools", f"tools offered ({len(tools)})", Span(str(total), "number"))
    if view.fold("section:tools") == "closed":
        return
    for tool in tools:
        id = f"tool:{tool.name}"
        fold = view.fold(id)
        sign = Span("▾ " if fold == "open" else "▸ ", "key")
        yield Line(
            id,
            (sign, Span(tool.name, "role-tool"), Span(f"  {tool.description}", "muted")),
            right=(Span(str(tool.tokens), "number"),),
            indent=4,
            wrap=False,
            fold=fold,
            kind="tool",
        )
        if fold == "open":
            text = json.dumps(tool.schema, ensure_ascii=False, indent=2, default=dict)
            if tool.description:
                yield Line(f"{id}:about", (Span(tool.description),), indent=8, kind="text")
            yield Line(f"{id}:schema", (Span(text),), indent=8, kind="text", copy=text)


def _never_stored(view: _View) -> Iterator[Line]:
    """What of earlier turns no row holds: calls and results, answers of turns that failed, re-runs (X1)."""
    record = view.record
    earlier = [
        each
        for each in view.records
        if record is None or (each.at <= record.at and each.turn not in (record.turn, record.rerun_of))
    ]
    if not earlier or not any(_has_unstored(each) for each in earlier):
        return
    id = "section:never-stored"
    words = "never stored"
    if len(earlier) <= COUNTED:
        words = f"never stored ({sum(1 for each in earlier for _ in never_stored(each))})"
    yield _heading(view, id, words, Span(""))
    if view.fold(id) == "closed":
        return
    number = 0
    for each in earlier:
        for thing in never_stored(each):
            number += 1
            name = f"{thing.what} {thing.name}".strip()
            spans = (Span(f"{thing.turn_name}: {name}  ", "muted"), Span(thing.text))
            line = f"never:{number}"
            yield Line(line, spans, indent=4, hang=4, wrap=False, kind="never", copy=thing.text)
            yield Line(f"{line}:why", (Span(thing.reason, "reason"),), indent=8, of=line, kind="note")


def _has_unstored(record: TurnRecord) -> bool:
    return next(never_stored(record), None) is not None
