"""Zip archives: an export that holds `conversations.json`, or a log whose samples are files of their own.

What is wanted is unpacked into a temporary file, so that it is read like any other; nothing else is touched, and no
name in the archive becomes a path.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import struct
import tempfile
import weakref
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, Final

from runtime.errors import BadInput
from runtime.transcripts.shapes import parse

LARGEST: Final = 4 << 30
"""Bytes that are unpacked at most."""

_WANTED: Final = ("conversations.json", "chats.json")
_CHUNK: Final = 1 << 20
_DAMAGE: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(NotImplementedError, RuntimeError, EOFError, OSError, ValueError),
)
"""What zipfile raises for archives that are damaged, encrypted, or packed in a way it does not know."""


class Unpacked:
    """A temporary file with what an archive held; it is removed when nobody holds this any more."""

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="studio-", suffix=".json")
        os.close(handle)
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)


def unpack(path: Path) -> Unpacked:
    """The conversations of an archive as one file. Raises BadInput if it holds none, or cannot be read."""
    unpacked = Unpacked()
    try:
        with zipfile.ZipFile(path) as archive, unpacked.path.open("wb") as out:
            members = {PurePosixPath(info.filename): info for info in archive.infolist() if not info.is_dir()}
            whole = next((info for name, info in members.items() if name.name in _WANTED), None)
            samples = [info for name, info in sorted(members.items()) if _is_sample(name)]
            alone = [info for name, info in members.items() if name.suffix.lower() in (".json", ".jsonl")]
            if whole is None and len(alone) == 1 and not samples:
                whole = alone[0]
            if whole is not None:
                _copy(archive, whole, out)
            elif samples:
                damaged = sum(not _line(archive, info, out) for info in samples)
                out.write(b"damaged, or not JSON\n" * damaged)  # last, so that the file begins with what can be read
            else:
                names = ", ".join(str(name)[:60] for name in list(members)[:6]) or "nothing"
                raise BadInput(f"a zip archive without conversations.json; it holds {names}", file=str(path))
    except _DAMAGE as error:
        raise BadInput(f"the zip archive cannot be read: {error}", file=str(path)) from error
    return unpacked


def _is_sample(name: PurePosixPath) -> bool:
    return name.suffix == ".json" and name.parent.name == "samples"


def _copy(archive: zipfile.ZipFile, info: zipfile.ZipInfo, out: IO[bytes]) -> None:
    _check(info.file_size + out.tell())
    with archive.open(info) as member:
        shutil.copyfileobj(member, out, _CHUNK)  # zipfile gives no more than the size it declares
    _check(out.tell())


def _line(archive: zipfile.ZipFile, info: zipfile.ZipInfo, out: IO[bytes]) -> bool:
    """A member as one line; False for one that is damaged, or no JSON."""
    _check(info.file_size + out.tell())
    try:
        text = json.dumps(parse(archive.read(info).decode("utf-8-sig", "replace")))
    except _DAMAGE:
        return False
    out.write(text.encode() + b"\n")
    return True


def _check(size: int) -> None:
    if size > LARGEST:
        raise ValueError(f"it holds more than {LARGEST >> 30} GB")
