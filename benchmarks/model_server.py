"""A model server of its own process: one call, then an answer in many pieces, the same bytes for whoever asks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PIECES = 40
"""Pieces of the streamed answer; a model says one or a few tokens in each."""


@contextmanager
def serving() -> Iterator[str]:
    """The URL of a server that runs while inside."""
    command = [sys.executable, "-m", "benchmarks.model_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def _event(data: object) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _chunk(delta: object, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "small"}
    return _event({**head, "choices": [choice]})


def _usage() -> bytes:
    return _event({"choices": [], "usage": {"prompt_tokens": 300, "completion_tokens": 40, "total_tokens": 340}})


def _call() -> list[bytes]:
    """A step that calls a tool, its arguments in pieces."""
    function = {"name": "look", "arguments": ""}
    first = _chunk({"role": "assistant", "content": None, "tool_calls": [
        {"index": 0, "id": "call_1", "type": "function", "function": function}
    ]})  # fmt: skip
    pieces = ['{"', "at", '":"', "he", "re", '"}']
    more = [_chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces]
    return [first, *more, _chunk({}, "tool_calls"), _usage(), b"data: [DONE]\n\n"]


def _answer() -> list[bytes]:
    """A step that answers, word by word."""
    words = [_chunk({"content": f" word{n}"}) for n in range(PIECES)]
    return [_chunk({"role": "assistant", "content": ""}), *words, _chunk({}, "stop"), _usage(), b"data: [DONE]\n\n"]


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def _connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    steps = {True: _call(), False: _answer()}
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.partition("content-length:")[2].partition("\r\n")[0])
            body = json.loads(await reader.readexactly(length))
            writer.write(HEAD)
            for piece in steps[body["messages"][-1]["role"] == "user"]:
                writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
