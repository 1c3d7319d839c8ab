"""The values of a handoff as a pane: what went to the target by PASS, SET and SUMMARY, and what stays (H9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from runtime.values.json import Json, compact
from studio_tui.views.handed import Shown
from studio_tui.views.handoff_words import short_place
from studio_tui.views.lines import Line, Pane, Span, StyleName


def values_pane(shown: Shown) -> Pane:
    """The values as a pane of their own, for narrow screens."""
    return Pane(f"VALUES  of {shown.event.target}", "RECORD", tuple(value_lines(shown)))


@dataclass(frozen=True, slots=True)
class ValueLine:
    """A value that went to the target or did not: `how` is PASS, SET, SUMMARY or empty."""

    how: str
    name: str
    value: str


def value_text(value: Json) -> str:
    """A value as one line of text."""
    return value if isinstance(value, str) else compact(value)


def value_lines(shown: Shown) -> Iterator[Line]:
    """What went to the target by PASS, SET and SUMMARY, and what was gathered and stays (H9)."""
    event = shown.event
    yield Line("values", (Span(f"values → {event.target}", "title"),), kind="head")
    carried = event.carried
    private = {one.name for one in shown.gathered if one.private}
    for name, value in carried.passed.items():
        if name not in carried.assigned:
            yield _value(ValueLine("PASS", name, value_text(value)), warn=name in private)
    for name, value in carried.assigned.items():
        yield _value(ValueLine("SET", name, value_text(value)), warn=name in private)
    for name in carried.skipped:
        yield _value(ValueLine("PASS", name, "no value, skipped"), muted=True)
    if carried.summary:
        yield _value(ValueLine("SUMMARY", "", carried.summary), warn=bool(shown.summary_holds))
    if not (carried.passed or carried.assigned or carried.skipped or carried.summary):
        yield Line("value:none", (Span("none", "muted"),), indent=1, kind="note")
    if shown.passed_at and carried.passed:
        yield Line("passed-at", (Span(f"PASS at {short_place(shown.passed_at)}", "muted"),), wrap=False, kind="note")
    stays = [one for one in shown.gathered if one.name not in carried.passed and one.name not in carried.assigned]
    if stays:
        yield Line("stays", (Span("gathered, not passed:"),), kind="head")
    for n, one in enumerate(stays):
        spans = (Span(f"{one.name} "), Span(one.value, "muted"), Span(f"  {one.agent}", "muted"))
        yield Line(f"stays:{n}", spans, indent=2, hang=2, kind="value", copy=f"{one.name} {one.value}")
        if one.private and (one.rows or one.elsewhere):
            yield Line(f"stays:{n}:leak", (Span("! went along in a copied message", "warning"),), indent=2, kind="note")


def _value(one: ValueLine, *, warn: bool = False, muted: bool = False) -> Line:
    style: StyleName = "warning" if warn else ("muted" if muted else "text")
    mark = "! " if warn else ""
    return Line(
        f"value:{one.how}:{one.name}",
        (Span(f"{one.how:<5}", "key"), Span(f"{mark}{one.name} " if one.name else mark), Span(one.value, style)),
        hang=5,
        kind="value",
        copy=one.value,
    )
