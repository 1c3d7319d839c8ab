"""A run of an experiment as a turn: its CONTEXT and its MODEL, as on the main screen; the thread lies untouched."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from runtime.errors import StudioError
from runtime.values.messages import Row
from runtime.values.record import TurnRecord
from studio_tui.jobs import Job, sentence
from studio_tui.views.context import context_pane
from studio_tui.views.lines import Span
from studio_tui.views.model import model_pane
from studio_tui.widgets.footer import Status
from studio_tui.widgets.keys_footer import KeysFooter
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.spans_block import SpansBlock

if TYPE_CHECKING:
    from studio_tui.studio import StudioApp


class RunScreen(Screen[str]):
    """One of `turns`, beginning with `first`; `name` says where they come from. Gives the thread that a run was made,
    or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", show=False),
        Binding("left_square_bracket", "other(-1)", "previous run", show=False),
        Binding("right_square_bracket", "other(1)", "next run", show=False),
        Binding("f", "fork", "make it a thread", show=False),
        Binding("w", "wire", "wire body", show=False),
        Binding("y", "copy", "copy finding", show=False),
        Binding("f1", "app.help", "help", show=False),
    ]
    AUTO_FOCUS = "#context"

    def __init__(self, turns: Sequence[str], first: str, name: str) -> None:
        super().__init__()
        self._turns, self._at, self._name = tuple(turns), tuple(turns).index(first), name
        self.record: TurnRecord | None = None
        self._rows: dict[int, Row] = {}

    @property
    def studio(self) -> StudioApp:
        return cast("StudioApp", self.app)

    def compose(self) -> ComposeResult:
        yield SpansBlock(id="run-head")
        with Horizontal(id="run-panes"):
            yield LinesPane(id="context")
            yield LinesPane(id="model")
        yield KeysFooter(id="footer")

    def on_mount(self) -> None:
        self._read()

    def on_resize(self, event: events.Resize) -> None:
        """Below 100 columns the panes stand one above the other."""
        self.set_class(event.size.width < 100, "-narrow")

    def _read(self) -> None:
        turn = self._turns[self._at]

        async def work(job: Job) -> None:
            record = await self.studio.desk.runtime.record(turn, bodies=False)
            if self.is_attached and turn == self._turns[self._at]:
                self.record = record
                self._show()

        self.studio.jobs.start("reading the run", work, group="experiment-run", ended=self._read_ended)

    def _read_ended(self, job: Job) -> None:
        if job.failed is not None and self.is_attached:
            self.say(sentence(job.failed), "$text-error")

    def _show(self) -> None:
        record = self.record
        assert record is not None
        which = f"   run {self._at + 1} of {len(self._turns)}" if len(self._turns) > 1 else ""
        head = (
            Span("RUN  ", "title"),
            Span(f"{self._name}{which}   "),
            Span(f"“{' '.join(record.request.split())}”"),
            Span(f"   agent {record.agent}   run {record.turn}, kept; the thread does not change", "muted"),
        )
        self.query_one("#run-head", SpansBlock).show([head])
        rows = dict(self._rows)
        self.query_one("#context", LinesPane).show(lambda folds: context_pane(record, rows=rows, folds=folds))
        now = datetime.now(UTC)
        self.query_one("#model", LinesPane).show(lambda folds: model_pane(record, now=now, folds=folds))
        self.say("")

    def say(self, text: str, style: str = "$text-success") -> None:
        """The keys, and at the right what was just done."""
        keys = [("↑↓", "row", ""), ("⏎", "fold", ""), ("⇥", "pane", "app.focus_next")]
        if len(self._turns) > 1:
            keys += [("[ ]", "other run", "other(1)")]
        keys += [("f", "make it a thread", "fork"), ("w", "wire body", "wire"), ("y", "copy finding", "copy")]
        footer = self.query_one(KeysFooter)
        footer.keys = (*keys, ("esc", "back", "leave"))
        footer.status = Status(text, style)

    def on_lines_pane_toggle_fold(self, event: LinesPane.ToggleFold) -> None:
        """A range of rows was unfolded: read their texts."""
        event.stop()
        kind, _, span = event.line.partition(":")
        first, _, last = span.partition("-")
        record = self.record
        if kind != "out" or not first.isdigit() or record is None:
            return

        async def work(job: Job) -> None:
            store = self.studio.desk.runtime.store
            for row in await store.rows(record.thread, int(first), int(last or first)):
                self._rows[row.seq] = row
            self._show()

        self.studio.jobs.start("reading rows", work, group="experiment-run", ended=self._read_ended)

    def action_other(self, by: int) -> None:
        """Another run of the same window."""
        at = min(max(self._at + by, 0), len(self._turns) - 1)
        if at != self._at:
            self._at = at
            self._read()

    def action_fork(self) -> None:
        """Make the run a thread of its own, with its request and its answer as the newest rows."""
        turn = self._turns[self._at]

        async def work(job: Job) -> None:
            from runtime.experiments import make_fork

            self.dismiss(await make_fork(self.studio.desk.runtime, turn))

        self.studio.jobs.start("making a thread", work, group="experiment-run", ended=self._read_ended)

    def action_wire(self) -> None:
        """The body of the highlighted step's request, as it was sent; the last step's if none is."""
        record = self.record
        if record is None:
            return
        kind, _, id = self.query_one("#model", LinesPane).cursor.partition(":")
        steps = [step.step for step in record.steps]
        step = int(id) if kind == "step" and id.isdigit() else (steps[-1] if steps else 0)

        async def work(job: Job) -> None:
            from studio_tui.screens.reader import wire_body

            body = await self.studio.desk.runtime.store.body(record.turn, step) if step else None
            await self.app.push_screen(wire_body(record, step, body))

        self.studio.jobs.start("reading the body", work, group="experiment-run", ended=self._read_ended)

    def action_copy(self) -> None:
        """Copy what there is to say of the run in one sentence."""
        from runtime.explain import finding

        if self.record is not None:
            try:
                text = finding(self.record)
            except StudioError as error:
                self.say(sentence(error), "$text-error")
                return
            self.say(self.studio.copied_words(text, "the finding"))

    def action_leave(self) -> None:
        self.dismiss(None)
