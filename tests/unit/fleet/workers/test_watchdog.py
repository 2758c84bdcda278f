"""The watchdog of a worker's event loop."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Iterator

import pytest

from fleet.processes.exitcodes import EX_WATCHDOG
from fleet.processes.heartbeat import Heartbeat, shared_heartbeats
from fleet.workers.watchdog import Verdict, Watchdog, WatchdogSettings, judge, write_without_waiting
from shards.clock import boot_seconds
from tests.unit.fleet.processes.processes import Forked

NOW = 1000.0


@pytest.mark.parametrize(
    ("blocked", "left", "looked", "verdict"),
    [
        (0.1, 5.0, 0.1, Verdict.ALIVE),
        (0.1, 0.2, 0.1, Verdict.ALIVE),  # near its deadline, but awake: it will see to it
        (0.1, -3.0, 0.1, Verdict.ALIVE),
        (0.9, 5.0, 0.1, Verdict.ALIVE),
        (1.0, 5.0, 0.1, Verdict.WARN),
        (0.4, 0.4, 0.1, Verdict.EXIT),  # inside the margin
        (3.0, 0.4, 0.1, Verdict.EXIT),
        (6.9, 20.0, 0.1, Verdict.EXIT),  # the limit
        (0.4, -3.0, 0.1, Verdict.ALIVE),  # it was awake after its deadline
        (1.0, -3.0, 0.1, Verdict.EXIT),
        (1.0, math.inf, 0.1, Verdict.WARN),  # it holds nothing
        (1.0, -math.inf, 0.1, Verdict.WARN),
        (9.0, math.inf, 0.1, Verdict.EXIT),
        (9.0, 20.0, 9.0, Verdict.ALIVE),  # the process was paused, not the loop blocked
        (9.0, -1.0, 9.0, Verdict.EXIT),  # the pause has carried it over its deadline
    ],
)
def test_the_verdict_follows_from_block_deadline_and_pause(
    blocked: float, left: float, looked: float, verdict: Verdict
) -> None:
    assert judge(NOW, NOW - blocked, NOW - looked, NOW + left, WatchdogSettings()) is verdict


def _blocking_worker(heartbeat: Heartbeat, lease_seconds: float, settings: WatchdogSettings) -> int:
    """A worker whose reconcile blocks the loop far beyond its lease."""

    async def reconcile() -> None:
        time.sleep(60)  # noqa: ASYNC251  # the fault under test

    async def main() -> None:
        until = boot_seconds() + lease_seconds
        watchdog = Watchdog(asyncio.get_running_loop(), deadline=lambda: until, heartbeat=heartbeat, settings=settings)
        watchdog.start()
        await asyncio.create_task(reconcile(), name="reconcile websites default/blog")

    asyncio.run(main())
    return 0


def test_a_blocked_worker_names_its_key_and_is_gone_before_its_deadline() -> None:
    (heartbeat,) = shared_heartbeats(1)
    settings = WatchdogSettings(warn_seconds=0.5, margin_seconds=2.0)

    with Forked(lambda: _blocking_worker(heartbeat, lease_seconds=3.0, settings=settings)) as worker:
        output = worker.output()
        ended_at = boot_seconds()

        assert worker.exit_code() == EX_WATCHDOG
    assert output.count("the event loop stands still for") == 1
    assert "in task 'reconcile websites default/blog'" in output
    assert "time.sleep(60)" in output
    assert output.rstrip().splitlines()[-1].startswith("task 'reconcile websites default/blog' has blocked")
    assert "before its deadline: this process ends" in output
    assert heartbeat.words in output
    assert ended_at < heartbeat.deadline


def test_a_block_beyond_the_limit_ends_the_process_whatever_the_deadline() -> None:
    (heartbeat,) = shared_heartbeats(1)
    settings = WatchdogSettings(warn_seconds=0.2, limit_seconds=0.5)

    with Forked(lambda: _blocking_worker(heartbeat, lease_seconds=3600.0, settings=settings)) as worker:
        assert worker.exit_code() == EX_WATCHDOG
        assert "its limit is 0.5 s" in worker.output()


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that does not run: its timers stay where they are."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def test_the_heartbeat_carries_the_deadline_and_stops_with_the_watchdog(loop: asyncio.AbstractEventLoop) -> None:
    (heartbeat,) = shared_heartbeats(1)
    now = 50.0
    watchdog = Watchdog(loop, deadline=lambda: 57.5, heartbeat=heartbeat, clock=lambda: now)

    watchdog.start()
    assert (heartbeat.last, heartbeat.deadline) == (50.0, 57.5)

    watchdog.stop()
    assert (heartbeat.last, heartbeat.deadline) == (50.0, math.inf)


def test_a_block_that_ended_is_counted_and_logged(
    loop: asyncio.AbstractEventLoop, caplog: pytest.LogCaptureFixture
) -> None:
    clock = iter([10.0, 10.0, 12.5])
    watchdog = Watchdog(loop, deadline=lambda: math.inf, clock=lambda: next(clock))

    watchdog._beat()
    watchdog._beat()

    assert (watchdog.blocks, watchdog.blocked_seconds) == (1, 2.5)
    assert "the event loop stood still for 2.5 s" in caplog.text


def test_a_full_pipe_never_makes_the_writer_wait() -> None:
    reader, writer = os.pipe()

    write_without_waiting(writer, "x" * 1_000_000)
    write_without_waiting(writer, "more")
    os.close(writer)

    taken = 0
    while chunk := os.read(reader, 65536):
        taken += len(chunk)
    os.close(reader)
    assert 0 < taken < 1_000_000
