"""Text from models, tools, files and names through the whole app: drawn as it is, never acting (Q2, C77, C80)."""

from __future__ import annotations

import io
from typing import Any

import pytest

from runtime.values.agent import Agent, TierSpec
from runtime.values.items import ToolCall
from runtime.values.seed import ScriptEntry, When

Studio = Any
"""The `studio` fixture of conftest.py; importlib mode does not let test files import it by name."""

MARKUP = "use [/INST] and arr[i][/j] and [/]"
LINK = "[@click=app.quit]press[/]"
CONTROLS = "a\x1b[2J\x1b[Hb\x07\x9bc\x1b]0;pwn\x07d"
SHOWN = "a␛[2J␛[Hb␇␦c␛]0;pwn␇d"


def acting(text: str) -> list[str]:
    """The characters of `text` that a terminal would act on."""
    return [char for char in text if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0]


async def test_C77_markup_in_every_place_that_shows_text(studio: Studio) -> None:
    async with studio(rows=[("user", MARKUP), ("assistant", LINK)], suggestions=[MARKUP], name=MARKUP) as at:
        await at.see("use [/INST]", "[@click=app.quit]press[/]")
        assert MARKUP in at.line_with("thread"), "the head line"
        assert MARKUP in at.line_with("try ↓"), "the suggestions"
        await at.ask(MARKUP)
        await at.see("1 ✔ w6 use [/INST]")
        await at.press("ctrl+o")
        await at.see("THREADS", MARKUP)
        await at.press("escape")
        at.main.say(f"{MARKUP} {LINK}")
        await at.see(f"{MARKUP} {LINK}")
        await at.press("ctrl+f")
        await at.type("INST")
        await at.press("enter")
        await at.see("seq", "INST")


async def test_C77_streamed_letter_by_letter(studio: Studio, gated: Any) -> None:
    text = MARKUP + LINK
    model = gated(*text)
    async with studio(models={"gated": model}, rows=[]) as at:
        await at.type("go")
        await at.press("enter")
        for n in range(len(text)):
            model.let()
            if n % 7 == 0:
                await at.wait(lambda n=n: text[: n + 1] == at.main.desk.live.live().text)
                await at.pilot.pause()
                assert at.app.is_running
        model.let()
        await at.see("completed", "use [/INST] and arr", "press[/]")
        assert any(line.text == text for line in at.main.pane("model").pane.lines)
        assert at.app.is_running


async def test_C80_no_control_reaches_the_terminal(studio: Studio) -> None:
    agent = Agent("notes", CONTROLS, 6, (TierSpec("script"),), ("set-tone",), ("tone",), shipped=True)
    script = [
        ScriptEntry(When(step=1), calls=(ToolCall("c1", "set-tone", {"tone": CONTROLS}),)),
        ScriptEntry(When(step=2), text=CONTROLS),
    ]
    async with studio(agent=agent, script=script, rows=[("user", CONTROLS)], name=CONTROLS) as at:
        await at.ask(CONTROLS)
        await at.see(SHOWN)
        for key in ("escape", "f1", "escape", "ctrl+o", "escape", "ctrl+f", "escape", "w"):
            await at.press(key)
            await at.pilot.pause()
            assert acting(at.text()) == []


async def test_C80_copying_gives_back_the_controls(studio: Studio, gated: Any) -> None:
    model = gated("x")
    model.let(2)
    async with studio(models={"gated": model}) as at:
        at.app.copy(CONTROLS, "it")
        assert at.app.clipboard == CONTROLS


async def test_C80_the_driver_is_sent_no_control_of_ours(studio: Studio) -> None:
    """The whole screen as the terminal would get it: escape sequences only of the drawing itself."""
    from rich.console import Console

    async with studio(rows=[("user", CONTROLS)]) as at:
        await at.see(SHOWN)
        out = io.StringIO()
        console = Console(file=out, force_terminal=True, color_system="truecolor", width=120)
        for strip in at.app.screen._compositor.render_strips():
            out.write(strip.render(console))
        sent = out.getvalue()
        assert "\x1b[2J" not in sent
        assert "\x1b]0;" not in sent
        assert "\x9b" not in sent
        assert "\x07" not in sent


async def test_C65_a_lone_surrogate_is_drawn_and_copied_as_a_replacement(studio: Studio) -> None:
    async with studio(rows=[("user", "half \ud83d emoji")]) as at:
        await at.see("half \ufffd emoji")


@pytest.mark.parametrize("width", [40, 80, 120])
async def test_wide_characters_keep_the_borders_straight(studio: Studio, width: int) -> None:
    from rich.cells import cell_len

    async with studio(rows=[("user", "数据库连接失败，请重试 🙂 " * 6)], size=(width, 24), name="会議🙂") as at:
        await at.pilot.pause()
        for strip in at.app.screen._compositor.render_strips():
            assert cell_len(strip.text) == width
