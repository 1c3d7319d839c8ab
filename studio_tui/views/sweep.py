"""The sweep as panes: what is tried and where, the windows with their answers, which is enough and because of what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runtime.calls import ToolMode
from runtime.experiments.enough import Enough
from runtime.experiments.finding import enough_words
from runtime.experiments.reach import Reach
from runtime.experiments.results import Announcement, BecauseRow, Cell, Edge, Sweep, Variant
from runtime.explain import ranges
from runtime.values.messages import Window
from studio_tui.views.lines import Line, Pane, Span, StyleName
from studio_tui.windows import shown

MARK = "◆"
"""Stands before the two windows that are laid side by side."""

EDGE = "▶"
"""Stands before the smallest window that is enough."""


@dataclass(frozen=True, slots=True)
class CellId:
    """Which cell a line of the table stands for: the place of its variant among the edges, and its window."""

    variant: int
    window: Window

    def __str__(self) -> str:
        return f"cell:{self.variant}:{self.window}"

    @classmethod
    def read(cls, line: str) -> CellId | None:
        """The cell of a line's id, None for another line."""
        kind, _, rest = line.partition(":")
        variant, _, window = rest.partition(":")
        if kind != "cell" or not variant.isdigit():
            return None
        return cls(int(variant), "all" if window == "all" else int(window))


def _planned(seqs: Sequence[int]) -> str:
    return _span(seqs) if seqs else "–"


def variants_of(sweep: Sweep) -> tuple[Variant, ...]:
    """Who answers, in the order of the table."""
    return tuple(dict.fromkeys(cell.variant for cell in sweep.cells))


def cell_of(sweep: Sweep, id: CellId) -> Cell | None:
    """The cell that a line stands for; None if the sweep has none there (any more)."""
    variants = variants_of(sweep)
    if id.variant >= len(variants):
        return None
    return sweep.cell(id.window, variants[id.variant])


def id_of(sweep: Sweep, cell: Cell) -> CellId:
    """The id of a cell's line."""
    return CellId(variants_of(sweep).index(cell.variant), cell.window)


def planned_pane(windows: Mapping[Variant, Sequence[Window]], reach: Reach, announced: str) -> Pane:
    """The table before anything has run: which rows each window would select, and what running it would do (X4)."""
    lines = [
        Line("announced", (Span(announced),), indent=1, kind="note"),
        Line("blank", (), kind="blank"),
        Line("columns", (Span(f"  {'window':>6}  {'rows':>5}  entered here", "muted"),), wrap=False, kind="head"),
    ]
    for at, (variant, those) in enumerate(windows.items()):
        if len(windows) > 1:
            who = str(variant) or "the thread's own agent and models"
            lines.append(Line(f"variant:{at}", (Span(f"with {who}", "title"),), wrap=False, kind="head"))
        smaller: Window | None = None
        for window in those:
            entered = _planned(reach.entered(window, smaller))
            spans = (
                Span(f"  {shown(window, limit=6):>6}  ", "text"),
                Span(f"{reach.selected(window):>5,}  ", "number"),
                Span(f"{entered:<24}  "),
                Span("not run yet", "muted"),
            )
            lines.append(Line(f"plan:{at}:{window}", spans, wrap=False, kind="plan"))
            smaller = window
    return Pane("WINDOWS", "NOT RUN YET", tuple(lines))


def windows_pane(sweep: Sweep, *, marked: Sequence[CellId] = (), differing: bool = False, narrow: bool = False) -> Pane:
    """The table: one line a window, under a heading for each of several models or agents. `differing` leaves out the
    windows whose answers are those of the window before. Ids: `cell:VARIANT:WINDOW`."""
    cells = sweep.differing if differing else sweep.cells
    lines = tuple(_table(sweep, cells, frozenset(marked), narrow))
    hidden = len(sweep.cells) - len(cells)
    badge = f"{hidden} alike left out, d all" if differing and hidden else "d only where it differs"
    return Pane("WINDOWS", badge, lines)


def _table(sweep: Sweep, cells: Sequence[Cell], marked: frozenset[CellId], narrow: bool) -> Iterator[Line]:
    variants = variants_of(sweep)
    told: set[str] = set()
    columns = (
        f"  {'window':>6}  {'rows':>5}  {'entered here':<{_entered_width(narrow)}} {'est':>7}  {'enough':<7} answers"
    )
    yield Line("columns", (Span(columns + ("" if narrow else ", grouped"), "muted"),), wrap=False, kind="head")
    for at, variant in enumerate(variants):
        if len(variants) > 1:
            who = str(variant) or "the thread's own agent and models"
            yield Line(f"variant:{at}", (Span(f"with {who}", "title"),), wrap=False, kind="head")
        edge = next((one for one in sweep.edges if one.variant == variant), None)
        for cell in cells:
            if cell.variant == variant:
                id = CellId(at, cell.window)
                yield _cell_line(sweep, cell, id, edge, id in marked, told, narrow)


def _entered_width(narrow: bool) -> int:
    return 14 if narrow else 24


def _cell_line(
    sweep: Sweep, cell: Cell, id: CellId, edge: Edge | None, marked: bool, told: set[str], narrow: bool
) -> Line:
    smallest = edge is not None and edge.smallest == cell.window
    width = _entered_width(narrow)
    spans = [
        Span(MARK if marked else " ", "what-if"),
        Span(EDGE if smallest else " ", "ok"),
        Span(f"{shown(cell.window, limit=6):>6}  ", "title" if smallest else "text"),
        Span(f"{cell.selected:>5,}  ", "number"),
    ]
    if cell.same_as is not None:
        spans.append(Span(f"same rows as {shown(cell.same_as)}, not run twice", "muted"))
        return Line(str(id), tuple(spans), wrap=False, kind="cell", fade=not smallest)
    spans += [
        Span(f"{_cut(_entered(sweep, cell), width):<{width}} "),
        Span(f"{'–' if cell.estimate is None else format(cell.estimate, ','):>7}  ", "number"),
        _score(cell),
        *_answers(sweep, cell, told),
    ]
    return Line(str(id), tuple(spans), wrap=False, kind="cell")


def _entered(sweep: Sweep, cell: Cell) -> str:
    """The rows that this window lets in, the request named."""
    if not cell.entered:
        return "–"
    words = _span(cell.entered)
    if cell.entered[-1] == sweep.stored and (sweep.of is None or sweep.stored > 0) and len(cell.entered) == 1:
        words += " the request"
    return f"{words}  (bisected)" if cell.bisected else words


def _span(seqs: Sequence[int]) -> str:
    """Rows as ranges; a million rows in one range are not walked."""
    first, last = seqs[0], seqs[-1]
    if last - first + 1 == len(seqs):
        return str(first) if first == last else f"{first}-{last}"
    return ranges(seqs)


def _score(cell: Cell) -> Span:
    """`4/5 ✔`: how many runs passed of how many, and the verdict over them."""
    if not cell.runs:
        return Span(f"{'·':<7} ", "muted")
    judged = sum(run.passed is not None for run in cell.runs)
    score = f"{cell.passes}/{len(cell.runs)}" if judged else f"?/{len(cell.runs)}"
    if not cell.complete:
        return Span(f"{score + ' …':<7} ", "what-if")
    if cell.enough is None:
        return Span(f"{score:<7} ", "what-if")
    return Span(f"{score + (' ✔' if cell.enough else ' ✘'):<7} ", "ok" if cell.enough else "text")


def _answers(sweep: Sweep, cell: Cell, told: set[str]) -> Iterator[Span]:
    """The letters of its answers with how often each came; an answer's words where its letter comes first."""
    if not cell.runs:
        yield Span("not run" if sweep.state != "running" else "waiting", "muted")
        return
    words = {group.letter: group.answer for group in sweep.groups}
    for letter, count in cell.groups:
        times = f" ×{count}" if len(cell.runs) > 1 else ""
        if not letter:
            yield Span(f"–{times} {_unanswered(cell)}   ", "error")
            continue
        yield Span(f"{letter}{times}  ", "key")
        if letter not in told:
            told.add(letter)
            yield Span(f"{words.get(letter, '')}   ")


def _unanswered(cell: Cell) -> str:
    """How the runs without an answer ended."""
    ended = dict.fromkeys(run.reason or run.status for run in cell.runs if run.answer is None)
    return ", ".join(ended)


def edge_lines(sweep: Sweep) -> list[Line]:
    """SMALLEST ENOUGH and BECAUSE, for each of those who answer."""
    lines: list[Line] = []
    if _varies(sweep):
        told = (
            f"! the answers vary ({len(sweep.groups)} different ones), and “same as all” compares words: press s and "
            "say what an answer must hold, like contains: … ; k runs each several times"
        )
        lines.append(Line("varies", (Span(told, "warning"),), hang=2))
    for at, edge in enumerate(sweep.edges):
        who = f"with {edge.variant}: " if len(sweep.edges) > 1 and str(edge.variant) else ""
        lines.append(
            Line(
                f"smallest:{at}",
                (Span("SMALLEST ENOUGH  ", "title"), Span(who), *_smallest(sweep, edge)),
                hang=17,
                seq=None,
            )
        )
        if edge.because is not None:
            lines += [_message(at, row) for row in edge.because.rows[:1]]
            lines.append(
                Line(f"because:{at}", (Span("BECAUSE          ", "title"), Span(edge.because.sentence)), hang=17)
            )
    return lines


def _varies(sweep: Sweep) -> bool:
    """Whether the answers differ for no reason that a window gives, so that equal words are the wrong measure: one
    window has several, a larger one fails where a smaller one passed, or nearly each has its own."""
    if sweep.state == "running" or not any(one.word == "same as all" for one in sweep.spec.enough.predicates):
        return False
    for variant in variants_of(sweep):
        ran = [cell for cell in sweep.cells if cell.variant == variant and cell.same_as is None and cell.runs]
        verdicts = [cell.enough for cell in ran if cell.enough is not None]
        letters = {letter for cell in ran for letter, _ in cell.groups if letter}
        if any(len(cell.groups) > 1 for cell in ran) or (len(ran) > 3 and len(letters) > len(ran) / 2):
            return True
        if verdicts != sorted(verdicts):
            return True
    return False


def _message(at: int, row: BecauseRow) -> Line:
    """The message that made the difference, in its own words."""
    spans = (
        Span("THE MESSAGE      ", "title"),
        Span(f"seq {row.seq}, {row.role}: ", "what-if"),
        Span(f"“{_cut(' '.join(row.text.split()), 300)}”"),
    )
    return Line(f"message:{at}", spans, hang=17, copy=row.text)


def _smallest(sweep: Sweep, edge: Edge) -> Iterator[Span]:
    cells = [cell for cell in sweep.cells if cell.variant == edge.variant]
    if edge.smallest is None:
        if all(cell.enough is None for cell in cells):
            yield Span("not known yet", "muted")
        elif any(cell.enough for cell in cells):
            yield Span("none", "warning")
            yield Span(": some windows are enough, and a larger one is not")
        else:
            yield Span("none of these", "warning")
        return
    found = next(cell for cell in cells if cell.window == edge.smallest)
    yield Span(shown(edge.smallest), "ok")
    yield Span(f"  ({found.passes} of {len(found.runs)})   ")
    below = next((cell for cell in cells if cell.window == edge.below), None)
    if below is not None:
        yield Span(f"{shown(below.window)} gives {below.passes} of {len(below.runs)}")
    if edge.edge_tested:
        yield Span("; the edge is tested" if below is not None else "nothing is smaller", "muted")
    else:
        yield Span("; windows between were not tried: b finds the edge", "warning")


def request_line(*, request: str, of: str, stored: int, agent: str, models: str) -> tuple[Span, ...]:
    """What is run again: the request, of which turn of which thread, who answers."""
    return (
        Span("SWEEP  ", "title"),
        Span(f"“{' '.join(request.split())}”"),
        Span(f"    {of} ({stored:,} stored)", "muted"),
        Span(f"    agent {agent}" if agent else "", "text"),
        Span(f"    {models}", "text"),
    )


def enough_line(enough: Enough, *, repeats: int, all_: str = "that all gives") -> tuple[Span, ...]:
    """What is enough, in words; `all_` says what an answer is compared with."""
    told = enough_words(enough, all_)
    often = f"   {repeats} runs each" if repeats > 1 else ""
    return (Span("ENOUGH WHEN  ", "title"), Span(told), Span(often, "muted"))


def tools_line(announced: Announcement | None, tools: ToolMode, name: str, *, done: bool) -> tuple[Span, ...]:
    """What will be executed and sent where (X4), in full before it is `done`; `name` is the turn under study."""
    how = {
        "recorded": f"recorded (calls are answered as in {name})",
        "stubbed": "stubbed (every call is answered by a stub)",
        "live": "live (each on its run's own state)",
    }[tools]
    if announced is None:
        return (Span("TOOLS  ", "title"), Span(how, "muted"))
    alarm: StyleName = "warning" if announced.remote or announced.foreign else "text"
    if not done:
        return (Span("RUNS  ", "title"), Span(announced.sentence, alarm))
    where = f"sent to {', '.join(announced.remote)}" if announced.remote else "nothing leaves this machine"
    return (Span("TOOLS  ", "title"), Span(f"{how}   {where}", alarm))


def progress_words(sweep: Sweep) -> str:
    """How far it is: runs, failures, tokens as the provider counted them."""
    told = f"{sweep.done} of {sweep.total} runs · {sweep.failed} failed"
    usage = sweep.usage
    if usage.input is not None or usage.output is not None:
        told += f" · {usage.input or 0:,} tok in, {usage.output or 0:,} out (provider's count)"
    return told


def state_words(sweep: Sweep | None) -> str:
    """The state in a word or two, with the name it is kept under."""
    if sweep is None:
        return "nothing run yet"
    if sweep.state == "running":
        return f"running · sweep {sweep.number}"
    return f"{sweep.state} · kept as sweep {sweep.number}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
