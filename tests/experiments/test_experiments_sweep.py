"""A sweep: which window is enough, which row entered there, and nothing of it a row of the thread (X4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.errors import BadInput, ConfigurationError, UnknownExperiment
from runtime.experiments import (
    BY_HAND,
    Enough,
    Sweep,
    SweepSpec,
    Variant,
    announce,
    extend_sweep,
    judge_sweep,
    kept,
    open_sweep,
    read_enough,
    run_sweep,
    sweep_csv,
    sweep_json,
    sweep_markdown,
)
from runtime.stores import open_store
from runtime.subject import Changes
from runtime.tools import tool
from runtime.values.agent import Agent, TierSpec
from runtime.values.items import ToolCall
from runtime.values.messages import Window
from tests.experiments.conftest import FACT, Knows, Lab, dump, until

Labs = Callable[..., Lab]
CODE = read_enough(["contains: 4417"])


def shape(sweep: Sweep) -> list[tuple[Window, Window | None, int, tuple[int, ...], int, bool | None]]:
    return [(cell.window, cell.same_as, cell.selected, cell.entered, cell.passes, cell.enough) for cell in sweep.cells]


async def test_a_sweep_says_per_window_what_entered_and_whether_it_is_enough(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    subject = await bench.subject(*FACT)
    found = await run_sweep(bench.runtime, subject, SweepSpec((6, 0, 2, 6, 4, 5, 99), enough=CODE))
    assert shape(found) == [
        (0, None, 0, (), 0, False),
        (2, None, 2, (6, 7), 0, False),
        (4, None, 4, (4, 5), 0, False),
        (5, None, 5, (3,), 1, True),
        (6, None, 6, (2,), 1, True),
        (99, None, 7, (1,), 1, True),
        ("all", 99, 7, (), 1, True),
    ]
    assert (found.smallest_sufficient, found.edge_tested) == (5, True)
    assert [(group.letter, group.answer, group.windows) for group in found.groups] == [
        ("A", "I do not know.", (0, 2, 4)),
        ("B", "It is 4417.", (5, 6, 99, "all")),
    ]
    assert len(bench.model.requests) == found.done == found.total == 6
    assert found.because is not None
    assert found.because.sentence == (
        'only seq 3 says "4417", and seq 3 needs a window of 5 or more (by text, no model asked)'
    )
    assert [(row.seq, row.words, row.needs) for row in found.because.rows] == [(3, ("4417",), 5)]
    assert "smallest enough: 5 (1 of 1); 4 gives 0 of 1" in found.finding
    assert found.finding.endswith(".")


async def test_without_a_predicate_enough_is_the_answer_of_all(lab: Labs) -> None:
    bench = lab(Knows("4417", "It is  4417.", "it IS 4417."))
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), SweepSpec((0, 4, 5)))
    assert [cell.enough for cell in found.cells] == [False, False, True, True]
    assert found.smallest_sufficient == 5
    assert len(found.groups) == 2
    assert sweep_json(found)["enough"] == "same as all"


async def test_an_edge_that_was_not_tested_is_said_to_be_so(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), SweepSpec((0, 2, 6), enough=CODE))
    assert (found.smallest_sufficient, found.edge_tested) == (6, False)
    assert "2 gives 0 of 1 (3 to 5 not tried)" in found.finding
    assert found.because is not None
    assert "a window of 5 or more, which was not tried: 6 is the next larger that was" in found.because.sentence


async def test_all_alone_is_named_all(lab: Labs) -> None:
    bench = lab(Knows("one"))
    found = await run_sweep(
        bench.runtime, await bench.subject(*FACT), SweepSpec((0, 2), enough=read_enough(["contains: one"]))
    )
    assert (found.smallest_sufficient, found.edge_tested) == ("all", False)


@pytest.mark.parametrize("row", range(1, 13))
async def test_smallest_finds_the_edge_wherever_it_is_and_tests_both_sides(lab: Labs, row: int) -> None:
    texts = [f"{'ua'[n % 2]} row {n + 1}" for n in range(12)]
    texts[row - 1] += " has the code 4417"
    bench = lab(Knows("4417"))
    found = await run_sweep(bench.runtime, await bench.subject(*texts), SweepSpec((0, 6), enough=CODE, smallest=True))
    needs = 12 - row + 2
    assert (found.smallest_sufficient, found.edge_tested) == (needs, True)
    tested = {cell.selected for cell in found.cells}
    assert needs - 1 in tested
    assert needs == 13 or needs + 1 in tested
    edge = found.cell(needs)
    assert edge is not None
    assert edge.entered == (row,)
    assert found.because is not None
    assert [hit.seq for hit in found.because.rows] == [row]
    windows = [cell.selected for cell in found.cells if cell.same_as is None]
    assert len(windows) == len(set(windows)) == len(bench.model.requests)


async def test_smallest_is_zero_where_no_message_is_needed(lab: Labs) -> None:
    bench = lab(Knows("Answer."))
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), SweepSpec((4,), smallest=True))
    assert (found.smallest_sufficient, found.edge_tested) == (0, True)
    assert found.because is not None
    assert found.because.sentence.startswith("no stored message is needed: the request alone is enough")


async def test_where_a_larger_window_fails_no_window_is_enough_and_the_finding_says_so(lab: Labs) -> None:
    bench = lab(Knows("4417", fails=(6, 7)))
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), SweepSpec((0, 5, 6), enough=CODE, smallest=True))
    assert (found.smallest_sufficient, found.edge_tested) == (None, False)
    assert found.failed == 2
    assert "5 is enough, but a larger window is not (6, all)" in found.finding
    assert "2 of 4 runs did not complete (model-error)" in found.finding


async def test_with_a_model_that_answers_in_other_words_a_predicate_finds_the_edge(lab: Labs) -> None:
    model = Knows("4417", "It's 4417.", "The code: 4417", "4417, I was told.", otherwise=("No idea.", "Hm?", "Sorry."))
    bench = lab(model)
    found = await run_sweep(
        bench.runtime, await bench.subject(*FACT), SweepSpec((0,), repeats=3, enough=CODE, smallest=True)
    )
    assert (found.smallest_sufficient, found.edge_tested) == (5, True)
    assert len(found.groups) == 6
    edge = found.cell(5)
    assert edge is not None
    assert (edge.passes, len(edge.runs), [run.repeat for run in edge.runs]) == (3, 3, [1, 2, 3])


async def test_in_other_words_every_time_the_finding_asks_for_a_predicate(lab: Labs) -> None:
    bench = lab(Knows("4417", "A", "B", "C", otherwise=("D", "E", "F")))
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), SweepSpec((0, 2, 5)))
    assert "No two runs answered in the same words: a predicate such as contains" in found.finding


async def test_k_of_n_repeats_are_enough(lab: Labs) -> None:
    bench = lab(Knows("4417", "It is 4417.", "I forgot.", "It is 4417.", "It is 4417."))
    spec = SweepSpec((0, 5), repeats=3, enough=read_enough(["contains: 4417"], at_least=2), concurrency=1)
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), spec)
    assert [cell.passes for cell in found.cells] == [0, 2, 2]
    assert found.smallest_sufficient == 5
    strict = await judge_sweep(bench.runtime, found.id, CODE)
    assert strict.smallest_sufficient is None
    assert len(bench.model.requests) == 9


async def test_X4_the_thread_is_the_same_after_it_and_runs_are_no_turns_of_it(lab: Labs, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "s.db"))
    bench = lab(Knows("4417"), store=store)
    thread = await bench.thread_with(*FACT)
    turn = (await bench.runtime.send(thread, "What is it?", window=2)).turn
    await bench.runtime.send(thread, "And now?")
    before = await dump(store, thread)
    spec = SweepSpec((0, 4), repeats=2, enough=CODE, smallest=True, changes=Changes("recorded"))
    found = await run_sweep(bench.runtime, await bench.runtime.subject(turn), spec)
    assert (found.smallest_sufficient, found.of, found.of_name, found.stored) == (5, turn, "turn 1", 7)
    assert await dump(store, thread) == before
    assert [one.id for one in await kept(bench.runtime, thread=thread)] == [found.id]
    assert len(await store.runs_of(found.id)) == found.done
    record = await bench.runtime.record(found.cells[0].runs[0].turn)
    assert (record.is_run, record.rerun_of, record.unstored_user) == (True, turn, "view-run")
    await store.close()


async def test_it_opens_again_as_it_was_from_a_file(lab: Labs, tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    bench = lab(Knows("4417"), store=open_store(path))
    found = await run_sweep(
        bench.runtime, await bench.subject(*FACT), SweepSpec((0, 2), repeats=2, enough=CODE, smallest=True)
    )
    await bench.store.close()
    again = lab(Knows("4417"), store=open_store(path))
    assert await open_sweep(again.runtime, found.id) == found
    assert not again.model.requests
    await again.store.close()


async def test_a_sweep_opens_again_without_its_agent(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), SweepSpec((0, 5), enough=CODE))
    other = lab(Knows("4417", name="other"), store=bench.store)
    other.runtime._resolver._agents.clear()
    assert (await open_sweep(other.runtime, found.id)).finding == found.finding


async def test_it_goes_on_with_more_windows_and_repeats_and_runs_only_what_is_missing(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    spec = SweepSpec((0, 6), enough=CODE)
    first = await run_sweep(bench.runtime, await bench.subject(*FACT), spec)
    assert len(bench.model.requests) == 3
    more = await extend_sweep(bench.runtime, first.id, replace(spec, windows=(0, 2, 6), repeats=2))
    assert len(bench.model.requests) == 8
    assert (more.id, more.done, more.total) == (first.id, 8, 8)
    edge = await extend_sweep(bench.runtime, first.id, replace(more.spec, smallest=True))
    assert (edge.smallest_sufficient, edge.edge_tested) == (5, True)
    assert [cell.window for cell in edge.cells] == [0, 2, 4, 5, 6, "all"]
    assert await open_sweep(bench.runtime, first.id) == edge
    with pytest.raises(BadInput, match="begin another sweep"):
        await extend_sweep(bench.runtime, first.id, replace(spec, changes=Changes(drop=(1,))))


async def test_runs_go_at_once_up_to_the_limit(lab: Labs) -> None:
    for limit, most in ((1, 1), (3, 3), (16, 8)):
        bench = lab(Knows("4417"))
        spec = SweepSpec((0, 1, 2, 3, 4, 5, 6), enough=CODE, concurrency=limit)
        await run_sweep(bench.runtime, await bench.subject(*FACT), spec)
        assert bench.model.most == most


async def test_progress_is_told_after_each_run_and_ends_with_the_finding(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    seen: list[Sweep] = []
    spec = SweepSpec((0, 5), enough=CODE, concurrency=1)
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), spec, progress=seen.append)
    assert [(one.done, one.total, one.state) for one in seen] == [
        (0, 3, "running"), (1, 3, "running"), (2, 3, "running"), (3, 3, "running"), (3, 3, "done"),
    ]  # fmt: skip
    assert seen[0].finding == ""
    assert seen[0].cells[1].entered == (3, 4, 5, 6, 7)
    assert seen[-1] == found


async def test_stopped_it_keeps_what_is_done_and_can_go_on(lab: Labs) -> None:
    gate = asyncio.Event()
    gate.set()
    bench = lab(Knows("4417", gate=gate))
    seen: list[Sweep] = []

    def told(sweep: Sweep) -> None:
        seen.append(sweep)
        if sweep.done == 2:
            gate.clear()

    spec = SweepSpec((0, 2, 4, 5), enough=CODE, concurrency=1)
    task = asyncio.ensure_future(run_sweep(bench.runtime, await bench.subject(*FACT), spec, progress=told))
    await until(lambda: len(bench.model.requests) == 3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = seen[-1]
    assert (last.state, last.done, last.total) == ("stopped", 2, 5)
    assert last.finding.endswith("Stopped after 2 of 5 runs.")
    assert {turn.status for turn in await bench.store.runs_of(last.id)} == {"completed", "stopped"}
    assert await open_sweep(bench.runtime, last.id) == last
    gate.set()
    done = await extend_sweep(bench.runtime, last.id, spec)
    assert (done.state, done.done, done.smallest_sufficient) == ("done", 5, 5)


async def test_models_and_agents_are_swept_under_every_window(lab: Labs) -> None:
    weak = Knows("nothing", name="weak")
    other = Agent("b", "Be kind.", window=3, tiers=(TierSpec("knows"),))
    bench = lab(Knows("4417"), models=[weak], agents=[other])
    found = await run_sweep(
        bench.runtime, await bench.subject(*FACT), SweepSpec((0, 5), models=("knows", "weak"), enough=CODE)
    )
    assert [(str(cell.variant), cell.window, cell.enough) for cell in found.cells] == [
        ("knows", 0, False), ("knows", 5, True), ("knows", "all", True),
        ("weak", 0, False), ("weak", 5, False), ("weak", "all", False),
    ]  # fmt: skip
    assert [edge.smallest for edge in found.edges] == [5, None]
    assert found.smallest_sufficient is None
    value = sweep_json(found)
    assert isinstance(value["edges"], list)
    agents = await run_sweep(bench.runtime, await bench.subject(*FACT), SweepSpec(agents=("a", "b"), enough=CODE))
    assert [cell.window for cell in agents.cells if cell.variant == Variant("b")] == [0, 2, 3, 6, "all"]
    assert agents.smallest_sufficient == 6


async def test_windows_that_select_the_same_rows_run_once_also_where_a_row_is_dropped(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    subject = await bench.subject(*FACT)
    spec = SweepSpec((4, 5, 6), enough=CODE, changes=Changes(drop=(3,)))
    found = await run_sweep(bench.runtime, subject, spec)
    assert shape(found) == [
        (4, None, 4, (4, 5, 6, 7), 0, False),
        (5, 4, 4, (), 0, False),
        (6, None, 5, (2,), 0, False),
        ("all", None, 6, (1,), 0, False),
    ]
    assert found.smallest_sufficient is None


async def test_tools_are_live_recorded_or_stubbed(lab: Labs) -> None:
    ran: list[str] = []

    @tool
    async def look(at: str) -> str:
        """Look."""
        ran.append(at)
        return "saw 4417"

    call = ToolCall("c1", "look", {"at": "here"})
    bench = lab(Knows("saw 4417", call=call), tools=[look])
    thread = await bench.thread_with(*FACT)
    turn = (await bench.runtime.send(thread, "What is it?")).turn
    subject = await bench.runtime.subject(turn)
    assert subject.tools == "recorded"
    for tools, times, passes in (("recorded", 0, 1), ("live", 2, 1), ("stubbed", 0, 0)):
        ran.clear()
        spec = SweepSpec((0,), enough=CODE, changes=Changes(tools))  # type: ignore[arg-type]  # one of the modes
        found = await run_sweep(bench.runtime, subject, replace(spec, enough=read_enough(["contains: saw 4417"])))
        assert (len(ran), found.cells[0].passes) == (times, passes)
    live = await announce(bench.runtime, subject, SweepSpec((0,), changes=Changes("live")))
    assert (live.runs, live.models, live.remote, live.tools) == (2, ("knows",), ("knows",), ("look",))
    assert "tools run LIVE, each on its run's own state: look" in live.sentence
    recorded = await announce(bench.runtime, subject, SweepSpec((0,), changes=Changes("recorded")))
    assert recorded.tools == ()
    assert "calls are answered as recorded in turn 1" in recorded.sentence


async def test_by_hand_is_open_until_it_is_marked(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), SweepSpec((0, 5), enough=Enough((BY_HAND,))))
    assert [cell.enough for cell in found.cells] == [None, None, None]
    marks = {run.turn: cell.window != 0 for cell in found.cells for run in cell.runs}
    judged = await judge_sweep(bench.runtime, found.id, found.spec.enough, marks)
    assert [cell.enough for cell in judged.cells] == [False, True, True]
    assert judged.smallest_sufficient == 5
    assert (await open_sweep(bench.runtime, found.id)).spec.marks == marks
    assert len(bench.model.requests) == 3


async def test_only_where_it_differs(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), SweepSpec((0, 1, 2, 4, 5, 6), enough=CODE))
    assert [cell.window for cell in found.differing] == [0, 5]


async def test_Q1_what_cannot_be_run_is_refused_before_anything_is_kept(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    subject = await bench.subject(*FACT)
    for spec, error in (
        (SweepSpec(models=("nonsense",)), BadInput),
        (SweepSpec(agents=("nobody",)), ConfigurationError),
        (SweepSpec(repeats=0), BadInput),
        (SweepSpec(concurrency=0), BadInput),
        (SweepSpec(changes=Changes(drop=(99,))), BadInput),
        (SweepSpec(changes=Changes("recorded")), BadInput),
    ):
        with pytest.raises(error):
            await run_sweep(bench.runtime, subject, spec)
    assert await kept(bench.runtime) == []
    with pytest.raises(UnknownExperiment):
        await open_sweep(bench.runtime, "nothere")


async def test_the_exports_hold_every_run_and_no_markup(lab: Labs) -> None:
    bench = lab(Knows("4417", "It is *4417* | <b>\n=1+1"))
    found = await run_sweep(bench.runtime, await bench.subject(*FACT), SweepSpec((0, 5), repeats=2, enough=CODE))
    value = sweep_json(found)
    assert list(value)[:7] == [
        "request", "of", "enough", "cells", "groups", "smallest_sufficient", "edge_tested",
    ]  # fmt: skip
    cells = value["cells"]
    assert isinstance(cells, list)
    assert list(cells[1]) == [
        "window", "selected", "entered", "same_as", "status", "answer", "group", "passes", "runs", "estimate", "usage",
        "seconds",
    ]  # fmt: skip
    assert (cells[1]["passes"], len(cells[1]["runs"]), cells[1]["usage"]) == (2, 2, {"input": 200, "output": 14})
    assert len(sweep_csv(found).splitlines()) > found.done
    assert "It is *4417* | <b>\n=1+1" in sweep_csv(found)
    assert "It is \\*4417\\* \\| \\<b\\> =1+1" in sweep_markdown(found)


async def test_T1_a_brief_turn_has_no_row_of_its_own(lab: Labs) -> None:
    bench = lab(Knows("4417"))
    thread = await bench.thread_with(*FACT)
    turn = (await bench.runtime.send(thread, "What is it?", brief=True)).turn
    spec = SweepSpec((0, 3), enough=CODE, smallest=True, changes=Changes("recorded"))
    found = await run_sweep(bench.runtime, await bench.runtime.subject(turn), spec)
    assert (found.smallest_sufficient, found.edge_tested, found.stored) == (4, True, 6)
    edge = found.cell(4)
    assert edge is not None
    assert edge.entered == (3,)


async def test_S6_unreadable_rows_take_no_place_in_a_sweep(lab: Labs, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "s.db"))
    bench = lab(Knows("4417"), store=store)
    subject = await bench.subject(*FACT)
    store._file.db.execute("UPDATE messages SET text = NULL WHERE seq IN (1, 5)")  # type: ignore[attr-defined]  # damage
    found = await run_sweep(bench.runtime, subject, SweepSpec((0, 5), enough=CODE, smallest=True))
    assert (found.smallest_sufficient, found.edge_tested) == (4, True)
    edge = found.cell(4)
    assert edge is not None
    assert (edge.entered, edge.selected) == ((3,), 4)
    assert found.cells[-1].same_as == 5
    await store.close()
