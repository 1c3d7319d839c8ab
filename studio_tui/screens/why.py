"""Why is this message in the context, or why is it not: asked by number or words, answered in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from runtime.values.record import ContextItem, TurnRecord
from studio_tui.desk import Desk
from studio_tui.screens.dialog import Dialog, show_lines
from studio_tui.views.lines import Line, Span
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import MUTED

if TYPE_CHECKING:
    from runtime.explain import Account, Finding
    from runtime.values.messages import Row
    from studio_tui.studio import StudioApp


class WhyDialog(Dialog[int]):
    """Gives the seq of the row to go to, or None."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "copy", show=False),
        Binding("slash", "ask", "ask", show=False),
    ]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("⏎", "ask, then go to the row", "go"),
        ("/", "ask again", "ask"),
        ("y", "copy the sentence", "copy"),
        ("esc", "close", "leave"),
    )

    def __init__(self, desk: Desk) -> None:
        super().__init__("Why is it in, or out?", "A message by its number (seq), or words that it says:")
        self._desk = desk
        self.found: Finding | None = None

    def body(self) -> ComposeResult:
        yield Input(placeholder="9   or   the Friday draft")
        yield LinesPane(classes="answer")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Look it up; reading the thread's rows may take a moment."""
        asked = event.value.strip()
        if not asked:
            self.say("a number or some words, please")
            return
        self.say("looking …", MUTED)
        self.run_worker(self._look(asked), group="why", exclusive=True, exit_on_error=False, description="why")

    async def _look(self, asked: str) -> None:
        from runtime.errors import StudioError

        try:
            self.found = await find_out(self._desk, asked)
        except StudioError as error:
            self.say(str(error))
            return
        if self.found is None:
            self.say("nothing was assembled for this turn, so there is nothing to look in")
            return
        self.say("")
        show_lines(self.query_one(".answer", LinesPane), "answer", _lines(self.found))
        self.query_one(".answer", LinesPane).focus()

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        """Enter on the answer, or on a row that matched: go there."""
        event.stop()
        number = event.line.removeprefix("row:")
        if number.isdigit():
            self.dismiss(int(number))
        elif self.found is not None:
            self.dismiss(self.found.seq)

    async def action_go(self) -> None:
        """What a click on the Enter key does."""
        box = self.query_one(Input)
        if box.has_focus:
            await box.action_submit()
        else:
            self.query_one(".answer", LinesPane).action_choose()

    def action_ask(self) -> None:
        self.query_one(Input).focus()

    def action_copy(self) -> None:
        if self.found is not None:
            self.say(cast("StudioApp", self.app).copied_words(self.found.sentence, "the sentence"), "$text-success")


async def find_out(desk: Desk, asked: str) -> Finding | None:
    """The finding about a seq or a text in the turn under study; None if it has no context."""
    from runtime.explain import why

    found = await accounts_of(desk)
    if found is None:
        return None
    record, accounts, rows = found
    return why(record, accounts, int(asked) if asked.isdigit() else asked, rows)


async def accounts_of(desk: Desk) -> tuple[TurnRecord, tuple[Account, ...], list[Row]] | None:
    """The turn under study (the coming one as if it were a record), its ledger, and the thread's rows; None if it has
    no context."""
    from runtime.explain import ledger

    record = desk.record if desk.record is not None else _coming(desk)
    if record is None or record.context is None:
        return None
    last = max(record.context.stored, desk.thread.length if desk.thread is not None else 0)
    await desk.load(1, last)
    rows = [desk.rows[seq] for seq in sorted(desk.rows)]
    await desk.read_around()
    earlier = [each for each in desk.records if each.turn != record.turn and each.context is not None]
    return record, ledger(record, earlier=earlier, rows=rows), rows


def _coming(desk: Desk) -> TurnRecord | None:
    """The coming turn as a record that nothing was sent of, so that it can be asked about like any other."""
    item: ContextItem | None = desk.preview
    if item is None or desk.thread is None:
        return None
    from datetime import UTC, datetime

    from runtime.fold import fold
    from runtime.values.record import JournalItem, Turn

    number = max((turn.number for turn in desk.roots()[-1:]), default=0) + 1
    request = item.context.section("request")
    turn = Turn(
        "next", desk.thread.id, "envelope", desk.agent.name if desk.agent else "", desk.next_window,
        request.text if request else "", datetime.now(UTC), desk.thread.state, number=number,
    )  # fmt: skip
    return fold(turn, [JournalItem(1, 0, "context", item)])


def _lines(found: Finding) -> list[Line]:
    lines = [Line("sentence", (Span(found.sentence),))]
    if found.matches:
        lines.append(Line("also", (Span("rows that say it:", "muted"),)))
        lines += [Line(f"row:{seq}", (Span(f"  seq {seq}", "number"),)) for seq in found.matches]
    return lines
