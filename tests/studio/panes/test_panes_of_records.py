"""The three panes on the screen: foreign text as it is, folding in place, and work that follows what is in sight."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.geometry import Offset
from textual.selection import Selection

from runtime.explain import what_if
from runtime.values.items import AssistantStep, ToolCall, ToolResult, ToolResults
from runtime.values.messages import Row
from runtime.values.record import ToolOffered, TurnRecord
from studio_tui.views.context import context_pane
from studio_tui.views.model import Live, model_pane
from studio_tui.views.turns import turns_pane
from studio_tui.widgets.context import ContextPane
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.model import ModelPane
from studio_tui.widgets.turns import TurnsPane
from studio_tui.widgets.wrap import WORK

Turns = Callable[..., TurnRecord]
Rows = Callable[..., list[Row]]

MARKUP = "use [/INST] and arr[i][/j] and [/]"
CONTROLS = "a\x1b[2J\x1b[Hb\x07\x9bc\x1b]0;pwn\x07d"


class Three(App[None]):
    """TURNS, CONTEXT and MODEL beside each other on one record."""

    CSS = "Horizontal { height: 1fr; } TurnsPane { width: 28; } ContextPane { width: 5fr; } ModelPane { width: 4fr; }"

    def __init__(self, record: TurnRecord, rows: Sequence[Row] = (), **more: Any) -> None:
        super().__init__()
        self.record, self.more = record, more
        self.known: Mapping[int, Row] = {row.seq: row for row in rows}

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield TurnsPane()
            yield ContextPane()
            yield ModelPane()

    def on_mount(self) -> None:
        record, laid = self.record, self.more.get("what_if")
        self.query_one(TurnsPane).show(lambda folds: turns_pane([record], folds=folds))
        self.context.show(lambda folds: context_pane(record, laid, rows=self.known, records=[record], folds=folds))
        self.model.show(partial(self._model, live=self.more.get("live")))
        self.context.focus()

    def _model(self, folds: frozenset[str], live: Live | None) -> Any:
        return model_pane(self.record, what_if=self.more.get("what_if"), live=live, folds=folds)

    @property
    def context(self) -> ContextPane:
        return self.query_one(ContextPane)

    @property
    def model(self) -> ModelPane:
        return self.query_one(ModelPane)

    def drawn(self) -> str:
        """All of the screen as it goes to the terminal."""
        return "\n".join(strip.text for strip in self.screen._compositor.render_strips())


def rows_in(pane: LinesPane) -> list[str]:
    return [pane.render_line(y).text.rstrip() for y in range(pane.scrollable_content_region.height)]


def hostile(turn: Turns, rows: Rows, text: str) -> TurnRecord:
    """A turn in which every text that is not ours is `text`."""
    stored = rows(f"a {text}", f"u {text}")
    transcript = (
        AssistantStep(1, text, (ToolCall("c1", text, {text: text}),)),
        ToolResults(1, (ToolResult("c1", text, text),)),
        AssistantStep(2, text),
    )
    return turn(
        stored,
        transcript=transcript,
        tools=(ToolOffered(text, text, {"title": text}, 9),),
        state={"tone": text},
        turn=text,
        agent=text,
        error=text,
    )


@pytest.mark.parametrize("opened", [False, True])
async def test_C77_markup_is_shown_in_every_pane(turn: Turns, rows: Rows, opened: bool) -> None:
    record = hostile(turn, rows, MARKUP)
    app = Three(record)
    async with app.run_test(size=(240, 60)) as pilot:
        if opened:
            for pane in app.query(LinesPane):
                for line in list(pane.pane.lines):
                    if line.fold == "closed":
                        pane.fold(line.id)
            await pilot.pause()
        for pane in app.query(LinesPane):
            shown = "\n".join(rows_in(pane))
            assert ("use [/INST] and …" if isinstance(pane, TurnsPane) else MARKUP) in shown
        assert len(app.drawn()) > 0


async def test_C80_no_control_character_is_drawn_anywhere(turn: Turns, rows: Rows) -> None:
    app = Three(hostile(turn, rows, CONTROLS))
    async with app.run_test(size=(240, 60)):
        drawn = app.drawn()
        assert not [char for char in drawn if unicodedata.category(char) == "Cc" and char != "\n"]
        assert "a␛[2J␛[Hb␇␦c␛]0;pwn␇d" in drawn
        at = next(i for i, line in enumerate(app.context.pane.lines) if line.id == "row:1")
        whole = app.context.get_selection(Selection(Offset(0, at), Offset(999, at)))
        assert whole is not None
        assert whole[0].endswith(CONTROLS)
        assert app.title == "Three"


async def test_C65_half_a_surrogate_pair_does_not_stop_the_screen(turn: Turns, rows: Rows) -> None:
    app = Three(hostile(turn, rows, "half \ud83d emoji"))
    async with app.run_test(size=(240, 60)):
        app.drawn().encode()
        assert "half \ufffd emoji" in app.drawn()


async def test_C82_every_row_is_as_wide_as_it_is_measured(turn: Turns, rows: Rows) -> None:
    makefile = "all:\n" + "\tcc\t-o 漢字 x.c\n" * 200
    app = Three(hostile(turn, rows, makefile))
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.cursor = "row:1"
        await pilot.press("enter")
        for pane in app.query(LinesPane):
            for y in range(pane.scrollable_content_region.height):
                strip = pane.render_line(y)
                assert strip.cell_length == cell_len(strip.text) == pane.scrollable_content_region.width


async def test_C84_an_unfolded_row_of_a_million_characters_is_wrapped_where_one_looks(turn: Turns, rows: Rows) -> None:
    stored = rows("a " + "x" * 1_000_000, "u go")
    record = turn(stored, transcript=(AssistantStep(1, "y" * 1_000_000),))
    before = WORK.characters
    app = Three(record, stored)
    async with app.run_test(size=(120, 40)) as pilot:
        app.context.cursor = "row:1"
        await pilot.press("enter", "pagedown", "pagedown", "down", "up", "end", "home")
        assert WORK.characters - before < 150_000


async def test_a_fold_keeps_its_place_and_says_so(turn: Turns, friday: list[Row]) -> None:
    app = Three(turn(friday), friday)
    async with app.run_test(size=(120, 24)) as pilot:
        app.context.cursor = "out:2-8"
        await pilot.pause()
        y = next(y for y, row in enumerate(rows_in(app.context)) if "2–8" in row)
        await pilot.press("enter")
        assert "▾ 7 more left out   ⏎ fold" in rows_in(app.context)[y]
        assert "    13    2  asst  Noted." in rows_in(app.context)[y + 2]
        await pilot.press("enter")
        assert "▸ 7 more left out   ⏎ unfold" in rows_in(app.context)[y]


async def test_X3_moving_the_window_keeps_the_same_message_in_view(turn: Turns, friday: list[Row]) -> None:
    record = turn(friday)
    assert record.context is not None
    app = Three(record, friday)
    async with app.run_test(size=(120, 16)) as pilot:
        app.context.cursor = "row:12"
        await pilot.pause()
        for window in (3, 8, "all", 0):
            laid = what_if(record.context, friday, window)
            app.context.show(
                lambda folds, laid=laid: context_pane(record, laid, rows=app.known, folds=folds)  # type: ignore[misc]
            )
            await pilot.pause()
            assert any(row.startswith("▌") and "12  asst" in row for row in rows_in(app.context))


async def test_C87_roles_marks_and_statuses_are_words_and_signs(
    turn: Turns, friday: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    record = turn(friday, status="failed", reason="model-error", error="503", answer=None, stored_assistant=None)
    assert record.context is not None
    app = Three(record, friday, what_if=what_if(record.context, friday, 3))
    async with app.run_test(size=(120, 40)):
        drawn = app.drawn()
        for sign in ("user", "asst", "−    6", "window 3: what if, not sent", "✘ failed", "model-error", "▌", "┏"):
            assert sign in drawn


@pytest.mark.parametrize("at_end", [True, False])
async def test_a_stream_is_followed_only_while_its_end_is_in_sight(
    turn: Turns, friday: list[Row], at_end: bool
) -> None:
    record = turn(friday, transcript=(), status="running", answer=None, stored_assistant=None, seconds=None)
    app = Three(record, live=Live(1, "offline", "word " * 400))
    async with app.run_test(size=(120, 20)) as pilot:
        app.model.focus()
        await pilot.press("end", *(() if at_end else ("home",)))
        app.model.show(partial(app._model, live=Live(1, "offline", "word " * 800)))
        await pilot.pause()
        assert ("running" in rows_in(app.model)[-1]) is at_end


async def test_20000_rows_open_with_the_work_of_200(turn: Turns, rows: Rows) -> None:
    worked = []
    for count in (200, 20_000):
        stored = rows(*["u " + "and so on " * 30] * count)
        record = turn(stored)
        before = WORK.calls
        app = Three(record, stored[-200:])
        async with app.run_test(size=(120, 40)):
            assert "window 6: as it was sent" in app.drawn()
        worked.append(WORK.calls - before)
    assert worked[1] <= 2 * worked[0]
