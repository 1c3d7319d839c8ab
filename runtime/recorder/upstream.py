"""The server behind the recorder: which address a path means there, which headers go on, how it is reached (Q3)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Iterable
from urllib.parse import parse_qsl, urlsplit

from runtime.models.connection import environment_proxy
from runtime.models.endpoint import Redactor, read_endpoint, secret_values
from runtime.recorder.wire import Answer, Headers, Place, Wire

_HOP_BY_HOP = frozenset(
    (
        b"connection", b"expect", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection",
        b"te", b"trailer", b"transfer-encoding", b"upgrade",
    )
)  # fmt: skip
_KEYS = (b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"proxy-authorization", b"cookie")
_READABLE = (b"gzip", b"deflate", b"identity")


class Upstream:
    """Where calls go. `url` is a base URL as people write it, with or without `/v1`; user, password and query in it go
    with every call. Raises ConfigurationError for a URL that cannot be used. `shown` holds no secret.
    """

    def __init__(self, url: str) -> None:
        self._endpoint = read_endpoint(url, lambda path: path, field="--upstream")
        self.shown = self._endpoint.url
        self.redact = Redactor(self._endpoint.secrets)
        self._path = re.sub(r"\Ahttps?://[^/]*", "", self._endpoint.url)
        parts = urlsplit(self._endpoint.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        self._host = parts.netloc.encode()
        proxy = environment_proxy(self._endpoint)
        self._wire = Wire(Place(self._endpoint.host, port, parts.scheme == "https", proxy))

    def __repr__(self) -> str:
        return f"Upstream({self.shown!r})"

    def target(self, path: str, query: str) -> str:
        """What to ask for there, for `path` (quoted, as it came). A program may have been given the recorder's address
        with or without the path of the upstream's, and with `/v1` twice is never meant."""
        base = self._path
        if base and (path == base or path.startswith(f"{base}/")):
            path = path.removeprefix(base)
        elif base.endswith("/v1") and (path == "/v1" or path.startswith("/v1/")):
            path = path.removeprefix("/v1")
        queries = "&".join(part for part in (query, self._endpoint.query) if part)
        return f"{base}{path}{'?' if queries else ''}{queries}"

    def headers(self, given: Iterable[tuple[bytes, bytes]], *, recorded: bool) -> list[tuple[bytes, bytes]]:
        """The headers to send on. Of a call that is recorded, an answer may only be compressed as can be read."""
        kept = end_to_end(given)
        if self._endpoint.basic and not any(name == b"authorization" for name, _ in kept):
            kept.append((b"authorization", self._endpoint.basic.encode()))
        readable = _readable if recorded else bytes
        return [
            (b"host", self._host),
            *(
                (name, readable(value) if name == b"accept-encoding" else value)
                for name, value in kept
                if name != b"host"
            ),
        ]

    def secrets(self, headers: Iterable[tuple[bytes, bytes]], query: str) -> tuple[str, ...]:
        """The keys that come with a call: of its headers, its query, and the upstream's own."""
        found = [*self._endpoint.secrets, *secret_values(parse_qsl(query, keep_blank_values=True))]
        for name, value in headers:
            if name in _KEYS or b"token" in name or b"secret" in name or name.endswith(b"-key"):
                text = value.decode("latin-1").strip()
                found += [text, text.partition(" ")[2].strip()]
        return tuple(sorted({secret for secret in found if looks_secret(secret)}, key=len, reverse=True))

    def prepare(self) -> None:
        """Load what the first call needs, so that it does not wait for it. Raises ConfigurationError."""
        self._wire.prepare()

    async def send(self, method: str, target: str, headers: Headers, content: bytes | AsyncIterable[bytes]) -> Answer:
        """The answer, its body not yet read. Raises WireError."""
        return await self._wire.send(method, target, headers, content)

    async def aclose(self) -> None:
        """Close the connections that are kept open."""
        await self._wire.aclose()


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
