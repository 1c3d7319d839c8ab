"""What the Studio asks of a session: what-ifs over the record, a replay beside it, probes, accounts, masks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from runtime.abl import Project
from runtime.errors import BadInput, ModelError
from runtime.explain import NeverStored, ledger, state_changed_since, why
from runtime.handoff.events import HandoffEvent
from runtime.handoff.evidence import what_if
from runtime.handoff.log import event_json, events_of
from runtime.handoff.masking import Mask, mask_of
from runtime.handoff.notes import Secret
from runtime.handoff.replay import cost_of, replay
from runtime.handoff.session import Session
from runtime.stores import NewThread, NewTurn, Store, open_store
from runtime.stores.adopted import Adopted
from runtime.stores.memory import MemoryStore
from runtime.threads import Runtime
from runtime.values.json import Json
from runtime.values.messages import Message, NewMessage, Origin
from runtime.values.record import LeftOut, Settlement
from runtime.values.request import Limits, Request, Section
from runtime.values.understanding import KnownIntent, Questions

Build = Callable[..., Project]
Open = Callable[..., Any]

SEEDS = Path(__file__).parents[2] / "seeds"
RETAIL = ("Hello there", "I bought a lamp last week", "It was late", "I want to return it", "ORD-48213", "it hums")


async def test_X3_a_what_if_shows_what_another_history_would_have_copied(open_desk: Open) -> None:
    desk = await open_desk(SEEDS / "retail")
    await desk.say(*RETAIL)
    event = desk.handoff
    evidence = await desk.session.evidence(event)
    assert what_if(evidence, "last_6").copying.kept == evidence.choose(what_if(evidence, "last_6").force).kept
    assert tuple((row.seq) for row in what_if(evidence, "last_6").copying.kept) == tuple(seq for _, seq in event.rows)
    for written, copied in (("full", 9), ("none", 0), ("last_2", 2), ("summary_only", 0), ("auto", 5), ("off", 9)):
        assert len(what_if(evidence, written).copying.kept) == copied
    assert what_if(evidence, "off").force.source == "platform"
    assert what_if(evidence, None).force.strategy == "full"
    assert desk.handoff == event  # the record is as it was


async def test_X3_a_what_if_of_full_counts_what_children_handled_and_nothing_sensitive(open_desk: Open) -> None:
    desk = await open_desk(SEEDS / "clinic")
    await desk.say("Please identify me", "P-3071", "4821", "I want to book an appointment")
    evidence = await desk.session.evidence(desk.handoff)
    found = what_if(evidence, "full").copying
    assert [row.text for row in found.kept] == ["Please identify me", "I want to book an appointment"]
    assert [(left.count, left.reason) for _, left in found.children] == [(6, "sensitive-child")]


async def test_X3_a_replay_says_the_same_on_a_fresh_session(open_desk: Open) -> None:
    desk = await open_desk(SEEDS / "retail", rows=("u from before",))
    await desk.say(*RETAIL)
    cost = await cost_of(desk.session)
    assert (cost.messages, cost.model_calls, cost.remote_calls, cost.tool_calls) == (6, 7, 0, 0)
    other = await replay(desk.session, route=desk.handoff.route, history="none")
    assert [said.text for said in other.said] == list(RETAIL)
    (event,) = [one for one in other.session.events if isinstance(one, HandoffEvent)]
    assert (event.written, event.strategy, event.copied, event.matches) == ("none", "none", 0, True)
    assert (desk.handoff.strategy, desk.handoff.copied) == ("last_6", 6)
    assert [said.replies for said in other.said] == [said.replies for said in desk.said]
    known = await desk.store.thread(other.session.id)
    assert known.about["replay_of"] == desk.session.id
    again = await Session.reopen(Runtime(desk.store), other.session.id)
    assert again.settings.changes[0].history == "none"
    with pytest.raises(BadInput, match="no route at"):
        await replay(desk.session, route="nowhere:1", history="none")
    with pytest.raises(BadInput, match="not recognised"):
        await replay(desk.session, route=desk.handoff.route, history="recent")


async def test_a_probe_asks_both_sides_without_a_trace(open_desk: Open) -> None:
    desk = await open_desk(SEEDS / "retail")
    await desk.say(*RETAIL)
    other = await replay(desk.session, route=desk.handoff.route, history="full")
    target = next(one.id for one in other.session.threads if one.agent == "Returns_Agent")
    before = await desk.rows("Returns_Agent")
    in_force = await desk.session.probe(desk.handoff.thread, "What did I say earlier?")
    beside = await other.session.probe(target, "What did I say earlier?")
    assert "lamp" not in (in_force.answer or "")
    assert "lamp" in (beside.answer or "")
    assert (in_force.is_run, in_force.stored_user) == (True, None)
    assert "What did I say" not in str([row.text for row in in_force.context.rows])
    assert await desk.rows("Returns_Agent") == before


async def test_X1_every_row_and_every_call_of_an_abl_thread_is_accounted_for(
    build: Build, open_desk: Open, script: Any
) -> None:
    def look_up(what: str) -> str:
        """Looks up."""
        return f"found {what}"

    text = 'AGENT: A\nGOAL: "a"\nTOOLS:\n  look_up(what: string) -> string\n'
    model = script([{}, {}], [[("look_up", {"what": "lamp"})], "Here it is.", "Bye."])
    desk = await open_desk(build({"A": text}), model=model, tools=[look_up])
    await desk.say("the lamp?", "thanks")
    first, second = await desk.records("A")
    accounts = ledger(second, earlier=(first, second))
    never = [(one.what, one.name) for one in accounts if isinstance(one, NeverStored)]
    assert never == [("call", "note_understanding"), ("result", "note_understanding")]
    rows = await desk.store.rows(desk.session.id, 1, 9)
    assert [row.text for row in second.context.rows] == ["the lamp?", "", "found lamp", "Here it is."]
    assert second.context.left_out == (LeftOut(5, 5, "is-request"),)
    finding = why(second, accounts, 5, rows)
    assert finding.reason == "is-request"
    assert "its own section" in finding.sentence


async def test_X1_what_a_prompt_replaced_was_never_stored(build: Build, open_desk: Open) -> None:
    text = (
        'AGENT: A\nGOAL: "a"\nGATHER:\n  city:\n    PROMPT: "Which city?"\n'
        'HANDOFF:\n  - TO: B\n    WHEN: "the customer is angry"\n'
    )
    desk = await open_desk(build({"A": text, "B": 'AGENT: B\nGOAL: "b"\n'}), "A")
    await desk.say("hello", "Rome")
    first, second = await desk.records("A")
    never = [(one.what, one.text) for one in ledger(second, earlier=(first,)) if isinstance(one, NeverStored)]
    assert ("text", "Noted.") in never


def test_Q3_a_mask_replaces_a_value_wherever_it_stands_alone() -> None:
    mask = Mask({"pin", "motto"}, [Secret("pin", "4821"), Secret("motto", 'say "hi"\nuser: x')])
    assert mask.text("4821, 48210, a4821 and PIN 4821.") == ("[sensitive: pin], 48210, a4821 and PIN [sensitive: pin].")
    assert mask.text('SAY "HI"\nuser: x') == "[sensitive: motto]"
    assert mask.text(json.dumps({"q": 'say "hi"\nuser: x'})) == '{"q": "[sensitive: motto]"}'
    assert mask.text('say "hi"\n\\user: x') == "[sensitive: motto]"
    value: Json = {
        "pin": 1,
        "n": 4821,
        "arguments": {"n": 4821, "list": ["4821"]},
        "turn": "4821",
        "schema": {"pin": {"type": "string"}},
    }
    assert mask.json(value) == {
        "pin": "[sensitive: pin]", "n": 4821,
        "arguments": {"n": "[sensitive: pin]", "list": ["[sensitive: pin]"]}, "turn": "4821",
        "schema": {"pin": {"type": "string"}},
    }  # fmt: skip
    assert not Mask()
    assert Mask().text("4821") == "4821"


async def test_Q3_a_refused_value_is_a_secret_too_and_other_threads_have_no_mask(open_desk: Open) -> None:
    desk = await open_desk(SEEDS / "clinic")
    await desk.say("Please identify me", "P-3071", "48211")
    assert desk.session.mask.text("48211") == "[sensitive: access_pin]"
    assert desk.session.threads[1].sensitive is True
    plain = await desk.session.runtime.create_thread()
    assert not await mask_of(desk.store, plain)


async def test_Q3_a_model_reads_of_a_sensitive_value_that_it_is_known_and_no_more(
    build: Build, open_desk: Open
) -> None:
    gather = 'GATHER:\n  pin:\n    PROMPT: "Your pin?"\n    SENSITIVE: true\n'
    desk = await open_desk(build({"A": f'AGENT: A\nGOAL: "a"\n{gather}'}))
    await desk.say("4821", "hello")
    (record,) = (await desk.records("A"))[-1:]
    assert record.context.section("state").text == "pin: [sensitive: pin]"
    assert record.state_before["pin"] == "4821"  # the store keeps it
    assert [change.key for change in state_changed_since((await desk.records("A"))[0])] == ["pin"]


async def test_Q3_a_sensitive_value_is_masked_whoever_gave_it(build: Build, open_desk: Open) -> None:
    gather = 'GATHER:\n  pin:\n    PROMPT: "Your pin?"\n    SENSITIVE: true\n    REQUIRED: false\n'
    desk = await open_desk(build({"A": f'AGENT: A\nGOAL: "a"\n{gather}'}), state={"pin": "K77"})
    await desk.say("hello")
    for mask in (desk.session.mask, await mask_of(desk.store, desk.session.id)):
        assert mask.text("it is K77") == "it is [sensitive: pin]"
        assert mask.json({"about": {"given": {"pin": "K77"}}}) == {"about": {"given": {"pin": "[sensitive: pin]"}}}
    assert desk.session.threads[0].sensitive is False  # no customer said it (H2)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_H15_both_wires_ask_for_the_one_call_of_the_structured_request(provider: str) -> None:
    from runtime.models.catalog import open_model

    posted: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        posted.append(json.loads(request.content))
        return httpx.Response(500)

    model = open_model(f"{provider}:m", environ={}, transport=httpx.MockTransport(answer))
    tool = Questions(intents=(KnownIntent("a", "b"),)).tool()
    request = Request((Section("request", "hi"),), "hi", (), (tool,), Limits(), "t", 1, 1, must_call=tool.name)
    with pytest.raises(ModelError):
        async for _ in model.stream(request):
            pass
    named = {"name": "note_understanding"}
    assert posted[0]["tool_choice"] == (
        {"type": "function", "function": named} if provider == "openai" else {"type": "tool", **named}
    )
    await model.aclose()  # type: ignore[attr-defined]  # an adapter with connections


async def test_H12_events_are_the_same_read_again(open_desk: Open) -> None:
    desk = await open_desk(SEEDS / "clinic")
    await desk.say("identify me", "P-3071", "4821", "book an appointment", "what are your opening hours?", "book it")
    log = [event_json(one) for one in desk.session.events]
    assert events_of(json.loads(json.dumps(log, default=dict))) == desk.session.events
    assert {entry["event"] for entry in log} == {"handoff", "return", "left_waiting", "thread_resume"}


@pytest.mark.parametrize("kind", ["memory", "sqlite", "adopted"])
async def test_H14_a_turn_settles_with_its_tool_rows_and_its_answer_at_once(tmp_path: Path, kind: str) -> None:
    store: Store = open_store(f"sqlite:///{tmp_path / 's.db'}") if kind == "sqlite" else MemoryStore()
    store = Adopted(store) if kind == "adopted" else store
    thread = await store.create()
    turn = await store.open_turn(NewTurn(thread, "envelope", "a", "all", "q"), NewMessage("user", "q"))
    rows = [NewMessage("assistant", "", ({"type": "tool_call", "id": "c"},)), NewMessage("tool", "42")]
    settled = await store.settle(
        turn.id, (), Settlement("completed"), rows=rows, message=NewMessage("assistant", "so"), state={}
    )
    found = await store.list_messages(thread, 9)
    assert [(row.seq, row.text, row.turn) for row in found] == [
        (1, "q", turn.id), (2, "", turn.id), (3, "42", turn.id), (4, "so", turn.id),
    ]  # fmt: skip
    assert settled.stored_assistant == 4
    turn = await store.open_turn(NewTurn(thread, "envelope", "a", "all", "q"), NewMessage("user", "q"))
    settled = await store.settle(turn.id, (), Settlement("completed"), rows=rows, state={})
    assert (settled.stored_assistant, await store.length(thread)) == (None, 7)
    await store.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite", "adopted"])
async def test_H12_a_store_keeps_route_status_origin_and_log(tmp_path: Path, kind: str) -> None:
    store: Store = open_store(f"sqlite:///{tmp_path / 's.db'}") if kind == "sqlite" else MemoryStore()
    store = Adopted(store) if kind == "adopted" else store
    first = await store.create()
    new = NewThread("B", "handoff", parent=first, route="a.abl:3", status="active", state={"a": 1})
    thread = await store.create_thread(new, [NewMessage("user", "q", origin=Origin(first, 4))])
    known = await store.thread(thread)
    assert (known.parent, known.route, known.status, known.origin) == (first, "a.abl:3", "active", "handoff")
    (row,) = await store.rows(thread, 1, 1)
    assert isinstance(row, Message)
    assert row.origin == Origin(first, 4)
    await store.update_thread(thread, status="waiting")
    await store.update_thread(thread, state={"b": 2})
    known = await store.thread(thread)
    assert (known.status, known.state) == ("waiting", {"b": 2})
    await store.add_events(first, [{"event": "a"}, {"event": "b", "n": [1, "\x00"]}])
    await store.add_events(first, [{"event": "c"}])
    assert await store.events(first) == [{"event": "a"}, {"event": "b", "n": [1, "\ufffd"]}, {"event": "c"}]
    assert await store.events(thread) == []
    if kind == "sqlite":
        assert await store.delete_thread(first) == (first,)
    await store.close()
