"""What a model server said when it failed, whatever its shape, as one sentence (C53, C54, C55)."""

from __future__ import annotations

from http import HTTPStatus


def status_line(status: int) -> str:
    """The status with its phrase, if it has one: `401 Unauthorized`, `599`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
