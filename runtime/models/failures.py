"""What a model server said when it failed, whatever its shape, as one sentence (C53, C54, C55)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from runtime.errors import ModelError
from runtime.values.json import Json, compact

MOST_WORDS = 500
"""Characters of a server's own words that an error keeps."""

_SAID = ("message", "detail", "error", "errors", "error_message", "error_description", "msg", "title", "reason")
_KIND = ("type", "code", "status")


def status_line(status: int) -> str:
    """The status with its phrase, if it has one: `401 Unauthorized`, `599`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def refused(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """The error for an answer that is not 2xx: status and the server's own words. Header names are in lower case."""
    text = body.decode("utf-8", "replace").strip()
    value = _json(text)
    if value is None or not (said := words_of(value)):
        kind = headers.get("content-type", "").partition(";")[0].strip()
        said = f"({kind or 'no content type'}) {short(text)}" if text else "(the body is empty)"
        message = f"{status_line(status)} {said}"
    else:
        message = f"{status_line(status)}: {said}"
    return ModelError(message, kind="status", status=status, retry_after=retry_after(headers))


def not_the_dialect(status: int, content_type: str, text: str) -> ModelError:
    """The error for an answer with a good status that is not what was asked for: HTML, plain text, other JSON (C54)."""
    kind = content_type.partition(";")[0].strip() or "no content type"
    said = short(text) if text.strip() else "the body is empty"
    return ModelError(f"{status_line(status)} ({kind}) is not an answer: {said}", kind="malformed", status=status)


def in_stream(error: Json) -> ModelError:
    """The error for an error that came inside a stream (C53)."""
    return ModelError(f"the server broke off with an error: {words_of(error) or compact(error)}", kind="server")


def words_of(error: Json) -> str:
    """The words in an error of any shape, with its type and code before them; empty if it says nothing.

    A text that is JSON itself is read as JSON. Lists are joined.
    """
    return short(_words(error, 0))


def short(text: str) -> str:
    """`text` on one line, cut to what an error keeps."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_WORDS else line[: MOST_WORDS - 1] + "…"


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds to wait, from `retry-after-ms`, `x-ms-retry-after-ms` or `retry-after` (seconds or an HTTP date).

    None if the server named no time that can be read; a time in the past is 0. `now` is in seconds since 1970.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        milliseconds = _seconds(headers.get(name, ""))
        if milliseconds is not None:
            return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _seconds(value)
    if seconds is not None or not value:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(0.0, value) if abs(value) < float("inf") else None


def _words(error: Json, depth: int) -> str:
    if depth > 6 or error is None or isinstance(error, bool):
        return ""
    if isinstance(error, str):
        inner = _json(error) if error.lstrip()[:1] in ("{", "[") else None
        return (_words(inner, depth + 1) if inner is not None else "") or error
    if isinstance(error, Mapping):
        return _words_of_object(error, depth)
    if isinstance(error, Sequence):
        return "; ".join(filter(None, (_words(one, depth + 1) for one in list(error)[:5])))
    return str(error)


def _words_of_object(error: Mapping[str, Json], depth: int) -> str:
    said = next((text for key in _SAID if (text := _words(error.get(key), depth + 1))), "")
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping) and (raw := _words(metadata.get("raw"), depth + 1)) and raw not in said:
        said = f"{said} ({raw})" if said else raw
    place = error.get("loc")
    if isinstance(place, Sequence) and not isinstance(place, str) and said:
        said = f"{'.'.join(map(str, place))}: {said}"
    kinds = [str(error[key]) for key in _KIND if isinstance(error.get(key), str | int) and error[key] != "error"]
    kinds = [kind for kind in dict.fromkeys(kinds) if kind and kind not in said]
    return ": ".join(filter(None, (" ".join(kinds), said)))


def _json(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, Mapping | list | str) else None
