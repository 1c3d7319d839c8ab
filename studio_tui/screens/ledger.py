"""The ledger on the screen: every message of the thread with its place or reason; typing narrows it (X1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from runtime.explain import Account
from runtime.explain.search import NAMES, only, saying
from runtime.values.messages import Row
from studio_tui.screens.dialog import Dialog
from studio_tui.views.ledger import ledger_pane
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import MUTED


class LedgerDialog(Dialog[int]):
    """Gives the seq of the row to go to, or None. A name of a reason narrows to it; any other words to what says
    them."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("down", "into", "list", show=False)]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("⏎", "go to the message", "go"),
        ("↓", "list", "into"),
        ("esc", "close", "leave"),
    )

    def __init__(self, name: str, accounts: Sequence[Account], rows: Sequence[Row]) -> None:
        named = {getattr(account, "reason", "") for account in accounts} & set(NAMES)
        reasons = ", ".join(sorted(named))
        intro = "Type words that a message says, or in, out, never-stored, repeated"
        super().__init__(f"Ledger of {name}", f"{intro}{f', {reasons}' if reasons else ''}.")
        self._accounts, self._all = tuple(accounts), tuple(rows)
        self._rows: Mapping[int, Row] = {row.seq: row for row in rows}

    def body(self) -> ComposeResult:
        yield Input(placeholder="Friday draft   or   out")
        yield LinesPane(classes="list")

    def on_mount(self) -> None:
        super().on_mount()
        self._list("")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._list(event.value.strip())

    def _list(self, typed: str) -> None:
        found = self.narrowed(typed)
        rows = self._rows
        self.query_one(LinesPane).show(lambda folds: ledger_pane(found, rows, typed))
        count = len(self.query_one(LinesPane).pane.lines) // 2
        if found:
            self.say(f"{count:,} entr{'y' if count == 1 else 'ies'}", MUTED)
        else:
            self.say(f"no message and nothing that was never stored says {typed!r}")

    def narrowed(self, typed: str) -> tuple[Account, ...]:
        """The accounts that the words leave: several names of reasons narrow one after the other."""
        found: tuple[Account, ...] = self._accounts
        words = typed.split()
        while words and words[0] in NAMES:
            found = only(found, words.pop(0))
        return saying(found, " ".join(words), self._all) if words else found

    def on_input_submitted(self) -> None:
        self.action_go()

    def on_key(self, event: events.Key) -> None:
        """Letters typed in the list go to the box."""
        pane, box = self.query_one(LinesPane), self.query_one(Input)
        if pane.has_focus and event.is_printable and event.character:
            event.stop()
            box.focus()
            box.insert_text_at_cursor(event.character)

    def action_into(self) -> None:
        self.query_one(LinesPane).focus()

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        event.stop()
        self.action_go()

    def action_go(self) -> None:
        """Go to the message under the cursor; what was never stored has no place to go to."""
        kind, _, rest = self.query_one(LinesPane).cursor.partition(":")
        first = rest.partition("-")[0]
        if kind == "row" and first.isdigit():
            self.dismiss(int(first))
        else:
            self.say("this was never stored, so it has no place in the thread")
