"""The recorder between a program and its model: what it adds to the first byte, and what it holds after many calls."""

from __future__ import annotations

import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.measure import Promise, promise
from benchmarks.model_server import PIECES, serving
from benchmarks.turn import HISTORY

MOST_ADDED = 0.002
"""Seconds that the recorder may add to the first byte of an answer."""

PAIRS, ROUND = 300, 50
WARM = 300
CALLS = 1_000
"""Calls over which memory may not grow, and those before them: what is kept for speed is full then."""

MOST_GROWN = 4 * 1024
"""KiB: what is kept of a call's messages is 16 bytes each; a request kept whole would be 60 KiB, a thousand times."""

INSTRUCTIONS = "Answer the questions about the draft in one sentence. " * 1_000


def promises() -> Iterator[Promise]:
    """The promises on recording."""
    with serving() as url, recording(url) as recorder:
        yield _first_byte(url, recorder)
        if sys.platform.startswith("linux"):
            yield _memory(recorder)


class Recorder:
    """A recorder that runs: its address, how many calls it has recorded, and what its processes hold."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stderr is not None
        self._lines = process.stderr
        self.url = self._lines.readline().split()[1]
        self._recorded = 0
        self._more = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def wait_for(self, calls: int) -> None:
        """Wait until so many calls in all are recorded."""
        with self._more:
            if not self._more.wait_for(lambda: self._recorded >= calls, 120):
                raise TimeoutError(f"{self._recorded} of {calls} calls were recorded")

    def resident(self) -> float:
        """KiB of its processes that are in memory."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        pages = sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in (pid, *children))
        return pages * os.sysconf("SC_PAGE_SIZE") / 1024

    def _listen(self) -> None:
        for line in self._lines:
            with self._more:
                self._recorded += " step " in line
                self._more.notify_all()


@contextmanager
def recording(upstream: str) -> Iterator[Recorder]:
    """A recorder that runs while inside, with a store that goes with it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "studio_tui", "record", "--upstream", upstream, "--port", "0"]
        command += ["--store", str(Path(folder) / "recorded.db")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield Recorder(process)
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(60)


class Client:
    """One connection that is kept, as a program's."""

    def __init__(self, url: str) -> None:
        at = urlsplit(url)
        self.connection = http.client.HTTPConnection(at.hostname or "", at.port)

    def call(self, body: bytes) -> float:
        """Seconds to the first byte of the answer; the rest is read too."""
        began = time.perf_counter()
        self.connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
        reply = self.connection.getresponse()
        reply.read(1)
        first = time.perf_counter() - began
        reply.read()
        return first


def _body(*messages: tuple[str, str], instructions: str = "Be brief.") -> bytes:
    said = [{"role": "system", "content": instructions}, *({"role": role, "content": text} for role, text in messages)]
    return json.dumps({"model": "small", "messages": said, "stream": True}).encode()


def _first_byte(url: str, recorder: Recorder) -> Promise:
    """Calls in turn, straight and through the recorder, each of another conversation. Of some rounds the median of
    the best counts: what else runs on the machine is not the recorder's doing."""
    straight, recorded = Client(url), Client(recorder.url)
    medians = []
    for done in range(0, PAIRS, ROUND):
        added = []
        for n in range(done, done + ROUND):
            body = _body(("user", f"conversation {n}"), *HISTORY, ("user", "what?"))
            without, through = straight.call(body), recorded.call(body)
            added.append(through - without)
        medians.append(statistics.median(added))
        recorder.wait_for(done + ROUND)
    return promise("what the recorder adds to the first byte, against 2 ms", 1, [min(medians)], [MOST_ADDED])


def _memory(recorder: Recorder) -> Promise:
    """What the recorder's processes hold more after a thousand calls, in conversations of ten turns."""
    client = Client(recorder.url)
    held = []
    for first, count in ((0, WARM), (WARM, CALLS)):
        for n in range(first, first + count):
            if n % 10 == 0:
                messages: list[tuple[str, str]] = []
                recorder.wait_for(PAIRS + n)
            messages.append(("user", f"question {n % 10} of {n // 10}"))
            client.call(_body(*messages, instructions=INSTRUCTIONS))
            messages.append(("assistant", "".join(f" word{word}" for word in range(PIECES))))
        recorder.wait_for(PAIRS + first + count)
        held.append(recorder.resident())
    before, after = held
    name = f"memory grown over {CALLS:,} recorded calls of 54 KB, against {MOST_GROWN // 1024} MiB"
    return promise(name, 1, [max(0.0, after - before)], [MOST_GROWN], "KiB")


if __name__ == "__main__":
    for one in promises():
        print(one)
