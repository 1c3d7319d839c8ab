"""The upstream's side of the wire: connections kept and let go, proxies, heads and bodies of every framing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from runtime.recorder.wire import Answer, Place, Wire, WireError
from tests.models.server import Act, ModelServer, plain, streamed
from tests.models.server import Answer as Scripted

HOST = (b"host", b"model.test")


@pytest.fixture
async def wire(model_server: ModelServer) -> AsyncIterator[Wire]:
    one = Wire(place_of(model_server.url))
    yield one
    await one.aclose()


def place_of(url: str, proxy: str = "") -> Place:
    return Place("127.0.0.1", int(url.rpartition(":")[2]), False, proxy)


async def body_of(answer: Answer) -> bytes:
    try:
        return b"".join([chunk async for chunk in answer.chunks()])
    finally:
        answer.close()


async def ask(wire: Wire, method: str = "POST", content: bytes = b"{}") -> bytes:
    return await body_of(await wire.send(method, "/v1/chat/completions", [HOST], content))


async def test_a_connection_that_was_read_to_its_end_is_used_again(wire: Wire, model_server: ModelServer) -> None:
    for _ in range(3):
        await ask(wire)
    assert len(model_server._connections) == 1
    model_server.will(streamed(b"one", b"two"))
    answer = await wire.send("POST", "/v1/chat/completions", [HOST], b"{}")
    await anext(answer.chunks())
    answer.close()
    await ask(wire)
    assert len(model_server.received) == 5


@pytest.mark.parametrize("chunked", [True, False])
async def test_bodies_end_as_they_say(wire: Wire, model_server: ModelServer, chunked: bool) -> None:
    model_server.will(streamed(b"one", b"two", chunked=chunked), plain(204, b"", content_type=""))
    assert await ask(wire) == b"onetwo"
    answer = await wire.send("POST", "/v1/chat/completions", [HOST], b"{}")
    assert (answer.status, await body_of(answer)) == (204, b"")


async def test_heads_that_come_before_the_answer_are_passed_over(wire: Wire, model_server: ModelServer) -> None:
    head = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    model_server.will(Scripted((head, Act.CLOSE), raw=True, chunked=False))
    assert await ask(wire) == b"ok"


@pytest.mark.parametrize(
    "raw", [b"\x16\x03\x01\r\n\r\n", b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", b""]
)
async def test_what_is_no_http_is_an_error(wire: Wire, model_server: ModelServer, raw: bytes) -> None:
    model_server.will(Scripted((raw, Act.CLOSE), raw=True, chunked=False))
    with pytest.raises(WireError):
        await ask(wire)


async def test_a_connection_that_the_server_closed_is_not_used(wire: Wire, model_server: ModelServer) -> None:
    await ask(wire)
    for task in list(model_server._connections):
        model_server._loop.call_soon_threadsafe(task.cancel)
    kept = wire._idle[0][1]
    async with asyncio.timeout(10):
        while kept.alive():  # noqa: ASYNC110 - another thread closes it
            await asyncio.sleep(0)
    await ask(wire)


async def test_a_proxy_is_gone_through(model_server: ModelServer) -> None:
    asked: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        if b"refuse" in asked[-1]:
            writer.write(b"HTTP/1.1 407 Who are you\r\n\r\n")
            writer.close()
            return
        there, back = await asyncio.open_connection("127.0.0.1", int(model_server.url.rpartition(":")[2]))
        writer.write(b"HTTP/1.1 200 Go on\r\n\r\n")
        back.write(await reader.read(65_536))
        writer.write(await there.readuntil(b"\r\n0\r\n\r\n"))
        back.close()
        writer.close()

    async with await asyncio.start_server(tunnel, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        wire = Wire(place_of(model_server.url, f"http://me:pass%20word@127.0.0.1:{port}"))
        assert b"choices" in await ask(wire)
        await wire.aclose()
        refused = Wire(Place("refuse.test", 80, False, f"http://127.0.0.1:{port}"))
        with pytest.raises(WireError, match="the proxy refused: 407 Who are you"):
            await ask(refused)
    assert asked[0].startswith(f"CONNECT 127.0.0.1:{model_server.url.rpartition(':')[2]} HTTP/1.1\r\n".encode())
    assert b"Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk" in asked[0]


async def test_a_place_that_refuses_is_named_in_the_systems_words() -> None:
    with pytest.raises(WireError, match="Connection refused"):
        await ask(Wire(Place("127.0.0.1", 9, False)))
