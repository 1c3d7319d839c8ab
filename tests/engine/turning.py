"""A process that runs turns until it is killed: it tells on stdout what is stored, once it surely is."""

from __future__ import annotations

import asyncio
import sys

from runtime import open_store
from runtime.models.script import ScriptModel
from runtime.threads import Runtime
from runtime.tools import State, tool
from runtime.values.agent import Agent, TierSpec
from runtime.values.items import ToolCall
from runtime.values.seed import ScriptEntry, When


@tool
async def count(state: State) -> int:
    """Count the calls."""
    found = state.get("calls")
    calls = (found if isinstance(found, int) else 0) + 1
    state.set("calls", calls)
    return calls


def runtime_on(path: str) -> Runtime:
    """A runtime whose model calls the tool once, then answers in pieces."""
    script = ScriptModel(
        [
            ScriptEntry(When(step=1), calls=(ToolCall("c1", "count", {}),), text="counting", chunks=3),
            ScriptEntry(When(step=2), text="counted and done", chunks=4, delay=0.0005),
        ]
    )
    agent = Agent("counter", tiers=(TierSpec("script"),), tools=("count",))
    return Runtime(open_store(path), agents={"counter": agent}, models={"script": script}, tools=[count])


async def turn_until_killed(path: str, thread: str) -> None:
    """Send `m1`, `m2`, ... and tell of each answer once it is stored."""
    runtime = runtime_on(path)
    n = await runtime.store.length(thread)
    while True:
        n += 1
        record = await runtime.send(thread, f"m{n}")
        print(record.stored_user, record.stored_assistant, record.turn, flush=True)  # noqa: T201  the test reads it


if __name__ == "__main__":
    asyncio.run(turn_until_killed(sys.argv[1], sys.argv[2]))
