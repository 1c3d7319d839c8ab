"""Files that went wrong: truncated, of other types, deeply nested, with huge numbers: a load or one BadInput."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadInput
from runtime.transcripts import conversations, load
from runtime.transcripts.export import export
from runtime.transcripts.turns import recover

SAMPLES = sorted((Path(__file__).parent / "transcript_samples").iterdir())
DEEP = 900

_SMALL = (None, True, 0, -1, 10**40, 1e308, float("inf"), float("nan"), "", "text", "\ud83d", "\x00", "{", "[]")
_NESTED: tuple[object, ...] = (
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"type": "text"},
    {"type": "tool_use"},
    {"role": "user"},
    [1, "a", {"b": 3}],
)
ODD: st.SearchStrategy[object] = st.sampled_from((*_SMALL, *_NESTED, "x" * 10_000))


def read(path: Path) -> None:
    """Everything that is done with a file; BadInput is the one error there may be."""
    try:
        listed = list(conversations(path))
        for one in listed[:3]:
            for compaction in ("full", "last-seen"):
                conversation = load(path, one.number, compaction="full" if compaction == "full" else "last-seen")
                rows = conversation.messages
                assert all(set(turn.sent()) <= set(range(1, len(rows) + 1)) for turn in recover(rows))
                export(rows, "openai").text().encode()
                export(rows, "anthropic").text().encode()
    except BadInput as error:
        _check_names(error, path)


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every value inside `value`."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*path, number))


def replaced(value: object, path: Sequence[str | int], new: object) -> object:
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {key: replaced(inner, rest, new) if key == step else inner for key, inner in value.items()}
    assert isinstance(value, list)
    return [replaced(inner, rest, new) if number == step else inner for number, inner in enumerate(value)]


def documents(sample: Path) -> list[object]:
    text = sample.read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if sample.suffix == ".jsonl" else [json.loads(text)]


def written(sample: Path, values: list[object]) -> str:
    if sample.suffix == ".jsonl":
        return "\n".join(json.dumps(value) for value in values)
    return json.dumps(values[0], indent=1)


@pytest.mark.fuzz
@given(st.data())
def test_values_of_other_types_anywhere(data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SAMPLES))
    values = documents(sample)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(values) - 1))
        path = data.draw(st.sampled_from(list(places(values[at]))))
        new = data.draw(ODD)
        if data.draw(st.booleans()) and path:
            new = None if isinstance(path[-1], int) else new
        values[at] = replaced(values[at], path, new)
    _check(written(sample, values).encode())


@pytest.mark.fuzz
@given(st.data())
def test_truncated_and_damaged_bytes(data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SAMPLES))
    raw = sample.read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    junk = data.draw(st.binary(max_size=8))
    rest = raw[data.draw(st.integers(cut, len(raw))) :] if data.draw(st.booleans()) else b""
    _check(raw[:cut] + junk + rest)


@pytest.mark.fuzz
@given(st.data())
def test_damaged_archives(data: st.DataObject) -> None:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", data.draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))) as archive:
        name = data.draw(st.sampled_from(("conversations.json", "samples/1_epoch_1.json", "a/../b.json", "notes.txt")))
        archive.writestr(name, data.draw(st.sampled_from(SAMPLES)).read_bytes())
    raw = bytearray(kept.getvalue())
    for _ in range(data.draw(st.integers(0, 4))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    _check(bytes(raw[: data.draw(st.integers(4, len(raw)))]))


@pytest.mark.fuzz
@given(st.data())
def test_deep_nesting_anywhere(data: st.DataObject) -> None:
    sample = data.draw(st.sampled_from(SAMPLES))
    values = documents(sample)
    at = data.draw(st.integers(0, len(values) - 1))
    path = data.draw(st.sampled_from(list(places(values[at]))))
    depth = data.draw(st.sampled_from([50, 200, DEEP]))
    deep = ('{"a":' * depth + "1" + "}" * depth) if data.draw(st.booleans()) else ("[" * depth + "]" * depth)
    values[at] = replaced(values[at], path, "HERE")
    _check(written(sample, values).replace('"HERE"', deep).encode())


@given(st.recursive(ODD, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(
    ["role", "content", "messages", "type", "parts", "tool_calls", "message", "events", "mapping", "conversations",
     "attributes", "payload", "from", "value", "contents", "input", "output", "kind", "data", "lc", "id"]
), inner, max_size=5), max_leaves=20))  # fmt: skip
def test_any_json_at_all(value: object) -> None:
    _check(json.dumps(value).encode())


def _check_names(error: BadInput, path: Path) -> None:
    assert str(path) in str(error)


def _check(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given"
        path.write_bytes(raw)
        read(path)
