"""A turn with one tool call over HTTP, streaming, against a bare httpx loop that parses the same stream."""

from __future__ import annotations

import asyncio
import gc
import json
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from benchmarks.measure import Promise, paired_async, promise
from benchmarks.model_server import serving
from benchmarks.turn import HISTORY, look
from runtime.stores import Store, open_store
from runtime.threads import Runtime
from runtime.values.agent import Agent, TierSpec
from runtime.values.messages import NewMessage

TURNS = 1_000
"""Turns over which memory may not grow."""

LEAST = 256
"""Bytes: less than the smallest thing of a turn that could be held on to. What the interpreter itself remembers of
attribute names fills up meanwhile, and takes a part of it."""


def promises() -> Iterator[Promise]:
    """The promises on turns over HTTP."""
    with serving() as url:
        yield asyncio.run(_against_bare_loop(url))
        yield asyncio.run(_memory(url))


async def _runtime(url: str, store: Store) -> tuple[Runtime, str]:
    agent = Agent("bench", "Be brief.", window=20, tiers=(TierSpec(f"openai:small@{url}"),), tools=("look",))
    runtime = Runtime(store, agents={"bench": agent}, tools=[look])
    thread = await runtime.create_thread(agent="bench")
    await runtime.store.append(thread, *(NewMessage(role, text) for role, text in HISTORY))  # type: ignore[arg-type]
    return runtime, thread


class BareLoop:
    """The same turn by hand: a body, a stream of lines, each parsed as JSON, fragments joined, the tool run."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self.url, self.client = f"{url}/v1/chat/completions", client
        self.rows: list[dict[str, Any]] = [{"role": role, "content": text} for role, text in HISTORY]
        self.tools = [{"type": "function", "function": {"name": "look", "parameters": look.spec.schema}}]

    async def model(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """One streamed reply as a message."""
        body = {"model": "small", "messages": messages, "tools": self.tools, "stream": True}
        text: list[str] = []
        calls: dict[int, dict[str, Any]] = {}
        async with self.client.stream("POST", self.url, json=body) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                chunk = json.loads(line[6:])
                for choice in chunk["choices"]:
                    delta = choice["delta"]
                    if delta.get("content"):
                        text.append(delta["content"])
                    for fragment in delta.get("tool_calls") or ():
                        call = calls.setdefault(fragment["index"], {"id": "", "name": "", "arguments": ""})
                        call["id"] = fragment.get("id") or call["id"]
                        call["name"] += fragment["function"].get("name") or ""
                        call["arguments"] += fragment["function"].get("arguments") or ""
        reply: dict[str, Any] = {"role": "assistant", "content": "".join(text) or None}
        if calls:
            reply["tool_calls"] = [
                {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": one["arguments"]}}
                for one in calls.values()
            ]
        return reply

    async def turn(self) -> None:
        """One request to its answer."""
        self.rows.append({"role": "user", "content": "what?"})
        messages = [{"role": "system", "content": "Be brief."}, *self.rows[-20:]]
        while True:
            reply = await self.model(messages)
            messages.append(reply)
            if "tool_calls" not in reply:
                break
            for call in reply["tool_calls"]:
                output = look.run(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
        self.rows.append(reply)


async def _against_bare_loop(url: str) -> Promise:
    runtime, thread = await _runtime(url, open_store("memory:", body_bytes=1_000_000))
    async with httpx.AsyncClient() as client:
        bare = BareLoop(url, client)
        kept = await paired_async(
            "a turn with one tool call over HTTP, streaming, against a bare httpx loop",
            1.5,
            lambda: runtime.send(thread, "what?"),
            bare.turn,
            times=20,
        )
    await runtime.close()
    return kept


async def _memory(url: str) -> Promise:
    """What a process holds more after a thousand turns on one stored thread, against less than one object a turn."""
    with tempfile.TemporaryDirectory() as folder:
        runtime, thread = await _runtime(url, open_store(f"sqlite:///{Path(folder) / 'turns.db'}"))
        tracemalloc.start()
        held: list[float] = []
        for count in (100, TURNS):
            for _ in range(count):
                await runtime.send(thread, "what?")
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0] / 1024)
        tracemalloc.stop()
        await runtime.close()
    before, after = held
    name = f"memory grown over {TURNS:,} turns over HTTP, against {LEAST} bytes a turn"
    return promise(name, 1, [max(0.0, after - before)], [LEAST * TURNS / 1024], "KiB")


if __name__ == "__main__":
    for one in promises():
        print(one)
