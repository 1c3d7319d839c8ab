"""From the bytes of a reply to model events: what all dialects have in common."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Protocol

from runtime.errors import ModelError
from runtime.events import ModelEvent
from runtime.models.connection import Connection, Reply
from runtime.models.failures import not_the_dialect, short
from runtime.models.sse import EventReader, ServerEvent
from runtime.values.json import Json, clean

_BLANK = b" \t\r\n\xef\xbb\xbf"
_SHOWN = 2_000
_AFTER_THE_END = 0.05
_AFTER_A_REASON = 5.0
"""Seconds that the rest of a stream is waited for, after its last event and after its finish reason."""


class DialectReader(Protocol):
    """Reads the events of one reply in one dialect. It knows no bytes and no network."""

    @property
    def reason_seen(self) -> bool:
        """The model has said why it ended; usage may still follow."""
        ...

    @property
    def done(self) -> bool:
        """Nothing more can follow."""
        ...

    def feed(self, event: ServerEvent) -> Iterable[ModelEvent]:
        """The model events of one server event. Raises ModelError for an error in the stream, or for no dialect."""
        ...

    def whole(self, body: Json) -> Iterable[ModelEvent]:
        """The model events of an answer that came whole, its end included."""
        ...

    def end(self) -> Iterable[ModelEvent]:
        """The last events, `Ended` among them. Raises ModelError if the closing marker was not seen (M3)."""
        ...


async def ask(
    connection: Connection, body: bytes, reader: DialectReader, *, stream: bool
) -> AsyncGenerator[ModelEvent, None]:
    """Post `body` and read the reply. Closing this closes the connection, unless the reply was read to its end."""
    accept = "text/event-stream" if stream else "application/json"
    async with connection.post(body, accept=accept) as reply, aclosing(read_reply(reply, reader)) as events:
        async for event in events:
            yield event


async def read_reply(reply: Reply, reader: DialectReader) -> AsyncGenerator[ModelEvent, None]:
    """The model events of `reply`, streamed or whole, told apart by the bytes and not by what a header says."""
    head = b""
    async for chunk in reply:
        head += chunk
        if head.lstrip(_BLANK):
            break
    start = head.lstrip(_BLANK)[:1]
    if start in (b"{", b"["):
        for event in reader.whole(await _json_of(reply, head)):
            yield event
    elif not start or start == b"<" or "html" in reply.content_type:
        raise not_the_dialect(reply.status, reply.content_type, await _shown(reply, head))
    else:
        async for event in _streamed(reply, reader, head):
            yield event


async def _streamed(reply: Reply, reader: DialectReader, head: bytes) -> AsyncGenerator[ModelEvent, None]:
    events, chunk, seen = EventReader(), head, False
    while True:
        for server_event in events.feed(chunk):
            seen = True
            for event in reader.feed(server_event):
                yield event
            if reader.done:
                break
        if reader.done:
            # Reading on to the end of the body lets the connection be used again.
            reply.finish_within(_AFTER_THE_END)
            async for _ in reply:
                pass
            break
        if reader.reason_seen:
            reply.finish_within(_AFTER_A_REASON)
        try:
            chunk = await anext(reply)
        except StopAsyncIteration:
            break
        if not seen and len(head) < _SHOWN:
            head += chunk
    if not reader.done:
        last = events.end()
        if not seen and not last:
            raise not_the_dialect(reply.status, reply.content_type, head.decode("utf-8", "replace"))
        for event in _last_events(reader, last):
            yield event
    for event in reader.end():
        yield event


def _last_events(reader: DialectReader, events: list[ServerEvent]) -> list[ModelEvent]:
    """The events of a stream's last lines, which may have been cut in the middle: then they say nothing."""
    try:
        return [out for event in events for out in reader.feed(event)]
    except ModelError as error:
        if error.kind == "malformed":
            return []
        raise


def data_of(event: ServerEvent) -> dict[str, Json]:
    """The JSON object in an event's data. Raises ModelError if it holds none."""
    try:
        value = json.loads(event.data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ModelError(f"the stream holds what is no JSON object: {short(event.data)}", kind="malformed")
    return value


async def _json_of(reply: Reply, head: bytes) -> Json:
    parts = [head, *[chunk async for chunk in reply]]
    text = b"".join(parts).decode("utf-8-sig", "replace")
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        raise not_the_dialect(reply.status, reply.content_type, text[:_SHOWN]) from None
    return value


async def _shown(reply: Reply, head: bytes) -> str:
    """The beginning of a body that is no answer: as much of it as an error shows, if it comes."""
    reply.finish_within(1.0)
    while len(head) < _SHOWN:
        chunk = await anext(reply, None)
        if chunk is None:
            break
        head += chunk
    return head.decode("utf-8", "replace")


class TextJoiner:
    """Makes pieces of text storable (S8, C65): halves of a surrogate pair that were sent apart become one letter."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """`piece`, mended; empty if it was only the first half of a letter."""
        if self._half:
            piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return mended(piece)

    def rest(self) -> str:
        """What is left at the end: a stand-in for half a letter, or nothing."""
        half, self._half = self._half, ""
        return mended(half)


def mended(text: str) -> str:
    """`text` with surrogate pairs joined, and U+FFFD for half ones and NUL."""
    if text.isascii():
        return clean(text)
    return clean(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def distinct_id(id: str, taken: set[str], step: int, n: int) -> str:
    """`id`, or a new one if it is blank or `taken` (C42); it is taken from then on. `n` is the call's place, from 1."""
    if not id.strip() or id in taken:
        id = f"call_{step}_{n}"
    while id in taken:
        id += "x"
    taken.add(id)
    return id


def whole_number(value: Json) -> int | None:
    """`value` as a count of tokens, None if it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1:
        return int(value)
    return None
