"""The leave-one-out screen, and rows dropped or edited by hand: whose absence changes the answer (X7)."""

from __future__ import annotations

from typing import Any

import pytest

from studio_tui.screens.ablate import AblateScreen
from studio_tui.screens.run import RunScreen

Bench = Any


async def ablate(at: Any) -> Any:
    await at.press("f8")
    await at.wait(lambda: isinstance(at.app.screen, AblateScreen) and at.app.screen.ablation is not None, "the runs")
    await at.settled()
    return at.app.screen


async def test_X7_the_row_without_which_the_answer_changes_is_named(bench: Bench) -> None:
    async with bench() as at:
        await at.press("escape", "a")
        screen = await ablate(at)
        assert screen.ablation.spec.window == "all"
        assert [str(one.piece) for one in screen.ablation.decisive] == ["seq 1"]
        await at.see("MATTERS", "seq 1", "The Friday draft is due on the 5th", "FINDING", "LEFT OUT")
        assert screen.lines("table").cursor == "piece:0"


async def test_at_the_window_that_was_sent_nothing_matters(bench: Bench) -> None:
    async with bench() as at:
        screen = await ablate(at)
        assert screen.ablation.spec.window == 6
        assert "seq 1" not in [str(one.piece) for one in screen.ablation.pieces]


async def test_d_leaves_only_what_matters(bench: Bench) -> None:
    async with bench() as at:
        await at.press("escape", "a")
        screen = await ablate(at)
        await at.press("d")
        await at.settled()
        assert [line.id for line in screen.lines("table").pane.lines if line.kind == "piece"] == ["baseline", "piece:0"]


async def test_enter_opens_the_run_without_the_row(bench: Bench) -> None:
    async with bench() as at:
        await at.press("escape", "a")
        await ablate(at)
        await at.go("piece:0")
        await at.press("enter")
        await at.wait(lambda: isinstance(at.app.screen, RunScreen) and at.app.screen.record is not None)
        await at.see("without seq 1", "out: dropped")
        assert at.app.screen.record.context.left_out[0].reason == "dropped"


async def test_another_predicate_is_judged_without_a_run(bench: Bench) -> None:
    async with bench() as at:
        await at.press("escape", "a")
        screen = await ablate(at)
        runs = len(await at.runtime.store.runs_of(screen.ablation.id))
        await at.press("s")
        await at.type("contains")
        await at.press("colon")
        await at.type(" my context")
        await at.press("enter")
        await at.settled()
        assert screen.ablation.verdict is True
        assert screen.ablation.decisive == ()
        assert len(await at.runtime.store.runs_of(screen.ablation.id)) == runs
        await at.see("nothing alone")


async def test_it_is_kept_and_opens_again(bench: Bench) -> None:
    async with bench() as at:
        await at.press("escape", "a")
        first = (await ablate(at)).ablation
        await at.press("escape")
        await at.settled()
        await at.see("↻ leave one out 1")
        await at.press("v")
        await at.wait(lambda: isinstance(at.app.screen, AblateScreen) and at.app.screen.ablation is not None)
        await at.settled()
        assert at.app.screen.ablation.finding == first.finding


@pytest.mark.parametrize("size", [(20, 6), (80, 24), (200, 60)])
async def test_every_size_survives(bench: Bench, size: tuple[int, int]) -> None:
    async with bench(size=size) as at:
        await ablate(at)
        for key in ("tab", "tab", "d", "x", "escape", "enter", "escape"):
            await at.press(key)
        await at.settled()


async def drop(at: Any, seq: int, key: str = "d") -> None:
    await at.go(f"row:{seq}", "context")
    await at.press(key)


async def test_X7_a_row_dropped_by_hand_is_left_out_and_nothing_moves_up(bench: Bench) -> None:
    async with bench() as at:
        before = await at.bytes_of()
        await drop(at, 6)
        await at.see("✂ dropped", "without seq 6")
        await at.press("ctrl+r")
        await at.wait(lambda: len(at.main.desk.runs) == 1 and not at.main.desk.running)
        await at.settled()
        run = await at.runtime.record(at.main.desk.runs[0].turn)
        assert [row.seq for row in run.context.rows] == [4, 5, 7, 8, 9]
        assert run.view.drop == (6,)
        assert await at.bytes_of() == before


async def test_dropping_again_takes_it_back(bench: Bench) -> None:
    async with bench() as at:
        await drop(at, 6)
        await at.see("✂ dropped")
        await at.press("d")
        await at.see_no("✂ dropped")
        assert not at.main._patches_now


async def test_what_was_dropped_belongs_to_one_turn(bench: Bench) -> None:
    async with bench(requests=["one", "two"]) as at:
        await drop(at, 6)
        await at.see("✂ dropped")
        await at.press("left_square_bracket")
        await at.settled()
        assert not at.main._patches_now
        assert "✂" not in at.text()


async def test_a_row_edited_by_hand_is_seen_by_the_run_alone(bench: Bench) -> None:
    async with bench() as at:
        before = await at.bytes_of()
        await drop(at, 8, "E")
        await at.see("Another text of seq 8")
        at.app.screen.query_one("TextArea").text = "The Friday draft is due on the 7th [/x]."
        await at.press("ctrl+s")
        await at.see("✎ edited")
        await at.press("ctrl+r")
        await at.wait(lambda: len(at.main.desk.runs) == 1 and not at.main.desk.running)
        await at.settled()
        assert "due on the 7th [/x]" in (at.main.desk.runs[0].answer or "")
        assert await at.bytes_of() == before


async def test_a_sweep_keeps_what_was_dropped(bench: Bench) -> None:
    async with bench() as at:
        await at.press("escape", "a")
        await at.settled()
        await drop(at, 1)
        screen = await at.sweep()
        assert screen.sweep.spec.changes.drop == (1,)
        await at.see("without seq 1")
        assert all("5th" not in (run.answer or "") for cell in screen.sweep.cells for run in cell.runs)


async def test_the_request_itself_is_not_dropped(bench: Bench) -> None:
    async with bench() as at:
        await drop(at, 9)
        await at.see("this is the request itself")


async def test_a_rerun_with_another_request_and_recorded_tools(bench: Bench) -> None:
    async with bench() as at:
        before = await at.bytes_of()
        await at.press("escape", "R")
        await at.see("Re-run turn 1 with")
        at.app.screen.query_one("#with-request").text = "What was moved to Thursday?"
        at.app.screen.query_one("#with-window").value = "all"
        await at.press("f7")
        await at.see("tools recorded")
        await at.press("ctrl+s")
        await at.see("Run again", "Sent to", "No tool runs: calls are answered as recorded")
        assert at.main.desk.runs == ()
        await at.press("enter")
        await at.wait(lambda: len(at.main.desk.runs) == 1 and not at.main.desk.running)
        await at.settled()
        run = at.main.desk.runs[0]
        assert (run.request, run.window) == ("What was moved to Thursday?", "all")
        assert "Thursday" in (run.answer or "")
        assert await at.bytes_of() == before


async def test_Q1_a_rerun_that_cannot_be_is_said(bench: Bench) -> None:
    async with bench() as at:
        await at.press("escape", "R")
        at.app.screen.query_one("#with-window").value = "many"
        await at.press("ctrl+s")
        await at.see("Re-run turn 1 with", "many")
        at.app.screen.query_one("#with-window").value = "6"
        at.app.screen.query_one("#with-model").value = "nobody:x"
        await at.press("ctrl+s")
        await at.see("nobody")
        await at.settled()
        assert at.main.desk.runs == ()


async def test_a_rerun_becomes_a_thread(bench: Bench) -> None:
    async with bench() as at:
        await at.press("f4", "ctrl+r")
        await at.wait(lambda: len(at.main.desk.runs) == 1 and not at.main.desk.running)
        await at.settled()
        run = at.main.desk.runs[0].turn
        await at.go(f"turn:{run}", "turns")
        await at.press("F")
        await at.wait(lambda: at.main.desk.thread.id != at.thread, "the thread")
        await at.settled()
        assert at.main.desk.thread.parent == at.thread
        await at.see("this is a fork of", "friday-notes")


async def test_answers_without_a_part_are_judged_by_hand(bench: Bench) -> None:
    async with bench() as at:
        await at.press("escape", "a")
        screen = await ablate(at)
        await at.press("s")
        await at.type("by hand")
        await at.press("enter")
        await at.see("Judge by hand")
        kept = screen.ablation.baseline[0].group
        for group in screen.ablation.groups:
            at.app.screen.query_one("LinesPane").cursor = f"answer:{group.letter}"
            await at.press("e" if group.letter == kept else "n")
        await at.press("s")
        await at.settled()
        assert screen.ablation.verdict is True
        assert [str(one.piece) for one in screen.ablation.decisive] == ["seq 1"]
