"""The main job on a real kube-apiserver: two pods' worth of processes, deaths, a pod that comes and one that goes.

What happened is judged from the server's own audit log, not from what the fleet says of itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet.dev.player import DeploymentPlayer
from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.recording.journal import Entry
from shards.api.client import Client
from shards.api.useragent import UserAgent
from shards.objects import Resource
from shards.transport.kube import KubeTransport, connect
from tests.cluster import audit
from tests.cluster.plane import GARBAGE_COLLECTION, ControlPlane
from tests.integration.pods import WEBSITES_FILE, Pod, fleet_config, fleet_status, notes
from tests.integration.waiting import eventually

WEBSITES = Resource.parse("demo.shardfleet.dev/v1/websites")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
OBJECTS = 2000
TOUCHES_PER_SECOND = 40
TAKEOVER_SECONDS = 2.0


class Site:
    """The user's side: makes Websites, changes them, and knows how many are as they should be."""

    def __init__(self, transport: KubeTransport) -> None:
        self.client = Client(transport, user_agent="somebody")
        self.touched = 0

    async def install(self) -> None:
        await self.client.create(CRDS, "", yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text()))
        async with asyncio.timeout(20):
            while not await self._served():
                await asyncio.sleep(0.1)

    async def _served(self) -> bool:
        crd = await self.client.get(CRDS, "", "websites.demo.shardfleet.dev")
        conditions = crd.get("status", {}).get("conditions") or []
        return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

    async def create(self, count: int) -> None:
        numbers = iter(range(count))

        async def some() -> None:
            for i in numbers:
                await self.client.create(WEBSITES, "default", self._website(i))

        await asyncio.gather(*(some() for _ in range(20)))

    @staticmethod
    def _website(i: int) -> dict[str, Any]:
        return {
            "apiVersion": "demo.shardfleet.dev/v1",
            "kind": "Website",
            "metadata": {"name": f"site-{i}", "namespace": "default"},
            "spec": {"replicas": 1, "html": f"<h1>{i}</h1>"},
        }

    async def touch(self) -> None:
        """Changes one Website after the other until cancelled, so that there is always something to reconcile."""
        while True:
            spec = {"html": f"<h1>change {self.touched}</h1>"}
            await self.client.merge_patch(WEBSITES, "default", f"site-{self.touched % OBJECTS}", {"spec": spec})
            self.touched += 1
            await asyncio.sleep(1 / TOUCHES_PER_SECOND)

    async def go_on(self, *, touches: int) -> None:
        """Returns after so many further changes: a quarter of them concern any one of four workers."""
        until = self.touched + touches
        await eventually(lambda: self.touched >= until, within_seconds=30, what=f"{touches} changes are made")

    async def unsettled(self) -> int:
        items = (await self.client.list(WEBSITES, "default"))["items"]
        return sum(
            1
            for item in items
            if item.get("status", {}).get("observedGeneration") != item["metadata"]["generation"]
            or item["status"].get("ready") != item["spec"]["replicas"]
        )

    async def settle(self, within_seconds: float) -> None:
        deadline = time.monotonic() + within_seconds
        while left := await self.unsettled():
            assert time.monotonic() < deadline, f"{left} Websites are not settled after {within_seconds:g} s"
            await asyncio.sleep(0.3)


@contextlib.asynccontextmanager
async def in_background(work: Any) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class History:
    """The audit log as a journal, and what it says about one member."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        """directory: where the pods keep their files."""
        self._plane = plane
        self._directory = directory

    def entries(self) -> list[Entry]:
        return audit.read(self._plane.audit_log)

    def verdict(self) -> Verdict:
        return judge(self.entries(), notes(self._directory))

    def acts(self, since: float, *, member: str = "", epoch_above: int = 0) -> list[Entry]:
        """Writes of reconciles since a time (seconds since 1970)."""
        found = []
        for entry in self.entries():
            agent = UserAgent.parse(entry.user_agent)
            if agent is None or not agent.uid or not entry.write or not entry.succeeded or entry.time < since:
                continue
            if member in ("", agent.member) and int(agent.epoch) > epoch_above:
                found.append(entry)
        return found


def owners(kubeconfig: Path) -> dict[str, str]:
    """Range -> owner, as `fleet status` says."""
    return {row["range"]: row["owner"] for row in fleet_status(kubeconfig)["shards"] if row["owner"]}


@pytest.mark.timeout(420)
async def test_the_main_job_runs_on_a_real_server(cluster_binary: Path, tmp_path: Path) -> None:
    with ControlPlane(tmp_path / "plane", binary=cluster_binary, controllers=GARBAGE_COLLECTION) as plane:
        transport = await connect(kubeconfig=str(plane.kubeconfig))
        try:
            async with in_background(DeploymentPlayer(transport, user_agent="player").run()):
                await _main_job(plane, Site(transport), tmp_path)
        finally:
            await transport.close()


@pytest.mark.timeout(120)
async def test_a_server_that_does_not_filter_by_shard_serves_just_as_well(cluster_binary: Path, tmp_path: Path) -> None:
    with ControlPlane(tmp_path / "plane", binary=cluster_binary, sharded=False) as plane:
        transport = await connect(kubeconfig=str(plane.kubeconfig))
        try:
            site = Site(transport)
            await site.install()
            await site.create(100)
            async with in_background(DeploymentPlayer(transport, user_agent="player").run()):
                with Pod("web-0", fleet_config(tmp_path), plane.kubeconfig, tmp_path) as pod:
                    await site.settle(within_seconds=60)
                    assert await asyncio.to_thread(pod.terminate) == 0
        finally:
            await transport.close()
        _nothing_was_done_twice(History(plane, tmp_path).verdict())
    assert "filters: shard-selector of demo.shardfleet.dev/v1/websites is refuted" in pod.log.read_text()


async def _main_job(plane: ControlPlane, site: Site, directory: Path) -> None:
    config, history = fleet_config(directory), History(plane, directory)

    def pod(name: str) -> Pod:
        return Pod(name, config, plane.kubeconfig, directory)

    await site.install()
    await site.create(OBJECTS)
    with pod("web-0") as first, pod("web-1") as second, contextlib.ExitStack() as later:
        await eventually(lambda: bool(second.children()), within_seconds=20, what="both pods run")
        await site.settle(within_seconds=120)
        _nothing_was_done_twice(history.verdict())
        async with in_background(site.touch()):
            await _worker_dies(second, site, history)
            await _coordinator_dies(plane, (first, second), site, history)
            await _pod_joins(plane, later.enter_context(pod("web-2")), history)
        await _pod_leaves(plane, second)
        await site.settle(within_seconds=60)
    verdict = history.verdict()
    assert verdict.findings == []
    _nothing_was_done_twice(verdict)
    assert verdict.children == 2 * OBJECTS


def _nothing_was_done_twice(verdict: Verdict) -> None:
    assert verdict.duplicate_child_posts == 0
    assert verdict.duplicate_status_writes == 0
    assert verdict.overlap_violations == 0
    assert verdict.writes_after_release == 0
    assert verdict.unattributed_writes == 0
    assert [finding for each in verdict.broken_invariants for finding in each.findings] == []


async def _worker_dies(pod: Pod, site: Site, history: History) -> None:
    """Its ranges are owned again, and its keys reconciled, within two seconds of SIGKILL."""
    count = pod.children()["worker-0"].count
    killed_at = time.time()
    pod.kill("worker-0")
    await site.go_on(touches=100)
    acts = await asyncio.to_thread(history.acts, killed_at, member=f"{pod.name}-0", epoch_above=count)
    assert acts
    assert acts[0].time - killed_at < TAKEOVER_SECONDS
    timeline = (await asyncio.to_thread(history.verdict)).timeline
    claims = [
        span.claimed_at
        for spans in timeline.values()
        for span in spans
        if span.holder.startswith(f"{pod.name}-0@") and span.claimed_at > killed_at
    ]
    assert len(claims) == 4
    assert max(claims) - killed_at < TAKEOVER_SECONDS


async def _coordinator_dies(plane: ControlPlane, pods: tuple[Pod, ...], site: Site, history: History) -> None:
    """Nothing stops: keys are reconciled all the time, and nobody loses a range."""
    before = await asyncio.to_thread(owners, plane.kubeconfig)
    status = await asyncio.to_thread(fleet_status, plane.kubeconfig)
    epoch = status["coordinatorEpoch"]
    killed_at = time.time()
    next(pod for pod in pods if pod.name == status["coordinatorPod"]).kill("agent")
    await eventually(
        lambda: fleet_status(plane.kubeconfig)["coordinatorEpoch"] > epoch, within_seconds=20, what="a new coordinator"
    )
    await site.go_on(touches=40)
    acts = [entry.time for entry in await asyncio.to_thread(history.acts, killed_at)]
    pauses = [later - sooner for sooner, later in zip([killed_at, *acts], acts, strict=False)]
    assert acts
    assert max(pauses) < 1.0
    assert await asyncio.to_thread(owners, plane.kubeconfig) == before


async def _pod_joins(plane: ControlPlane, pod: Pod, history: History) -> None:
    """Two workers more, 16 shards for six: four move. Three Lease writes each, one map write, none per object."""
    before = await asyncio.to_thread(history.verdict)
    began = time.time()

    def moved() -> list[str]:
        return [each for each, owner in owners(plane.kubeconfig).items() if owner.startswith(f"{pod.name}-")]

    await eventually(lambda: len(moved()) == 4, within_seconds=40, what="the new workers own shards")
    await eventually(
        lambda: all(row["state"] == "owned" for row in fleet_status(plane.kubeconfig)["shards"]),
        within_seconds=20,
        what="nothing moves any more",
    )
    after = await asyncio.to_thread(history.verdict)
    spent = {
        each: count - before.lease_writes_per_range[each]
        for each, count in after.lease_writes_per_range.items()
        if count != before.lease_writes_per_range[each]
    }
    assert spent == dict.fromkeys(moved(), 3)
    rounds = after.map_writes - before.map_writes
    assert 1 <= rounds <= 2
    handled = [entry for entry in await asyncio.to_thread(history.acts, began) if entry.subresource != "status"]
    assert all(entry.verb != "create" for entry in handled)


async def _pod_leaves(plane: ControlPlane, pod: Pod) -> None:
    assert await asyncio.to_thread(pod.terminate) == 0
    held = owners(plane.kubeconfig)
    assert len(held) == 16
    assert not any(owner.startswith(f"{pod.name}-") for owner in held.values())
    members = {row["name"]: row["state"] for row in fleet_status(plane.kubeconfig)["members"]}
    assert members[f"{pod.name}-0"] == members[f"{pod.name}-1"] == "gone"
