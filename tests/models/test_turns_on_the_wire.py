"""Whole turns over a real wire, in both dialects and both stores: what is stored, recorded, and stays usable."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.events import Streamed
from runtime.explain import curl_command
from runtime.models.settings import ModelEntry, ModelSettings
from runtime.stores import open_store
from runtime.threads import Runtime
from runtime.tools import tool
from runtime.values.agent import Agent, FitLimits, TierSpec
from runtime.values.items import AssistantStep
from runtime.values.record import TurnRecord
from runtime.values.record_json import record_json
from runtime.values.request import Attachment
from studio_tui.cli import main
from studio_tui.cli.turn_text import turn_text
from tests.models.dialects import ANTHROPIC, OPENAI, Dialect
from tests.models.server import Act, Answer, ModelServer, plain, streamed

SECRETS = ("sk-ant-TEST1", "pw2", "KEY3")
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(64))


@tool(inline=True)
def look(at: str) -> str:
    """Look somewhere."""
    return f"seen {at}"


@dataclass
class Bench:
    """A runtime whose one agent asks the server in one dialect."""

    runtime: Runtime
    dialect: Dialect
    server: ModelServer
    url: str

    async def thread(self) -> str:
        return await self.runtime.create_thread(agent="wired")

    async def rows(self, thread: str) -> list[str]:
        return [f"{row.role} {row.text}" for row in await self.runtime.store.list_messages(thread, 99)]

    def will_call(self, arguments: str = '{"at":"here"}') -> bytes:
        """What the server streams for a step with text and one call."""
        return self.dialect.stream(self.dialect.text("Let me "), self.dialect.call("c1", "look", arguments))

    def will_say(self, *pieces: str) -> bytes:
        return self.dialect.stream(*map(self.dialect.text, pieces))

    async def reopened(self, turn: str) -> TurnRecord:
        """The record as another process would read it."""
        if not self.url:
            return await self.runtime.record(turn)
        other = Runtime(open_store(self.url))
        try:
            return await other.record(turn)
        finally:
            await other.close()


def agent_at(*specs: str, **more: Any) -> Agent:
    return Agent("wired", "Be brief.", tiers=tuple(map(TierSpec, specs)), tools=("look",), **more)


@pytest.fixture(params=["memory", "sqlite"])
async def bench(
    request: pytest.FixtureRequest, dialect: Dialect, model_server: ModelServer, tmp_path: Path
) -> AsyncIterator[Bench]:
    """The dialect and the store in turn."""
    url = "" if request.param == "memory" else f"sqlite:///{tmp_path / 'wire.db'}"
    agent = agent_at(f"{dialect.name}:small@{model_server.url}")
    runtime = Runtime(open_store(url or "memory:"), agents={"wired": agent}, tools=[look])
    yield Bench(runtime, dialect, model_server, url)
    await runtime.close()


def said(record: TurnRecord) -> list[str]:
    return [item.text for item in record.transcript if isinstance(item, AssistantStep)]


async def test_a_turn_with_a_tool_call(bench: Bench) -> None:
    dialect = bench.dialect
    bench.server.will(
        streamed(bench.will_call(), dialect.end()), streamed(bench.will_say("It is ", "here."), dialect.end())
    )
    thread = await bench.thread()
    record = await bench.runtime.send(thread, "Where is it?")
    assert (record.status, record.answer) == ("completed", "It is here.")
    assert await bench.rows(thread) == ["user Where is it?", "assistant It is here."]
    assert [step.body for step in record.steps] == [received.json for received in bench.server.received]
    assert "seen here" in json.dumps(bench.server.received[1].json)
    assert [attempt.outcome for attempt in record.tiers] == ["ok", "ok"]
    assert {attempt.url for attempt in record.tiers} == {bench.server.url + dialect.path}
    assert await bench.reopened(record.turn) == record


def cuts(*streams: bytes) -> Iterable[tuple[int, int]]:
    """Each stage at which a connection can go: before the head, and after every few bytes of every stream."""
    for step, stream in enumerate(streams, 1):
        yield step, -1
        for n in range(0, len(stream), max(1, len(stream) // 7)):
            yield step, n


async def test_M3_S5_killing_the_server_at_every_stage_leaves_the_thread_usable_and_the_record_true(
    bench: Bench,
) -> None:
    dialect, server = bench.dialect, bench.server
    call, answer = bench.will_call(), bench.will_say("It is ", "here.")
    thread = await bench.thread()
    rows: list[str] = []
    for turn, (step, n) in enumerate(cuts(call, answer), 1):
        if step == 2:
            server.will(streamed(call, dialect.end()))
        cut = (call, answer)[step - 1][: max(n, 0)]
        act = Act.RESET if turn % 2 else Act.CLOSE
        server.will(Answer((act,), raw=True, chunked=False) if n < 0 else streamed(cut, act))

        streamed_text = ""
        settled: TurnRecord | None = None
        async for event in bench.runtime.stream(thread, f"q{turn}"):
            if isinstance(event, Streamed) and event.step == step:
                streamed_text += event.text
            settled = getattr(event, "record", settled)
        assert settled is not None
        rows.append(f"user q{turn}")
        assert await bench.rows(thread) == rows
        assert (settled.status, settled.reason, settled.answer) == ("failed", "model-error", None)
        assert (settled.stored_user, settled.stored_assistant) == (len(rows), None)
        last = settled.tiers[-1]
        assert (last.step, last.outcome in ("cut-off", "connection")) == (step, True)
        assert "".join(said(settled)[step - 1 : step]) == streamed_text
        assert await bench.reopened(settled.turn) == settled
    server.will(streamed(call, dialect.end()), streamed(answer, dialect.end()))
    record = await bench.runtime.send(thread, "and now?")
    assert (record.status, record.answer) == ("completed", "It is here.")
    assert await bench.rows(thread) == [*rows, "user and now?", "assistant It is here."]
    asked = json.dumps(server.received[-2].json)
    assert "Let me" not in asked


async def test_M3_a_server_that_is_gone_for_good_and_one_that_comes_back(dialect: Dialect, tmp_path: Path) -> None:
    with ModelServer() as first:
        port = first.port
        agent = agent_at(f"{dialect.name}:small@{first.url}")
        runtime = Runtime(open_store(f"sqlite:///{tmp_path / 'wire.db'}"), agents={"wired": agent}, tools=[look])
        bench = Bench(runtime, dialect, first, "")
        thread = await bench.thread()
        first.will(streamed(bench.will_say("Half an "), Act.HOLD))
        records = []
        async for event in runtime.stream(thread, "q1"):
            if isinstance(event, Streamed):
                first.stop()
            records += [event.record] if hasattr(event, "record") else []
    gone = await runtime.send(thread, "q2")
    with ModelServer(port) as second:
        second.will(streamed(bench.will_say("Here."), dialect.end()))
        back = await runtime.send(thread, "q3")
    assert [record.status for record in (*records, gone, back)] == ["failed", "failed", "completed"]
    assert (said(records[0]), gone.tiers[0].outcome) == (["Half an "], "connection")
    assert await bench.rows(thread) == ["user q1", "user q2", "user q3", "assistant Here."]
    await runtime.close()


async def test_C16_M2_a_fallback_in_mid_turn_hands_on_the_transcript_and_stores_one_pair(
    bench: Bench, tmp_path: Path
) -> None:
    other = ANTHROPIC if bench.dialect is OPENAI else OPENAI
    agent = agent_at(*(f"{one.name}:small@{bench.server.url}" for one in (bench.dialect, other)))
    runtime = Runtime(bench.runtime.store, agents={"wired": agent}, tools=[look])
    bench.server.will(
        streamed(bench.will_call(), bench.dialect.end()),
        streamed(bench.will_say("Half an "), Act.RESET),
        streamed(other.stream(other.text("Here.")), other.end()),
    )
    thread = await runtime.create_thread(agent="wired")
    record = await runtime.send(thread, "Where?")
    assert (record.status, record.answer) == ("completed", "Here.")
    assert await bench.rows(thread) == ["user Where?", "assistant Here."]
    assert [(one.step, one.model, one.outcome) for one in record.tiers] == [
        (1, f"{bench.dialect.name}:small", "ok"),
        (2, f"{bench.dialect.name}:small", "cut-off"),
        (2, f"{other.name}:small", "ok"),
    ]
    handed_on = json.dumps(bench.server.received[-1].json)
    assert "seen here" in handed_on
    assert "Half an" not in handed_on
    assert f"{other.name.upper()}_API_KEY" in curl_command(record, 2, await runtime.store.body(record.turn, 2))
    await runtime.close()


async def test_C26_a_failed_turns_request_is_sent_with_the_next(bench: Bench) -> None:
    thread = await bench.thread()
    bench.server.will(plain(400, {"error": {"message": "no"}}))
    failed = await bench.runtime.send(thread, "q1")
    bench.server.will(streamed(bench.will_say("a2"), bench.dialect.end()))
    await bench.runtime.send(thread, "q2")
    assert failed.tiers[0].configuration
    assert await bench.rows(thread) == ["user q1", "user q2", "assistant a2"]
    roles = [message["role"] for message in bench.server.received[-1].json["messages"] if message["role"] != "system"]
    assert roles == ["user"]


async def test_C33_T6_an_empty_step_is_nudged_on_both_wires(bench: Bench) -> None:
    dialect = bench.dialect
    bench.server.will(
        streamed(bench.will_call(), dialect.end()),
        streamed(dialect.stream(), dialect.end()),
        streamed(bench.will_say("done"), dialect.end()),
    )
    thread = await bench.thread()
    record = await bench.runtime.send(thread, "q")
    assert record.answer == "done"
    assert await bench.rows(thread) == ["user q", "assistant done"]
    last = bench.server.received[-1].json["messages"][-1]
    assert last["role"] == "user"
    if dialect is ANTHROPIC:
        assert [block["type"] for block in last["content"]] == ["tool_result", "text"]


async def test_C61_no_content_at_all_leaves_the_thread_usable(bench: Bench) -> None:
    thread = await bench.thread()
    nothing = bench.dialect.whole("" if bench.dialect is OPENAI else None)
    bench.server.will(*(plain(200, nothing) for _ in range(3)))
    record = await bench.runtime.send(thread, "q1")
    assert (record.status, record.reason) == ("failed", "no-output")
    bench.server.will(streamed(bench.will_say("a2"), bench.dialect.end()))
    assert (await bench.runtime.send(thread, "q2")).answer == "a2"


async def test_F1_the_room_that_settings_know_is_the_tiers_limit(dialect: Dialect, model_server: ModelServer) -> None:
    spec = f"{dialect.name}:small@{model_server.url}"
    known = ModelSettings(models={"mine": ModelEntry(spec, context_tokens=2000)}, context_tokens=5000)
    runtime = Runtime(open_store("memory:"), agents={"wired": agent_at("mine")}, tools=[look], settings=known)
    record = await runtime.send(await runtime.create_thread(agent="wired"), "q")
    assert record.fit is not None
    assert (record.status, record.fit.limit, record.tiers[0].model) == ("completed", 2000, f"{dialect.name}:small")
    others = [
        (agent_at(spec), 5000),
        (Agent("wired", tiers=(TierSpec("mine", 3000),)), 3000),
        (Agent("wired", tiers=(TierSpec("offline"),), fit=FitLimits(4000, 100)), 4000),
    ]
    for agent, limit in others:
        other = Runtime(open_store("memory:"), agents={"wired": agent}, tools=[look], settings=lambda: known)
        context = await other.preview(await other.create_thread(agent="wired"), "q")
        assert context.limit == limit
        await other.close()
    await runtime.close()


async def test_settings_are_read_when_a_server_is_first_meant_and_once() -> None:
    read: list[str] = []

    def settings() -> ModelSettings:
        read.append("read")
        return ModelSettings(models={"mine": ModelEntry("openai:x@http://127.0.0.1:9")})

    agents = {"plain": Agent("plain"), "wired": Agent("wired", tiers=(TierSpec("mine"), TierSpec("openai:y")))}
    runtime = Runtime(open_store("memory:"), agents=agents, settings=settings)
    await runtime.send(await runtime.create_thread(agent="plain"), "q")
    assert read == []
    await runtime.plan_of(await runtime.create_thread(agent="wired"))
    assert read == ["read"]
    await runtime.close()


async def test_Q3_C89_no_secret_in_the_store_the_log_the_export_or_the_record(
    dialect: Dialect, model_server: ModelServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    base = model_server.url.replace("http://", "http://user:pw2@") + "/v1?key=KEY3"
    settings = ModelSettings(
        keys={dialect.name: "sk-ant-TEST1"}, models={"mine": ModelEntry(f"{dialect.name}:s", base)}
    )
    file = tmp_path / "wire.db"
    runtime = Runtime(
        open_store(f"sqlite:///{file}"), agents={"wired": agent_at("mine")}, tools=[look], settings=settings
    )
    thread = await runtime.create_thread(agent="wired")
    refusal = {"error": {"message": "key sk-ant-TEST1 is bad; see http://user:pw2@h/?key=KEY3"}}
    model_server.will(plain(401, refusal), streamed(dialect.stream(dialect.error("x", "sk-ant-TEST1 KEY3 pw2"))))
    records = [await runtime.send(thread, "q1"), await runtime.send(thread, "q2"), await runtime.send(thread, "q3")]
    assert [record.status for record in records] == ["failed", "failed", "completed"]
    await runtime.close()
    told = [caplog.text, repr(records), repr(settings), repr(runtime.__dict__)]
    for record in records:
        told += [json.dumps(record_json(record), default=dict), turn_text(record)]
        told += [curl_command(record, 1, b"{}")]
    seed = tmp_path / "seed.yaml"
    await asyncio.to_thread(main, ["export", thread, "--store", str(file), "--out", str(seed)])
    told += contents(tmp_path)
    assert "q3" in seed.read_text(encoding="utf-8")
    assert len(told) > 12
    assert not [secret for secret in SECRETS if any(secret in text for text in told)]


def contents(folder: Path) -> list[str]:
    """Every file of a folder, byte for byte."""
    return [path.read_bytes().decode("latin-1") for path in sorted(folder.iterdir())]


def picture_in(body: Any) -> bytes:
    """The image in a body of either dialect."""
    [part] = [part for part in body["messages"][-1]["content"] if part["type"] in ("image", "image_url")]
    if part["type"] == "image_url":
        head, _, data = part["image_url"]["url"].partition(",")
        assert head == "data:image/png;base64"
        return base64.b64decode(data)
    assert part["source"]["media_type"] == "image/png"
    return base64.b64decode(part["source"]["data"])


def test_C68_an_image_given_to_the_command_arrives_whole(
    dialect: Dialect, model_server: ModelServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "picture.bin"
    picture.write_bytes(PICTURE)
    model = f"{dialect.name}:small@{model_server.url}"
    words = ["run", "--store", "memory:", "--model", model, "--attach", str(picture), "--json", "What is this?"]
    assert main(words) == 0
    record = json.loads(capsys.readouterr().out)
    assert picture_in(model_server.received[0].json) == PICTURE
    assert record["steps"][0]["body"] == model_server.received[0].json
    assert record["steps"][0]["parts"]["request"] > 1000


async def test_X4_a_turn_with_an_image_is_run_again_with_it(bench: Bench) -> None:
    thread = await bench.thread()
    image = Attachment("p.png", "image/png", base64.b64encode(PICTURE).decode())
    record = await bench.runtime.send(thread, "What is this?", attachments=[image])
    again = await bench.runtime.rerun(record.turn)
    twice = await bench.runtime.rerun(again.turn)
    assert [one.status for one in (record, again, twice)] == ["completed"] * 3
    assert [picture_in(received.json) for received in bench.server.received] == [PICTURE] * 3
    assert again.steps[0].parts == record.steps[0].parts
    offline = await bench.runtime.rerun(record.turn, model="offline")
    assert offline.steps[0].body["attachments"] == [{"name": "p.png", "type": "image/png"}]  # type: ignore[index,call-overload]  # JSON
    asked = len(bench.server.received)
    lost = await bench.runtime.rerun(offline.turn, model=f"{bench.dialect.name}:small@{bench.server.url}")
    assert (lost.status, lost.reason) == ("failed", "model-error")
    assert "p.png was attached to the turn that is run again and is not kept" in (lost.error or "")
    assert len(bench.server.received) == asked


async def test_C68_an_image_of_four_million_characters_fits_and_as_a_result_it_does_not(bench: Bench) -> None:
    data = base64.b64encode(bytes(range(256)) * 11719)[:4_000_000].decode()

    @tool(inline=True)
    def fetch() -> str:
        """Fetch the image."""
        return data

    spec = f"{bench.dialect.name}:small@{bench.server.url}"
    agent = Agent("wired", tiers=(TierSpec(spec, 128_000),), tools=("fetch",))
    runtime = Runtime(bench.runtime.store, agents={"wired": agent}, tools=[fetch])
    thread = await runtime.create_thread(agent="wired")
    record = await runtime.send(thread, "What is this?", attachments=[Attachment("p.png", "image/png", data)])
    assert record.status == "completed"
    assert picture_in(bench.server.received[0].json) == base64.b64decode(data)
    call = bench.dialect.stream(bench.dialect.call("c1", "fetch", "{}"))
    bench.server.will(streamed(call, bench.dialect.end()))
    record = await runtime.send(thread, "Fetch it.")
    assert (record.status, record.reason) == ("failed", "fit-overflow")
    assert len(bench.server.received) == 2
    await runtime.close()
