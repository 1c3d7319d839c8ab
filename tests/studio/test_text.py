"""The door for foreign text (Q2): nothing that passes it is markup, acts, or vanishes."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.widgets import Static

from studio_tui.text import safe, safe_line
from studio_tui.visible import visible

MARKUP = "use [/INST] and arr[i][/j] and [/]"
CONTROLS = "a\x1b[2J\x1b[Hb\x00\x07\x9bc\x1b]0;pwn\x07d"


def test_C77_markup_is_text() -> None:
    assert safe(MARKUP).plain == MARKUP
    assert safe("[@click=app.quit]list[int][/]").spans == []


def test_C80_controls_become_stand_ins_and_the_letters_stay() -> None:
    shown = visible(CONTROLS)
    assert not any(unicodedata.category(char) == "Cc" for char in shown)
    assert shown == "a␛[2J␛[Hb␀␇␦c␛]0;pwn␇d"
    assert safe(CONTROLS).plain == shown


def test_C65_a_lone_surrogate_can_be_sent_to_a_terminal() -> None:
    assert visible("half \ud83d emoji").encode() == "half \ufffd emoji".encode()


def test_Q2_bidi_controls_and_separators_are_seen() -> None:
    assert visible("a\u202eb\u2066c\u200fd\u2028e\x7f") == "a⇄b⇄c⇄d␤e␡"


def test_Q2_newline_and_tab_are_kept() -> None:
    assert visible("a\n\tb") == "a\n\tb"
    assert safe("a\n\tb").plain == "a\n\tb"


def test_Q2_titles_stay_on_one_line() -> None:
    assert safe_line("a\nb\tc\x1b").plain == "a↵b c␛"


@given(st.text(st.characters()))
def test_Q2_stand_ins_are_one_for_one_and_one_cell_wide(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    for before, after in zip(text, shown, strict=True):
        if before != after:
            assert cell_len(after) == 1
        else:
            assert before in "\n\t" or unicodedata.category(before) not in ("Cc", "Cs")


async def test_C77_a_static_shows_it_as_it_is_letter_by_letter() -> None:
    class Host(App[None]):
        def compose(self) -> ComposeResult:
            yield Static(safe(""))

    app = Host()
    async with app.run_test() as pilot:
        shown = app.query_one(Static)
        for end in range(len(MARKUP) + 1):
            shown.update(safe(MARKUP[:end]))
        await pilot.pause()
        assert shown.render_line(0).text.rstrip() == MARKUP
        assert all("@click" not in (segment.style.meta if segment.style else {}) for segment in shown.render_line(0))
