"""YAML as people write it, with the place of every value: scalars stay text, and nothing in a file can act (Q4).

`parse` gives a tree of `Scalar`, `Listing` and `Table`. Tags, anchors, aliases, merge keys, duplicate keys, a second
document and nesting over 64 are refused where they stand; the work is bounded by the length of the text (C91).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from runtime.errors import BadInput
from runtime.values.json import Json, clean

LARGEST = 100 * 1024 * 1024
"""Bytes that a file may have."""

DEEPEST = 64
"""How deep lists and tables may be nested."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text. `plain` says that it was written without quotes and not as a block, as numbers are (S3).

    `line` and `column` of every node count from 1.
    """

    text: str
    plain: bool
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of nodes, in order."""

    items: tuple[Node, ...]
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Table:
    """Nodes by key. `keys` holds each key's scalar, for its place."""

    entries: Mapping[str, Node]
    keys: Mapping[str, Scalar]
    line: int
    column: int


Node: TypeAlias = "Scalar | Listing | Table"


def read_bytes(path: Path) -> bytes:
    """A file whole. Raises BadInput naming it: missing, a folder, unreadable, over 100 MB."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would be waited for, a device never ends
            raise BadInput("cannot be read: not a file", file=str(path))
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except IsADirectoryError:
        raise BadInput("is a folder, not a file", file=str(path)) from None
    except FileNotFoundError:
        raise BadInput("there is no such file", file=str(path)) from None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"cannot be read: {said}", file=str(path).replace("\x00", "\ufffd")) from None
    if len(content) > LARGEST:
        raise BadInput(f"is larger than {LARGEST // 1024 // 1024} MB", file=str(path))
    return content


def decoded(content: bytes, file: str) -> str:
    """UTF-8 text, a byte-order mark left out (C70). Raises BadInput with the line where it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"is not UTF-8 text: byte 0x{content[error.start]:02x}", file=file, line=line) from None


def read_yaml(path: Path) -> Node:
    """The tree of a YAML file. Raises BadInput with file and line."""
    return parse(decoded(read_bytes(path), str(path)), file=str(path))


def parse(text: str, *, file: str = "") -> Node:
    """The tree of a YAML text; a blank text is an empty table. Raises BadInput with file and line."""
    import yaml

    text = text.removeprefix("\ufeff")
    if len(text) > LARGEST:
        raise BadInput(f"is larger than {LARGEST // 1024 // 1024} MB", file=file)
    _refuse_controls(text, file)
    text, stand_ins = _without_separators(clean(text))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _tree(cast(Iterator[_Event], yaml.parse(text, Loader=loader)), file, stand_ins)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = " ".join(str(error.problem or error.context or error).split())
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise BadInput(f"is not YAML: {said}", file=file, line=line, column=column) from None
    except (yaml.YAMLError, ValueError) as error:
        said = " ".join(str(error).split())
        raise BadInput(f"is not YAML: {said}", file=file) from None


def as_json(node: Node) -> Json:
    """The tree as JSON; scalars stay text (C76)."""
    if isinstance(node, Scalar):
        return clean(node.text)
    if isinstance(node, Listing):
        return [as_json(item) for item in node.items]
    return {clean(key): as_json(item) for key, item in node.entries.items()}


def inside(folder: Path, name: str, suffix: str = "") -> Path:
    """The file of a *name* in `folder`: names stay in their folder, whatever is written in them (Q4).

    Raises BadInput for an empty name, one with a separator, NUL or a leading dot, and one that leads out by a symlink.
    """
    if not name or name.startswith(".") or re.search(r'[/\\\x00-\x1f\x7f:*?"<>|]', name) or len(name) > 200:
        raise BadInput(f"{clean(name)[:80]!r} is no name: use letters, digits, - and _")
    path = folder / (name + suffix)
    try:
        leaves = not path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        leaves = True
    if leaves:
        raise BadInput(f"{name!r} leads out of its folder", file=str(folder))
    return path


def shipped_folder() -> Path:
    """The folder of the seeds that come with the program; their agents are in `agents` below it.

    An installed program has it inside its screen package, a checkout at the top.
    """
    home = Path(__file__).resolve().parent.parent
    installed = home / "studio_tui" / "seeds"
    return installed if installed.is_dir() else home / "seeds"


_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")


def _refuse_controls(text: str, file: str) -> None:
    found = _CONTROLS.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        raise BadInput(
            f'holds the control character U+{ord(found[0]):04X}; write it in double quotes as "\\x{ord(found[0]):02x}"',
            file=file,
            line=line,
            column=column,
        )


_SEPARATORS = "\x85\u2028\u2029"


def _without_separators(text: str) -> tuple[str, dict[int, str]]:
    """`text` with NEL, LS and PS replaced, and the way back.

    YAML 1.1 takes them for line ends; for everybody else, editors too, they are characters of the text.
    """
    if text.isascii() or not any(separator in text for separator in _SEPARATORS):
        return text, {}
    free = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
    there = {ord(separator): next(free) for separator in _SEPARATORS}
    return text.translate(there), {ord(stand_in): chr(separator) for separator, stand_in in there.items()}


class _Mark(Protocol):
    line: int
    column: int


class _Event(Protocol):
    """What PyYAML's events have in common; the attributes that only some have are asked for by kind."""

    start_mark: _Mark
    anchor: str | None
    tag: str | None
    value: str
    style: str | None


@dataclass(slots=True)
class _Open:
    """A list or table being read; `key` is a table's key that waits for its value."""

    table: bool
    line: int
    column: int
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Scalar] = field(default_factory=dict)
    key: Scalar | None = None

    def closed(self) -> Node:
        if self.table:
            return Table(self.entries, self.keys, self.line, self.column)
        return Listing(tuple(self.items), self.line, self.column)


def _tree(events: Iterator[_Event], file: str, stand_ins: Mapping[int, str]) -> Node:
    root: Node | None = None
    open_: list[_Open] = []
    for event in events:
        kind = type(event).__name__
        node: Node
        if kind == "ScalarEvent":
            _refuse_reference(event, file)
            mark = event.start_mark
            value = event.value.translate(stand_ins) if stand_ins else event.value
            node = Scalar(value, not event.style, mark.line + 1, mark.column + 1)
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            _refuse_reference(event, file)
            if len(open_) >= DEEPEST:
                raise _bad(f"is nested more than {DEEPEST} deep", event, file)
            if open_ and open_[-1].table and open_[-1].key is None:
                raise _bad("has a key that is no text", event, file)
            open_.append(_Open(kind[0] == "M", event.start_mark.line + 1, event.start_mark.column + 1))
            continue
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            node = open_.pop().closed()
        elif kind == "AliasEvent":
            raise _bad(f"uses the alias *{event.anchor}; write it out", event, file)
        elif kind == "DocumentStartEvent" and root is not None:
            raise _bad("holds a second document; one file is one document", event, file)
        else:
            continue
        if open_:
            _add(open_[-1], node, file)
        else:
            root = node
    return root if root is not None else Table({}, {}, 1, 1)


def _add(into: _Open, node: Node, file: str) -> None:
    if not into.table:
        into.items.append(node)
    elif into.key is not None:
        into.entries[into.key.text] = node
        into.key = None
    else:
        assert isinstance(node, Scalar)
        if node.text == "<<" and node.plain:
            raise BadInput("merges by <<; write it out", file=file, line=node.line, column=node.column)
        if node.text in into.keys:
            first = into.keys[node.text].line
            raise BadInput(
                f"the key {node.text} is given twice, first in line {first}",
                file=file,
                line=node.line,
                column=node.column,
            )
        into.keys[node.text] = into.key = node


def _refuse_reference(event: _Event, file: str) -> None:
    if event.anchor is not None:
        raise _bad(f"has the anchor &{event.anchor}; write things out where they are needed", event, file)
    if event.tag is not None:
        raise _bad(f"has the tag {event.tag}; values here are text, lists and tables", event, file)


def _bad(problem: str, event: _Event, file: str) -> BadInput:
    mark = event.start_mark
    return BadInput(problem, file=file, line=mark.line + 1, column=mark.column + 1)
