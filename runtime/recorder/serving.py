"""The proxy on 127.0.0.1, until it is told to stop. Needs the extra `studio-tui[record]`."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from runtime.errors import BadInput, ConfigurationError
from runtime.recorder.proxy import Proxy

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"


def check_installed() -> None:
    """Raises ConfigurationError if the server library is missing, with the words to install it."""
    if find_spec("uvicorn") is None:
        raise ConfigurationError("recording needs a server library: pip install 'studio-tui[record]'")


def listen(port: int) -> socket.socket:
    """A socket on 127.0.0.1; `port` 0 takes any that is free. Raises BadInput if it is taken."""
    # Without the protocol named, asyncio leaves Nagle's delay on, and a first byte waits 40 ms for an acknowledgement.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((HOST, port))
    except OSError as error:
        sock.close()
        raise BadInput(f"port {port} cannot be used: {error.strerror}", field="--port") from None
    return sock


class Service:
    """The proxy, listening. `stop` lets the calls under way finish; a second `stop` does not wait for them."""

    def __init__(self, proxy: Proxy, sock: socket.socket) -> None:
        import uvicorn

        self._proxy, self._sock = proxy, sock
        config = uvicorn.Config(
            proxy,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
        )
        self._ready = asyncio.Event()
        self._server = _server(config, self._ready)

    @property
    def url(self) -> str:
        """Where it listens."""
        host, port = self._sock.getsockname()
        return f"http://{host}:{port}"

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until stopped. `ready` is called when it listens."""
        serving = asyncio.ensure_future(self._server.serve(sockets=[self._sock]))
        listening = asyncio.ensure_future(self._ready.wait())
        try:
            await asyncio.wait((serving, listening), return_when=asyncio.FIRST_COMPLETED)
            ready()
            await asyncio.wait((serving,))
        finally:
            listening.cancel()
            self._server.should_exit = self._server.force_exit = True
            await self._proxy.abandon()
            await asyncio.gather(serving, return_exceptions=True)
        serving.result()

    def stop(self) -> int:
        """Take no more requests; returns how many are under way. Called again, it does not wait for those."""
        if self._server.should_exit:
            self._server.force_exit = True
        self._server.should_exit = True
        return self._proxy.running


def _server(config: uvicorn.Config, ready: asyncio.Event) -> uvicorn.Server:
    """A server that leaves the signals to the command and says when it listens."""
    import uvicorn

    class Quiet(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready.set()

    return Quiet(config)
