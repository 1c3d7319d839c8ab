"""The composer: requests sent before, suggestions, and text that is never lost."""

from __future__ import annotations

from typing import Any

from studio_tui.widgets.composer import Recall

Studio = Any
"""The `studio` fixture of conftest.py; importlib mode does not let test files import it by name."""


def test_recall_goes_from_sent_requests_over_the_draft_to_suggestions() -> None:
    recall = Recall(("one", "two"), ("try this",))
    assert recall.move(-1, "draft") == "two"
    assert recall.move(-1, "two") == "one"
    assert recall.move(-1, "one") is None
    assert recall.move(+1, "one") == "two"
    assert recall.move(+1, "two") == "draft"
    assert recall.move(+1, "draft") == "try this"
    assert recall.move(+1, "try this") is None


def test_edits_stay_where_they_were_made() -> None:
    recall = Recall(("one",), ())
    assert recall.move(-1, "my draft") == "one"
    assert recall.move(+1, "one, edited") == "my draft"
    assert recall.move(-1, "my draft") == "one, edited"


async def test_up_and_down_at_the_edges_recall_requests(studio: Studio) -> None:
    async with studio(requests=["first", "second"]) as at:
        await at.type("mine")
        await at.press("up")
        await at.wait(lambda: at.main.composer.text == "second")
        await at.press("up")
        await at.wait(lambda: at.main.composer.text == "first")
        await at.press("down", "down")
        await at.wait(lambda: at.main.composer.text == "mine")


async def test_up_inside_a_text_of_two_lines_moves_the_cursor(studio: Studio) -> None:
    async with studio(requests=["first"]) as at:
        await at.type("one")
        await at.press("ctrl+j")
        await at.type("two")
        await at.press("up")
        assert at.main.composer.text == "one\ntwo"
        await at.press("up")
        await at.wait(lambda: at.main.composer.text == "first")


async def test_down_brings_the_suggestions_and_a_click_too(studio: Studio) -> None:
    async with studio(suggestions=["When is it due?", "Be detailed."]) as at:
        await at.see('try ↓  "When is it due?"   "Be detailed."')
        await at.press("down")
        await at.wait(lambda: at.main.composer.text == "When is it due?")
        await at.pilot.click("#suggestions", offset=(30, 0))
        await at.wait(lambda: at.main.composer.text == "Be detailed.")


async def test_every_thread_keeps_its_draft(studio: Studio) -> None:
    async with studio() as at:
        await at.type("for the first")
        await at.press("ctrl+n")
        await at.wait(lambda: at.main.desk.thread.id != at.thread)
        await at.idle()
        assert at.main.composer.text == ""
        await at.type("for the second")
        at.main.open_thread(at.thread)
        await at.wait(lambda: at.main.desk.thread.id == at.thread)
        await at.idle()
        assert at.main.composer.text == "for the first"


async def test_C80_controls_in_the_composer_are_drawn_as_stand_ins_and_sent_as_they_are(studio: Studio) -> None:
    async with studio() as at:
        at.main.composer.put("a\x1b[2Jb\x07")
        await at.see("a␛[2Jb␇")
        await at.press("enter")
        await at.see("completed")
        assert (await at.runtime.store.list_messages(at.thread, 2))[0].text == "a\x1b[2Jb\x07"


async def test_ctrl_z_gives_back_what_a_recalled_request_replaced(studio: Studio) -> None:
    async with studio(requests=["first"]) as at:
        await at.type("mine")
        await at.press("up")
        await at.wait(lambda: at.main.composer.text == "first")
        await at.press("ctrl+z")
        await at.wait(lambda: at.main.composer.text == "mine")
