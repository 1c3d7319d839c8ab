"""One conversation of OpenAI chat messages: array, request body, a line of JSONL; calls, parts, nulls, broken lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.errors import BadInput
from runtime.transcripts import Conversation, arrays, conversations, load, reading
from runtime.values.messages import NewMessage, calls_of

SAMPLES = Path(__file__).parent / "transcript_samples"


def write(folder: Path, value: object, name: str = "talk.json") -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(row.role, row.text) for row in conversation.messages]


def result_of(row: NewMessage) -> object:
    return next((part["call"] for part in row.parts or () if part["type"] == "tool_result"), None)


def test_a_request_body_keeps_its_tools_and_model() -> None:
    conversation = load(SAMPLES / "openai-chat.json")
    assert conversation.format == "openai-chat"
    assert conversation.model == "gpt-x"
    assert [tool.name for tool in conversation.tools] == ["find_trail"]
    assert conversation.tools[0].schema["required"] == ["near"]
    assert [role for role, _ in said(conversation)] == [
        "system", "user", "assistant", "tool", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert conversation.lost == ()


def test_every_row_says_where_it_came_from() -> None:
    assert [row.source for row in load(SAMPLES / "openai-chat.json").messages][:2] == ["/messages/0", "/messages/1"]
    assert load(SAMPLES / "openai-finetune.jsonl", 2).messages[1].source == "line 2 /messages/1"


def test_calls_stay_with_their_results_whatever_the_order() -> None:
    rows = load(SAMPLES / "openai-chat.json").messages
    assert [(call["id"], call["arguments"]) for call in calls_of(rows[2].parts)] == [
        ("c1", {"near": "Belwick"}),
        ("c2", {}),
    ]
    assert [result_of(row) for row in rows[3:5]] == ["c2", "c1"]


def test_a_bare_array_a_body_and_a_line_are_read_alike(tmp_path: Path) -> None:
    messages = json.loads((SAMPLES / "openai-chat.json").read_text("utf-8"))["messages"]
    bare = load(write(tmp_path, messages))
    line = load(write(tmp_path, json.dumps({"messages": messages}), "one.jsonl"))
    rows = load(write(tmp_path, "\n".join(json.dumps(message) for message in messages), "rows.jsonl"))
    assert said(bare) == said(line) == said(rows) == said(load(SAMPLES / "openai-chat.json"))
    assert rows.messages[3].source == "line 4"


def test_C74_developer_function_parts_and_null() -> None:
    conversation = load(SAMPLES / "openai-legacy.json")
    assert said(conversation) == [
        ("system", "Use the ledger."),
        ("user", "What do we owe?"),
        ("assistant", ""),
        ("tool", "42 crowns"),
    ]
    call = calls_of(conversation.messages[2].parts)[0]
    assert call["name"] == "ledger"
    assert result_of(conversation.messages[3]) == call["id"]
    assert conversation.messages[0].flags == ("developer",)
    assert not any("None" in row.text for row in conversation.messages)


@pytest.mark.parametrize("name", ["openai-chat.json", "openai-finetune.jsonl", "claude-code.jsonl"])
def test_C70_a_byte_order_mark_loses_nothing(tmp_path: Path, name: str) -> None:
    marked = tmp_path / name
    marked.write_bytes(b"\xef\xbb\xbf" + (SAMPLES / name).read_bytes())
    assert [one.messages for one in conversations(marked)] == [one.messages for one in conversations(SAMPLES / name)]
    assert load(marked, 1).messages == load(SAMPLES / name, 1).messages


def test_C65_lone_surrogates_become_replacement_characters(tmp_path: Path) -> None:
    path = write(tmp_path, '[{"role": "user", "content": "half \\ud83d emoji", "name": "\\udc00"}]')
    row = load(path).messages[0]
    assert row.text == "half \ufffd emoji"
    assert row.parts == ({"type": "name", "name": "\ufffd"},)


def test_a_broken_line_costs_that_line_and_is_named(tmp_path: Path) -> None:
    good = json.dumps({"messages": [{"role": "user", "content": "hi"}]})
    path = write(tmp_path, "\n".join([good, '{"messages": [', "", '"massive error"', good, "42"]), "set.jsonl")
    assert [one.source for one in conversations(path)] == ["line 1", "line 5"]
    lost = {one.what: one.reason for one in load(path, 2).lost}
    assert "not an object" in lost["line 4"]
    assert "cannot be read" in lost["line 2"]


def test_a_broken_first_line_is_a_broken_line_too(tmp_path: Path) -> None:
    good = json.dumps({"messages": [{"role": "user", "content": "hi"}]})
    path = write(tmp_path, "\n".join(["{oops", good, good]), "set.jsonl")
    assert [one.source for one in conversations(path)] == ["line 2", "line 3"]


def test_several_conversations_are_listed_and_picked() -> None:
    path = SAMPLES / "openai-finetune.jsonl"
    listed = list(conversations(path))
    assert [(one.number, one.title, one.messages) for one in listed] == [
        (1, "Capital of Peru?", 3),
        (2, "Two plus two?", 4),
    ]
    assert load(path, 2).messages[-1].text == "Seven."
    assert (load(path, 2).number, load(path, 2).of) == (2, 2)
    with pytest.raises(BadInput, match="holds several conversations: pick one"):
        load(path)
    with pytest.raises(BadInput, match="there is no number 3"):
        load(path, 3)


def test_arguments_as_text_twice_encoded_broken_or_of_another_type(tmp_path: Path) -> None:
    given = ['"{\\"a\\": 1}"', "{broken", "", None, {"b": 2}, "[1]", "null"]
    made = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": a}} for n, a in enumerate(given)]
    conversation = load(write(tmp_path, [{"role": "assistant", "tool_calls": made}]))
    calls = calls_of(conversation.messages[0].parts)
    assert [call["arguments"] for call in calls] == [{"a": 1}, "{broken", {}, {}, {"b": 2}, "[1]", {}]
    assert {one.what for one in conversation.lost} == {"arguments encoded twice", "call without a result"}


def test_one_id_for_every_call_pairs_by_order(tmp_path: Path) -> None:
    def call(n: int) -> dict[str, object]:
        return {"id": "call_id", "function": {"name": f"f{n}", "arguments": "{}"}}

    conversation = load(
        write(
            tmp_path,
            [
                {"role": "user", "content": "go"},
                {"role": "assistant", "tool_calls": [call(1), call(2)]},
                {"role": "tool", "tool_call_id": "call_id", "content": "one"},
                {"role": "tool", "tool_call_id": "call_id", "content": "two"},
                {"role": "tool", "tool_call_id": "call_id", "content": "three"},
            ],
        )
    )
    names = [part["name"] for row in conversation.messages[2:] for part in row.parts or ()]
    assert names == ["f1", "f2", ""]
    assert [one.what for one in conversation.lost] == ["result without a call"]


def test_ollamas_dialect_pairs_the_same_tool_by_order() -> None:
    conversation = load(SAMPLES / "ollama.json")
    assert conversation.format == "ollama"
    ids = [call["id"] for call in calls_of(conversation.messages[1].parts)]
    assert len(set(ids)) == 2
    assert [result_of(row) for row in conversation.messages[2:4]] == ids


def test_pictures_leave_a_placeholder_and_a_reference(tmp_path: Path) -> None:
    large = "data:image/png;base64," + "A" * 100_000
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": large}}, {"type": "hologram"}]
    conversation = load(write(tmp_path, [{"role": "user", "content": parts}]))
    assert conversation.messages[0].text == "see\n[image]"
    assert conversation.messages[0].parts == ({"type": "image"},)
    assert [one.what for one in conversation.lost] == ["image", "content part 'hologram'"]


def test_a_batch_line_and_a_stored_completion(tmp_path: Path) -> None:
    body = {"model": "gpt-x", "messages": [{"role": "user", "content": "hi"}]}
    batch = load(write(tmp_path, {"custom_id": "1", "method": "POST", "url": "/v1", "body": body}))
    assert said(batch) == [("user", "hi")]
    assert batch.model == "gpt-x"
    completion = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "yo"}}]}
    assert said(load(write(tmp_path, completion))) == [("assistant", "yo")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("  \n ", "the file is empty"),
        ("hello", "not JSON"),
        ('{"messages": [{"role": "user"', "not JSON"),
        ("[1, 2]", "no conversation was found"),
        ('{"a": 1}', "its keys are a"),
        ("null", "no conversation was found"),
        ("[]", "an empty list"),
        ("[" * 100_000, "nested too deeply"),
        ('{"chunkedPrompt": {"chunks": []}}', "an AI Studio prompt"),
        ("1" * 5_000, "not JSON"),
    ],
)
def test_Q1_what_is_no_conversation_is_one_error_with_the_file(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(BadInput, match=problem) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_Q1_a_syntax_error_has_line_and_column(tmp_path: Path) -> None:
    path = write(tmp_path, '{\n  "messages": [\n    {"role": "user",}\n  ]\n}\n')
    with pytest.raises(BadInput) as caught:
        load(path)
    assert caught.value.line == 3


def test_Q1_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(BadInput, match="cannot be read"):
            load(path)


def test_an_empty_conversation_is_one_without_messages(tmp_path: Path) -> None:
    assert load(write(tmp_path, {"messages": []})).messages == ()


def test_a_json_text_that_holds_json_is_read(tmp_path: Path) -> None:
    inner = json.dumps({"messages": [{"role": "user", "content": "hi"}]})
    assert said(load(write(tmp_path, json.dumps(inner)))) == [("user", "hi")]


def test_progress_is_told_and_can_stop(tmp_path: Path) -> None:
    line = json.dumps({"messages": [{"role": "user", "content": "hi"}]}) + "\n"
    path = write(tmp_path, line * 6_000, "big.jsonl")
    told: list[tuple[int, int]] = []
    assert sum(1 for _ in conversations(path, progress=lambda done, of: told.append((done, of)))) == 6_000
    assert told[-1] == (path.stat().st_size, path.stat().st_size)

    class Stopped(Exception):
        pass

    def stop(done: int, of: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        list(conversations(path, progress=stop))


def test_a_large_array_is_read_one_conversation_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGE_ARRAY", 100)
    monkeypatch.setattr(reading, "LARGEST_JSON", 0)
    monkeypatch.setattr(arrays, "CHUNK", 7)
    talks = [{"messages": [{"role": "user", "content": f'höher {n} ]}}, " \\'}]} for n in range(9)]
    path = tmp_path / "many.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(talks, indent=1, ensure_ascii=False).encode())
    told: list[int] = []
    listed = list(conversations(path, progress=lambda done, of: told.append(done)))
    assert [(one.title, one.source) for one in listed] == [(f'höher {n} ]}}, " \\', f"/{n}") for n in range(9)]
    assert told == sorted(told)
    assert load(path, 9).messages[0].text == listed[8].title


def test_Q1_a_large_array_that_is_cut_off_names_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGE_ARRAY", 10)
    path = tmp_path / "many.json"
    path.write_text('[\n{"messages": []},\n{"messages": [', "utf-8")
    with pytest.raises(BadInput) as caught:
        load(path, 2)
    assert (caught.value.line, caught.value.file) == (3, str(path))
    assert [one.what for one in load(path, 1).lost] == ["rest of the file"]


def test_a_large_array_of_messages_is_one_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGE_ARRAY", 10)
    path = write(tmp_path, [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}])
    assert said(load(path)) == [("user", "one"), ("assistant", "two")]
    monkeypatch.setattr(reading, "LARGEST_JSON", 20)
    with pytest.raises(BadInput, match="one conversation per line"):
        load(path)
