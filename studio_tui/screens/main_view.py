"""The main screen as it looks: lays out and paints what is on the desk. What its keys do is in `screens.thread`."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from studio_tui import showing
from studio_tui.actions import Focus, Situation
from studio_tui.desk import NEXT, Desk
from studio_tui.text import safe
from studio_tui.views.lines import Pane
from studio_tui.widgets.budget_line import BudgetLine, in_brief
from studio_tui.widgets.composer import Composer
from studio_tui.widgets.context import ContextPane
from studio_tui.widgets.footer import SMALLEST, ActionFooter, Status
from studio_tui.widgets.head_line import HeadLine
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.model import ModelPane
from studio_tui.widgets.pieces import Piece, PieceRow, Pieces
from studio_tui.widgets.turns import TurnsPane
from studio_tui.widgets.window_bar import WindowBar

if TYPE_CHECKING:
    from studio_tui.studio import StudioApp

FRAME = 1 / 30
"""Seconds between two paintings while text streams in: faster is not seen."""

PATIENCE = 1.0
"""Seconds after which work other than a turn is shown with its progress."""

REST = 0.2
"""Seconds without another turn selected after which the panes tell what was read of the turns around."""

NARROW, SHORT = 100, 30
"""Columns below which the panes become tabs, rows below which the composer is smaller."""

TINY = (60, 16)
"""Columns or rows below which only the most needed is shown."""

PANES: tuple[Focus, ...] = ("turns", "context", "model")
EVERYTHING = frozenset({"around", *PANES})


class MainView(Screen[None]):
    """Paints the desk. `touch` says what has changed; paintings are coalesced."""

    AUTO_FOCUS = "#request"

    def __init__(self, desk: Desk, *, store_name: str, saved: bool) -> None:
        super().__init__()
        self.desk = desk
        self.tab: Focus = "context"
        self.status_words: Status | None = None
        self._store_name, self._saved = store_name, saved
        self._unpainted: set[str] = set()
        self._painted = 0.0
        self._waiting = False
        self._jump: dict[str, str] = {}
        self._listed: object = None
        self._rests: Timer | None = None

    @property
    def studio(self) -> StudioApp:
        return cast("StudioApp", self.app)

    def compose(self) -> ComposeResult:
        self._fit_to(self.app.size)  # before anything is styled, so that nothing is styled twice
        yield HeadLine(id="head")
        yield WindowBar(id="window-bar")
        yield BudgetLine(id="budget")
        yield Pieces(id="tabs")
        with Horizontal(id="panes"):
            yield TurnsPane(id="turns")
            yield ContextPane(id="context")
            yield ModelPane(id="model")
        yield Composer()
        yield Static(id="notice")
        yield ActionFooter(id="footer")

    def pane(self, which: str) -> LinesPane:
        """One of the three panes."""
        return self.query_one(f"#{which}", LinesPane)

    @property
    def whole(self) -> bool:
        """Whether all parts are there: not before they are made, and not while the app is being left."""
        return self.is_attached and len(self.query("LinesPane, Composer, ActionFooter, #notice")) == 6

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    @property
    def focus_now(self) -> Focus:
        """Which part has the focus; the composer if none of the panes has."""
        focused = self.focused
        return focused.id if isinstance(focused, LinesPane) and focused.id in PANES else "composer"

    def highlighted(self, which: str) -> str:
        """The id of the line on which the pane's cursor is."""
        return self.pane(which).cursor

    @property
    def situation(self) -> Situation:
        """What decides which actions apply."""
        desk, focus = self.desk, self.focus_now
        record = desk.record
        turn = desk.turn(desk.selected)
        return Situation(
            focus=focus,
            thread=desk.thread is not None,
            selected=record is not None,
            coming=desk.thread is not None and desk.selected == NEXT,
            run=turn is not None and turn.view is not None,
            imported=turn is not None and turn.origin != "run",
            inside=bool(desk.inside),
            running=self.studio.runs_something,
            busy=desk.busy,
            seeded=desk.seed is not None,
            overlay=showing.overlaid(record, desk.window) or (record is None and desk.window is not None),
            text_marked=self.marked_text is not None,
            runs=len(desk.runs),
            marked=len(desk.marked),
            turn=turn.number if turn is not None else 0,
            line=self._kind_of(focus),
            narrow=self.has_class("-narrow"),
            session=self.studio.project is not None,
            in_session=desk.session is not None,
        )

    @property
    def marked_text(self) -> str | None:
        """Text marked with the mouse or in the composer; None if none is."""
        return self.composer.box.selected_text or self.get_selected_text() or None

    def touch(self, *parts: str, turn_to: str | None = None) -> None:
        """Paint `parts` soon (none named: everything). `turn_to` moves the cursor of TURNS to that turn."""
        self._unpainted.update(parts or EVERYTHING)
        if turn_to is not None:
            self._jump["turns"] = turn_to
        if self._waiting:
            return
        self._waiting = True
        wait = self._painted + FRAME - time.monotonic()
        if wait > 0:
            self.set_timer(wait, self._paint)
        else:
            self.call_next(self._paint)

    def paint_at_rest(self, *, more: bool) -> None:
        """Paint TURNS when the reader rests, not at every key, with thousands of them; the other panes too if `more`
        of the turns around was read."""

        def now() -> None:
            self._rests = None
            self.touch("turns", *(("context", "model") if more else ()))

        if self._rests is not None:
            self._rests.stop()
        self._rests = self.set_timer(REST, now)

    def _paint(self) -> None:
        self._waiting = False
        self._painted = time.monotonic()
        dirty, self._unpainted = self._unpainted, set()
        if not self.whole:
            return
        if self.desk.thread is None:
            self._paint_frame()
            return
        if "turns" in dirty:
            self._paint_turns()
        if "context" in dirty:
            self._paint_context()
        if "model" in dirty:
            self._paint_model()
        self._paint_around()

    def _paint_frame(self) -> None:
        """Nothing lies on the desk yet."""
        for which in PANES:
            empty = Pane(which.upper(), "", ())
            self.pane(which).show(lambda folds, empty=empty: empty)  # type: ignore[misc]  # the default is the value
        self.query_one(HeadLine).head = showing.head_of(self.desk, self._store_name)
        self.composer.title(showing.composer_title(self.desk))
        self.paint_footer()

    def _paint_turns(self) -> None:
        from studio_tui.views.turns import turns_pane

        desk, pane = self.desk, self.pane("turns")
        jump = self._jump.pop("turns", None)
        cursor = (NEXT if jump == NEXT else f"turn:{jump}") if jump else None
        records, forks = desk.records, desk.forks
        what_next = "running" if desk.running else "nothing sent"
        shown = (desk.turns, desk.turns.version, what_next, forks)
        if shown != self._listed:
            self._listed = shown
            pane.show(lambda folds: turns_pane(records, what_next=what_next, forks=forks, folds=folds), cursor=cursor)
        elif cursor is not None:
            pane.cursor = cursor

    def _paint_context(self) -> None:
        from studio_tui.views.context import context_pane

        desk = self.desk
        record, what_if, window = desk.record, desk.what_if, desk.next_window
        shown = desk.preview if desk.selected == NEXT else record
        records = tuple(each for each in desk.records_near() if each.context is not None)
        rows = dict(desk.rows)
        self.pane("context").show(
            lambda folds: context_pane(shown, what_if, window=window, records=records, rows=rows, folds=folds)
        )

    def _paint_model(self) -> None:
        from studio_tui.views.model import model_pane

        desk, pane = self.desk, self.pane("model")
        record, what_if = desk.record, desk.what_if
        is_turn = record is not None and not record.is_run and record.kind != "child"
        reruns = desk.runs if is_turn else ()
        live = desk.live.live(record.turn) if desk.live is not None and record is not None else None
        now = datetime.now(UTC)
        pane.show(lambda folds: model_pane(record, what_if=what_if, reruns=reruns, live=live, now=now, folds=folds))

    def _paint_around(self) -> None:
        desk = self.desk
        self.query_one(HeadLine).head = showing.head_of(desk, self._store_name)
        self.query_one(WindowBar).windows = showing.windows_of(desk)
        budget = showing.budget_of(desk)
        self.query_one(BudgetLine).budget = budget
        self.composer.title(showing.composer_title(desk))
        if desk.thread is not None:
            self.composer.offer(desk.requests(), desk.seed.suggestions if desk.seed else ())
        tiny = self.has_class("-tiny")
        self._paint_tabs("" if tiny or budget is None else f"   {in_brief(budget)} tokens")
        self.paint_footer()

    def _paint_tabs(self, right: str) -> None:
        from runtime.explain.words import plural

        steps = len(self.desk.record.steps) if self.desk.record is not None else 0
        names = {
            "turns": f"TURNS ({len(self.desk.roots())})",
            "context": "CONTEXT",
            "model": f"MODEL ({plural(steps, 'step')})",
        }
        pieces = []
        for which in PANES:
            chosen = which == self.tab
            text = f"▐{names[which]}▌" if chosen else f" {names[which]} "
            pieces += [Piece(text, "bold reverse" if chosen else "", which), Piece("│")]
        self.query_one("#tabs", Pieces).rows = (PieceRow(tuple(pieces[:-1]), (Piece(right),)),)

    def paint_footer(self) -> None:
        """The keys that work, and what is going on."""
        if not self.whole:
            return
        footer = self.query_one(ActionFooter)
        footer.situation = self.situation
        job, work = self.studio.turn_job, self.studio.other_job
        working = "" if work is None or work.seconds < PATIENCE else f"{work.name} {work.step} · {work.seconds:.1f} s"
        footer.status = self.status_words or showing.status_of(
            self.desk,
            saved=self._saved,
            seconds=job.seconds if job else 0.0,
            working=working,
            stopping=job.stopping if job else False,
        )

    def say(self, text: str, style: str = "$text-success") -> None:
        """Show a sentence until something else happens: in place of the status, above the keys if it is long."""
        if not self.whole:
            return
        room = self.size.width * 2 // 5
        long = len(text) > room
        notice = self.query_one("#notice", Static)
        notice.display = long
        notice.update(safe(text, style) if long else safe(""))
        self.status_words = None if long else Status(text, style)
        self.paint_footer()

    def unsay(self) -> None:
        """Take the sentence away."""
        if not self.whole:
            return
        self.query_one("#notice", Static).display = False
        if self.status_words is not None:
            self.status_words = None
            self.paint_footer()

    def on_resize(self, event: events.Resize) -> None:
        """Stack the panes into tabs on a narrow screen; say so if there is too little room."""
        self._fit_to(event.size)
        tiny = self.has_class("-tiny")
        self.query_one(ActionFooter).small = f"small: {SMALLEST[0]}x{SMALLEST[1]} shows all" if tiny else ""
        self.show_tab(self.tab)

    def _fit_to(self, size: Size) -> None:
        self.set_class(size.width < NARROW, "-narrow")
        self.set_class(size.height < SHORT, "-short")
        self.set_class(size.width < TINY[0] or size.height < TINY[1], "-tiny")

    def show_tab(self, which: Focus) -> None:
        """Show one pane on a narrow screen; all of them on a wide one."""
        self.tab = which
        narrow = self.has_class("-narrow")
        for each in PANES:
            self.pane(each).display = not narrow or each == which
        self.touch("around")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Another part has the focus: another tab, other keys."""
        widget: Widget | None = event.widget
        if isinstance(widget, LinesPane) and widget.id in PANES and self.tab != widget.id:
            self.show_tab(widget.id)
        self.touch("around")

    def on_text_selected(self) -> None:
        """Text was marked, or the mark was taken away: ctrl+c means another thing."""
        self.paint_footer()

    def _kind_of(self, focus: Focus) -> str:
        if focus == "composer":
            return ""
        line = self.highlighted(focus)
        kind = line.partition(":")[0]
        if kind == "turn":
            turn = self.desk.turn(line.partition(":")[2])
            return "run" if turn is not None and turn.view is not None else "turn"
        return kind
