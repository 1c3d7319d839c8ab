"""A pane of lines on the Line API: draws a view, with cursor, folds, search and marking by mouse.

Only the rows of one page are wrapped. What keeps the page in place is its first row (a line and a place in it), not a
number of rows from the top, which is an estimate until those rows were looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style as ContentStyle
from textual.widget import Widget

from studio_tui.text import safe_line
from studio_tui.views.lines import Line, Pane, where
from studio_tui.widgets.layout import Layout, Place
from studio_tui.widgets.looks import CSS, LOOKS
from studio_tui.widgets.page import Page
from studio_tui.widgets.segments import GUTTER, row_strip
from studio_tui.widgets.wrap import width_of

View: TypeAlias = Callable[[frozenset[str]], Pane]
"""A view that only needs to know which folds differ from how they begin."""

CORNERS = 6
"""Cells of the top edge that its title cannot have."""

STRIPS = 2048
"""Rows kept as they were drawn."""


class LinesPane(ScrollView, can_focus=True):
    """Draws a pane. Up, down, page up, page down, home and end move the cursor; Enter folds or chooses."""

    DEFAULT_CSS = CSS
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"lines--{name}" for name in LOOKS}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "cursor_up", "up", show=False),
        Binding("down", "cursor_down", "down", show=False),
        Binding("pageup", "page_up", "page up", show=False),
        Binding("pagedown", "page_down", "page down", show=False),
        Binding("home", "cursor_home", "first", show=False),
        Binding("end", "cursor_end", "last", show=False),
        Binding("enter", "choose", "fold, open", show=False),
    ]
    ALLOW_SELECT = True
    FOLLOWS: ClassVar[bool] = False
    """Whether a pane that is read at its end stays there when it grows."""

    class Chosen(Message):
        """Enter or a click on a line that does not fold."""

        def __init__(self, sender: LinesPane, line: str) -> None:
            super().__init__()
            self.sender, self.line = sender, line

        @property
        def control(self) -> LinesPane:
            return self.sender

    class Highlighted(Chosen):
        """The cursor came to rest on a line."""

    class ToggleFold(Chosen):
        """A line was folded or unfolded; the pane has already drawn it."""

    pane: reactive[Pane] = reactive(Pane("", "", ()), always_update=True)
    cursor: reactive[str] = reactive("")
    """The id of the line the cursor is on; empty in a pane without lines."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._view: View | None = None
        self._folds: frozenset[str] = frozenset()
        self._page = Page(Layout((), 1), 1)
        self._at = -1
        self._row = 0
        self._strips: dict[tuple[Place, bool], Strip] = {}
        self._looks: dict[str, Style] = {}
        self._sought: re.Pattern[str] | None = None

    # What others call

    def show(self, view: View, *, cursor: str | None = None) -> None:
        """Draw `view` from here on; which of its lines are folded is kept here, by id.

        `cursor` moves the cursor to that line. A view with another title begins at the top, else what was in sight
        stays in sight.
        """
        self._view = view
        self.pane = view(self._folds)
        if cursor is not None:
            self.cursor = cursor

    def fold(self, line: str) -> None:
        """Fold the line `line`, or unfold it if it is folded."""
        self._folds ^= {line}
        if self._view is not None:
            self.pane = self._view(self._folds)

    @property
    def folds(self) -> frozenset[str]:
        """The ids whose fold differs from how it begins."""
        return self._folds

    @property
    def line(self) -> Line | None:
        """The line the cursor is on."""
        return self.pane.lines[self._at] if 0 <= self._at < len(self.pane.lines) else None

    def search(self, words: str, *, backwards: bool = False) -> bool:
        """Move the cursor to the next line that contains `words` (casefolded), around the end; False if none does."""
        wanted, lines = words.casefold(), self.pane.lines
        count = len(lines)
        step = -1 if backwards else 1
        start = self._at
        for away in range(1, count + 1):
            line = lines[(start + step * away) % count]
            if wanted in line.text.casefold():
                self.cursor = line.of or line.id
                return True
        return False

    def seek(self, words: str) -> None:
        """Draw what says `words` (whatever its case) as found from here on; an empty text ends that."""
        self._sought = re.compile(re.escape(words), re.IGNORECASE) if words else None
        self._strips.clear()
        self.refresh()

    def visible_lines(self) -> Sequence[Line]:
        """The lines in sight, top down."""
        seen = dict.fromkeys(place.line for place in self._page.places)
        return [self.pane.lines[index] for index in seen]

    # Layout: a new pane, a new size, a new place

    def watch_pane(self, before: Pane, pane: Pane) -> None:
        self._retitle()
        self._arrange(keep=before.title == pane.title)

    def on_resize(self) -> None:
        self._retitle()
        self._arrange(keep=True)

    def _arrange(self, *, keep: bool) -> None:
        """Lay the lines out again; with `keep`, what was in sight stays there, the cursor's line first."""
        size, old, lines = self.scrollable_content_region.size, self._page, self.pane.lines
        if size.width <= GUTTER or size.height < 1:
            return
        at_end = self.FOLLOWS and keep and old.at_end
        beside = old.row_of_line(self._at) if keep else None
        layout = Layout(lines, size.width - GUTTER, old.layout)
        page = Page(layout, size.height)
        page.settle(old.top_in(layout) if keep else Place(0))
        self._page = page
        self._strips.clear()
        self._keep_cursor()
        if at_end:
            page.to_end()
        elif beside is not None and 0 <= self._at < len(lines):
            page.settle(layout.move(Place(self._at), -min(beside, size.height - 1)))
            page.bring(self._at, self._last_with(self._at))
        self._settled()

    def _keep_cursor(self) -> None:
        """Find the cursor's line again; where it is gone, the nearest one that the cursor may rest on."""
        lines = self.pane.lines
        index = where(lines, self.cursor) if self.cursor else None
        if index is None and lines:
            near = max(0, min(self._at, len(lines) - 1))
            index = self._stop(near, 1)
            if index is None:
                index = self._stop(near, -1)
        self._at = -1 if index is None else index
        self.cursor = lines[self._at].id if index is not None else ""

    def _settled(self) -> None:
        """Tell scroll bar and screen where the page stands."""
        layout, row = self._page.layout, self._page.row
        self._row = row
        size = Size(layout.width + GUTTER, layout.height if layout.lines else 0)
        if self.virtual_size != size:
            self.virtual_size = size
        self.set_reactive(Widget.scroll_y, float(row))
        self.set_reactive(Widget.scroll_target_y, float(row))
        if self.show_vertical_scrollbar:
            self.vertical_scrollbar.position = row
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The wheel, the scroll bar or a key moved the page."""
        if self._page.places and round(new_value) != self._row:
            self._page.to_row(round(new_value))
            self._settled()

    def _scroll_to(self, *args: object, **options: object) -> bool:
        """Scroll at once: rows above may turn out taller on the way, and an animation would miss its end."""
        options["animate"] = False
        return super()._scroll_to(*args, **options)  # type: ignore[arg-type]  # passed on as they came

    # Cursor

    def watch_cursor(self, before: str, cursor: str) -> None:
        lines = self.pane.lines
        if not (0 <= self._at < len(lines) and lines[self._at].id == cursor):
            index = where(lines, cursor) if cursor else None
            if index is None:
                if cursor and self._page.places:
                    self.set_reactive(LinesPane.cursor, before)
                return
            self._at = index
        if self._page.places and self._at < len(self._page.layout.lines):
            self._page.bring(self._at, self._last_with(self._at))
            self._settled()
        self.refresh()
        if cursor:
            self.post_message(self.Highlighted(self, cursor))

    def _stop(self, index: int, step: int) -> int | None:
        """The first line from `index` on, walking by `step`, that the cursor may rest on."""
        lines = self.pane.lines
        while 0 <= index < len(lines):
            if rests(lines[index]):
                return index
            index += step
        return None

    def _last_with(self, index: int) -> int:
        """The last of the lines that belong to a line."""
        lines, last = self.pane.lines, index
        while last + 1 < len(lines) and last - index < 8 and lines[last + 1].of == lines[index].id:
            last += 1
        return last

    def action_cursor_down(self) -> None:
        page = self._page
        index = self._stop(self._at + 1, 1)
        if page.places and (index is None or page.layout.last_row(self._at) > page.places[-1]):
            self._scrolled(1)
        else:
            self._go(index)

    def action_cursor_up(self) -> None:
        page = self._page
        index = self._stop(self._at - 1, -1)
        if page.places and (index is None or Place(self._at) < page.places[0]):
            self._scrolled(-1)
        else:
            self._go(index)

    def action_page_down(self) -> None:
        if self._scrolled(len(self._page.places) - 1):
            self._go(self._stop(self._page.places[0].line, 1), stay=True)
        else:
            self._go(self._stop(len(self.pane.lines) - 1, -1))

    def action_page_up(self) -> None:
        if self._scrolled(1 - len(self._page.places)):
            self._go(self._stop(self._page.places[0].line, 1), stay=True)
        else:
            self._go(self._stop(0, 1))

    def action_cursor_home(self) -> None:
        self._page.settle(Place(0))
        self._go(self._stop(0, 1), stay=True)

    def action_cursor_end(self) -> None:
        self._page.to_end()
        self._go(self._stop(len(self.pane.lines) - 1, -1), stay=True)

    def _scrolled(self, rows: int) -> bool:
        moved = self._page.scroll(rows)
        self._settled()
        return moved

    def _go(self, index: int | None, *, stay: bool = False) -> None:
        """Put the cursor on a line; with `stay` the page does not move for it."""
        top = self._page.places[0] if stay and self._page.places else None
        if index is not None:
            self.cursor = self.pane.lines[index].id
        if top is not None and self._page.places[0] != top:
            self._page.settle(top)
        self._settled()

    def action_choose(self) -> None:
        """Enter: fold or unfold the line; one that does not fold is chosen."""
        line = self.line
        if line is None:
            return
        if line.fold is not None:
            self.fold(line.id)
            self.post_message(self.ToggleFold(self, line.id))
        else:
            self.post_message(self.Chosen(self, line.id))

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None or at.y >= len(self._page.places) or self.screen.get_selected_text():
            return
        line = self.pane.lines[self._page.places[at.y].line]
        id = line.of or line.id
        if line.of or rests(line):
            self.cursor = id
            self.action_choose()

    # Drawing

    def render_line(self, y: int) -> Strip:
        if y >= len(self._page.places):
            return Strip.blank(self._page.layout.width + GUTTER, self._base)
        place = self._page.places[y]
        line = self.pane.lines[place.line]
        here = place.line == self._at or (bool(line.of) and line.of == self.cursor)
        strip = self._strips.get((place, here))
        if strip is None:
            if len(self._strips) >= STRIPS:
                self._strips.clear()
            strip = self._strips[place, here] = self._draw(place, here)
        return strip

    def _draw(self, place: Place, here: bool) -> Strip:
        selection = self.text_selection
        marked = selection.get_span(place.line) if selection is not None else None
        strip = row_strip(self._page.layout, place, self._look, "▌" if here else " ", marked, self._sought)
        if here:
            over = self._look("cursor" if self.has_focus else "cursor-away")
            strip = Strip([Segment(text, style and style + over) for text, style, _ in strip], strip.cell_length)
        return strip.adjust_cell_length(self._page.layout.width + GUTTER, self._base)

    @property
    def _base(self) -> Style:
        base = self._looks.get("")
        if base is None:
            base = self._looks[""] = self.rich_style
        return base

    def _look(self, name: str) -> Style:
        look = self._looks.get(name)
        if look is None:
            style = self.get_component_rich_style(f"lines--{name}")
            if name == "marked":
                look = style if not self.app.no_color else Style(reverse=True)
            elif name.startswith("cursor"):
                look = Style(bgcolor=style.bgcolor, bold=style.bold)
            else:
                look = self._base + Style(
                    color=style.color,
                    bold=style.bold,
                    italic=style.italic,
                    reverse=style.reverse,
                    underline=style.underline,
                )
            self._looks[name] = look
        return look

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._looks.clear()
        self._strips.clear()

    def on_focus(self) -> None:
        self._strips.clear()
        self.refresh()
        self.call_after_refresh(self._retitle)

    def on_blur(self) -> None:
        self.on_focus()

    def _retitle(self) -> None:
        """The title at the left of the top edge, the badge at its right, the edge's own line between them."""
        pane, room = self.pane, self.outer_size.width - CORNERS
        gap = room - width_of(pane.title) - width_of(pane.badge) - 2
        title = safe_line(pane.title)
        if pane.badge and gap > 0:
            kind, color = self.styles.border_top
            edge = safe_line(("━" if kind == "heavy" else "─") * gap)
            title = Content(" ").join([title, edge.stylize(ContentStyle(foreground=color)), safe_line(pane.badge)])
        self.border_title = title

    # Marking by mouse

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The marked text as it is stored: tabs and controls too, and what a fold or the edge hides."""
        lines = self.pane.lines
        if not lines:
            return None
        start, end = selection.start, selection.end
        first = 0 if start is None else start.y
        last = len(lines) - 1 if end is None else min(end.y, len(lines) - 1)
        texts = []
        for index in range(first, last + 1):
            text = lines[index].text
            high = len(text) if end is None or index < end.y else end.x
            texts.append(text[0 if start is None or index > start.y else start.x : max(0, high)])
        return "\n".join(texts), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips.clear()
        self.refresh()


def rests(line: Line) -> bool:
    """Whether the cursor may rest on the line: not on rulers, blanks and what belongs to another line."""
    return not (line.of or line.fill or line.kind in ("blank", "head"))
