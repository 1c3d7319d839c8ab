"""What all dialogs share: a box with a title over the screen, a line of keys at its foot, Esc to leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from studio_tui.text import safe, safe_line
from studio_tui.views.lines import Line, Lines, Pane, Span, StyleName
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import Pieces, keys_row

T = TypeVar("T")


class Dialog(ModalScreen[T | None], Generic[T]):
    """A box over the screen. Subclasses give `body`; `keys` are (key, word, action) for the foot."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "close", show=False)]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (("esc", "close", "leave"),)
    DEFAULT_CSS = """
    Dialog { align: center middle; }
    """
    CSS = """
    .dialog {
        width: 90%;
        max-width: 110;
        height: auto;
        max-height: 90%;
        border: round $primary;
        background: $surface;
        padding: 0 1;
    }
    .dialog > .intro {
        height: auto;
        color: $foreground;
    }
    .dialog > .problem {
        height: auto;
    }
    .dialog > .keys {
        height: 1;
    }
    .dialog > Input {
        border: none;
        height: 1;
        padding: 0 1;
        background: $panel;
    }
    .dialog > LinesPane {
        border: none;
        height: 1fr;
    }
    Reader > .dialog {
        height: 90%;
    }
    Picker > .dialog {
        height: 80%;
    }
    WhyDialog > .dialog > .answer {
        height: 10;
    }
    """

    def __init__(self, title: str, intro: str = "") -> None:
        super().__init__()
        self._title, self._intro = title, intro

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = safe_line(self._title)
            if self._intro:
                yield Static(safe(self._intro), classes="intro")
            yield from self.body()
            yield Static(safe(""), classes="problem")
            yield Pieces(classes="keys")

    def body(self) -> ComposeResult:
        """What stands in the box between its first words and its keys."""
        yield from ()

    def on_mount(self) -> None:
        """Write the keys at the foot."""
        self.query_one(".keys", Pieces).rows = (keys_row(self.keys()),)

    def keys(self) -> tuple[tuple[str, str, str], ...]:
        """The keys at the foot, as (key, word, action)."""
        return self.KEYS

    def say(self, problem: str, style: str = "$text-error") -> None:
        """Show what is wrong, or what was done; empty takes it away."""
        self.query_one(".problem", Static).update(safe(problem, style if problem else ""))

    def on_pieces_picked(self, event: Pieces.Picked) -> None:
        """A click on a key does what the key does."""
        event.stop()
        self.call_later(self.run_action, event.pick)

    def action_leave(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


def text_pane(title: str, text: str, *, style: StyleName = "text") -> Pane:
    """A text as a pane, one line each; its lines are made when they are looked at."""
    lines = text.split("\n")
    group = 64

    def make(index: int) -> Sequence[Line]:
        first = index * group
        return tuple(
            Line(f"line:{first + n}", (Span(line, style),), hang=2)
            for n, line in enumerate(lines[first : first + group])
        )

    def find(id: str) -> int | None:
        number = id.removeprefix("line:")
        return int(number) // group if number.isdigit() else None

    sizes = [min(group, len(lines) - first) for first in range(0, len(lines), group)]
    return Pane(title, "", Lines(sizes, make, find))


def show_lines(pane: LinesPane, title: str, lines: Sequence[Line]) -> None:
    """Show lines that do not fold in a pane of a dialog."""
    shown = Pane(title, "", cast("Sequence[Line]", tuple(lines)))
    pane.show(lambda folds: shown)


Check = Callable[[str], str]
"""What is wrong with a text; empty if nothing is."""
