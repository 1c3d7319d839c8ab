"""Server-sent events: line ends, split bytes, and characters that are text (C51)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models.sse import EventReader, ServerEvent


def read(*chunks: bytes) -> list[ServerEvent]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.end()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_lf_crlf_or_cr(end: bytes) -> None:
    stream = end.join((b"event: a", b"data: 1", b"data: 2", b"", b"data: 3", b"", b""))
    assert read(stream) == [ServerEvent("a", "1\n2"), ServerEvent("", "3")]


def test_an_event_is_told_with_its_blank_line_and_not_later() -> None:
    reader = EventReader()
    assert reader.feed(b"data: 1\r\n\r") == [ServerEvent("", "1")]
    assert reader.feed(b"\ndata: 2\r\n") == []
    assert reader.feed(b"\r\n") == [ServerEvent("", "2")]
    assert reader.end() == []


def test_a_line_feed_after_a_split_crlf_is_a_blank_line() -> None:
    assert read(b"data: 1\r", b"\n", b"\n", b"data: 2\r", b"", b"\n\n") == [ServerEvent("", "1"), ServerEvent("", "2")]


def test_C51_line_separators_of_unicode_are_text() -> None:
    text = "a\u2028b\u2029c\u0085d"
    assert read(f"data: {text}\n\n".encode()) == [ServerEvent("", text)]


def test_utf8_split_across_chunks() -> None:
    stream = "data: é漢🙂\n\n".encode()
    assert read(*(stream[n : n + 1] for n in range(len(stream)))) == [ServerEvent("", "é漢🙂")]


def test_broken_utf8_is_replaced() -> None:
    assert read(b"data: a\xffb\n\n") == [ServerEvent("", "a\ufffdb")]


def test_C49_comments_unknown_fields_and_blank_lines_are_passed_over() -> None:
    stream = b": PROCESSING\n\n:\n\n: ping\nid: 7\nretry: 3\nwhatever\n\ndata: x\n: between\ndata: y\n\n"
    assert read(stream) == [ServerEvent("", "x\ny")]


def test_the_last_blank_line_may_be_missing() -> None:
    assert read(b"data: 1\n\ndata: 2\n") == [ServerEvent("", "1"), ServerEvent("", "2")]
    assert read(b"data: 1\n\ndata: 2") == [ServerEvent("", "1"), ServerEvent("", "2")]


def test_one_blank_after_the_colon_is_dropped_and_no_more() -> None:
    assert read(b"data:x\n\n", b"data:  x \n\n", b"data\n\n", b"data:\n\n", b"database: 1\n\n") == [
        ServerEvent("", "x"),
        ServerEvent("", " x "),
        ServerEvent("", ""),
        ServerEvent("", ""),
    ]


def test_a_name_belongs_to_its_event_alone() -> None:
    assert read(b"event: a\n\ndata: 1\n\n") == [ServerEvent("", "1")]


def test_C70_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert read(b"\xef\xbb\xbfdata: 1\n\n") == [ServerEvent("", "1")]
    assert read(b"\xef", b"\xbb\xbfdata: 1\n\n") == [ServerEvent("", "1")]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12)


@given(
    st.lists(st.lists(TEXT, min_size=1, max_size=3), max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(1, 7), min_size=1),
)
def test_any_split_reads_the_same(events: list[list[str]], end: str, sizes: list[int]) -> None:
    stream = "".join("".join(f"data: {line}{end}" for line in lines) + end for lines in events).encode()
    chunks: list[bytes] = []
    at = 0
    while at < len(stream):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(stream[at : at + size])
        at += size
    assert [event.data for event in read(*chunks)] == ["\n".join(lines) for lines in events]
