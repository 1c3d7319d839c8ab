"""What the proxy tells of a call: that it began, and how it ended. Bytes as they passed; no header that holds a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from runtime.models.endpoint import REDACTED

Dialect = Literal["openai-chat", "anthropic"]
"""The two payloads that are recorded, under the names that conversation files have."""

End = Literal["complete", "cut-off", "left", "unreachable", "refused"]
"""How a call ended: whole; the server broke off; the program went away; no server answered; too large to record."""

KEPT_HEADERS = ("content-type", "content-encoding", "retry-after", "retry-after-ms", "x-ms-retry-after-ms")
"""The headers of an answer that are looked at to read it. None of a request is."""


@dataclass(frozen=True, slots=True)
class Began:
    """A request was passed on. `call` counts the calls of this recording; `secrets` are the keys that came with it,
    known only to be taken out of what is stored (Q3)."""

    call: int
    dialect: Dialect
    body: bytes = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Ended:
    """A call is over. `body` is what came of the answer, as it came (compressed, if it was); `status` is None if none
    came. `error` says what went wrong on the way; `seconds` is from the request to the last byte."""

    call: int
    end: End
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: tuple[bytes, ...] = field(default=(), repr=False)
    error: str = ""
    seconds: float = 0.0


Passed: TypeAlias = "Began | Ended"


def dialect_of(method: str, path: str) -> Dialect | None:
    """The dialect of a request, None for one that is passed through unrecorded."""
    if method != "POST":
        return None
    path = path.rstrip("/")
    if path.endswith("/chat/completions"):
        return "openai-chat"
    return "anthropic" if path.endswith("/v1/messages") or path == "/messages" else None


def without(secrets: tuple[str, ...], data: bytes) -> bytes:
    """`data` with every secret in it replaced (Q3): a server may say a key back."""
    for secret in secrets:
        data = data.replace(secret.encode(), REDACTED.encode())
    return data
