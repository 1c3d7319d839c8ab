"""Handoffs: checking a large project, and choosing the last rows of a long conversation."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Promise, paired_async, promise
from runtime.abl import load_project
from runtime.abl.history_setting import InForce
from runtime.handoff.evidence import newest_evidence
from runtime.handoff.strategy import Barred
from runtime.stores import Store, open_store
from runtime.values.messages import NewMessage, tool_call_part, tool_result_part

AGENTS, ROUTES = 200, 20
FEW, MANY = 100, 100_000
LAST_5 = InForce("last", 5, "route")


def promises() -> Iterator[Promise]:
    """The promises on checking and on choosing."""
    with tempfile.TemporaryDirectory() as name:
        yield checking(Path(name))
    yield from asyncio.run(choosing())


def checking(folder: Path) -> Promise:
    """A project of 200 agents with 20 routes each, read and checked whole, against 2 seconds.

    Counted in processor time: it is one thread of work, and other programs on the machine are none of it.
    """
    for n in range(AGENTS):
        (folder / f"agent-{n}.agent.abl").write_text(agent_text(n), encoding="utf-8")
    took: list[float] = []
    for _ in range(4):
        began = time.process_time()
        project = load_project(folder)
        took.append(time.process_time() - began)
        assert len(project.agents) == AGENTS
        assert sum(len(agent.routes) for agent in project.agents.values()) == AGENTS * ROUTES
    return promise(f"check {AGENTS} agents with {ROUTES} routes each, against 2 s", 1, took[1:], [2.0] * 3)


async def choosing() -> list[Promise]:
    """The rows of `last_5` from a conversation of 100,000, against one of 100: in memory and in SQLite."""
    found: list[Promise] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, url in (("memory", "memory:"), ("SQLite", f"sqlite:///{folder}/studio.db")):
            store = open_store(url)
            few, many = await conversation(store, FEW), await conversation(store, MANY)
            found.append(
                await paired_async(
                    f"choose last_5 from {MANY:,} rows, against {FEW} ({name})",
                    3,
                    lambda store=store, many=many: choose(store, many),  # type: ignore[misc]  # bound per round
                    lambda store=store, few=few: choose(store, few),  # type: ignore[misc]  # bound per round
                    times=50,
                )
            )
            await store.close()
    return found


async def choose(store: Store, thread: str) -> None:
    """Read what matters and choose; five rows are kept."""
    evidence = await newest_evidence(store, thread, LAST_5, Barred())
    assert len(evidence.choose(LAST_5).kept) == 5


async def conversation(store: Store, count: int) -> str:
    """A thread of `count` rows, a call and its result among every five."""
    thread = await store.create()
    rows = [row_of(n) for n in range(count)]
    for first in range(0, count, 10_000):
        await store.append(thread, *rows[first : first + 10_000])
    return thread


def row_of(n: int) -> NewMessage:
    """Row `n`: a customer, a call, its result, an answer, a customer again."""
    kind = n % 5
    if kind == 1:
        return NewMessage("assistant", "", (tool_call_part(f"c{n}", "look_up", {"order": f"ORD-{n}"}),))
    if kind == 2:
        return NewMessage("tool", f"order {n} is on the road", (tool_result_part(f"c{n - 1}", "look_up"),))
    return NewMessage("assistant" if kind == 3 else "user", f"a message of a usual length, number {n}")


def agent_text(n: int) -> str:
    """One agent with 20 routes to others, each with what a route may have."""
    routes = "".join(
        f"""  - TO: Agent_{(n + step) % AGENTS}
    WHEN: intent.category == "topic_{step}" AND (order_id IS SET OR amount >= {step} OR note contains "urgent {step}")
    PRIORITY: {step}
    PASS: [order_id, amount]
    SUMMARY: "A customer with order {{{{order_id}}}} asks about topic {step}."
    HISTORY: last_{step}
    RETURN: false
"""
        for step in range(1, ROUTES + 1)
    )
    intents = "".join(
        f'  topic_{step}: "What topic {step} is about, in a few words."\n' for step in range(1, ROUTES + 1)
    )
    return f"""SUPERVISOR: Agent_{n}
GOAL: "Help with subject {n}"
INTENTS:
{intents}MEMORY:
  session:
    - note
      TYPE: string
GATHER:
  order_id:
    PROMPT: "Which order? It looks like ORD-{n}."
    TYPE: string
  amount:
    PROMPT: "How much?"
    TYPE: number
    REQUIRED: false
HANDOFF:
{routes}COMPLETE:
  - WHEN: order_id IS SET AND note == "done"
    RESPOND: "Order {{{{order_id}}}} is done."
"""


if __name__ == "__main__":
    for one in promises():
        print(one)
