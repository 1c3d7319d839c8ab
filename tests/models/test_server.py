"""Both adapters against a real server: connections that break, stall and are left, and what stays usable after."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator

import pytest

from runtime.errors import ModelError
from runtime.events import Ended, ModelEvent, TextDelta
from runtime.models import Model
from runtime.models.chain import AttemptEnded, AttemptFailed, Chain, Tier
from runtime.models.settings import ModelSettings, Timeouts
from runtime.values.request import Limits, Request
from tests.models.dialects import Dialect, request_of
from tests.models.faults import FAULTS
from tests.models.server import Act, Answer, ModelServer, plain, streamed

SHORT = 0.05


@pytest.fixture
async def model(dialect: Dialect, model_server: ModelServer) -> AsyncIterator[Model]:
    """The adapter of the dialect, at the server."""
    opened = dialect.model(model_server.url)
    yield opened
    await close(opened)


async def close(model: Model) -> None:
    assert hasattr(model, "aclose")
    await model.aclose()


async def text_of(model: Model) -> str:
    return "".join([event.text async for event in model.stream(request_of()) if isinstance(event, TextDelta)])


async def failure_of(model: Model) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await text_of(model)
    return caught.value


async def test_a_turn_of_the_wire_streaming(model: Model, model_server: ModelServer, dialect: Dialect) -> None:
    events: list[ModelEvent] = [event async for event in model.stream(request_of())]
    assert TextDelta("ok") in events
    assert events[-1] == Ended("stop")
    assert model_server.received[0].path == dialect.path
    assert model_server.received[0].json["stream"] is True


async def test_a_connection_is_used_again(
    model: Model, model_server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "httpcore.connection")
    for _ in range(3):
        assert await text_of(model) == "ok"
    assert sum("connect_tcp.started" in record.message for record in caplog.records) == 1


async def test_a_stream_that_is_held_open_after_its_end_is_no_delay(
    model: Model, model_server: ModelServer, dialect: Dialect
) -> None:
    model_server.will(streamed(dialect.stream(dialect.text("ok"), dialect.end()), Act.HOLD))
    async with asyncio.timeout(5):
        assert await text_of(model) == "ok"
    await model_server.wait(model_server.gone)
    assert await text_of(model) == "ok"


async def test_C28_the_socket_closes_in_the_middle(model: Model, model_server: ModelServer, dialect: Dialect) -> None:
    part = dialect.stream(dialect.text("The answer is"))
    for act in (Act.CLOSE, Act.RESET):
        for chunked in (True, False):
            model_server.will(streamed(part, act, chunked=chunked))
            error = await failure_of(model)
            assert error.kind == "cut-off"
    assert await text_of(model) == "ok"


async def test_M2_the_server_goes_away_before_it_answers(model: Model, model_server: ModelServer) -> None:
    for act in (Act.CLOSE, Act.RESET):
        model_server.will(Answer((act,), raw=True, chunked=False))
        assert (await failure_of(model)).kind == "connection"
    model_server.will(Answer((b"no HTTP at all\r\n\r\n", Act.CLOSE), raw=True, chunked=False))
    assert (await failure_of(model)).kind == "connection"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_M2_nobody_listens(dialect: Dialect, host: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        model = dialect.model(f"http://{host}:{port}")
        error = await failure_of(model)
    assert error.kind == "connection"
    assert error.message == f"http://{host}:{port}{dialect.path}: Connection refused"
    await close(model)


async def test_M2_no_first_byte_in_time(dialect: Dialect, model_server: ModelServer) -> None:
    model = dialect.model(model_server.url, settings=ModelSettings(Timeouts(first_byte=SHORT)))
    model_server.will(Answer((Act.HOLD,), raw=True, chunked=False), streamed(Act.HOLD))
    for _ in range(2):
        error = await failure_of(model)
        assert (error.kind, "no answer within 0.05 s" in error.message) == ("timeout", True)
    await close(model)


async def test_M2_nothing_between_two_chunks(dialect: Dialect, model_server: ModelServer) -> None:
    model = dialect.model(model_server.url, settings=ModelSettings(Timeouts(between=SHORT)))
    model_server.will(streamed(dialect.stream(dialect.text("Partial")), Act.HOLD))
    error = await failure_of(model)
    assert (error.kind, "nothing more within 0.05 s" in error.message) == ("timeout", True)
    await model_server.wait(model_server.gone)
    await close(model)


async def test_M2_a_step_that_never_ends_though_it_goes_on(dialect: Dialect, model_server: ModelServer) -> None:
    model = dialect.model(model_server.url, settings=ModelSettings(Timeouts(step=SHORT)))
    model_server.will(streamed(dialect.stream(dialect.text("Partial")), *([dialect.ping] * 20), Act.HOLD))
    error = await failure_of(model)
    assert (error.kind, "longer than 0.05 s" in error.message) == ("timeout", True)
    await close(model)


async def test_T10_C32_cancelling_closes_the_connection_at_once(
    model: Model, model_server: ModelServer, dialect: Dialect
) -> None:
    model_server.will(streamed(dialect.stream(dialect.text("Hel")), dialect.text("lo"), Act.HOLD))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(text_of(model), 0.1)
    await model_server.wait(model_server.gone)
    assert await text_of(model) == "ok"


async def test_T10_leaving_a_stream_closes_the_connection_at_once(
    model: Model, model_server: ModelServer, dialect: Dialect
) -> None:
    model_server.will(streamed(dialect.stream(dialect.text("Hel")), Act.HOLD))
    stream = model.stream(request_of())
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    assert hasattr(stream, "aclose")
    await stream.aclose()
    await model_server.wait(model_server.gone)


async def test_T10_cancelling_before_the_first_byte(model: Model, model_server: ModelServer) -> None:
    model_server.will(Answer((Act.HOLD,), raw=True, chunked=False))
    task = asyncio.create_task(text_of(model))
    await model_server.wait(model_server.holding)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await model_server.wait(model_server.gone)


async def test_C37_two_steps_at_once_do_not_mix(model: Model, model_server: ModelServer, dialect: Dialect) -> None:
    for word in ("one", "two"):
        model_server.will(streamed(dialect.stream(dialect.text(word)), dialect.text(word), dialect.end()))
    assert sorted(await asyncio.gather(text_of(model), text_of(model))) == ["oneone", "twotwo"]


async def test_M2_a_chain_falls_over_at_every_stage_of_a_stream(
    model: Model, model_server: ModelServer, dialect: Dialect
) -> None:
    whole = dialect.stream(dialect.text("Partial"), dialect.call("a", "f", '{"x":1}'), dialect.end())
    ends = [n for n in range(0, len(whole), 40) if n < len(whole) - len(dialect.end())]
    for n in ends:
        model_server.will(streamed(whole[:n] or b": begin\n\n", Act.CLOSE))
        chain = Chain([Tier(model, Limits()), Tier(model, Limits())])
        events = [event async for event in chain.stream(prepare)]
        assert [type(event) for event in events if isinstance(event, AttemptFailed | AttemptEnded)] == [
            AttemptFailed,
            AttemptEnded,
        ]


def prepare(number: int, tier: Tier) -> Request:
    return request_of()


async def test_M2_the_last_tier_waits_as_it_was_asked_to(model: Model, model_server: ModelServer) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    model_server.will(plain(429, {"error": {"message": "slow down"}}, retry_after="7"))
    events = [event async for event in Chain([Tier(model, Limits())], sleep=sleep).stream(prepare)]
    assert waited == [7.0]
    assert isinstance(events[-1], AttemptEnded)


async def test_a_model_can_be_used_in_one_loop_after_another(dialect: Dialect, model_server: ModelServer) -> None:
    model = dialect.model(model_server.url)

    def once() -> str:
        async def ask() -> str:
            text = await text_of(model)
            await close(model)
            return text

        return asyncio.run(ask())

    assert [await asyncio.to_thread(once) for _ in range(2)] == ["ok", "ok"]


async def test_a_local_server_is_reached_without_the_proxy_of_the_environment(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert await text_of(model) == "ok"


async def test_a_proxy_is_used_for_others(dialect: Dialect, model_server: ModelServer) -> None:
    proxy = model_server.url.replace("http://", "http://me:pw7@")
    model = dialect.model("http://model.test/v1", settings=ModelSettings(proxy=proxy))
    assert await text_of(model) == "ok"
    assert model_server.received[0].path == f"http://model.test{dialect.path}"
    assert model_server.received[0].headers["proxy-authorization"].startswith("Basic ")
    await close(model)


@pytest.mark.parametrize("name", FAULTS)
async def test_M2_every_fault_by_name_is_a_failure_and_leaves_the_model_usable(
    name: str, dialect: Dialect, model_server: ModelServer
) -> None:
    fault = FAULTS[name]
    waits = Timeouts(first_byte=0.5, between=0.5) if "stall" in name or "ever" in name else Timeouts()
    model = dialect.model(model_server.url, settings=ModelSettings(waits))
    model_server.will(fault.answer(dialect))
    try:
        error = await failure_of(model)
        assert await text_of(model) == "ok"
    finally:
        await close(model)
    assert (error.kind, error.status) == (fault.kind, fault.status)
    assert fault.said in error.message
    assert "\n" not in error.message
    assert (error.retry_after is not None) == name.startswith("rate-limit")
