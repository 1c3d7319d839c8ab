"""Jobs: one in each group, stopped before or after they began, errors told and never thrown at the app."""

from __future__ import annotations

import asyncio

from textual.app import App

from runtime.errors import BadInput
from studio_tui.jobs import Job, Jobs, sentence


async def test_a_job_runs_and_tells_that_it_ended() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        jobs, ended = Jobs(app), list[Job]()

        async def work(job: Job) -> None:
            job.step = "half"

        job = jobs.start("reading", work, group="look", ended=ended.append)
        assert jobs.of("look") is job
        while not ended:
            await pilot.pause()
        assert (job.done, job.failed, job.step) == (True, None, "half")
        assert jobs.running() == []


async def test_a_second_job_of_a_group_stops_the_first() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        jobs, began = Jobs(app), asyncio.Event()

        async def long(job: Job) -> None:
            began.set()
            await asyncio.Event().wait()

        async def short(job: Job) -> None:
            pass

        first = jobs.start("first", long, group="look")
        await began.wait()
        second = jobs.start("second", short, group="look")
        while jobs.running():
            await pilot.pause()
        assert first.stopping
        assert first.done
        assert second.done
        assert not second.stopping


async def test_a_job_stopped_before_it_began_is_over() -> None:
    app = App[None]()
    async with app.run_test():
        jobs = Jobs(app)

        async def never(job: Job) -> None:
            raise AssertionError("it was stopped before")

        job = jobs.start("never", never, group="look")
        job.stop()
        assert job.done
        assert jobs.of("look") is None
        assert jobs.running() == []


async def test_Q1_what_a_job_raises_is_told_and_the_app_goes_on() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        jobs, ended = Jobs(app), list[Job]()

        async def ours(job: Job) -> None:
            raise BadInput("wrong", file="a.yaml", line=3, field="role")

        async def anything(job: Job) -> None:
            raise ZeroDivisionError("[/b] division")

        jobs.start("ours", ours, group="a", ended=ended.append)
        jobs.start("anything", anything, group="b", ended=ended.append)
        while len(ended) < 2:
            await pilot.pause()
        told = sorted(sentence(job.failed) for job in ended if job.failed is not None)
        assert told == [
            "a.yaml:3: role: wrong",
            "something went wrong that should not have (ZeroDivisionError): [/b] division",
        ]
        assert app.is_running
