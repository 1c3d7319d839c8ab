"""What the screens of experiments share: head, a table, two panes beside each other, the finding, keys, stop and save.

Below 100 columns or 30 rows the panes are tabs. Paintings are coalesced: an experiment may tell a hundred states a
second.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from studio_tui.jobs import Job, sentence
from studio_tui.widgets.footer import Status
from studio_tui.widgets.keys_footer import Key, KeysFooter
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import MUTED, Piece, PieceRow, Pieces
from studio_tui.widgets.spans_block import SpansBlock

if TYPE_CHECKING:
    from runtime.threads import Runtime
    from studio_tui.experimenting import Found
    from studio_tui.studio import StudioApp

FRAME = 1 / 15
"""Seconds between two paintings while an experiment runs."""

NARROW, SHORT = 100, 30
"""Columns and rows below which the panes are tabs."""

TALL = 36
"""Rows from which the keys have three rows."""

TINY = (60, 16)
"""Columns or rows below which only the table, its verdict and the keys are shown."""


class ExperimentScreen(Screen[None]):
    """A table with the pane `#table`, and `#left` and `#right` below it. Subclasses paint, and name their keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", show=False),
        Binding("y", "copy", "copy finding", show=False),
        Binding("Y", "save", "save finding", show=False),
        Binding("x", "export", "export", show=False),
        Binding("ctrl+r,r", "again", "run", show=False),
        Binding("ctrl+c", "stop", "stop, keep what is done", show=False, priority=True),
        Binding("tab", "pane(1)", "pane", show=False),
        Binding("shift+tab", "pane(-1)", "pane", show=False),
        Binding("f1", "help", "help", show=False),
        Binding("question_mark", "help", "help", show=False),
    ]
    AUTO_FOCUS = "#table"
    NAMES: ClassVar[dict[str, str]] = {"table": "TABLE", "left": "LEFT", "right": "RIGHT"}
    ON_SCREEN: ClassVar[tuple[tuple[str, str], ...]] = ()
    """What the help says of the parts of the screen."""

    def __init__(self) -> None:
        super().__init__()
        self.tab = "table"
        self._said: Status | None = None
        self._waiting = False
        self._painted = 0.0

    @property
    def studio(self) -> StudioApp:
        return cast("StudioApp", self.app)

    @property
    def runtime(self) -> Runtime:
        return self.studio.desk.runtime

    def compose(self) -> ComposeResult:
        self._fit_to(self.app.size.width, self.app.size.height)
        yield SpansBlock(id="experiment-head")
        yield Pieces(id="experiment-tabs")
        yield LinesPane(id="table")
        yield SpansBlock(id="verdict")
        with Horizontal(id="beside"):
            yield LinesPane(id="left")
            yield LinesPane(id="right")
        yield SpansBlock(id="finding")
        yield KeysFooter(id="footer")

    # What subclasses give

    def paint(self) -> None:
        """Draw everything from the state at hand."""

    def commands(self) -> Iterator[tuple[str, str, str]]:
        """The palette: what the keys do that work now, as (words, key, action)."""
        yield from ((word, key, action) for key, word, action in self.keys_now() if action)
        yield "Quit", "^q", "app.leave"

    def keys_now(self) -> Sequence[Key]:
        """The keys that work now, the most needed first."""
        return ()

    def state(self) -> Status:
        """What is going on, where nothing else was just said."""
        return Status("")

    @property
    def finding(self) -> str:
        """The finding as one sentence; empty while there is none."""
        return ""

    def take(self, found: Found) -> None:
        """A state of the experiment was told."""

    # Around the panes

    def on_mount(self) -> None:
        self.studio.experiments.listen(self._told, self._over)
        self.show_tab(self.tab)

    def on_unmount(self) -> None:
        self.studio.experiments.leave(self._told)

    def _told(self, found: Found) -> None:
        self.take(found)
        self.touch()

    def _over(self, job: Job) -> None:
        if job.failed is not None:
            self.say(sentence(job.failed), "$text-error")
        elif job.stopping:
            self.say("stopped; what is done is kept", "$text-warning")
        self.touch()

    def work(self, name: str, reading: Callable[[], Awaitable[None]], group: str = "experiment-look") -> None:
        """Run something that reads, as a job; a later one of the group takes its place."""

        async def work(job: Job) -> None:
            await reading()

        self.studio.jobs.start(name, work, group=group, ended=self._looked)

    def _looked(self, job: Job) -> None:
        if job.failed is not None and self.is_attached:
            self.say(sentence(job.failed), "$text-error")
        self.touch()

    def touch(self) -> None:
        """Paint soon."""
        if self._waiting:
            return
        self._waiting = True
        wait = self._painted + FRAME - time.monotonic()
        if wait > 0:
            self.set_timer(wait, self._paint)
        else:
            self.call_next(self._paint)

    def _paint(self) -> None:
        self._waiting = False
        self._painted = time.monotonic()
        if not self.is_attached:
            return
        self.paint()
        self._paint_tabs()
        footer = self.query_one(KeysFooter)
        footer.keys = tuple(self.keys_now())
        footer.status = self._said or self.state()

    def _paint_tabs(self) -> None:
        pieces: list[Piece] = []
        for which, name in self.NAMES.items():
            chosen = which == self.tab
            pieces += [Piece(f"▐{name}▌" if chosen else f" {name} ", "bold reverse" if chosen else "", which)]
            pieces += [Piece("│")]
        self.query_one("#experiment-tabs", Pieces).rows = (PieceRow(tuple(pieces[:-1])),)

    def say(self, text: str, style: str = "$text-success") -> None:
        """Show a sentence in place of the state until something else happens."""
        self._said = Status(text, style) if text else None
        self.touch()

    def lines(self, which: str) -> LinesPane:
        """One of the three panes."""
        return self.query_one(f"#{which}", LinesPane)

    def block(self, which: str) -> SpansBlock:
        """One of the three blocks of text."""
        return self.query_one(f"#{which}", SpansBlock)

    def on_resize(self, event: events.Resize) -> None:
        """Stack the panes into tabs where there is too little room."""
        self._fit_to(event.size.width, event.size.height)
        self.show_tab(self.tab)

    def _fit_to(self, width: int, height: int) -> None:
        self.set_class(width < NARROW or height < SHORT, "-tabbed")
        self.set_class(width < NARROW, "-narrow")
        self.set_class(width >= NARROW and height >= TALL, "-tall")
        self.set_class(width < TINY[0] or height < TINY[1], "-tiny")

    def show_tab(self, which: str) -> None:
        """Show one pane where they are tabs; all of them elsewhere."""
        self.tab = which
        tabbed = self.has_class("-tabbed")
        for each in self.NAMES:
            self.lines(each).display = not tabbed or each == which
        self.query_one("#beside").display = not tabbed or which != "table"
        self.block("verdict").display = not tabbed or which == "table"
        self.touch()

    def fit_table(self, count: int) -> None:
        """Give the table as many rows as it has lines, up to half of the screen; all the room where it is a tab."""
        table = self.lines("table")
        if self.has_class("-tabbed"):
            table.styles.height = "1fr"
        else:
            table.styles.height = min(count + 2, max(6, (self.size.height - 8) // 2))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if isinstance(event.widget, LinesPane) and event.widget.id in self.NAMES and self.tab != event.widget.id:
            self.show_tab(event.widget.id)

    def on_pieces_picked(self, event: Pieces.Picked) -> None:
        """A click on a tab or a key does what the key does."""
        event.stop()
        if event.widget.id == "experiment-tabs":
            self.action_go(event.pick)
        else:
            self.call_later(self.run_action, event.pick)

    # Actions

    def action_help(self) -> None:
        """What is on this screen, and its keys."""
        from studio_tui.screens.experiment_help import experiment_help

        self.app.push_screen(experiment_help(self.ON_SCREEN, self.keys_now()))

    def action_go(self, which: str) -> None:
        self.show_tab(which)
        self.lines(which).focus()

    def action_pane(self, by: int) -> None:
        ring = list(self.NAMES)
        here = self.focused.id if self.focused is not None and self.focused.id in ring else self.tab
        self.action_go(ring[(ring.index(here or "table") + by) % len(ring)])

    def action_stop(self) -> None:
        """Copy the marked text if there is any, else stop the experiment and keep what is done."""
        text = self.get_selected_text()
        if text:
            self.say(self.studio.copied_words(text, "the marked text"))
            self.clear_selection()
        elif not self.studio.experiments.stop():
            self.say("nothing is running", MUTED)

    def action_copy(self) -> None:
        if self.finding:
            self.say(self.studio.copied_words(self.finding, "the finding"))
        else:
            self.say("there is no finding yet", "$text-warning")

    def action_save(self) -> None:
        if self.finding:
            self.studio.save(self.finding)

    def action_leave(self) -> None:
        """Back; what runs goes on, and ^c on the main screen stops it."""
        self.dismiss(None)

    def action_again(self) -> None:
        """Run what is wanted."""

    def action_export(self) -> None:
        """Ask for a file name and write the results there."""

    def export_as(self, stem: str, written: Callable[[str], str]) -> None:
        """Ask for a name whose end says the format; `written` gives the text for `json`, `csv` or `md`."""
        from runtime.errors import BadInput
        from studio_tui.saving import problem_of, save
        from studio_tui.screens.ask_line import AskLine

        folder = Path.cwd()

        def check(name: str) -> str:
            if Path(name).suffix not in (".json", ".csv", ".md"):
                return "the name's end says the format: .json, .csv or .md"
            return problem_of(name, folder)

        def answered(name: str | None) -> None:
            if name is None:
                return
            try:
                path = save(written(Path(name).suffix[1:]), name, folder)
            except BadInput as error:
                self.say(str(error), "$text-error")
            else:
                self.say(f"saved {path}")

        intro = f"The name of a new file in {folder}; .json, .csv (a line for each run) or .md"
        self.app.push_screen(AskLine("Export", intro, check, f"{stem}.json"), answered)
