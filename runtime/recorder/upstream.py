"""The server behind the recorder: which address a path means there, which headers go on, how it is reached (Q3)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Iterable, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from runtime.models.connection import open_transport
from runtime.models.endpoint import Redactor, read_endpoint, secret_values

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS: Final = 10.0
"""How long a connection to the upstream is waited for: the program's own limit ends at the recorder."""

_IDLE_SECONDS = 4.0  # most servers close a quiet connection after 5 s: never post on one that is about to go

_HOP_BY_HOP = frozenset(
    (
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
        b"trailer", b"transfer-encoding", b"upgrade",
    )
)  # fmt: skip
_KEYS = (b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"proxy-authorization", b"cookie")
_READABLE = (b"gzip", b"deflate", b"identity")

Headers = Sequence[tuple[bytes, bytes]]


class Upstream:
    """Where calls go. `url` is a base URL as people write it, with or without `/v1`; user, password and query in it go
    with every call. Raises ConfigurationError for a URL that cannot be used. `shown` holds no secret.
    """

    def __init__(self, url: str, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._endpoint = read_endpoint(url, lambda path: path, field="--upstream")
        self.shown = self._endpoint.url
        self.redact = Redactor(self._endpoint.secrets)
        self._path = re.sub(r"\Ahttps?://[^/]*", "", self._endpoint.url)
        self._site = self._endpoint.url.removesuffix(self._path)
        self._transport = transport

    def __repr__(self) -> str:
        return f"Upstream({self.shown!r})"

    def address(self, path: str, query: str) -> str:
        """The URL for `path` (quoted, as it came) there. A program may have been given the recorder's address with or
        without the path of the upstream's, and with `/v1` twice is never meant."""
        base = self._path
        if base and (path == base or path.startswith(f"{base}/")):
            path = path.removeprefix(base)
        elif base.endswith("/v1") and (path == "/v1" or path.startswith("/v1/")):
            path = path.removeprefix("/v1")
        queries = "&".join(part for part in (query, self._endpoint.query) if part)
        return f"{self._site}{base}{path}{'?' if queries else ''}{queries}"

    def headers(self, given: Iterable[tuple[bytes, bytes]], *, recorded: bool) -> list[tuple[bytes, bytes]]:
        """The headers to send on. Of a call that is recorded, an answer may only be compressed as can be read."""
        kept = end_to_end(given)
        if self._endpoint.basic and not any(name == b"authorization" for name, _ in kept):
            kept.append((b"authorization", self._endpoint.basic.encode()))
        if not recorded:
            return [pair for pair in kept if pair[0] != b"host"]
        return [
            (name, _readable(value) if name == b"accept-encoding" else value) for name, value in kept if name != b"host"
        ]

    def secrets(self, headers: Iterable[tuple[bytes, bytes]], query: str) -> tuple[str, ...]:
        """The keys that come with a call: of its headers, its query, and the upstream's own."""
        found = [*self._endpoint.secrets, *secret_values(parse_qsl(query, keep_blank_values=True))]
        for name, value in headers:
            if name in _KEYS or b"token" in name or b"secret" in name or name.endswith(b"-key"):
                text = value.decode("latin-1").strip()
                found += [text, text.partition(" ")[2].strip()]
        return tuple(sorted({secret for secret in found if looks_secret(secret)}, key=len, reverse=True))

    async def send(
        self, method: str, address: str, headers: Headers, content: bytes | AsyncIterable[bytes]
    ) -> httpx.Response:
        """The answer, open, its body not yet read. Raises httpx.HTTPError and OSError as the wire fails."""
        import httpx

        waits = {"connect": CONNECT_SECONDS, "read": None, "write": None, "pool": None}
        request = httpx.Request(method, address, headers=list(headers), content=content, extensions={"timeout": waits})
        return await self.open().handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections that are kept open."""
        if self._transport is not None:
            await self._transport.aclose()

    def open(self) -> httpx.AsyncBaseTransport:
        """The way there; opened ahead, no first call waits for what that loads. Raises ConfigurationError."""
        if self._transport is None:
            self._transport = open_transport(self._endpoint, idle=_IDLE_SECONDS)
        return self._transport


def end_to_end(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers that are not about one connection alone; names in lower case."""
    pairs = [(name.lower(), value) for name, value in given]
    named = {part.strip().lower() for name, value in pairs if name == b"connection" for part in value.split(b",")}
    return [(name, value) for name, value in pairs if name not in _HOP_BY_HOP and name not in named]


def looks_secret(text: str) -> bool:
    """Whether a value is worth taking out of texts: `ollama` and `EMPTY`, given to servers that want no key, are
    words like others."""
    return len(text) >= 20 or (len(text) >= 6 and any(sign.isdigit() for sign in text))


def _readable(value: bytes) -> bytes:
    kept = [one.strip() for one in value.split(b",") if one.partition(b";")[0].strip().lower() in _READABLE]
    return b", ".join(kept) or b"identity"
