"""Recording in a process of its own, so that reading and storing a call never holds up the bytes of the next one.

What passes goes there through its stdin, pickled (both ends are this program); it answers in lines of JSON. It lives as
long as that pipe: when the proxy ends in whatever way, what came is written and no turn is left running.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import BinaryIO

from runtime.errors import BadInput, StoreError, StudioError
from runtime.recorder.recording import HOLD_SECONDS
from runtime.recorder.traffic import Ended, Passed
from runtime.recorder.writer import MOST_WAITING, Summary, Writer
from runtime.values.json import Json

_LONGEST_LINE = 4 * 1024 * 1024
_NICE = 5  # the proxy goes first where processors are few


class Apart:
    """Records into the store that `store` names, in another process; see `Writer` for the rest."""

    def __init__(self, store: str, *, upstream: str, told: Callable[[str], None], hold: float = HOLD_SECONDS) -> None:
        self._settings = (store, upstream, hold)
        self._told = told
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._gone = False
        self.summary: Summary | None = None
        """What it came to, once it is closed; None if the process ended before it could say."""

    @property
    def pid(self) -> int | None:
        """The process that records; None before it began."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Begin. Raises BadInput or StoreError for a store that cannot be opened."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "runtime.recorder.apart",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is for the proxy, which ends this in its own time
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        self._send(self._settings)
        first = await self._said()
        if first is None:
            raise StoreError(f"the process that records did not start (exit status {await self._process.wait()})")
        if "error" in first:
            await self._process.wait()
            raise (BadInput if first.get("kind") == "BadInput" else StoreError)(str(first["error"]))
        self._listening = asyncio.create_task(self._listen())

    def put(self, passed: Passed) -> None:
        """Hand over what passed. Never blocks, never raises."""
        if self._gone or self._process is None or self._process.stdin is None:
            return
        if self._process.stdin.transport.get_write_buffer_size() > MOST_WAITING:
            passed = Ended(passed.call, "refused", error="too much waits for the store already")
        self._send(passed)

    def give_up(self, call: int, why: str) -> None:
        """Do not record what is still to come of a call, and say so."""
        self.put(Ended(call, "refused", error=why))

    async def close(self) -> None:
        """Wait until everything is written. Cancelled, it ends the process at once."""
        process = self._process
        if process is None or process.stdin is None:
            return
        try:
            process.stdin.close()
            if self._listening is not None:
                await self._listening
            await process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise

    def _send(self, value: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))

    async def _said(self) -> dict[str, Json] | None:
        """The next line, None if there is none any more."""
        assert self._process is not None
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        value = json.loads(line) if line.endswith(b"\n") else None
        return value if isinstance(value, dict) else None

    async def _listen(self) -> None:
        while (said := await self._said()) is not None:
            if "told" in said:
                self._told(str(said["told"]))
            elif isinstance(threads := said.get("threads"), list):
                calls, lost = said.get("calls"), said.get("lost")
                self.summary = Summary(int(str(calls)), int(str(lost)), tuple(map(str, threads)))
        self._gone = True
        if self.summary is None:
            self._told("! recording has ended: its process is gone; the traffic goes on")


def main(source: BinaryIO, say: Callable[[dict[str, Json]], None]) -> int:
    """The other process: record what comes from `source` until its end."""
    from runtime.stores import open_store

    store, upstream, hold = pickle.load(source)
    writer = Writer(lambda: open_store(store), upstream=upstream, told=lambda line: say({"told": line}), hold=hold)
    try:
        writer.start()
    except StudioError as error:
        say({"error": str(error), "kind": "BadInput" if isinstance(error, BadInput) else "StoreError"})
        return 1
    say({"ready": True})
    with contextlib.suppress(EOFError):
        while True:
            writer.put(pickle.load(source))
    writer.close()
    summary = writer.summary
    say({"calls": summary.calls, "lost": summary.lost, "threads": [*summary.threads]})
    return 0


def _say(line: dict[str, Json]) -> None:
    with contextlib.suppress(OSError):  # whoever listened has gone: what came is written all the same
        os.write(1, json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICE)
    sys.exit(main(sys.stdin.buffer, _say))
