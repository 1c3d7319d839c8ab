"""The comparison of two turns or runs: contexts, steps, answers, and the finding in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from runtime.compare import compare
from runtime.values.record import TurnRecord
from studio_tui.views.compare import contexts_pane, outcomes_pane
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import Piece, PieceRow, Pieces, keys_row

if TYPE_CHECKING:
    from studio_tui.studio import StudioApp

KEYS = (
    ("↑↓", "row", ""),
    ("⇥", "pane", "app.focus_next"),
    ("x", "A and B the other way", "swap"),
    ("y", "copy finding", "copy"),
    ("Y", "save it", "save"),
    ("F1", "help", "app.help"),
    ("esc", "back", "leave"),
)


class CompareScreen(Screen[None]):
    """Two records side by side; nothing here changes them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", show=False),
        Binding("y", "copy", "copy finding", show=False),
        Binding("Y", "save", "save finding", show=False),
        Binding("x", "swap", "A and B the other way", show=False),
    ]
    AUTO_FOCUS = "#contexts"
    CSS = """
    CompareScreen #contexts, CompareScreen #outcomes {
        width: 1fr;
        height: 1fr;
    }
    CompareScreen.-narrow #panes {
        layout: vertical;
    }
    CompareScreen #head {
        height: 1;
        padding: 0 1;
        background: $panel;
    }
    CompareScreen #finding {
        height: 4;
        border: none;
        padding: 0;
    }
    CompareScreen #footer {
        height: 1;
        padding: 0 1;
        background: $panel;
    }
    """

    def __init__(self, a: TurnRecord, b: TurnRecord) -> None:
        super().__init__()
        self._a, self._b = a, b
        self.comparison = compare(a, b)

    def compose(self) -> ComposeResult:
        yield Pieces(id="head")
        with Horizontal(id="panes"):
            yield LinesPane(id="contexts")
            yield LinesPane(id="outcomes")
        yield LinesPane(id="finding")
        yield Pieces(id="footer")

    def on_mount(self) -> None:
        self._show()

    def on_resize(self, event: events.Resize) -> None:
        """Below 100 columns the panes stand one above the other."""
        self.set_class(event.size.width < 100, "-narrow")

    def _show(self) -> None:
        from studio_tui.screens.dialog import show_lines
        from studio_tui.views.lines import Line, Span

        comparison = self.comparison
        head = Piece(f"COMPARE   {comparison.a.request}", "bold")
        self.query_one("#head", Pieces).rows = (PieceRow((head,)),)
        self.query_one("#contexts", LinesPane).show(lambda folds: contexts_pane(comparison))
        self.query_one("#outcomes", LinesPane).show(lambda folds: outcomes_pane(comparison))
        finding = Line("finding", (Span("FINDING  ", "title"), Span(comparison.finding)), hang=9)
        show_lines(self.query_one("#finding", LinesPane), "finding", [finding])
        self.say("")

    def say(self, text: str) -> None:
        """The keys, and at the right what was just done."""
        self.query_one("#footer", Pieces).rows = (keys_row(KEYS, (Piece(text, "$text-success"),)),)

    def on_pieces_picked(self, event: Pieces.Picked) -> None:
        event.stop()
        self.call_later(self.run_action, event.pick)

    def action_swap(self) -> None:
        """The first is the second and the second the first."""
        self._a, self._b = self._b, self._a
        self.comparison = compare(self._a, self._b)
        self._show()

    def action_copy(self) -> None:
        self.say(cast("StudioApp", self.app).copied_words(self.comparison.finding, "the finding"))

    def action_save(self) -> None:
        cast("StudioApp", self.app).save(self.comparison.finding)

    def action_leave(self) -> None:
        self.dismiss(None)
