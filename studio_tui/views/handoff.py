"""The panes of one handoff: what was written and is in force, what the caller had, what the target got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runtime.handoff.events import HandoffEvent, ThreadResume
from runtime.values.messages import Message, Row
from runtime.values.record import ContextRow, LeftOutReason
from studio_tui.views.handed import Answers, Shown, row_text
from studio_tui.views.handoff_words import (
    author_words,
    counted_words,
    holds,
    in_force_words,
    leak_words,
    match_words,
    read_words,
    written_words,
)
from studio_tui.views.lines import Line, Lines, Pane, Span, StyleName
from studio_tui.views.words import ROLE

GROUP = 64
"""Rows of the caller whose lines are made at once."""

COLUMN = 9
"""Cells of the column of what is in force, and of that of the what-if."""


def strategy_pane(shown: Shown, choices: Sequence[str], *, narrow: bool = False) -> Pane:
    """As written, as read, in force and why, and what else it could be (H5, H6)."""
    event = shown.event
    force, why = in_force_words(shown)
    at = shown.written_at or event.route
    reading = read_words(shown)
    problem = "nothing usable" in reading
    choice = Line("what-if", tuple(_choice_spans(shown, choices)), (Span("h next  : type one", "key"),), wrap=False)
    if narrow:
        code = next((f"  {one.code}" for one in shown.problems), "")
        both = (
            _head("read as"),
            Span(reading.split("  ")[0] + code, "warning" if problem else "text"),
            Span("   in force  ", "muted"),
            Span(force, "title"),
            Span("" if isinstance(event, ThreadResume) else f"  ({event.source})", "muted"),
        )
        written = Line("written", (_head("written"), Span(written_words(shown))), (Span(at, "muted"),), wrap=False)
        return Pane("STRATEGY", "", (written, Line("read", both, wrap=False), choice))
    lines = [
        Line("written", (_head("written"), Span(written_words(shown))), (Span(at, "muted"),), wrap=False),
        Line("read", (_head("read as"), Span(reading, "warning" if problem else "text")), hang=11),
        Line(
            "in-force",
            (_head("in force"), Span(f"{force:<9} ", "title"), Span(why, "muted")),
            wrap=False,
        ),
        choice,
    ]
    return Pane("STRATEGY", "", tuple(lines))


def caller_pane(shown: Shown, *, folds: frozenset[str] = frozenset(), narrow: bool = False) -> Pane:
    """Every row the caller had: copied or left out with the reason, units held together, and what the what-if would
    do (H2, H3, X1). Ids: `row:SEQ`, which unfold; `child:THREAD`."""
    rows = shown.rows
    tail = tuple(_tail(shown, narrow=narrow))

    def make(group: int) -> Sequence[Line]:
        if group == 0:
            return (_columns(shown),)
        if group == len(sizes) - 1:
            return tail
        first = (group - 1) * GROUP
        return tuple(
            line for row in rows[first : first + GROUP] for line in _caller_row(shown, row, f"row:{row.seq}" in folds)
        )

    def find(id: str) -> int | None:
        kind, _, seq = id.partition(":")
        if kind not in ("row", "note"):
            return None
        at = seq.partition(":")[0]
        return (int(at) - 1) // GROUP + 1 if at.isdigit() and 0 < int(at) <= len(rows) else None

    groups = [rows[at : at + GROUP] for at in range(0, len(rows), GROUP)]
    sizes = [1, *(sum(1 + len(_notes(shown, row)) for row in group) for group in groups), len(tail)]
    return Pane("CALLER  what it had", _badge(shown), Lines(sizes, make, find))


def target_pane(shown: Shown, *, folds: frozenset[str] = frozenset()) -> Pane:
    """The target's first model call: every part of it, and whether it holds what is in force (H12)."""
    return Pane("TARGET  first model call", "RECORD", tuple(_target_lines(shown, folds)))


def probe_pane(answers: Answers, *, names: tuple[str, str]) -> Pane:
    """What both sides say when asked the same; `names` are the strategy in force and the one tried."""
    title = f"PROBE  both sides are asked: {answers.question}"
    force, tried = names
    width = max(len(force), len(tried), 8)
    said = _said(answers.in_force, answers.problem)
    lines = [Line("in-force", (Span(f"{force:<{width}} ", "title"), said), hang=width + 1)]
    if answers.what_if is not None:
        lines.append(Line("what-if", (Span(f"{tried:<{width}} ", "what-if"), Span(answers.what_if)), hang=width + 1))
    elif tried:
        calls = "1 model call" if answers.calls == 1 else f"{answers.calls} model calls"
        remote = "1 remote call" if answers.remote == 1 else f"{answers.remote} remote calls"
        messages = "the customer message" if answers.messages == 1 else f"the same {answers.messages} customer messages"
        not_run = f"not run.  ^r replays {messages} on a fresh session: about {calls}, {remote}"
        lines.append(Line("what-if", (Span(f"{tried:<{width}} ", "what-if"), Span(not_run, "muted")), hang=width + 1))
    return Pane(title, "", tuple(lines))


def _said(answer: str | None, problem: str) -> Span:
    if answer is not None:
        return Span(answer or "(no words)")
    return Span(problem or "not asked yet: p asks", "warning" if problem else "muted")


def _head(word: str) -> Span:
    return Span(f"{word:<11}", "muted")


def _choice_spans(shown: Shown, choices: Sequence[str]) -> Iterator[Span]:
    yield _head("what if")
    if shown.resumed:
        yield Span("nothing to try: HISTORY is not applied to a thread that waits", "muted")
        return
    tried = shown.tried.written if shown.tried is not None else None
    force = in_force_words(shown)[0]
    for choice in choices:
        dot = "•" if choice == force else ""
        if choice == tried:
            yield Span(f"▐{dot}{choice}▌", "what-if")
        else:
            yield Span(f" {dot}{choice} ", "title" if dot else "text")


def _badge(shown: Shown) -> str:
    return "RECORD + WHAT IF" if shown.tried is not None else "RECORD"


def _columns(shown: Shown) -> Line:
    right = [Span(f"{'in force':<{COLUMN}}", "title")]
    if shown.tried is not None:
        right.append(Span(f"{_cut(shown.tried.written, COLUMN):<{COLUMN}}", "what-if"))
    return Line("columns", (Span(" seq  role  message", "muted"),), tuple(right), kind="head", wrap=False)


def _caller_row(shown: Shown, row: Row, unfolded: bool) -> Iterator[Line]:
    name, style = ROLE[row.role] if isinstance(row, Message) else ("  ? ", "error")
    bracket = shown.brackets.get(row.seq, " ")
    trigger = row.seq == shown.event.trigger.seq
    yield Line(
        f"row:{row.seq}",
        (Span(f"{row.seq:>4} ", "number"), Span(bracket, "key"), Span(f"{name:<5}", style), Span(row_text(row))),
        tuple(_verdicts(shown, row.seq, trigger)),
        hang=11,
        wrap=unfolded,
        fold="open" if unfolded else "closed",
        seq=row.seq,
        kind="row",
        copy=row.text if isinstance(row, Message) else None,
        fade=row.seq not in shown.copied and not trigger,
    )
    for n, note in enumerate(_notes(shown, row)):
        yield Line(f"note:{row.seq}:{n}", (note,), indent=11, of=f"row:{row.seq}", kind="note")


def _verdicts(shown: Shown, seq: int, trigger: bool) -> Iterator[Span]:
    copied = seq in shown.copied
    in_force = ("copied = request" if copied else "request") if trigger else ("copied" if copied else "out")
    style: StyleName = "ok" if copied else ("title" if trigger else "muted")
    yield Span(f"{in_force:<{COLUMN}}", style)
    if shown.tried is not None:
        would = seq in shown.tried_copies
        tried = ("copied" if would else "request") if trigger else ("copied" if would else "out")
        gap = " " if len(in_force) >= COLUMN else ""
        yield Span(f"{gap}{tried:<{COLUMN - len(gap)}}", "what-if")


def _notes(shown: Shown, row: Row) -> list[Span]:
    """What stands under a row: why it stays (once for a range), and private values that go along in it."""
    notes: list[Span] = []
    reason = shown.reasons.get(row.seq)
    if reason is not None and row.seq != shown.event.trigger.seq and _last_of(shown, row.seq, reason):
        notes.append(Span(f"out: {reason}", "reason"))
    if isinstance(row, Message) and row.seq in shown.copied:
        notes += [Span(f"! {leak_words(one, brief=True)}", "warning") for one in holds(shown, row)]
    return notes


def _last_of(shown: Shown, seq: int, reason: LeftOutReason) -> bool:
    """Whether no row of the same reason follows."""
    after = seq + 1
    return shown.reasons.get(after) != reason or after == shown.event.trigger.seq


def _tail(shown: Shown, *, narrow: bool) -> Iterator[Line]:
    yield from _child_lines(shown)
    if narrow:
        yield Line("blank:sum", (), kind="blank")
        asked = "" if isinstance(shown.event, ThreadResume) else f"asked {shown.event.requested} · "
        matches = _marked(match_words(shown))
        yield Line("sum", (Span(f"{asked}{counted_words(shown)}   "), matches), kind="sum")
    elif any(sign == "┌" for sign in shown.brackets.values()):
        yield Line("blank:unit", (), kind="blank")
        yield Line("unit", (Span("┌└ one unit: never split", "muted"),), indent=1, kind="legend")


def _child_lines(shown: Shown) -> Iterator[Line]:
    """The caller's earlier children, and what of theirs was copied (H2)."""
    event = shown.event
    if isinstance(event, ThreadResume):
        return
    for child in event.children:
        agent = shown.agents.get(child.thread, child.thread)
        count = f"{child.rows} message{'' if child.rows == 1 else 's'}"
        joined = [one for one in shown.joined if one.agent == agent]
        yield Line(f"blank:{child.thread}", (), kind="blank")
        yield Line(
            f"child:{child.thread}",
            (Span(f"{count} handled by {agent}"),),
            (Span(f"{len(joined)} copied" if joined else "out", "ok" if joined else "muted"),),
            indent=1,
            wrap=False,
            kind="child",
        )
        for n, one in enumerate(joined):
            spans = (Span("+ ", "ok"), Span("user ", "role-user"), Span(one.row.text))
            yield Line(f"joined:{child.thread}:{n}", spans, (Span("copied    "),), indent=5, wrap=False, kind="row")
        note = _child_note(shown, event, child.sensitive, bool(joined), agent)
        yield Line(f"note:{child.thread}", (note,), indent=5, of=f"child:{child.thread}", kind="note")


def _child_note(shown: Shown, event: HandoffEvent, sensitive: bool, joined: bool, agent: str) -> Span:
    if sensitive:
        return Span("out: sensitive-child", "reason")
    leaks = [one for one in shown.gathered if one.private and one.elsewhere and one.agent == agent]
    if leaks:
        return Span(f"! {leak_words(leaks[0], brief=True)}", "warning")
    if event.strategy != "full":
        return Span("not asked for: only full adds what children handled", "reason")
    return Span("customer messages alone are added" if joined else "no customer message of its own", "reason")


def _target_lines(shown: Shown, folds: frozenset[str]) -> Iterator[Line]:
    event = shown.event
    context = shown.first.context if shown.first is not None else None
    if context is None:
        remote = isinstance(event, HandoffEvent) and event.remote
        told = "posted to another house: see w for the body" if remote else "not assembled yet"
        yield Line("none", (Span(told, "muted"),), kind="note")
    else:
        for section in context.sections:
            if section.name == "history":
                yield Line("earlier", (Span("earlier messages  ", "title"), Span(str(len(section.rows)))),
                           (Span(f"{section.tokens:,}", "number"),))  # fmt: skip
                for n, row in enumerate(section.rows, start=1):
                    yield _earlier(n, row, f"got:{row.seq}" in folds)
            else:
                if section.name == "request" and context.section("history") is None:
                    yield Line("earlier", (Span("earlier messages  ", "title"), Span("0")))
                yield from _section(section.name, section.text, section.tokens, folds)
    yield Line("blank:sum", (), kind="blank")
    yield Line("sum", (Span(counted_words(shown), "title"),))
    yield Line("matches", (_marked(match_words(shown)),), hang=2)
    yield Line("author", (_marked(author_words(shown)),), hang=2)


def _section(name: str, text: str, tokens: int, folds: frozenset[str]) -> Iterator[Line]:
    """Instructions folded to one line, values and the request with their text."""
    unfolded = f"part:{name}" in folds
    word = "values" if name == "state" else name
    first = "" if name == "instructions" and not unfolded else text
    yield Line(
        f"part:{name}",
        (Span(f"{word}  ", "title"), Span(first if unfolded else " ".join(first.split()))),
        (Span(f"{tokens:,}", "number"),),
        hang=2,
        wrap=unfolded,
        fold="open" if unfolded else "closed",
        copy=text,
    )


def _earlier(n: int, row: ContextRow, unfolded: bool) -> Line:
    name, style = ROLE[row.role]
    spans = (Span(f"{n:>3} ", "number"), Span(f"{name} ", style), Span(row.text))
    fold = "open" if unfolded else "closed"
    return Line(f"got:{row.seq}", spans, hang=9, wrap=unfolded, fold=fold, seq=row.seq, copy=row.text)  # type: ignore[arg-type]  # a literal


def _marked(told: tuple[bool | None, str]) -> Span:
    holds, words = told
    if holds is None:
        return Span(f"– {words}", "muted")
    return Span(f"✔ {words}", "ok") if holds else Span(f"✘ {words}", "error")


def _cut(text: str, width: int) -> str:
    return text if len(text) < width else text[: width - 2] + "…"
