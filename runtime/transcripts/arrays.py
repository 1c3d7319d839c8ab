"""A large JSON array read one element at a time: an export of many conversations never stands in memory whole."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from runtime.errors import BadInput

CHUNK: Final = 1 << 20
LARGEST_ELEMENT: Final = 64 << 20
"""Characters of one element; a longer one is no conversation, or the file is broken there."""

_DECODER: Final = json.JSONDecoder(parse_constant=str)
_BLANK: Final = re.compile(r"[ \t\r\n]*")


def elements(path: Path) -> Iterator[tuple[int, object]]:
    """The elements of the array in `path`, each with the byte up to which the file was read.

    Raises BadInput where the file is no array, or stops being JSON: what came before has been given.
    """
    with path.open("rb") as file:
        reading = _Reading(path, file)
        reading.expect("[")
        if reading.peek() == "]":
            return
        while True:
            yield reading.value()
            if reading.expect(",]") == "]":
                return


class _Reading:
    """The text between what was taken and what was read."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file = path, file
        self.text, self.at, self.line = "", 0, 1
        self.ended = False
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            blank = _BLANK.match(self.text, self.at)
            self.at = blank.end() if blank else self.at
            if self.at < len(self.text) or not self._more(CHUNK):
                return self.text[self.at : self.at + 1]

    def expect(self, wanted: str) -> str:
        """Take the next character, which is one of `wanted`."""
        found = self.peek()
        if not found or found not in wanted:
            raise self._broken(f"{' or '.join(wanted)} expected" if found else "the file ends in mid-array")
        self.at += 1
        return found

    def value(self) -> tuple[int, object]:
        """Take the next element. What does not parse may only be cut off: more is read, twice as much each time."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except (ValueError, RecursionError) as error:
                held = len(self.text) - self.at
                if held > LARGEST_ELEMENT or isinstance(error, RecursionError) or not self._more(max(CHUNK, held)):
                    problem = (
                        "nested too deeply" if isinstance(error, RecursionError) else str(getattr(error, "msg", error))
                    )
                    raise self._broken(problem) from error
                continue
            if end == len(self.text) and self._more(CHUNK):
                continue  # a number may go on
            self.at = end
            return self.file.tell(), value

    def _more(self, size: int) -> bool:
        """Read on, and drop what was taken. False at the end of the file."""
        if self.ended:
            return False
        raw = self.file.read(size)
        self.ended = not raw
        self.line += self.text.count("\n", 0, self.at)
        self.text = self.text[self.at :] + self._decode.decode(raw, final=self.ended)
        self.at = 0
        return not self.ended

    def _broken(self, problem: str) -> BadInput:
        line = self.line + self.text.count("\n", 0, self.at)
        return BadInput(f"not JSON: {problem}", file=str(self.path), line=line)
