"""The dialogs: why?, wire body, help, about, opening, saving, copying, questions before something reaches out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.errors import BadInput
from runtime.values.agent import Agent, TierSpec
from studio_tui import clipboard
from studio_tui.saving import problem_of, save
from studio_tui.screens.reader import pretty

Studio = Any
"""The `studio` fixture of conftest.py; importlib mode does not let test files import it by name."""


async def test_X8_why_answers_in_one_sentence_by_number(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        await at.press("ctrl+f")
        await at.see("Why is it in, or out?")
        await at.type("1")
        await at.press("enter")
        await at.see("seq 1", "window of 9 or more")
        await at.press("y")
        await at.see("copied the sentence")
        assert "seq 1" in at.app.clipboard


async def test_why_by_words_leads_to_the_row(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        await at.press("ctrl+f")
        await at.type("thursday")
        await at.press("enter")
        await at.see("seq 4")
        await at.press("enter")
        await at.wait(lambda: at.main.focus_now == "context")
        assert at.main.highlighted("context") == "row:4"


async def test_why_about_the_coming_turn(studio: Studio) -> None:
    async with studio() as at:
        await at.type("ping")
        await at.wait(lambda: at.main.desk.preview and at.main.desk.preview.context.rows[-1].text == "ping")
        await at.press("ctrl+f")
        await at.type("Friday")
        await at.press("enter")
        await at.see("seq 1", "window of 9 or more")


async def test_A6_the_wire_body_is_shown_as_it_was_sent(studio: Studio, gated: Any) -> None:
    model = gated("fine")
    model.let(2)
    async with studio(models={"gated": model}) as at:
        await at.ask("ping")
        await at.press("escape", "w")
        await at.see("Request body of step 1", '"gated": true', "without headers or keys")
        await at.press("y")
        await at.see("copied the text")
        assert at.app.clipboard == '{"gated": true}'
        await at.press("escape")
        await at.see("ASK")


async def test_A6_a_body_that_is_gone_is_said_to_be_gone(studio: Studio, gated: Any) -> None:
    from runtime.stores.memory import MemoryStore

    model = gated("fine")
    model.let(2)
    async with studio(models={"gated": model}, store=MemoryStore(body_bytes=0)) as at:
        await at.ask("ping")
        await at.press("escape", "w")
        await at.see("The body is gone")


def test_a_body_that_is_no_json_is_shown_as_it_is() -> None:
    assert pretty("not json [/b]") == "not json [/b]"
    assert pretty('{"a":[1]}') == '{\n  "a": [\n    1\n  ]\n}'


async def test_Q5_f1_says_what_is_on_the_screen_the_keys_and_the_words(studio: Studio) -> None:
    async with studio() as at:
        await at.press("f1")
        await at.see("What is on this screen", "CONTEXT", "Keys")
        await at.press("slash")
        await at.type("fallback")
        await at.press("enter")
        await at.see("a model failed, and the next one")
        await at.press("escape")
        await at.see("ASK")


async def test_the_palette_lists_what_applies_and_does_it(studio: Studio) -> None:
    async with studio() as at:
        await at.press("ctrl+p")
        await at.wait(lambda: at.app.screen is not at.main)
        await at.type("reseed")
        await at.see("Reseed: a fresh thread")
        await at.press("enter")
        await at.wait(lambda: at.main.desk.thread is not None and at.main.desk.thread.id != at.thread)


async def test_open_lists_threads_and_seeds_and_narrows_while_typing(studio: Studio) -> None:
    async with studio() as at:
        await at.press("ctrl+o")
        await at.see("THREADS", at.thread, "SEEDS", "friday-notes")
        await at.type("long")
        await at.see("long-thread")
        await at.see_no("one-huge-message")
        await at.press("enter")
        await at.wait(lambda: at.main.desk.thread.id != at.thread)
        await at.idle()
        assert at.main.desk.thread.name == "long-thread"


async def test_Q4_a_picker_name_cannot_leave_its_folder(studio: Studio) -> None:
    async with studio() as at:
        await at.press("ctrl+o")
        await at.see("THREADS")
        await at.type("nothing of this name")
        await at.press("enter")
        await at.see("there is no thread, seed or file")


async def test_open_takes_a_path_of_ones_own(studio: Studio, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text('[{"role": "user", "content": "hi [/b]"}, {"role": "assistant", "content": "hello"}]')
    async with studio() as at:
        await at.press("ctrl+o")
        await at.see("THREADS")
        at.app.screen.query_one("Input").value = str(file)
        await at.press("enter")
        await at.wait(lambda: at.main.desk.thread.id != at.thread)
        await at.idle()
        await at.see("IMPORTED", "hi [/b]", "hello")
        assert at.main.desk.thread.length == 2
        await at.press("escape", "i")
        await at.see("recorded in the file", "inferred, not in the file", "chat.json")


async def test_Q1_a_file_that_cannot_be_used_is_named_and_nothing_is_lost(studio: Studio, tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("seed: broken\nmessages:\n  - wizard: hello\n")
    async with studio() as at:
        await at.type("my draft")
        await at.press("ctrl+o")
        await at.see("THREADS")
        at.app.screen.query_one("Input").value = str(file)
        await at.press("enter")
        await at.see("broken.yaml:3")
        assert at.main.desk.thread.id == at.thread
        assert at.main.composer.text == "my draft"


async def test_X8_y_copies_the_finding(studio: Studio) -> None:
    async with studio() as at:
        await at.ask("ping")
        await at.press("f3", "f3", "f3", "escape", "y")
        await at.see("copied the finding")
        assert "window 3 would select 3 of 9 stored messages" in at.app.clipboard
        assert f"thread {at.thread}" in at.app.clipboard


async def test_C88_the_finding_can_be_saved_to_a_file(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with studio() as at:
        await at.ask("ping")
        await at.press("escape", "Y")
        await at.see("The name of a new file")
        at.app.screen.query_one("Input").value = "../out.txt"
        await at.press("enter")
        await at.see("is no plain name")
        at.app.screen.query_one("Input").value = "out.txt"
        await at.press("enter")
        await at.see("saved")
        assert "6 of 9 stored messages" in (tmp_path / "out.txt").read_text()


def test_C88_two_megabytes_are_not_promised() -> None:
    assert "Y saves it to a file" in clipboard.told("the text", 2_000_000)
    assert "copied" not in clipboard.told("the text", 2_000_000)


def test_C88_inside_tmux_no_false_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX", "/tmp/tmux-1/default,1,0")
    assert clipboard.told("the text", 10).startswith("the text was handed to tmux; it reaches the clipboard if")


def test_C80_copying_keeps_controls_and_replaces_half_a_pair() -> None:
    assert clipboard.as_sent("a\x1b\x9b\U0001f600") == "a\x1b\x9b\U0001f600"
    assert clipboard.as_sent("half \ud83d emoji") == "half \ufffd emoji"


@pytest.mark.parametrize("name", ["", "  ", "../x", "/etc/x", "a/b", "..", "x\x00y", "a\\b"])
def test_Q4_a_file_name_cannot_leave_the_folder(name: str, tmp_path: Path) -> None:
    assert problem_of(name, tmp_path)
    with pytest.raises(BadInput):
        save("text", name, tmp_path)


def test_Q4_a_link_is_not_followed_and_nothing_is_overwritten(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.txt").symlink_to(outside / "target.txt")
    (folder / "there.txt").write_text("old")
    for name in ("link.txt", "there.txt"):
        with pytest.raises(BadInput):
            save("new", name, folder)
    assert (folder / "there.txt").read_text() == "old"
    assert not (outside / "target.txt").exists()


async def test_T9_own_tools_run_only_after_the_user_agreed(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_tools_of_mine.py").write_text(
        'def wave(text: str) -> str:\n    """Waves at somebody."""\n    return "waved"\n'
    )
    agent = Agent("mine", "x", 6, (TierSpec("offline"),), ("own_tools_of_mine:wave",), file="mine.yaml", shipped=False)
    async with studio(agent=agent) as at:
        await at.type("hello")
        await at.press("enter")
        await at.see("tools run Python code", "own_tools_of_mine:wave")
        await at.press("escape")
        await at.see("your text is kept")
        assert at.main.composer.text == "hello"
        assert await at.runtime.store.length(at.thread) == 8
        await at.press("enter")
        await at.see("tools run Python code")
        await at.press("y")
        await at.see("completed")
        assert at.main.composer.text == ""


async def test_X4_a_rerun_that_reaches_out_says_first_what_it_does(studio: Studio, gated: Any) -> None:
    model = gated("fine")
    model.let(4)
    async with studio(models={"gated": model}) as at:
        await at.ask("ping")
        await at.press("ctrl+r")
        await at.see("Run again", "Sent to: gated", "Tools that run LIVE", "set-tone, find-notes", "before seq 9")
        assert len(model.asked) == 1
        await at.press("escape")
        await at.idle()
        assert len(model.asked) == 1
        await at.press("ctrl+r")
        await at.see("Run again")
        await at.press("enter")
        await at.see("re-run")
        await at.wait(lambda: len(model.asked) == 2)
