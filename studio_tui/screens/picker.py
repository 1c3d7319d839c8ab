"""Opening something: a thread of this store, a seed, a file of one's own; typing narrows the list or names a path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from studio_tui.screens.dialog import Dialog, show_lines
from studio_tui.targets import MANIFEST, path_of
from studio_tui.views.lines import Line, Span
from studio_tui.widgets.lines import LinesPane

if TYPE_CHECKING:
    from runtime.stores import Thread

SHOWN = 500
"""How many entries are listed at once; typing finds the others."""

SUFFIXES = (".json", ".jsonl", ".yaml", ".yml", ".zip", ".eval", ".af")


@dataclass(frozen=True, slots=True)
class Pick:
    """What was picked: a thread's id, a shipped seed's name, or a path."""

    kind: Literal["thread", "seed", "path"]
    value: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to open. `words` is what typing is compared with."""

    pick: Pick
    name: str
    about: str = ""

    @property
    def words(self) -> str:
        return f"{self.pick.value} {self.name} {self.about}".casefold()


class Picker(Dialog[Pick]):
    """A box to type in, and below it what it leaves of threads, seeds and files."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("down", "into", "list", show=False)]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("⏎", "open", "take"),
        ("↓", "list", "into"),
        ("esc", "close", "leave"),
    )

    def __init__(self, entries: Sequence[Entry], folder: Path) -> None:
        super().__init__("Open", "A thread, a seed, or a conversation file of your own: type to narrow, or a path.")
        self._entries, self._folder = tuple(entries), folder

    def body(self) -> ComposeResult:
        yield Input(placeholder="friday   or   ~/logs/chat.json")
        yield LinesPane(classes="list")

    def on_mount(self) -> None:
        super().on_mount()
        self._list("")

    def on_input_changed(self, event: Input.Changed) -> None:
        self.say("")
        self._list(event.value)

    def on_input_submitted(self) -> None:
        self.action_take()

    def on_key(self, event: events.Key) -> None:
        """Up from the first line goes back to the box; letters typed in the list go there too."""
        pane, box = self.query_one(LinesPane), self.query_one(Input)
        if not pane.has_focus:
            return
        if event.is_printable and event.character:
            event.stop()
            box.focus()
            box.insert_text_at_cursor(event.character)
        elif event.key == "backspace":
            event.stop()
            box.focus()

    def action_into(self) -> None:
        self.query_one(LinesPane).focus()

    def action_take(self) -> None:
        """Open the path that is typed, else the line the cursor is on."""
        typed = self.query_one(Input).value.strip()
        path = path_of(typed, self._folder) if "/" in typed or "." in typed else None
        if path is not None:
            self.dismiss(Pick("path", str(path)))
            return
        cursor = self.query_one(LinesPane).cursor
        if cursor.startswith("entry:"):
            self.dismiss(self._entries[int(cursor.removeprefix("entry:"))].pick)
        else:
            self.say(f"there is no thread, seed or file {typed!r}" if typed else "there is nothing to open")

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        event.stop()
        if event.line.startswith("entry:"):
            self.dismiss(self._entries[int(event.line.removeprefix("entry:"))].pick)

    def _list(self, typed: str) -> None:
        wanted = typed.casefold().split()
        found = [
            (index, entry) for index, entry in enumerate(self._entries) if all(word in entry.words for word in wanted)
        ]
        lines: list[Line] = []
        before = ""
        for index, entry in found[:SHOWN]:
            if entry.pick.kind != before:
                before = entry.pick.kind
                title = {"thread": "THREADS", "seed": "SEEDS", "path": "FILES"}[before]
                lines.append(Line(f"group:{before}", (Span(title, "title"),), of=f"entry:{index}"))
            lines.append(
                Line(
                    f"entry:{index}",
                    (Span(f"  {entry.name}"), Span(f"   {entry.about}" if entry.about else "", "muted")),
                    wrap=False,
                )
            )
        if len(found) > SHOWN:
            lines.append(Line("more", (Span(f"  {len(found) - SHOWN:,} more: type to narrow", "muted"),)))
        show_lines(self.query_one(LinesPane), f"open {typed}", lines)


def entries_of(
    threads: Iterable[Thread], seeds: Iterable[tuple[str, str]], folder: Path, *, first: Literal["thread", "path"]
) -> list[Entry]:
    """Everything to open: the store's threads, newest first, the shipped seeds, and the files of `folder`."""
    of_threads = [
        Entry(
            Pick("thread", thread.id),
            f"{thread.id}  {thread.name or thread.agent or 'thread'}",
            f"{thread.length:,} messages, {thread.origin}, {thread.created:%Y-%m-%d %H:%M}",
        )
        for thread in threads
    ]
    of_seeds = [Entry(Pick("seed", name), name, about) for name, about in seeds]
    of_files = [Entry(Pick("path", str(path)), str(path.relative_to(folder))) for path in files_of(folder)]
    return [*of_files, *of_threads, *of_seeds] if first == "path" else [*of_threads, *of_seeds, *of_files]


def files_of(folder: Path) -> list[Path]:
    """The files and projects of a folder and its folders that may be opened, by name; hidden ones are left out."""
    found: list[Path] = []
    try:
        for path in sorted(folder.iterdir()):
            if path.name.startswith("."):
                continue
            if (path.is_file() and path.suffix.casefold() in SUFFIXES) or (path / MANIFEST).is_file():
                found.append(path)
            elif path.is_dir() and path.name in ("seeds", "agents", "conversations", "transcripts"):
                inside = sorted(each for each in path.iterdir() if each.suffix.casefold() in SUFFIXES)
                found += [each for each in inside if each.is_file()]
                found += [each for each in sorted(path.iterdir()) if (each / MANIFEST).is_file()]
            if len(found) >= 2000:
                break
    except OSError:
        return found
    return found
