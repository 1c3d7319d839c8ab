"""80x24, tiny and changing sizes; colours off; the mouse; keys of the footer."""

from __future__ import annotations

from typing import Any

import pytest

from studio_tui import actions, themes

Studio = Any
"""The `studio` fixture of conftest.py; importlib mode does not let test files import it by name."""


async def test_80x24_shows_one_pane_as_a_tab_and_all_keys_that_matter(studio: Studio) -> None:
    async with studio(size=(80, 24)) as at:
        await at.ask("ping")
        text = at.text()
        for words in ("TURNS (1)", "▐CONTEXT▌", "MODEL (1 step", "WINDOW", "ASK", "F1 help", "^r re-run", "idle"):
            assert words in text, words
        assert all(len(line) <= 80 for line in text.split("\n"))


async def test_tab_goes_round_the_panes_and_shows_the_tab(studio: Studio) -> None:
    async with studio(size=(80, 24)) as at:
        await at.ask("ping")
        for expected in ("turns", "context", "model", "composer"):
            await at.press("tab")
            await at.wait(lambda expected=expected: at.main.focus_now == expected)
            if expected != "composer":
                assert at.main.pane(expected).display
                assert at.main.pane(expected).size.width > 70
        await at.press("shift+tab")
        await at.wait(lambda: at.main.focus_now == "model")


@pytest.mark.parametrize("size", [(40, 10), (20, 5), (10, 3), (59, 40), (200, 12)])
async def test_too_small_a_terminal_does_not_crash_and_says_so(studio: Studio, size: tuple[int, int]) -> None:
    async with studio(size=size) as at:
        await at.ask("ping")
        await at.press("f3", "escape", "tab", "f1", "escape", "ctrl+o", "escape", "ctrl+f", "escape")
        await at.idle()
        if size[0] >= 40:
            await at.see("small: 80x24 shows all")
        assert at.main.desk.record.status == "completed"


async def test_C85_a_resize_keeps_the_message_in_view(studio: Studio) -> None:
    rows = [("user" if n % 2 == 0 else "assistant", f"row number {n + 1}") for n in range(400)]
    async with studio(rows=rows, window="all") as at:
        await at.ask("ping")
        pane = at.main.pane("context")
        pane.focus()
        pane.cursor = "row:200"
        await at.see("row number 200")
        for size in ((80, 24), (200, 50), (40, 10), (120, 40)):
            await at.pilot.resize_terminal(*size)
            await at.see("row number 200")
            assert pane.cursor == "row:200"


async def test_C87_without_colour_everything_is_said_by_marks(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with studio() as at:
        await at.ask("ping")
        await at.press("f3")
        await at.see("•6", "▐5▌", "✔", "user", "asst", "RECORD + WHAT IF", "− ")
        before = at.text()
        await at.press("escape")
        await at.wait(lambda: at.main.focus_now == "context")
        await at.pilot.pause()
        assert at.text() != before, "the focus is drawn with other signs"


def test_both_themes_exist_and_the_terminal_may_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORFGBG", raising=False)
    monkeypatch.delenv("STUDIO_THEME", raising=False)
    assert themes.wanted() == "studio-dark"
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert themes.wanted() == "studio-light"
    monkeypatch.setenv("STUDIO_THEME", "dark")
    assert themes.wanted() == "studio-dark"
    assert themes.other("studio-dark") == "studio-light"


async def test_light_and_dark_can_be_changed(studio: Studio) -> None:
    async with studio() as at:
        before = at.app.theme
        at.app.action_other_theme()
        await at.pilot.pause()
        assert at.app.theme == themes.other(before)
        await at.see("CONTEXT")


async def test_a_click_selects_a_turn_and_a_click_on_a_key_does_it(studio: Studio) -> None:
    async with studio(requests=["one", "two"]) as at:
        first = at.main.desk.roots()[0].id
        lines = at.text().split("\n")
        row = next(n for n, line in enumerate(lines) if "w6 one" in line)
        await at.pilot.click(offset=(6, row))
        await at.wait(lambda: at.main.desk.selected == first)
        lines = at.text().split("\n")
        row = next(n for n, line in enumerate(lines) if "? help" in line)
        await at.pilot.click(offset=(lines[row].index("? help") + 1, row))
        await at.see("What is on this screen")


OF_ITS_OWN = ("choose", "fork", "wire", "back")
"""Actions that depend on which pane is browsed; the others are pressed in one of them."""


@pytest.mark.parametrize("focus", ["composer", "turns", "context", "model"])
async def test_every_key_of_the_footer_does_something_in_its_focus(studio: Studio, focus: str) -> None:
    """Each key that is shown is pressed on a fresh sitting; the screen, the focus or the desk must change."""
    async with studio(requests=["one", "two"]) as at:
        await _to(at, focus)
        shown = [action.id for _, _, action in actions.in_footer(at.main.situation)]
    for id in shown:
        if id in ("quit", "palette", "copy") or (focus in ("context", "model") and id not in OF_ITS_OWN):
            continue
        async with studio(requests=["one", "two"]) as at:
            await _to(at, focus)
            if id == "send":
                at.main.composer.put("three")
                await at.pilot.pause()
            action = actions.BY_ID[id]
            now = at.main.situation
            assert action.when(now), id
            key = (*action.browse, *action.keys)[0] if now.browsing else (*action.typing, *action.keys)[0]
            before = (at.text(), at.main.focus_now, at.main.desk.selected, at.app.screen)
            await at.press(key)
            await at.wait(
                lambda before=before: (at.text(), at.main.focus_now, at.main.desk.selected, at.app.screen) != before,
                f"{id} ({key}) in {focus}",
            )


async def _to(at: Any, focus: str) -> None:
    if focus != "composer":
        at.main.pane(focus).focus()
    await at.wait(lambda: at.main.focus_now == focus)
    if focus == "context":
        at.main.pane(focus).cursor = "section:history"
    await at.idle()
