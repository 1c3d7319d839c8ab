"""A step while it streams: what has arrived of it so far, made storable piece by piece (S8, M2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.values.items import ToolCall
from runtime.values.json import Json, clean
from runtime.values.record import Part
from runtime.values.usage import Usage


@dataclass(slots=True)
class Streaming:
    """The step under way: what has arrived of it, for the journal if it is cut off.

    `model` is the tier that is being asked, empty between two attempts.
    """

    step: int
    began: float
    model: str = ""
    estimate: int = 0
    parts: Mapping[Part, int] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    usage: Usage | None = None
    opaque: Mapping[str, Json] | None = None
    sent: bool = False
    url: str = ""
    withdrawn: str = ""
    half: str = ""

    def take(self, piece: str) -> str:
        """A piece as it can be stored (S8); the first half of a letter waits for the other, in the next piece (C65)."""
        piece, self.half = self.half + piece, ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self.half = piece[:-1], piece[-1]
        piece = clean(piece)
        if piece:
            self.text.append(piece)
        return piece

    @property
    def said(self) -> str:
        """All that has arrived; half a letter at its end is a stand-in."""
        return "".join((*self.text, clean(self.half)))

    def restart(self) -> None:
        """Forget what a failed tier said: it is replaced, not joined (M2). `withdrawn` keeps it for the record."""
        self.withdrawn = self.said
        self.text, self.calls, self.usage, self.opaque, self.half = [], [], None, None, ""
        self.model = self.url = ""
