"""A conversation file on its way onto the desk: which of several, how much of a compacted one, what is said of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from textual.app import App

    from runtime.threads import Runtime
    from runtime.transcripts import Compaction, Conversation, Listed

Progress = Callable[[int, int], None]
"""Told what is done, and what there is to do in all; what it raises stops the work."""


class Asks(Protocol):
    """A person who can be asked. None as an answer: not this file after all."""

    async def which(self, path: Path, listed: Sequence[Listed]) -> int | None:
        """Which conversation of a file that holds several: its number."""
        ...

    async def how_much(self, path: Path, compactions: int) -> Compaction | None:
        """What to take of a session that was compacted so many times."""
        ...


async def import_file(
    runtime: Runtime, path: Path, *, progress: Progress | None = None, asks: Asks | None = None
) -> tuple[str, str] | None:
    """Store a conversation of a file as a thread; its id, and what to say of it. None if it is not wanted after all.

    Nobody to ask: a file of several is refused, of a compacted session everything is taken. Raises BadInput.
    """
    from runtime.imports import import_conversation

    conversation = await _conversation(path, progress, asks)
    if conversation is None:
        return None
    imported = await import_conversation(runtime.store, conversation, progress=progress)
    count = sum(lost.count for lost in conversation.lost)
    lost = f"; {count:,} not carried (i lists it)" if count else ""
    rows = len(conversation.messages)
    told = f"imported {rows:,} messages, {imported.turns:,} turns from {path.name} ({conversation.format}){lost}"
    return imported.thread, told


async def _conversation(path: Path, progress: Progress | None, asks: Asks | None) -> Conversation | None:
    from runtime.transcripts import Several, conversations, load

    pick: int | None = None
    try:
        conversation = await asyncio.to_thread(load, path, progress=progress)
    except Several:
        if asks is None:
            raise
        listed = await asyncio.to_thread(lambda: list(conversations(path, progress=progress)))
        pick = await asks.which(path, listed)
        if pick is None:
            return None
        conversation = await asyncio.to_thread(load, path, pick, progress=progress)
    compactions = await asyncio.to_thread(_compactions, conversation)
    if not compactions or asks is None:
        return conversation
    compaction = await asks.how_much(path, compactions)
    if compaction is None:
        return None
    if compaction == "full":
        return conversation
    return await asyncio.to_thread(load, path, pick, compaction=compaction, progress=progress)


def _compactions(conversation: Conversation) -> int:
    return sum(1 for row in conversation.messages if "summary" in row.flags)


class AsksOnScreen:
    """Asks whoever sits in front of the app; to be used in one of its workers."""

    def __init__(self, app: App[None]) -> None:
        self._app = app

    async def which(self, path: Path, listed: Sequence[Listed]) -> int | None:
        """See `Asks`."""
        from studio_tui.screens.conversations import Conversations

        return await self._app.push_screen_wait(Conversations(path, listed))

    async def how_much(self, path: Path, compactions: int) -> Compaction | None:
        """See `Asks`."""
        from studio_tui.screens.conversations import HowMuch

        return await self._app.push_screen_wait(HowMuch(path, compactions))
