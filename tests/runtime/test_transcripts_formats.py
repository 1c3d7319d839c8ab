"""Every other format: detection by content with a reason, rows, results paired, what is lost, hidden, compacted."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from runtime.errors import BadInput
from runtime.transcripts import Conversation, conversations, load
from runtime.values.messages import NewMessage, calls_of

SAMPLES = Path(__file__).parent / "transcript_samples"

FORMATS = {
    "openai-chat.json": ("openai-chat", [8]),
    "openai-finetune.jsonl": ("openai-chat", [3, 4]),
    "openai-legacy.json": ("openai-chat", [4]),
    "ollama.json": ("ollama", [5]),
    "responses-items.json": ("openai-responses", [7]),
    "responses-body.json": ("openai-responses", [3]),
    "runstate.json": ("agents-sdk", [2]),
    "anthropic.json": ("anthropic", [8]),
    "claude-code.jsonl": ("claude-code", [7, 2]),
    "codex.jsonl": ("codex", [9]),
    "gemini.json": ("gemini", [5]),
    "adk-session.json": ("adk-session", [6]),
    "adk-evalset.json": ("adk-evalset", [3, 1]),
    "langchain-dict.json": ("langchain", [4]),
    "langchain-lc.json": ("langchain", [4]),
    "langchain-flat.json": ("langchain", [3]),
    "pydantic-ai.json": ("pydantic-ai", [6]),
    "sharegpt.json": ("sharegpt", [5, 3]),
    "otel.json": ("otel-genai", [5, 0]),
    "openinference.jsonl": ("openinference", [4]),
    "chatgpt.json": ("chatgpt", [4]),
    "claude-ai.json": ("claude-ai", [5]),
    "open-webui.json": ("open-webui", [2]),
    "vercel.json": ("vercel", [6]),
    "letta.json": ("letta", [4]),
    "inspect.json": ("inspect", [4, 1]),
}


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(row.role, row.text) for row in conversation.messages]


def lost(conversation: Conversation) -> dict[str, int]:
    return {one.what: one.count for one in conversation.lost}


def answers(row: NewMessage) -> object:
    return next((part["call"] for part in row.parts or () if part["type"] == "tool_result"), None)


def write(folder: Path, value: object) -> Path:
    path = folder / "given.txt"
    path.write_text(json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_the_format_is_told_from_content_with_a_reason(name: str, tmp_path: Path) -> None:
    format, counts = FORMATS[name]
    renamed = tmp_path / "unnamed"
    shutil.copyfile(SAMPLES / name, renamed)
    assert [one.messages for one in conversations(renamed)] == counts
    conversation = load(renamed, 1)
    assert conversation.format == format
    assert conversation.detected.why


def test_every_sample_is_tested() -> None:
    assert sorted(FORMATS) == sorted(path.name for path in SAMPLES.iterdir())


@pytest.mark.parametrize("name", FORMATS)
def test_every_row_has_a_source_and_every_result_its_call(name: str) -> None:
    for number in range(1, len(FORMATS[name][1]) + 1):
        rows = load(SAMPLES / name, number).messages
        called = {call["id"] for row in rows for call in calls_of(row.parts)}
        for row in rows:
            assert row.source
            if row.role == "tool":
                assert answers(row) in called


def test_responses_group_calls_with_the_reasoning_before_them() -> None:
    rows = load(SAMPLES / "responses-items.json").messages
    assert [part["type"] for part in rows[1].parts or ()] == ["reasoning", "tool_call", "tool_call"]
    assert [answers(row) for row in rows[2:4]] == ["call_b", "call_a"]
    assert rows[5].text == "[web_search_call: completed]"


def test_a_response_that_goes_on_from_another_says_so() -> None:
    assert "earlier messages" in lost(load(SAMPLES / "responses-body.json"))


def test_a_call_told_twice_in_a_run_state_is_kept_once() -> None:
    assert lost(load(SAMPLES / "runstate.json")) == {"call told twice": 1, "call without a result": 1}


def test_agents_sdk_database_holds_a_thread_per_session(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE agent_sessions (session_id TEXT)")
        database.execute("CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT)")
        for session, item in [("b", "one"), ("a", "two"), ("b", "three")]:
            data = json.dumps({"role": "user", "content": item})
            database.execute("INSERT INTO agent_messages (session_id, message_data) VALUES (?, ?)", (session, data))
        database.execute("INSERT INTO agent_messages (session_id, message_data) VALUES ('b', 'broken')")
        database.commit()
    assert [(one.title, one.messages, one.source) for one in conversations(path)] == [
        ("b", 2, "session b"),
        ("a", 1, "session a"),
    ]
    assert said(load(path, 1)) == [("user", "one"), ("user", "three")]
    assert load(path, 1).format == "agents-sdk"


@pytest.mark.parametrize("live", [False, True])
def test_a_database_with_a_log_is_read_without_leaving_anything_beside_it(tmp_path: Path, live: bool) -> None:
    path = tmp_path / "kept.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE agent_sessions (session_id TEXT)")
        database.execute("CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT)")
        item = json.dumps({"role": "user", "content": "one"})
        database.execute("INSERT INTO agent_messages (session_id, message_data) VALUES ('a', ?)", (item,))
        database.commit()
        if live:
            assert said(load(path)) == [("user", "one")]
    assert said(load(path)) == [("user", "one")]
    assert [one.name for one in tmp_path.iterdir()] == ["kept.sqlite"]


def test_adk_database(tmp_path: Path) -> None:
    path = tmp_path / "adk.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE sessions (id TEXT)")
        database.execute("CREATE TABLE events (app_name, user_id, session_id, timestamp REAL, event_data TEXT)")
        for at, (role, text) in enumerate([("user", "hi"), ("model", "hello")]):
            event = {
                "author": "user" if role == "user" else "porter",
                "content": {"role": role, "parts": [{"text": text}]},
            }
            database.execute("INSERT INTO events VALUES ('app', 'u', 's', ?, ?)", (at, json.dumps(event)))
        database.commit()
    assert said(load(path)) == [("user", "hi"), ("assistant", "hello")]


def test_Q1_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE cats (name)")
        database.commit()
    with pytest.raises(BadInput, match="its tables: cats"):
        load(path)
    path.write_bytes(b"SQLite format 3\x00" + b"x" * 2_000)
    with pytest.raises(BadInput, match="cannot be read"):
        load(path)


def test_anthropic_results_come_before_what_else_the_user_says() -> None:
    conversation = load(SAMPLES / "anthropic.json")
    assert said(conversation)[3:6] == [("tool", "done"), ("tool", "no water"), ("user", "Hurry please.")]
    assert [part["error"] for row in conversation.messages[3:5] for part in row.parts or ()] == [False, True]
    assert said(conversation)[0] == ("system", "You tend a garden.")
    assert conversation.tools[0].name == "water"


def test_claude_code_shows_the_branch_that_went_on() -> None:
    conversation = load(SAMPLES / "claude-code.jsonl")
    assert said(conversation) == [
        ("user", "Fix the parser"),
        ("assistant", "Reading."),
        ("tool", "def parse(): ..."),
        ("assistant", "Fixed."),
        ("system", "This session is continued. The parser was fixed."),
        ("user", "Now the tests"),
        ("assistant", "Tests added."),
    ]
    assert conversation.title == "Fixing the parser"
    assert lost(conversation) == {
        "record written twice": 1,
        "message of an abandoned branch": 1,
        "meta message": 1,
        "side chain": 1,
    }


def test_claude_code_joins_the_blocks_of_one_response() -> None:
    row = load(SAMPLES / "claude-code.jsonl").messages[1]
    assert (row.text, [call["id"] for call in calls_of(row.parts)]) == ("Reading.", ["t1"])


def test_claude_code_side_chains_are_their_own_conversations() -> None:
    listed = list(conversations(SAMPLES / "claude-code.jsonl"))
    assert [(one.title, one.aside) for one in listed] == [("Fixing the parser", False), ("side chain scout", True)]
    assert said(load(SAMPLES / "claude-code.jsonl", 2)) == [("user", "Search for uses"), ("assistant", "Two uses.")]


def test_claude_code_keeps_the_results_of_parallel_calls(tmp_path: Path) -> None:
    def record(uuid: str, parent: str | None, kind: str, content: object, id: str = "") -> dict[str, object]:
        message = {"role": kind, "content": content, **({"id": id} if id else {})}
        return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": message}

    def use(id: str) -> list[object]:
        return [{"type": "tool_use", "id": id, "name": "read", "input": {}}]

    def result(id: str) -> list[object]:
        return [{"type": "tool_result", "tool_use_id": id, "content": id}]

    records = [
        record("1", None, "user", "go"),
        record("2", "1", "assistant", use("a"), "m"),
        record("3", "2", "assistant", use("b"), "m"),
        record("4", "2", "user", result("a")),
        record("5", "3", "user", result("b")),
        record("6", "5", "assistant", [{"type": "text", "text": "done"}], "n"),
    ]
    path = tmp_path / "parallel.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    conversation = load(path)
    assert said(conversation) == [
        ("user", "go"),
        ("assistant", ""),
        ("tool", "a"),
        ("tool", "b"),
        ("assistant", "done"),
    ]
    assert conversation.lost == ()


def test_clear_begins_another_conversation(tmp_path: Path) -> None:
    def line(kind: str, content: str) -> str:
        return json.dumps({"type": kind, "message": {"content": content}})

    path = tmp_path / "cleared.jsonl"
    clear = line("user", "<command-name>/clear</command-name>")
    path.write_text("\n".join([line("user", "one"), line("assistant", "1"), clear, line("user", "two")]), "utf-8")
    assert [one.title for one in conversations(path)] == ["one", "two"]


def test_a_boundary_without_a_parent_still_follows_what_came_before(tmp_path: Path) -> None:
    text = (SAMPLES / "claude-code.jsonl").read_text("utf-8").replace('"logicalParentUuid": "a6"', '"other": 1')
    path = tmp_path / "session.jsonl"
    path.write_text(text, "utf-8")
    assert said(load(path)) == said(load(SAMPLES / "claude-code.jsonl"))


@pytest.mark.parametrize("name", ["claude-code.jsonl", "codex.jsonl"])
def test_a_summary_is_never_something_the_user_said(name: str) -> None:
    rows = load(SAMPLES / name).messages
    assert [row.role for row in rows if "summary" in row.flags] == ["system"]
    assert not any("parser was fixed" in row.text or "Earlier:" in row.text for row in rows if row.role == "user")


def test_a_compacted_session_whole_or_as_last_seen() -> None:
    claude = load(SAMPLES / "claude-code.jsonl", compaction="last-seen")
    assert [text for _, text in said(claude)][1:] == ["Now the tests", "Tests added."]
    assert lost(claude)["message before the last compaction"] == 4
    codex = load(SAMPLES / "codex.jsonl", compaction="last-seen")
    assert said(codex) == [
        ("system", "You edit code."),
        ("system", "<environment_context>cwd</environment_context>"),
        ("system", "Earlier: the files were listed."),
        ("user", "List files"),
        ("user", "Count them"),
        ("assistant", "One."),
    ]


def test_codex_reads_the_items_and_marks_what_the_program_put_in() -> None:
    conversation = load(SAMPLES / "codex.jsonl")
    assert [row.text for row in conversation.messages if "injected" in row.flags] == [
        "<environment_context>cwd</environment_context>"
    ]
    assert [text for role, text in said(conversation) if role == "user"] == ["List files", "Count them"]
    assert conversation.model == "gpt-x"


def test_codex_rollback_hides_the_turns_taken_back(tmp_path: Path) -> None:
    def item(role: str, text: str) -> dict[str, object]:
        return {"type": "response_item", "payload": {"type": "message", "role": role, "content": text}}

    records = [
        {"type": "session_meta", "payload": {"id": "r"}},
        item("user", "one"),
        item("assistant", "1"),
        item("user", "two"),
        item("assistant", "2"),
        {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
        item("user", "three"),
    ]
    path = tmp_path / "rolled.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    rows = load(path).messages
    assert [(row.text, row.flags) for row in rows[2:]] == [("two", ("hidden",)), ("2", ("hidden",)), ("three", ())]


def test_gemini_tells_results_by_the_part_and_pairs_by_name() -> None:
    conversation = load(SAMPLES / "gemini.json")
    assert said(conversation)[3] == ("tool", '{"yen":171.5}')
    assert answers(conversation.messages[3]) == calls_of(conversation.messages[2].parts)[0]["id"]


def test_adk_rewinds_are_hidden_and_authors_kept() -> None:
    conversation = load(SAMPLES / "adk-session.json")
    assert [row.text for row in conversation.messages if "hidden" in row.flags] == ["Close it", "Closed."]
    assert conversation.messages[1].parts == ({"type": "author", "name": "porter"},)
    assert lost(conversation)["partial event"] == 1


def test_langchain_shapes_are_one_dialogue_and_calls_are_not_doubled() -> None:
    shapes = [load(SAMPLES / f"langchain-{name}.json") for name in ("dict", "lc")]
    assert said(shapes[0]) == said(shapes[1])
    assert [len(calls_of(shape.messages[1].parts)) for shape in shapes] == [1, 1]
    flat = load(SAMPLES / "langchain-flat.json")
    assert said(flat) == said(shapes[0])[:3]
    assert lost(flat) == {"removed message": 1}


def test_pydantic_ai_says_instructions_once_and_retries_as_errors() -> None:
    rows = load(SAMPLES / "pydantic-ai.json").messages
    assert [row.text for row in rows if row.role == "system"] == ["Be kind."]
    assert [part["error"] for part in rows[3].parts or ()] == [True]


def test_C73_sharegpt_call_and_result_are_one_unit(tmp_path: Path) -> None:
    turns = [
        {"from": "system", "value": "s"},
        {"from": "human", "value": "h"},
        {"from": "function_call", "value": '{"name":"f","arguments":{}}'},
        {"from": "observation", "value": "42"},
        {"role": "assistant", "content": "a"},
    ]
    conversation = load(write(tmp_path, [{"conversations": turns}]))
    assert said(conversation) == [("system", "s"), ("user", "h"), ("assistant", ""), ("tool", "42"), ("assistant", "a")]
    assert answers(conversation.messages[3]) == calls_of(conversation.messages[2].parts)[0]["id"]


def test_C73_an_unknown_from_is_an_error_with_file_and_position(tmp_path: Path) -> None:
    path = write(tmp_path, [{"conversations": [{"from": "human", "value": "h"}, {"from": "robot", "value": "?"}]}])
    with pytest.raises(BadInput, match="'robot'") as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "/0/conversations/1" in str(caught.value)


def test_spans_give_the_last_call_of_a_trace_once() -> None:
    conversation = load(SAMPLES / "otel.json", 1)
    assert said(conversation) == [
        ("system", "Weather only."),
        ("user", "Rain in Bergen?"),
        ("assistant", ""),
        ("tool", "yes"),
        ("assistant", "Yes, rain."),
    ]
    assert lost(conversation) == {"span": 1}


def test_a_cut_off_attribute_and_spans_without_content_say_so(tmp_path: Path) -> None:
    assert "attribute" in lost(load(SAMPLES / "otel.json", 2))
    bare = {"trace_id": "t", "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-x"}}
    assert "messages" in lost(load(write(tmp_path, bare)))


def test_chatgpt_reads_the_branch_that_is_current() -> None:
    conversation = load(SAMPLES / "chatgpt.json")
    assert said(conversation)[-1] == ("assistant", "The Penny Black.")
    assert lost(conversation) == {"message of an abandoned branch": 1}
    assert calls_of(conversation.messages[1].parts)[0]["name"] == "browser"


def test_a_trajectory_keeps_its_history(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "s", "agent": "main"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "function": {"name": "ls", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "a.py", "tool_call_ids": ["c"]},
    ]
    conversation = load(write(tmp_path, {"trajectory": [], "history": history}))
    assert said(conversation) == [("system", "s"), ("assistant", ""), ("tool", "a.py")]
    assert answers(conversation.messages[2]) == "c"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"chunkedPrompt": {"chunks": []}}, "an AI Studio prompt"),
        ({"history": {"entries": {}}}, "no conversation was found"),
        ([{"id": "m", "role": "user", "parts": [{"type": "text", "words": "hi"}]}], "no conversation was found"),
    ],
)
def test_Q1_formats_that_are_not_read_are_refused(tmp_path: Path, value: object, name: str) -> None:
    with pytest.raises(BadInput, match=name):
        load(write(tmp_path, value))
