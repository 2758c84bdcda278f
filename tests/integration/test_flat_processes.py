"""What processes hold stays the same, whatever is cut and killed: descriptors, threads, children, memory."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
import yaml

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Cut, Refuse
from shards.api.client import Client
from shards.objects import Resource
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.integration.pods import WEBSITES_FILE, Pod, fleet_config
from tests.integration.test_lost_pod import owned_by, status
from tests.integration.waiting import eventually

CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
WEBSITES = Resource.parse("demo.shardfleet.dev/v1/websites")
OBJECTS = 40
ROUNDS = 25
"""Of cut watches and refused requests."""
KILLS = 4
SPARE_FILES = 4
"""Connections that happen to be open at a look."""
SPARE_MIB = 16.0


def figures(pid: int) -> dict[str, float]:
    """fds, threads, rss_mib, children: of a process."""
    proc = Path(f"/proc/{pid}")
    pages = int((proc / "statm").read_text().split()[1])
    children = [(task / "children").read_text().split() for task in (proc / "task").iterdir()]
    return {
        "fds": len(os.listdir(proc / "fd")),
        "threads": len(os.listdir(proc / "task")),
        "rss_mib": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        "children": sum(map(len, children)),
    }


def descendants(pid: int) -> set[int]:
    """All processes below one, zombies too."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found |= {child, *descendants(child)}
    return found


async def cut_and_heal(server: EmbeddedServer) -> None:
    """All watches end, and what comes next is refused now and then."""

    async def work() -> None:
        server.server.faults.inject(Refuse(match=Match(member="web-0-0"), status=503, probability=0.2))
        server.server.faults.inject(Cut(match=Match(verbs=("watch",)), after_bytes=200, probability=0.5))
        server.server.watching.end()

    async def heal() -> None:
        server.server.faults.clear()

    await asyncio.to_thread(server.run, work())
    await asyncio.sleep(0.3)
    await asyncio.to_thread(server.run, heal())


@pytest.mark.timeout(150)
async def test_a_pod_keeps_what_it_holds_through_faults_and_restarts(tmp_path: Path) -> None:
    config = fleet_config(tmp_path, shards={"count": 4}, coordination={"leaseSeconds": 8})
    with EmbeddedServer(tmp_path) as server:
        transport = await connect(kubeconfig=str(server.kubeconfig))
        client = Client(transport, user_agent="somebody")
        await client.create(CRDS, "", yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text()))
        with Pod("web-0", config, server.kubeconfig, tmp_path) as pod:
            await eventually(lambda: owned_by(status(server)) == {"web-0"}, within_seconds=40, what="all is owned")
            for number in range(OBJECTS):
                await client.create(WEBSITES, "default", website(number))
            assert pod.process is not None
            supervisor, worker = pod.process.pid, pod.children()["worker-0"].pid
            for _ in range(3):
                await cut_and_heal(server)
            await eventually(lambda: owned_by(status(server)) == {"web-0"}, within_seconds=40, what="all is owned")
            before = {pid: figures(pid) for pid in (supervisor, worker)}
            processes = len(descendants(supervisor))
            for _ in range(ROUNDS):
                await cut_and_heal(server)
            for _ in range(KILLS):
                await killed_and_back(pod, "worker-1")
            await eventually(lambda: owned_by(status(server)) == {"web-0"}, within_seconds=40, what="all is owned")
            assert pod.children()["worker-0"].pid == worker
            for pid in (supervisor, worker):
                await eventually(
                    lambda pid=pid: grown(before[pid], figures(pid)) == [],  # type: ignore[misc]
                    within_seconds=10,
                    what=f"{before[pid]} of {pid}, not {figures(pid)}",
                )
            assert len(descendants(supervisor)) == processes
            sockets = {file.name for file in pod.run_dir.glob("*.sock")}
        assert sockets == {"agent.sock", "worker-0.sock", "worker-1.sock"}
        await transport.close()


def grown(before: dict[str, float], now: dict[str, float]) -> list[str]:
    room = {"fds": SPARE_FILES, "threads": 0, "children": 0, "rss_mib": SPARE_MIB}
    return [name for name, value in now.items() if value > before[name] + room[name]]


async def killed_and_back(pod: Pod, name: str) -> None:
    """SIGKILL. Its successor runs, and no trace of it is left among the processes."""
    pid = pod.children()[name].pid
    os.kill(pid, signal.SIGKILL)
    await eventually(
        lambda: not Path(f"/proc/{pid}").exists() and pod.children().get(name, pod.children()["agent"]).pid != pid,
        within_seconds=20,
        what=f"{name} is reaped",
    )
    await eventually(lambda: name in pod.children() and alive(pod.children()[name].pid), within_seconds=20, what=name)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def website(number: int) -> dict[str, object]:
    return {
        "apiVersion": "demo.shardfleet.dev/v1",
        "kind": "Website",
        "metadata": {"name": f"site-{number}", "namespace": "default"},
        "spec": {"replicas": 1, "html": f"<h1>{number}</h1>"},
    }


async def test_hundreds_of_connections_leave_no_file_behind(embedded: EmbeddedServer) -> None:
    """B98: a client that wrote credentials to temporary files left one open with every load."""
    await loaded(embedded, 5)
    before = len(os.listdir("/proc/self/fd"))
    await loaded(embedded, 300)
    assert len(os.listdir("/proc/self/fd")) <= before + 1


async def loaded(server: EmbeddedServer, times: int) -> None:
    for _ in range(times):
        transport = await connect(kubeconfig=str(server.kubeconfig))
        await transport.close()
