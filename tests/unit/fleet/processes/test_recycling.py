"""Which worker leaves when memory is short, and when."""

from __future__ import annotations

import logging
import signal
from pathlib import Path

import pytest

from fleet.processes.cgroup_memory import CgroupMemory
from fleet.processes.child import Child, ChildSpec
from fleet.processes.exitcodes import EX_OK, EX_RECYCLED
from fleet.processes.flights import DeathBook, shared_flights
from fleet.processes.heartbeat import shared_heartbeats
from fleet.processes.recycling import (
    INTERVAL_SECONDS,
    LOOK_SECONDS,
    RECYCLE_SIGNAL,
    SETTLED_SECONDS,
    Recycler,
    RecycleSettings,
    resident_bytes,
)
from tests.unit.fleet.processes.test_cgroup_memory import MIB, cgroup, own

GRACE_SECONDS = 20.0


class Worker(Child):
    """One that notes what it is sent."""

    signals: list[int]
    killed: bool

    def send(self, signum: int) -> None:
        self.signals.append(signum)

    def kill_group(self) -> None:
        self.killed = True


class Pod:
    """Two workers and an agent. mib: resident memory by pid."""

    def __init__(self, directory: Path, settings: RecycleSettings | None = None, *, limit: str = "1000") -> None:
        self.now = 1000.0
        self.mib = {1: 100, 2: 200, 3: 5000}
        self.place = directory / "fs"
        self.place.mkdir()
        (self.place / "cgroup.controllers").touch()
        self.limit = limit
        self.workers = [self.child(f"worker-{n}", pid=n + 1) for n in range(2)]
        agent = self.child("agent", pid=3, agent=True)
        self.uses(0)
        from fleet.processes.cgroup_memory import cgroup_memory

        cgroups: CgroupMemory = cgroup_memory(own(directory, "0::/\n"), self.place)
        self.recycler = Recycler(
            [agent, *self.workers],
            settings or RecycleSettings(),
            grace_seconds=GRACE_SECONDS,
            log=logging.getLogger("pod"),
            clock=lambda: self.now,
            cgroup=cgroups,
            resident=lambda pid: self.mib[pid] * MIB,
        )

    def child(self, name: str, *, pid: int, agent: bool = False) -> Worker:
        spec = ChildSpec(name, pid, lambda _: 0, agent=agent)
        made = Worker(spec, shared_heartbeats(1)[0], DeathBook(shared_flights(1)[0]), pid=pid)
        made.signals, made.killed = [], False
        return made

    def uses(self, mib: int) -> None:
        limit = str(int(self.limit) * MIB) if self.limit.isdigit() else self.limit
        cgroup(self.place, used=mib * MIB, limit=limit)

    def after(self, seconds: float) -> None:
        self.now += seconds
        self.recycler.look()

    def told(self) -> list[list[int]]:
        return [each.signals for each in self.workers]

    def starts_again(self, worker: Worker) -> None:
        worker.started_at = self.now


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


def test_below_the_share_nobody_leaves(pod: Pod) -> None:
    pod.uses(849)
    pod.after(LOOK_SECONDS)
    assert pod.told() == [[], []]


def test_the_largest_worker_leaves_when_the_pod_nears_its_limit(pod: Pod, caplog: pytest.LogCaptureFixture) -> None:
    pod.uses(850)
    pod.after(LOOK_SECONDS)
    assert pod.told() == [[], [RECYCLE_SIGNAL]]
    assert "the pod uses 850 of 1000 MiB of memory: worker-1 leaves in order" in caplog.text
    assert pod.recycler.ended(pod.workers[1], EX_RECYCLED)
    assert not pod.recycler.ended(pod.workers[1], -signal.SIGKILL)
    assert not pod.recycler.ended(pod.workers[0], EX_RECYCLED)


def test_a_pod_whose_memory_is_too_small_does_not_turn_over_its_workers_for_ever(
    pod: Pod, caplog: pytest.LogCaptureFixture
) -> None:
    pod.uses(900)
    for _ in range(8 * 360):
        pod.after(10 * LOOK_SECONDS)
        for worker in pod.workers:
            if worker.recycled_at == pod.now:
                pod.starts_again(worker)
    assert sum(map(len, pod.told())) <= 14
    assert len(caplog.records) < 40
    assert "though workers were started again for it" in caplog.text


def test_after_one_that_helped_the_next_one_does_not_wait_longer(pod: Pod) -> None:
    times: list[float] = []
    for _ in range(10):
        pod.uses(900)
        while len(times) == sum(map(len, pod.told())):
            pod.after(LOOK_SECONDS)
        times.append(pod.now)
        for worker in pod.workers:
            worker.started_at = pod.now if worker.recycled_at == pod.now else worker.started_at
        pod.uses(500)
        for _ in range(int(SETTLED_SECONDS) + 2):
            pod.after(LOOK_SECONDS)
    assert times[-1] - times[0] <= 10 * INTERVAL_SECONDS


def test_never_two_of_a_pod_at_once(pod: Pod) -> None:
    pod.uses(900)
    for _ in range(10):
        pod.after(LOOK_SECONDS)
    pod.starts_again(pod.workers[1])
    for _ in range(int(SETTLED_SECONDS) - 1):
        pod.after(LOOK_SECONDS)
    assert pod.told() == [[], [RECYCLE_SIGNAL]]
    pod.mib[2] = 50
    pod.after(2.0)
    pod.after(LOOK_SECONDS)
    assert pod.told() == [[RECYCLE_SIGNAL], [RECYCLE_SIGNAL]]


def test_never_the_same_one_again_within_the_interval(pod: Pod, caplog: pytest.LogCaptureFixture) -> None:
    pod.uses(900)
    pod.after(LOOK_SECONDS)
    pod.starts_again(pod.workers[1])
    while pod.now < pod.workers[1].started_at + INTERVAL_SECONDS - 2:
        pod.after(LOOK_SECONDS)
    assert pod.told() == [[], [RECYCLE_SIGNAL]]
    assert caplog.text.count("memory is too small for what it holds") == 1
    pod.after(3.0)
    assert pod.told() == [[], [RECYCLE_SIGNAL, RECYCLE_SIGNAL]]


def test_one_that_does_not_leave_is_killed(pod: Pod) -> None:
    pod.uses(900)
    pod.after(LOOK_SECONDS)
    pod.after(GRACE_SECONDS - 1)
    assert not pod.workers[1].killed
    pod.after(1.0)
    assert pod.workers[1].killed


def test_a_worker_has_a_limit_of_its_own_where_one_is_configured(tmp_path: Path) -> None:
    pod = Pod(tmp_path, RecycleSettings(worker_mib=240), limit="max")
    pod.after(LOOK_SECONDS)
    assert pod.told() == [[], []]
    pod.mib[1] = 204
    pod.after(LOOK_SECONDS)
    assert pod.told() == [[RECYCLE_SIGNAL], []]


def test_a_share_of_one_leaves_it_to_the_kernel(tmp_path: Path) -> None:
    pod = Pod(tmp_path, RecycleSettings(share=1.0, worker_mib=100))
    pod.uses(1000)
    pod.after(LOOK_SECONDS)
    assert pod.told() == [[], []]


def test_a_worker_that_leaves_for_another_reason_is_not_taken_for_one(pod: Pod) -> None:
    assert not pod.recycler.ended(pod.workers[0], EX_OK)


def test_resident_memory_is_that_of_the_process(tmp_path: Path) -> None:
    import os

    assert resident_bytes(os.getpid()) > MIB
    assert resident_bytes(2**22 + 1) == 0
