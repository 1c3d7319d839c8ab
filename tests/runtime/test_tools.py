"""Tools: schemas from functions, arguments that validate, and one result whatever happens (T4, T9, T10)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest

from runtime.errors import ConfigurationError, ToolError
from runtime.tools import Outcome, State, Tool, by_name, call, load, tool, unknown_tool
from runtime.values.json import Json


def add(first: int, second: int = 2) -> int:
    """Add two numbers.

    The sum is exact.

    Args:
        first: the one
            to begin with.
        second (int): what is added.

    Returns:
        The sum.
    """
    return first + second


def pick(colour: Literal["red", "blue"], sizes: list[int] | None = None, *, state: State) -> str:
    """Pick a colour.

    :param colour: which one
    :param sizes: in centimetres
    :returns: the colour
    """
    state.set("colour", colour)
    return f"{colour} {sizes}"


def plan(day: date, notes: dict[str, str]) -> str:
    return f"{day.isoformat()} {len(notes)}"


async def outcome(function: Any, arguments: Any, state: Any = None, **options: Any) -> Outcome:
    return await call(Tool.of(function), arguments, state or {}, **options)


def test_T9_the_schema_comes_from_signature_and_docstring() -> None:
    spec = Tool.of(add).spec
    assert (spec.name, spec.description) == ("add", "Add two numbers. The sum is exact.")
    assert spec.schema == {
        "type": "object",
        "properties": {
            "first": {"type": "integer", "description": "the one to begin with."},
            "second": {"type": "integer", "description": "what is added.", "default": 2},
        },
        "required": ["first"],
        "additionalProperties": False,
    }


def test_T9_a_state_parameter_is_not_offered_and_fields_of_the_docstring_are_read() -> None:
    properties = Tool.of(pick).spec.schema["properties"]
    assert properties == {
        "colour": {"type": "string", "enum": ["red", "blue"], "description": "which one"},
        "sizes": {
            "anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}],
            "description": "in centimetres",
            "default": None,
        },
    }


def test_T9_names_are_made_from_the_function_and_can_be_given() -> None:
    def set_tone() -> None: ...

    @tool(name="other", inline=True)
    def _hidden() -> None: ...

    assert Tool.of(set_tone).name == "set-tone"
    assert (_hidden.name, _hidden.inline) == ("other", True)
    assert Tool.of(Tool.of(set_tone), name="tone").name == "tone"
    with pytest.raises(ConfigurationError, match="not 'a tool'"):
        Tool.of(set_tone, name="a tool")


def test_T9_two_tools_of_one_name_are_a_configuration_error() -> None:
    def add_(a: int) -> int:
        return a

    assert list(by_name([add, pick, add])) == ["add", "pick"]
    with pytest.raises(ConfigurationError, match="two tools are named add"):
        by_name([add, Tool.of(add_)])


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda *many: None, "cannot be given by name"),
        (lambda **many: None, "cannot be given by name"),
        (str, "no function"),
    ],
)
def test_T9_a_signature_no_model_can_fill_is_a_configuration_error(function: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Tool.of(function, name="odd").spec


def test_T9_an_annotation_nobody_can_read_is_a_configuration_error() -> None:
    def odd(where: threading.Thread) -> None: ...

    with pytest.raises(ConfigurationError, match="tool odd takes where"):
        Tool.of(odd).spec


async def test_T4_arguments_are_read_as_the_signature_asks() -> None:
    assert await outcome(add, {"first": 1}) == Outcome(3)
    assert await outcome(add, {"first": "40", "second": 2.0}) == Outcome(42)
    assert await outcome(add, '{"first": 1, "second": 1}') == Outcome(2)
    assert (await outcome(pick, {"colour": "red", "sizes": [1, "2"]})).output == "red [1, 2]"
    assert (await outcome(plan, {"day": "2026-01-05", "notes": {"a": "b"}})).output == "2026-01-05 1"


@pytest.mark.parametrize("arguments", ["", "  ", "null", {}])
async def test_T4_absent_null_and_blank_arguments_are_an_empty_object(arguments: Any) -> None:
    async def ping() -> str:
        return "pong"

    assert await outcome(ping, arguments) == Outcome("pong")


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (add, "[1]", 'the arguments of add are not a JSON object: "[1]"'),
        (add, "{first: 1", 'the arguments of add are not a JSON object: "{first: 1"'),
        (add, {}, "add: argument first is missing"),
        (add, {"first": "three"}, 'add: argument first should be a whole number, not "three"'),
        (add, {"first": True}, "add: argument first should be a whole number, not true"),
        (add, {"first": 1.5}, "add: argument first should be a whole number, not 1.5"),
        (add, {"first": 1, "third": 1}, "add: there is no argument third (it takes first, second)"),
        (
            add,
            {"first": None, "second": []},
            "add: argument first should be a whole number, not null; argument second should be a whole number, not []",
        ),
        (pick, {"colour": "Red"}, 'pick: argument colour should be one of "red", "blue", not "Red"'),
        (pick, {"colour": "red", "sizes": [1, "x"]}, 'pick: argument sizes[1] should be a whole number, not "x"'),
        (plan, {"day": "2026-01-05", "notes": {"a": 1}}, "plan: argument notes.a should be a text, not 1"),
    ],
)
async def test_T4_what_was_wrong_is_told_in_one_sentence(function: Any, arguments: Any, said: str) -> None:
    assert await outcome(function, arguments) == Outcome(said, error=True)


async def test_T4_an_annotation_read_by_pydantic_is_told_likewise() -> None:
    said = await outcome(plan, {"day": "soon", "notes": {}})
    assert said.error
    assert str(said.output).startswith("plan: argument day should be a valid date")


async def test_T4_models_and_dataclasses_are_arguments_and_results() -> None:
    @dataclass
    class Place:
        row: int
        seat: str

    def book(place: Place) -> Place:
        return place

    # A local class cannot be found by the name in a postponed annotation.
    book.__annotations__ = {"place": Place, "return": Place}
    spec = Tool.of(book).spec
    assert spec.schema["properties"]["place"]["properties"]["row"]["type"] == "integer"  # type: ignore[index,call-overload]  # a schema's shape is this test's subject
    assert await outcome(book, {"place": {"row": 3, "seat": "A"}}) == Outcome({"row": 3, "seat": "A"})
    assert "place.seat" in str((await outcome(book, {"place": {"row": 3}})).output)


async def test_T4_exceptions_are_error_results() -> None:
    def fail() -> None:
        raise KeyError("no such key")

    def refuse() -> None:
        raise ToolError("ask again tomorrow")

    async def leave() -> None:
        sys.exit(3)

    async def cancel_itself() -> None:
        raise asyncio.CancelledError

    assert await outcome(fail, {}) == Outcome("KeyError: 'no such key'", error=True)
    assert await outcome(refuse, {}) == Outcome("ask again tomorrow", error=True)
    assert await outcome(leave, {}) == Outcome("SystemExit: 3", error=True)
    assert await outcome(cancel_itself, {}) == Outcome("RuntimeError: the tool cancelled itself", error=True)


async def test_T4_results_are_made_json_or_are_errors() -> None:
    class Size(Enum):
        SMALL = "small"

    def giving(value: object) -> Tool:
        return Tool.of(lambda: value, name="give")

    python = {1: (2, 3), "day": date(2026, 1, 5), "path": Path("a") / "b", "size": Size.SMALL, "set": {1}}
    json: Json = {"1": [2, 3], "day": "2026-01-05", "path": "a/b", "size": "small", "set": [1]}
    assert await outcome(giving(python), {}) == Outcome(json)
    assert await outcome(giving("half \ud83d"), {}) == Outcome("half \ufffd")
    loop: list[object] = []
    loop.append(loop)
    for odd in (object(), float("nan"), b"bytes", loop, 10**5000):
        result = await outcome(giving(odd), {})
        assert result.error
        assert str(result.output).startswith("TypeError: ")


async def test_T4_a_call_sees_the_start_of_its_step_and_its_own_writes() -> None:
    def count(state: State) -> list[object]:
        before = state.get("count")
        state.set("count", 2)
        shared = state.get("notes")
        assert isinstance(shared, list)
        shared.append("changed in place")
        return [before, state.get("count"), state.get("none", "nothing"), dict(state.items())]

    start = {"count": 1, "notes": ["a"]}
    done = await outcome(count, {}, start)
    assert done == Outcome([1, 2, "nothing", {"count": 2, "notes": ["a"]}], writes={"count": 2})
    assert start == {"count": 1, "notes": ["a"]}


async def test_T4_writes_made_before_a_failure_are_kept() -> None:
    def half(state: State) -> None:
        state.set("half", True)
        raise ValueError("then it broke")

    assert await outcome(half, {}) == Outcome("ValueError: then it broke", error=True, writes={"half": True})


async def test_T4_a_write_that_is_no_json_is_the_tools_error() -> None:
    def odd(state: State) -> None:
        state.set("thing", object())

    assert await outcome(odd, {}) == Outcome("TypeError: a value of type object is not JSON", error=True)


async def test_T4_a_timeout_is_an_error_result() -> None:
    async def slow() -> None:
        await asyncio.Event().wait()

    assert await outcome(slow, {}, timeout=0.01) == Outcome("slow gave no result within 0.01 seconds", error=True)


async def test_T10_what_cannot_be_interrupted_is_abandoned_and_its_later_writes_dropped() -> None:
    go, ended = threading.Event(), threading.Event()
    raised: list[str] = []

    def stuck(state: State) -> None:
        state.set("early", 1)
        go.wait()
        try:
            state.set("late", 1)
        except RuntimeError as error:
            raised.append(str(error))
        ended.set()

    result = await outcome(stuck, {}, timeout=0.01)
    assert (result.error, result.abandoned, result.writes) == (True, True, {"early": 1})
    go.set()
    assert ended.wait(5)
    assert raised == ["this call was given up; its writes are dropped"]


async def test_T10_an_async_tool_that_ignores_its_cancelling_is_abandoned() -> None:
    go = asyncio.Event()
    swallowed = asyncio.Event()

    async def stubborn() -> None:
        try:
            await go.wait()
        except asyncio.CancelledError:
            swallowed.set()
            await go.wait()

    result = await outcome(stubborn, {}, timeout=0.01)
    assert (result.error, result.abandoned) == (True, True)
    assert swallowed.is_set()
    go.set()


@pytest.mark.parametrize("kind", ["async", "thread"])
async def test_T10_a_cancelled_call_returns_at_once(kind: str) -> None:
    started, go = threading.Event(), threading.Event()

    async def waits() -> None:
        started.set()
        await asyncio.Event().wait()

    def blocks() -> None:
        started.set()
        go.wait()

    task = asyncio.ensure_future(outcome(waits if kind == "async" else blocks, {}))
    while not started.is_set():  # noqa: ASYNC110 - the event is set on another thread
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()


async def test_T10_a_cancelled_call_waits_a_moment_for_its_tool_to_end() -> None:
    started, go = asyncio.Event(), asyncio.Event()
    cleaned: list[bool] = []

    async def tidies() -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            await go.wait()
            cleaned.append(True)

    task = asyncio.ensure_future(outcome(tidies, {}))
    await started.wait()
    task.cancel()
    asyncio.get_running_loop().call_soon(go.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == [True]


async def test_T4_a_function_that_is_not_async_does_not_hold_up_the_loop() -> None:
    passed = threading.Event()

    def waits() -> bool:
        return passed.wait(5)

    running = asyncio.ensure_future(outcome(waits, {}))
    await asyncio.sleep(0)
    passed.set()
    assert await running == Outcome(True)


async def test_T10_a_call_that_never_ends_takes_no_place_from_others() -> None:
    go, begun = threading.Event(), threading.Barrier(41, timeout=5)

    def meets() -> None:
        begun.wait()
        go.wait()

    tasks = [asyncio.ensure_future(outcome(meets, {})) for _ in range(40)]
    await asyncio.to_thread(begun.wait)
    assert await outcome(add, {"first": 1}) == Outcome(3)
    go.set()
    assert await asyncio.gather(*tasks) == [Outcome(None)] * 40


async def test_threads_serve_again() -> None:
    def ident() -> int:
        return threading.get_ident()

    assert len({(await outcome(ident, {})).output for _ in range(100)}) < 50


async def test_T9_an_inline_tool_runs_where_the_turn_runs() -> None:
    @tool(inline=True)
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert await outcome(where, {}) == Outcome(True)
    assert await outcome(where.run, {}) == Outcome(False)


def test_T4_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    assert unknown_tool("ad\x00d", ["add", "pick"]) == Outcome(
        "there is no tool 'ad\ufffdd'; the tools are: add, pick", error=True
    )


def test_T9_a_reference_is_imported_only_after_consent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_consent.py").write_text("raise SystemExit('it ran')\n")
    with pytest.raises(ConfigurationError, match="agree to it with --allow-tools"):
        load("mine_consent:run", allow=False, folder=tmp_path)
    with pytest.raises(ConfigurationError, match="importing it failed: SystemExit: it ran"):
        load("mine_consent:run", allow=True, folder=tmp_path)


def test_T9_a_reference_is_found_beside_the_agent_file(tmp_path: Path) -> None:
    package = tmp_path / "mine_tools"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "weather.py").write_text(
        "NUMBER = 3\n"
        "def will_it_rain(where: str) -> bool:\n    'Whether it rains.'\n    return where == 'here'\n"
        "def takes_all(*args): ...\n"
    )
    (package / "broken.py").write_text("import mine_missing_module\n")
    before = list(sys.path)
    assert load("mine_tools.weather:will_it_rain", allow=True, folder=tmp_path).name == "will-it-rain"
    for reference, said in [
        ("mine_tools.wether:will_it_rain", "there is no module mine_tools.wether"),
        ("mine_nothing.at.all:run", "there is no module mine_nothing"),
        ("mine_tools.broken:run", "its module needs mine_missing_module"),
        ("mine_tools.weather:rain", "has no rain"),
        ("mine_tools.weather:NUMBER", "NUMBER is no function"),
        ("mine_tools.weather:takes_all", "cannot be given by name"),
        ("os:system; rm", "is written package.module:function"),
        ("../evil:run", "is written package.module:function"),
    ]:
        with pytest.raises(ConfigurationError, match=said):
            load(reference, allow=True, folder=tmp_path)
    assert sys.path == before


def test_importing_tools_and_offering_the_shipped_ones_imports_no_pydantic() -> None:
    code = (
        "import sys; from runtime.tools import shipped; [t.spec for t in shipped().values()];"
        "print([m for m in ('pydantic', 'yaml', 'httpx', 'textual') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
