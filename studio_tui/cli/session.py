"""A command's hold on a store: opened when it begins, closed when it ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from runtime.stores import open_store
from runtime.threads import Runtime

if TYPE_CHECKING:
    from runtime.models.settings import ModelSettings

T = TypeVar("T")


def store_url(given: str | None) -> str:
    """The store to use: the one given, else $STUDIO_STORE, else `studio.db` in the user's data folder (made here)."""
    url = given or os.environ.get("STUDIO_STORE")
    if url:
        return url
    from platformdirs import user_data_path

    folder = user_data_path("studio-tui", appauthor=False, ensure_exists=True)
    return f"sqlite:///{folder / 'studio.db'}"


def user_settings() -> ModelSettings:
    """What the user has set about models. Raises BadInput for a file or variable that cannot be used."""
    from runtime.settings import load_settings

    return load_settings()


@asynccontextmanager
async def opened(store: str | None, *, model: str | None = None, allow_tools: bool = False) -> AsyncIterator[Runtime]:
    """A Runtime on the store that `store_url` names, closed at the end."""
    runtime = Runtime(open_store(store_url(store)), model=model, allow_tools=allow_tools, settings=user_settings)
    try:
        yield runtime
    finally:
        await runtime.close()


def with_runtime(
    store: str | None,
    work: Callable[[Runtime], Awaitable[T]],
    *,
    model: str | None = None,
    allow_tools: bool = False,
) -> T:
    """Run `work` on a Runtime to its end, in an event loop of its own."""

    async def whole() -> T:
        async with opened(store, model=model, allow_tools=allow_tools) as runtime:
            return await work(runtime)

    return asyncio.run(whole())
