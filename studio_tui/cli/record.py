"""`studio-tui record`: a proxy on this machine that turns the traffic of a running agent into threads."""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING

import click

from runtime.errors import BadInput
from studio_tui.cli import options
from studio_tui.cli.output import print_json, print_text, tell

if TYPE_CHECKING:
    from socket import socket

    from runtime.recorder.apart import Apart
    from runtime.recorder.upstream import Upstream
    from runtime.recorder.writer import Summary

PORT = 8484


@click.command("record")
@click.option("--upstream", required=True, metavar="URL", help="The model server the program calls now.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, metavar="N", help="0 takes a free one."
)
@options.store
@options.as_json
def command(upstream: str, port: int, store: str | None, as_json: bool) -> int:
    """Record what a program sends to its model and what comes back, while it runs as before.

    Set the program's base URL to the address printed: chat completions and messages become threads with turns and
    steps, everything else passes through. Keys pass through and are stored nowhere. Open the same store in a second
    terminal to watch. Ctrl-C ends the recording.

    \b
    Example: studio-tui record --upstream https://api.openai.com/v1 --port 8484
    """
    from runtime.recorder.apart import Apart
    from runtime.recorder.serving import check_installed, listen
    from runtime.recorder.upstream import Upstream
    from studio_tui.cli.session import store_url

    check_installed()
    server = Upstream(upstream)
    url = store_url(store)
    if url == "memory:":
        raise BadInput("a store in memory is gone when the recording ends; name a file", field="--store")
    with listen(port) as sock:
        recorder = Apart(url, upstream=server.shown, told=tell)
        asyncio.run(_record(server, recorder, sock, url))
    _ended(recorder.summary, url, store, as_json)
    return 0 if recorder.summary is not None else 1


async def _record(upstream: Upstream, recorder: Apart, sock: socket, store: str) -> None:
    """Run the proxy until Ctrl-C; a second one does not wait for the requests under way."""
    from runtime.recorder.proxy import Proxy
    from runtime.recorder.serving import Service
    from studio_tui.cli.following import interrupts

    upstream.prepare()
    await recorder.start()
    service = Service(Proxy(upstream, recorder, told=tell), sock)
    closing: list[asyncio.Task[None]] = []

    def stop() -> None:
        for task in closing:
            task.cancel()
        waiting = service.stop()
        if waiting:
            requests = "1 request" if waiting == 1 else f"{waiting} requests"
            tell(f"waiting for {requests} under way; Ctrl-C again ends them")

    def ready() -> None:
        tell(f"recording {service.url} → {upstream.shown} into {store}")
        tell(f"set your program's base URL: OPENAI_BASE_URL={service.url}/v1 or ANTHROPIC_BASE_URL={service.url}")

    try:
        with interrupts(stop):
            await service.run(ready)
            closing.append(asyncio.ensure_future(recorder.close()))
            await closing[0]
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        await upstream.aclose()
        await recorder.close()


def _ended(summary: Summary | None, url: str, given: str | None, as_json: bool) -> None:
    """One line that says how to open what was recorded; without a summary the process that recorded has said why."""
    if summary is None:
        return
    if as_json:
        print_json({"calls": summary.calls, "lost": summary.lost, "threads": [*summary.threads], "store": url})
        return
    if not summary.threads:
        print_text("nothing was recorded")
        return
    at = f" --store {shlex.quote(url)}" if given else ""
    calls, threads = _count(summary.calls, "call"), _count(len(summary.threads), "thread")
    lost = f" ({summary.lost} not recorded)" if summary.lost else ""
    print_text(f"recorded {calls} in {threads}{lost}; open the last: studio-tui {summary.threads[-1]}{at}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
