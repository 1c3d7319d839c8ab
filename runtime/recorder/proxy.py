"""The proxy itself, an ASGI application: bytes go through as they come, and copies of them to whoever records.

Nothing is awaited here but the two sides of the call. Recording can fail in every way without a byte being late.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import aclosing
from typing import Any, Final, Protocol, TypeAlias

from runtime.recorder.traffic import KEPT_HEADERS, Began, Dialect, End, Ended, Passed, dialect_of
from runtime.recorder.upstream import Upstream, end_to_end
from runtime.recorder.wire import Answer

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MOST_RECORDED: Final = 64 * 1024 * 1024
"""Bytes of an answer that are kept for recording; a longer one passes through unrecorded."""


class Recorder(Protocol):
    """Whoever is told what passes."""

    def put(self, passed: Passed) -> None: ...

    def give_up(self, call: int, why: str) -> None: ...


class Proxy:
    """Passes every request on to `upstream`, and tells `recorder` of those that are calls of a model.

    `told` is given one line for the first request on each path that is not recorded.
    """

    def __init__(self, upstream: Upstream, recorder: Recorder, *, told: Callable[[str], None]) -> None:
        self._upstream, self._recorder, self._told = upstream, recorder, told
        self._numbers = itertools.count(1)
        self._unrecorded: set[str] = set()
        self._tasks: set[asyncio.Task[object]] = set()

    @property
    def running(self) -> int:
        """How many requests are under way."""
        return len(self._tasks)

    async def abandon(self) -> None:
        """End the requests that are still under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Web sockets are refused: no model is called through one."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1003})
        elif scope["type"] == "http":
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                await self._pass(scope, receive, send)
            finally:
                self._tasks.discard(task)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.monotonic()
        path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
        dialect = dialect_of(scope["method"], scope["path"])
        call: _Call | None = None
        if dialect is not None:
            body = await _whole(receive)
            if body is None:
                return
            call = _Call(next(self._numbers), dialect, self._recorder, began)
            self._recorder.put(Began(call.number, dialect, body, self._upstream.secrets(scope["headers"], query)))
            content: bytes | AsyncIterator[bytes] = body
            sent = asyncio.get_running_loop().create_future()
            sent.set_result(None)
        else:
            self._say_unrecorded(scope["method"], scope["path"])
            sent = asyncio.get_running_loop().create_future()
            content = _streamed(receive, sent) if _has_body(scope["headers"]) else _no_body(sent)
        headers = self._upstream.headers(scope["headers"], recorded=call is not None)
        relay = asyncio.ensure_future(
            self._relay(scope["method"], self._upstream.target(path, query), headers, content, call, send)
        )
        gone = asyncio.ensure_future(_gone(receive, sent))
        try:
            await asyncio.wait((relay, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            relay.cancel()
            gone.cancel()
            await asyncio.wait((relay, gone))
            if call is not None and relay.cancelled():
                call.over("left")
        if not relay.cancelled():
            relay.result()

    async def _relay(
        self,
        method: str,
        target: str,
        headers: list[tuple[bytes, bytes]],
        content: bytes | AsyncIterator[bytes],
        call: _Call | None,
        send: Send,
    ) -> None:
        """Ask the upstream and pass on what comes, until its end or its failure."""
        try:
            answer = await self._upstream.send(method, target, headers, content)
        except OSError as fault:
            await self._unreachable(fault, call, send)
            return
        try:
            if call is not None:
                call.answers(answer)
            await send({"type": "http.response.start", "status": answer.status, "headers": end_to_end(answer.headers)})
            async with aclosing(answer.chunks()) as chunks:
                async for chunk in chunks:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    if call is not None:
                        call.take(chunk)
        except OSError:
            if call is not None:
                call.over("cut-off")
            return  # without an end: the server closes the connection, so the program sees what happened
        finally:
            answer.close()
        if call is not None:
            call.over("complete")
        await send({"type": "http.response.body", "body": b""})

    async def _unreachable(self, fault: OSError, call: _Call | None, send: Send) -> None:
        words = self._upstream.redact(f"the recorder got no answer from {self._upstream.shown}: {fault}")
        if call is not None:
            call.over("unreachable", words)
        body = json.dumps(_as_error(words, call.dialect if call else "openai-chat")).encode()
        kind, length = (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": 502, "headers": [kind, length]})
        await send({"type": "http.response.body", "body": body})

    def _say_unrecorded(self, method: str, path: str) -> None:
        line = f"{method} {path}"
        if line not in self._unrecorded and len(self._unrecorded) < 100:
            self._unrecorded.add(line)
            hint = ": recorded are chat completions and messages" if path.endswith("/responses") else ""
            self._told(f"{line} passes through unrecorded{hint}")


class _Call:
    """What is kept of one call while it passes."""

    def __init__(self, number: int, dialect: Dialect, recorder: Recorder, began: float) -> None:
        self.number, self.dialect = number, dialect
        self._recorder, self._began = recorder, began
        self._status: int | None = None
        self._headers: Mapping[str, str] = {}
        self._chunks: list[bytes] = []
        self._size = 0
        self._given_up = False

    def answers(self, answer: Answer) -> None:
        """The head of the answer has come."""
        self._status = answer.status
        found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
        self._headers = {name: found[name] for name in KEPT_HEADERS if name in found}

    def take(self, chunk: bytes) -> None:
        """A piece of the answer has gone through."""
        self._size += len(chunk)
        if self._size <= MOST_RECORDED:
            self._chunks.append(chunk)
        elif not self._given_up:
            self._given_up = True
            self._chunks.clear()
            self._recorder.give_up(self.number, f"its answer is larger than {MOST_RECORDED // 1_048_576} MB")

    def over(self, end: End, error: str = "") -> None:
        """The call has ended."""
        chunks, self._chunks = tuple(self._chunks), []
        seconds = time.monotonic() - self._began
        self._recorder.put(Ended(self.number, end, self._status, self._headers, chunks, error, seconds))


async def _whole(receive: Receive) -> bytes | None:
    """The request's body; None if the program went away before its end."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _streamed(receive: Receive, sent: asyncio.Future[None]) -> AsyncIterator[bytes]:
    """The request's body as it comes; `sent` is done after it."""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionResetError("the program went away")
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body", False):
            break
    if not sent.done():
        sent.set_result(None)


def _no_body(sent: asyncio.Future[None]) -> bytes:
    sent.set_result(None)
    return b""


def _has_body(headers: list[tuple[bytes, bytes]]) -> bool:
    found = {name.lower(): value for name, value in headers}
    return b"transfer-encoding" in found or found.get(b"content-length", b"0") != b"0"


async def _gone(receive: Receive, sent: asyncio.Future[None]) -> None:
    """Wait until the program has gone away; its request was `sent` before."""
    await sent
    while (await receive())["type"] != "http.disconnect":
        pass


def _as_error(words: str, dialect: Dialect) -> dict[str, object]:
    """An error in the shape that the program's client reads."""
    if dialect == "anthropic":
        return {"type": "error", "error": {"type": "api_error", "message": words}}
    return {"error": {"message": words, "type": "upstream_error", "param": None, "code": "upstream_unreachable"}}
