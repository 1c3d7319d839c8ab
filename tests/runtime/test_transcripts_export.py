"""Out again: rows as OpenAI chat or Anthropic messages; loaded, exported and loaded again they are the same."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.transcripts import Conversation, conversations, load
from runtime.transcripts.export import Dialect, export
from runtime.values.json import Json, JsonObject
from runtime.values.messages import NewMessage, Role, tool_call_part, tool_result_part

SAMPLES = Path(__file__).parent / "transcript_samples"
NAMES = sorted(path.name for path in SAMPLES.iterdir())


def again(rows: Sequence[NewMessage], dialect: Dialect, conversation: Conversation | None = None) -> Conversation:
    tools, model = (conversation.tools, conversation.model) if conversation else ((), "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.json"
        path.write_text(export(rows, dialect, tools=tools, model=model).text(), "utf-8")
        return load(path)


def told(row: NewMessage) -> tuple[str, str, tuple[JsonObject, ...], bool]:
    return row.role, row.text, row.parts or (), "developer" in row.flags


@pytest.mark.parametrize("name", NAMES)
def test_openai_export_loads_as_the_same_conversation(name: str) -> None:
    for listed in conversations(SAMPLES / name):
        first = load(SAMPLES / name, listed.number)
        second = again(first.messages, "openai", first)
        kept = [_without_author_and_signature(row) for row in first.messages]
        assert [told(row) for row in second.messages] == [told(row) for row in kept]
        assert second.tools == first.tools
        assert second.model == first.model


@pytest.mark.parametrize("name", ["anthropic.json", "openai-chat.json", "openai-finetune.jsonl", "sharegpt.json"])
def test_anthropic_export_loads_as_the_same_conversation(name: str) -> None:
    first = load(SAMPLES / name, 1)
    second = again(first.messages, "anthropic", first)
    assert [told(row) for row in second.messages] == [told(row) for row in first.messages]
    assert second.tools == first.tools


def test_anthropic_export_puts_results_into_one_user_message() -> None:
    body = export(load(SAMPLES / "anthropic.json").messages, "anthropic").value
    messages = body["messages"]
    assert isinstance(messages, list)
    assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert body["system"] == "You tend a garden."


def test_what_a_dialect_cannot_say_is_listed() -> None:
    rows = [
        NewMessage("user", "hi"),
        NewMessage("system", "be short"),
        NewMessage("assistant", "", ({"type": "reasoning", "text": "hm"}, tool_call_part("c", "f", "no object"))),
    ]
    lost = {one.what for one in export(rows, "anthropic").lost}
    assert lost == {"system message in mid-conversation", "reasoning", "arguments that are no object"}


def test_a_message_with_calls_alone_has_null_content() -> None:
    body = export(
        [NewMessage("assistant", "", (tool_call_part("c", "f", {}),)), NewMessage("user", "")], "openai"
    ).value
    messages = body["messages"]
    assert isinstance(messages, list)
    assert messages[0]["content"] is None
    assert messages[1]["content"] == ""


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
_JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def talks(draw: st.DrawFn) -> list[NewMessage]:
    """Conversations in which every call is answered, in some order."""
    rows: list[NewMessage] = []
    made = 0
    for _ in range(draw(st.integers(0, 6))):
        role: Role = draw(st.sampled_from(("user", "assistant", "system")))
        parts: list[JsonObject] = []
        text = draw(_TEXT)
        if role == "user" and draw(st.booleans()):
            parts = [{"type": "image", "ref": "https://example.org/a.png"}]
            text = "\n".join(part for part in (text.replace("[", ""), "[image]") if part)
        calls = draw(st.integers(0, 3)) if role == "assistant" else 0
        ids = [f"id{made + n}" for n in range(calls)]
        made += calls
        parts += [tool_call_part(id, f"tool_{id}", draw(st.dictionaries(_TEXT, _JSON, max_size=2))) for id in ids]
        rows.append(NewMessage(role, text, tuple(parts) or None))
        for id in draw(st.permutations(ids)):
            rows.append(
                NewMessage("tool", draw(_TEXT), (tool_result_part(id, f"tool_{id}", error=draw(st.booleans())),))
            )
    return rows


@given(talks())
def test_any_conversation_survives_export_and_import(rows: list[NewMessage]) -> None:
    second = again(rows, "openai")
    assert [told(row) for row in second.messages] == [told(row) for row in rows]
    json.loads(export(rows, "anthropic").text())


def _without_author_and_signature(row: NewMessage) -> NewMessage:
    """What chat messages have no place for."""
    parts = [
        {key: value for key, value in part.items() if key != "signature"}
        for part in row.parts or ()
        if part["type"] != "author"
    ]
    return NewMessage(row.role, row.text, tuple(parts) or None, row.source, row.flags)
