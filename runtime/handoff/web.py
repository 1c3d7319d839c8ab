"""One exchange with an address that an agent file names: JSON there, JSON or text back, no secret in any error (Q3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from runtime.errors import ModelError
from runtime.models.endpoint import Redactor, read_endpoint
from runtime.values.json import Json, clean, clean_json

if TYPE_CHECKING:
    import httpx

LARGEST: Final = 2_000_000
"""Bytes of an answer that are read."""

_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the status, the type as the server calls it, the body as text."""

    status: int
    content_type: str
    text: str


async def exchange(
    address: str,
    body: Json,
    *,
    method: str = "POST",
    seconds: float,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Reply:
    """Send `body` as JSON (as the query, for a GET) and read the answer, whatever its status.

    Raises ModelError for an address that is none, and for every way in which there is no answer.
    """
    import httpx

    where = read_endpoint(address, lambda path: path, field="ENDPOINT")
    headers = {"Authorization": where.basic} if where.basic else {}
    address = _with_query(where.address, body) if method == "GET" else where.address
    content = None if method == "GET" else clean(json.dumps(body, ensure_ascii=False, default=dict)).encode()
    if content is not None:
        headers["Content-Type"] = "application/json"
    redact = Redactor(where.secrets)
    try:
        async with (
            httpx.AsyncClient(transport=transport, timeout=seconds, trust_env=not where.local) as client,
            client.stream(method, address, content=content, headers=headers) as answer,
        ):
            text = await _read(answer)
            return Reply(answer.status_code, answer.headers.get("content-type", ""), text)
    except httpx.TimeoutException:
        raise ModelError(f"{where.shown} did not answer within {seconds:g} seconds", kind="timeout") from None
    except httpx.HTTPError as error:
        said = redact(str(error)) or type(error).__name__
        raise ModelError(f"{where.shown} cannot be reached: {said}", kind="connection") from None


def readable(reply: Reply) -> Json:
    """The JSON in a reply. Raises ModelError if its status is no 2xx or it holds none; a piece of it is shown.

    The error tells its status in words alone: what was posted may have been taken, and is not posted again (M2).
    """
    _check(reply)
    try:
        value: Json = json.loads(reply.text)
    except (ValueError, RecursionError):
        what = reply.content_type or "no type"
        raise ModelError(f"the server answered no JSON ({what}): {_short(reply.text)}", kind="malformed") from None
    return clean_json(value)


def answer_of(reply: Reply) -> Json:
    """What a tool's server answered: JSON if it is some, else the text. Raises ModelError for a status of failure."""
    _check(reply)
    try:
        value: Json = json.loads(reply.text)
    except (ValueError, RecursionError):
        return clean(reply.text)
    return clean_json(value)


def _check(reply: Reply) -> None:
    if not 200 <= reply.status < 300:
        raise ModelError(f"the server answered {reply.status}: {_short(reply.text)}", kind="status")


def _with_query(address: str, body: Json) -> str:
    if not isinstance(body, Mapping) or not body:
        return address
    pairs = {name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()}
    return f"{address}{'&' if '?' in address else '?'}{urlencode(pairs)}"


async def _read(answer: httpx.Response) -> str:
    size, parts = 0, []
    async for piece in answer.aiter_bytes():
        size += len(piece)
        if size > LARGEST:
            raise ModelError(f"the answer is larger than {LARGEST} bytes", kind="malformed")
        parts.append(piece)
    return b"".join(parts).decode("utf-8-sig", "replace")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[:_SHOWN] + "…"
