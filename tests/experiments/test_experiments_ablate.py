"""Leave one out (X7): whose absence changes the verdict, and how often; runs made threads; other words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from runtime.errors import BadInput
from runtime.experiments import (
    AblateSpec,
    Ablation,
    SweepSpec,
    ablation_csv,
    ablation_json,
    ablation_markdown,
    announce,
    judge_ablation,
    make_fork,
    open_ablation,
    open_sweep,
    read_enough,
    run_ablation,
    run_sweep,
)
from runtime.subject import Changes, blocks_of
from runtime.tools import State, tool
from runtime.values.items import ToolCall, ToolResults
from tests.experiments.conftest import FACT, Knows, Lab, dump, until

Labs = Callable[..., Lab]
CODE = read_enough(["contains: 4417"])
INSTRUCTIONS = "Be brief.\n\nThe desk is open till six.\n  \nNever say please.\nNor thanks."


def decisive(found: Ablation) -> list[tuple[str, int | str, int]]:
    return [(one.piece.kind, one.piece.key, one.changed) for one in found.decisive]


async def test_X7_the_row_whose_absence_changes_the_verdict_is_named(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    subject = await bench.subject(*FACT)
    before = await dump(bench.store, subject.thread.id)
    found = await run_ablation(bench.runtime, subject, AblateSpec("all", repeats=2, enough=CODE))
    assert found.verdict is True
    assert decisive(found) == [("row", 3, 2)]
    assert [one.piece.key for one in found.pieces if one.piece.kind == "row"] == [1, 2, 3, 4, 5, 6, 7]
    assert (found.done, found.total, len(bench.model.requests)) == (18, 18, 18)
    assert "with everything 2 of 2" in found.finding
    assert 'without seq 3 ("the code is 4417") 0 of 2: its absence changes the verdict in 2 of 2 runs' in found.finding
    assert "no other of 8 parts does" in found.finding
    assert await dump(bench.store, subject.thread.id) == before


async def test_X7_nothing_older_moves_up_when_a_row_is_left_out(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    found = await run_ablation(bench.runtime, await bench.subject(*FACT), AblateSpec(4, enough=CODE, kinds=("row",)))
    assert [one.piece.key for one in found.pieces] == [4, 5, 6, 7]
    assert (found.verdict, found.decisive) == (False, ())
    for one in found.pieces:
        record = await bench.runtime.record(one.runs[0].turn)
        assert record.context is not None
        assert [row.seq for row in record.context.rows] == [seq for seq in (4, 5, 6, 7) if seq != one.piece.key]
    assert "leaving out any one of 4 parts changes nothing" in found.finding


async def test_a_row_whose_absence_makes_it_enough_is_decisive_too(lab: Labs) -> None:
    bench = lab(Knows("4417", fails=(7,)))
    found = await run_ablation(
        bench.runtime, await bench.subject(*FACT), AblateSpec("all", enough=CODE, kinds=("row",))
    )
    assert found.verdict is False
    assert [key for _, key, _ in decisive(found)] == [1, 2, 4, 5, 6, 7]


async def test_a_paragraph_of_the_instructions_can_be_the_one(lab: Labs) -> None:
    bench = lab(Knows("till six"), instructions=INSTRUCTIONS)
    enough = read_enough(["contains: till six"])
    found = await run_ablation(bench.runtime, await bench.subject(*FACT), AblateSpec(2, enough=enough))
    assert decisive(found) == [("instructions", 2, 1)]
    gone = next(one for one in found.pieces if one.piece.key == 2 and one.piece.kind == "instructions")
    record = await bench.runtime.record(gone.runs[0].turn)
    assert record.context is not None
    assert record.view is not None
    assert record.context.sections[0].text == "Be brief.\n\nNever say please.\nNor thanks."
    assert record.view.blocks == {2: None}


def test_blocks_are_what_blank_lines_part() -> None:
    assert blocks_of(INSTRUCTIONS) == ["Be brief.", "The desk is open till six.", "Never say please.\nNor thanks."]
    assert blocks_of("") == blocks_of("\n \n") == []


async def test_a_state_view_can_be_the_one(lab: Labs) -> None:
    bench = lab(Knows("detailed"), state_views=("tone", "place"))
    thread = await bench.runtime.create_thread(agent="a", state={"tone": "detailed", "place": "Oslo"})
    subject = await bench.runtime.subject_on(thread, "What tone?")
    enough = read_enough(["contains: detailed"])
    found = await run_ablation(bench.runtime, subject, AblateSpec(2, enough=enough))
    assert [one.piece.key for one in found.pieces if one.piece.kind == "state view"] == ["tone", "place"]
    assert decisive(found) == [("state view", "tone", 1)]


@pytest.mark.parametrize("mode", ["live", "recorded"])
async def test_a_tool_result_can_be_the_one(lab: Labs, mode: str) -> None:
    ran: list[str] = []

    @tool
    async def look(at: str) -> str:
        """Look."""
        ran.append(at)
        return "saw 4417"

    bench = lab(Knows("saw 4417", call=ToolCall("c1", "look", {"at": "here"})), tools=[look])
    thread = await bench.thread_with("u one")
    turn = (await bench.runtime.send(thread, "What is it?")).turn
    subject = await bench.runtime.subject(turn)
    ran.clear()
    enough = read_enough(["contains: saw 4417"])
    spec = AblateSpec(2, enough=enough, changes=Changes(mode))  # type: ignore[arg-type]  # one of the modes
    found = await run_ablation(bench.runtime, subject, spec)
    assert decisive(found) == [("tool result", "c1", 1)]
    assert (ran == []) == (mode == "recorded")
    gone = next(one for one in found.pieces if one.piece.kind == "tool result")
    record = await bench.runtime.record(gone.runs[0].turn)
    outputs = [result.output for item in record.transcript if isinstance(item, ToolResults) for result in item.results]
    assert outputs == ["left out by the experiment"]
    assert "the result of look (c1)" in found.finding


async def test_it_opens_again_and_is_judged_anew(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    found = await run_ablation(bench.runtime, await bench.subject(*FACT), AblateSpec(5, repeats=2, enough=CODE))
    assert await open_ablation(bench.runtime, found.id) == found
    other = await judge_ablation(bench.runtime, found.id, read_enough(["lacks: 4417"]))
    assert (other.verdict, decisive(other)) == (False, [("row", 3, 2)])
    with pytest.raises(BadInput, match="of the kind ablation"):
        await open_sweep(bench.runtime, found.id)


async def test_without_a_predicate_the_answer_with_everything_is_what_counts(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    found = await run_ablation(bench.runtime, await bench.subject(*FACT), AblateSpec("all", kinds=("row",)))
    assert decisive(found) == [("row", 3, 1)]


async def test_stopped_it_keeps_what_is_done(lab: Labs) -> None:
    gate = asyncio.Event()
    gate.set()
    bench = lab(Knows("4417", gate=gate))
    seen: list[Ablation] = []

    def told(ablation: Ablation) -> None:
        seen.append(ablation)
        if ablation.done == 3:
            gate.clear()

    spec = AblateSpec("all", enough=CODE, concurrency=1, kinds=("row",))
    task = asyncio.ensure_future(run_ablation(bench.runtime, await bench.subject(*FACT), spec, progress=told))
    await until(lambda: len(bench.model.requests) == 4)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (seen[-1].state, seen[-1].done, seen[-1].total) == ("stopped", 3, 8)
    assert seen[-1].finding.endswith("Stopped after 3 of 8 runs.")
    assert await open_ablation(bench.runtime, seen[-1].id) == seen[-1]


async def test_what_it_will_do_is_said_first(lab: Labs) -> None:
    bench = lab(Knows("4417"), instructions=INSTRUCTIONS)
    said = await announce(bench.runtime, await bench.subject(*FACT), AblateSpec(4, repeats=3))
    assert said.runs == (4 + 3 + 1) * 3
    assert "without each of 7 parts, 3 repeats each" in said.sentence
    assert "sent to knows" in said.sentence
    assert not bench.model.requests


async def test_the_exports_hold_every_part(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    found = await run_ablation(bench.runtime, await bench.subject(*FACT), AblateSpec(5, enough=CODE, kinds=("row",)))
    value = ablation_json(found)
    assert value["decisive"] == [{"kind": "row", "key": 3}]
    without = value["without"]
    assert isinstance(without, list)
    assert [one["key"] for one in without] == [3, 4, 5, 6, 7]
    assert len(ablation_csv(found).splitlines()) == 1 + 6
    assert "| seq 3 | the code is 4417 | 0/1 | 1 of 1 | B |" in ablation_markdown(found)


# Drop and edit by hand, other requests and instructions


async def test_X4_a_re_run_with_another_request_and_other_instructions(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    thread = await bench.thread_with(*FACT)
    turn = (await bench.runtime.send(thread, "What is it?")).turn
    run = await bench.runtime.rerun(turn, request="And what else?", instructions="Be kind.\n\nAlways.", window=2)
    assert run.context is not None
    assert [(section.name, section.text) for section in run.context.sections] == [
        ("instructions", "Be kind.\n\nAlways."),
        ("history", "assistant: six\nuser: And what else?"),
        ("request", "And what else?"),
    ]
    assert (run.request, run.rerun_of) == ("And what else?", turn)
    with pytest.raises(BadInput, match="a request needs a text"):
        await bench.runtime.rerun(turn, request=" ")


async def test_views_blocks_and_results_can_be_given_another_text(lab: Labs) -> None:
    @tool
    async def look(at: str, state: State) -> str:
        """Look."""
        return f"the state says {state.get('tone')}"

    call = ToolCall("c1", "look", {"at": "here"})
    bench = lab(Knows("x", call=call), tools=[look], instructions=INSTRUCTIONS, state_views=("tone",))
    thread = await bench.runtime.create_thread(agent="a", state={"tone": "brief"})
    turn = (await bench.runtime.send(thread, "What is it?")).turn
    subject = await bench.runtime.subject(turn)
    changes = Changes("live", views={"tone": "loud"}, blocks={1: "Be long."}, results={"c1": "nothing there"})
    run = await bench.runtime.run(subject, changes=changes)
    assert run.context is not None
    texts = {section.name: section.text for section in run.context.sections}
    assert texts["state"] == "tone: loud"
    assert texts["instructions"].startswith("Be long.\n\nThe desk")
    outputs = [result.output for item in run.transcript if isinstance(item, ToolResults) for result in item.results]
    assert outputs == ["nothing there"]
    assert run.state_before == {"tone": "brief"}
    again = await bench.runtime.record(run.turn)
    assert again.view == run.view
    assert again.view is not None
    assert (again.view.views, again.view.results) == ({"tone": "loud"}, {"c1": "nothing there"})


@pytest.mark.parametrize(
    "changes",
    [
        Changes(drop=(9,)),
        Changes(edit={7: "x"}),
        Changes(views={"mood": None}),
        Changes(blocks={4: None}),
        Changes(results={"c9": None}),
    ],
)
async def test_Q1_a_part_that_is_not_there_cannot_be_left_out(lab: Labs, changes: Changes) -> None:
    bench = lab(Knows("x"), instructions=INSTRUCTIONS, state_views=("tone",))
    subject = await bench.subject(*FACT)
    with pytest.raises(BadInput):
        await bench.runtime.run(subject, changes=changes)
    assert await bench.store.turns(subject.thread.id) == []


async def test_X7_the_requests_own_row_may_be_left_out(lab: Labs) -> None:
    bench = lab(Knows("x"))
    run = await bench.runtime.run(await bench.subject(*FACT), changes=Changes(drop=(7,)))
    assert run.context is not None
    assert [row.seq for row in run.context.rows] == [1, 2, 3, 4, 5, 6][-5:]
    assert run.context.left_out[-1].reason == "dropped"


# A run made a thread


async def test_X4_a_run_can_be_made_a_fork(lab: Labs) -> None:
    @tool
    async def bump(state: State) -> str:
        """Count."""
        state.set("n", 1)
        return "bumped"

    bench = lab(Knows("bumped", call=ToolCall("c1", "bump", {})), tools=[bump])
    thread = await bench.thread_with(*FACT)
    before = await dump(bench.store, thread)
    subject = await bench.runtime.subject_on(thread, "Bump it")
    found = await run_sweep(bench.runtime, subject, SweepSpec((2,), changes=Changes("live")))
    run = found.cells[0].runs[0]
    fork = await make_fork(bench.runtime, run.turn)
    assert await dump(bench.store, thread) == before
    known = await bench.store.thread(fork)
    assert (known.parent, known.forked_at, known.length) == (thread, 6, 8)
    assert [(row.role, row.text) for row in await bench.store.list_messages(fork, 2)] == [
        ("user", "Bump it"), ("assistant", "It is bumped."),
    ]  # fmt: skip
    assert await bench.store.state(fork) == {"n": 1}
    assert await bench.store.state(thread) == {}
    (record,) = await bench.runtime.records(fork)
    of = await bench.runtime.record(run.turn)
    assert (record.context, record.transcript, record.steps[0].parts) == (of.context, of.transcript, of.steps[0].parts)
    assert (record.is_run, record.number, record.stored_user, record.stored_assistant) == (False, 1, 7, 8)
    assert (await bench.runtime.send(fork, "And now?")).number == 2


async def test_only_a_run_that_has_ended_is_made_a_fork(lab: Labs) -> None:
    bench = lab(Knows("4417", fails=(1,)))
    thread = await bench.thread_with(*FACT)
    turn = (await bench.runtime.send(thread, "What is it?")).turn
    with pytest.raises(BadInput, match="no run on a view"):
        await make_fork(bench.runtime, turn)
    failed = await bench.runtime.rerun(turn, window=1)
    assert failed.status == "failed"
    fork = await make_fork(bench.runtime, failed.turn)
    assert [row.text for row in await bench.store.list_messages(fork, 1)] == ["What is it?"]
    (record,) = await bench.runtime.records(fork)
    assert (record.status, record.reason) == ("failed", "model-error")
