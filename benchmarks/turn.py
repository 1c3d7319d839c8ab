"""A turn with one tool call and 20 rows of history: against the same done by hand, and SQLite against memory."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Promise, paired_async
from runtime import open_store
from runtime.models.script import ScriptModel
from runtime.stores import Store
from runtime.stores.memory import MemoryStore
from runtime.threads import Runtime
from runtime.tools import tool
from runtime.values.agent import Agent, TierSpec
from runtime.values.items import ToolCall
from runtime.values.messages import NewMessage
from runtime.values.seed import ScriptEntry, When

HISTORY = [("user" if n % 2 else "assistant", f"message {n} about the draft and its due date") for n in range(20)]
COMMITS = 5
"""What a durable turn needs: the request; the context; the first step; its results; the last step with the answer."""


@tool(inline=True)
def look(at: str) -> str:
    """Look somewhere."""
    return f"seen {at}"


def promises() -> Iterator[Promise]:
    """The two promises on a turn."""
    yield asyncio.run(_against_bare_loop())
    yield asyncio.run(_sqlite_against_memory())


def _script() -> ScriptModel:
    call = ToolCall("c1", "look", {"at": "here"})
    return ScriptModel([ScriptEntry(When(step=1), calls=(call,)), ScriptEntry(When(step=2), text="done")])


async def _runtime(store: Store) -> tuple[Runtime, str]:
    agent = Agent("bench", "Be brief.", window=20, tiers=(TierSpec("script"),), tools=("look",))
    runtime = Runtime(store, agents={"bench": agent}, models={"script": _script()}, tools=[look])
    thread = await runtime.create_thread(agent="bench")
    await store.append(thread, *(NewMessage(role, text) for role, text in HISTORY))  # type: ignore[arg-type]
    return runtime, thread


class BareLoop:
    """The same turn by hand: messages in a list, the body as JSON, two model steps, one tool call, rows appended."""

    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = [{"role": role, "content": text} for role, text in HISTORY]
        self.tools = [{"type": "function", "function": {"name": "look", "parameters": look.spec.schema}}]

    async def model(self, body: str) -> dict[str, object]:
        await asyncio.sleep(0)
        messages = json.loads(body)["messages"]
        if messages[-1]["role"] == "tool":
            return {"role": "assistant", "content": "done"}
        function = {"name": "look", "arguments": '{"at": "here"}'}
        return {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": function}]}

    async def turn(self) -> None:
        self.rows.append({"role": "user", "content": "what?"})
        messages = [{"role": "system", "content": "Be brief."}, *self.rows[-20:]]
        while True:
            reply = await self.model(json.dumps({"messages": messages, "tools": self.tools}))
            messages.append(reply)
            calls = reply.get("tool_calls")
            if not calls:
                break
            for call in calls:  # type: ignore[attr-defined]  # a list of the dictionaries above
                arguments = json.loads(call["function"]["arguments"])
                output = look.run(**arguments)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
        self.rows.append(reply)


async def _against_bare_loop() -> Promise:
    runtime, thread = await _runtime(MemoryStore())
    bare = BareLoop()
    return await paired_async(
        "a turn with one tool call, memory store, against a bare loop",
        10,
        lambda: runtime.send(thread, "what?"),
        bare.turn,
        times=100,
    )


async def _sqlite_against_memory() -> Promise:
    with tempfile.TemporaryDirectory() as folder:
        durable, there = await _runtime(open_store(f"sqlite:///{Path(folder) / 'turns.db'}"))
        memory, here = await _runtime(MemoryStore())
        raw = sqlite3.connect(Path(folder) / "raw.db", isolation_level=None)
        raw.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, b)"
        )

        async def memory_and_commits() -> None:
            await memory.send(here, "what?")
            for _ in range(COMMITS):
                raw.execute("BEGIN IMMEDIATE")
                raw.execute("INSERT INTO t (b) VALUES (?)", ("x" * 1000,))
                raw.execute("COMMIT")

        kept = await paired_async(
            "the same with SQLite, durable, against memory and its commits",
            1.7,
            lambda: durable.send(there, "what?"),
            memory_and_commits,
            times=20,
        )
        await durable.close()
        raw.close()
        return kept
