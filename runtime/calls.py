"""What answers the calls of one step: every call gets exactly one result, whatever happens to it (T4, T10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from runtime import tools
from runtime.tools import Outcome, Tool
from runtime.values.items import ToolCall, ToolResult
from runtime.values.json import Json, JsonObject, compact

ToolMode = Literal["live", "recorded", "stubbed"]
"""X4: run the tools, answer from a record, or answer that nothing was run."""

CallKey = tuple[str, str]
"""A call by its name and its arguments, spelled so that equal ones are equal."""

NOT_RECORDED = "not recorded"
LEFT_OUT = "left out by the experiment"
STUBBED = "stubbed: no tool was run"
STOPPED = "stopped before it returned"

TOOL_SECONDS = 60.0
"""How long one tool call may take unless the Runtime says otherwise."""

_MERCY = 0.1
"""Seconds that a cancelled call has to end before it is abandoned."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A call's result and the state writes that come with it."""

    result: ToolResult
    writes: JsonObject = field(default_factory=dict)


WhenCancelled = Literal["ends", "should-end", "goes-on"]
"""`ends` is waited for; `should-end` gets a moment, then is abandoned; `goes-on` cannot be interrupted at all."""


class Answers(Protocol):
    """Something that answers calls. `state` is the state at the start of the step (T4)."""

    async def answer(self, step: int, call: ToolCall, state: JsonObject) -> Answered: ...

    def when_cancelled(self, call: ToolCall) -> WhenCancelled:
        """What becomes of the call once it is cancelled (T10)."""
        ...


@dataclass(frozen=True, slots=True)
class Live:
    """Runs the agent's own tools, each at most `timeout` seconds (None: as long as the turn has); a delegate's call
    opens a child turn through `delegate` (T8)."""

    tools: Mapping[str, Tool]
    delegates: frozenset[str] = frozenset()
    delegate: Callable[[int, ToolCall, JsonObject], Awaitable[Answered]] | None = None
    timeout: float | None = TOOL_SECONDS

    async def answer(self, step: int, call: ToolCall, state: JsonObject) -> Answered:
        if call.name in self.delegates and self.delegate is not None:
            return await self.delegate(step, call, state)
        tool = self.tools.get(call.name)
        if tool is None:
            unknown = tools.unknown_tool(call.name, (*self.tools, *sorted(self.delegates)))
            return Answered(ToolResult(call.id, call.name, unknown.output, error=True))
        clock = asyncio.get_running_loop().time
        began = clock()
        outcome: Outcome = await tools.call(tool, call.arguments, state, timeout=self.timeout)
        seconds = clock() - began
        result = ToolResult(call.id, call.name, outcome.output, outcome.error, seconds, abandoned=outcome.abandoned)
        return Answered(result, outcome.writes)

    def when_cancelled(self, call: ToolCall) -> WhenCancelled:
        """A child turn settles `stopped`; a function that is not async goes on in its thread."""
        if call.name in self.delegates:
            return "ends"
        tool = self.tools.get(call.name)
        return "goes-on" if tool is not None and not (tool.is_async or tool.inline) else "should-end"


@dataclass(frozen=True, slots=True)
class Recorded:
    """Answers the n-th call of a name with equal arguments by the n-th recorded result (X4). No tool runs."""

    results: Mapping[CallKey, tuple[ToolResult, ...]]
    given: dict[CallKey, int] = field(default_factory=dict)

    async def answer(self, step: int, call: ToolCall, state: JsonObject) -> Answered:
        key = (call.name, canonical(call.arguments))
        at = self.given.get(key, 0)
        self.given[key] = at + 1
        recorded = self.results.get(key, ())
        if at >= len(recorded):
            return _error(call, NOT_RECORDED)
        found = recorded[at]
        return Answered(ToolResult(call.id, call.name, found.output, found.error))

    def when_cancelled(self, call: ToolCall) -> WhenCancelled:
        return "ends"


@dataclass(frozen=True, slots=True)
class Stubbed:
    """Answers every call by the same stub. No tool runs."""

    async def answer(self, step: int, call: ToolCall, state: JsonObject) -> Answered:
        return Answered(ToolResult(call.id, call.name, STUBBED))

    def when_cancelled(self, call: ToolCall) -> WhenCancelled:
        return "ends"


@dataclass(frozen=True, slots=True)
class Altered:
    """Answers as `answers` does, but for some results an experiment left out or gave another text (X7).

    `instead` names them by call and how many were like it before; the call itself is answered all the same.
    """

    answers: Answers
    instead: Mapping[tuple[CallKey, int], str | None]
    given: dict[CallKey, int] = field(default_factory=dict)

    async def answer(self, step: int, call: ToolCall, state: JsonObject) -> Answered:
        key = (call.name, canonical(call.arguments))
        place = (key, self.given.get(key, 0))
        self.given[key] = place[1] + 1
        answered = await self.answers.answer(step, call, state)
        if place not in self.instead:
            return answered
        text = self.instead[place]
        result = replace(answered.result, output=LEFT_OUT if text is None else text, error=text is None)
        return replace(answered, result=result)

    def when_cancelled(self, call: ToolCall) -> WhenCancelled:
        return self.answers.when_cancelled(call)


def canonical(arguments: JsonObject | str) -> str:
    """Arguments as text that is equal when they are: JSON with sorted keys, or the text that was received."""
    if isinstance(arguments, str):
        return arguments
    return compact(_sorted(arguments))


async def answer_all(
    answers: Answers,
    step: int,
    calls: tuple[ToolCall, ...],
    state: JsonObject,
    *,
    ended: Callable[[ToolResult], None],
    keep: Callable[[tuple[Answered, ...]], None],
) -> tuple[Answered, ...]:
    """The answers of one step's calls, run concurrently, in the order of the calls (T4).

    `ended` hears of each as it ends. When cancelled, `keep` gets what there is: finished calls with their results,
    the others with an error result; a call that does not end when cancelled is abandoned and marked so (T10).
    """
    tasks = [asyncio.create_task(_answer(answers, step, call, state, ended)) for call in calls]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        keep(await _give_up(answers, tasks, calls))
        raise
    return tuple(task.result() for task in tasks)


async def _answer(
    answers: Answers, step: int, call: ToolCall, state: JsonObject, ended: Callable[[ToolResult], None]
) -> Answered:
    answered = await answers.answer(step, call, state)
    ended(answered.result)
    return answered


async def _give_up(
    answers: Answers, tasks: list[asyncio.Task[Answered]], calls: tuple[ToolCall, ...]
) -> tuple[Answered, ...]:
    unfinished = {call.id for task, call in zip(tasks, calls, strict=True) if not task.done()}
    for task in tasks:
        task.cancel()
    surely = [task for task, call in zip(tasks, calls, strict=True) if answers.when_cancelled(call) == "ends"]
    perhaps = [task for task in tasks if task not in surely]
    await _ended(surely)
    await _ended(perhaps, within=_MERCY)
    goes_on = {call.id for call in calls if answers.when_cancelled(call) == "goes-on"} & unfinished
    return tuple(_outcome(task, call, call.id in goes_on) for task, call in zip(tasks, calls, strict=True))


async def _ended(tasks: list[asyncio.Task[Answered]], *, within: float | None = None) -> None:
    """Wait until cancelled calls have ended, or `within` seconds; being cancelled once more changes nothing."""
    clock = asyncio.get_running_loop().time
    until = None if within is None else clock() + within
    while waiting := [task for task in tasks if not task.done()]:
        left = None if until is None else until - clock()
        if left is not None and left <= 0:
            return
        with suppress(asyncio.CancelledError):  # its task still says that it was asked to
            await asyncio.wait(waiting, timeout=left)


def _outcome(task: asyncio.Task[Answered], call: ToolCall, goes_on: bool) -> Answered:
    if goes_on or not task.done():
        task.add_done_callback(_forget)
        return Answered(ToolResult(call.id, call.name, STOPPED, error=True, abandoned=True))
    if task.cancelled():
        return _error(call, STOPPED)
    return task.result()


def _forget(task: asyncio.Task[Answered]) -> None:
    """What an abandoned call returns or raises later is dropped (T10)."""
    if not task.cancelled():
        task.exception()


def _error(call: ToolCall, why: str) -> Answered:
    return Answered(ToolResult(call.id, call.name, why, error=True))


def _sorted(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_sorted(item) for item in value]
    return value
