"""Recording in a process of its own, and the command around it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from runtime.errors import BadInput, StoreError
from runtime.recorder.apart import Apart
from runtime.recorder.traffic import Began, Ended
from runtime.stores import open_store
from studio_tui.cli import main
from tests.models.dialects import OPENAI
from tests.models.server import ModelServer
from tests.recorder.test_proxy import KEY

ROOT = Path(__file__).parents[2]


def call(number: int, text: str = "Hi") -> tuple[Began, Ended]:
    body = json.dumps({"model": "small", "messages": [{"role": "user", "content": text}]}).encode()
    answer = json.dumps(OPENAI.whole("ok")).encode()
    return Began(number, "openai-chat", body, (KEY,)), Ended(number, "complete", 200, {}, (answer,), "", 0.1)


async def test_what_is_handed_over_is_recorded(tmp_path: Path) -> None:
    lines: list[str] = []
    apart = Apart(str(tmp_path / "s.db"), upstream="http://model.test", told=lines.append)
    await apart.start()
    for number in range(1, 4):
        for passed in call(number, f"question {number}"):
            apart.put(passed)
    apart.give_up(4, "too large")
    await apart.close()
    assert apart.summary is not None
    assert (apart.summary.calls, apart.summary.lost, len(apart.summary.threads)) == (3, 1, 3)
    assert "! call 4 is not recorded: too large; the traffic goes on" in lines
    store = open_store(str(tmp_path / "s.db"))
    assert {thread.name for thread in await store.threads()} == {"question 1", "question 2", "question 3"}
    await store.close()


async def test_a_store_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        await Apart(str(tmp_path / "none" / "s.db"), upstream="", told=lambda line: None).start()
    (tmp_path / "text.db").write_text("no database, but long enough to be looked at " * 100)
    with pytest.raises(StoreError, match="no SQLite database"):
        await Apart(str(tmp_path / "text.db"), upstream="", told=lambda line: None).start()


async def test_a_process_that_dies_is_told_and_the_traffic_goes_on(tmp_path: Path) -> None:
    lines: list[str] = []
    told = asyncio.Event()

    def tell(line: str) -> None:
        lines.append(line)
        told.set()

    apart = Apart(str(tmp_path / "s.db"), upstream="", told=tell)
    await apart.start()
    assert apart.pid is not None
    os.kill(apart.pid, signal.SIGKILL)
    await asyncio.wait_for(told.wait(), 10)
    for passed in call(1):
        apart.put(passed)
    await apart.close()
    assert lines == ["! recording has ended: its process is gone; the traffic goes on"]
    assert apart.summary is None


class Command:
    """`studio-tui record` as people run it."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, first: list[str]) -> None:
        self.process, self.url, self.first = process, url, first

    async def ends(self) -> tuple[str, str, int]:
        """Ctrl-C; what it then said on stdout and stderr, and its status."""
        self.process.send_signal(signal.SIGINT)
        out, err = await asyncio.wait_for(self.process.communicate(), 30)
        assert self.process.returncode is not None
        return out.decode(), err.decode(), self.process.returncode


async def record(upstream: str, store: Path, *more: str) -> Command:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "studio_tui", "record", "--upstream", upstream, "--port", "0", "--store", str(store), *more),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    first = [(await asyncio.wait_for(process.stderr.readline(), 30)).decode() for _ in range(2)]
    return Command(process, first[0].split()[1], first)


async def test_the_command_records_until_it_is_interrupted(model_server: ModelServer, tmp_path: Path) -> None:
    command = await record(f"{model_server.url}/v1", tmp_path / "s.db")
    assert f"OPENAI_BASE_URL={command.url}/v1" in command.first[1]
    body = {"model": "small", "messages": [{"role": "user", "content": "Hi"}]}
    async with httpx.AsyncClient(base_url=command.url, trust_env=False, headers={"x-api-key": KEY}) as client:
        assert (await client.post("/v1/chat/completions", json=body)).json() == OPENAI.whole("ok")
    out, err, status = await command.ends()
    store = open_store(str(tmp_path / "s.db"))
    (thread,) = await store.threads()
    await store.close()
    assert out == f"recorded 1 call in 1 thread; open the last: studio-tui {thread.id} --store {tmp_path / 's.db'}\n"
    assert f"{thread.id} turn 1 step 1 · small · completed" in err
    assert (status, KEY in out + err) == (0, False)


async def test_the_command_tells_as_json(model_server: ModelServer, tmp_path: Path) -> None:
    command = await record(model_server.url, tmp_path / "s.db", "--json")
    out, _, status = await command.ends()
    told: Any = json.loads(out)
    assert told == {"calls": 0, "lost": 0, "threads": [], "store": str(tmp_path / "s.db")}
    assert status == 0


async def test_the_studio_can_follow_while_it_is_recorded(model_server: ModelServer, tmp_path: Path) -> None:
    command = await record(model_server.url, tmp_path / "s.db")
    store = open_store(str(tmp_path / "s.db"))
    before = await store.changed()
    body = {"model": "small", "messages": [{"role": "user", "content": "Hi"}]}
    async with httpx.AsyncClient(base_url=command.url, trust_env=False) as client:
        await client.post("/v1/chat/completions", json=body)
    async with asyncio.timeout(20):
        while not [one for one in await store.threads() if one.length == 2]:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0)
    assert await store.changed() != before
    await command.ends()
    await store.close()


async def test_a_store_locked_by_another_process_is_waited_for(model_server: ModelServer, tmp_path: Path) -> None:
    command = await record(model_server.url, tmp_path / "s.db")
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    body = {"model": "small", "messages": [{"role": "user", "content": "Hi"}]}
    async with httpx.AsyncClient(base_url=command.url, trust_env=False) as client:
        assert (await client.post("/v1/chat/completions", json=body)).status_code == 200
    other.execute("ROLLBACK")
    other.close()
    out, _, _ = await command.ends()
    assert out.startswith("recorded 1 call in 1 thread")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--upstream", "nowhere"], "--upstream: a base URL is"),
        (["--upstream", "http://h", "--store", "memory:"], "--store: a store in memory"),
        (["--upstream", "http://h", "--port", "70000"], "70000"),
        ([], "--upstream"),
    ],
)
def test_Q1_what_cannot_be_recorded_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_without_the_server_library_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("runtime.recorder.serving.find_spec", lambda name: None)
    assert main(["record", "--upstream", "http://h"]) == 2
    assert "pip install 'studio-tui[record]'" in capsys.readouterr().err
