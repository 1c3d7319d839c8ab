"""Every fault a model server has been seen to have, by name: what it sends, and what kind of failure that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.models.dialects import Dialect
from tests.models.server import Act, Answer, plain, streamed


@dataclass(frozen=True)
class Fault:
    """`answer` makes it in a dialect. `kind` and `status` are those of the ModelError; `said` is in its words."""

    answer: Callable[[Dialect], Answer]
    kind: str
    status: int | None = None
    said: str = ""


def _part(dialect: Dialect) -> bytes:
    return dialect.stream(dialect.text("Partial"))


def _error(status: int, words: str, **headers: str) -> Fault:
    body = {"error": {"message": words}}
    return Fault(lambda _: plain(status, body, **headers), "status", status, words)


FAULTS: Mapping[str, Fault] = {
    "disconnect-before-the-head": Fault(lambda _: Answer((Act.CLOSE,), raw=True, chunked=False), "connection"),
    "reset-before-the-head": Fault(lambda _: Answer((Act.RESET,), raw=True, chunked=False), "connection"),
    "no-http": Fault(lambda _: Answer((b"\x16\x03\x01\r\n\r\n", Act.CLOSE), raw=True, chunked=False), "connection"),
    "disconnect-before-the-body": Fault(lambda _: streamed(Act.CLOSE), "cut-off"),
    "disconnect-after-text": Fault(lambda d: streamed(_part(d), Act.CLOSE), "cut-off"),
    "reset-after-text": Fault(lambda d: streamed(_part(d), Act.RESET), "cut-off"),
    "disconnect-without-chunks": Fault(lambda d: streamed(_part(d), Act.CLOSE, chunked=False), "cut-off"),
    "end-without-a-mark": Fault(lambda d: streamed(_part(d)), "cut-off"),
    "end-inside-a-line": Fault(lambda d: streamed(_part(d), d.text("x").partition(b'"x')[0]), "cut-off"),
    "end-inside-a-call": Fault(lambda d: streamed(d.stream(d.call("a", "f", '{"x":'))), "cut-off"),
    "chunk-shorter-than-said": Fault(
        lambda d: Answer(
            (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfff\r\n" + _part(d), Act.CLOSE),
            raw=True,
            chunked=False,
        ),
        "cut-off",
    ),
    "chunk-without-a-size": Fault(
        lambda _: Answer((b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",), raw=True, chunked=False),
        "cut-off",
    ),
    "stall-before-the-head": Fault(lambda _: Answer((Act.HOLD,), raw=True, chunked=False), "timeout"),
    "stall-before-the-body": Fault(lambda _: streamed(Act.HOLD), "timeout"),
    "stall-after-text": Fault(lambda d: streamed(_part(d), Act.HOLD), "timeout"),
    "keep-alives-for-ever": Fault(lambda d: streamed(*([d.ping] * 5), Act.HOLD), "timeout"),
    "error-event": Fault(lambda d: streamed(_part(d), d.error("overloaded_error", "busy")), "server", None, "busy"),
    "error-with-200": Fault(lambda _: plain(200, {"error": {"message": "no capacity"}}), "server", None, "no capacity"),
    "garbage-event": Fault(lambda d: streamed(_part(d), b"data: {oops\n\n", d.end()), "malformed", None, "{oops"),
    "binary": Fault(lambda _: plain(200, b"\x00\x01\x02\xff", content_type="image/png"), "malformed", 200, "image/png"),
    "empty-200": Fault(lambda _: plain(200, b""), "malformed", 200, "the body is empty"),
    "html-200": Fault(lambda _: plain(200, "<p>Log in</p>", content_type="text/html"), "malformed", 200, "<p>Log in"),
    "half-json-200": Fault(lambda _: plain(200, '{"choices": ['), "malformed", 200, '{"choices": ['),
    "other-json-200": Fault(lambda _: plain(200, {"hello": 1}), "malformed", 200, "hello"),
    "html-502": Fault(lambda _: plain(502, "<b>Bad [/b]", content_type="text/html"), "status", 502, "<b>Bad [/b]"),
    "empty-500": Fault(lambda _: plain(500, b""), "status", 500, "the body is empty"),
    "redirect": Fault(lambda _: plain(307, b"", location="http://127.0.0.1:9/"), "status", 307),
    "bad-request": _error(400, "no such option"),
    "bad-key": _error(401, "bad key"),
    "forbidden": _error(403, "not for you"),
    "no-such-model": _error(404, "no such model"),
    "unprocessable": _error(422, "field required"),
    "rate-limit": _error(429, "slow down", retry_after="2"),
    "rate-limit-by-date": _error(429, "slow down", retry_after="Wed, 21 Oct 2099 07:28:00 GMT"),
    "rate-limit-in-milliseconds": _error(429, "slow down", retry_after_ms="150"),
    "overloaded": _error(503, "try later"),
    "overloaded-529": _error(529, "overloaded"),
    "error-cut-off": Fault(lambda _: Answer((b"gateway", Act.CLOSE), 504, content_type=""), "status", 504, "gateway"),
    "error-stalled": Fault(lambda _: Answer((b"gateway", Act.HOLD), 504, content_type=""), "status", 504, "gateway"),
}
