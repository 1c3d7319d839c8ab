"""Running one call of a tool: whatever happens, there is one result to tell the model (T4)."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from runtime.errors import ConfigurationError, ToolError
from runtime.tools import workers
from runtime.tools.arguments import Mismatch
from runtime.tools.definition import Tool
from runtime.tools.results import as_json
from runtime.tools.state import State
from runtime.values.items import ToolCall
from runtime.values.json import Json, JsonObject, clean


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call came to. `output` of an error is a sentence for the model.

    `writes` are the state values it set, also if it failed afterwards. `abandoned` says that it could not be
    interrupted when its time was up, and that what it returns later is dropped (T10).
    """

    output: Json
    error: bool = False
    writes: JsonObject = field(default_factory=dict)
    abandoned: bool = False


_GRACE = 0.05
"""Seconds that an async tool has to clean up after its time is up, before it counts as abandoned."""

_MERCY = 0.2
"""Seconds that a cancelled call waits for its tool to end; whoever cancelled it may give it up sooner."""

_running: set[asyncio.Task[tuple[object, BaseException | None]]] = set()
"""The loop itself holds its tasks weakly: one that is left behind has to live until it ends."""


class _Late(Exception):
    """No result in time; `abandoned` if the work goes on unheard."""

    def __init__(self, abandoned: bool) -> None:
        self.abandoned = abandoned


async def call(
    tool: Tool,
    arguments: JsonObject | str,
    state: JsonObject,
    *,
    timeout: float | None = None,  # noqa: ASYNC109 - a call that was given up is told from one that ended
) -> Outcome:
    """Run one call of `tool` to its outcome; nothing a tool does raises here but the cancelling of this call (T4).

    `arguments` is what the model sent: an object, or the text that is none. `state` is the thread's state at the start
    of the step. `timeout` is in seconds, None for no limit. When it is cancelled, an async tool is cancelled too and
    waited for up to 0.2 s, a function on a thread is left to end by itself at once, its result dropped (T10).
    """
    if isinstance(arguments, str):
        read = ToolCall.read("", tool.name, arguments).arguments
        if isinstance(read, str):
            return Outcome(f"the arguments of {tool.name} are not a JSON object: {_cut(arguments)}", error=True)
        arguments = read
    handle = State(state)
    try:
        signature = tool.signature
        given = signature.read(arguments)
    except (Mismatch, ConfigurationError) as error:
        return Outcome(f"{tool.name}: {error}", error=True)
    if signature.state is not None:
        given[signature.state] = handle
    return await _outcome(tool, given, handle, timeout)


def unknown_tool(name: str, offered: Iterable[str]) -> Outcome:
    """The outcome of a call of a tool that is not offered: says which are (T4)."""
    return Outcome(f"there is no tool {clean(name)!r}; the tools are: {', '.join(offered) or 'none'}", error=True)


async def _outcome(tool: Tool, given: Mapping[str, object], handle: State, seconds: float | None) -> Outcome:
    try:
        returned = await _returned(tool, given, seconds)
        return Outcome(as_json(returned), writes=handle.close())
    except _Late as late:
        said = f"{tool.name} gave no result within {seconds:g} seconds"
        return Outcome(said, error=True, writes=handle.close(), abandoned=late.abandoned)
    except ToolError as error:
        return Outcome(clean(str(error)), error=True, writes=handle.close())
    except asyncio.CancelledError:
        handle.close()
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool's code may raise anything, and the turn goes on
        return Outcome(_words(error), error=True, writes=handle.close())


def _words(error: BaseException) -> str:
    said = clean(str(error))
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _cut(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return shown if len(shown) <= 80 else shown[:79] + "…"


async def _returned(tool: Tool, given: Mapping[str, object], seconds: float | None) -> object:
    if tool.inline or tool.is_async:
        returned = tool.run(**given)
    else:
        returned = await _on_thread(lambda: tool.run(**given), seconds)
    return await _awaited(returned, seconds) if inspect.isawaitable(returned) else returned


async def _awaited(work: Awaitable[object], seconds: float | None) -> object:
    """What `work` gives. One that does not end when cancelled is left behind, not waited for."""
    task = asyncio.ensure_future(_guarded(work))
    _running.add(task)
    task.add_done_callback(_running.discard)
    try:
        done, _ = await asyncio.wait((task,), timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait((task,), timeout=_MERCY)
        raise
    if not done:
        task.cancel()
        await asyncio.wait((task,), timeout=_GRACE)
        raise _Late(abandoned=not task.done())
    if task.cancelled():
        raise RuntimeError("the tool cancelled itself")
    returned, raised = task.result()
    if raised is not None:
        raise raised
    return returned


async def _guarded(work: Awaitable[object]) -> tuple[object, BaseException | None]:
    """An exception handed over as a value, so that one that comes too late is dropped without a word."""
    try:
        return await work, None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - raised again by whoever waits for it
        return None, error


async def _on_thread(work: Callable[[], object], seconds: float | None) -> object:
    """What `work` gives on a thread, which keeps neither the loop nor the program from going on."""
    future = workers.start(work)
    if seconds is None:
        returned, raised = await future
    else:
        done, _ = await asyncio.wait((future,), timeout=seconds)
        if not done:
            raise _Late(abandoned=True)
        returned, raised = future.result()
    if isinstance(raised, asyncio.CancelledError | KeyboardInterrupt):
        raise RuntimeError(_words(raised))
    if raised is not None:
        raise raised
    return returned
