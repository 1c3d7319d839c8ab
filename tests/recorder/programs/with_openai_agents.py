"""Two turns with a tool call each in the OpenAI Agents SDK; the base URL comes from the environment."""

# mypy: ignore-errors
# ruff: noqa: T201
# What it imports is not installed where our types are checked; what it prints is read by the test.

from __future__ import annotations

import asyncio
import sys

from agents import Agent, Runner, SQLiteSession, function_tool, set_default_openai_api, set_tracing_disabled

set_default_openai_api("chat_completions")
set_tracing_disabled(True)


@function_tool
def find_room(person: str) -> str:
    """Find the room in which a person works."""
    return f"{person} works in room {len(person)}"


async def main() -> None:
    agent = Agent(name="porter", instructions="You are the porter.", tools=[find_room], model="small")
    session = SQLiteSession("one")
    for request in ("Where is Ada?", "And where is Grace?"):
        if "stream" in sys.argv:
            streamed = Runner.run_streamed(agent, request, session=session)
            async for _ in streamed.stream_events():
                pass
            print(streamed.final_output)
        else:
            result = await Runner.run(agent, request, session=session)
            print(result.final_output)


asyncio.run(main())
