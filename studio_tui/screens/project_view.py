"""What the two screens of a project share: panes that become tabs, painting, what is said, jobs, the editor.

Below 100 columns or 30 rows the panes stand behind one another.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import Screen

from runtime.errors import StudioError
from studio_tui.jobs import Job, sentence
from studio_tui.project_desk import ProjectDesk
from studio_tui.turn_runner import GROUP
from studio_tui.views.lines import Pane, Span, StyleName
from studio_tui.views.session import counted
from studio_tui.widgets.footer import Status
from studio_tui.widgets.head_line import model_in_words
from studio_tui.widgets.keys_footer import Key, KeysFooter
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import MUTED, Piece, PieceRow, Pieces
from studio_tui.widgets.spans_block import SpansBlock

if TYPE_CHECKING:
    from studio_tui.studio import StudioApp

NARROW, SHORT = 100, 30
"""Columns and rows below which the panes are tabs."""

TINY = (60, 16)
"""Columns or rows below which only one pane and one row of keys are shown."""


class ProjectView(Screen[None]):
    """Paints a project desk. Subclasses give `TABS`, `paint` and `keys`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "stop", "stop", show=False, priority=True),
        Binding("tab", "pane(1)", "pane", show=False),
        Binding("shift+tab", "pane(-1)", "pane", show=False),
        Binding("f1", "help", "help", show=False),
        Binding("question_mark", "help", "help", show=False),
        Binding("y", "copy", "copy finding", show=False),
        Binding("Y", "save", "save finding", show=False),
        Binding("e", "edit", "edit the line", show=False),
        Binding("ctrl+o", "open", "open", show=False),
        Binding("o", "open", "open", show=False),
        Binding("t", "turns", "turns of the thread", show=False),
    ]
    TABS: ClassVar[dict[str, str]] = {}
    """The panes that are tabs where there is little room, and how each is called there."""

    def __init__(self, desk: ProjectDesk) -> None:
        super().__init__()
        self.desk = desk
        self.tab = next(iter(self.TABS))
        self._said: Span | None = None
        self._waiting = False

    @property
    def studio(self) -> StudioApp:
        return cast("StudioApp", self.app)

    # What subclasses give

    def paint(self) -> None:
        """Draw everything from the desk."""

    def keys(self) -> Sequence[Key]:
        """The keys that work now, the most needed first."""
        return ()

    def commands(self) -> Iterable[tuple[str, str, str]]:
        """The same for the palette: words, key, action."""
        return [(word, key, action) for key, word, action in self.keys() if action]

    @property
    def finding(self) -> str:
        """What there is to copy; empty while there is nothing."""
        return ""

    def line_to_edit(self) -> tuple[str, int] | None:
        """The file (relative to the project) and line that `e` opens; None if there is none here."""
        return None

    # Painting

    @property
    def tabbed(self) -> bool:
        """Whether the panes stand behind one another."""
        return self.has_class("-tabbed")

    @property
    def narrow(self) -> bool:
        return self.has_class("-narrow")

    def pane(self, which: str) -> LinesPane:
        return self.query_one(f"#{which}", LinesPane)

    def show_pane(self, which: str, pane: Pane) -> None:
        """Draw a pane that does not fold."""
        self.pane(which).show(lambda folds: pane)

    def touch(self) -> None:
        """Paint soon; many touches are one painting."""
        if not self._waiting:
            self._waiting = True
            self.call_next(self._paint)

    def _paint(self) -> None:
        self._waiting = False
        if not self.is_attached:
            return
        self.paint()
        self._paint_tabs()
        self.paint_footer()

    def paint_footer(self) -> None:
        """The keys that work, and what is going on."""
        footer = self.query_one(KeysFooter)
        footer.keys = tuple(self.keys())
        footer.status = self._state()
        note = self.query_one("#note", SpansBlock)
        note.display = self._said is not None
        note.show([(self._said,)] if self._said is not None else [])

    def _state(self) -> Status:
        job = self.studio.jobs.of(GROUP)
        if job is not None:
            word = "stopping" if job.stopping else job.name
            return Status(f"{word} {job.step} · {job.seconds:.1f} s · ^c stop".replace("  ", " "), "bold $text-warning")
        return Status("idle", MUTED)

    def _paint_tabs(self) -> None:
        pieces: list[Piece] = []
        for which, name in self.TABS.items():
            chosen = which == self.tab
            pieces += [Piece(f"▐{name}▌" if chosen else f" {name} ", "bold reverse" if chosen else "", which)]
            pieces += [Piece("│")]
        self.query_one("#project-tabs", Pieces).rows = (PieceRow(tuple(pieces[:-1])),)

    def head_row(self, path: Sequence[str]) -> PieceRow:
        """Where we are, the project, who answers, and at the right what the compiler says."""
        desk, gap = self.desk, "  " if self.narrow else "    "
        name = desk.project.name if desk.project is not None else desk.folder.name
        left = [Piece(" › ".join([name, *path]), "bold")]
        if desk.models:
            told = " → ".join(model_in_words(model, wide=False) for model in desk.models)
            left.append(Piece(f"{gap}{'' if self.narrow else 'model '}{told}"))
        if not self.narrow:
            left.append(Piece(f"{gap}{_short(str(desk.folder))}", MUTED))
        right = [Piece(f"{gap}{counted(desk.problems, brief=self.narrow)}", "" if desk.runs else "bold $text-error")]
        if desk.changed:
            right.insert(0, Piece(f"{gap}edited" if self.narrow else f"{gap}files edited since", "$text-warning"))
        return PieceRow(tuple(left), tuple(right))

    def say(self, text: str, style: StyleName = "ok") -> None:
        """Show a sentence above the keys until something else happens; empty takes it away."""
        self._said = Span(text, style) if text else None
        self.touch()

    # Sizes and focus

    def on_mount(self) -> None:
        self.set_interval(0.25, self._tick)
        self.show_tab(self.tab)

    def _tick(self) -> None:
        if self.is_attached and self.studio.jobs.of(GROUP) is not None:
            self.paint_footer()

    def on_resize(self, event: events.Resize) -> None:
        """Stack the panes into tabs where there is too little room."""
        self.fit_to(event.size.width, event.size.height)
        self.show_tab(self.tab)

    def fit_to(self, width: int, height: int) -> None:
        """The classes that a size gives the screen."""
        self.set_class(width < NARROW or height < SHORT, "-tabbed")
        self.set_class(width < NARROW, "-narrow")
        self.set_class(width < TINY[0] or height < TINY[1], "-tiny")

    def show_tab(self, which: str) -> None:
        """Show one pane where they are tabs, all that have room elsewhere."""
        self.tab = which
        for each in self.TABS:
            self.pane(each).display = self.shows(each)
        self.touch()

    def shows(self, which: str) -> bool:
        """Whether a pane has its place now."""
        return not self.tabbed or which == self.tab

    def ring(self) -> list[str]:
        """What the tab key goes through."""
        return [each for each in self.TABS if self.tabbed or self.pane(each).display]

    def action_pane(self, by: int) -> None:
        ring = self.ring()
        here = self.focused.id if self.focused is not None and self.focused.id in ring else self.tab
        self.go(ring[(ring.index(here) + by) % len(ring)] if here in ring else ring[0])

    def go(self, which: str) -> None:
        """Give a pane the focus, and its tab."""
        if which in self.TABS and self.tab != which:
            self.show_tab(which)
        self.query_one(f"#{which}").focus()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        id = event.widget.id
        if id in self.TABS and self.tab != id:
            self.show_tab(id)
        self.touch()

    def on_pieces_picked(self, event: Pieces.Picked) -> None:
        """A click on a tab or a key does what the key does."""
        event.stop()
        if event.widget.id == "project-tabs":
            self.go(event.pick)
        elif event.pick:
            self.call_later(self.run_action, event.pick)

    # Work

    def work(self, name: str, reading: Callable[[], Awaitable[None]], *, group: str = "look") -> None:
        """Run something as a job; a later one of its group takes its place."""

        async def work(job: Job) -> None:
            await reading()

        self.studio.jobs.start(name, work, group=group, ended=self._ended)

    def _ended(self, job: Job) -> None:
        if not self.is_attached:
            return
        if job.failed is not None:
            self.say(sentence(job.failed), "error")
        elif job.stopping:
            self.say(f"stopped: {job.name}", "warning")
        self.touch()

    @property
    def busy(self) -> bool:
        """Whether a turn, a replay or a question runs."""
        return self.studio.jobs.of(GROUP) is not None

    # Actions of both

    async def action_stop(self) -> None:
        """Copy the marked text if there is any, else stop what runs."""
        text = self.get_selected_text()
        if text:
            self.say(self.studio.copied_words(text, "the marked text"))
            self.clear_selection()
        elif not await self.studio.stop():
            self.say("nothing is running; ^q quits", "muted")

    def action_copy(self) -> None:
        if self.finding:
            self.say(self.studio.copied_words(self.finding, "the finding"))
        else:
            self.say("there is no finding yet", "warning")

    def action_save(self) -> None:
        if self.finding:
            self.studio.save(self.finding)

    def action_open(self) -> None:
        self.studio.pick()

    def action_help(self) -> None:
        from studio_tui.screens.project_help import project_help

        self.app.push_screen(project_help())

    def action_edit(self) -> None:
        """Open the line in the editor, and check the project again when it is closed."""
        place = self.line_to_edit()
        if place is None:
            self.say("there is no line to edit here", "warning")
            return
        file, line = place
        before = counted(self.desk.problems)
        try:
            self.studio.editor(self.desk.folder / file, line)
            self.desk.check()
        except StudioError as error:
            self.say(sentence(error), "error")
            return
        self.app.refresh(layout=True)
        self.say(self._after_edit(before), "ok" if self.desk.runs else "error")

    def _after_edit(self, before: str) -> str:
        now = counted(self.desk.problems)
        told = f"checked again: {now.removeprefix('check: ')}"
        if not self.desk.runs:
            return f"{told}; it does not run"
        if not self.desk.changed:
            return f"{told}; nothing that runs has changed"
        return f"{told} (before: {before.removeprefix('check: ')}); ^r replays with the files as they are now"

    def action_turns(self) -> None:
        """The turns of the thread at hand, on the main screen."""
        thread = self.thread_at_hand()
        if thread:
            self.studio.show_thread(thread)
        else:
            self.say("nothing was said yet", "warning")

    def thread_at_hand(self) -> str:
        """The thread that `t` opens: the one spoken to."""
        return next((one.id for one in self.desk.threads if one.status == "active"), "") or next(
            (one.id for one in self.desk.threads), ""
        )


def _short(path: str, longest: int = 32) -> str:
    """The end of a path, from a folder's name on."""
    if len(path) <= longest:
        return path
    return "…" + path[-(longest - 1) :]
