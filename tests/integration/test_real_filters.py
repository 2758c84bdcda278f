"""Real API servers that honour `shardSelector`, and one that ignores it, behind one address."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import yaml
from multidict import CIMultiDict

from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Cut, StaleReplica
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.proxy.door import FaultProxy
from fleet.devcluster.proxy.upstream import Upstream
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request
from shards.api.client import Client
from shards.filtering.proofs import selector_proof
from shards.objects import Resource
from shards.transport.kube import connect
from tests.cluster import audit
from tests.cluster.plane import GARBAGE_COLLECTION, ControlPlane
from tests.integration.pods import WEBSITES_FILE, Pod, fleet_config, fleet_status, notes
from tests.integration.waiting import eventually

pytestmark = [pytest.mark.integration, pytest.mark.real]

WEBSITES = Resource.parse("demo.shardfleet.dev/v1/websites")
CONFIGMAPS = Resource.parse("v1/configmaps")
LEASES = Resource.parse("coordination.k8s.io/v1/leases")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
CRD_FILE = WEBSITES_FILE.with_name("websites-crd.yaml")
OBJECTS = 60


@pytest.mark.parametrize("resource", [CONFIGMAPS, LEASES, CRDS], ids=str)
async def test_a_server_with_the_gate_is_proven(real_kubeconfig: Path, resource: Resource) -> None:
    transport = await connect(kubeconfig=str(real_kubeconfig))
    try:
        client = Client(transport)
        if not (await client.list(CRDS))["items"]:
            await client.create(CRDS, "", yaml.safe_load(CRD_FILE.read_text()))
        assert (await selector_proof(transport, resource)).holds is True
    finally:
        await transport.close()


async def test_a_server_without_the_gate_is_refuted(real_cluster_unsharded: ControlPlane) -> None:
    transport = await connect(kubeconfig=str(real_cluster_unsharded.kubeconfig))
    try:
        await Client(transport).create(CONFIGMAPS, "default", {"metadata": {"generateName": "probe-"}})
        answer = await selector_proof(transport, CONFIGMAPS)
        assert answer.holds is False
        assert "which shardSelector excludes" in answer.why
    finally:
        await transport.close()


@pytest.fixture
async def both(cluster_binary: Path, tmp_path: Path) -> AsyncIterator[tuple[ControlPlane, FaultProxy]]:
    """One cluster with two front ends, and the proxy in front: it leads to the new one, and by a fault to the old."""
    with ControlPlane(tmp_path / "cluster", binary=cluster_binary, controllers=GARBAGE_COLLECTION) as plane:
        old = await Upstream.of(str(await asyncio.to_thread(plane.front_end, "old", sharded=False)))
        proxy = await FaultProxy.start(await Upstream.of(str(plane.kubeconfig)))

        async def to_the_old_one(request: Request) -> Answer:
            target = quote(request.path) + (f"?{urlencode(request.query)}" if request.query else "")
            return await old.send(request, target, CIMultiDict(request.headers))

        proxy.faults.routes["old"] = to_the_old_one
        try:
            yield plane, proxy
        finally:
            await proxy.close()
            await old.close()


@pytest.mark.timeout(400)
async def test_a_fleet_is_led_to_a_server_without_the_gate_in_the_middle_of_its_watches_and_back(
    both: tuple[ControlPlane, FaultProxy], tmp_path: Path
) -> None:
    plane, proxy = both
    through = tmp_path / "through-the-proxy"
    proxy.write_kubeconfig(through)
    transport = await connect(kubeconfig=str(plane.kubeconfig))
    client = Client(transport, user_agent="somebody")
    try:
        await client.create(CRDS, "", yaml.safe_load(CRD_FILE.read_text()))
        await eventually_served(client)
        for number in range(OBJECTS):
            await client.create(WEBSITES, "default", site(number))
        config = fleet_config(tmp_path, shards={"count": 8})
        with Pod("web-0", config, through, tmp_path):
            await stands_on(plane, "shard-selector", within_seconds=60)
            await settled(client, 0)
            led = proxy.faults.inject(StaleReplica(match=INFORMED, replica="old"))
            proxy.faults.inject(Cut(match=Match(verbs=("watch",), resource=str(WEBSITES)), after_bytes=0, times=8))
            await touch(client, 1)
            await stands_on(plane, "local", within_seconds=60)
            await settled(client, 1)
            row = next(each for each in await filters(plane) if each["resource"] == str(WEBSITES))
            assert (row["best"], row["verdict"]) == ("shard-selector", "refuted")
            assert row["foreign"] > 0
            assert row["probedSecondsAgo"] is not None
            led.release()
            await stands_on(plane, "shard-selector", within_seconds=200)
            await touch(client, 2)
            await settled(client, 2)
    finally:
        await transport.close()
    verdict = judge(audit.read(plane.audit_log), notes(tmp_path))
    assert (verdict.overlap_violations, verdict.writes_after_release) == (0, 0), verdict.findings
    assert verdict.duplicate_status_writes == verdict.duplicate_child_posts == 0, verdict.findings


INFORMED = Match(verbs=("watch",), resource=str(WEBSITES))
"""Not lists, by which the probe asks: only foreign objects can tell."""


def site(number: int, change: int = 0) -> dict[str, Any]:
    return {
        "apiVersion": "demo.shardfleet.dev/v1",
        "kind": "Website",
        "metadata": {"name": f"site-{number}", "namespace": "default"},
        "spec": {"replicas": 1, "html": f"change {change}"},
    }


async def eventually_served(client: Client) -> None:
    async with asyncio.timeout(20):
        while True:
            crd = await client.get(CRDS, "", "websites.demo.shardfleet.dev")
            conditions = crd.get("status", {}).get("conditions") or []
            if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
                return
            await asyncio.sleep(0.1)


async def touch(client: Client, change: int) -> None:
    for number in range(OBJECTS):
        await client.merge_patch(WEBSITES, "default", f"site-{number}", {"spec": site(number, change)["spec"]})
        await asyncio.sleep(0.02)


async def settled(client: Client, change: int) -> None:
    """Every page shows the change."""
    deadline = time.monotonic() + 60
    while True:
        found = (await client.list(CONFIGMAPS, "default"))["items"]
        shown = [each for each in found if f"change {change}" in str(each.get("data"))]
        if len(shown) == OBJECTS:
            return
        assert time.monotonic() < deadline, f"{len(shown)} of {OBJECTS} pages show change {change}"
        await asyncio.sleep(0.2)


async def filters(plane: ControlPlane) -> list[dict[str, Any]]:
    status = await asyncio.to_thread(fleet_status, plane.kubeconfig)
    return list(status["filters"])


async def stands_on(plane: ControlPlane, mode: str, *, within_seconds: float) -> None:
    def all_of_them() -> bool:
        try:
            found = fleet_status(plane.kubeconfig)["filters"]
        except subprocess.CalledProcessError:
            return False  # no coordinator has made a map yet
        rows = [each for each in found if each["resource"] == str(WEBSITES)]
        return [each["filter"] for each in rows] == [mode] and sum(each["views"] for each in rows) == 8

    await eventually(all_of_them, within_seconds=within_seconds, what=f"all views of websites stand on {mode}")
