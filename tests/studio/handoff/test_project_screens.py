"""The Studio on a project, with the real engine: what a person asks of a handoff, answered on the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runtime.stores import open_store
from runtime.threads import Runtime
from studio_tui.screens.compare import CompareScreen
from studio_tui.screens.handoff import HandoffScreen
from studio_tui.screens.session import SessionScreen
from studio_tui.screens.thread import ThreadScreen
from studio_tui.studio import StudioApp
from studio_tui.targets import project_of

Studio = Any


async def test_a_project_opens_and_the_customer_is_answered(project_studio: Studio) -> None:
    async with project_studio("seeds/retail") as at:
        assert isinstance(at.screen, SessionScreen)
        await at.see("Retail desk", "check: 0 errors, 0 warnings", "Retail_Hub answers")
        await at.say("Where is my order?", "ORD-48213")
        await at.see("customer  ORD-48213", "handoff  Retail_Hub → Order_Status_Agent", "none, copied 0")
        await at.see("ORD-48213 has left the warehouse")
        assert at.screen.composer.text == ""


async def test_why_a_target_with_count_0_got_everything(project_studio: Studio, shop: Path, lamp: Any) -> None:
    async with project_studio(shop, say=lamp) as at:
        await at.see("✘ not as written")
        await at.handoff()
        await at.see("HISTORY: mode last_n, count 0", "shop-hub.agent.abl:36")
        await at.see("nothing usable", "W331", "platform default (route unusable, project unset)")
        await at.see("copied = request", "copied 3 · sent 2 + the request")
        await at.see("✔ matches what is in force", "✘ not what the author wrote")
        await at.see(
            "FINDING  Returns_Agent got everything: count: 0 at shop-hub:36 reads as no setting, so full. "
            "Write HISTORY: none."
        )
        assert "edit shop-hub:36" in at.text()


async def test_which_line_lets_a_pin_through(project_studio: Studio, shop: Path, pin: Any) -> None:
    async with project_studio(shop, say=pin) as at:
        await at.handoff()
        await at.see("! holds pin: pin-check:9 does not mark it", "user 4821")
        assert at.screen.finding.endswith(
            "pin is in 1 message handled by Pin_Check, which was copied: pin-check:9 does not mark it SENSITIVE."
        )
        assert "edit pin-check:9" in at.text()


async def test_Q3_a_pin_that_is_marked_is_masked_and_stays(
    project_studio: Studio, shop: Path, pin: Any, rewrite: Any
) -> None:
    rewrite(shop / "agents/pin-check.agent.abl", '"And your pin?"', '"And your pin?"\n    SENSITIVE: true')
    async with project_studio(shop, say=pin) as at:
        await at.see("[sensitive: pin]", "returned · sensitive")
        assert "4821" not in at.text()
        await at.handoff()
        await at.see("out: sensitive-child", "[sensitive: pin]")
        assert "4821" not in at.text()
        assert "does not mark" not in at.screen.finding


async def test_Q3_a_sensitive_field_that_PASS_hands_over_is_told_with_its_line(
    project_studio: Studio, shop: Path, pin: Any, rewrite: Any
) -> None:
    rewrite(shop / "agents/pin-check.agent.abl", '"And your pin?"', '"And your pin?"\n    SENSITIVE: true')
    hub = shop / "agents/shop-hub.agent.abl"
    rewrite(hub, "        card: card\n", "        card: card\n        pin: pin\n")
    rewrite(hub, "    PASS: [order_id]\n    HISTORY: full", "    PASS: [order_id, pin]\n    HISTORY: full")
    async with project_studio(shop, say=pin) as at:
        await at.handoff()
        await at.see("PASS at shop-hub:42 hands over the SENSITIVE field pin")
        assert "4821" not in at.text()


async def test_Q3_the_main_screen_masks_the_turns_of_a_session(
    project_studio: Studio, shop: Path, pin: Any, rewrite: Any
) -> None:
    rewrite(shop / "agents/pin-check.agent.abl", '"And your pin?"', '"And your pin?"\n    SENSITIVE: true')
    async with project_studio(shop, say=pin) as at:
        child = at.project.threads[1].id
        at.app.show_thread(child)
        await at.wait(lambda: isinstance(at.screen, ThreadScreen) and at.screen.desk.thread is not None)
        await at.idle()
        await at.see("[sensitive: pin]")
        for turn in at.screen.desk.turns.turns:
            at.screen.select_turn(turn.id)
            await at.idle()
            assert "4821" not in at.text()
            assert "4821" not in repr(at.screen.desk.record)
        assert b"4821" not in (await at.screen.desk.body(turn.id, 1) or b"")


async def test_X3_a_what_if_overlays_the_record_and_changes_nothing(
    project_studio: Studio, shop: Path, lamp: Any
) -> None:
    async with project_studio(shop, say=lamp) as at:
        await at.handoff()
        before = at.project.shown.event
        await at.see("▐none▌", "RECORD + WHAT IF")
        await at.press("h")
        await at.see("▐last_6▌")
        assert at.project.shown.tried_copies == {1, 2, 3}
        await at.press("full_stop")
        await at.wait(lambda: "RECORD + WHAT IF" not in at.text())
        await at.press("colon")
        await at.press(*["backspace"] * 8, *"last_2", "enter")
        await at.see("▐last_2▌")
        assert at.project.shown.tried_copies == {2, 3}
        assert at.project.shown.event == before
        assert len(at.project.threads) == 2


async def test_a_replay_stands_beside_the_first_and_is_compared(project_studio: Studio, shop: Path, lamp: Any) -> None:
    async with project_studio(shop, say=lamp) as at:
        await at.handoff()
        await at.see("full     Hello there", "not run.  ^r replays the same 2 customer messages")
        first = at.project.session.id
        await at.press("ctrl+r")
        await at.see("replayed with none")
        await at.idle()
        beside = at.project.beside
        assert beside.session.id != first
        assert beside.event.strategy == "none"
        assert at.project.session.id == first
        assert "Hello there" not in at.project.answers.what_if
        await at.press("ctrl+l")
        await at.wait(lambda: isinstance(at.screen, CompareScreen))
        await at.see("only in A")


async def test_both_sides_are_asked_a_question_of_ones_own(project_studio: Studio, shop: Path, lamp: Any) -> None:
    async with project_studio(shop, say=lamp) as at:
        rows = [one.rows for one in at.project.threads]
        await at.handoff()
        await at.press("p")
        await at.press(*["backspace"] * 30, *"lamp")
        await at.press("question_mark", "enter")
        await at.see("both sides are asked: lamp?")
        await at.idle()
        await at.project.refresh()
        assert [one.rows for one in at.project.threads] == rows


async def test_e_opens_the_line_and_checks_again(project_studio: Studio, shop: Path, lamp: Any, rewrite: Any) -> None:
    opened: list[tuple[Path, int]] = []

    def edits(path: Path, line: int) -> None:
        opened.append((path, line))
        rewrite(path, "HISTORY:\n      mode: last_n\n      count: 0", "HISTORY: none\n")

    async with project_studio(shop, say=lamp) as at:
        at.app.editor = edits
        await at.handoff()
        await at.press("e")
        assert opened == [(shop / "agents/shop-hub.agent.abl", 36)]
        await at.see("checked again: 0 errors, 0 warnings", "files edited since")
        await at.press("ctrl+r")
        await at.see("replayed with as edited")
        assert at.project.beside.event.strategy == "none"


async def test_e_that_breaks_the_project_says_so(project_studio: Studio, shop: Path, lamp: Any, rewrite: Any) -> None:
    async with project_studio(shop, say=lamp) as at:
        at.app.editor = lambda path, line: rewrite(path, "count: 0", "")
        await at.handoff()
        await at.press("e")
        await at.see("1 error", "it does not run")


async def test_H6_a_project_with_errors_shows_them_and_does_not_run(
    project_studio: Studio, shop: Path, rewrite: Any
) -> None:
    rewrite(shop / "agents/shop-hub.agent.abl", "mode: last_n\n      count: 0", "mode: recent")
    async with project_studio(shop) as at:
        await at.see("CHECK  does not run: 1 error", "E330", "agents/shop-hub.agent.abl:35", "mode: recent")
        assert at.project.session is None
        at.screen.composer.put("hello")
        at.screen.composer.box.focus()
        await at.press("enter")
        await at.see("nobody to speak to")
        assert at.screen.composer.text == "hello"
        at.app.editor = lambda path, line: rewrite(path, "mode: recent", "mode: last_n\n      count: 2")
        await at.press("escape")
        await at.press("e")
        await at.wait(lambda: at.project.session is not None)
        await at.see("Shop_Hub answers")


async def test_turns_of_a_thread_open_on_the_main_screen_and_F9_comes_back(
    project_studio: Studio, shop: Path, lamp: Any
) -> None:
    async with project_studio(shop, say=lamp) as at:
        await at.handoff()
        await at.press("t")
        await at.wait(lambda: isinstance(at.screen, ThreadScreen))
        await at.see("TURNS", "note_understanding")
        await at.idle()
        assert at.screen.desk.selected == at.project.shown.event.first_turn
        await at.press("f9")
        await at.wait(lambda: isinstance(at.screen, SessionScreen))
        await at.see("customer  Hello there")


async def test_what_is_sent_on_the_main_screen_is_said_in_the_session(
    project_studio: Studio, shop: Path, lamp: Any
) -> None:
    async with project_studio(shop, say=lamp) as at:
        at.app.show_thread(at.project.threads[1].id)
        await at.wait(lambda: isinstance(at.screen, ThreadScreen))
        await at.idle()
        at.screen.composer.put("It is too bright")
        await at.press("enter")
        await at.wait(lambda: isinstance(at.screen, SessionScreen))
        await at.see("customer  It is too bright", "Reason noted: It is too bright")


async def test_a_session_is_opened_again_by_its_id_and_by_its_turn(
    project_studio: Studio, shop: Path, lamp: Any, tmp_path: Path
) -> None:
    store = open_store(str(tmp_path / "s.db"))
    async with project_studio(shop, say=lamp, store=store) as at:
        session, thread = at.project.session.id, at.project.threads[1].id
        turn = at.project.shown.first.turn
        assert at.app.came_from == session
    async with project_studio(session, store=store) as at:
        await at.see("customer  Hello there", "Returns_Agent answers")
        await at.handoff()
        assert isinstance(at.screen, HandoffScreen)
        await at.see("W331")
    async with project_studio(turn, store=store) as at:
        await at.wait(lambda: isinstance(at.screen, ThreadScreen) and at.screen.desk.thread is not None)
        await at.idle()
        assert (at.screen.desk.thread.id, at.screen.desk.selected) == (thread, turn)


async def test_why_says_in_a_sentence_what_became_of_a_message(project_studio: Studio, shop: Path, lamp: Any) -> None:
    async with project_studio(shop, say=lamp) as at:
        await at.handoff()
        await at.press("ctrl+f", "1", "enter")
        await at.see("was copied to Returns_Agent: full is in force")


async def test_w_shows_the_body_and_y_copies_the_finding(project_studio: Studio, shop: Path, lamp: Any) -> None:
    async with project_studio(shop, say=lamp) as at:
        await at.handoff()
        await at.press("y")
        await at.see("the finding")
        await at.press("w")
        await at.see("Request body of step 1", "note_understanding")


async def test_a_waiting_thread_is_told_to_be_resumed(project_studio: Studio) -> None:
    async with project_studio("seeds/clinic") as at:
        await at.say("I want to book a visit", "When are you open?", "Now book my appointment")
        await at.handoff()
        await at.see("the waiting thread, resumed", "not applied", "copied nothing · resumed with")
        await at.press("h")
        await at.see("HISTORY is not applied to a thread that waits")


async def test_H11_a_remote_target_is_told_to_be_elsewhere(project_studio: Studio, shop: Path, rewrite: Any) -> None:
    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        body = b'{"reply": "We have noted it elsewhere.", "values": {}, "done": false}'
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answers, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        hub = shop / "agents/shop-hub.agent.abl"
        rewrite(
            hub, "HISTORY: full\n", f"HISTORY: full\n    ENDPOINT: http://127.0.0.1:{port}/notes\n    PROTOCOL: rest\n"
        )
        async with project_studio(shop, say=("I want to complain about a rude clerk",)) as at:
            await at.see("We have noted it elsewhere.", "active · remote")
            await at.handoff()
            await at.see(
                "remote", "this target is elsewhere: it can only be asked by", "copied 1 · sent 0 + the request"
            )
            await at.press("ctrl+r")
            await at.see("Remote targets are called: 1 time.")
            await at.press("escape")
            assert at.project.beside is None


async def test_what_is_typed_before_the_session_opens_is_kept(project_studio: Studio, shop: Path) -> None:
    runtime = Runtime(open_store("memory:"))
    app = StudioApp(lambda: runtime, store_url="memory:", target=str(shop))
    async with app.run_test(size=(120, 40)) as pilot:
        app.main.composer.put("Hello")
        for _ in range(2000):
            await pilot.pause()
            if isinstance(app.screen, SessionScreen):
                break
        assert isinstance(app.screen, SessionScreen)
        await pilot.pause()
        assert app.screen.composer.text == "Hello"
        assert app.main.composer.text == ""


async def test_C87_without_colour_every_mark_is_a_sign_or_a_word(
    project_studio: Studio, shop: Path, lamp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with project_studio(shop, say=lamp) as at:
        await at.handoff()
        await at.see("▐none▌", "•full", "✘ not what the author wrote", "✔ matches", "▌1 handoff", "copied = request")


async def test_the_palette_lists_what_can_be_done(project_studio: Studio, shop: Path, lamp: Any) -> None:
    async with project_studio(shop, say=lamp) as at:
        await at.handoff()
        titles = [command.title for command in at.app.get_system_commands(at.screen)]
        assert "what-if  h" in titles
        assert "replay beside  ^r" in titles


def test_a_folder_of_projects_is_no_project(tmp_path: Path, shop: Path) -> None:
    assert project_of(shop.parent) is None
    assert project_of(shop) == shop
    assert project_of(shop / "agents/returns.agent.abl") == shop
    assert project_of(shop / "project.json") == shop
    (shop / "project.json").unlink()
    assert project_of(shop) == shop
    empty = tmp_path / "empty"
    empty.mkdir()
    assert project_of(empty) is None


async def test_the_handoffs_are_gone_through_with_brackets_and_arrows(
    project_studio: Studio, shop: Path, pin: Any
) -> None:
    async with project_studio(shop, say=pin) as at:
        await at.handoff()
        await at.see("handoff 2 of 2")
        await at.press("left_square_bracket")
        await at.see("handoff 1 of 2", "Shop_Hub → Pin_Check")
        await at.press("right_square_bracket")
        await at.see("handoff 2 of 2")
        at.screen.pane("session").focus()
        await at.press("up", "up")
        await at.see("handoff 1 of 2")


async def test_a_fresh_session_begins_with_the_files_as_they_are(
    project_studio: Studio, shop: Path, lamp: Any, rewrite: Any
) -> None:
    async with project_studio(shop, say=lamp) as at:
        first = at.project.session.id
        rewrite(shop / "agents/shop-hub.agent.abl", "mode: last_n\n      count: 0", "mode: none")
        await at.press("ctrl+n")
        await at.see("a fresh session", "check: 0 errors, 0 warnings")
        assert at.project.session.id != first
        await at.say(*lamp)
        assert at.project.shown.event.strategy == "none"


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 24), (60, 16), (40, 10), (20, 6)])
async def test_every_size_is_drawn(project_studio: Studio, shop: Path, pin: Any, size: tuple[int, int]) -> None:
    async with project_studio(shop, say=pin, size=size) as at:
        assert at.text()
        await at.handoff()
        for _ in range(7):
            await at.press("tab")
        assert "Pin" in at.text() or "pin" in at.text() or size[0] < 60
        await at.pilot.resize_terminal(120, 40)
        await at.see("handoff 2 of 2", "TARGET  first model call")
        await at.pilot.resize_terminal(*size)
        await at.pilot.pause()


async def test_at_80_columns_the_panes_are_tabs(project_studio: Studio, shop: Path, lamp: Any) -> None:
    async with project_studio(shop, say=lamp, size=(80, 24)) as at:
        await at.handoff()
        await at.see(
            "▐CALLER▌│ TARGET │ SESSION │ VALUES │ EVENTS │ PROBE", "asked all · copied 3 · sent 2 + the request"
        )
        await at.press("tab")
        await at.see("▐TARGET▌", "earlier messages  2")
        await at.press("tab", "tab")
        await at.see("▐VALUES▌", "PASS order_id ORD-20931")
        await at.press("tab", "tab")
        await at.see("▐PROBE▌", "not run.")


async def test_C77_hostile_text_is_shown_as_it_is(project_studio: Studio, shop: Path) -> None:
    hostile = "order ORD-1 use [/INST] and arr[i][/j] \x1b[2J\x07 send back"
    async with project_studio(shop, say=(hostile,)) as at:
        await at.see("use [/INST] and arr[i][/j] ␛[2J␇")
        await at.handoff()
        await at.see("[/INST]")
        assert "\x1b" not in at.text()
        assert "\x07" not in at.text()


async def test_C77_a_hostile_project_is_shown_as_it_is(project_studio: Studio, shop: Path, rewrite: Any) -> None:
    rewrite(shop / "project.json", "Lamp shop", "[bold]x[/y] [@click=app.quit]")
    rewrite(shop / "agents/shop-hub.agent.abl", "count: 0", "count: [/b] [link=x]")
    async with project_studio(shop, say=("I want to send back a lamp, order ORD-20931",)) as at:
        await at.see("[bold]x[/y] [@click=app.quit]", "[/b]")
        await at.handoff()
        await at.see("count: [/b] [link=x]" if "count: [/b]" in at.screen.finding else "[/b]")
