"""Following a store that others write, opening and leaving, what is said when something cannot be opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.errors import BadInput
from runtime.events import Opened
from runtime.stores import open_store
from runtime.threads import Runtime
from runtime.values.messages import NewMessage
from studio_tui import targets
from studio_tui.app import open_studio, take_keyboard
from studio_tui.studio import StudioApp, short_name

Studio = Any
"""The `studio` fixture of conftest.py; importlib mode does not let test files import it by name."""


async def test_a_turn_that_another_process_runs_is_followed(studio: Studio, tmp_path: Path, gated: Any) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    model = gated("from", " elsewhere")
    async with studio(store=open_store(url), store_url=url, models={"gated": model}) as at:
        other = Runtime(open_store(url), models={"gated": model})
        other._asking._seeds.update(at.runtime._asking._seeds)
        events = other.stream(at.thread, "asked elsewhere")
        opened = await anext(events)
        assert isinstance(opened, Opened)
        await at.see("asked elsewhere", "runs elsewhere")
        await at.type("mine")
        await at.press("enter")
        await at.see("is busy")
        assert at.main.composer.text == "mine"
        model.let(3)
        async for _ in events:
            pass
        at.main.select_turn(opened.turn.id)
        await at.see("from elsewhere", "completed")
        await at.see_no("runs elsewhere")
        await other.close()


async def test_rows_that_another_process_appends_are_seen_by_the_coming_turn(studio: Studio, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    async with studio(store=open_store(url), store_url=url) as at:
        other = open_store(url)
        await other.append(at.thread, NewMessage("user", "a row from elsewhere"))
        await at.see("a row from elsewhere")
        await other.close()


async def test_X3_a_record_stays_as_it_is_whatever_others_append(studio: Studio, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    async with studio(store=open_store(url), store_url=url) as at:
        await at.ask("ping")
        before = at.main.desk.record.context
        other = open_store(url)
        await other.append(at.thread, NewMessage("user", "a row from elsewhere"))
        await at.wait(lambda: at.main.desk.thread.length == 11)
        assert at.main.desk.record.context == before
        await other.close()


async def test_leaving_stops_the_running_turn_first(studio: Studio, gated: Any) -> None:
    model = gated("x")
    async with studio(models={"gated": model}) as at:
        await at.type("go")
        await at.press("enter")
        await at.see("running step 1")
        turn = at.main.desk.selected
        await at.press("ctrl+q")
        await at.wait(lambda: at.app._exit)
        assert (await at.runtime.record(turn)).status == "stopped"


def opened(app: StudioApp) -> bool:
    return app.main.desk.thread is not None and not app.jobs.running()


async def test_without_a_target_the_picker_asks_what_to_open() -> None:
    runtime = Runtime(open_store("memory:"))
    app = StudioApp(lambda: runtime, store_url="memory:")
    async with app.run_test() as pilot:
        while app.screen is app.main:
            await pilot.pause()
        await pilot.press(*"friday", "enter")
        while not opened(app):
            await pilot.pause()
        assert app.desk.thread is not None
        assert app.desk.thread.name == "friday-notes"
        assert app.came_from == app.desk.thread.id


async def test_a_folder_lists_its_files(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]')
    (tmp_path / ".hidden.json").write_text("[]")
    runtime = Runtime(open_store("memory:"))
    app = StudioApp(lambda: runtime, store_url="memory:", target=str(tmp_path))
    async with app.run_test() as pilot:
        while app.screen is app.main:
            await pilot.pause()
        await pilot.pause()
        text = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "talk.json" in text
        assert ".hidden.json" not in text
        await pilot.press("enter")
        while not opened(app):
            await pilot.pause()
        assert app.desk.thread is not None
        assert app.desk.thread.length == 2


async def test_Q1_what_cannot_be_opened_is_an_error_and_no_screen() -> None:
    runtime = Runtime(open_store("memory:"))
    app = StudioApp(lambda: runtime, store_url="memory:", target="no-such-thing")
    async with app.run_test() as pilot:
        while app.failure is None:
            await pilot.pause()
    assert "no-such-thing" in str(app.failure)


async def test_S4_a_thread_is_found_by_its_exact_id_alone() -> None:
    runtime = Runtime(open_store("memory:"))
    thread = await runtime.create_thread(seed="friday-notes")
    record = await runtime.send(thread, "ping")
    assert await targets.find(runtime, thread, seed=None, agent=None) == targets.Place(thread)
    assert await targets.find(runtime, record.turn, seed=None, agent=None) == targets.Place(thread, record.turn)
    with pytest.raises(BadInput):
        await targets.find(runtime, thread[:-1], seed=None, agent=None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("seed: a\nagent: notes\nmessages: []\n", "seed"),
        ("\ufeffseed: a\n", "seed"),
        ("agent: notes\ninstructions: x\n", "agent"),
        ("agent: notes\nmessages:\n  - user: hi\n", "seed"),
        ('{"messages": []}', "conversation"),
        ("\ufeff[]", "conversation"),
        ('{"role": "user", "content": "x"}\n', "conversation"),
    ],
)
def test_files_are_told_apart_by_content(text: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text, encoding="utf-8")
    assert targets.kind_of(path) == kind


async def test_an_agent_file_opens_an_empty_thread_of_that_agent(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("agent: mine\ninstructions: Be kind.\nhistoryWindow: 3\n")
    runtime = Runtime(open_store("memory:"))
    place = await targets.find(runtime, str(path), seed=None, agent=None)
    assert place.thread is not None
    assert (await runtime.agent_of(place.thread)).window == 3


async def test_a_thread_whose_seed_is_gone_can_still_be_studied(tmp_path: Path) -> None:
    path = tmp_path / "gone.yaml"
    path.write_text("seed: gone\nagent: notes\nmessages:\n  - user: remember me\n")
    store = open_store("memory:")
    runtime = Runtime(store)
    thread = await runtime.create_thread(seed=path)
    await runtime.send(thread, "what do you remember?")
    path.unlink()
    app = StudioApp(lambda: Runtime(store), store_url="memory:", target=thread)
    async with app.run_test(size=(120, 40)) as pilot:
        while not opened(app):
            await pilot.pause()
        text = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "remember me" in text
        assert "nothing can run here yet" in text
        assert "gone.yaml" in text


def test_Q1_a_window_that_is_none_is_refused_before_the_screen() -> None:
    with pytest.raises(BadInput, match="--window"):
        open_studio(store="memory:", window="2.5")


def test_a_piped_stdin_without_a_terminal_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import os
    import sys

    def no_terminal(path: str, flags: int) -> int:
        raise OSError("no such device")

    monkeypatch.setattr(sys, "__stdin__", io.StringIO())
    monkeypatch.setattr(os, "open", no_terminal)
    with pytest.raises(BadInput, match="needs a terminal"):
        take_keyboard()


@pytest.mark.parametrize(
    ("url", "name"), [("memory:", "in memory"), ("sqlite:///a/b/studio.db", "studio.db"), ("x.db", "x.db")]
)
def test_the_store_has_a_short_name(url: str, name: str) -> None:
    assert short_name(url) == name
