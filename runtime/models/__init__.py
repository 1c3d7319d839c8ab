"""Doors to models. An adapter turns a `Request` into `ModelEvent`s and holds no state (M1)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from runtime.events import ModelEvent
from runtime.values.request import Request


class Model(Protocol):
    """A model adapter (M1).

    `name` is what the record and the screen call it: `offline`, `script`, `openai:NAME`, `anthropic:NAME`.
    `stream` yields `Sent` first and `Ended` last. It raises ModelError when the tier fails; cancelling it closes the
    connection (T10). It is safe to call concurrently.
    """

    @property
    def name(self) -> str: ...

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]: ...
