"""Following a turn to its record, while Ctrl-C stops the turn instead of the program."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Iterator

from runtime.events import CallBegan, Opened, Settled, StepBegan, TurnEvent
from runtime.threads import Runtime
from runtime.values.record import TurnRecord
from studio_tui.cli.output import one_line, tell


async def followed(runtime: Runtime, events: AsyncIterator[TurnEvent], *, progress: bool = False) -> TurnRecord:
    """The record of the turn whose events these are. Ctrl-C settles it `stopped`; a second one ends the program.

    `progress` says on stderr which step and which call begins.
    """
    turn: str | None = None
    record: TurnRecord | None = None
    stops: list[asyncio.Task[None]] = []
    task = asyncio.current_task()

    def stop() -> None:
        if turn is not None and not stops:
            stops.append(asyncio.ensure_future(runtime.stop(turn)))
        elif task is not None:
            task.cancel()

    with interrupts(stop):
        try:
            async for event in events:
                if isinstance(event, Opened) and turn is None:
                    turn = event.turn.id
                elif isinstance(event, Settled) and event.record.turn == turn:
                    record = event.record
                elif progress:
                    _say(event)
            await asyncio.gather(*stops)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
    assert record is not None, "a turn ends with its record"
    return record


@contextlib.contextmanager
def interrupts(stop: Callable[[], None]) -> Iterator[None]:
    """While inside, SIGINT, SIGTERM and SIGHUP (the terminal was closed) call `stop`; where the system has no such
    handlers, nothing changes."""
    loop = asyncio.get_running_loop()
    signals = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    try:
        for one in signals:
            loop.add_signal_handler(one, stop)
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    finally:
        for one in signals:
            loop.remove_signal_handler(one)


def _say(event: TurnEvent) -> None:
    if isinstance(event, StepBegan):
        tell(f"step {event.step}  {event.model}")
    elif isinstance(event, CallBegan):
        tell(f"  → {event.call.name} {one_line(event.call.arguments_text(), 60)}")
