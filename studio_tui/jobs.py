"""Long work: one coroutine with progress and a way to stop it, owned by the App and never by a screen that may go."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from runtime.errors import StudioError

if TYPE_CHECKING:
    from textual.app import App
    from textual.worker import Worker


@dataclass(eq=False, slots=True)
class Job:
    """A piece of work under way. `name` says what it is, `step` how far it is; `began` is on the monotonic clock.

    `failed` is set when the work raised; `stopping` when it was asked to stop.
    """

    name: str
    group: str
    step: str = ""
    began: float = field(default_factory=time.monotonic)
    stopping: bool = False
    failed: Exception | None = None
    _worker: Worker[None] | None = None
    _began: bool = False
    _over: bool = False

    @property
    def done(self) -> bool:
        """Whether it has ended; one that was stopped before it began has ended too."""
        never_began = self._worker is not None and self._worker.is_cancelled and not self._began
        return self._over or never_began

    @property
    def seconds(self) -> float:
        """Wall time since it began."""
        return time.monotonic() - self.began

    def stop(self) -> None:
        """Cancel the work; what closes it (connections, turns) runs before it is done."""
        if self._worker is not None and not self.done:
            self.stopping = True
            self._worker.cancel()


Work = Callable[[Job], Coroutine[object, object, None]]
Ended = Callable[[Job], Awaitable[None] | None]


class Jobs:
    """The jobs of one app: at most one in each group; a second one of a group stops the first."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._running: dict[str, Job] = {}

    def start(self, name: str, work: Work, *, group: str, ended: Ended | None = None) -> Job:
        """Start `work` in `group`; `ended` is told when it is done, stopped or failed (`job.failed`)."""
        job = Job(name, group)
        before = self._running.get(group)
        if before is not None:
            before.stop()
        self._running[group] = job
        job._worker = self._app.run_worker(
            partial(self._run, job, work, ended),
            name=name,
            group=group,
            description=name,
            exit_on_error=False,
            exclusive=True,
        )
        return job

    def of(self, group: str) -> Job | None:
        """The job that runs in `group`."""
        job = self._running.get(group)
        return None if job is None or job.done else job

    def running(self) -> list[Job]:
        """Every job that runs, oldest first."""
        return [job for job in self._running.values() if not job.done]

    async def _run(self, job: Job, work: Work, ended: Ended | None) -> None:
        job._began = True
        try:
            await work(job)
        except StudioError as error:
            job.failed = error
        except Exception as error:  # noqa: BLE001  # the edge of a worker: nobody sees a traceback (Q1)
            job.failed = error
            self._app.log.error(f"{job.name}: {error!r}")
        finally:
            job._over = True
            if self._running.get(job.group) is job:
                del self._running[job.group]
            if ended is not None and self._app.is_running:
                self._app.call_later(ended, job)


def sentence(error: Exception) -> str:
    """An error as one sentence for a person: ours as it is, any other with its kind named."""
    if isinstance(error, StudioError):
        return str(error)
    text = str(error).strip().split("\n")[0]
    return f"something went wrong that should not have ({type(error).__name__}): {text}".rstrip(": ")
