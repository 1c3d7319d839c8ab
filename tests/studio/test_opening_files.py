"""Opening conversation files in the Studio: several in one file, compacted sessions, what was not carried."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from runtime import imports
from runtime.values.messages import NewMessage

OpenStudio = Callable[..., Any]


def chat(path: Path, *asked: str) -> Path:
    """A file with one conversation a line."""
    lines = [
        json.dumps({"messages": [{"role": "user", "content": one}, {"role": "assistant", "content": f"{one}: done"}]})
        for one in asked
    ]
    path.write_text("\n".join(lines), "utf-8")
    return path


def session(path: Path) -> Path:
    """A session that was compacted once."""

    def record(kind: str, text: str, **more: object) -> str:
        return json.dumps({"type": kind, "message": {"role": kind, "content": text}, **more})

    lines = [
        record("user", "Fix the parser"),
        record("assistant", "Fixed."),
        record("user", "Continued: the parser was fixed.", isCompactSummary=True),
        record("user", "Now the tests"),
        record("assistant", "Tests added."),
        json.dumps({"type": "file-history-snapshot"}),
    ]
    path.write_text("\n".join(lines), "utf-8")
    return path


async def open_path(at: Any, path: Path) -> None:
    await at.press("ctrl+o")
    await at.see("Open")
    at.app.screen.query_one(Input).value = str(path)
    await at.press("enter")


async def test_a_file_of_several_is_narrowed_and_picked(studio: OpenStudio, tmp_path: Path) -> None:
    path = chat(tmp_path / "many.jsonl", "Plant trees", "Bake bread", "Bake a cake")
    async with studio() as at:
        await open_path(at, path)
        await at.see("3 conversations", "Plant trees", "Bake bread", "2 messages")
        await at.type("cake")
        await at.see_no("Plant trees")
        await at.press("enter")
        await at.see("imported 2 messages")
        await at.see("Bake a cake: done")


async def test_a_picked_number_is_meant_exactly(studio: OpenStudio, tmp_path: Path) -> None:
    path = chat(tmp_path / "many.jsonl", "3 trees", "Bake bread", "Bake a cake")
    async with studio() as at:
        await open_path(at, path)
        await at.see("3 conversations")
        await at.type("3")
        await at.press("enter")
        await at.see("imported 2 messages")
        await at.see("Bake a cake: done")


async def test_leaving_the_list_opens_nothing(studio: OpenStudio, tmp_path: Path) -> None:
    path = chat(tmp_path / "many.jsonl", "Plant trees", "Bake bread")
    async with studio() as at:
        before = at.main.desk.thread.id
        await open_path(at, path)
        await at.see("2 conversations")
        await at.press("escape")
        await at.see("A thread, a seed, or a conversation file")
        await at.press("escape")
        await at.idle()
        assert at.main.desk.thread.id == before
        assert len(await at.runtime.store.threads()) == 1


@pytest.mark.parametrize(("key", "rows"), [("enter", 5), ("l", 3)])
async def test_a_compacted_session_is_taken_whole_or_as_last_seen(
    studio: OpenStudio, tmp_path: Path, key: str, rows: int
) -> None:
    async with studio() as at:
        await open_path(at, session(tmp_path / "s.jsonl"))
        await at.see("compacted once")
        await at.press(key)
        await at.see(f"imported {rows} messages")
        assert at.main.desk.thread.length == rows


async def test_what_was_not_carried_and_what_is_marked_is_listed(studio: OpenStudio, tmp_path: Path) -> None:
    async with studio() as at:
        await open_path(at, session(tmp_path / "s.jsonl"))
        await at.see("compacted once")
        await at.press("enter")
        await at.see("not carried (i lists it)")
        await at.press("escape", "i")
        await at.see("1 x file-history-snapshot record", "1 x summary message", "nobody said it")


async def test_an_import_under_way_says_how_far_it_is_and_is_stopped(
    studio: OpenStudio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, go_on = threading.Event(), threading.Event()
    some_rows = imports._some_rows

    def held_up(rows: Iterator[NewMessage]) -> list[NewMessage]:
        found = some_rows(rows)
        held.set()
        go_on.wait(20)
        return found

    monkeypatch.setattr(imports, "_some_rows", held_up)
    async with studio() as at:
        before = at.main.desk.thread.id
        await open_path(at, chat(tmp_path / "one.jsonl", "Plant trees"))
        await at.wait(held.is_set, "the import")
        job = at.app.jobs.of("open")
        job.began -= 10  # as if it had taken this long
        await at.see("opening")
        await at.press("ctrl+c")
        go_on.set()
        await at.see("nothing is left of what was being opened")
        assert at.main.desk.thread.id == before
        assert len(await at.runtime.store.threads()) == 1
