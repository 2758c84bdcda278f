"""Pods that nobody told to stop: killed, frozen, without their supervisor, and there twice."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.health.range_steps import Cause, Step
from shards.clock import boot_seconds
from tests.integration.rolling.stateful_set import (
    LEASE_SECONDS,
    StartedPod,
    StatefulSet,
    is_running,
    served,
    stateful_set,
)
from tests.integration.waiting import eventually

TAKEOVER_SECONDS = LEASE_SECONDS + 10.0
"""Design 3.5: a lease and ten seconds where the coordinator was there too."""

pytestmark = pytest.mark.timeout(240)


def first_after(web: StatefulSet, step: Step, pod: StartedPod, since: float) -> float | None:
    """When a worker of a pod of that name told of such a step first."""
    found = [note.time for note in web.steps(since) if note.cause == step and note.member == f"{pod.name}-0"]
    return min(found, default=None)


async def two_pods(web: StatefulSet) -> tuple[StartedPod, StartedPod]:
    pods = web.start("web-0"), web.start("web-1")
    await web.owned_by("web-0", "web-1")
    return pods


async def test_a_pod_that_is_deleted_by_force_and_made_again_waits_a_lease_and_takes_its_part_back(
    server_kind: str, binary: Callable[[], Path], tmp_path: Path
) -> None:
    with served(server_kind, tmp_path, binary) as server:
        async with stateful_set(server, tmp_path, rebalance={"churnPerRound": 1.0, "cooldownSeconds": 1.0}) as web:
            _, lost = await two_pods(web)
            async with web.busy():
                killed_at = boot_seconds()
                lost.kill_all()
                web.start("web-1")
                await eventually(
                    lambda: first_after(web, Step.OPEN, lost, killed_at) is not None,
                    within_seconds=60,
                    what="the new pod reconciles",
                )
                await web.owned_by("web-0", "web-1")
            opened = first_after(web, Step.OPEN, lost, killed_at)
            assert opened is not None
            # Its last renewal was up to a renewal's period before its death.
            assert opened - killed_at > LEASE_SECONDS * 0.6, "nobody vouched for the end of the old one"
            await web.settle()
            web.judged()


async def test_all_of_a_node_that_is_gone_is_owned_again_within_a_lease_and_ten_seconds(
    server_kind: str, binary: Callable[[], Path], tmp_path: Path
) -> None:
    with served(server_kind, tmp_path, binary) as server:
        async with stateful_set(server, tmp_path) as web:
            lost, left = await two_pods(web)
            async with web.busy():
                killed_at = boot_seconds()
                lost.kill_all()
                await web.owned_by(left.name)
            last = max(note.time for note in web.steps(killed_at) if note.cause == Step.OPEN)
            assert last - killed_at < TAKEOVER_SECONDS
            assert Cause.FENCE in web.causes(killed_at)
            await web.settle()
            assert web.judged().takeovers == 4


async def test_a_pod_that_was_frozen_for_longer_than_its_lease_owns_nothing_until_it_is_handed_over_anew(
    tmp_path: Path,
) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path) as web:
            frozen, left = await two_pods(web)
            async with web.busy():
                frozen.signal_all(signal.SIGSTOP)
                await eventually(
                    lambda: set(web.owners().values()) == {left.name}, within_seconds=60, what="the other pod owns all"
                )
                woken_at = boot_seconds()
                frozen.signal_all(signal.SIGCONT)
                await eventually(
                    lambda: (
                        any(note.what == "begin" and note.time > woken_at for note in web.notes())
                        or first_after(web, Step.DROPPED, frozen, woken_at) is not None
                    ),
                    within_seconds=30,
                    what="the frozen worker drops what it had, or is started again",
                )
                await web.owned_by(frozen.name, left.name)
            claimed = [note for note in web.steps(woken_at) if note.cause == Step.CLAIMED and note.member == "web-0-0"]
            assert {note.outcome for note in claimed} == {Cause.HANDOVER}
            await web.settle()
            web.judged()


async def test_the_workers_of_a_supervisor_that_was_killed_end_with_it_and_act_no_more(tmp_path: Path) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path) as web:
            lost, left = await two_pods(web)
            async with web.busy():
                children = lost.kill_supervisor()
                ended_at = boot_seconds()
                await eventually(
                    lambda: not any(map(is_running, children)), within_seconds=5, what="its children have ended"
                )
                await web.owned_by(left.name)
            late = [note for note in web.notes() if note.member == "web-0-0" and note.time > ended_at + 1.0]
            assert late == []
            await web.settle()
            web.judged()


# -- the same ordinal twice -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["is killed", "leaves"])
async def test_a_pod_that_comes_while_the_old_one_of_its_name_still_runs_waits_until_it(
    how: str, tmp_path: Path
) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path) as web:
            old = web.start("web-0")
            await web.owned_by("web-0")
            async with web.busy():
                new = web.start("web-0")
                await eventually(
                    lambda: (
                        "joining waits: member record web-0-0 is held by another incarnation" in new.log.read_text()
                    ),
                    within_seconds=60,
                    what="the new one waits",
                )
                await asyncio.sleep(2 * LEASE_SECONDS)
                assert "member web-0-0 at epoch" not in new.log.read_text(), "the old one renews"
                began = boot_seconds()
                if how == "leaves":
                    assert await asyncio.to_thread(old.terminate) == 0
                else:
                    old.kill_all()
                await eventually(
                    lambda: len([n for n in web.steps(began) if n.cause == Step.OPEN]) >= web.ranges,
                    within_seconds=60,
                    what="the new one owns all",
                )
            await web.settle()
            web.judged(twins=True)


async def test_a_pod_that_comes_while_the_old_one_of_its_name_is_frozen_takes_over_and_the_old_one_finds_out(
    tmp_path: Path,
) -> None:
    with served("embedded", tmp_path, Path) as server:
        async with stateful_set(server, tmp_path) as web:
            old = web.start("web-0")
            await web.owned_by("web-0")
            async with web.busy():
                old.signal_all(signal.SIGSTOP)
                began = boot_seconds()
                new = web.start("web-0")
                await eventually(
                    lambda: len([n for n in web.steps(began) if n.cause == Step.OPEN]) >= web.ranges,
                    within_seconds=60,
                    what="the new one owns all",
                )
                before = old.log.stat().st_size
                old.signal_all(signal.SIGCONT)
                await eventually(
                    lambda: "joining waits" in old.log.read_text()[before:],
                    within_seconds=60,
                    what="the old one begins anew, and waits for the new one",
                )
                await asyncio.sleep(LEASE_SECONDS)
                assert "is no more" not in new.log.read_text(), "the new one has noticed nothing"
            await web.settle()
            web.judged(twins=True)
