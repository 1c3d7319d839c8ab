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
    from runtime.recorder.serving import Service
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
    from runtime.recorder.proxy import Proxy
    from runtime.recorder.serving import Service, check_installed, listen
    from runtime.recorder.upstream import Upstream
    from runtime.recorder.writer import Writer
    from runtime.stores import open_store
    from studio_tui.cli.session import store_url

    check_installed()
    server = Upstream(upstream)
    url = store_url(store)
    if url == "memory:":
        raise BadInput("a store in memory is gone when the recording ends; name a file", field="--store")
    sock = listen(port)
    try:
        writer = Writer(lambda: open_store(url), upstream=server.shown, told=tell)
        writer.start()
    except BaseException:
        sock.close()
        raise
    try:
        asyncio.run(_serve(Service(Proxy(server, writer, told=tell), sock), server, url))
    finally:
        writer.close()
    _ended(writer.summary, url, store, as_json)
    return 0


async def _serve(service: Service, upstream: Upstream, store: str) -> None:
    """Run the proxy until Ctrl-C; a second one does not wait for the calls under way."""
    from studio_tui.cli.following import interrupts

    def stop() -> None:
        waiting = service.stop()
        if waiting:
            calls = "1 request" if waiting == 1 else f"{waiting} requests"
            tell(f"waiting for {calls} under way; Ctrl-C again ends them")

    def ready() -> None:
        tell(f"recording {service.url} → {upstream.shown} into {store}")
        tell(f"set your program's base URL: OPENAI_BASE_URL={service.url}/v1 or ANTHROPIC_BASE_URL={service.url}")

    upstream.open()
    try:
        with interrupts(stop):
            await service.run(ready)
    finally:
        await upstream.aclose()


def _ended(summary: Summary, url: str, given: str | None, as_json: bool) -> None:
    """One line that says how to open what was recorded."""
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
