"""The pane of lines in a small host: cursor, folds, resize, marking, and what it wraps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from studio_tui.views.lines import Line, Lines, Pane, Span
from studio_tui.widgets.lines import LinesPane, View
from studio_tui.widgets.wrap import WORK

MARKUP = "use [/INST] and arr[i][/j] and [/]"
CONTROLS = "a\x1b[2J\x1b[Hb\x00\x07\x9bc\x1b]0;pwn\x07d"


class Host(App[None]):
    """One pane that fills the screen."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self._first = view
        self.heard: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        yield LinesPane(id="pane")

    def on_mount(self) -> None:
        pane = self.query_one(LinesPane)
        pane.show(self._first)
        pane.focus()

    def on_lines_pane_chosen(self, message: LinesPane.Chosen) -> None:
        self.heard.append(("chosen", message.line))

    def on_lines_pane_toggle_fold(self, message: LinesPane.ToggleFold) -> None:
        self.heard.append(("fold", message.line))

    @property
    def pane(self) -> LinesPane:
        return self.query_one(LinesPane)

    def rows(self) -> list[str]:
        """The rows of the pane as drawn, without blanks at the end."""
        return [self.pane.render_line(y).text.rstrip() for y in range(self.pane.scrollable_content_region.height)]


def still(lines: Sequence[Line], title: str = "PANE") -> View:
    """A view without folds."""
    return lambda folds: Pane(title, "RECORD", lines)


def texts(*values: str, wrap: bool = True) -> tuple[Line, ...]:
    return tuple(Line(f"line:{n}", (Span(value),), wrap=wrap) for n, value in enumerate(values))


def many(count: int, made: list[int] | None = None) -> Lines:
    """`count` rows of one message each, made when looked at."""

    def make(group: int) -> tuple[Line, ...]:
        if made is not None:
            made.append(group)
        return (Line(f"row:{group}", (Span(f"message {group} " + "and so on " * 20),), wrap=False),)

    return Lines([1] * count, make, lambda id: int(id.removeprefix("row:")))


def foldable(text: str) -> View:
    def view(folds: frozenset[str]) -> Pane:
        is_open = "a" in folds
        head = Line("a", (Span("head "), Span(text)), wrap=is_open, fold="open" if is_open else "closed", hang=5)
        return Pane("PANE", "", (head, *texts("after")))

    return view


async def test_C77_markup_is_drawn_as_it_is_also_letter_by_letter() -> None:
    host = Host(still(texts("")))
    async with host.run_test(size=(60, 8)) as pilot:
        for end in range(len(MARKUP) + 1):
            host.pane.show(still(texts(MARKUP[:end]), title=MARKUP[:end]))
            await pilot.pause()
        assert host.rows()[0] == "▌" + MARKUP
        assert host.pane.border_title is not None
        assert MARKUP in host.export_screenshot().replace("&#160;", " ")


async def test_C80_no_control_reaches_the_terminal_and_a_mark_copies_what_is_stored() -> None:
    host = Host(still(texts(CONTROLS, "next")))
    async with host.run_test(size=(60, 8)):
        assert host.rows()[0] == "▌a␛[2J␛[Hb␀␇␦c␛]0;pwn␇d"
        assert host.pane.get_selection(Selection(Offset(0, 0), Offset(4, 1))) == (CONTROLS + "\nnext", "\n")


async def test_C82_tabs_are_as_wide_as_they_are_measured() -> None:
    makefile = "\n".join(f"target{n}:\n\tcc\t-o x{n} \t漢字.c # {'y' * n}" for n in range(100))
    host = Host(still(texts("a\tb", makefile)))
    async with host.run_test(size=(60, 30)) as pilot:
        assert host.rows()[0] == "▌a       b"
        for _ in range(8):
            for y in range(28):
                strip = host.pane.render_line(y)
                assert strip.cell_length == cell_len(strip.text) == host.pane.scrollable_content_region.width
            await pilot.press("pagedown")
        assert host.pane.get_selection(Selection(Offset(0, 0), Offset(3, 0))) == ("a\tb", "\n")


async def test_C84_a_million_characters_are_wrapped_where_one_looks() -> None:
    host = Host(still(texts("x" * 1_000_000, "end")))
    before = WORK.characters
    async with host.run_test(size=(80, 24)) as pilot:
        for key in ("pagedown", "pagedown", "down", "up"):
            await pilot.press(key)
        host.pane.scroll_to(y=6000, animate=False)
        await pilot.press("end")
        assert host.rows()[21] == "▌end"
        assert WORK.characters - before < 80_000


@pytest.mark.parametrize("count", [5_000, 20_000])
async def test_C85_the_same_message_stays_in_view_and_few_lines_are_made(count: int) -> None:
    made: list[int] = []
    host = Host(still(many(count, made)))
    async with host.run_test(size=(80, 24)) as pilot:
        host.pane.cursor = "row:3000"
        await pilot.pause()
        assert any("message 3000 " in row for row in host.rows())
        before = WORK.calls
        for size in ((200, 50), (40, 10)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert any(row.startswith("▌message 3000") for row in host.rows())
        assert WORK.calls - before < 400
        assert len(made) < 400


async def test_C85_the_same_place_in_a_long_text_stays_in_view() -> None:
    words = " ".join(f"w{n}" for n in range(20_000))
    host = Host(still(texts(words)))
    async with host.run_test(size=(80, 24)) as pilot:
        host.pane.scroll_to(y=700, animate=False)
        await pilot.pause()
        first = host.rows()[0].split()[0].strip("▌")
        for size in ((200, 50), (40, 10), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert first in host.rows()[0].strip("▌").split()


async def test_a_folded_line_ends_in_an_ellipsis_and_is_whole_when_unfolded() -> None:
    host = Host(foldable("one\ntwo " + "three " * 20))
    async with host.run_test(size=(40, 12)) as pilot:
        assert host.rows()[0] == "▌head one↵two three three three thre…"
        await pilot.press("enter")
        assert host.rows()[:3] == [
            "▌head one",
            "▌     two three three three three",
            "▌     three three three three three",
        ]
        await pilot.press("enter")
        assert host.rows()[1] == " after"
        assert host.heard == [("fold", "a"), ("fold", "a")]


async def test_enter_and_a_click_choose_a_line_that_does_not_fold() -> None:
    host = Host(still(texts("one", "two")))
    async with host.run_test(size=(40, 12)) as pilot:
        await pilot.press("down", "enter")
        await pilot.click(LinesPane, offset=(3, 1))
        assert host.heard == [("chosen", "line:1"), ("chosen", "line:0")]


async def test_the_cursor_passes_over_rulers_and_marks_what_belongs_to_its_line() -> None:
    lines = (
        *texts("one"),
        Line("why", (Span("because", "reason"),), of="line:0", indent=4),
        Line("ruler", (Span("window 6"),), fill="─"),
        Line("b", (Span("two"),)),
    )
    host = Host(still(lines))
    async with host.run_test(size=(40, 12)) as pilot:
        assert host.rows()[:3] == ["▌one", "▌    because", " ────────────  window 6  ────────────"] or host.rows()[
            1
        ] == ("▌    because")
        await pilot.press("down")
        assert host.pane.cursor == "b"
        assert host.rows()[0] == " one"


async def test_a_mark_by_mouse_copies_the_characters_under_it() -> None:
    host = Host(still(texts("first line", "a\tb 漢字 c")))
    async with host.run_test(size=(40, 12)) as pilot:
        await _drag(pilot, (7, 1), (12, 2))
        assert host.screen.get_selected_text() == " line\na\tb 漢"


async def _drag(pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]) -> None:
    await pilot.mouse_down(offset=start)
    await pilot.hover(offset=end)
    await pilot.mouse_up(offset=end)


async def test_search_goes_around_and_says_when_there_is_nothing() -> None:
    host = Host(still(texts("alpha", "Beta", "gamma beta")))
    async with host.run_test(size=(40, 12)):
        assert host.pane.search("BETA")
        assert host.pane.cursor == "line:1"
        assert host.pane.search("beta")
        assert host.pane.cursor == "line:2"
        assert host.pane.search("beta")
        assert host.pane.cursor == "line:1"
        assert host.pane.search("beta", backwards=True)
        assert host.pane.cursor == "line:2"
        assert not host.pane.search("delta")


class Following(LinesPane):
    FOLLOWS = True


@pytest.mark.parametrize(("move", "last"), [((), True), (("home",), False)])
async def test_a_pane_read_at_its_end_follows_what_grows(move: tuple[str, ...], last: bool) -> None:
    class FollowingHost(Host):
        def compose(self) -> ComposeResult:
            yield Following(id="pane")

    host = FollowingHost(still(texts("word " * 200)))
    async with host.run_test(size=(40, 12)) as pilot:
        await pilot.press("end", *move)
        host.pane.show(still(texts("word " * 400 + "last")))
        await pilot.pause()
        assert ("last" in host.rows()[9]) is last


@pytest.mark.parametrize("focus", [True, False])
async def test_C87_focus_and_cursor_are_seen_without_colour(focus: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    host = Host(still(texts("one", "two")))
    async with host.run_test(size=(40, 6)) as pilot:
        if not focus:
            host.screen.set_focus(None)
            await pilot.pause()
        drawn = host.export_screenshot()
        assert ("┏" in drawn) is focus
        assert ("╭" in drawn) is not focus
        assert host.rows()[0].startswith("▌one")


CASES: list[Callable[[], Sequence[Line]]] = [lambda: (), lambda: texts(""), lambda: texts("one")]


@pytest.mark.parametrize("lines", CASES)
async def test_every_key_is_safe_on_a_small_pane(lines: Callable[[], Sequence[Line]]) -> None:
    host = Host(still(lines()))
    async with host.run_test(size=(20, 6)) as pilot:
        for key in ("down", "up", "pagedown", "pageup", "end", "home", "enter"):
            await pilot.press(key)
        await pilot.resize_terminal(3, 3)
        await pilot.press("down")
        assert host.pane.search("nothing") is False
