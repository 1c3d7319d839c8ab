"""YAML as people write it: scalars stay text, every value has a place, and nothing in a file can act (Q4)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadInput
from runtime.files import LARGEST, Listing, Scalar, Table, as_json, inside, parse, read_bytes, read_yaml


def test_C76_scalars_stay_the_texts_they_are() -> None:
    text = "a: yes\nb: 12:30:00\nc: 2024-01-01\nd: 1_000\ne:\nf: ~\ng: null\nh: 0x1F\ni: 1e3\nj: [no, .5]\n"
    assert as_json(parse(text)) == {
        "a": "yes", "b": "12:30:00", "c": "2024-01-01", "d": "1_000", "e": "", "f": "~", "g": "null", "h": "0x1F",
        "i": "1e3", "j": ["no", ".5"],
    }  # fmt: skip


def test_every_value_has_its_place_and_says_whether_it_was_quoted() -> None:
    root = parse("a: 1\nb:\n  - '2'\n  - |\n    block\n")
    assert isinstance(root, Table)
    assert root.entries["a"] == Scalar("1", True, 1, 4)
    assert root.keys["b"] == Scalar("b", True, 2, 1)
    listing = root.entries["b"]
    assert isinstance(listing, Listing)
    assert listing.items == (Scalar("2", False, 3, 5), Scalar("block\n", False, 4, 5))


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: !!python/object/apply:os.system [true]\n", 2, "has the tag tag:yaml.org,2002:python/object/apply"),
        ("a: !local x", 1, "has the tag !local"),
        ("a: 1\nb: &x [1]\n", 2, "has the anchor &x"),
        ("a: 1\nb: *x\n", 2, "uses the alias *x"),
        ("a:\n  <<: {b: c}\n", 2, "merges by <<"),
        ("a: 1\nb: 2\na: 3\n", 3, "the key a is given twice, first in line 1"),
        ("a: 1\n---\nb: 2\n", 2, "holds a second document"),
        ("a: 1\n? [b]\n: c\n", 2, "has a key that is no text"),
        ("a: 1\nb: [1,\n", 3, "is not YAML"),
        ("a: 1\nb: 'x\n", 3, "is not YAML"),
        ("a: 1\n\tb: 2\n", 2, "is not YAML"),
        ("a: 1\nb: x\x00y\n", 2, "holds the control character U+0000"),
        ("a: 1\nb: \x1b[2J\n", 2, "holds the control character U+001B"),
        ("a: 1\nb: " + "[" * 70 + "]" * 70, 2, "is nested more than 64 deep"),
        ('a: "half \\ud83d"', 1, "is not YAML"),
    ],
)
def test_Q4_what_could_act_or_mislead_is_refused_where_it_stands(text: str, line: int, problem: str) -> None:
    with pytest.raises(BadInput) as raised:
        parse(text, file="seed.yaml")
    assert (raised.value.file, raised.value.line) == ("seed.yaml", line)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


def test_C91_an_alias_bomb_is_refused_at_its_first_anchor(tmp_path: Path) -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(12))
    path = tmp_path / "bomb.yaml"
    path.write_text(bomb)
    with pytest.raises(BadInput, match=r"bomb\.yaml:1: has the anchor &a"):
        read_yaml(path)


def test_C91_endless_nesting_is_left_at_the_limit() -> None:
    with pytest.raises(BadInput, match="nest"):
        parse("[" * 1_000_000)


def test_C70_a_byte_order_mark_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfseed: x\n")
    assert as_json(read_yaml(path)) == {"seed": "x"}
    assert as_json(parse("\ufeffseed: x\n")) == {"seed": "x"}


def test_separators_of_other_lines_are_characters_here() -> None:
    text = "a: one\u2028two\u2029three\x85four\nb: \ue000\nc: |\n  x\u2028y\n"
    assert as_json(parse(text)) == {"a": "one\u2028two\u2029three\x85four", "b": "\ue000", "c": "x\u2028y\n"}
    root = parse("a: '\u2028'\nb: 1\n")
    assert isinstance(root, Table)
    assert root.entries["b"].line == 2


def test_C65_a_lone_surrogate_of_a_piped_text_becomes_u_fffd() -> None:
    assert as_json(parse("a: half \ud83d")) == {"a": "half \ufffd"}
    assert as_json(parse('a: "nul \\0"')) == {"a": "nul \ufffd"}


def test_Q1_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: 1\nb: caf\xe9\n")
    for path, problem in [
        (tmp_path / "none.yaml", "there is no such file"),
        (tmp_path, "is a folder, not a file"),
        (latin, "latin.yaml:2: is not UTF-8 text: byte 0xe9"),
        (tmp_path / "nul\x00.yaml", "cannot be read"),
        (latin / "below.yaml", "cannot be read: Not a directory"),
    ]:
        with pytest.raises(BadInput, match=problem):
            read_yaml(path)


def test_Q1_a_file_over_100_mb_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        os.truncate(file.fileno(), LARGEST + 1)
    with pytest.raises(BadInput, match="is larger than 100 MB"):
        read_yaml(path)


@pytest.mark.parametrize(
    "name", ["", "..", ".", "../up", "/etc/passwd", "a/b", "a\\b", "nul\x00", ".hidden", "C:x", "x" * 300, "new\nline"]
)
def test_Q4_a_name_cannot_leave_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="is no name"):
        inside(tmp_path, name, ".yaml")


def test_Q4_a_name_cannot_leave_its_folder_by_a_symlink(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    (tmp_path / "outside.yaml").write_text("agent: x\n")
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (folder / "fine.yaml").write_text("agent: fine\n")
    (folder / "alias.yaml").symlink_to(folder / "fine.yaml")
    (folder / "round.yaml").symlink_to(folder / "round.yaml")
    assert inside(folder, "fine", ".yaml").is_file()
    assert inside(folder, "alias", ".yaml").is_file()
    with pytest.raises(BadInput, match="leads out of its folder"):
        inside(folder, "link", ".yaml")
    assert not inside_is_file(folder, "round")


def inside_is_file(folder: Path, name: str) -> bool:
    try:
        return inside(folder, name, ".yaml").is_file()
    except BadInput:
        return False


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@?,\n \t\\<\x00\u2028é", max_size=60))
def test_any_text_is_a_tree_or_one_error(text: str) -> None:
    error = error_of(text)
    assert error is None or (error.file == "f" and "\n" not in str(error))


def error_of(text: str) -> BadInput | None:
    try:
        parse(text, file="f")
    except BadInput as error:
        return error
    return None


def test_Q1_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    with pytest.raises(BadInput, match="not a file"):
        read_bytes(pipe)
