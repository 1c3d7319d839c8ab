"""The sweep screen as it looks: paints a sweep as far as it is. What its keys do is in `screens.sweep`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from runtime.experiments.results import Announcement, Cell, Sweep, SweepSpec
from runtime.values.messages import Window
from runtime.values.record import TurnRecord
from studio_tui.screens.experiment import ExperimentScreen
from studio_tui.views import sweep as view
from studio_tui.views.lines import Line, Pane, Span
from studio_tui.views.patches import Patches
from studio_tui.views.sweep import CellId
from studio_tui.views.sweep_pair import Pair, deciding_of, pair_answers_pane, pair_contexts_pane
from studio_tui.widgets.footer import Status
from studio_tui.widgets.keys_footer import Key
from studio_tui.windows import shown

if TYPE_CHECKING:
    from runtime.compare import Comparison
    from runtime.subject import Subject

SLOW = 2_000
"""Rows of both contexts above which they are compared beside the screen."""


class SweepView(ExperimentScreen):
    """`spec` is what is wanted (`pending`: and was not run yet), `sweep` what was found so far."""

    NAMES: ClassVar[dict[str, str]] = {"table": "WINDOWS", "left": "CONTEXT", "right": "ANSWER"}
    ON_SCREEN: ClassVar[tuple[tuple[str, str], ...]] = (
        ("SWEEP", "the request that is run again, of which turn, who answers"),
        ("ENOUGH WHEN", "what must hold of an answer; s changes it, and nothing is run for that"),
        (
            "RUNS, TOOLS",
            "what is executed and sent where: said before it happens; what leaves here waits for ^r",
        ),
        ("WINDOWS", "a line for each window: the messages that enter there, tokens, in how many runs it was enough"),
        ("A, B, C", "answers that are equal have one letter; the words stand where the letter comes first"),
        ("▶", "the smallest window from which every larger one is enough"),
        ("◆", "the two windows that stand side by side below; space marks others"),
        ("THE MESSAGE", "the message that entered at the edge and says what the answer says, found by its text"),
        ("CONTEXT", "the messages that only one of the two had (+ −); ◀ the one that decides; what both had is folded"),
        ("ANSWER", "what each was answered, how often, and which words differ"),
        ("FINDING", "all of it in one sentence; y copies it"),
    )

    def __init__(self, *, subject: Subject | None = None, spec: SweepSpec | None = None, kept: str = "") -> None:
        super().__init__()
        self.subject = subject
        self.spec = spec or SweepSpec()
        self.sweep: Sweep | None = None
        self.announced: Announcement | None = None
        self.pending = subject is not None
        self.marked: tuple[CellId, ...] = ()
        self.differing = False
        self.pair: Pair | None = None
        self._painted_pair: Pair | None = None
        self._kept = kept
        self._records: dict[str, TurnRecord] = {}
        self._loading: tuple[str, str] | None = None
        self._plan: Pane | None = None
        self._cursor: str | None = None

    def paint(self) -> None:
        sweep = self.sweep
        narrow = self.has_class("-narrow")
        done = sweep is not None and sweep.state != "running" and not self.pending
        name = sweep.of_name if sweep is not None else self.subject.name if self.subject is not None else ""
        tools = view.tools_line(self.announced, self.spec.changes.tools, name, done=done)
        self.block("experiment-head").show([self._request(), self._enough(), (*tools, *self._progress())])
        table = self.lines("table")
        if sweep is None:
            plan = self._plan or Pane("WINDOWS", "", (Line("told", (Span("planning …", "muted"),)),))
            table.show(lambda folds: plan)
            self.fit_table(len(plan.lines))
            self.block("verdict").show([])
        else:
            marked, differing = self._shown_pair(sweep), self.differing
            cursor, self._cursor = self._cursor, None
            table.show(
                lambda folds: view.windows_pane(sweep, marked=marked, differing=differing, narrow=narrow),
                cursor=cursor,
            )
            self.fit_table(len(table.pane.lines))
            self.block("verdict").show([line.spans for line in view.edge_lines(sweep)])
        self.block("finding").show([(Span("FINDING  ", "title"), Span(self.finding))] if self.finding else [])
        self._paint_pair()

    def _request(self) -> tuple[Span, ...]:
        sweep, subject = self.sweep, self.subject
        models = ", ".join(self.announced.models) if self.announced else ""
        if sweep is not None:
            of = f"re-runs {sweep.of_name} of {sweep.thread}" if sweep.of else f"asked of {sweep.of_name}"
            return view.request_line(
                request=sweep.request, of=of, stored=sweep.stored, agent=sweep.agent, models=models
            )
        assert subject is not None or self._kept
        if subject is None:
            return (Span("SWEEP  ", "title"), Span(f"reading {self._kept} …", "muted"))
        of = f"re-runs {subject.name} of {subject.thread.id}" if subject.of else f"asked of {subject.name}"
        return view.request_line(
            request=subject.request, of=of, stored=subject.stored, agent=subject.agent.name, models=models
        )

    def _enough(self) -> tuple[Span, ...]:
        told = view.enough_line(self.spec.enough, repeats=self.spec.repeats)
        return (*told, Span("   s: contains · matches · calls · json · same as all · by hand", "muted"))

    def _progress(self) -> tuple[Span, ...]:
        changes = self.spec.changes
        patched = Patches("", frozenset(changes.drop), changes.edit or {}).words
        return (
            Span(f"   {patched}" if patched else "", "what-if"),
            Span(f"   {view.progress_words(self.sweep)}" if self.sweep is not None else "", "text"),
        )

    def _paint_pair(self) -> None:
        sweep = self.sweep
        if sweep is None:
            for which, title in (("left", "CONTEXT"), ("right", "ANSWER")):
                empty = Pane(title, "", (Line("told", (Span("two windows side by side, once they ran", "muted"),)),))
                self.lines(which).show(lambda folds, empty=empty: empty)  # type: ignore[misc]  # the default is the value
            return
        cells = [view.cell_of(sweep, id) for id in self._shown_pair(sweep)]
        runs = [cell.main for cell in cells if cell is not None and cell.main is not None]
        if len(runs) == 2:
            self._load_pair(runs[0].turn, runs[1].turn)
        pair = self.pair
        if pair is not None and pair is not self._painted_pair:
            self._painted_pair = pair
            self.lines("left").show(lambda folds: pair_contexts_pane(pair, folds))
            self.lines("right").show(lambda folds: pair_answers_pane(sweep, pair))

    def _shown_pair(self, sweep: Sweep) -> tuple[CellId, ...]:
        """The two windows side by side: those marked, else the edge and the window below it, else first and last."""
        marked = [id for id in self.marked if view.cell_of(sweep, id) is not None]
        if len(marked) == 2:
            return tuple(sorted(marked, key=lambda id: (id.variant, float("inf") if id.window == "all" else id.window)))
        ran = [cell for cell in sweep.cells if cell.runs and cell.same_as is None]
        edge = next((edge for edge in sweep.edges if edge.smallest is not None), None)
        default: list[CellId] = []
        if edge is not None and edge.below is not None and edge.smallest is not None:
            at = view.variants_of(sweep).index(edge.variant)
            default = [CellId(at, edge.below), CellId(at, edge.smallest)]
        elif len(ran) > 1:
            default = [view.id_of(sweep, ran[0]), view.id_of(sweep, ran[-1])]
        if len(marked) == 1 and default:
            other = default[-1] if default[-1] != marked[0] else default[0]
            return (marked[0], other)
        return tuple(default)

    def _load_pair(self, a: str, b: str) -> None:
        """Read the records of the two runs and compare them, unless that was done."""
        if self._loading == (a, b):
            self._renew_pair()
            return
        self._loading = (a, b)

        async def reading() -> None:
            from runtime.compare import compare

            one, other = await self._record(a), await self._record(b)
            rows = sum(len(record.context.rows) for record in (one, other) if record.context is not None)
            found = await asyncio.to_thread(compare, one, other) if rows > SLOW else compare(one, other)
            if self._loading == (a, b):
                self.pair = self._paired(found)
                self.touch()

        self.work("comparing", reading, group="experiment-pair")

    def _renew_pair(self) -> None:
        """The same two runs, with what is known of their cells by now."""
        known = self.pair
        if known is None or (known.comparison.a.turn, known.comparison.b.turn) != self._loading:
            return
        found = self._paired(known.comparison)
        if found is not None and (found.a, found.b, found.deciding) != (known.a, known.b, known.deciding):
            self.pair = found

    def _paired(self, comparison: Comparison) -> Pair | None:
        sweep = self.sweep
        if sweep is None:
            return None
        cells = [view.cell_of(sweep, id) for id in self._shown_pair(sweep)]
        if len(cells) != 2 or cells[0] is None or cells[1] is None:
            return None
        return Pair(cells[0], cells[1], comparison, deciding_of(sweep))

    async def _record(self, turn: str) -> TurnRecord:
        if turn not in self._records:
            self._records[turn] = await self.runtime.record(turn, bodies=False)
        return self._records[turn]

    def keys_now(self) -> Sequence[Key]:
        running = self.studio.experiments.job is not None
        window, sweep = self.window_found, self.sweep
        again = "run" if self.pending or sweep is None else "run again"
        found: list[Key] = [("^c", "stop, keep what is done", "stop")] if running else [("^r", again, "again")]
        if any(one.word == "by hand" for one in self.spec.enough.predicates) and sweep is not None:
            found.append(("j", "judge the answers", "judge"))
        if sweep is not None:
            found += [("⏎", "open that run", ""), ("space", "mark two", "mark")]
        if not running:
            found.append(("s", "enough when", "enough"))
        if sweep is not None and not running:
            found.append(("l", "leave one out", "ablate"))
        if window is not None and not running:
            found.append(("A", f"write historyWindow: {shown(window)}", "adopt"))
        if self.finding:
            found.append(("y", "copy finding", "copy"))
        found.append(("esc", "back", "leave"))
        if not running:
            found += [("+", "add window", "window"), ("k", "runs each", "repeats"), ("b", "bisect", "bisect")]
        if sweep is not None:
            found.append(("d", "all windows" if self.differing else "where it differs", "differing"))
        if self.finding:
            found.append(("x", "export", "export"))
        if not running:
            found += [("m", "models", "models"), ("g", "agents", "agents"), ("t", "tools", "tools")]
        return (*found, ("⇥", "pane", "pane(1)"), ("F1", "help", "help"))

    def state(self) -> Status:
        job = self.studio.experiments.job
        if job is not None:
            doing = "stopping" if job.stopping else f"running {job.step}"
            return Status(f"{doing} · {job.seconds:.0f} s", "bold $text-warning")
        return Status(view.state_words(self.sweep), "$foreground 60%")

    @property
    def finding(self) -> str:
        return self.sweep.finding if self.sweep is not None else ""

    @property
    def window_found(self) -> Window | None:
        """The window that `A` writes: the smallest that is enough, else the one the cursor is on."""
        if self.sweep is None:
            return None
        smallest = self.sweep.smallest_sufficient
        here = self._cell_here()
        return smallest if smallest is not None or here is None else here.window

    def _cell_here(self) -> Cell | None:
        id = CellId.read(self.lines("table").cursor)
        return view.cell_of(self.sweep, id) if self.sweep is not None and id is not None else None
