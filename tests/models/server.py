"""A small real HTTP server that answers as it is told, byte for byte: the faults of the wire need a wire.

It runs in a thread of its own, so that coroutines, threads and other processes can all call it. What it is told to
answer waits in a queue; when the queue is empty it answers `ok` in the dialect of the path it was asked on.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, Self

from tests.models.dialects import ANTHROPIC, OPENAI


class Act(Enum):
    """What an answer does between two pieces of bytes."""

    HOLD = "send nothing more until released, or until the client has gone"
    CLOSE = "close the connection here, in the middle of the answer"
    RESET = "reset the connection here"


@dataclass(frozen=True)
class Answer:
    """One answer. Each piece of bytes is one chunk and one write; without `chunked` the body ends with the connection.

    `raw` pieces are written as they are, status line and all.
    """

    pieces: tuple[bytes | Act, ...]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "text/event-stream"
    chunked: bool = True
    raw: bool = False


@dataclass(frozen=True)
class Received:
    """A request as it arrived; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def streamed(*pieces: bytes | Act, **more: Any) -> Answer:
    """A 200 with these pieces as an event stream."""
    return Answer(tuple(pieces), **more)


def plain(status: int, body: bytes | str | object, *, content_type: str = "application/json", **headers: str) -> Answer:
    """A whole answer: bytes or text as they are, anything else as JSON. Underscores in header names are hyphens."""
    if isinstance(body, str):
        body = body.encode()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer((data,) if data else (), status, named, content_type)


class ModelServer:
    """`will(answer, ...)` queues answers, `received` is what came, `url` where it listens (on any port, or `port`)."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.received: list[Received] = []
        self.gone = threading.Event()
        """Set when a client left while an answer was held."""
        self.holding = threading.Event()
        """Set when an answer is being held."""
        self._answers: deque[Answer] = deque()
        self._loop = asyncio.new_event_loop()
        self._released = asyncio.Event()
        self._ready: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, name="model-server", daemon=True)
        self._connections: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = self._ready.result(10)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Go away at once: every connection is closed where it stands, and nobody listens any more."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def will(self, *answers: Answer) -> None:
        """Queue answers, the first for the next request."""
        self._answers.extend(answers)

    def release(self) -> None:
        """Let what is held go on."""
        self._loop.call_soon_threadsafe(self._released.set)

    async def wait(self, event: threading.Event) -> None:
        """Wait in a coroutine for `gone` or `holding`, at most 10 seconds."""
        if not await asyncio.to_thread(event.wait, 10):
            raise AssertionError("the server waited in vain")

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self._ready.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while (request := await _read(reader)) is not None:
                self.received.append(request)
                answer = self._answers.popleft() if self._answers else _usual(request)
                if not await self._answer(answer, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Write `answer`; returns whether the connection can be used again."""
        if not answer.raw:
            writer.write(_head(answer))
        for piece in answer.pieces:
            if piece is Act.HOLD:
                await self._hold(reader)
            elif piece is Act.CLOSE or piece is Act.RESET:
                await writer.drain()
                if piece is Act.RESET:
                    link: socket.socket = writer.get_extra_info("socket")
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            elif piece:
                assert isinstance(piece, bytes)
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" if answer.chunked else piece)
                await writer.drain()
                await asyncio.sleep(0)
        if answer.chunked:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return answer.chunked

    async def _hold(self, reader: asyncio.StreamReader) -> None:
        """Wait for `release`, or for the client to leave."""
        self.holding.set()
        left = asyncio.ensure_future(reader.read(1))
        freed = asyncio.ensure_future(self._released.wait())
        try:
            done, _ = await asyncio.wait((left, freed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
            freed.cancel()
        self._released.clear()
        if left in done:
            self.gone.set()
            raise ConnectionResetError


async def _read(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, _ = first.split(" ")
    return Received(method, path, headers, body)


def _head(answer: Answer) -> bytes:
    headers = {"content-type": answer.content_type, **answer.headers}
    headers |= {"transfer-encoding": "chunked"} if answer.chunked else {"connection": "close"}
    lines: Iterable[str] = (f"{name}: {value}" for name, value in headers.items() if value)
    return "\r\n".join((f"HTTP/1.1 {answer.status} Whatever", *lines, "", "")).encode()


def _usual(request: Received) -> Answer:
    dialect = ANTHROPIC if request.path.partition("?")[0].endswith("/messages") else OPENAI
    if request.json.get("stream"):
        return streamed(dialect.stream(dialect.text("ok"), dialect.end()))
    return plain(200, dialect.whole("ok"))
