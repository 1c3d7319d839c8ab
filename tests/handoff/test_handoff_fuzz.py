"""Any conversation with any routes keeps what H promises: copies that match, nothing sensitive, nothing lost."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.abl import Project, compile_text
from runtime.handoff.events import HandoffEvent
from runtime.handoff.evidence import what_if
from runtime.handoff.log import event_json, events_of
from runtime.handoff.session import Session
from runtime.stores.memory import MemoryStore
from runtime.threads import Runtime
from runtime.values.messages import Message
from runtime.values.record_json import record_json

HISTORIES = ["full", "full", "full", "none", "last_0", "last_1", "last_3", "auto", "summary_only", "recent"]
NAMES = ("A", "B", "C", "D")

routes = st.fixed_dictionaries(
    {
        "to": st.sampled_from(NAMES),
        "word": st.sampled_from(["alpha", "beta", "gamma", "delta"]),
        "history": st.sampled_from(HISTORIES),
        "returns": st.sampled_from([True, True, False]),
        "summary": st.booleans(),
    }
)
agents = st.fixed_dictionaries({name: st.lists(routes, max_size=3) for name in NAMES})
messages = st.lists(
    st.sampled_from(
        ["alpha", "beta please", "gamma?", "delta", "hello", "pin Q4821Z", "yes", "what did I say earlier?"]
    ),
    min_size=1,
    max_size=12,
)


def project_of(shape: dict[str, list[dict[str, object]]]) -> Project:
    compiled = {name: compile_text(text_of(name, shape[name]), f"{name}.agent.abl")[0] for name in NAMES}
    found = {name: agent for name, agent in compiled.items() if agent is not None}
    assert len(found) == len(NAMES)
    return Project(Path("/nowhere"), "any", found, None, "A", ())


def text_of(name: str, entries: list[dict[str, object]]) -> str:
    text = f'AGENT: {name}\nGOAL: "any"\nINTENTS:\n  alpha: "alpha"\n  beta: "beta"\n'
    if name == "C":  # the one that asks for a secret
        text += 'GATHER:\n  pin:\n    PROMPT: "Your pin?"\n    SENSITIVE: true\nCOMPLETE:\n  - WHEN: pin IS SET\n'
    if name == "D":
        text += 'GATHER:\n  sure:\n    PROMPT: "Sure?"\n    TYPE: boolean\nCOMPLETE:\n  - WHEN: sure IS SET\n'
    if entries:
        text += "HANDOFF:\n"
    for one in entries:
        text += f'  - TO: {one["to"]}\n    WHEN: input contains "{one["word"]}"\n    HISTORY: {one["history"]}\n'
        text += f"    RETURN: {str(one['returns']).lower()}\n"
        text += "    SUMMARY: Something.\n" if one["summary"] else ""
    return text


async def converse(project: Project, said: list[str]) -> Session:
    session = await Session.open(Runtime(MemoryStore()), project)
    for text in said:
        await session.say(text)
    return session


async def check(session: Session, said: list[str]) -> None:
    store = session.runtime.store
    log = session.events
    assert events_of(json.loads(json.dumps([event_json(one) for one in log], default=dict))) == log
    assert await session.messages() == said
    private = {one.id for one in session.threads if one.sensitive}
    for event in log:
        if not isinstance(event, HandoffEvent):
            continue
        rows = await store.rows(event.thread, 1, event.copied)
        places = [(row.origin.thread, row.origin.seq) for row in rows if isinstance(row, Message) and row.origin]
        assert tuple(places) == event.rows
        assert len(set(places)) == len(places)
        assert event.matches is True
        counted = sum(left.count for left in event.left_out)
        own = [place for place in event.rows if place in await own_places(session, event)]
        assert counted + len(own) == event.caller_rows
        if event.requested != "all":
            assert event.copied <= event.requested
            assert len(own) == event.copied
        barred = {one.thread for one in event.children if one.sensitive}
        assert not any(thread in barred for thread, _ in event.rows)
        evidence = await session.evidence(event)
        again = what_if(evidence, event.written)
        assert (again.force.name, len(again.copying.kept)) == (event.strategy, event.copied)
        assert again.copying.left_out == event.left_out
    if private:
        told = [session.mask.json(record_json(one)) for one in await session.records(bodies=True)]
        assert "Q4821Z" not in json.dumps(told, default=dict)


async def own_places(session: Session, event: HandoffEvent) -> set[tuple[str, int]]:
    rows = await session.runtime.store.rows(event.caller_thread, 1, event.caller_rows)
    return {
        (row.origin.thread, row.origin.seq) if row.origin else (event.caller_thread, row.seq)
        for row in rows
        if isinstance(row, Message)
    }


async def whole(shape: dict[str, list[dict[str, object]]], said: list[str]) -> None:
    session = await converse(project_of(shape), said)
    await check(session, said)
    again = await Session.reopen(session.runtime, session.id, replace(session.project))
    assert (again.threads, again.events, again.agent) == (session.threads, session.events, session.agent)


@pytest.mark.fuzz
@given(agents, messages)
def test_H_any_conversation_with_any_routes_keeps_the_rules(
    shape: dict[str, list[dict[str, object]]], said: list[str]
) -> None:
    asyncio.run(whole(shape, said))
