"""Rows in order; once they are many, all but the newest lie in a temporary file: a long session costs no memory."""

from __future__ import annotations

import marshal
import tempfile
import threading
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import IO, Final, TypeAlias, overload

from runtime.values.json import JsonObject
from runtime.values.messages import NewMessage, Role

HELD: Final = 4_000_000
"""Characters of text that are held in memory before any row goes to disk."""

HELD_ROWS: Final = 4_096
"""Rows that are held before any goes to disk."""

_GROUP_ROWS: Final = 512
_GROUP_SIZE: Final = 1_000_000
_KNOWN_GROUPS: Final = 4

Bare: TypeAlias = "tuple[Role, str, tuple[JsonObject, ...] | None, str | None, tuple[str, ...]]"
"""A row as `NewMessage` takes it: role, text, parts, source, flags; all of it storable."""


class Spool(Sequence[NewMessage]):
    """A sequence of rows that grows at its end. What it holds on disk is gone when nobody holds the spool any more.

    `held` and `rows` are the characters and rows that stay in memory. Reading it from several threads is safe,
    growing it is not.
    """

    def __init__(self, *, held: int = HELD, rows: int = HELD_ROWS) -> None:
        self._held, self._most = held, rows
        self._tail: list[Bare] = []
        self._weight = 0
        self._before = 0
        self._firsts = array("Q")
        self._places = array("Q")
        self._end = 0
        self._hidden: list[tuple[int, int]] = []
        self._file: IO[bytes] | None = None
        self._reading = threading.Lock()
        self._known: dict[int, list[NewMessage]] = {}

    @property
    def asked(self) -> str:
        """What the user said first."""
        return next((row.text for row in self if row.role == "user" and row.text.strip()), "")

    @property
    def on_disk(self) -> bool:
        """Whether some of its rows are in the file."""
        return self._before > 0

    @property
    def last_role(self) -> Role | None:
        """Whose the newest row is; None if there is none."""
        return self._tail[-1][0] if self._tail else None

    def put(self, row: Bare) -> None:
        """One more row at the end, storable as it is."""
        tail = self._tail
        tail.append(row)
        self._weight += len(row[1])
        if self._weight > self._held or len(tail) > self._most:
            self._spill()

    def append(self, row: NewMessage) -> None:
        """One more row at the end."""
        self.put((row.role, row.text, row.parts, row.source, row.flags))

    def take(self) -> Bare:
        """Take the newest row back. Raises IndexError if there is none."""
        return self._tail.pop()  # the newest row is never on disk

    def hide(self, first: int) -> int:
        """Flag the rows from index `first` on as hidden; returns how many were not so before."""
        found = 0
        if first < self._before:
            found = sum(1 for index in range(first, self._before) if "hidden" not in self[index].flags)
            self._hidden.append((first, self._before))
            self._known.clear()
        for at in range(max(0, first - self._before), len(self._tail)):
            *row, flags = self._tail[at]
            if "hidden" not in flags:
                self._tail[at] = (*row, (*flags, "hidden"))  # type: ignore[assignment]  # the same but for its flags
                found += 1
        return found

    def only(self, kept: Callable[[NewMessage], bool]) -> Spool:
        """A spool of the rows for which `kept` is true."""
        found = Spool(held=self._held, rows=self._most)
        for row in self:
            if kept(row):
                found.append(row)
        return found

    def __len__(self) -> int:
        return self._before + len(self._tail)

    @overload
    def __getitem__(self, at: int) -> NewMessage: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[NewMessage]: ...
    def __getitem__(self, at: int | slice) -> NewMessage | Sequence[NewMessage]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        index = at + len(self) if at < 0 else at
        if index >= self._before:
            return NewMessage.storable(*self._tail[index - self._before])
        if index < 0:
            raise IndexError(at)
        group = bisect_right(self._firsts, index) - 1
        return self._group(group)[index - self._firsts[group]]

    def __iter__(self) -> Iterator[NewMessage]:
        for number in range(len(self._firsts)):
            yield from self._group(number)
        for row in tuple(self._tail):
            yield NewMessage.storable(*row)

    def __reversed__(self) -> Iterator[NewMessage]:
        return (self[index] for index in range(len(self) - 1, -1, -1))

    def _spill(self) -> None:
        """Write all rows but the newest, a group at a time."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="studio-")  # noqa: SIM115  # closed with the spool
            weakref.finalize(self, self._file.close)
            self._held, self._most = _GROUP_SIZE, _GROUP_ROWS
        newest = self._tail.pop()
        for first in range(0, len(self._tail), _GROUP_ROWS):
            self._write(self._tail[first : first + _GROUP_ROWS])
        self._tail = [newest]
        self._weight = 0

    def _write(self, group: list[Bare]) -> None:
        assert self._file is not None
        raw = marshal.dumps(group)
        with self._reading:
            self._file.seek(self._end)
            self._file.write(raw)
        self._firsts.append(self._before)
        self._places.append(self._end)
        self._end += len(raw)
        self._before += len(group)

    def _group(self, number: int) -> list[NewMessage]:
        known = self._known.get(number)
        if known is not None:
            return known
        assert self._file is not None
        place = self._places[number]
        end = self._places[number + 1] if number + 1 < len(self._places) else self._end
        with self._reading:
            self._file.seek(place)
            raw = self._file.read(end - place)
        rows = [NewMessage.storable(*values) for values in marshal.loads(raw)]
        first = self._firsts[number]
        for low, high in self._hidden:
            for at in range(max(low - first, 0), min(high - first, len(rows))):
                if "hidden" not in rows[at].flags:
                    rows[at] = replace(rows[at], flags=(*rows[at].flags, "hidden"))
        while len(self._known) >= _KNOWN_GROUPS:
            self._known.pop(next(iter(self._known)), None)
        self._known[number] = rows
        return rows


class Tally(Spool):
    """A spool that counts its rows and holds the newest alone: for a list of what a file holds."""

    def __init__(self) -> None:
        super().__init__()
        self._asked = ""

    @property
    def asked(self) -> str:
        return self._asked

    def put(self, row: Bare) -> None:
        if not self._asked and row[0] == "user" and row[1].strip():
            self._asked = row[1]
        self._before += len(self._tail)
        self._tail = [row]

    def hide(self, first: int) -> int:
        return 0

    def only(self, kept: Callable[[NewMessage], bool]) -> Spool:
        return self
