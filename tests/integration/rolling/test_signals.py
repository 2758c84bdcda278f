"""Signals at every time of a pod's life: while it starts, joins, works, drains, and a second one."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from fleet.health.range_steps import Cause, Step
from fleet.processes.exitcodes import EX_DEADLINE
from shards.clock import boot_seconds
from tests.integration.rolling.stateful_set import LEASE_SECONDS, StartedPod, StatefulSet, served, stateful_set
from tests.integration.waiting import eventually

pytestmark = pytest.mark.timeout(180)

SLOW = {"PATIENCE": "2.0"}
ENDLESS = {"PATIENCE": "60.0"}
END_SECONDS = 40.0


def begun(web: StatefulSet, name: str, since: float) -> bool:
    return any(note.what == "started" and note.key == f"default/{name}" for note in web.notes() if note.time > since)


def _count(pod: StartedPod) -> int:
    """Of its worker's incarnation."""
    worker = pod.children().get("worker-0")
    return worker.count if worker is not None else 0


async def test_sigint_is_an_end_like_sigterm(tmp_path: Path) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path) as web:
            one, _ = web.start("web-0"), web.start("web-1")
            await web.owned_by("web-0", "web-1")
            began = boot_seconds()
            one.send(signal.SIGINT)
            assert await asyncio.to_thread(one.ended, END_SECONDS) == 0
            await web.owned_by("web-1")
            assert web.causes(began) == {Cause.HANDOVER}
            assert web.judged().takeovers == 0


@pytest.mark.parametrize("after_seconds", [0.1, 0.6, 1.2, 2.0])
async def test_sigterm_during_the_start_ends_the_pod_and_leaves_no_member(after_seconds: float, tmp_path: Path) -> None:
    """What had begun may be a member for a moment, and leaves."""
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path, objects=4) as web:
            pod = web.start("web-0")
            await asyncio.sleep(after_seconds)
            pod.send(signal.SIGTERM)
            code = await asyncio.to_thread(pod.ended, END_SECONDS)
            # Before it listens, the signal's own end is as good: nothing is held yet.
            assert code in (0, -signal.SIGTERM)
            again = web.start("web-0")
            await web.owned_by("web-0")
            assert await asyncio.to_thread(again.terminate) == 0
            web.judged()


async def test_sigterm_during_the_join_ends_the_pod_without_joining(tmp_path: Path) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path) as web:
            web.start("web-0")
            await web.owned_by("web-0")
            waiting = web.start("web-0")
            await eventually(lambda: "joining waits" in waiting.log.read_text(), within_seconds=60, what="it waits")
            waiting.send(signal.SIGTERM)
            sent_at = boot_seconds()
            assert await asyncio.to_thread(waiting.ended, END_SECONDS) == 0
            assert boot_seconds() - sent_at < 2 * LEASE_SECONDS
            assert "member web-0-0 at epoch" not in waiting.log.read_text()
            assert len(web.owners()) == web.ranges, "the other one goes on"
            web.judged(twins=True)


async def test_sigterm_during_a_drain_is_an_end_like_any_other(tmp_path: Path) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path, objects=8) as web:
            old = web.start("web-0", environment=SLOW)
            await web.owned_by("web-0")
            for number in range(24):
                await web.create(f"slow-{number}")
            began = boot_seconds()
            web.start("web-1", environment=SLOW)
            await eventually(
                lambda: any(note.cause == Step.DRAINING for note in web.steps(began)),
                within_seconds=60,
                what="a range drains",
            )
            old.send(signal.SIGTERM)
            assert await asyncio.to_thread(old.ended, END_SECONDS) == 0
            await web.owned_by("web-1")
            await web.settle()
            assert web.causes(began) == {Cause.HANDOVER}
            assert web.judged().takeovers == 0


async def test_a_second_sigterm_kills_at_once_and_the_others_take_over_by_the_lease(tmp_path: Path) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path, objects=8) as web:
            old = web.start("web-0", environment=ENDLESS)
            await web.owned_by("web-0")
            await web.create("slow-0")
            await eventually(lambda: begun(web, "slow-0", 0.0), within_seconds=30, what="it is being reconciled")
            web.start("web-1")
            old.send(signal.SIGTERM)
            await eventually(lambda: "SIGTERM: stopping" in old.log.read_text(), within_seconds=10, what="it stops")
            sent_at = boot_seconds()
            old.send(signal.SIGTERM)
            assert await asyncio.to_thread(old.ended, END_SECONDS) == 1, "its workers did not end well"
            assert boot_seconds() - sent_at < 2.0
            await web.owned_by("web-1")
            await web.settle()
            web.judged()


async def test_a_worker_that_gets_sigterm_by_itself_hands_over_and_is_started_again(tmp_path: Path) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path) as web:
            one, _ = web.start("web-0"), web.start("web-1")
            await web.owned_by("web-0", "web-1")
            began = boot_seconds()
            os.kill(one.children()["worker-0"].pid, signal.SIGTERM)
            await eventually(lambda: _count(one) == 2, within_seconds=30, what="it is back")
            await web.owned_by("web-0", "web-1")
            assert web.causes(began) == {Cause.HANDOVER}
            assert web.judged().takeovers == 0


# -- what cannot be cancelled -----------------------------------------------------------------------------------------


async def test_a_range_whose_function_runs_on_in_a_thread_is_never_released_and_its_move_goes_on_after_the_restart(
    tmp_path: Path,
) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(
            server, tmp_path, ranges=2, objects=8, controller="in_threads", workers={"perPod": 1, "drainSeconds": 1}
        ) as web:
            old = web.start("web-0", environment=ENDLESS)
            await web.owned_by("web-0")
            slow = [f"slow-{number}" for number in range(4)]  # at least one in each range
            for name in slow:
                await web.create(name)
            await eventually(
                lambda: all(begun(web, name, 0.0) for name in slow), within_seconds=30, what="all are being reconciled"
            )
            began = boot_seconds()
            web.start("web-1")
            await web.owned_by("web-0", "web-1", within_seconds=60)
            assert "cannot be drained" in old.log.read_text()
            assert f"exit code {EX_DEADLINE}" in old.log.read_text()
            released = {note.range for note in web.steps(began) if note.cause == Step.RELEASED}
            claimed = [note for note in web.steps(began) if note.cause == Step.CLAIMED and note.member == "web-1-0"]
            assert [note.outcome for note in claimed] == [Cause.FENCE]
            assert claimed[0].range not in released
            web.judged()
