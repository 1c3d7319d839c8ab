"""Both adapters over a wire that does what wires do: the fine cases, byte by byte."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from runtime.errors import ModelError
from runtime.events import Called, Ended, ModelEvent, Sent, TextDelta, UsageReported
from runtime.models import Model
from runtime.models.settings import ModelSettings
from runtime.values.items import ToolCall
from runtime.values.usage import Usage
from tests.models.dialects import OPENAI, Dialect, event, request_of

Handler = Callable[[httpx.Request], httpx.Response]


class Pieces(httpx.AsyncByteStream):
    """A body in exactly these pieces, that breaks after them if it is told to."""

    def __init__(self, *pieces: bytes, breaks: bool = False) -> None:
        self.pieces, self.breaks = pieces, breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece
        if self.breaks:
            raise httpx.ReadError("the peer has gone")


def wire(dialect: Dialect, *pieces: bytes, breaks: bool = False, kind: str = "text/event-stream", **more: Any) -> Model:
    headers = {"content-type": kind}
    return answering(
        dialect, lambda _: httpx.Response(200, headers=headers, stream=Pieces(*pieces, breaks=breaks)), **more
    )


def answering(dialect: Dialect, handler: Handler, **more: Any) -> Model:
    return dialect.model(httpx.MockTransport(handler), **more)


async def events_of(model: Model) -> list[ModelEvent]:
    return [event async for event in model.stream(request_of())]


async def text_of(model: Model) -> str:
    return "".join(event.text for event in await events_of(model) if isinstance(event, TextDelta))


async def failure_of(model: Model) -> tuple[ModelError, str]:
    """The error, and the text that had come before it."""
    text = ""
    try:
        async for event in model.stream(request_of()):
            assert not isinstance(event, Ended)
            text += event.text if isinstance(event, TextDelta) else ""
    except ModelError as error:
        return error, text
    raise AssertionError("the model did not fail")


async def test_M4_a_streamed_answer(dialect: Dialect) -> None:
    events = await events_of(wire(dialect, dialect.stream(dialect.text("Hel"), dialect.text("lo")), dialect.end()))
    assert isinstance(events[0], Sent)
    assert [e for e in events[1:] if not isinstance(e, UsageReported)] == [
        TextDelta("Hel"),
        TextDelta("lo"),
        Ended("stop"),
    ]


async def test_M4_an_answer_that_came_whole_though_a_stream_was_asked_for(dialect: Dialect) -> None:
    model = answering(dialect, lambda _: httpx.Response(200, json=dialect.whole("Hello", (("a", "f", '{"x":1}'),))))
    assert (await events_of(model))[1:] == [
        UsageReported(Usage(10, 5)), TextDelta("Hello"), Called(ToolCall("a", "f", {"x": 1})), Ended("stop"),
    ] or (await events_of(model))[1:] == [
        TextDelta("Hello"), UsageReported(Usage(10, 5)), Called(ToolCall("a", "f", {"x": 1})), Ended("stop"),
    ]  # fmt: skip


async def test_M4_without_streaming(dialect: Dialect) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json=dialect.whole("Hello"))

    assert await text_of(answering(dialect, answer, settings=ModelSettings(stream=False))) == "Hello"
    body = json.loads(asked[0].content)
    assert body["stream"] is False
    assert "stream_options" not in body
    assert asked[0].headers["accept"] == "application/json"


async def test_T5_a_truncated_answer(dialect: Dialect) -> None:
    assert (await events_of(wire(dialect, dialect.stream(dialect.text("x"), dialect.end("length")))))[-1] == Ended(
        "length"
    )


async def test_M5_usage(dialect: Dialect) -> None:
    events = await events_of(wire(dialect, dialect.stream(dialect.text("x"), dialect.usage(12, 7)), dialect.end()))
    usages = [event.usage for event in events if isinstance(event, UsageReported)]
    assert usages[-1].input == 12


async def test_the_key_travels_in_its_header(dialect: Dialect) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json=dialect.whole("ok"))

    await events_of(answering(dialect, answer, key="sk-9"))
    await events_of(answering(dialect, answer, key=""))
    name, value = ("authorization", "Bearer sk-9") if dialect is OPENAI else ("x-api-key", "sk-9")
    assert asked[0].headers[name] == value
    assert name not in asked[1].headers
    assert asked[0].url.path == dialect.path
    assert asked[0].headers["content-type"] == "application/json"


async def test_bytes_may_be_split_anywhere(dialect: Dialect) -> None:
    stream = dialect.stream(dialect.text("é漢🙂"), dialect.call("a", "f", '{"x":"ü"}'), dialect.end())
    for size in (1, 2, 3, 7):
        pieces = [stream[n : n + size] for n in range(0, len(stream), size)]
        events = await events_of(wire(dialect, *pieces))
        assert TextDelta("é漢🙂") in events
        assert Called(ToolCall("a", "f", {"x": "ü"})) in events


async def test_C49_keep_alives_before_and_between(dialect: Dialect) -> None:
    noise = b": PROCESSING\n\n:\n\n" + dialect.ping
    stream = noise + dialect.start + noise + dialect.text("ok") + noise + dialect.end()
    assert await text_of(wire(dialect, b"\n", noise, stream)) == "ok"


async def test_C49_nothing_is_held_back(dialect: Dialect) -> None:
    later = iter([dialect.stream(dialect.text("now")), dialect.end()])
    released: list[bytes] = []

    class Watched(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in later:
                released.append(piece)
                yield piece

    model = answering(dialect, lambda _: httpx.Response(200, stream=Watched()))
    async for one in model.stream(request_of()):
        if isinstance(one, TextDelta):
            assert len(released) == 1


async def test_C51_line_separators_inside_a_data_line(dialect: Dialect) -> None:
    text = "a\u2028b\u2029c\u0085d"
    assert await text_of(wire(dialect, dialect.stream(dialect.text(text), dialect.end()))) == text


async def test_bytes_are_utf8_whatever_the_header_says(dialect: Dialect) -> None:
    stream = dialect.stream(dialect.text("naïve 漢"), dialect.end())
    assert await text_of(wire(dialect, stream, kind="text/event-stream; charset=iso-8859-1")) == "naïve 漢"
    whole = json.dumps(dialect.whole("naïve 漢"), ensure_ascii=False).encode()
    assert await text_of(wire(dialect, b"\xef\xbb\xbf" + whole, kind="application/json; charset=latin-1")) == "naïve 漢"


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "", "application/json"])
async def test_a_stream_is_known_by_its_bytes(dialect: Dialect, kind: str) -> None:
    assert await text_of(wire(dialect, dialect.stream(dialect.text("ok"), dialect.end()), kind=kind)) == "ok"


async def test_the_last_blank_line_may_be_missing(dialect: Dialect) -> None:
    stream = dialect.stream(dialect.text("ok"), dialect.end())
    assert await text_of(wire(dialect, stream.rstrip(b"\n"))) == "ok"


async def test_M3_C28_a_stream_that_ends_or_breaks_without_its_mark(dialect: Dialect) -> None:
    for breaks in (False, True):
        error, text = await failure_of(wire(dialect, dialect.stream(dialect.text("The answer is")), breaks=breaks))
        assert (error.kind, text) == ("cut-off", "The answer is")


async def test_M3_a_stream_cut_inside_a_line(dialect: Dialect) -> None:
    half = dialect.text("lost").partition(b"st")[0]
    error, text = await failure_of(wire(dialect, dialect.stream(dialect.text("kept")), half))
    assert (error.kind, text) == ("cut-off", "kept")


async def test_M3_a_break_after_the_closing_mark_is_no_failure(dialect: Dialect) -> None:
    assert await text_of(wire(dialect, dialect.stream(dialect.text("ok"), dialect.end()), breaks=True)) == "ok"


async def test_M3_C28_done_alone_closes_a_stream_of_chat_completions() -> None:
    delta = event({"choices": [{"index": 0, "delta": {"content": "The answer is"}}]})
    events = await events_of(wire(OPENAI, delta, b"data:  [DONE] \n"))
    assert events[1:] == [TextDelta("The answer is"), Ended("stop")]


async def test_C53_an_error_in_the_stream_after_text(dialect: Dialect) -> None:
    model = wire(dialect, dialect.stream(dialect.text("Partial"), dialect.error("overloaded_error", "upstream died")))
    error, text = await failure_of(model)
    assert (error.kind, text) == ("server", "Partial")
    assert "overloaded_error: upstream died" in error.message


async def test_C53_an_error_as_a_whole_answer_with_200(dialect: Dialect) -> None:
    body = {"type": "error", "error": {"type": "api_error", "message": "no capacity"}}
    error, _ = await failure_of(answering(dialect, lambda _: httpx.Response(200, json=body)))
    assert "api_error: no capacity" in error.message


@pytest.mark.parametrize("stream", [True, False], ids=["streaming", "whole"])
async def test_C54_html_is_an_error_with_status_type_and_snippet(dialect: Dialect, stream: bool) -> None:
    html = {"content-type": "text/html"}
    settings = ModelSettings(stream=stream)
    bad = answering(
        dialect, lambda _: httpx.Response(502, headers=html, text="<html>Bad Gateway [/b]</html>"), settings=settings
    )
    error, _ = await failure_of(bad)
    assert (error.kind, error.status) == ("status", 502)
    assert error.message.endswith("502 Bad Gateway (text/html) <html>Bad Gateway [/b]</html>")
    good = answering(dialect, lambda _: httpx.Response(200, headers=html, text="<p>Log in [/b]</p>"), settings=settings)
    error, _ = await failure_of(good)
    assert (error.kind, error.status) == ("malformed", 200)
    assert error.message == "200 OK (text/html) is not an answer: <p>Log in [/b]</p>"


@pytest.mark.parametrize("body", [b"", b"Internal error", b'{"half": ', b"[1, 2]", b'"text"'])
async def test_what_is_no_answer_is_shown(dialect: Dialect, body: bytes) -> None:
    error, text = await failure_of(wire(dialect, body, kind="text/plain"))
    assert (error.kind, text) == ("malformed", "")
    assert "200 OK" in error.message
    assert (body.decode().strip() or "the body is empty").replace(" ", "") in error.message.replace(" ", "")


async def test_C55_the_unread_body_of_a_streaming_request_is_read(dialect: Dialect) -> None:
    body = Pieces(b'{"error":', b'{"message":"bad key"}}')
    error, _ = await failure_of(answering(dialect, lambda _: httpx.Response(401, stream=body)))
    assert (error.status, error.configuration) == (401, True)
    assert error.message == "401 Unauthorized: bad key"


async def test_C55_what_came_of_a_broken_error_is_said(dialect: Dialect) -> None:
    body = Pieces(b"gateway ti", breaks=True)
    error, _ = await failure_of(answering(dialect, lambda _: httpx.Response(504, stream=body)))
    assert error.message == "504 Gateway Timeout (no content type) gateway ti"


async def test_a_401_without_a_key_says_which_to_set(dialect: Dialect) -> None:
    model = answering(dialect, lambda _: httpx.Response(401, json={"error": {"message": "who?"}}), key="")
    error, _ = await failure_of(model)
    assert error.message == f"401 Unauthorized: who? (no key was sent: set {dialect.name.upper()}_API_KEY)"


@pytest.mark.parametrize(
    ("headers", "seconds"), [({"Retry-After": "3"}, 3.0), ({"retry-after-ms": "1200"}, 1.2), ({}, None)]
)
async def test_M2_retry_after_is_told(dialect: Dialect, headers: dict[str, str], seconds: float | None) -> None:
    error, _ = await failure_of(answering(dialect, lambda _: httpx.Response(429, headers=headers, json={})))
    assert (error.status, error.retry_after) == (429, seconds)


@pytest.mark.parametrize("status", [301, 302, 307, 400, 403, 404, 422, 500, 503, 529])
async def test_M2_any_status_that_is_not_2xx_fails(dialect: Dialect, status: int) -> None:
    headers = {"location": "http://elsewhere.test/"}
    error, _ = await failure_of(answering(dialect, lambda _: httpx.Response(status, headers=headers)))
    assert (error.kind, error.status) == ("status", status)
    assert error.configuration is (status in (400, 403, 404, 422))


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "connection"),
        (httpx.ConnectTimeout("slow"), "timeout"),
        (httpx.RemoteProtocolError("Server disconnected without sending a response."), "connection"),
        (httpx.ProxyError("403 Forbidden"), "connection"),
        (OSError(113, "No route to host"), "connection"),
    ],
)
async def test_M2_faults_before_the_answer(dialect: Dialect, fault: Exception, kind: str) -> None:
    def break_down(request: httpx.Request) -> httpx.Response:
        raise fault

    error, _ = await failure_of(answering(dialect, break_down))
    assert (error.kind, error.status) == (kind, None)
    assert error.message.startswith("http://model.test/v1/")
    assert error.__cause__ is None


async def test_compressed_answers_are_read(dialect: Dialect) -> None:
    import gzip

    body = gzip.compress(dialect.stream(dialect.text("ok"), dialect.end()))
    headers = {"content-encoding": "gzip", "content-type": "text/event-stream"}
    assert (
        await text_of(answering(dialect, lambda _: httpx.Response(200, headers=headers, stream=Pieces(body)))) == "ok"
    )
    broken = answering(dialect, lambda _: httpx.Response(200, headers=headers, stream=Pieces(b"no gzip")))
    error, _ = await failure_of(broken)
    assert error.kind == "malformed"


async def test_M5_a_server_that_refuses_stream_options_is_asked_without() -> None:
    asked: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content))
        if "stream_options" in asked[-1]:
            return httpx.Response(400, json={"error": {"message": "Unrecognized argument: stream_options"}})
        return httpx.Response(200, stream=Pieces(OPENAI.text("ok"), OPENAI.end()))

    model = answering(OPENAI, answer)
    events = await events_of(model)
    assert [json.loads(e.body) for e in events if isinstance(e, Sent)] == asked
    assert await text_of(model) == "ok"
    assert ["stream_options" in body for body in asked] == [True, False, False]


async def test_M2_another_400_is_not_asked_again() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(400, json={"error": {"message": "no such model"}})

    error, _ = await failure_of(answering(OPENAI, answer))
    assert len(asked) == 1
    assert error.message == "400 Bad Request: no such model"


SECRETS = ("sk-ant-TEST1", "pw2", "KEY3", "dXNlcjpwdzI=")


async def test_C89_Q3_no_key_or_password_shows_anywhere(dialect: Dialect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    asked: list[httpx.Request] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        said = f"bad key sk-ant-TEST1 for {request.url} by {request.headers.get('authorization', '')}"
        return httpx.Response(401, json={"error": {"message": said}})

    model = answering(dialect, refuse, base="http://user:pw2@h/v1?key=KEY3", key="sk-ant-TEST1")
    seen = ""
    try:
        async for event_ in model.stream(request_of()):
            seen += repr(event_)
    except ModelError as error:
        seen += f"{error!r} {error} {error.__cause__!r} {error.__context__!r}"
    seen += repr(model) + model.name + caplog.text + repr(vars(model)["_connection"])
    assert "401 Unauthorized: bad key [redacted]" in seen
    assert asked[0].url.params["key"] == "KEY3"
    assert [secret for secret in SECRETS if secret in seen] == []


async def test_Q3_secrets_in_a_broken_stream_and_in_faults_are_redacted(dialect: Dialect) -> None:
    def fault(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"cannot reach {request.url} with sk-ant-TEST1")

    base = "http://user:pw2@h/v1?key=KEY3"
    for model in (
        answering(dialect, fault, base=base, key="sk-ant-TEST1"),
        wire(dialect, dialect.start, dialect.error("x", "sk-ant-TEST1 pw2 KEY3"), base=base, key="sk-ant-TEST1"),
        wire(dialect, b"<html>sk-ant-TEST1 pw2 KEY3", base=base, key="sk-ant-TEST1"),
        wire(dialect, b"data: sk-ant-TEST1 pw2 KEY3\n\n", base=base, key="sk-ant-TEST1"),
    ):
        error, _ = await failure_of(model)
        assert "[redacted]" in error.message
        assert [secret for secret in SECRETS if secret in f"{error!r}"] == []
