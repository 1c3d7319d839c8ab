"""Files sent with a request: images, read whole and kept as base64."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterable
from pathlib import Path

from runtime.errors import BadInput
from runtime.values.request import Attachment

LARGEST = 20 * 1024 * 1024
"""Bytes an attachment may have."""


def read_attachments(paths: Iterable[str]) -> tuple[Attachment, ...]:
    """The files as attachments. Raises BadInput for one that is missing, too large or no image."""
    return tuple(_read(Path(path)) for path in paths)


def _read(path: Path) -> Attachment:
    media_type, _ = mimetypes.guess_type(path.name)
    if media_type is None or not media_type.startswith("image/"):
        raise BadInput("only images can be attached (png, jpeg, gif, webp)", file=str(path), field="--attach")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror or error}", file=str(path), field="--attach") from None
    if len(content) > LARGEST:
        raise BadInput(f"is larger than {LARGEST // 1024 // 1024} MB", file=str(path), field="--attach")
    return Attachment(path.name, media_type, base64.b64encode(content).decode("ascii"))
