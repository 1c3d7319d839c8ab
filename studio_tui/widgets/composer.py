"""The composer: a request of several lines, the requests before it, suggestions; its text is never lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import TextArea

from studio_tui.text import safe_line
from studio_tui.visible import visible
from studio_tui.widgets.pieces import MUTED, Piece, PieceRow, Pieces


class RequestBox(TextArea):
    """A text box in which Enter sends and ctrl+j begins a line; up and down at the edges recall other requests."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+j", "newline", "newline", show=False)]

    class Sent(Message):
        """Enter was pressed; the text stays in the box until somebody takes it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Recalled(Message):
        """Up (-1) or down (+1) was pressed at the edge of the text."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Left(Message):
        """Esc was pressed: browse."""

    def get_line(self, line_index: int) -> Text:
        """A line as it is drawn: controls as stand-ins, one character for one (Q2)."""
        return Text(visible(self.document.get_line(line_index)), end="", no_wrap=True)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Sent(self.text))
        elif event.key == "escape":
            event.stop()
            event.prevent_default()
            self.post_message(self.Left())
        else:
            await super()._on_key(event)

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")

    def action_cursor_up(self, select: bool = False) -> None:
        """Up; at the first line, the request before."""
        if not select and self.navigator.is_first_wrapped_line(self.cursor_location):
            self.post_message(self.Recalled(-1))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down; at the last line, the request after."""
        if not select and self.navigator.is_last_wrapped_line(self.cursor_location):
            self.post_message(self.Recalled(+1))
        else:
            super().action_cursor_down(select)


@dataclass(slots=True)
class Recall:
    """The requests one can go through: those sent before, the draft, then the suggestions. Edits stay where made."""

    sent: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    at: int = 0
    """0 is the draft; -1 the newest request sent; +1 the first suggestion."""
    edited: dict[int, str] = field(default_factory=dict)

    def move(self, by: int, text: str) -> str | None:
        """The text to show after moving, `text` being what stands in the box; None if there is nothing there."""
        to = self.at + by
        if not -len(self.sent) <= to <= len(self.suggestions):
            return None
        self.edited[self.at] = text
        self.at = to
        return self._text(to)

    def offer(self, sent: tuple[str, ...], suggestions: tuple[str, ...], text: str) -> None:
        """Other requests and suggestions to go through; `text` in the box is the draft from here on."""
        self.sent, self.suggestions, self.at, self.edited = sent, suggestions, 0, {0: text}

    def _text(self, at: int) -> str:
        if at in self.edited:
            return self.edited[at]
        if at == 0:
            return ""
        return self.sent[at] if at < 0 else self.suggestions[at - 1]


class Composer(Vertical):
    """The box with its title, and a line of suggestions below."""

    DEFAULT_CSS = """
    Composer { height: auto; border: round $border; padding: 0; }
    Composer:focus-within { border: round $primary; }
    Composer RequestBox {
        height: auto; min-height: 2; max-height: 8; border: none; padding: 0; background: $background;
    }
    Composer RequestBox:focus { border: none; }
    Composer #suggestions { height: 1; }
    """

    def __init__(self, *, id: str = "composer") -> None:
        super().__init__(id=id)
        self.recall = Recall()
        self.placed = ""
        """What was last put into the box by the program, not typed."""

    def compose(self) -> ComposeResult:
        yield RequestBox(
            id="request", soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False, placeholder="",
        )  # fmt: skip
        yield Pieces(id="suggestions")

    @property
    def box(self) -> RequestBox:
        return self.query_one("#request", RequestBox)

    @property
    def text(self) -> str:
        """What is typed."""
        return self.box.text

    def put(self, text: str) -> None:
        """Show `text` in the box, the cursor at its end; undo gives back what stood there."""
        box, self.placed = self.box, text
        box.replace(text, (0, 0), box.document.end)
        box.move_cursor(box.document.end)

    def taken(self) -> None:
        """The text was sent: empty the box."""
        self.recall.at, self.recall.edited, self.placed = 0, {}, ""
        self.box.load_text("")

    def offer(self, sent: Sequence[str], suggestions: Sequence[str]) -> None:
        """The requests sent before on this thread, oldest first, and the suggestions of its seed."""
        recall = self.recall
        if tuple(sent) != recall.sent or tuple(suggestions) != recall.suggestions:
            recall.offer(tuple(sent), tuple(suggestions), self.text)
        pieces = tuple(self._pieces(suggestions))
        self.query_one("#suggestions", Pieces).rows = (PieceRow(pieces, (Piece("^j newline", MUTED),)),)

    def title(self, text: str) -> None:
        """What a request would be: the next turn of which thread, with which window."""
        self.border_title = safe_line(text)

    def _pieces(self, suggestions: Sequence[str]) -> Iterator[Piece]:
        if suggestions:
            yield Piece("try ↓  ", MUTED)
        for n, text in enumerate(suggestions):
            yield Piece(f'"{text}"', "$text-secondary", f"suggestion {n}")
            yield Piece("   ")

    def on_request_box_recalled(self, event: RequestBox.Recalled) -> None:
        event.stop()
        text = self.recall.move(event.by, self.text)
        if text is not None:
            self.put(text)

    def on_pieces_picked(self, event: Pieces.Picked) -> None:
        event.stop()
        number = int(event.pick.removeprefix("suggestion "))
        text = self.recall.move(number + 1 - self.recall.at, self.text)
        if text is not None:
            self.put(text)
        self.box.focus()
