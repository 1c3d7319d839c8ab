"""The TURNS pane: the thread's root turns with their runs under them, the coming turn, and the forks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runtime.explain import estimate_ratio, off_by
from runtime.stores import Thread
from runtime.values.record import TurnRecord
from studio_tui.views.ending import verdict
from studio_tui.views.lines import Line, Lines, Pane, Span
from studio_tui.views.words import STATUS, status_span, status_words

NEXT = "next"
"""The id of the line that stands for the coming turn (X3)."""

FEW = 6
"""Runs of one turn above which they begin folded."""


def turns_pane(
    records: Sequence[TurnRecord],
    *,
    what_next: str | None = "nothing sent",
    forks: Sequence[Thread] = (),
    folds: frozenset[str] = frozenset(),
) -> Pane:
    """The turns of a thread, oldest first, runs on views under the turn they repeat.

    Ids: `turn:ID` for turns and runs, `next` (left out if `what_next` is None), `fork:THREAD`; `runs:ID` folds the
    runs of a turn that has many.
    """
    turns: list[TurnRecord] = []
    runs: dict[str, list[TurnRecord]] = {}
    known = {record.turn for record in records if record.view is None}
    for record in records:
        if record.view is not None and record.rerun_of in known:
            runs.setdefault(record.rerun_of or "", []).append(record)
        else:
            turns.append(record)
    tail = tuple(_tail(what_next, forks, empty=not turns))

    def make(group: int) -> tuple[Line, ...]:
        if group == len(turns):
            return tail
        turn = turns[group]
        return tuple(_turn(turn, runs.get(turn.turn, []), folds))

    def find(id: str) -> int | None:
        kind, _, turn = id.partition(":")
        if kind not in ("turn", "runs"):
            return len(turns)
        parent = next((above for above, below in runs.items() if any(run.turn == turn for run in below)), turn)
        return next((group for group, each in enumerate(turns) if each.turn == parent), None)

    sizes = [2 + _run_lines(turn, len(runs[turn.turn]), folds) if turn.turn in runs else 2 for turn in turns]
    return Pane("TURNS", "", Lines([*sizes, len(tail)], make, find))


def _run_lines(turn: TurnRecord, runs: int, folds: frozenset[str]) -> int:
    """How many lines the runs of a turn take: a head where they are many, and themselves unless it is folded."""
    if runs <= FEW:
        return runs
    return 1 + runs if f"runs:{turn.turn}" in folds else 1


def _turn(record: TurnRecord, runs: Sequence[TurnRecord], folds: frozenset[str]) -> Iterator[Line]:
    id = f"turn:{record.turn}"
    name = f"{record.number} " if record.number else ""
    window = Span(f" w{record.window} ", "number")
    spans = (Span(name, "title"), status_span(record), window, Span(record.request))
    yield Line(id, spans, indent=0, wrap=False, kind="turn", copy=record.request)
    yield Line(f"{id}:told", tuple(_told(record)), indent=2, wrap=False, of=id, kind="note")
    if len(runs) > FEW:
        opened = f"runs:{record.turn}" in folds
        many = (Span("▾ " if opened else "▸ ", "key"), Span(f"↻ {len(runs)} re-runs"))
        yield Line(f"runs:{record.turn}", many, indent=2, wrap=False, fold="open" if opened else "closed", kind="runs")
        if not opened:
            return
    for at, run in enumerate(runs):
        branch = "└" if at == len(runs) - 1 else "├"
        mark, style = STATUS[run.status]
        word = verdict(record, run)
        yield Line(
            f"turn:{run.turn}",
            (
                Span(f"{branch} ", "muted"),
                Span(f"w{run.window} re-run  "),
                *((Span(f"{mark} ", style),) if run.status != "completed" else ()),
                Span(word, "what-if" if word == "differs" else "muted"),
            ),
            indent=2,
            wrap=False,
            kind="run",
        )


def _told(record: TurnRecord) -> Iterator[Span]:
    """The second line of a turn: the rows it wrote, how it ended or how many steps it took, how far the estimate was
    off where a provider counted (F2)."""
    if record.stored_user is not None or record.stored_assistant is not None:
        seqs = [str(seq) for seq in (record.stored_user, record.stored_assistant) if seq is not None]
        yield Span(f"seq {'→'.join(seqs)}   ", "muted")
    elif record.kind == "brief":
        yield Span("brief, no row   ", "muted")
    elif record.is_run and record.rerun_of is None:
        yield Span("asked on the side   ", "muted")
    how = status_words(record)
    if how:
        yield Span(how, STATUS[record.status][1])
    elif record.steps:
        yield Span(f"{len(record.steps)} step{'' if len(record.steps) == 1 else 's'}", "muted")
    ratio = estimate_ratio(record)
    if ratio is not None:
        yield Span(f"   est {off_by(ratio)}", "muted")
    if record.origin != "run":
        yield Span(f"   {record.origin}", "muted")


def _tail(what_next: str | None, forks: Sequence[Thread], *, empty: bool) -> Iterator[Line]:
    if empty:
        yield Line("told", (Span("no turns yet", "muted"),), indent=0, kind="note", of=NEXT if what_next else "")
    if what_next is not None:
        yield Line(NEXT, (Span("▹ next ", "what-if"), Span(f"({what_next})", "muted")), wrap=False, kind="next")
    if forks:
        yield Line("blank:forks", (), kind="blank")
        yield Line("forks", (Span("forks of this thread", "title"),), kind="head")
    for fork in forks:
        at = f"at {fork.forked_at}" if fork.forked_at is not None else "fork"
        rows = f"{fork.length} message{'' if fork.length == 1 else 's'}"
        spans = (Span(f"{at:<6}"), Span(fork.name or fork.id), Span(f"   {rows}", "muted"))
        yield Line(f"fork:{fork.id}", spans, indent=1, wrap=False, kind="fork")
