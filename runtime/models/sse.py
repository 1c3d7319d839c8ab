"""Server-sent events out of bytes as they come: any line end, split anywhere, always UTF-8."""

from __future__ import annotations

from typing import NamedTuple


class ServerEvent(NamedTuple):
    """One event: its name (empty if it has none) and its data lines joined by newlines."""

    name: str
    data: str


class EventReader:
    """Reads one stream. Bytes go in as they arrive; an event comes out with the blank line that ends it.

    Lines end in CR, LF or CRLF, and in nothing else: U+2028, U+2029 and U+0085 are text. Bytes are UTF-8 whatever a
    header says. Comments and unknown fields are passed over.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._after_cr = False
        self._started = False
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that `chunk` completes, in order."""
        if self._after_cr and chunk:
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        self._after_cr = self._after_cr or chunk.endswith(b"\r")
        if b"\n" not in chunk and b"\r" not in chunk:
            self._rest.append(chunk)
            return []
        if self._rest:
            chunk = b"".join((*self._rest, chunk))
            self._rest.clear()
        *lines, rest = _lines(chunk)
        if rest:
            self._rest.append(rest)
        return self._take(lines)

    def end(self) -> list[ServerEvent]:
        """The last event, if the stream ended without its blank line or its line end."""
        rest = b"".join(self._rest)
        self._rest.clear()
        return self._take([rest, b""] if rest else [b""])

    def _take(self, lines: list[bytes]) -> list[ServerEvent]:
        events: list[ServerEvent] = []
        for line in lines:
            if not self._started:
                self._started, line = True, line.removeprefix(b"\xef\xbb\xbf")
            if not line:
                if self._data:
                    events.append(ServerEvent(self._name, b"\n".join(self._data).decode("utf-8", "replace")))
                    self._data.clear()
                self._name = ""
            elif line.startswith(b"data"):
                value = line[4:]
                if not value or value[:1] == b":":
                    self._data.append(value[2:] if value[1:2] == b" " else value[1:])
            elif line.startswith(b"event:"):
                self._name = line[6:].removeprefix(b" ").decode("utf-8", "replace")
        return events


def _lines(text: bytes) -> list[bytes]:
    """`text` by lines, the last one still open."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.split(b"\n")
