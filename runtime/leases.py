"""Leases of running turns: renewed every 2 s while a turn runs, so that others see its process alive (S7)."""

from __future__ import annotations

import asyncio

from runtime.errors import StoreError
from runtime.stores import Ledger

RENEW_SECONDS = 2.0


class Leases:
    """The running turns of this process. A turn that ends before its first renewal costs one timer."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._held: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None

    def hold(self, turn: str) -> None:
        """Renew the turn's lease from here on."""
        self._held.add(turn)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(RENEW_SECONDS, self._renew)

    def release(self, turn: str) -> None:
        """The turn has ended."""
        self._held.discard(turn)
        if not self._held and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _renew(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(RENEW_SECONDS, self._renew)
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._write(tuple(self._held)))

    async def _write(self, turns: tuple[str, ...]) -> None:
        try:
            await self._ledger.renew(turns)
        except StoreError:
            return  # the next renewal tries again; a lease is good for 15 s
