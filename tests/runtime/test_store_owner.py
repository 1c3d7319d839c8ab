"""S7: whether the process that runs a turn is still there, with real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from runtime.stores.owner import LEASE_SECONDS, is_gone, this_process
from runtime.values.record import Owner

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
TELL = "from runtime.stores.owner import this_process as t; o = t(); print(o.started, flush=True); input()"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pids are looked at on POSIX systems")


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    """Another process, running until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def owner_of(process: subprocess.Popen[str]) -> Owner:
    assert process.stdout is not None
    return Owner(this_process().host, process.pid, process.stdout.readline().strip())


def test_S7_this_process_is_there() -> None:
    assert this_process().pid == os.getpid()
    assert this_process() == this_process()
    assert not is_gone(this_process(), None, NOW)


def test_S7_a_running_process_is_there_whatever_its_lease(process: subprocess.Popen[str]) -> None:
    owner = owner_of(process)
    assert owner.started
    assert not is_gone(owner, NOW - timedelta(days=1), NOW)


def test_S7_a_killed_process_is_gone_reaped_or_not(process: subprocess.Popen[str]) -> None:
    owner = owner_of(process)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and left a zombie
    assert is_gone(owner, NOW, NOW)
    process.wait()
    assert is_gone(owner, NOW, NOW)


def test_S7_a_pid_that_was_given_again_is_another_process(process: subprocess.Popen[str]) -> None:
    owner = owner_of(process)
    assert is_gone(replace(owner, started=owner.started + "1"), NOW, NOW)
    assert is_gone(replace(this_process(), started="1"), NOW, NOW)


@pytest.mark.parametrize("pid", [0, -1, 2**31 - 1, 2**70])
def test_S7_a_pid_that_can_be_nobodys_is_gone(pid: int) -> None:
    assert is_gone(replace(this_process(), pid=pid), NOW, NOW)


@pytest.mark.parametrize("owner", [Owner("another-host", os.getpid(), "1"), None])
def test_S7_elsewhere_and_unowned_the_lease_decides(owner: Owner | None) -> None:
    assert not is_gone(owner, NOW - timedelta(seconds=LEASE_SECONDS), NOW)
    assert is_gone(owner, NOW - timedelta(seconds=LEASE_SECONDS + 0.1), NOW)
    assert is_gone(owner, None, NOW)
