"""The recorder between a program and a real server: bytes untouched, streams unbroken, keys nowhere, losses told."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from runtime.errors import BadInput, ConfigurationError, StoreError
from runtime.recorder.proxy import Proxy
from runtime.recorder.serving import Service, listen
from runtime.recorder.upstream import Upstream, end_to_end, looks_secret
from runtime.recorder.writer import Writer
from runtime.records import read_record
from runtime.stores import Store, open_store
from runtime.stores.sqlite import SqliteStore
from runtime.values.record import TurnRecord
from tests.models.dialects import ANTHROPIC, OPENAI, Dialect
from tests.models.server import Act, Answer, ModelServer, plain, streamed

KEY = "sk-made-up-0123456789abcdef"


class Desk:
    """A recorder that runs: a client at its address, the lines it told, and its store file."""

    def __init__(self, client: httpx.AsyncClient, proxy: Proxy, writer: Writer, path: Path, lines: list[str]) -> None:
        self.client, self.proxy, self.writer, self.path, self.lines = client, proxy, writer, path, lines

    @property
    def url(self) -> str:
        return str(self.client.base_url).rstrip("/")

    async def post(self, dialect: Dialect, **body: Any) -> httpx.Response:
        body = {"model": "small", "messages": [{"role": "user", "content": "Hi"}], **body}
        return await self.client.post(dialect.path, json=body)

    async def records(self) -> list[TurnRecord]:
        """Everything recorded, once the recording has ended."""
        await _until(lambda: self.proxy.running == 0)
        await asyncio.to_thread(self.writer.close)
        store = open_store(str(self.path))
        threads = reversed(await store.threads())
        found = [await read_record(store, turn, bodies=True) for one in threads for turn in await store.turns(one.id)]
        await store.close()
        return found


@asynccontextmanager
async def recording(url: str, path: Path, **more: Any) -> AsyncIterator[Desk]:
    lines: list[str] = []
    store = more.pop("store", lambda: open_store(str(path)))
    writer = Writer(store, upstream="http://model.test", told=lines.append, **more)
    writer.start()
    upstream = Upstream(url)
    proxy = Proxy(upstream, writer, told=lines.append)
    service = Service(proxy, listen(0))
    ready = asyncio.Event()
    running = asyncio.create_task(service.run(ready.set))
    await ready.wait()
    headers = {"authorization": f"Bearer {KEY}", "x-api-key": KEY}
    async with httpx.AsyncClient(base_url=service.url, headers=headers, timeout=10, trust_env=False) as client:
        try:
            yield Desk(client, proxy, writer, path, lines)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await upstream.aclose()
            await asyncio.to_thread(writer.close)


@pytest.fixture
async def desk(model_server: ModelServer, tmp_path: Path) -> AsyncIterator[Desk]:
    async with recording(model_server.url, tmp_path / "s.db", hold=0.0) as one:
        yield one


async def test_a_whole_answer_passes_and_is_recorded(desk: Desk, dialect: Dialect, model_server: ModelServer) -> None:
    reply = await desk.post(dialect)
    assert reply.json() == dialect.whole("ok")
    sent = model_server.received[0]
    assert (sent.path, sent.headers["authorization"]) == (dialect.path, f"Bearer {KEY}")
    assert sent.headers["host"] == model_server.url.removeprefix("http://")
    (record,) = await desk.records()
    assert (record.answer, record.status) == ("ok", "completed")


async def test_a_stream_passes_byte_for_byte_as_it_comes(
    desk: Desk, dialect: Dialect, model_server: ModelServer
) -> None:
    pieces = [dialect.start + b": odd\r\n\r", b"\n", dialect.text("Gr\u00fc\u00dfe \u2028 \U0001f600")[:41]]
    pieces += [dialect.text("Gr\u00fc\u00dfe \u2028 \U0001f600")[41:], dialect.end()]
    model_server.will(streamed(*pieces[:3], Act.HOLD, *pieces[3:], headers={"x-made-up": "kept"}))
    got = b""
    body = {"model": "small", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    async with desk.client.stream("POST", dialect.path, json=body) as reply:
        assert reply.headers["x-made-up"] == "kept"
        assert reply.headers["content-type"] == "text/event-stream"
        async for chunk in reply.aiter_raw():
            got += chunk
            if got == b"".join(pieces[:3]):
                model_server.release()
    assert got == b"".join(pieces)
    (record,) = await desk.records()
    assert record.answer == "Gr\u00fc\u00dfe \u2028 \U0001f600"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
async def test_compressed_answers_pass_compressed_and_are_read(
    desk: Desk, dialect: Dialect, model_server: ModelServer, encoding: str
) -> None:
    whole = json.dumps(dialect.whole("packed")).encode()
    raw = zlib.compressobj(wbits=-15)
    packed = {"gzip": gzip.compress(whole), "deflate": zlib.compress(whole)}.get(encoding)
    packed = packed or raw.compress(whole) + raw.flush()
    model_server.will(plain(200, packed, content_encoding=encoding.split()[-1]))
    body = {"model": "small", "messages": [{"role": "user", "content": "Hi"}]}
    async with desk.client.stream("POST", dialect.path, json=body) as reply:
        assert b"".join([chunk async for chunk in reply.aiter_raw()]) == packed
    assert (await desk.records())[0].answer == "packed"


async def test_only_what_can_be_read_is_asked_for(desk: Desk, model_server: ModelServer) -> None:
    await desk.client.post(OPENAI.path, json={"messages": []}, headers={"accept-encoding": "br, gzip;q=0.8, zstd"})
    model_server.will(plain(200, {"data": []}))
    await desk.client.get("/v1/models", headers={"accept-encoding": "br"})
    assert [one.headers["accept-encoding"] for one in model_server.received] == ["gzip;q=0.8", "br"]


async def test_other_paths_pass_unrecorded(desk: Desk, model_server: ModelServer) -> None:
    model_server.will(plain(200, {"data": []}), plain(201, b"made", content_type="text/plain"), plain(204, b""))
    assert (await desk.client.get("/v1/models?a=1&b=%20x")).json() == {"data": []}
    upload = await desk.client.put("/v1/files", content=_pieces(), headers={"content-length": "300000"})
    assert (upload.status_code, upload.content) == (201, b"made")
    assert (await desk.client.delete("/v1/files/x")).status_code == 204
    get, put, delete = model_server.received
    assert (get.path, put.method, len(put.body), delete.method) == ("/v1/models?a=1&b=%20x", "PUT", 300_000, "DELETE")
    assert "transfer-encoding" not in get.headers
    assert await desk.records() == []
    assert "GET /v1/models passes through unrecorded" in desk.lines


async def _pieces() -> AsyncIterator[bytes]:
    for _ in range(3):
        yield b"x" * 100_000


async def test_Q3_keys_pass_and_are_nowhere_in_the_store(
    desk: Desk, dialect: Dialect, model_server: ModelServer
) -> None:
    other = "in-the-query-9876543210"
    model_server.will(
        plain(401, {"error": {"message": f"Incorrect API key provided: {KEY} ({other})"}}),
        plain(200, dialect.whole(f"your key is {KEY}")),
        streamed(dialect.stream(dialect.text(f"and {KEY}"), dialect.end())),
    )
    body = {"model": "small", "messages": [{"role": "user", "content": f"my key is {KEY}"}]}
    for more in ({}, {}, {"stream": True}):
        reply = await desk.client.post(f"{dialect.path}?api-key={other}", json={**body, **more})
        assert KEY in reply.text
    records = await desk.records()
    assert len(records) == 3
    assert "[redacted]" in (records[0].error or "")
    assert f"api-key={other}" in model_server.received[0].path
    stored = _bytes_in(desk.path.parent)
    assert KEY.encode() not in stored
    assert other.encode() not in stored
    assert KEY not in repr(records)
    assert KEY not in "\n".join(desk.lines)


async def test_Q3_an_upstream_with_a_password_shows_it_nowhere(model_server: ModelServer, tmp_path: Path) -> None:
    url = model_server.url.replace("http://", "http://me:pass-word-123@") + "/v1?key=query-key-456"
    upstream = Upstream(url)
    assert "pass-word" not in repr(upstream) + upstream.shown
    async with recording(url, tmp_path / "s.db") as desk:
        desk.client.headers.pop("authorization")
        await desk.post(OPENAI)
        await desk.records()
    sent = model_server.received[0]
    assert sent.path == "/v1/chat/completions?key=query-key-456"
    assert sent.headers["authorization"].startswith("Basic ")
    stored = _bytes_in(tmp_path)
    assert b"pass-word" not in stored
    assert b"query-key" not in stored


def _bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def test_words_that_stand_for_a_key_are_no_secrets() -> None:
    assert [looks_secret(text) for text in ("ollama", "EMPTY", "not-needed", "", "x")] == [False] * 5
    assert [looks_secret(text) for text in (KEY, "sk-test-1", "a" * 24)] == [True] * 3


async def test_T10_a_program_that_leaves_closes_the_upstream_and_stops_its_turn(
    desk: Desk, dialect: Dialect, model_server: ModelServer
) -> None:
    model_server.will(streamed(dialect.stream(dialect.text("Half")), Act.HOLD))
    body = {"model": "small", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    async with desk.client.stream("POST", dialect.path, json=body) as reply, aclosing(_raw(reply)) as pieces:
        await anext(pieces)
    await model_server.wait(model_server.gone)
    (record,) = await desk.records()
    assert (record.status, record.transcript[0].text) == ("stopped", "Half")  # type: ignore[union-attr]  # a step


async def test_a_program_that_leaves_before_an_answer_stops_its_turn(desk: Desk, model_server: ModelServer) -> None:
    model_server.will(Answer((Act.HOLD,), raw=True, chunked=False))
    asking = asyncio.create_task(desk.post(OPENAI))
    await model_server.wait(model_server.holding)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await model_server.wait(model_server.gone)
    assert (await desk.records())[0].status == "stopped"


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("act", [Act.CLOSE, Act.RESET])
async def test_M3_an_upstream_that_breaks_off_breaks_off_for_the_program_too(
    desk: Desk, dialect: Dialect, model_server: ModelServer, act: Act, chunked: bool
) -> None:
    part = dialect.stream(dialect.text("Half"))
    length = {} if chunked else {"content-length": "9000"}
    model_server.will(streamed(part, act, chunked=chunked, headers=length))
    body = {"model": "small", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    got: list[bytes] = []
    async with desk.client.stream("POST", dialect.path, json=body) as reply:
        with pytest.raises(httpx.RemoteProtocolError):
            await _read_into(got, reply)
    assert part.startswith(b"".join(got))
    (record,) = await desk.records()
    assert (record.status, record.tiers[0].outcome) == ("failed", "cut-off")


async def _raw(reply: httpx.Response) -> AsyncGenerator[bytes, None]:
    async for chunk in reply.aiter_raw():
        yield chunk


async def _read_into(got: list[bytes], reply: httpx.Response) -> None:
    async for chunk in reply.aiter_raw():
        got.append(chunk)


async def test_errors_of_the_upstream_pass_as_they_are(desk: Desk, dialect: Dialect, model_server: ModelServer) -> None:
    model_server.will(plain(429, {"error": {"message": "slow down"}}, retry_after="2"))
    reply = await desk.post(dialect)
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "2")
    assert reply.json() == {"error": {"message": "slow down"}}
    (record,) = await desk.records()
    assert (record.status, record.tiers[0].status, record.tiers[0].outcome) == ("failed", 429, "status")


async def test_an_upstream_that_is_down_is_a_502_in_the_programs_dialect(tmp_path: Path, dialect: Dialect) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    async with recording(f"http://127.0.0.1:{port}", tmp_path / "s.db", hold=0.0) as desk:
        reply = await desk.post(dialect)
        assert reply.status_code == 502
        error = reply.json()["error"]
        words = f"the recorder got no answer from http://127.0.0.1:{port}: Connection refused"
        assert error["message"] == words
        assert ("type" in reply.json()) == (dialect is ANTHROPIC)
        other = await desk.client.get("/v1/models")
        assert other.status_code == 502
        (record,) = await desk.records()
    assert (record.status, record.tiers[0].outcome, record.error) == ("failed", "connection", words)


class Broken(SqliteStore):
    """A store that takes nothing while `fails` is set."""

    fails = threading.Event()

    def together(self) -> Any:
        if self.fails.is_set():
            raise StoreError("the disk is full")
        return super().together()


async def test_a_store_that_fails_is_told_and_the_traffic_goes_on(
    model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.recorder.writer._PAUSE", 0.0)
    Broken.fails.clear()
    async with recording(model_server.url, tmp_path / "s.db", store=lambda: Broken(tmp_path / "s.db")) as desk:
        messages: list[dict[str, str]] = []
        for number in range(4):
            messages.append({"role": "user", "content": f"question {number}"})
            if number == 1:
                Broken.fails.set()
            reply = await desk.post(OPENAI, messages=messages)
            assert reply.json() == OPENAI.whole("ok")
            messages.append({"role": "assistant", "content": "ok"})
            await _until(partial(_told, desk, number))
            if number == 2:
                Broken.fails.clear()
        records = await desk.records()
    assert [record.request for record in records] == ["question 0", "question 3"]
    told = [line for line in desk.lines if line.startswith("!")]
    assert "! call 2 is not recorded: the disk is full; the traffic goes on" in told
    assert desk.writer.summary.lost == 2
    context = records[1].context
    assert context is not None
    assert [row.text for row in context.rows][2:] == ["question 1", "ok", "question 2", "ok"]


def _told(desk: Desk, number: int) -> bool:
    """Whether so many calls were recorded or lost."""
    return sum("step 1" in line or "is not recorded" in line for line in desk.lines) > number


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in a thread
            await asyncio.sleep(0)


async def test_an_answer_that_is_lost_leaves_its_turn_failed_and_its_thread_marked(
    model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.recorder.proxy.MOST_RECORDED", 100)
    async with recording(model_server.url, tmp_path / "s.db") as desk:
        model_server.will(plain(200, OPENAI.whole("x" * 1000)))
        assert len((await desk.post(OPENAI)).content) > 1000
        (record,) = await desk.records()
        store = open_store(str(desk.path))
        (thread,) = await store.threads()
        await store.close()
    assert (record.status, record.reason) == ("failed", "store-error")
    assert "larger than" in (record.error or "")
    assert thread.status == "incomplete: 1 call was not recorded"


async def test_what_is_no_request_passes_and_is_told(desk: Desk, model_server: ModelServer) -> None:
    model_server.will(plain(400, {"error": "what?"}))
    reply = await desk.client.post(OPENAI.path, content=b"{nonsense")
    assert (reply.status_code, model_server.received[0].body) == (400, b"{nonsense")
    assert await desk.records() == []
    assert any("call 1 is not recorded" in line for line in desk.lines)


async def test_many_calls_at_once_pass_and_are_recorded(desk: Desk) -> None:
    async def one(number: int) -> None:
        messages: list[dict[str, str]] = []
        for turn in range(3):
            messages.append({"role": "user", "content": f"question {turn} of {number}"})
            reply = await desk.post(OPENAI, messages=messages, stream=bool(number % 2))
            assert reply.status_code == 200
            messages.append({"role": "assistant", "content": "ok"})

    await asyncio.gather(*(one(number) for number in range(20)))
    records = await desk.records()
    assert len(records) == 60
    assert {record.status for record in records} == {"completed"}
    assert len({record.thread for record in records}) == 20


@pytest.mark.parametrize(
    ("base", "path", "target"),
    [
        ("http://h:1", "/v1/chat/completions", "/v1/chat/completions"),
        ("http://h:1/v1", "/v1/chat/completions", "/v1/chat/completions"),
        ("http://h:1/v1/", "/chat/completions", "/v1/chat/completions"),
        ("https://h/api/v1", "/v1/chat/completions", "/api/v1/chat/completions"),
        ("https://h/api/v1", "/api/v1/chat/completions", "/api/v1/chat/completions"),
        ("https://h/openai", "/v1/models", "/openai/v1/models"),
        ("http://h", "/", "/"),
    ],
)
def test_C58_the_upstreams_path_is_not_doubled(base: str, path: str, target: str) -> None:
    assert Upstream(base).target(path, "") == target


def test_headers_of_one_connection_alone_stay_here() -> None:
    given = [(b"Connection", b"close, X-Mine"), (b"X-Mine", b"1"), (b"TE", b"trailers"), (b"Accept", b"*/*")]
    assert end_to_end(given) == [(b"accept", b"*/*")]


def test_an_upstream_that_is_no_url_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="--upstream"):
        Upstream("api.example.com/v1")


def test_a_port_that_is_taken_is_refused() -> None:
    with listen(0) as taken:
        taken.listen()
        with pytest.raises(BadInput, match="--port"):
            listen(taken.getsockname()[1])


async def test_the_last_calls_finish_when_the_recorder_is_told_to_stop(
    model_server: ModelServer, tmp_path: Path
) -> None:
    writer = Writer(lambda: open_store(str(tmp_path / "s.db")), upstream="", told=lambda line: None)
    writer.start()
    upstream = Upstream(model_server.url)
    service = Service(Proxy(upstream, writer, told=lambda line: None), listen(0))
    ready = asyncio.Event()
    running = asyncio.create_task(service.run(ready.set))
    await ready.wait()
    model_server.will(Answer((Act.HOLD, OPENAI.stream(OPENAI.text("late"), OPENAI.end()))))
    async with httpx.AsyncClient(base_url=service.url, trust_env=False) as client:
        body = {"model": "small", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
        asking = asyncio.create_task(client.post(OPENAI.path, json=body))
        await model_server.wait(model_server.holding)
        assert service.stop() == 1
        model_server.release()
        assert "late" in (await asking).text
        await running
    await upstream.aclose()
    await asyncio.to_thread(writer.close)
    assert writer.summary.calls == 1


def test_a_store_that_cannot_be_opened_is_refused_at_once(tmp_path: Path) -> None:
    writer = Writer(lambda: _store_of(tmp_path / "none" / "s.db"), upstream="", told=lambda line: None)
    with pytest.raises(BadInput, match="does not exist"):
        writer.start()


def _store_of(path: Path) -> Store:
    return open_store(str(path))
