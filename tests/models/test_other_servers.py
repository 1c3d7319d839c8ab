"""Turns against model servers that others wrote: `make servers` installs them; without them these tests are skipped.

They were not written with our adapters in mind, so they say of a dialect what we might have read into it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from runtime.stores import open_store
from runtime.threads import Runtime
from runtime.tools import tool
from runtime.values.agent import Agent, TierSpec
from runtime.values.items import ToolResults
from runtime.values.record import TurnRecord

SERVERS = Path(__file__).parents[2] / ".cache" / "servers"
LLMOCK = SERVERS / "llmock" / "bin" / "llmock"
AIMOCK = SERVERS / "aimock" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"

BROKEN_OFF = "This answer is going to be broken off somewhere in its middle."
FIXTURES = [
    {
        "match": {"userMessage": "Where", "hasToolResult": False},
        "response": {"toolCalls": [{"name": "look", "arguments": {"at": at}} for at in ("here", "there")]},
    },
    {"match": {"userMessage": "Where", "hasToolResult": True}, "response": {"content": "It is here,\u2028and there."}},
    {
        "match": {"userMessage": "truncate"},
        "response": {"content": BROKEN_OFF},
        "latency": 20,
        "truncateAfterChunks": 2,
    },
    {
        "match": {"userMessage": "disconnect"},
        "response": {"content": BROKEN_OFF},
        "latency": 40,
        "disconnectAfterMs": 70,
    },
    {"match": {"userMessage": "forbid"}, "response": {"error": {"message": "not for you", "type": "x"}, "status": 403}},
    {"match": {"userMessage": "hello"}, "response": {"content": "Hello."}},
]


@tool(inline=True)
def look(at: str) -> str:
    """Look somewhere."""
    return f"seen {at}"


@dataclass(frozen=True)
class Server:
    """A running server: its URL, and the base URL of each dialect below it."""

    url: str
    bases: dict[str, str]

    def behave(self, **behaviour: Any) -> None:
        """Have the first server do this once (its control API)."""
        self.forget()
        answer = httpx.post(f"{self.url}/_llmock/scenario", json={"behaviors": [behaviour]})
        assert answer.status_code == 201, answer.text

    def forget(self) -> None:
        """Drop what it was told to do and has not done yet."""
        httpx.post(f"{self.url}/_llmock/reset")


def missing(what: str) -> None:
    """Skip; in CI what is missing is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing: make servers")
    pytest.skip(f"{what} is not installed: make servers")


def started(command: list[str], port: int, ready: str) -> subprocess.Popen[bytes]:
    """The process, once it answers on `port`."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            httpx.get(f"http://127.0.0.1:{port}{ready}", timeout=1)
        except httpx.HTTPError:
            time.sleep(0.05)
        else:
            return process
    process.kill()
    raise AssertionError(f"{command[0]} did not come up: {process.wait()}")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def llmock() -> Iterator[Server]:
    """llmock, a server in Python."""
    if not LLMOCK.exists():
        missing("llmock")
    port = free_port()
    process = started([str(LLMOCK), "serve", "--port", str(port), "--log-level", "critical"], port, "/_llmock/requests")
    url = f"http://127.0.0.1:{port}"
    yield Server(url, {"openai": f"{url}/v1", "anthropic": f"{url}/anthropic"})
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """aimock, a server in JavaScript."""
    node = shutil.which("node")
    if node is None or not AIMOCK.exists():
        missing("aimock" if node else "node")
    assert node is not None
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}, ensure_ascii=False), encoding="utf-8")
    port = free_port()
    command = [node, str(AIMOCK), "--port", str(port), "--fixtures", str(fixtures), "--log-level", "silent"]
    process = started(command, port, "/health")
    url = f"http://127.0.0.1:{port}"
    yield Server(url, {"openai": f"{url}/v1", "anthropic": url})
    process.kill()
    process.wait()


@pytest.fixture(params=["openai", "anthropic"])
def spoken(request: pytest.FixtureRequest) -> str:
    """Each dialect in turn."""
    assert isinstance(request.param, str)
    return request.param


class Asking:
    """A runtime whose one agent asks a server."""

    def __init__(self, server: Server, spoken: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(f"{spoken.upper()}_API_KEY", "sk-any")
        tiers = (TierSpec(f"{spoken}:small@{server.bases[spoken]}"),)
        self.runtime = Runtime(
            open_store("memory:"), agents={"a": Agent("a", "Be brief.", tiers=tiers, tools=("look",))}, tools=[look]
        )
        self.thread = ""

    async def ask(self, text: str, *, anew: bool = True) -> TurnRecord:
        """The record of one turn, on a fresh thread unless it goes on."""
        if anew or not self.thread:
            self.thread = await self.runtime.create_thread(agent="a")
        return await self.runtime.send(self.thread, text)

    async def rows(self) -> list[str]:
        return [f"{row.role} {row.text}" for row in await self.runtime.store.list_messages(self.thread, 99)]


@pytest.fixture
async def at_llmock(llmock: Server, spoken: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Asking]:
    asking = Asking(llmock, spoken, monkeypatch)
    yield asking
    await asking.runtime.close()
    llmock.forget()


@pytest.fixture
async def at_aimock(aimock: Server, spoken: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Asking]:
    asking = Asking(aimock, spoken, monkeypatch)
    yield asking
    await asking.runtime.close()


def results(record: TurnRecord) -> list[object]:
    return [result.output for item in record.transcript if isinstance(item, ToolResults) for result in item.results]


async def test_llmock_runs_a_turn_with_a_tool_call(at_llmock: Asking) -> None:
    record = await at_llmock.ask("Where is it?")
    assert (record.status, results(record)) == ("completed", ["seen mock-at"])
    assert "small" in (record.answer or "")
    assert "seen mock-at" in json.dumps(record.steps[1].body)
    assert [(attempt.step, attempt.outcome) for attempt in record.tiers] == [(1, "ok"), (2, "ok")]
    assert all(attempt.usage is not None and attempt.usage.input for attempt in record.tiers)
    again = await at_llmock.ask("And now?", anew=False)
    assert again.status == "completed"
    assert [row.partition(" ")[0] for row in await at_llmock.rows()] == ["user", "assistant"] * 2


@pytest.mark.parametrize(
    ("behaviour", "outcome", "status"),
    [
        ({"type": "stream_fault", "kind": "disconnect", "after_chunks": 2}, "cut-off", None),
        ({"type": "stream_fault", "kind": "truncate", "after_chunks": 2}, "cut-off", None),
        ({"type": "stream_fault", "kind": "malformed", "after_chunks": 1}, "malformed", None),
        ({"type": "fail", "status": 401}, "status", 401),
        ({"type": "fail", "status": 500}, "status", 500),
    ],
    ids=lambda value: str(value.get("kind") or value["status"]) if isinstance(value, dict) else "",
)
async def test_M2_M3_llmock_breaks_off_and_the_thread_stays_usable(
    at_llmock: Asking, llmock: Server, behaviour: dict[str, Any], outcome: str, status: int | None
) -> None:
    llmock.behave(**behaviour)
    record = await at_llmock.ask("Where is it?")
    assert (record.status, record.reason, record.answer) == ("failed", "model-error", None)
    assert [(attempt.outcome, attempt.status) for attempt in record.tiers] == [(outcome, status)]
    assert await at_llmock.rows() == ["user Where is it?"]
    assert (await at_llmock.ask("Where is it?", anew=False)).status == "completed"


async def test_M2_llmock_is_asked_once_more_after_its_rate_limit(at_llmock: Asking, llmock: Server) -> None:
    llmock.behave(type="fail", status=429, retry_after=0)
    record = await at_llmock.ask("Where is it?")
    assert record.status == "completed"
    assert [(attempt.outcome, attempt.status) for attempt in record.tiers][:2] == [("status", 429), ("ok", None)]


@pytest.mark.parametrize(
    ("fault", "said"), [("malformed_arguments", "not a JSON object"), ("unknown_tool", "there is no tool")]
)
async def test_T4_llmock_calls_wrongly_and_is_told_so(at_llmock: Asking, llmock: Server, fault: str, said: str) -> None:
    llmock.behave(type="tool_fault", kind=fault)
    record = await at_llmock.ask("Where is it?")
    assert record.status == "completed"
    assert said in str(results(record)[0])


async def test_aimock_runs_a_turn_with_parallel_calls_and_line_separators(at_aimock: Asking) -> None:
    record = await at_aimock.ask("Where is it?")
    assert (record.status, results(record)) == ("completed", ["seen here", "seen there"])
    assert record.answer == "It is here,\u2028and there."
    again = await at_aimock.ask("hello", anew=False)
    assert again.status == "completed"


async def test_M2_M3_aimock_breaks_off_and_the_thread_stays_usable(at_aimock: Asking) -> None:
    for word, outcomes in (("truncate", {"cut-off"}), ("disconnect", {"cut-off", "connection"})):
        record = await at_aimock.ask(f"{word} please")
        assert (record.status, record.reason, record.answer) == ("failed", "model-error", None)
        assert {attempt.outcome for attempt in record.tiers} <= outcomes
        assert await at_aimock.rows() == [f"user {word} please"]
    refused = await at_aimock.ask("forbid this")
    assert (refused.tiers[0].status, refused.tiers[0].configuration) == (403, True)
    assert "not for you" in (refused.error or "")
    assert (await at_aimock.ask("hello")).answer == "Hello."
