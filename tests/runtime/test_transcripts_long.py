"""Long conversations: rows on disk, sessions read once, big files streamed; the same as if they were short."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadInput
from runtime.imports import _minus, _within, import_conversation
from runtime.stores import open_store
from runtime.transcripts import conversations, load
from runtime.transcripts.rows import Rows
from runtime.transcripts.spool import Spool
from runtime.transcripts.turns import recover
from runtime.values.messages import NewMessage

ROW = st.builds(
    NewMessage,
    st.sampled_from(["user", "assistant", "system"]),
    st.text(max_size=40),
    st.none() | st.just(({"type": "name", "name": "n"},)),
    st.none() | st.just("line 3"),
    st.sampled_from([(), ("summary",), ("hidden",)]),
)


@given(st.lists(ROW, max_size=30), st.integers(0, 6), st.lists(st.integers(0, 35), max_size=3))
def test_a_spool_is_a_list_whatever_it_holds_in_memory(rows: list[NewMessage], held: int, hidden: list[int]) -> None:
    spool, plain = Spool(held=1_000, rows=held), Rows(Spool())
    for row in rows:
        spool.append(row)
        plain.messages.append(row)
    assert not plain.messages.on_disk
    for first in hidden:
        assert spool.hide(first) == plain.messages.hide(first)
    expected = list(plain.messages)
    assert list(spool) == expected
    assert [spool[at] for at in range(len(spool))] == expected
    assert list(reversed(spool)) == expected[::-1]
    assert list(spool[2:5]) == expected[2:5]
    assert list(spool.only(lambda row: row.role == "user")) == [row for row in expected if row.role == "user"]
    assert spool.asked == plain.messages.asked
    assert recover(spool) == recover(expected)


RANGES = st.lists(st.integers(1, 40), unique=True, max_size=20).map(
    lambda numbers: [(number, number) for number in sorted(numbers)]
)


@given(RANGES, RANGES, st.integers(0, 45))
def test_ranges_without_others_are_what_sets_would_give(
    ranges: list[tuple[int, int]], others: list[tuple[int, int]], last: int
) -> None:
    one = {seq for low, high in ranges for seq in range(low, high + 1)}
    other = {seq for low, high in others for seq in range(low, high + 1)}
    assert list(_within(_minus(ranges, others), last)) == sorted(seq for seq in one - other if seq <= last)
    assert list(_within(_minus([(1, 40)], others), 40)) == sorted(set(range(1, 41)) - other)


def session(path: Path, turns: int, *, branch_at: int = 0, cuts: int = 0, side: bool = False, width: int = 20) -> Path:
    """A session of `turns` requests with two answers each; one request was asked twice, the first time in vain."""
    numbers = count(1)
    parent: str | None = None
    lines: list[dict[str, object]] = []

    def put(kind: str, content: object, *, of: str | None, **more: object) -> str:
        uuid = f"r{next(numbers)}"
        lines.append(
            {"type": kind, "uuid": uuid, "parentUuid": of, "message": {"role": kind, "content": content}, **more}
        )
        return uuid

    for turn in range(1, turns + 1):
        if turn == branch_at:
            put("assistant", "abandoned answer", of=put("user", "abandoned", of=parent))
        if cuts and turn % cuts == 0:
            parent = put("user", f"summary before {turn}", of=None, isCompactSummary=True)
        parent = put("user", f"request {turn} " + "x" * width, of=parent)
        call = {"type": "tool_use", "id": f"t{turn}", "name": "look", "input": {"n": turn}}
        parent = put("assistant", [call], of=parent)
        parent = put("user", [{"type": "tool_result", "tool_use_id": f"t{turn}", "content": "y" * width}], of=parent)
        parent = put("assistant", [{"type": "text", "text": f"answer {turn}"}], of=parent)
        if side and turn % 3 == 0:
            put("user", f"side {turn}", of=None, isSidechain=True, agentId=f"s{turn}")
            put("assistant", "found", of=f"r{next(numbers) - 1}", isSidechain=True, agentId=f"s{turn}")
    path.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    return path


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows go to disk from the ninth on."""
    monkeypatch.setattr(Spool.__init__, "__kwdefaults__", {"held": 4_000_000, "rows": 8})


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize("branch_at", [0, 5])
@pytest.mark.parametrize("cuts", [0, 4])
async def test_a_long_session_is_the_same_thread_as_a_short_one(tmp_path: Path, branch_at: int, cuts: int) -> None:
    path = session(tmp_path / "s.jsonl", 12, branch_at=branch_at, cuts=cuts)
    conversation = load(path)
    assert len(conversation.messages) == 48 + (12 // cuts if cuts else 0)
    assert not isinstance(conversation.messages, tuple)
    assert not any("abandoned" in row.text for row in conversation.messages)
    assert {one.what for one in conversation.lost} == ({"message of an abandoned branch"} if branch_at else set())
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    imported = await import_conversation(store, conversation)
    assert imported.turns == 12
    rows = await store.list_messages(imported.thread, 10_000)
    assert [(row.role, row.text, row.source) for row in rows] == [
        (row.role, row.text, row.source) for row in conversation.messages
    ]
    await store.close()


@pytest.mark.usefixtures("small_memory")
def test_what_the_model_last_saw_begins_with_the_newest_summary(tmp_path: Path) -> None:
    conversation = load(session(tmp_path / "s.jsonl", 12, cuts=4), compaction="last-seen")
    assert conversation.messages[0].text == "summary before 12"
    assert len(conversation.messages) == 5


def test_side_chains_are_counted_in_one_more_reading(tmp_path: Path) -> None:
    path = session(tmp_path / "s.jsonl", 9, side=True)
    listed = list(conversations(path))
    assert [(one.messages, one.aside) for one in listed] == [(36, False), (2, True), (2, True), (2, True)]
    assert [row.text for row in load(path, 3).messages] == ["side 6", "found"]
    assert len(load(path).messages) == 36


def test_a_long_file_is_read_in_little_memory(tmp_path: Path) -> None:
    path = session(tmp_path / "s.jsonl", 1_500, width=8_000)
    size = path.stat().st_size
    assert size > 20_000_000
    tracemalloc.start()
    conversation = load(path)
    turns = sum(1 for _ in _turns(conversation.messages))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert turns == 1_500
    assert peak < size / 1.5


def _turns(rows: object) -> Iterator[object]:
    from runtime.transcripts.turns import turns_of

    return turns_of(rows)  # type: ignore[arg-type]  # a sequence of rows, as the caller knows


class Stop(Exception):
    """Raised by a progress that has seen enough."""


def test_reading_and_listing_tell_how_far_they_are_and_can_be_stopped(tmp_path: Path) -> None:
    path = session(tmp_path / "s.jsonl", 1_000, width=2_000)
    told: list[tuple[int, int]] = []

    def watch(done: int, of: int) -> None:
        told.append((done, of))
        if len(told) == 3:
            raise Stop

    readings: list[Callable[[], object]] = [
        lambda: load(path, progress=watch),
        lambda: list(conversations(path, progress=watch)),
    ]
    for reading in readings:
        told.clear()
        with pytest.raises(Stop):
            reading()
        assert told[0][1] == path.stat().st_size
        assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_broken_lines_are_named_while_they_are_few_and_counted_always(tmp_path: Path) -> None:
    path = session(tmp_path / "s.jsonl", 2)
    path.write_text(path.read_text("utf-8") + "\n" + "{broken\n" * 90 + "17\n", "utf-8")
    lost = load(path).lost
    assert [one.what for one in lost] == ["line 9", "line 10", "line 11", "further line"]
    assert lost[-1].count == 88
    assert lost[-1].reason.endswith("48 ...")


def test_Q1_a_session_file_that_is_gone_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        load(tmp_path / "none.jsonl")
