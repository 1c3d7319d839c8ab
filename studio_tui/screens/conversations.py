"""Which conversation of a file that holds several, and how much of one that was compacted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from runtime.transcripts import Compaction, Listed
from studio_tui.screens.dialog import Dialog, show_lines
from studio_tui.views.lines import Line, Span
from studio_tui.widgets.lines import LinesPane

SHOWN = 500
"""How many conversations are listed at once; typing finds the others."""


class Conversations(Dialog[int]):
    """A box to narrow by, and below it what it leaves of the file's conversations."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "into", "list", show=False),
        Binding("enter", "take", "open", show=False),
    ]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("⏎", "open", "take"),
        ("↓", "list", "into"),
        ("esc", "close", "leave"),
    )

    def __init__(self, path: Path, listed: Sequence[Listed]) -> None:
        super().__init__(path.name, f"The file holds {len(listed):,} conversations: which one? Type to narrow.")
        self._listed = tuple(listed)
        self._words = tuple(f"{one.number} {one.title} {one.source}".casefold() for one in listed)

    def body(self) -> ComposeResult:
        yield Input(placeholder="words of the title, or a number")
        yield LinesPane(classes="list")

    def on_mount(self) -> None:
        super().on_mount()
        self._show("")

    def on_input_changed(self, event: Input.Changed) -> None:
        self.say("")
        self._show(event.value)

    def on_input_submitted(self) -> None:
        self.action_take()

    def on_key(self, event: events.Key) -> None:
        """Letters typed in the list go to the box."""
        pane, box = self.query_one(LinesPane), self.query_one(Input)
        if pane.has_focus and event.is_printable and event.character:
            event.stop()
            box.focus()
            box.insert_text_at_cursor(event.character)
        elif pane.has_focus and event.key == "backspace":
            event.stop()
            box.focus()

    def action_into(self) -> None:
        self.query_one(LinesPane).focus()

    def action_take(self) -> None:
        """Open the conversation whose number is typed, else the one the cursor is on."""
        typed = self.query_one(Input).value.strip()
        cursor = self.query_one(LinesPane).cursor
        if typed.isdigit() and any(one.number == int(typed) for one in self._listed):
            self.dismiss(int(typed))
        elif cursor.startswith("number:"):
            self.dismiss(int(cursor.removeprefix("number:")))
        else:
            self.say(f"no conversation has {typed!r} in its title")

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        event.stop()
        if event.line.startswith("number:"):
            self.dismiss(int(event.line.removeprefix("number:")))

    def _show(self, typed: str) -> None:
        wanted = typed.casefold().split()
        found = [
            one for one, words in zip(self._listed, self._words, strict=True) if all(word in words for word in wanted)
        ]
        lines = [_line(one) for one in found[:SHOWN]]
        if len(found) > SHOWN:
            lines.append(Line("more", (Span(f"  {len(found) - SHOWN:,} more: type to narrow", "muted"),)))
        show_lines(self.query_one(LinesPane), f"conversations {typed}", lines)


def _line(one: Listed) -> Line:
    aside = "side chain · " if one.aside else ""
    told = f"   {aside}{one.messages:,} message{'s' * (one.messages != 1)}{f' · {one.source}' if one.source else ''}"
    title = Span(one.title) if one.title else Span("nothing was said by a user", "muted")
    return Line(f"number:{one.number}", (Span(f"{one.number:>6}  ", "number"), title, Span(told, "muted")), wrap=False)


class HowMuch(Dialog[Compaction]):
    """The whole file, or what the model last saw."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,f", "take('full')", "full", show=False),
        Binding("l", "take('last-seen')", "last seen", show=False),
    ]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("⏎", "the full file", "take('full')"),
        ("l", "what the model last saw", "take('last-seen')"),
        ("esc", "not this file", "leave"),
    )

    def __init__(self, path: Path, compactions: int) -> None:
        times = "once" if compactions == 1 else f"{compactions:,} times"
        super().__init__(
            path.name,
            f"This session was compacted {times}: a summary took the place of the messages before it.\n\n"
            "The full file shows every message, each summary where it stood, and which messages each turn had left.\n"
            "What the model last saw begins with the newest summary.",
        )

    def action_take(self, compaction: Compaction) -> None:
        self.dismiss(compaction)
