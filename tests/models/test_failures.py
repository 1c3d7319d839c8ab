"""Errors of every shape become one sentence (C53, C54, C55), and Retry-After is read in all its forms (M2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.models.failures import MOST_WORDS, refused, retry_after, status_line, words_of


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "bad key"}}, "bad key"),
        ({"error": {"message": "bad key", "type": "auth", "code": "invalid"}}, "auth invalid: bad key"),
        ({"error": "bad key"}, "bad key"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Wait"}}, "overloaded_error: Wait"),
        ({"object": "error", "message": "long", "type": "BadRequest", "code": 400}, "BadRequest 400: long"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"loc": ["body", "model"], "msg": "field required"}]}, "body.model: field required"),
        ([{"error": {"message": "one"}}, {"error": {"message": "two"}}], "one; two"),
        ({"message": "plain"}, "plain"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": '{"error":{"message":"deep"}}'}}},
         "Provider returned error (deep)"),
        ({"error": {"message": '{"error": {"message": "twice"}}'}}, "twice"),
        ({"error": {"code": 7}}, "7"),
        ("just a text", "just a text"),
        ({"errors": ["a", "b"]}, "a; b"),
        ({"error": None, "ok": True}, ""),
        ({"error": {"message": "  many\n\n lines "}}, "many lines"),
    ],
)  # fmt: skip
def test_C53_the_words_of_an_error_of_any_shape(body: Any, said: str) -> None:
    assert words_of(body) == said
    error = refused(400, {"content-type": "application/json"}, json.dumps(body).encode())
    assert error.message.startswith("400 Bad Request")
    assert said in error.message
    assert (error.kind, error.status, error.configuration) == ("status", 400, True)


def test_C54_html_is_shown_as_it_is_with_its_type() -> None:
    error = refused(502, {"content-type": "text/html; charset=utf-8"}, b"<html>Bad Gateway [/b]</html>")
    assert error.message == "502 Bad Gateway (text/html) <html>Bad Gateway [/b]</html>"


def test_an_empty_body_is_said_to_be_empty() -> None:
    assert refused(500, {}, b"  ").message == "500 Internal Server Error (the body is empty)"
    assert refused(500, {}, b"oops").message == "500 Internal Server Error (no content type) oops"
    assert status_line(599) == "599"


def test_a_long_body_is_cut() -> None:
    assert len(refused(500, {}, b"x" * 100_000).message) < MOST_WORDS + 100


def test_a_body_nested_without_end_is_no_trouble() -> None:
    deep: Any = "x"
    for _ in range(50):
        deep = {"error": deep}
    assert words_of(deep) == ""
    assert "500" in refused(500, {}, b"[" * 100_000).message


NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:25 GMT"}, 5.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:15 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"x-ms-retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
    ],
)
def test_M2_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
