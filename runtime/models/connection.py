"""One POST to a model server: waits, proxy, and every fault of the wire as a ModelError that holds no secret (M2, Q3).

The transport is used without httpx's client: the client logs URLs with their keys and follows cookies, and neither
belongs here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

from runtime.errors import ConfigurationError, ModelError
from runtime.models.endpoint import Endpoint, Redactor, read_proxy
from runtime.models.failures import refused
from runtime.models.patience import Patience
from runtime.models.settings import Timeouts

if TYPE_CHECKING:
    import httpx

_MOST_OF_A_REFUSAL = 65_536
_WAIT_FOR_A_REFUSAL = 10.0


class Connection:
    """Posts to one endpoint. The transport is opened at the first post, and again in another event loop.

    `headers` go with every post; `secrets` beside those of the endpoint are redacted. `transport` stands in for the
    network in tests. `proxy` None means what the environment says, an empty text none.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        headers: Mapping[str, str],
        *,
        secrets: tuple[str, ...] = (),
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - frozen
        proxy: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.endpoint = endpoint
        proxy = None if proxy is None else read_proxy(proxy)
        self.redact = Redactor((*endpoint.secrets, *secrets, *_secrets_of(proxy or "")))
        self.timeouts = timeouts
        self._headers = {"content-type": "application/json", "accept-encoding": "identity", **headers}
        if endpoint.basic:
            self._headers["authorization"] = endpoint.basic
        self._proxy = proxy
        self._given = transport
        self._transport = transport
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"Connection({self.endpoint.url!r})"

    @asynccontextmanager
    async def post(self, body: bytes, *, accept: str) -> AsyncIterator[Reply]:
        """The reply to `body`, open while the context is. Leaving the context before its end closes the connection.

        Raises ModelError for a status that is not 2xx and for every fault on the way there.
        """
        import httpx

        try:
            transport = self._open()
        except ConfigurationError as error:
            raise self._error(str(error), "connection") from None
        began = asyncio.get_running_loop().time()
        waits = {"connect": self.timeouts.connect, "read": None, "write": self.timeouts.between, "pool": None}
        request = httpx.Request(
            "POST",
            self.endpoint.address,
            headers={**self._headers, "accept": accept},
            content=body,
            extensions={"timeout": waits},
        )
        try:
            async with asyncio.timeout_at(began + min(self.timeouts.first_byte, self.timeouts.step)):
                response = await transport.handle_async_request(request)
        except TimeoutError:
            raise self._error(f"no answer within {self._first_wait():g} s", "timeout") from None
        except httpx.ConnectTimeout:
            raise self._error(f"no connection within {self.timeouts.connect:g} s", "timeout") from None
        except httpx.TimeoutException:
            raise self._error("the request could not be sent in time", "timeout") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as fault:
            raise self._error(_reason(fault), "connection") from None
        reply = Reply(self, response, began)
        try:
            if not 200 <= response.status_code < 300:
                raise await self._refusal(reply)
            yield reply
        finally:
            reply.close()
            await response.aclose()

    def redacted(self, error: ModelError) -> ModelError:
        """`error` without a secret in its words."""
        words = self.redact(error.message)
        if words == error.message:
            return error
        return ModelError(words, kind=error.kind, status=error.status, retry_after=error.retry_after)

    async def aclose(self) -> None:
        """Close the connections that are kept open."""
        transport, self._transport, self._loop = self._transport, self._given, None
        if transport is not None:
            await transport.aclose()

    def _open(self) -> httpx.AsyncBaseTransport:
        loop = asyncio.get_running_loop()
        if self._given is not None:
            return self._given
        if self._transport is None or self._loop is not loop:
            self._transport, self._loop = _transport(self.endpoint, self._proxy), loop
        return self._transport

    async def _refusal(self, reply: Reply) -> ModelError:
        """The error of an answer with a bad status: also a streaming one's body is read first (C55)."""
        body = bytearray()
        try:
            async with asyncio.timeout(_WAIT_FOR_A_REFUSAL):
                async for chunk in reply:
                    body += chunk
                    if len(body) > _MOST_OF_A_REFUSAL:
                        break
        except (TimeoutError, ModelError):
            pass  # What came before the fault is said: it is more than nothing.
        return self.redacted(refused(reply.status, reply.headers, bytes(body)))

    def _error(self, problem: str, kind: str) -> ModelError:
        return ModelError(self.redact(f"{self.endpoint.url}: {problem}"), kind=kind)

    def _first_wait(self) -> float:
        return min(self.timeouts.first_byte, self.timeouts.step)


class Reply:
    """A reply that has begun: iterate over it for its bytes, as they come.

    A fault on the way is a ModelError, until `finish_within` was called: from then on it is the end.
    """

    def __init__(self, connection: Connection, response: httpx.Response, began: float) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self.content_type = self.headers.get("content-type", "")
        self._connection = connection
        encoded = self.headers.get("content-encoding", "identity") not in ("", "identity")
        source = response.aiter_bytes() if encoded else response.stream
        assert hasattr(source, "__aiter__")
        self._source: AsyncIterator[bytes] = aiter(source)
        self._clock = asyncio.get_running_loop().time
        self._last = began + connection.timeouts.step
        self._wait = connection.timeouts.first_byte
        self._finishing = False
        self._patience = Patience()

    def __aiter__(self) -> Reply:
        return self

    async def __anext__(self) -> bytes:
        import httpx

        until = min(self._clock() + self._wait, self._last)
        try:
            with self._patience.until(until):
                chunk = await anext(self._source)
        except TimeoutError:
            if self._finishing:
                raise StopAsyncIteration from None
            raise self._connection._error(self._patience_said(until), "timeout") from None
        except httpx.DecodingError:
            raise self._connection._error("the answer's compression is broken", "malformed") from None
        except (httpx.HTTPError, httpx.StreamError, OSError) as fault:
            if self._finishing:
                raise StopAsyncIteration from None
            problem = f"the answer broke off before its end ({_reason(fault)})"
            raise self._connection._error(problem, "cut-off") from None
        if not self._finishing:
            self._wait = self._connection.timeouts.between
        return chunk

    def finish_within(self, seconds: float) -> None:
        """All that matters has come: wait at most `seconds` for each further piece, and take a fault as the end."""
        self._finishing, self._wait = True, seconds

    def close(self) -> None:
        """Nothing more is read."""
        self._patience.close()

    def _patience_said(self, until: float) -> str:
        waits = self._connection.timeouts
        if until >= self._last:
            return f"the whole answer took longer than {waits.step:g} s"
        if self._wait == waits.between and self._wait != waits.first_byte:
            return f"the answer stopped: nothing more within {self._wait:g} s"
        return f"no answer within {self._wait:g} s"


def _transport(endpoint: Endpoint, proxy: str | None) -> httpx.AsyncBaseTransport:
    import httpx

    if proxy is None:
        proxy = environment_proxy(endpoint)
    via = httpx.Proxy(proxy) if proxy and not endpoint.local else None
    # Reading the certificates takes 20 ms and more, and plain HTTP needs none.
    verify = endpoint.scheme == "https" or (via is not None and via.url.scheme == "https")
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=30.0)
    return httpx.AsyncHTTPTransport(verify=verify, limits=limits, proxy=via)


def _secrets_of(proxy: str) -> tuple[str, ...]:
    """User and password of a proxy's URL, as written and as sent."""
    user_info = proxy.partition("://")[2].rpartition("@")[0]
    if not user_info:
        return ()
    user, _, password = user_info.partition(":")
    return (user_info, unquote(password) or unquote(user))


def environment_proxy(endpoint: Endpoint) -> str:
    """The proxy that the environment names for this server; empty if none. Raises ConfigurationError."""
    from urllib.request import getproxies, proxy_bypass

    if endpoint.local or proxy_bypass(endpoint.host):
        return ""
    proxies = getproxies()
    proxy = proxies.get(endpoint.scheme) or proxies.get("all") or ""
    return read_proxy(proxy if "://" in proxy or not proxy else f"http://{proxy}", field="the environment's proxy")


def _reason(fault: BaseException) -> str:
    """What the system or the library said of `fault`, from its innermost cause that says anything."""
    said = ""
    inner: BaseException | None = fault
    while inner is not None:
        if isinstance(inner, BaseExceptionGroup):
            inner = inner.exceptions[0]
            continue
        if isinstance(inner, OSError) and inner.strerror:
            call_failed = inner.strerror.startswith("Connect call failed")
            return os.strerror(inner.errno or 0) if call_failed else inner.strerror
        said = str(inner) or said
        inner = inner.__cause__ or inner.__context__
    return said or type(fault).__name__
