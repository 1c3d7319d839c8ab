"""Bytes on disk as JSON documents or lines: byte-order marks, broken lines, size, and where everything stood.

A file is one JSON document or one value per line (JSONL); which of the two is told from its first line. Lines are
read one at a time, so that a large file never stands in memory whole; a line that cannot be read costs that line.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, Literal

from runtime.errors import BadInput
from runtime.transcripts.arrays import elements
from runtime.transcripts.shapes import parse

LARGEST_JSON: Final = 200 * 1024 * 1024
"""Bytes of one JSON document that are read whole; JSONL and arrays of conversations have no such limit."""

LARGE_ARRAY: Final = 16 * 1024 * 1024
"""Bytes from which an array of objects is read one element at a time."""

NAMED_BROKEN: Final = 40
"""Lines that cannot be read of which the number and the fault are kept."""

_TOLD_EVERY: Final = 1 << 20

SQLITE: Final = b"SQLite format 3\x00"

Progress = Callable[[int, int], None]
"""Told bytes read and bytes in all, now and then. It may raise to stop the reading."""

Kind = Literal["json", "lines", "array", "sqlite"]


@dataclass(frozen=True, slots=True)
class Broken:
    """A line that is not JSON, or no object: its number from 1, and what is wrong."""

    line: int
    problem: str


@dataclass(slots=True)
class Document:
    """One file as it is read. `value` is the whole of a JSON file; `broken` grows while lines are read, up to
    NAMED_BROKEN of them; `unread` counts them all. Of an `archive` it is the part that was `unpacked`, which is removed
    with it."""

    path: Path
    kind: Kind
    size: int
    value: object = None
    broken: list[Broken] = field(default_factory=list)
    unread: int = 0
    progress: Progress | None = None
    archive: Path | None = None
    unpacked: object = None

    def lines(self) -> Iterator[tuple[int, dict[str, object]]]:
        """The objects of a JSONL file as (line number from 1, object)."""
        self.broken.clear()
        self.unread = 0
        return _lines(self)

    def note(self, line: int, problem: str) -> None:
        """A line that cannot be read."""
        self.unread += 1
        if len(self.broken) < NAMED_BROKEN:
            self.broken.append(Broken(line, problem))

    def elements(self) -> Iterator[tuple[int, object]]:
        """The elements of a large array as (position from 0, element)."""
        for number, (read, value) in enumerate(elements(self.path)):
            if self.progress:
                self.progress(read, self.size)
            yield number, value


def open_document(path: Path, progress: Progress | None = None) -> Document:
    """The file at `path`, its kind told from its first bytes. Raises BadInput if it cannot be read."""
    if path.exists() and not path.is_file():
        raise BadInput("cannot be read: not a file", file=str(path))
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(4096)
            array = head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")
            file.seek(0)
            first = b"" if array else file.readline(LARGEST_JSON)
            lines = bool(first) and _another_line(file)
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=str(path)) from error
    if head.startswith(SQLITE):
        return Document(path, "sqlite", size, progress=progress)
    if head.startswith(b"PK\x03\x04"):
        return _inside(path, progress)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadInput("UTF-16 text: save it as UTF-8", file=str(path))
    if array and size > LARGE_ARRAY:
        return Document(path, "array", size, progress=progress)
    if lines and _is_object(first):
        return Document(path, "lines", size, progress=progress)
    return _whole(path, size, progress)


def _inside(path: Path, progress: Progress | None) -> Document:
    """What an archive holds, read like any other file but named as the archive."""
    from runtime.transcripts.archives import unpack

    unpacked = unpack(path)
    try:
        document = open_document(unpacked.path, progress)
    except BadInput as error:
        raise named(error, unpacked.path, path) from error
    document.archive, document.unpacked = path, unpacked
    return document


def named(error: BadInput, was: Path, path: Path) -> BadInput:
    """The error with the name that the user knows the file by."""
    if error.file != str(was):
        return error
    return BadInput(error.problem, file=str(path), line=error.line, column=error.column, field=error.field)


def _another_line(file: BinaryIO) -> bool:
    """Whether a line that is not blank follows."""
    for _ in range(10_000):
        line = file.readline(4096)
        if not line or line.strip():
            return bool(line)
    return True


def _is_object(line: bytes) -> bool:
    if not line.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(_value(line), dict)
    except ValueError:
        return False


def read_whole(document: Document) -> Document:
    """A large array that is one conversation, as one JSON document. Raises BadInput if it is too large for that."""
    return _whole(document.path, document.size, document.progress)


def _whole(path: Path, size: int, progress: Progress | None) -> Document:
    problem: BadInput
    if size > LARGEST_JSON:
        problem = BadInput(
            f"a JSON document of {size // 1_048_576} MB; up to {LARGEST_JSON // 1_048_576} MB are read: "
            "split it, or write one conversation per line (JSONL)",
            file=str(path),
        )
    else:
        raw = path.read_bytes()
        if not raw.removeprefix(codecs.BOM_UTF8).strip():
            raise BadInput("the file is empty", file=str(path))
        try:
            value = _value(raw)
            if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
                value = parse(value)
            return Document(path, "json", size, value, progress=progress)
        except ValueError as error:
            problem = _not_json(error, path)
    lines = Document(path, "lines", size)
    found = sum(1 for _ in islice(lines.lines(), 1_000))
    if found <= lines.unread:
        raise problem
    lines.progress = progress
    return lines


def _not_json(error: ValueError, path: Path) -> BadInput:
    line, column = getattr(error, "lineno", None), getattr(error, "colno", None)
    return BadInput(f"not JSON: {getattr(error, 'msg', error)}", file=str(path), line=line, column=column)


def _lines(document: Document) -> Iterator[tuple[int, dict[str, object]]]:
    """Every object of the file, line by line; what is none is noted as broken."""
    at = told = 0
    with document.path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            at += len(raw)
            if at > told and document.progress:
                told = at + _TOLD_EVERY
                document.progress(at, document.size)
            try:
                value = _value(raw)
            except ValueError as error:
                if raw.strip():
                    document.note(number, str(getattr(error, "msg", error)))
                continue
            if isinstance(value, dict):
                yield number, value
            else:
                document.note(number, "not an object")
    if document.progress:
        document.progress(document.size, document.size)


def _value(raw: bytes) -> object:
    """The JSON in `raw`: UTF-8, with or without a mark; bytes that are none become U+FFFD."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode(errors="replace")
    return parse(text if text[:1] == "{" else text.lstrip("\ufeff \t\r\n"))
