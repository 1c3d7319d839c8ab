"""The upstream's side of the wire: HTTP/1.1 on asyncio's own streams, a request in one write, bytes as they come.

The models' client is not used here: it answers in parsed pieces and spends several turns of the event loop on each,
which is more than a recorder may add.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

import h11

CONNECT_SECONDS: Final = 10.0
"""How long a connection to the upstream is waited for: the program's own limit ends at the recorder."""

_IDLE_SECONDS = 4.0  # most servers close a quiet connection after 5 s: never post on one that is about to go
_MOST_IDLE = 64
_READ = 65_536
_LARGEST_HEAD = 262_144

Headers = Sequence[tuple[bytes, bytes]]


class WireError(OSError):
    """The upstream could not be reached, or broke off."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where connections lead: host and port of the upstream, `tls` or not, and the proxy before it (empty: none)."""

    host: str
    port: int
    tls: bool
    proxy: str = ""


class Wire:
    """Connections to one place; those that are quiet are kept a little for the next request."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._idle: list[tuple[float, _Connection]] = []
        self._tls: ssl.SSLContext | None = None

    def prepare(self) -> None:
        """Load what a first connection needs, ahead of it."""
        if self._tls is None and (self._place.tls or self._place.proxy.startswith("https:")):
            import httpx

            self._tls = httpx.create_ssl_context()

    async def send(self, method: str, target: str, headers: Headers, content: bytes | AsyncIterable[bytes]) -> Answer:
        """The head of the answer to a request; its body is read from it. Raises WireError."""
        connection = self._kept() or await self._connected()
        try:
            return Answer(self, connection, *await connection.ask(method, target, headers, content))
        except BaseException:
            connection.close()
            raise

    def keep(self, connection: _Connection) -> None:
        """A request is done: its connection serves the next one, if it can."""
        if connection.reusable() and len(self._idle) < _MOST_IDLE:
            self._idle.append((asyncio.get_running_loop().time() + _IDLE_SECONDS, connection))
        else:
            connection.close()

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        for _, connection in self._idle:
            connection.close()
        self._idle.clear()
        await asyncio.sleep(0)

    def _kept(self) -> _Connection | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            until, connection = self._idle.pop()
            if until > now and connection.alive():
                return connection
            connection.close()
        return None

    async def _connected(self) -> _Connection:
        self.prepare()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await (self._through_proxy() if self._place.proxy else self._straight())
        except TimeoutError:
            raise WireError(f"no connection within {CONNECT_SECONDS:g} s") from None
        except (OSError, h11.ProtocolError) as fault:
            raise WireError(_words(fault)) from None

    async def _straight(self) -> _Connection:
        place = self._place
        tls = self._tls if place.tls else None
        reader, writer = await asyncio.open_connection(place.host, place.port, ssl=tls, limit=_READ)
        return _Connection(reader, writer)

    async def _through_proxy(self) -> _Connection:
        """A tunnel through the proxy; plain HTTP goes through one too, so that the request needs no other form."""
        parts, place = urlsplit(self._place.proxy), self._place
        tls = self._tls if parts.scheme == "https" else None
        port = parts.port or (443 if tls else 80)
        reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=tls, limit=_READ)
        try:
            host = f"[{place.host}]" if ":" in place.host else place.host
            lines = [f"CONNECT {host}:{place.port} HTTP/1.1", f"Host: {host}:{place.port}"]
            if parts.username or parts.password:
                import base64

                user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
                lines.append(f"Proxy-Authorization: Basic {base64.b64encode(user.encode()).decode()}")
            writer.write("\r\n".join((*lines, "", "")).encode())
            head = await reader.readuntil(b"\r\n\r\n")
            status = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
            if len(status) < 2 or status[1][:1] != "2":
                raise WireError(f"the proxy refused: {' '.join(status[1:])}")
            if place.tls:
                assert self._tls is not None
                await writer.start_tls(self._tls, server_hostname=place.host)
        except asyncio.IncompleteReadError:
            writer.close()
            raise WireError("the proxy closed the connection") from None
        except BaseException:
            writer.close()
            raise
        return _Connection(reader, writer)


class Answer:
    """An answer that has begun. `headers` are as they came; `chunks` gives its body once."""

    def __init__(self, wire: Wire, connection: _Connection, status: int, headers: Headers) -> None:
        self.status, self.headers = status, headers
        self._wire, self._connection = wire, connection
        self._done = False

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it comes over the wire, compressed if it is. Raises WireError if it breaks off."""
        while (chunk := await self._connection.more()) is not None:
            yield chunk
        self._done = True

    def close(self) -> None:
        """Nothing more is read: the connection is kept if the answer was read whole, else closed."""
        if self._done:
            self._wire.keep(self._connection)
        else:
            self._connection.close()


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)

    async def ask(
        self, method: str, target: str, headers: Headers, content: bytes | AsyncIterable[bytes]
    ) -> tuple[int, Headers]:
        """Send a request and wait for the head of its answer."""
        try:
            request = h11.Request(method=method, target=target, headers=_framed(headers, content))
            head = self._state.send(request) or b""
            if isinstance(content, bytes):
                body = self._state.send(h11.Data(data=content)) or b"" if content else b""
                self._writer.write(head + body + (self._state.send(h11.EndOfMessage()) or b""))
            else:
                await self._stream(head, content)
            while True:
                event = await self._next()
                if isinstance(event, h11.Response):
                    return event.status_code, event.headers.raw_items()
                if not isinstance(event, h11.InformationalResponse):
                    raise WireError("the server closed the connection without an answer")
        except h11.ProtocolError as fault:
            raise WireError(_words(fault)) from None

    async def more(self) -> bytes | None:
        """The next piece of the body, None at its end."""
        try:
            event = await self._next()
        except h11.ProtocolError as fault:
            raise WireError(_words(fault)) from None
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if isinstance(event, h11.EndOfMessage):
            return None
        raise WireError("the answer broke off before its end")

    def alive(self) -> bool:
        """Whether the server has not closed it meanwhile."""
        return not (self._reader.at_eof() or self._writer.is_closing())

    def reusable(self) -> bool:
        """Make it ready for another request; false if it can serve none."""
        if self._state.our_state is not h11.DONE or self._state.their_state is not h11.DONE or not self.alive():
            return False
        self._state.start_next_cycle()
        return True

    def close(self) -> None:
        self._writer.close()

    async def _stream(self, head: bytes, content: AsyncIterable[bytes]) -> None:
        self._writer.write(head)
        async for piece in content:
            self._writer.write(self._state.send(h11.Data(data=piece)) or b"")
            await self._drain()
        self._writer.write(self._state.send(h11.EndOfMessage()) or b"")

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError as fault:
            raise WireError(_words(fault)) from None

    async def _next(self) -> h11.Event:
        while True:
            event = self._state.next_event()
            if isinstance(event, h11.Event):
                return event
            if event is h11.PAUSED:
                raise WireError("the server goes on after the end of its answer")
            try:
                self._state.receive_data(await self._reader.read(_READ))
            except OSError as fault:
                raise WireError(_words(fault)) from None


def _framed(headers: Headers, content: bytes | AsyncIterable[bytes]) -> list[tuple[bytes, bytes]]:
    """The headers with what says where the body ends."""
    if any(name == b"content-length" for name, _ in headers):
        return list(headers)
    if not isinstance(content, bytes):
        return [*headers, (b"transfer-encoding", b"chunked")]
    return [*headers, (b"content-length", str(len(content)).encode())] if content else list(headers)


def _words(fault: Exception) -> str:
    """What the system said of a fault."""
    if isinstance(fault, OSError) and fault.errno and not isinstance(fault, ssl.SSLError | WireError):
        return os.strerror(fault.errno) if fault.errno > 0 else fault.strerror or str(fault)
    return str(fault) or type(fault).__name__
