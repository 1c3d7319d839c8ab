"""The rows of a pane: exact where one looks, estimated elsewhere, and the same wherever one comes from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studio_tui.views.lines import Line, Lines, Span
from studio_tui.widgets.layout import EAGER, PIECE, Layout, Place
from studio_tui.widgets.wrap import WORK


def line(id: str, text: str, **more: int) -> Line:
    return Line(
        id, (Span(text),), right=(Span("12", "number"),), indent=more.get("indent", 0), hang=more.get("hang", 0)
    )


def drawn(layout: Layout) -> list[tuple[int, int, int]]:
    """(line, start, end) of every row, walked from the top."""
    found, place = [], layout.move(Place(0), 0)
    while True:
        found.append((place.line, *layout.stretch(place)))
        below = layout.after(place)
        if below is None:
            return found
        place = below


TEXTS = st.lists(st.text(st.sampled_from("ab 漢\t\n"), max_size=60), min_size=1, max_size=8)


@given(TEXTS, st.integers(1, 40))
def test_walking_down_and_up_meets_the_same_rows(texts: list[str], width: int) -> None:
    layout = Layout([line(str(n), text, hang=2) for n, text in enumerate(texts)], width)
    down = drawn(layout)
    place = layout.last_row(len(texts) - 1)
    up = [(place.line, *layout.stretch(place))]
    while (above := layout.before(place)) is not None:
        place = above
        up.append((place.line, *layout.stretch(place)))
    assert up[::-1] == down
    assert layout.height == len(down)
    assert [layout.row_of(layout.at(row)) for row in range(len(down))] == list(range(len(down)))


@given(TEXTS, st.integers(1, 40), st.data())
def test_a_character_is_found_on_its_row(texts: list[str], width: int, data: st.DataObject) -> None:
    layout = Layout([line(str(n), text) for n, text in enumerate(texts)], width)
    number = data.draw(st.integers(0, len(texts) - 1))
    character = data.draw(st.integers(0, len(texts[number])))
    start, end = layout.stretch(layout.at_character(number, character))
    assert start <= character <= end + 1


def test_C84_the_middle_of_a_million_characters_is_wrapped_alone() -> None:
    layout = Layout([Line("a", (Span("x" * 1_000_000),))], 80)
    before = WORK.characters
    assert layout.height == 12_500
    middle = layout.at(6_000)
    assert layout.stretch(middle) == (480_000, 480_080)
    assert WORK.characters - before <= 2 * PIECE


def test_C84_prose_ends_its_pieces_at_blanks() -> None:
    text = "seven letters " * 40_000
    layout = Layout([Line("a", (Span(text),))], 50)
    pieces = [layout.at(row) for row in range(0, layout.height, 997)]
    for place in pieces:
        start, end = layout.stretch(place)
        assert not text[start:end].startswith("s") or text[start:end].startswith("seven")


def test_opening_makes_no_line_of_a_long_pane() -> None:
    made: list[int] = []

    def make(group: int) -> tuple[Line, ...]:
        made.append(group)
        return (line(f"row:{group}", "text"),)

    lines = Lines([1] * (EAGER + 1), make)
    layout = Layout(lines, 80)
    assert layout.height == EAGER + 1
    assert made == []
    assert layout.at(500) == Place(500)
    assert made == [500]


def test_a_text_that_grows_keeps_what_was_wrapped() -> None:
    text = "word " * 20_000
    first = Layout([Line("a", (Span(text),))], 60)
    drawn(first)
    before = WORK.characters
    second = Layout([Line("a", (Span(text + "more"),))], 60, first)
    assert second.last_row(0).piece == len(second._blocks[0].pieces) - 1
    assert WORK.characters - before <= 2 * PIECE
    assert drawn(second)[:-2] == drawn(Layout([Line("a", (Span(text + "more"),))], 60))[:-2]
