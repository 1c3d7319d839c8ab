"""The panes of a session with a project: its threads and events, the conversation, what the compiler says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from runtime.handoff.events import (
    FailedHandoff,
    HandoffEvent,
    LeftWaiting,
    RefusedHandoff,
    Return,
    SessionEvent,
    SessionThread,
    ThreadResume,
)
from runtime.values.diagnostic import Diagnostic
from runtime.values.messages import Message
from studio_tui.views.handed import Shown, row_text
from studio_tui.views.handoff_values import value_lines
from studio_tui.views.handoff_words import short_place
from studio_tui.views.lines import Line, Lines, Pane, Span, StyleName

SEVERITY: Mapping[str, StyleName] = {"error": "error", "warning": "warning", "info": "muted"}
"""The style of a severity; the code's first letter says it too."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A row of the conversation where it was first stored; `agent` is whose thread that is."""

    row: Message
    thread: str
    agent: str


@dataclass(frozen=True, slots=True)
class Happened:
    """Something between two agents, in its place in the conversation; `number` counts what happened, from 1."""

    event: SessionEvent
    number: int = 0


Entry: TypeAlias = "Spoken | Happened"


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What is not stored yet: the customer's message just sent, who answers it, and the answer so far."""

    asked: str = ""
    agent: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A diagnostic with the line of the file it is about; None if that cannot be read."""

    diagnostic: Diagnostic
    source: str | None = None


def session_pane(
    threads: Sequence[SessionThread],
    events: Sequence[SessionEvent],
    *,
    shown: Shown | None = None,
    tree_only: bool = False,
) -> Pane:
    """Who handed to whom, and what happened in order; with `shown` also the values that handoff carried.

    Ids: `thread:ID`, `event:N`.
    """
    lines = list(_tree(threads, shown))
    if not tree_only:
        lines += [Line("blank:events", (), kind="blank"), *event_lines(events)]
        if shown is not None:
            lines += [Line("blank:values", (), kind="blank"), *value_lines(shown)]
    return Pane("SESSION", "", tuple(lines))


def events_pane(events: Sequence[SessionEvent]) -> Pane:
    """The events as a pane of their own, for narrow screens."""
    return Pane("EVENTS", "", tuple(event_lines(events)))


def event_lines(events: Sequence[SessionEvent]) -> Iterator[Line]:
    """What happened between the agents, in order. Ids: `event:N`."""
    yield Line("events", (Span("events", "title"),), kind="head")
    if not events:
        yield Line("event:none", (Span("none so far", "muted"),), indent=1, kind="note")
    for number, event in enumerate(events, start=1):
        name, about, note = event_words(event)
        style: StyleName = "error" if isinstance(event, RefusedHandoff | FailedHandoff) else "text"
        from_, _, to = about.partition("→")
        other = f"← {from_}" if isinstance(event, Return | LeftWaiting) else f"→ {to}"
        spans = (Span(f"{number} ", "number"), Span(f"{name} ", style), Span(other))
        yield Line(f"event:{event.n}", spans, wrap=False, kind="event")
        if note:
            told = Line(
                f"note:{event.n}", (Span(note, "muted"),), indent=4, wrap=False, of=f"event:{event.n}", kind="note"
            )
            yield told


def event_words(event: SessionEvent) -> tuple[str, str, str]:
    """An event in a word, between whom, and what else there is to say of it."""
    match event:
        case HandoffEvent():
            odd = "" if event.as_written or event.written is None else " ✘ not as written"
            mismatch = " ✘ no match" if event.matches is False else ""
            return (
                "handoff",
                f"{event.caller}→{event.target}",
                f"{event.strategy}, copied {event.copied}{odd}{mismatch}",
            )
        case ThreadResume():
            return "resume", f"{event.caller}→{event.target}", f"own {event.rows} messages, nothing copied"
        case Return():
            back = ", ".join([*event.values, *event.assigned])
            joined = f"{len(event.joined)} answers joined" if event.joined else ""
            told = " · ".join(part for part in (f"map {back}" if back else "", joined, event.action) if part)
            return "return", f"{event.child}→{event.caller}", told
        case LeftWaiting():
            return "waits", f"{event.child}→{event.caller}", f"the message was about {event.intent}"
        case RefusedHandoff():
            return "refused", f"{event.caller}→{event.target}", event.problem
        case FailedHandoff():
            return "failed", f"{event.caller}→{event.target}", f"{event.problem} ({event.action})"
        case _:
            names = ", ".join(event.names)
            told = event.error or (f"no value for {names}" if names else "")
            return "no route", f"{event.caller}→{event.target}", told


def conversation_pane(
    entries: Sequence[Entry], *, under_way: UnderWay | None = None, title: str = "CONVERSATION", empty: str = ""
) -> Pane:
    """Everything said, in order, with what happened between the agents in its place.

    Ids: `said:THREAD:SEQ`, `between:N`.
    """
    tail = tuple(_under_way(under_way)) if under_way is not None else ()
    if not entries and not tail:
        tail = (Line("empty", (Span(empty or "nothing was said yet", "muted"),), kind="note"),)

    def make(group: int) -> Sequence[Line]:
        if group == len(entries):
            return tail
        entry = entries[group]
        return (_said(entry),) if isinstance(entry, Spoken) else (_between(entry),)

    def find(id: str) -> int | None:
        return next((at for at, entry in enumerate(entries) if _id(entry) == id), None)

    return Pane(title, "", Lines([*(1 for _ in entries), len(tail)], make, find))


def checks_pane(problems: Sequence[Problem], *, runs: bool) -> Pane:
    """What the compiler says of the project's files, with their lines. Ids: `problem:N`."""
    errors = sum(one.diagnostic.severity == "error" for one in problems)
    title = "CHECK" if runs else f"CHECK  does not run: {errors} error{'' if errors == 1 else 's'} to mend"
    lines: list[Line] = []
    for n, one in enumerate(problems):
        found = one.diagnostic
        place = ":".join(str(part) for part in (found.file, found.line, found.column) if part is not None)
        style = SEVERITY[found.severity]
        spans = (Span(f"{found.code} ", style), Span(f"{place}  ", "key"), Span(found.message))
        lines.append(
            Line(f"problem:{n}", spans, hang=5, kind="problem", copy=f"{place}: {found.code}: {found.message}")
        )
        if one.source is not None:
            source = (Span(f"{found.line:>5} │ ", "muted"), Span(one.source))
            lines.append(Line(f"source:{n}", source, wrap=False, of=f"problem:{n}", kind="note"))
    if not lines:
        lines.append(Line("fine", (Span("✔ no errors, no warnings", "ok"),), kind="note"))
    return Pane(title, "", tuple(lines))


def counted(problems: Sequence[Problem], *, brief: bool = False) -> str:
    """`check: 0 errors, 1 warning`."""
    errors, warnings = (sum(one.diagnostic.severity == kind for one in problems) for kind in ("error", "warning"))
    if brief:
        return f"check: {errors} err {warnings} warn"
    return f"check: {errors} error{'' if errors == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}"


def _tree(threads: Sequence[SessionThread], shown: Shown | None) -> Iterator[Line]:
    """The threads below those that called them; how deep a line is says who called whom."""
    if not threads:
        yield Line("thread:none", (Span("not begun", "muted"),), kind="note")
    below: dict[str | None, list[SessionThread]] = {}
    known = {one.id for one in threads}
    for one in threads:
        below.setdefault(one.caller if one.caller in known else None, []).append(one)
    target = shown.event.thread if shown is not None else ""

    def walk(caller: str | None, lead: str) -> Iterator[Line]:
        inside = below.get(caller, ())
        for at, one in enumerate(inside):
            last = at == len(inside) - 1
            branch = "" if caller is None else ("└ " if last else "├ ")
            yield from _thread_lines(one, lead + branch, one.id == target)
            yield from walk(one.id, lead + ("" if caller is None else ("  " if last else "│ ")))

    yield from walk(None, "")


def _thread_lines(one: SessionThread, lead: str, target: bool) -> Iterator[Line]:
    told = [one.status, *(["sensitive"] if one.sensitive else []), *(["remote"] if one.remote else [])]
    spans = (Span(lead, "muted"), Span(one.agent, "title" if target else "text"))
    yield Line(f"thread:{one.id}", spans, (Span(f"{one.rows} msg", "number"),), wrap=False, kind="thread")
    style: StyleName = "what-if" if one.status == "active" else "muted"
    note = (Span(" " * (len(lead) + 2)), Span(" · ".join(told), style))
    yield Line(f"status:{one.id}", note, wrap=False, of=f"thread:{one.id}", kind="note")


def _id(entry: Entry) -> str:
    if isinstance(entry, Happened):
        return f"between:{entry.event.n}"
    return f"said:{entry.thread}:{entry.row.seq}"


def _said(entry: Spoken) -> Line:
    row = entry.row
    who, style = ("customer", "role-user") if row.role == "user" else (entry.agent, "role-assistant")
    if row.role == "tool":
        style = "role-tool"
    spans = (Span(f"{who}  ", style), Span(row_text(row), "muted" if row.role == "tool" else "text"))  # type: ignore[arg-type]  # literals
    return Line(_id(entry), spans, hang=2, kind="said", copy=row.text, seq=row.seq)


def _between(entry: Happened) -> Line:
    event = entry.event
    name, about, note = event_words(event)
    style: StyleName = "warning" if "✘" in note or isinstance(event, RefusedHandoff | FailedHandoff) else "what-if"
    at = getattr(event, "route", "")
    where = f"   {short_place(at)}" if at else ""
    spans = (
        Span(f"── {entry.number} {name}  ", style),
        Span(about.replace("→", " → "), style),
        Span(f"   {note}{where}", "muted"),
    )
    return Line(f"between:{event.n}", spans, wrap=False, kind="event")


def _under_way(now: UnderWay) -> Iterator[Line]:
    if now.asked:
        yield Line("now:asked", (Span("customer  ", "role-user"), Span(now.asked)), hang=2, kind="note")
    if now.agent:
        told = Span(now.text) if now.text else Span("…", "muted")
        yield Line("now:answer", (Span(f"{now.agent}  ", "role-assistant"), told), hang=2, kind="note")
