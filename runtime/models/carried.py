"""The files that a request carried, read back from its body: so a turn that is run again is asked the same (X4)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from runtime.values.json import Json
from runtime.values.request import Attachment

_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)\Z", re.DOTALL)


def files_in(body: bytes) -> tuple[Attachment, ...]:
    """The attachments of a body in either dialect, in order; `data` is empty for those of a model without a wire.

    Names are those that the body knows. A body that is none of ours holds none.
    """
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(value, dict):
        return ()
    listed = _objects(value.get("attachments"))
    plain = [Attachment(str(one.get("name", "")), str(one.get("type", "")), "") for one in listed]
    found = [
        file
        for message in _objects(value.get("messages"))
        if message.get("role") == "user"
        for part in _objects(message.get("content"))
        if (file := _file(part)) is not None
    ]
    return tuple(plain or found)


def named(files: tuple[Attachment, ...], parts: tuple[Mapping[str, Json], ...] | None) -> tuple[Attachment, ...]:
    """`files` with the names that the parts of a stored request give them; a file that is gone has no data."""
    told = [part for part in parts or () if part.get("type") == "attachment"]
    if not told:
        return files
    return tuple(
        Attachment(
            str(part.get("name", "")),
            str(part.get("media_type", "")),
            files[n].data if n < len(files) else "",
        )
        for n, part in enumerate(told)
    )


def _file(part: Mapping[str, Json]) -> Attachment | None:
    """The file in one part of a message, None for any other part."""
    source = part.get("source")
    if part.get("type") in ("image", "document") and isinstance(source, Mapping):
        return Attachment("", str(source.get("media_type", "")), str(source.get("data", "")))
    image, file = part.get("image_url"), part.get("file")
    address = ""
    if isinstance(image, Mapping):
        address = str(image.get("url", ""))
    elif isinstance(file, Mapping):
        address = str(file.get("file_data", ""))
    found = _DATA.match(address)
    return Attachment("", found[1], found[2]) if found else None


def _objects(value: Json) -> Iterator[Mapping[str, Json]]:
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, Mapping))
