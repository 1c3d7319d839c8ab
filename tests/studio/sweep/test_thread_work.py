"""What the main screen does with a thread as a whole: find, list, edit its files, write a window, name, delete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.agents import load_agent, shipped_agent
from runtime.seeds import load_seed
from runtime.values.messages import NewMessage
from studio_tui.studio import StudioApp

Bench = Any

SEED = """seed: mine
agent: clerk
state: {tone: brief}
messages:
  - user: The Friday draft is due on the 5th.
  - assistant: Noted.
  - user: |
      Two
      lines.
  - assistant: Good.
"""

AGENT = "agent: clerk\ninstructions: Be brief.\nhistoryWindow: 2\ntools: [find-notes]\nstateViews: [tone]\n"


class Hand:
    """An editor that a test is: what it does with the file, and where it was opened."""

    def __init__(self, write: Callable[[Path], object]) -> None:
        self.write = write
        self.opened: list[tuple[str, int]] = []

    def __call__(self, path: Path, line: int) -> None:
        self.opened.append((path.name, line))
        self.write(path)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.yaml").write_text(SEED)
    (tmp_path / "clerk.yaml").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def on_file(at: Any, path: Path) -> None:
    """Put a fresh thread of a seed's file on the desk and ask it something."""
    thread = await at.runtime.create_thread(seed=path)
    await at.runtime.send(thread, "When is the draft due?")
    at.main.open_thread(thread)
    await at.wait(lambda: at.main.desk.thread.id == thread)
    await at.settled()


def found(at: Any) -> str:
    return str(at.main.pane("context").cursor)


async def find(at: Any, words: str) -> None:
    await at.press("escape", "slash")
    await at.see("Find")
    await at.type(words)
    await at.press("enter")
    await at.settled()


async def test_find_goes_through_messages_that_are_folded_away(bench: Bench) -> None:
    rows = [("user" if n % 2 else "assistant", f"message {n}{' heron' if n % 10 == 3 else ''}") for n in range(1, 41)]
    async with bench(rows=rows) as at:
        await find(at, "HERON")
        assert found(at) == "row:3"
        await at.see("1 of 4 places say 'HERON'", "message 3 heron")
        await at.press("n")
        assert found(at) == "row:13"
        await at.press("n", "n", "n")
        assert found(at) == "row:3", "around the end"
        await at.press("N")
        assert found(at) == "row:33"
        await at.press("escape")
        await at.settled()
        assert at.main._sought == ""
        assert "n next" not in at.text()


async def test_hits_are_drawn_as_such(bench: Bench) -> None:
    async with bench() as at:
        await find(at, "review")
        pane = at.main.pane("context")
        styles = [
            segment.style
            for y in range(pane.size.height)
            for segment in pane.render_line(y)
            if segment.text.casefold() == "review"
        ]
        assert styles
        assert all(style is not None and style.underline for style in styles)
        await at.press("escape")
        assert not any(seg.text == "review" for y in range(pane.size.height) for seg in pane.render_line(y))


async def test_what_is_nowhere_is_said_and_n_reseeds_as_ever(bench: Bench) -> None:
    async with bench() as at:
        await find(at, "walrus")
        await at.see("'walrus' is nowhere in CONTEXT")
        await at.press("n")
        await at.wait(lambda: at.main.desk.thread.id != at.thread, "the reseed")


async def test_find_in_the_turns(bench: Bench) -> None:
    async with bench(requests=["about herons", "about gulls"]) as at:
        at.main.pane("turns").focus()
        await at.pilot.pause()
        await at.press("slash")
        await at.see("in TURNS")
        await at.type("heron")
        await at.press("enter")
        await at.settled()
        assert at.main.desk.turn(at.main.desk.selected).request == "about herons"


async def test_X1_the_ledger_lists_every_row_and_is_narrowed_by_typing(bench: Bench) -> None:
    async with bench() as at:
        await at.press("escape", "L")
        await at.see("Ledger of turn 1", "9 entries", "out: older-than-window; a window of 9 or more would include it")
        await at.type("out due")
        await at.see("1 entry", "The Friday draft is due")
        await at.press("enter")
        await at.settled()
        assert found(at) == "row:1"


async def test_the_ledger_of_what_nobody_says(bench: Bench) -> None:
    async with bench() as at:
        await at.press("escape", "L")
        await at.see("Ledger")
        await at.type("walrus")
        await at.see("nothing that was never stored says 'walrus'")


async def test_A_writes_the_window_into_the_agents_file_after_showing_it(bench: Bench, mine: Path) -> None:
    async with bench() as at:
        await on_file(at, mine / "mine.yaml")
        await at.press("escape", "5", "A")
        await at.see("historyWindow: 2 → 5", "-historyWindow: 2", "+historyWindow: 5")
        assert load_agent(mine / "clerk.yaml").window == 2, "nothing is written before that was agreed"
        await at.press("enter")
        await at.see("wrote historyWindow: 5 into")
        assert (mine / "clerk.yaml").read_text() == AGENT.replace("historyWindow: 2", "historyWindow: 5")


async def test_A_of_a_sweep_writes_the_smallest_window_that_is_enough(bench: Bench, mine: Path) -> None:
    async with bench() as at:
        await on_file(at, mine / "mine.yaml")
        screen = await at.sweep()
        assert screen.sweep.smallest_sufficient == 5
        await at.see("A write historyWindow: 5")
        await at.press("A")
        await at.see("+historyWindow: 5")
        await at.press("n")
        await at.see("nothing was written")
        assert load_agent(mine / "clerk.yaml").window == 2


async def test_a_shipped_agent_is_copied_not_written(bench: Bench, mine: Path) -> None:
    async with bench(name="another") as at:
        at.main.open_thread(await at.runtime.create_thread(seed="friday-notes"))
        await at.wait(lambda: at.main.desk.seed is not None and at.main.desk.seed.shipped)
        await at.settled()
        await at.press("escape", "9", "A")
        await at.see("A copy of the agent", "comes with the program and is not changed")
        await at.press("enter")
        await at.see("+historyWindow: 9")
        await at.press("enter")
        await at.see("reseeded with notes.yaml")
        await at.settled()
        assert load_agent(mine / "notes.yaml").window == 9
        assert at.main.desk.agent.window == 9
        assert at.main.desk.thread.length == 14
        assert shipped_agent("notes").window == 6, "the shipped file stays as it is"


async def test_e_opens_the_seed_at_the_message_and_reseeds(bench: Bench, mine: Path) -> None:
    async with bench() as at:
        await on_file(at, mine / "mine.yaml")
        hand = Hand(lambda path: path.write_text(SEED.replace("5th", "7th")))
        at.app.editor = hand
        thread = at.main.desk.thread.id
        await at.press("escape", "a")
        await at.settled()
        await at.go("row:3", "context")
        await at.press("e")
        await at.wait(lambda: at.main.desk.thread.id != thread, "the reseed")
        await at.settled()
        assert hand.opened == [("mine.yaml", 7)]
        assert (await at.runtime.store.rows(at.main.desk.thread.id, 1, 1))[0].text.endswith("7th.")
        await at.see("checked mine.yaml, reseeded")


async def test_e_on_the_instructions_opens_the_agent(bench: Bench, mine: Path) -> None:
    async with bench() as at:
        await on_file(at, mine / "mine.yaml")
        hand = Hand(lambda path: path.write_text(AGENT.replace("Be brief.", "Be long.")))
        at.app.editor = hand
        thread = at.main.desk.thread.id
        await at.press("escape")
        await at.go("section:instructions", "context")
        await at.press("e")
        await at.wait(lambda: at.main.desk.thread.id != thread, "the reseed")
        await at.settled()
        assert hand.opened == [("clerk.yaml", 2)]
        assert at.main.desk.agent.instructions == "Be long."


async def test_a_file_with_errors_is_said_and_opens_again_at_its_line(bench: Bench, mine: Path) -> None:
    async with bench() as at:
        await on_file(at, mine / "mine.yaml")
        texts = iter([SEED + "mesages: []\n", SEED.replace("Noted.", "Noted!")])
        hand = Hand(lambda path: path.write_text(next(texts)))
        at.app.editor = hand
        thread = at.main.desk.thread.id
        await at.press("escape", "e")
        await at.see("1 problem", "mesages", "Nothing was reseeded")
        assert at.main.desk.thread.id == thread
        await at.press("enter")
        await at.wait(lambda: at.main.desk.thread.id != thread, "the reseed")
        assert hand.opened == [("mine.yaml", 1), ("mine.yaml", 11)]
        assert load_seed(mine / "mine.yaml").messages[1].text == "Noted!"


async def test_a_file_left_as_it_was_reseeds_nothing(bench: Bench, mine: Path) -> None:
    async with bench() as at:
        await on_file(at, mine / "mine.yaml")
        at.app.editor = Hand(lambda path: None)
        thread = at.main.desk.thread.id
        await at.press("escape", "e")
        await at.see("mine.yaml is as it was")
        assert at.main.desk.thread.id == thread


async def test_a_shipped_seed_is_edited_as_a_copy(bench: Bench, mine: Path) -> None:
    async with bench(name="another") as at:
        at.main.open_thread(await at.runtime.create_thread(seed="friday-notes"))
        await at.wait(lambda: at.main.desk.seed is not None and at.main.desk.seed.shipped)
        await at.settled()
        hand = Hand(lambda path: None)
        at.app.editor = hand
        await at.press("escape", "e")
        await at.see("A copy of the seed")
        await at.press("enter")
        await at.see("checked friday-notes.yaml, reseeded")
        await at.settled()
        assert [name for name, _ in hand.opened] == ["friday-notes.yaml"]
        assert at.main.desk.seed.file == str(mine / "friday-notes.yaml")


async def test_an_editor_that_cannot_be_started_is_said(bench: Bench, mine: Path, monkeypatch: Any) -> None:
    async with bench() as at:
        await on_file(at, mine / "mine.yaml")
        await at.press("escape", "e")
        await at.see("this terminal cannot be lent to an editor")


async def test_a_name_is_given_and_shown(bench: Bench) -> None:
    async with bench() as at:
        await at.main.run_action("rename")
        await at.see("What this thread is called")
        await at.press("ctrl+u")
        await at.type("no tools")
        await at.press("enter")
        await at.see("this thread is called no tools", "no tools › thread")
        assert (await at.runtime.store.thread(at.thread)).name == "no tools"


async def test_S9_the_tree_shows_both_sides_and_opens_them(bench: Bench) -> None:
    async with bench() as at:
        fork = await at.runtime.fork(at.thread, 4)
        deeper = await at.runtime.fork(fork, 2)
        await at.runtime.store.update_thread(fork, name="[/x] no tools")
        await at.press("escape", "t")
        await at.see("Threads", "◀ this one", "└ at 4  [/x] no tools", "└ at 2")
        at.app.screen.query_one("LinesPane").cursor = f"thread:{fork}"
        await at.press("enter")
        await at.wait(lambda: at.main.desk.thread.id == fork, "the fork")
        await at.settled()
        await at.see("this is a fork of", "friday-notes", "forks of this thread")
        at.main.pane("turns").focus()
        at.main.pane("turns").cursor = f"base:{at.thread}"
        await at.settled()
        await at.press("enter")
        await at.wait(lambda: at.main.desk.thread.id == at.thread, "the base")
        assert deeper


async def test_names_and_deletion_in_the_tree(bench: Bench) -> None:
    async with bench() as at:
        fork = await at.runtime.fork(at.thread, 4)
        await at.press("escape", "t")
        await at.see("Threads", "at 4")
        at.app.screen.query_one("LinesPane").cursor = f"thread:{fork}"
        await at.press("r", "ctrl+u")
        await at.type("short")
        await at.press("enter")
        await at.see("at 4  short")
        at.app.screen.query_one("LinesPane").cursor = f"thread:{fork}"
        await at.press("D")
        await at.see("Deleted for good")
        await at.press("n")
        await at.settled()
        assert len(await at.runtime.store.forks(at.thread)) == 1
        at.app.screen.query_one("LinesPane").cursor = f"thread:{fork}"
        await at.press("D")
        await at.see("Deleted for good")
        await at.press("enter")
        await at.see_no("at 4  short")
        assert await at.runtime.store.forks(at.thread) == []
        assert at.main.desk.thread.id == at.thread


async def test_a_thread_is_deleted_with_its_forks_after_asking(bench: Bench) -> None:
    async with bench() as at:
        await at.runtime.fork(at.thread, 4)
        other = await at.runtime.create_thread(agent="")
        await at.runtime.store.append(other, NewMessage("user", "hello"))
        await at.main.run_action("delete")
        await at.see("Deleted for good", "1 fork of it read its messages")
        await at.press("enter")
        await at.wait(lambda: at.main.desk.thread is not None and at.main.desk.thread.id == other, "the other thread")
        assert [thread.id for thread in await at.runtime.store.threads()] == [other]


async def test_the_last_thread_deleted_leaves_the_picker(bench: Bench) -> None:
    async with bench() as at:
        await at.main.run_action("delete")
        await at.see("Deleted for good")
        await at.press("enter")
        await at.see("A thread, a seed, or a conversation file")
        assert await at.runtime.store.threads() == []


def test_every_action_of_the_table_is_done_by_the_screen() -> None:
    from studio_tui.actions import ACTIONS
    from studio_tui.screens.workbench import Workbench

    elsewhere = {"palette", "quit", "help", "theme", "send", "newline", "choose", "browse"}
    for action in ACTIONS:
        if action.id not in elsewhere:
            assert hasattr(Workbench, f"action_{action.id}"), action.id
    assert StudioApp.TITLE == "Studio"
