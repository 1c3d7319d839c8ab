"""The files of a request, read back from its body (X4)."""

from __future__ import annotations

import json

import httpx
import pytest

from runtime.models.carried import files_in, named
from runtime.models.plain import body_of
from runtime.values.request import Attachment
from tests.models.dialects import Dialect, request_of

FILES = (Attachment("p.png", "image/png", "AAAA"), Attachment("q.pdf", "application/pdf", "BBBB"))


async def test_what_was_attached_is_found_in_the_body(dialect: Dialect) -> None:
    posted: list[bytes] = []

    def answer(sent: httpx.Request) -> httpx.Response:
        posted.append(sent.content)
        return httpx.Response(200, json=dialect.whole("ok"))

    async for _ in dialect.model(httpx.MockTransport(answer)).stream(request_of("hi", attachments=FILES)):
        pass
    found = files_in(posted[0])
    assert [(file.media_type, file.data) for file in found] == [("image/png", "AAAA"), ("application/pdf", "BBBB")]
    parts = tuple({"type": "attachment", "name": file.name, "media_type": file.media_type} for file in FILES)
    assert named(found, parts) == FILES
    assert named((), parts) == tuple(Attachment(file.name, file.media_type, "") for file in FILES)
    assert named(found, None) == found


def test_a_model_without_a_wire_keeps_names_alone() -> None:
    assert files_in(body_of(request_of("hi", attachments=FILES))) == tuple(
        Attachment(file.name, file.media_type, "") for file in FILES
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{oops",
        b"[]",
        b"{}",
        b'{"messages": 3, "attachments": "x"}',
        b'{"messages": [null, {"role": "user", "content": "data:image/png;base64,AAAA"}]}',
        json.dumps({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://h/x.png"}}]}]}).encode(),
    ],
)  # fmt: skip
def test_what_holds_no_file_holds_none(body: bytes) -> None:
    assert files_in(body) == ()
