"""Runs turns and re-runs as jobs of the app, feeding the desk; a refused request stays with whoever typed it (Q1)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeAlias, cast

from runtime.errors import BadInput, StudioError
from runtime.values.messages import Window
from studio_tui.desk import Desk
from studio_tui.jobs import Job, Jobs

if TYPE_CHECKING:
    from runtime.events import TurnEvent
    from studio_tui.live import LiveTurn

GROUP = "turn"

Told: TypeAlias = "Callable[[TurnEvent], None]"
Ended = Callable[[Job], None]


class TurnRunner:
    """At most one turn or run at a time, in the group `turn`.

    `told` hears of each event after the desk has taken it in; `ended` of the job's end, `job.failed` saying why a
    request was refused.
    """

    def __init__(self, desk: Desk, jobs: Jobs, told: Told) -> None:
        self._desk, self._jobs, self._told = desk, jobs, told

    @property
    def job(self) -> Job | None:
        """The job that runs a turn, None if none does."""
        return self._jobs.of(GROUP)

    def send(self, text: str, ended: Ended) -> None:
        """Send `text` as the next turn with the window shown."""
        assert self._desk.thread is not None
        thread, window = self._desk.thread.id, self._desk.next_window
        self.run("the turn", lambda: self._desk.runtime.stream(thread, text, window=window), ended)

    def rerun(self, turn: str, window: Window, ended: Ended) -> None:
        """Run `turn` again with `window`, on a view (X4)."""
        self.run("the re-run", lambda: self._desk.runtime.stream_rerun(turn, window=window), ended)

    async def stop(self) -> bool:
        """Stop the running turn at once (T10); False if none runs."""
        job = self.job
        if job is None:
            return False
        turn = self._desk.live.turn if self._desk.live is not None else None
        job.stopping = True
        if turn is None:
            job.stop()
            return True
        try:
            await self._desk.runtime.stop(turn.id)
        except StudioError:
            job.stop()
        return True

    def run(self, name: str, stream: Callable[[], AsyncIterator[TurnEvent]], ended: Ended) -> None:
        """Run what `stream` gives as the job `name`. Raises BadInput while another one runs."""
        if self.job is not None:
            raise BadInput("a turn is running already; ^c stops it")
        from studio_tui.live import LiveTurn

        live = LiveTurn()

        async def work(job: Job) -> None:
            self._desk.live = live
            events = cast("AsyncGenerator[TurnEvent, None]", stream())  # closing it stops the turn
            try:
                async with aclosing(events):
                    async for event in events:
                        self._take(live, event, job)
            finally:
                if self._desk.live is live and live.root is None:
                    self._desk.live = None

        self._jobs.start(name, work, group=GROUP, ended=ended)

    def _take(self, live: LiveTurn, event: TurnEvent, job: Job) -> None:
        from runtime.events import Opened

        first = live.root is None
        live.tell(event)
        if isinstance(event, Opened) and first:
            self._desk.turns.take([event.turn])
        job.step = f"step {max(live.step, 1)}"
        self._told(event)
