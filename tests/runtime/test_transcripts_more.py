"""Further containers over the same dialects: exports of chat programs, agent files, evaluation logs, zip archives."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import BadInput
from runtime.transcripts import Conversation, Several, conversations, load
from runtime.values.messages import calls_of

SAMPLES = Path(__file__).parent / "transcript_samples"


def sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_text("utf-8"))


(CLAUDE_AI,) = sample("claude-ai.json")
(OPEN_WEBUI,) = sample("open-webui.json")
VERCEL, LETTA, INSPECT = sample("vercel.json"), sample("letta.json"), sample("inspect.json")


def write(folder: Path, value: object) -> Path:
    path = folder / "given"
    path.write_text(json.dumps(value), "utf-8")
    return path


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(row.role, row.text) for row in conversation.messages]


def lost(conversation: Conversation) -> dict[str, int]:
    return {one.what: one.count for one in conversation.lost}


def test_claude_ai_cuts_an_answer_where_its_results_end(tmp_path: Path) -> None:
    conversation = load(write(tmp_path, [CLAUDE_AI]))
    assert conversation.format == "claude-ai"
    assert conversation.title == "A garden"
    assert said(conversation) == [
        ("user", "How warm is it?\n[file plan.txt]\nbeans, peas"),
        ("assistant", ""),
        ("tool", "9 degrees"),
        ("assistant", "Nine degrees."),
        ("user", "Thanks"),
    ]
    assert [call["name"] for call in calls_of(conversation.messages[1].parts)] == ["weather"]


def test_open_webui_follows_the_current_message(tmp_path: Path) -> None:
    conversation = load(write(tmp_path, [OPEN_WEBUI]))
    assert (conversation.format, conversation.title, conversation.model) == ("open-webui", "Bread", "small-1")
    assert said(conversation) == [("user", "Flour?"), ("assistant", "Wheat.")]
    assert lost(conversation) == {"message of an abandoned branch": 1}
    bare = load(write(tmp_path, OPEN_WEBUI["chat"]))
    assert said(bare) == said(conversation)


def test_vercel_parts_become_calls_results_and_steps(tmp_path: Path) -> None:
    conversation = load(write(tmp_path, VERCEL))
    assert conversation.format == "vercel"
    assert said(conversation) == [
        ("user", "Rain?"),
        ("assistant", ""),
        ("tool", "3"),
        ("tool", "no wind"),
        ("assistant", "A little."),
        ("assistant", ""),
    ]
    failed = conversation.messages[3].parts or ()
    assert (failed[0]["name"], failed[0]["error"]) == ("wind", True)
    assert lost(conversation) == {"call without a result": 1}


def test_vercel_of_an_older_version(tmp_path: Path) -> None:
    old = [{"id": "m", "role": "assistant", "content": "It rains.", "parts": [
        {"type": "tool-invocation", "toolInvocation": {
            "toolCallId": "r", "toolName": "rain", "args": {}, "state": "result", "result": "yes"}},
        {"type": "text", "text": "It rains."}]}]  # fmt: skip
    assert said(load(write(tmp_path, old))) == [("assistant", ""), ("tool", "yes"), ("assistant", "It rains.")]


def test_letta_tells_what_is_in_the_context(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(LETTA))  # encoded twice, as some of these files are
    whole, seen = load(path), load(path, compaction="last-seen")
    assert (whole.format, whole.title, len(whole.messages)) == ("letta", "keeper", 4)
    assert said(seen) == [("system", "Keep notes."), ("user", "New."), ("assistant", "Noted.")]
    assert lost(whole) == lost(seen) == {"message that is not in the agent's context any more": 1}


def test_inspect_samples_get_their_attachments_back(tmp_path: Path) -> None:
    path = write(tmp_path, INSPECT)
    assert [one.messages for one in conversations(path)] == [4, 1]
    first = load(path, 1)
    assert first.format == "inspect"
    assert said(first) == [
        ("user", "What is 2 + 2?"), ("assistant", ""), ("tool", "too slow"), ("assistant", "4"),
    ]  # fmt: skip
    assert (first.messages[2].parts or ())[0]["error"] is True
    assert lost(load(path, 2)) == {"attachment": 1}


def test_a_zip_of_an_export_is_read_like_the_file_in_it(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", "[]")
        archive.writestr("conversations.json", json.dumps([CLAUDE_AI, {**CLAUDE_AI, "name": "Another"}]))
    assert [one.title for one in conversations(path)] == ["A garden", "Another"]
    with pytest.raises(Several):
        load(path)
    assert load(path, 2).file == str(path)


def test_a_zip_of_samples_is_one_conversation_each(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
        for number, each in enumerate(INSPECT["samples"]):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(each))
    assert [one.messages for one in conversations(path)] == [4, 1]


def test_a_damaged_sample_of_an_archive_costs_itself(tmp_path: Path) -> None:
    path = tmp_path / "run.eval"
    with zipfile.ZipFile(path, "w") as archive:
        for number, each in enumerate(INSPECT["samples"]):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(each))
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"What is 2 + 2?", b"What is 2 + 3?"))
    assert [(one.title, one.messages) for one in conversations(path)] == [("attachment://gone", 1)]
    assert "line 2" in lost(load(path))


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"notes.txt": "hi"}, "without conversations.json; it holds notes.txt"),
        ({"conversations.json": "{broken"}, "not JSON"),
        ({"conversations.json": "[]"}, "no conversation was found"),
    ],
)
def test_Q1_an_archive_that_cannot_be_used_is_named(tmp_path: Path, members: dict[str, str], problem: str) -> None:
    path = tmp_path / "some.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    with pytest.raises(BadInput, match=problem) as raised:
        load(path)
    assert raised.value.file == str(path)


def test_Q1_a_damaged_archive_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "cut.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([CLAUDE_AI]))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BadInput, match="cannot be read"):
        load(path)
