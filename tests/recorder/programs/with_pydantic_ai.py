"""Two turns with a tool call each in pydantic-ai; the base URL comes from the environment."""

# mypy: ignore-errors
# ruff: noqa: T201
# What it imports is not installed where our types are checked; what it prints is read by the test.

from __future__ import annotations

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.openai import OpenAIChatModel

agent = Agent(OpenAIChatModel("small"), instructions="You are the porter.")


@agent.tool_plain
def find_room(person: str) -> str:
    """Find the room in which a person works."""
    return f"{person} works in room {len(person)}"


async def main() -> None:
    history: list[ModelMessage] = []
    for request in ("Where is Ada?", "And where is Grace?"):
        if "stream" in sys.argv:
            async with agent.run_stream(request, message_history=history) as streamed:
                print(await streamed.get_output())
                history = streamed.all_messages()
        else:
            result = await agent.run(request, message_history=history)
            print(result.output)
            history = result.all_messages()


asyncio.run(main())
