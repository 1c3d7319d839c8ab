"""Files sent with a request: images, read whole, known by their first bytes and kept as base64."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from pathlib import Path

from runtime.errors import BadInput
from runtime.values.request import Attachment

LARGEST = 20 * 1024 * 1024
"""Bytes an attachment may have."""

_BEGINNINGS = {
    "image/png": rb"\x89PNG",
    "image/jpeg": rb"\xff\xd8\xff",
    "image/gif": rb"GIF8[79]a",
    "image/webp": rb"RIFF....WEBP",
}
"""The images that both dialects carry, by how their files begin; a name may say anything."""


def read_attachments(paths: Iterable[str]) -> tuple[Attachment, ...]:
    """The files as attachments. Raises BadInput for one that is missing, too large or no image."""
    return tuple(_read(Path(path)) for path in paths)


def _read(path: Path) -> Attachment:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(f"cannot be read: {said}", file=str(path), field="--attach") from None
    if len(content) > LARGEST:
        raise BadInput(f"is larger than {LARGEST // 1024 // 1024} MB", file=str(path), field="--attach")
    for media_type, beginning in _BEGINNINGS.items():
        if re.match(beginning, content, re.DOTALL):
            return Attachment(path.name, media_type, base64.b64encode(content).decode("ascii"))
    raise BadInput("only images can be attached (png, jpeg, gif, webp)", file=str(path), field="--attach")
