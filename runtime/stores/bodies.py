"""Request bodies in memory, kept by size: runs of experiments go first, and the newest stay longest (A6)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TypeAlias

_Key: TypeAlias = tuple[str, int]


class Bodies:
    """Bodies by turn and step, at most `limit` bytes of them."""

    __slots__ = ("_experiments", "_limit", "_others", "_size")

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._experiments: OrderedDict[_Key, bytes] = OrderedDict()
        self._others: OrderedDict[_Key, bytes] = OrderedDict()

    def put(self, turn: str, step: int, body: bytes, *, experiment: bool) -> None:
        """Keep a body; the last one of a step stands."""
        self.forget([(turn, step)])
        (self._experiments if experiment else self._others)[turn, step] = body
        self._size += len(body)
        while self._size > self._limit:
            _, gone = (self._experiments or self._others).popitem(last=False)
            self._size -= len(gone)

    def get(self, turn: str, step: int) -> bytes | None:
        """The body of a step; None if it was never put or had to go."""
        key = (turn, step)
        return self._others[key] if key in self._others else self._experiments.get(key)

    def of_turns(self, turns: set[str]) -> list[_Key]:
        """The keys of all bodies of these turns."""
        return [key for kept in (self._others, self._experiments) for key in kept if key[0] in turns]

    def forget(self, keys: Iterable[_Key]) -> None:
        """Drop bodies; a key that is not there is no error."""
        for key in keys:
            for kept in (self._others, self._experiments):
                body = kept.pop(key, None)
                self._size -= 0 if body is None else len(body)
