"""Pods that are no fleets: one process each, which takes itself for its supervisor, its agent and its worker."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.targets.local_pods import LocalPods
from chaos.targets.own_pods import OwnPods
from chaos.targets.target import TargetFailed
from fleet.processes.children import ChildRecord, write_children

_SLEEPER = ("/bin/sh", "-c", "exec sleep 60")


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[LocalPods]:
    found = LocalPods(
        tmp_path / "fleet.yaml",
        tmp_path / "kubeconfig",
        "chaos-0",
        tmp_path,
        tmp_path,
        lambda: 7.0,
        lambda: "uid-of-a.x",
    )
    found.command = _SLEEPER
    yield found
    found.close()


def begin(pods: LocalPods, pod: str, start: int = 1) -> int:
    """Its process is listed as its worker. Returns the pid."""
    if pod not in pods.names():
        pods.start(pod)
    pid = pods._pid(pod, "supervisor")
    wait_for(
        lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n" and state(pid) == "S"
    )  # it has loaded all it needs
    room = pods.rooms / f"{pod.removesuffix('-twin')}.{start}"
    room.mkdir(exist_ok=True)
    write_children(room, {"worker-0": ChildRecord(pid, 1)})
    return pid


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_for(what: Callable[[], bool]) -> None:
    while not what():
        os.sched_yield()


def test_everything_that_can_be_done_to_pods_of_ours_is_there(pods: LocalPods) -> None:
    assert isinstance(pods, OwnPods)


def test_a_process_that_is_paused_stands_until_it_is_resumed(pods: LocalPods) -> None:
    pid = begin(pods, "a")
    pods.pause("a", "worker-0")
    wait_for(lambda: state(pid) == "T")
    (halt,) = pods.halts
    assert (halt.member, halt.pid, halt.at, halt.resumed_at) == ("a-0", pid, 7.0, None)
    pods.resume_all()
    wait_for(lambda: state(pid) != "T")
    assert halt.resumed_at == 7.0


def test_limits_are_lifted_to_what_they_were(pods: LocalPods) -> None:
    pid = begin(pods, "a")
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    pods.limit_files("a", "worker-0", 3)
    assert pods.limit_memory("a", "worker-0", 8) >= 8
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (3, before[1])
    pods.limit_files("a", "worker-0", 5)
    pods.lift_limits()
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == before
    assert resource.prlimit(pid, resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def test_a_process_that_has_ended_meanwhile_is_a_sentence(pods: LocalPods) -> None:
    """And no end of a storm."""
    begin(pods, "a")
    with subprocess.Popen(["/bin/true"]) as ended:
        ended.wait()
    write_children(pods.rooms / "a.1", {"worker-0": ChildRecord(ended.pid, 1)})
    for limit in (pods.limit_files, pods.limit_memory):
        with pytest.raises(TargetFailed, match="ended by itself"):
            limit("a", "worker-0", 8)


def test_a_twin_bears_the_name_and_is_found_under_another_one(pods: LocalPods) -> None:
    begin(pods, "a")
    assert pods.start_twin("a") == "a-twin"
    begin(pods, "a-twin", 2)
    assert pods.names() == ["a", "a-twin"]
    assert dict(pods.members()) == {"a-0": ("a", "worker-0")}, "the first of the two comes first"
    assert list(pods.twins()) == [("a", "a-twin")]
    pods.kill_pod("a")
    assert dict(pods.members()) == {"a-0": ("a-twin", "worker-0")}


def test_a_pod_on_the_clock_of_this_machine_cannot_be_set(pods: LocalPods) -> None:
    pods.start("a")
    with pytest.raises(TargetFailed, match="the pod a has the clock of this machine"):
        pods.step_clock("a", boot_seconds=6.0)


def test_a_pod_with_a_clock_of_its_own_sees_the_steps_that_are_made(pods: LocalPods, tmp_path: Path) -> None:
    """It ends when its machine has slept for as long as it would have."""
    told = tmp_path / "told"
    code = (
        f"import time, pathlib; pathlib.Path({str(told)!r}).touch()\n"
        "while time.clock_gettime(time.CLOCK_BOOTTIME) < 1e9: time.sleep(0.01)"
    )
    pods.command = (sys.executable, "-c", code)
    pods.start_with_clock("a", rate=2.0)
    wait_for(told.exists)
    assert pods.names() == ["a"]
    pods.step_clock("a", boot_seconds=1e9)
    wait_for(lambda: not pods.names())
    assert pods._pods["a"].process is not None
    assert pods._pods["a"].process.returncode == 0


def test_a_killed_process_is_remembered_with_the_member_that_it_was(pods: LocalPods) -> None:
    pid = begin(pods, "a")
    end = pods.kill("a", "worker-0")
    assert (end.member, end.pid, list(pods.ends)) == ("a-0", pid, [end])
    wait_for(lambda: not pods.names())
    assert pods._pods["a"].process is not None
    assert pods._pods["a"].process.returncode == -signal.SIGKILL
