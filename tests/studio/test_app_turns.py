"""Sending, re-running, stopping: the main screen with the real engine behind it."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.values.items import ToolCall
from runtime.values.seed import ScriptEntry, When
from studio_tui.views.turns import NEXT

Studio = Any
"""The `studio` fixture of conftest.py; importlib mode does not let test files import it by name."""


async def test_a_request_is_sent_answered_and_stored(studio: Studio) -> None:
    async with studio() as at:
        await at.type("When is the Friday draft due?")
        await at.press("enter")
        await at.see("completed", "seq 9→10")
        assert at.main.composer.text == ""
        asked = (await at.runtime.store.list_messages(at.thread, 2))[0]
        assert asked.text == "When is the Friday draft due?"
        assert "idle" in at.text()


async def test_A4_the_request_is_marked_in_its_own_history(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        await at.see("≡ is also the request")


async def test_ctrl_j_begins_a_line_and_enter_sends_both(studio: Studio) -> None:
    async with studio() as at:
        await at.type("one")
        await at.press("ctrl+j")
        await at.type("two")
        assert at.main.composer.text == "one\ntwo"
        await at.press("enter")
        await at.see("completed")
        assert (await at.runtime.store.list_messages(at.thread, 2))[0].text == "one\ntwo"


async def test_Q1_nothing_typed_is_not_sent(studio: Studio) -> None:
    async with studio() as at:
        await at.press("enter")
        await at.see("nothing is typed yet")
        assert len(at.main.desk.turns) == 0


async def test_text_streams_into_model_and_is_drawn_letter_by_letter(studio: Studio, gated: Any) -> None:
    model = gated("The answer ", "is here.")
    async with studio(models={"gated": model}) as at:
        await at.type("well")
        await at.press("enter")
        await at.see("running step 1")
        model.let()
        await at.see("The answer")
        assert "is here." not in at.text()
        assert at.main.composer.text == "", "the request is stored, so it has left the box"
        model.let(2)
        await at.see("The answer is here.", "completed", "idle")


async def test_C27_ctrl_c_stops_the_running_turn_and_stores_no_answer(studio: Studio, gated: Any) -> None:
    model = gated("Hel", "lo", "never")
    async with studio(models={"gated": model}) as at:
        await at.type("say hello")
        await at.press("enter")
        model.let(2)
        await at.see("Hello", "^c stop")
        await at.press("ctrl+c")
        await at.see("stopped")
        await at.idle()
        assert model.closed == 1
        assert await at.runtime.store.length(at.thread) == 9
        assert at.main.desk.record is not None
        assert at.main.desk.record.status == "stopped"
        await at.see("Hello")


@pytest.mark.parametrize("key", ["escape", "q"])
async def test_esc_and_letters_never_stop_a_turn(studio: Studio, gated: Any, key: str) -> None:
    model = gated("still here")
    async with studio(models={"gated": model}) as at:
        await at.type("go")
        await at.press("enter")
        await at.see("running step 1")
        await at.press(key, key)
        model.let(2)
        await at.see("still here", "completed")


async def test_s_stops_in_browse_mode(studio: Studio, gated: Any) -> None:
    model = gated("x")
    async with studio(models={"gated": model}) as at:
        await at.type("go")
        await at.press("enter")
        await at.see("running step 1")
        await at.press("escape", "s")
        await at.see("stopped")


async def test_S7_while_a_turn_runs_a_second_request_stays_in_the_box(studio: Studio, gated: Any) -> None:
    model = gated("a")
    async with studio(models={"gated": model}) as at:
        await at.type("first")
        await at.press("enter")
        await at.see("running step 1")
        await at.type("second")
        await at.press("enter")
        await at.see("What you typed stays here")
        assert at.main.composer.text == "second"
        model.let(2)
        await at.see("completed")
        assert at.main.composer.text == "second", "the end of the first turn takes nothing out of the box"


async def test_S7_a_thread_that_is_busy_elsewhere_refuses_and_keeps_the_text(studio: Studio, gated: Any) -> None:
    model = gated("a")
    async with studio(models={"gated": model}) as at:
        events = at.runtime.stream(at.thread, "from elsewhere")
        opened = await anext(events)
        await at.type("mine")
        await at.press("enter")
        await at.see("is busy")
        assert at.main.composer.text == "mine"
        assert await at.runtime.store.length(at.thread) == 9
        await at.runtime.stop(opened.turn.id)
        async for _ in events:
            pass


async def test_a_failed_turn_says_why_and_stores_no_answer(studio: Studio) -> None:
    async with studio(script=[ScriptEntry(fail="the kettle is cold", status=500)]) as at:
        await at.ask("tea?")
        await at.see("failed", "model-error", "the kettle is cold")
        assert await at.runtime.store.length(at.thread) == 9


async def test_X4_a_rerun_leaves_the_thread_alone_and_stands_under_its_turn(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("When is the Friday draft due?")
        before = await at.runtime.store.length(at.thread)
        await at.press("f4", "f4", "ctrl+r")
        await at.see("w12 re-run")
        await at.idle()
        assert await at.runtime.store.length(at.thread) == before
        runs = at.main.desk.runs
        assert [run.window for run in runs] == [12]
        assert at.main.desk.selected == runs[0].rerun_of, "the turn under study is shown again"
        assert "differs" in at.text()
        assert "due on the 5th" in (runs[0].answer or "")


async def test_X5_the_comparison_of_a_turn_with_its_rerun(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("When is the Friday draft due?")
        await at.press("f4", "f4", "ctrl+r")
        await at.see("w12 re-run")
        await at.idle()
        await at.press("ctrl+l")
        await at.see("COMPARE", "FINDING", "only in B", "The Friday draft is due")
        await at.press("escape")
        await at.see("ASK")


async def test_two_marked_turns_are_compared(studio: Studio) -> None:
    async with studio(requests=["one", "two"]) as at:
        await at.press("escape", "shift+tab")
        await at.wait(lambda: at.main.focus_now == "turns")
        await at.press("space", "up", "space")
        await at.see("marked: turn")
        await at.wait(lambda: len(at.main.desk.marked) == 2)
        await at.press("c")
        await at.see("COMPARE")


async def test_nothing_to_compare_is_no_key(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        assert "compare" not in at.line_with("^f why?")
        await at.press("ctrl+l")
        await at.idle()
        assert "COMPARE" not in at.text()


async def test_reseed_is_a_fresh_thread_of_the_same_seed(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        await at.press("ctrl+n")
        await at.wait(lambda: at.main.desk.thread.id != at.thread)
        await at.idle()
        assert at.main.desk.thread.length == 8
        assert len(at.main.desk.turns) == 0
        assert "reseeded" in at.text()


async def test_S9_fork_at_the_highlighted_message(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        at.main.pane("context").focus()
        at.main.pane("context").cursor = "row:6"
        await at.pilot.pause()
        await at.press("f")
        await at.wait(lambda: at.main.desk.thread.id != at.thread)
        await at.idle()
        assert at.main.desk.thread.length == 6
        assert at.main.desk.thread.parent == at.thread
        assert "forked at seq 6" in at.text()
        assert await at.runtime.store.length(at.thread) == 10


async def test_T8_a_delegated_turn_can_be_entered_and_left(studio: Studio) -> None:
    from runtime.values.agent import Agent, TierSpec

    helper = Agent("researcher", "You look things up.", 0, (TierSpec("script"),), description="Looks up.", shipped=True)
    parent = Agent("notes", "You ask.", 6, (TierSpec("script"),), delegates=("researcher",), shipped=True)
    script = [
        ScriptEntry(When(request="what is it"), text="It is a teapot."),
        ScriptEntry(When(step=1), calls=(ToolCall("c1", "researcher", {"brief": "what is it"}),)),
        ScriptEntry(When(step=2), text="A teapot, then."),
    ]
    async with studio(agent=parent, agents={"researcher": helper}, script=script) as at:
        await at.ask("find out")
        await at.see("researcher")
        child = next(iter((at.main.desk.record.children or {}).values()))
        at.main.pane("model").focus()
        at.main.pane("model").cursor = f"child:{child.turn}"
        await at.pilot.pause()
        await at.press("enter")
        await at.see("› delegated to researcher", "It is a teapot.")
        assert at.main.desk.record.turn == child.turn
        await at.press("escape")
        await at.see_no("› delegated to researcher")
        assert at.main.desk.record.turn == child.parent


async def test_the_previous_and_the_next_turn(studio: Studio) -> None:
    async with studio(requests=["one", "two"]) as at:
        first, second = (turn.id for turn in at.main.desk.roots())
        assert at.main.desk.selected == second
        await at.press("escape", "left_square_bracket")
        await at.wait(lambda: at.main.desk.selected == first)
        await at.press("right_square_bracket", "right_square_bracket")
        await at.wait(lambda: at.main.desk.selected == NEXT)
        await at.see("next turn", "NOT SENT")


async def test_a_request_sent_while_the_thread_is_still_being_opened_is_sent_when_it_is(studio: Studio) -> None:
    async with studio() as at:
        at.main.open_thread(at.thread)
        at.main.composer.put("early")
        at.main.desk.opening = True
        at.main.action_send()
        assert len(at.main.desk.turns) == 0
        at.main.desk.opening = False
        await at.see("completed", "w6 early")
        assert at.main.composer.text == ""
