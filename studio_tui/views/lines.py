"""The vocabulary of a pane: spans, lines, and a sequence of lines that makes them when they are looked at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal, TypeAlias, overload

StyleName: TypeAlias = Literal[
    "text", "muted", "role-user", "role-assistant", "role-tool", "role-system", "reason", "warning", "error", "ok",
    "what-if", "ruler", "number", "key", "title", "mark",
]  # fmt: skip
"""What a span means; the widget knows how that looks in the theme in force."""

Fold: TypeAlias = Literal["open", "closed"]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line. `text` is raw, ours or foreign: it is made safe where it is drawn (Q2)."""

    text: str
    style: StyleName = "text"


@dataclass(frozen=True, slots=True)
class Line:
    """One logical line of a pane.

    `id` is stable over updates (`row:14`, `section:history`, `step:2`). `right` is drawn at the right edge of the
    first row. `wrap` False cuts the line at the edge with an ellipsis and draws newlines as arrows; True shows all of
    it, later rows hanging under column `indent + hang`. `fold` says what Enter would undo, None that there is
    nothing. `of` names the line this one belongs to: the cursor passes over it and marks both. `fill` is repeated on
    both sides of the spans to the edges: a ruler. `seq` is the row of the thread it is about. `copy` is what copying
    the line gives, None the line as drawn. `fade` draws the whole line weakly: it is not in front of the model.
    """

    id: str
    spans: tuple[Span, ...]
    right: tuple[Span, ...] = ()
    indent: int = 0
    hang: int = 0
    wrap: bool = True
    fold: Fold | None = None
    of: str = ""
    fill: str = ""
    seq: int | None = None
    kind: str = ""
    copy: str | None = None
    fade: bool = False

    @property
    def text(self) -> str:
        """The line as one text, raw, without what stands at the right edge."""
        return "".join([span.text for span in self.spans])


class Lines(Sequence[Line]):
    """Lines in groups that are made when looked at: opening 20,000 messages makes those of one screen.

    `sizes` says how many lines each group has, `make` gives the lines of one group, `find` the group that holds an id
    (None: look at all of them). A group is made again when it was not looked at for a while, so `make` is pure.
    """

    __slots__ = ("_find", "_kept", "_make", "_starts")

    KEPT = 512

    def __init__(
        self,
        sizes: Iterable[int],
        make: Callable[[int], Sequence[Line]],
        find: Callable[[str], int | None] | None = None,
    ) -> None:
        self._starts = list(accumulate(sizes, initial=0))
        self._make, self._find = make, find
        self._kept: dict[int, Sequence[Line]] = {}

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | Sequence[Line]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        group = bisect_right(self._starts, index) - 1
        return self._group(group)[index - self._starts[group]]

    def __iter__(self) -> Iterator[Line]:
        for group in range(len(self._starts) - 1):
            yield from self._group(group)

    def where(self, id: str) -> int | None:
        """The index of the line `id`, None if no line has it."""
        groups: Iterable[int] = range(len(self._starts) - 1)
        if self._find is not None:
            found = self._find(id)
            groups = () if found is None else (found,)
        for group in groups:
            for offset, line in enumerate(self._group(group)):
                if line.id == id:
                    return self._starts[group] + offset
        return None

    def group_of(self, id: str) -> int | None:
        """The group that holds the line `id`, where the lines know their groups by id; None for an id they do not."""
        return None if self._find is None else self._find(id)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self._starts) - 1

    def with_more(self, more: Mapping[int, Sequence[Line]]) -> Lines:
        """The same lines, and `more` at the end of groups, by their number."""
        sizes = [end - start for start, end in pairwise(self._starts)]
        homes = {line.id: group for group, lines in more.items() for line in lines}
        for group, lines in more.items():
            sizes[group] += len(lines)

        def make(group: int) -> Sequence[Line]:
            return (*self._group(group), *more.get(group, ()))

        def find(id: str) -> int | None:
            return homes[id] if id in homes else self._find(id) if self._find is not None else None

        return Lines(sizes, make, find if self._find is not None else None)

    def changed(self, change: Callable[[Line], Line]) -> Lines:
        """The same lines, each as `change` gives it when it is looked at."""
        sizes = [end - start for start, end in pairwise(self._starts)]
        return Lines(sizes, lambda group: tuple(map(change, self._group(group))), self._find)

    def _group(self, group: int) -> Sequence[Line]:
        lines = self._kept.get(group)
        if lines is None:
            if len(self._kept) >= self.KEPT:
                self._kept.clear()
            lines = self._kept[group] = self._make(group)
            assert len(lines) == self._starts[group + 1] - self._starts[group]
        return lines


@dataclass(frozen=True, slots=True)
class Pane:
    """What one pane shows. `badge` says what it is: `RECORD`, `RECORD + WHAT IF`, `NOT SENT`, or nothing."""

    title: str
    badge: str
    lines: Sequence[Line]


def where(lines: Sequence[Line], id: str) -> int | None:
    """The index of the line `id` in any sequence of lines, None if no line has it."""
    if isinstance(lines, Lines):
        return lines.where(id)
    return next((index for index, line in enumerate(lines) if line.id == id), None)
