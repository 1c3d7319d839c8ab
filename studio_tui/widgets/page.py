"""The rows of a pane that are in sight: which they are, and how the page moves over the layout."""

from __future__ import annotations

from studio_tui.views.lines import where
from studio_tui.widgets.layout import Layout, Place

JUMP = 3
"""Pages beyond which a scroll is a jump by estimate and not a walk row by row."""


class Page:
    """`places` are the rows in sight, top down; never fewer than fit unless the pane has no more."""

    def __init__(self, layout: Layout, height: int) -> None:
        self.layout, self.height = layout, height
        self.places: list[Place] = []

    @property
    def row(self) -> int:
        """The row of the first place, as far as is known."""
        return self.layout.row_of(self.places[0]) if self.places else 0

    @property
    def at_end(self) -> bool:
        """Whether the last row of the pane is in sight."""
        return bool(self.places) and self.layout.after(self.places[-1]) is None

    def settle(self, top: Place) -> None:
        """Begin at `top`, or further up if the pane would end before the page does."""
        layout, height = self.layout, self.height
        places: list[Place] = [top] if layout.lines else []
        while places and len(places) < height and (below := layout.after(places[-1])) is not None:
            places.append(below)
        above: list[Place] = []
        while places and len(places) + len(above) < height:
            found = layout.before(above[-1] if above else places[0])
            if found is None:
                break
            above.append(found)
        self.places = above[::-1] + places

    def to_row(self, row: int) -> None:
        """Begin at a row counted from the top: exact nearby and at both ends, else by estimate."""
        if row <= 0:
            self.settle(Place(0))
        elif row >= self.layout.height - self.height:
            self.to_end()
        elif self.places and abs(row - self.row) <= JUMP * self.height:
            self.settle(self.layout.move(self.places[0], row - self.row))
        else:
            self.settle(self.layout.at(row))

    def to_end(self) -> None:
        """Show the last rows."""
        if self.layout.lines:
            self.settle(self.layout.last_row(len(self.layout.lines) - 1))

    def scroll(self, rows: int) -> bool:
        """Move by rows, up if negative; False at the end that way."""
        if not self.places:
            return False
        before = self.places[0]
        self.settle(self.layout.move(before, rows))
        return self.places[0] != before

    def bring(self, index: int, last: int) -> bool:
        """Move no further than needed to show the lines index..last, their beginning first; False if they are shown."""
        first, end = Place(index), self.layout.last_row(last)
        if first < self.places[0]:
            self.settle(first)
        elif end > self.places[-1]:
            self.settle(max(self.places[0], min(first, self.layout.move(end, 1 - self.height))))
        else:
            return False
        return True

    def row_of_line(self, index: int) -> int | None:
        """The row of the page on which a line begins, None if that is not in sight."""
        return next((y for y, place in enumerate(self.places) if place == Place(index)), None)

    def top_in(self, layout: Layout) -> Place:
        """Where the first row in sight is found in another layout of the same pane."""
        if not self.places or not layout.lines:
            return Place(0)
        top = self.places[0]
        index = where(layout.lines, self.layout.lines[top.line].id)
        if index is None:
            index = min(top.line, len(layout.lines) - 1)
        return layout.at_character(index, self.layout.character(top))
