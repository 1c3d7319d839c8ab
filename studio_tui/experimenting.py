"""Runs sweeps and ablations as one job of the app, so that a screen may be left and come back to while it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from runtime.errors import BadInput, StoreError
from studio_tui.jobs import Job, Jobs

if TYPE_CHECKING:
    from runtime.experiments.results import Ablation, Sweep
    from runtime.subject import Subject
    from runtime.threads import Runtime

GROUP = "experiment"

Found: TypeAlias = "Sweep | Ablation"
"""An experiment as far as it is."""

Told: TypeAlias = "Callable[[Found], None]"
Work: TypeAlias = "Callable[[Told], Awaitable[Found]]"
"""Runs an experiment, telling each state of it."""


class Experimenter:
    """At most one experiment at a time. `latest` is the last state told of the one that runs, or ran last here.

    A screen listens while it is shown; `ended` is told the job when it is over.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self.latest: Found | None = None
        self._listener: Told | None = None
        self._ended: Callable[[Job], None] | None = None
        self._settled = asyncio.Event()
        self._settled.set()
        self.over: Callable[[], None] | None = None
        """Told when any experiment is over, whoever listens."""

    @property
    def job(self) -> Job | None:
        """The job that runs, None if none does."""
        return self._jobs.of(GROUP)

    @property
    def running(self) -> str | None:
        """The id of the experiment under way, None if none is or it has not told anything yet."""
        return self.latest.id if self.job is not None and self.latest is not None else None

    def listen(self, told: Told, ended: Callable[[Job], None]) -> None:
        """Tell `told` of each state from here on, `ended` of the end; the listener before hears no more."""
        self._listener, self._ended = told, ended

    def leave(self, told: Told) -> None:
        """Tell `told` no more; the experiment goes on."""
        if self._listener == told:
            self._listener = self._ended = None

    def start(self, name: str, work: Work) -> Job:
        """Run `work` as the job `name`. Raises BadInput while another one runs."""
        if self.job is not None:
            raise BadInput("an experiment is running already; ^c stops it and keeps what is done")
        self.latest = None

        async def run(job: Job) -> None:
            def told(found: Found) -> None:
                self.latest = found
                job.step = f"{found.done}/{found.total}"
                if self._listener is not None:
                    self._listener(found)

            self._settled.clear()
            try:
                told(await work(told))
            finally:
                self._settled.set()

        return self._jobs.start(name, run, group=GROUP, ended=self._over)

    def stop(self) -> bool:
        """Stop it, keeping what is done; False if none runs."""
        job = self.job
        if job is not None:
            job.stop()
        return job is not None

    async def stop_and_wait(self) -> None:
        """Stop it, if one runs, and wait until what is done is kept."""
        if self.stop():
            await self._settled.wait()

    def _over(self, job: Job) -> None:
        if self._ended is not None:
            self._ended(job)
        if self.over is not None:
            self.over()


async def subject_of(runtime: Runtime, experiment: str) -> Subject:
    """The point of a thread that a kept experiment studies, with what another run of it needs.

    Raises UnknownExperiment, StoreError, and whatever refuses a run: the agent is gone, its tools need consent.
    """
    found = await runtime.store.experiment(experiment)
    if found.of_turn is not None:
        return await runtime.subject(found.of_turn)
    asked = found.spec.get("asked")
    request, upto = (asked.get("request"), asked.get("upto")) if isinstance(asked, Mapping) else (None, None)
    if not isinstance(request, str) or not isinstance(upto, int):
        raise StoreError(f"experiment {experiment} is damaged and cannot be read")
    return await runtime.subject_on(found.thread, request, upto=upto)
