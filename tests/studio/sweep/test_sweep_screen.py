"""The sweep screen: which window is enough, and which message entered there (X, C)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.values.messages import NewMessage
from runtime.values.seed import ScriptEntry, When
from studio_tui.screens.run import RunScreen

Bench = Any
"""The `bench` fixture of conftest.py."""

HOSTILE = "[/x] [@click=app.quit]due[/] \x1b]0;pwned\x07 \u202e5th\x00"


async def test_a_sweep_names_the_window_and_the_message_that_entered_there(bench: Bench) -> None:
    async with bench() as at:
        screen = await at.sweep()
        assert screen.sweep.smallest_sufficient == 9
        assert screen.sweep.edge_tested
        text = at.text()
        assert "SMALLEST ENOUGH  9" in text
        assert "THE MESSAGE      seq 1, user: “The Friday draft is due on the 5th.”" in text
        assert at.line_with("▶").split()[2:4] == ["9", "9"] or "▶     9" in at.line_with("▶")
        assert "FINDING" in text
        assert "smallest enough: 9" in text


async def test_X4_the_thread_is_the_same_after_it(bench: Bench) -> None:
    async with bench() as at:
        before = await at.bytes_of()
        await at.sweep()
        await at.press("l")
        await at.wait(lambda: getattr(at.app.screen, "ablation", None) is not None, "leave one out")
        await at.settled()
        assert await at.bytes_of() == before


async def test_the_edge_and_the_window_below_stand_side_by_side(bench: Bench) -> None:
    async with bench() as at:
        screen = await at.sweep()
        await at.see("CONTEXT  8 against 9", "ANSWER  8 against 9", "only in 9 ◀")
        assert screen.pair.comparison.only_b[0].seq == 1
        assert "words   [only in 8]   {only in 9}" in at.text()


async def test_space_marks_two_other_windows(bench: Bench) -> None:
    async with bench() as at:
        await at.sweep()
        await at.go("cell:0:0")
        await at.press("space")
        await at.go("cell:0:2")
        await at.press("space")
        await at.settled()
        await at.see("CONTEXT  0 against 2")
        assert [str(id) for id in at.app.screen.marked] == ["cell:0:0", "cell:0:2"]
        await at.press("space")
        await at.settled()
        assert [str(id) for id in at.app.screen.marked] == ["cell:0:0"]


async def test_enter_opens_the_run_as_a_turn_and_escape_comes_back(bench: Bench) -> None:
    async with bench() as at:
        await at.sweep()
        await at.go("cell:0:9")
        await at.press("enter")
        await at.wait(lambda: isinstance(at.app.screen, RunScreen) and at.app.screen.record is not None)
        await at.see("CONTEXT of re-run", "MODEL of re-run", "due on the 5th", "window all")
        await at.press("escape")
        await at.see("SMALLEST ENOUGH")


async def test_a_run_can_be_made_a_fork(bench: Bench) -> None:
    async with bench() as at:
        await at.sweep()
        await at.go("cell:0:9")
        await at.press("enter")
        await at.wait(lambda: isinstance(at.app.screen, RunScreen) and at.app.screen.record is not None)
        await at.press("f")
        await at.wait(lambda: at.main.desk.thread.id != at.thread, "the fork")
        await at.settled()
        desk = at.main.desk
        assert (desk.thread.parent, desk.thread.length) == (at.thread, 10)
        last = (await at.runtime.store.list_messages(desk.thread.id, 1))[0]
        assert "due on the 5th" in last.text


async def test_d_shows_only_where_it_differs(bench: Bench) -> None:
    async with bench() as at:
        screen = await at.sweep()
        whole = len(screen.lines("table").pane.lines)
        await at.press("d")
        await at.settled()
        shown = [line.id for line in screen.lines("table").pane.lines if line.kind == "cell"]
        assert len(shown) < whole - 1
        assert "cell:0:9" in shown
        await at.see("alike left out")
        await at.press("d")
        await at.settled()
        assert len(screen.lines("table").pane.lines) == whole


async def test_another_predicate_is_judged_without_a_run(bench: Bench) -> None:
    async with bench() as at:
        screen = await at.sweep()
        runs = len(await at.runtime.store.runs_of(screen.sweep.id))
        await at.press("s")
        await at.see("Enough when")
        await at.type("contains")
        await at.press("colon")
        await at.type(" nothing in my context")
        await at.press("enter")
        await at.wait(lambda: "Nothing in my context" not in str(screen.spec.enough) and screen.sweep is not None)
        await at.settled()
        assert str(screen.sweep.spec.enough) == "contains: nothing in my context"
        assert screen.sweep.smallest_sufficient is None
        assert len(await at.runtime.store.runs_of(screen.sweep.id)) == runs
        await at.see("ENOUGH WHEN", "some windows are enough, and a larger one is not")


async def test_Q1_a_predicate_that_cannot_be_read_is_said_and_kept(bench: Bench) -> None:
    async with bench() as at:
        await at.sweep()
        await at.press("s")
        await at.type("matches")
        await at.press("colon", "space", "left_parenthesis", "enter")
        await at.see("is no regular expression")
        assert "matches: (" in at.text()


async def test_a_word_of_the_list_goes_into_the_box(bench: Bench) -> None:
    async with bench() as at:
        screen = await at.sweep()
        await at.press("s")
        await at.press("down")
        await at.wait(lambda: at.app.screen.focused is at.app.screen.query_one("LinesPane"))
        await at.press("down", "enter")
        await at.wait(lambda: at.app.screen.focused.id == "predicate")
        await at.type("5TH")
        await at.press("enter")
        await at.settled()
        assert str(screen.sweep.spec.enough) == "contains: 5TH"
        assert screen.sweep.smallest_sufficient == 9


async def test_by_hand_judges_answers(bench: Bench) -> None:
    async with bench() as at:
        screen = await at.sweep()
        await at.press("s")
        await at.type("by hand")
        await at.press("enter")
        await at.see("Judge by hand", "? not judged")
        answers = [group.letter for group in screen.sweep.groups]
        for letter in answers:
            at.app.screen.query_one("LinesPane").cursor = f"answer:{letter}"
            await at.press("e" if letter == answers[-1] else "n")
        await at.see("✔ enough", "✘ not enough")
        await at.press("s")
        await at.settled()
        assert screen.sweep.smallest_sufficient == 9
        await at.see("ENOUGH WHEN  marked so by hand")


async def test_windows_are_added_and_only_they_run(bench: Bench) -> None:
    async with bench() as at:
        screen = await at.sweep()
        before = {turn.id for turn in await at.runtime.store.runs_of(screen.sweep.id)}
        await at.press("plus")
        await at.type("4 all")
        await at.press("enter")
        await at.wait(lambda: screen.sweep.cell(4) is not None and screen.sweep.cell(4).runs, "window 4")
        await at.settled()
        after = {turn.id for turn in await at.runtime.store.runs_of(screen.sweep.id)}
        assert before < after
        assert len(after - before) == 1


async def test_Q1_a_window_that_is_none_is_said(bench: Bench) -> None:
    async with bench() as at:
        await at.sweep()
        await at.press("plus")
        await at.type("2.5")
        await at.press("enter")
        await at.see("2.5")
        assert "Add windows" in at.text()


VARIED = [
    ScriptEntry(When(history="5th"), texts=("It is the 5th.", "On the 5th, I believe.", "The draft? The 5th.")),
    ScriptEntry(text="", texts=("No idea.", "I was not told.", "Who knows?")),
]


async def test_answers_that_vary_still_give_the_edge_by_a_predicate(bench: Bench) -> None:
    async with bench(script=VARIED) as at:
        screen = await at.sweep()
        await at.press("s")
        await at.type("contains")
        await at.press("colon")
        await at.type(" 5th")
        await at.press("enter")
        await at.settled()
        await at.press("k")
        await at.type("3")
        await at.press("enter")
        await at.wait(lambda: screen.spec.repeats == 3 and screen.sweep.state == "done" and not screen.pending)
        await at.settled()
        assert screen.sweep.smallest_sufficient == 9
        assert [(cell.passes, len(cell.runs)) for cell in screen.sweep.cells if cell.window in (8, 9)] == [
            (0, 3),
            (3, 3),
        ]
        await at.see("3/3 ✔", "0/3 ✘", "THE MESSAGE      seq 1")


async def test_stopping_keeps_what_is_done(bench: Bench, gated: Any) -> None:
    model = gated("an answer")
    async with bench(models={"gated": model}, question=None) as at:
        at.main.composer.put("what is due?")
        await at.press("f5")
        await at.wait(lambda: getattr(at.app.screen, "announced", None) is not None, "the plan")
        screen = at.app.screen
        await at.see("nothing is sent yet", "gated")
        assert not model.asked, "a model that is not of this machine is asked only after it was said"
        await at.press("ctrl+r")
        await at.wait(lambda: len(model.asked) > 1, "runs")
        model.let(2)
        await at.wait(lambda: screen.sweep is not None and screen.sweep.done == 1, "the first run")
        await at.see("^c stop")
        await at.press("escape")
        assert at.app.experiments.job is not None, "esc never stops anything"
        await at.see("the sweep 1/")
        await at.press("escape", "v")
        await at.wait(lambda: at.app.screen is not at.main and at.app.screen.sweep is not None, "the screen again")
        await at.press("ctrl+c")
        await at.wait(lambda: at.app.experiments.job is None, "the stop")
        await at.settled()
        sweep = at.app.screen.sweep
        assert (sweep.state, sweep.done) == ("stopped", 1)
        await at.see("stopped")
        kept = await at.runtime.store.experiments(at.thread)
        assert [one.state for one in kept] == ["stopped"]
        model.let(100)
        await at.press("ctrl+r")
        await at.see("nothing is sent yet")
        assert at.app.screen.sweep.state == "stopped"
        await at.press("ctrl+r")
        await at.wait(lambda: at.app.screen.sweep.state == "done", "the rest")
        assert at.app.screen.sweep.id == sweep.id, "what was done is not run again"
        assert at.app.screen.sweep.done == at.app.screen.sweep.total


async def test_a_sweep_is_folded_under_its_turn_and_opens_again(bench: Bench) -> None:
    async with bench() as at:
        first = (await at.sweep()).sweep
        await at.press("escape")
        await at.settled()
        await at.see("↻ sweep 1")
        at.main.pane("turns").focus()
        at.main.pane("turns").cursor = f"experiment:{first.id}"
        await at.settled()
        await at.press("enter")
        await at.wait(lambda: getattr(at.app.screen, "sweep", None) is not None, "the sweep again")
        await at.settled()
        again = at.app.screen.sweep
        assert (again.id, again.finding, again.state) == (first.id, first.finding, "done")
        await at.see("THE MESSAGE      seq 1")


@pytest.mark.parametrize("ending", ["json", "csv", "md"])
async def test_results_are_exported(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.chdir(tmp_path)
    async with bench() as at:
        screen = await at.sweep()
        await at.press("x")
        await at.see("Export")
        await at.type(f"out.{ending}")
        await at.press("enter")
        await at.see("saved")
        text = (tmp_path / f"out.{ending}").read_text()
        if ending == "json":
            assert json.loads(text)["smallest_sufficient"] == 9
        elif ending == "csv":
            assert len(text.splitlines()) == 1 + screen.sweep.done
        else:
            assert "Smallest enough: **9**" in text


async def test_Q4_an_export_does_not_leave_its_folder(bench: Bench, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    async with bench() as at:
        await at.sweep()
        await at.press("x")
        await at.type("../out.json")
        await at.press("enter")
        await at.see("no plain name")
        await at.press("escape", "x")
        await at.type("out.exe")
        await at.press("enter")
        await at.see("the name's end says the format")
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240  # an empty folder


async def test_a_typed_request_is_swept_before_it_is_sent(bench: Bench) -> None:
    async with bench(question=None) as at:
        at.main.composer.put("When is the Friday draft due?")
        screen = await at.sweep()
        assert screen.sweep.of is None
        assert screen.sweep.smallest_sufficient == 9
        assert await at.runtime.store.length(at.thread) == 8
        await at.press("escape")
        await at.settled()
        assert at.main.composer.text == "When is the Friday draft due?"
        await at.see("asked, not sent", "↻ sweep 1")


async def test_Q2_hostile_text_is_drawn_and_never_acts(bench: Bench) -> None:
    rows = [("user", HOSTILE), ("assistant", "Noted [bold]."), ("user", "and more"), ("assistant", "ok")]
    async with bench(rows=rows, question="When is it due? [/y] \x1b[31m") as at:
        screen = await at.sweep()
        raw = "".join(strip.text for strip in at.app.screen._compositor.render_strips())
        assert "\x1b" not in raw
        assert "\u202e" not in raw
        assert "[/y]" in raw
        assert screen.sweep is not None
        await at.press("l")
        await at.wait(lambda: getattr(at.app.screen, "ablation", None) is not None)
        await at.settled()
        assert "[@click=app.quit]" in at.text()


@pytest.mark.parametrize("size", [(20, 6), (40, 12), (80, 24), (120, 40), (200, 60)])
async def test_every_size_shows_the_table_and_survives(bench: Bench, size: tuple[int, int]) -> None:
    async with bench(size=size) as at:
        await at.sweep()
        if size[0] >= 80:
            await at.see("SMALLEST ENOUGH  9", "THE MESSAGE", "FINDING")
        for key in ("tab", "tab", "tab", "shift+tab", "d", "space", "enter"):
            await at.press(key)
        await at.settled()
        await at.press("escape", "escape")
        await at.pilot.resize_terminal(100, 30)
        await at.settled()


async def test_at_80_columns_the_panes_are_tabs(bench: Bench) -> None:
    async with bench(size=(80, 24)) as at:
        await at.sweep()
        await at.see("▐WINDOWS▌", "SMALLEST ENOUGH")
        await at.press("tab")
        await at.see("▐CONTEXT▌", "only in 9 ◀")
        await at.press("tab")
        await at.see("▐ANSWER▌", "✔ enough")


async def test_failed_runs_are_told_and_do_not_pass(bench: Bench) -> None:
    script = [ScriptEntry(When(history="5th"), text="the 5th"), ScriptEntry(fail="the kettle is cold", status=500)]
    async with bench(script=script) as at:
        screen = await at.sweep()
        await at.see("model-error", "6 failed" if screen.sweep.failed == 6 else f"{screen.sweep.failed} failed")
        assert screen.sweep.smallest_sufficient == 9


async def test_y_copies_the_finding(bench: Bench) -> None:
    async with bench() as at:
        screen = await at.sweep()
        await at.press("y")
        await at.see("the finding")
        assert at.app.clipboard == screen.sweep.finding


async def test_models_are_compared_in_rows_of_their_own(bench: Bench) -> None:
    script = [ScriptEntry(text="I say nothing of dates.")]
    async with bench(script=script) as at:
        screen = await at.sweep()
        await at.press("m")
        await at.type("script offline")
        await at.press("enter")
        await at.wait(lambda: len(screen.sweep.edges) == 2 and screen.sweep.state == "done", "both models")
        await at.settled()
        await at.see("with script", "with offline")
        assert {cell.variant.model for cell in screen.sweep.cells} == {"script", "offline"}


async def test_nothing_typed_says_so(bench: Bench) -> None:
    async with bench(question=None) as at:
        await at.press("f5")
        await at.see("type the request first")


async def test_a_row_appended_meanwhile_changes_nothing_of_a_kept_sweep(bench: Bench) -> None:
    async with bench() as at:
        first = (await at.sweep()).sweep
        await at.press("escape")
        await at.runtime.store.append(at.thread, NewMessage("user", "The draft is due on the 9th."))
        at.main.open_experiment(first.id)
        await at.wait(lambda: getattr(at.app.screen, "sweep", None) is not None)
        await at.settled()
        assert at.app.screen.sweep.finding == first.finding


async def test_F1_says_what_is_on_this_screen(bench: Bench) -> None:
    async with bench() as at:
        await at.sweep()
        await at.press("f1")
        await at.see("What is on this screen", "THE MESSAGE", "^r", "run again")
        await at.press("escape")
        await at.see("SMALLEST ENOUGH")


async def test_the_palette_lists_what_the_keys_do(bench: Bench) -> None:
    async with bench() as at:
        screen = await at.sweep()
        words = [command.title for command in at.app.get_system_commands(screen)]
        assert "leave one out  l" in words
        assert any(word.startswith("Quit") for word in words)


async def test_answers_that_vary_are_said_to(bench: Bench) -> None:
    async with bench(script=VARIED) as at:
        await at.sweep()
        await at.see("! the answers vary", "say what an answer must hold")


async def test_leaving_the_studio_stops_the_sweep_and_keeps_what_is_done(bench: Bench, gated: Any) -> None:
    model = gated("an answer")
    async with bench(models={"gated": model}, question=None) as at:
        at.main.composer.put("what is due?")
        await at.press("f5")
        await at.see("nothing is sent yet")
        await at.press("ctrl+r")
        await at.wait(lambda: len(model.asked) > 1, "runs")
        model.let(2)
        await at.wait(lambda: at.app.screen.sweep is not None and at.app.screen.sweep.done == 1, "the first run")
        await at.app.action_leave()
        kept = await at.runtime.store.experiments(at.thread)
        assert [one.state for one in kept] == ["stopped"]
        runs = await at.runtime.store.runs_of(kept[0].id)
        assert sorted({run.status for run in runs}) == ["completed", "stopped"]
