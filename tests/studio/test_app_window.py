"""The window on the main screen: what-if over the record, the coming turn, the words (X3)."""

from __future__ import annotations

from typing import Any

import pytest

from studio_tui.views.turns import NEXT
from studio_tui.widgets.window_bar import WindowBar

Studio = Any
"""The `studio` fixture of conftest.py; importlib mode does not let test files import it by name."""


async def test_X3_the_what_if_never_alters_the_record(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("When is the Friday draft due?")
        before = at.main.desk.record
        await at.press("f3", "f3", "f3")
        await at.see("▐3▌", "•6", "RECORD + WHAT IF", "window 3: what if, not sent", "window 6: as it was sent")
        await at.idle()
        assert at.main.desk.record is before
        assert (await at.runtime.record(before.turn, bodies=False)).window == 6
        await at.press("f2")
        await at.see_no("WHAT IF")


async def test_X3_every_press_steps_on_even_when_pressed_fast(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        for _ in range(3):
            at.main.action_smaller()
        await at.idle()
        assert at.main.desk.window == 3


async def test_X3_a_larger_window_shows_the_rows_that_would_enter(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        await at.press("escape", "a")
        await at.see("▐all▌", "all = every stored message (9)", "The Friday draft")
        assert [row.seq for row in at.main.desk.what_if.entered] == [1, 2, 3]


async def test_X3_both_token_sums_stand_on_the_budget_line(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        await at.press("escape", "0")
        await at.see("▐0▌", "history ")
        await at.idle()
        what_if = at.main.desk.what_if
        assert f"{what_if.before['history']}→0" in at.line_with("BUDGET")
        assert f"{what_if.tokens_before}→{what_if.tokens_after}" in at.line_with("BUDGET")


@pytest.mark.parametrize(("key", "window"), [("1", 1), ("9", 9), ("a", "all"), ("minus", 5), ("plus", 8)])
async def test_digits_a_minus_and_plus_in_browse_mode(studio: Studio, key: str, window: object) -> None:
    async with studio() as at:
        await at.ask("ping")
        await at.press("escape", key)
        await at.idle()
        assert at.main.desk.window == window


async def test_a_digit_while_typing_is_a_digit(studio: Studio) -> None:
    async with studio() as at:
        await at.type("3 a -")
        assert at.main.composer.text == "3 a -"
        assert at.main.desk.window is None


async def test_ctrl_g_takes_a_number_and_refuses_anything_else(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        await at.press("ctrl+g")
        await at.see("a whole number, or all")
        await at.type("2.5")
        await at.press("enter")
        await at.see("a window is a whole number or all, not '2.5'")
        await at.press("backspace", "backspace", "backspace")
        await at.type("7")
        await at.press("enter")
        await at.see("▐7▌")
        assert at.main.desk.window == 7


async def test_S3_a_window_of_twenty_digits_is_everything_and_breaks_nothing(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        at.main.show_window(10**19)
        await at.idle()
        assert at.main.desk.what_if.selected == 9
        assert "10000000…000" in at.line_with("WINDOW")


async def test_the_window_shown_is_the_next_turns_too(studio: Studio) -> None:
    async with studio() as at:
        await at.press("f3", "f3")
        await at.see("window 4")
        await at.ask("ping")
        assert at.main.desk.record.window == 4
        assert at.main.desk.what_if is None


async def test_the_agents_own_window_is_used_when_none_is_shown(studio: Studio) -> None:
    async with studio() as at:
        assert "as the next turn" in at.text()
        await at.ask("ping")
        assert at.main.desk.record.window == 6


async def test_window_of_the_command_line(studio: Studio) -> None:
    async with studio(window="2") as at:
        await at.ask("ping")
        assert at.main.desk.record.window == 2


async def test_X3_the_next_row_counts_the_typed_request_as_the_newest_row(studio: Studio) -> None:
    async with studio() as at:
        assert at.main.desk.selected == NEXT
        await at.type("How about now?")
        await at.wait(lambda: at.main.desk.preview and at.main.desk.preview.context.rows[-1].text == "How about now?")
        await at.see("NOT SENT", "≡ is also the request")
        context = at.main.desk.preview.context
        assert context.stored == 9
        assert [row.seq for row in context.rows] == [4, 5, 6, 7, 8, 9]
        assert await at.runtime.store.length(at.thread) == 8, "nothing is stored"


async def test_a_click_on_a_window_shows_it(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        bar = at.main.query_one(WindowBar)
        line = at.line_with("WINDOW")
        await at.pilot.click(bar, offset=(line.index(" 2 ") + 1, 0))
        await at.see("▐2▌")
        assert at.main.desk.window == 2


async def test_a_rerun_uses_the_window_shown_and_a_turn_without_one_its_own(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        await at.press("ctrl+r")
        await at.wait(lambda: len(at.main.desk.runs) == 1)
        await at.idle()
        assert at.main.desk.runs[0].window == 6


async def test_unfolding_a_range_reads_its_rows(studio: Studio) -> None:
    rows = [("user" if n % 2 == 0 else "assistant", f"row number {n + 1}") for n in range(60)]
    async with studio(rows=rows) as at:
        await at.ask("ping")
        pane = at.main.pane("context")
        pane.focus()
        ids = [line.id for line in pane.pane.lines if line.id.startswith("out:")]
        assert ids
        assert 5 not in at.main.desk.rows
        pane.cursor = ids[0]
        await at.pilot.pause()
        await at.press("enter")
        await at.wait(lambda: 5 in at.main.desk.rows)
        await at.see("row number")
