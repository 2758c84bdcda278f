"""A pod that vanishes without a word, and took the coordinator with it: the other one fences it and takes over."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml

from fleet.devcluster.judging.judge import judge
from shards.api.client import Client
from shards.objects import Resource
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.integration.pods import WEBSITES_FILE, Pod, fleet_config, fleet_status
from tests.integration.waiting import eventually

CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
LEASE_SECONDS = 4.0
BOUND_SECONDS = LEASE_SECONDS + 4.0 + 6.0
"""Design 3.5: a lease and four seconds, and six more where the coordinator was there too."""


def status(server: EmbeddedServer) -> dict[str, Any]:
    try:
        return fleet_status(server.kubeconfig)
    except subprocess.CalledProcessError:
        return {"shards": [], "unowned": [], "coordinatorPod": ""}  # there is no map yet


def owned_by(found: dict[str, Any]) -> set[str]:
    """Pods that own something, when everything is owned; else nobody."""
    if not found["shards"] or found["unowned"]:
        return set()
    return {row["owner"].rpartition("-")[0] for row in found["shards"]}


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_the_pod_of_the_coordinator_is_lost(tmp_path: Path) -> None:
    config = fleet_config(tmp_path, shards={"count": 8}, coordination={"leaseSeconds": LEASE_SECONDS})
    with EmbeddedServer(tmp_path) as server:
        transport = await connect(kubeconfig=str(server.kubeconfig))
        crd = yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text())
        await Client(transport, user_agent="somebody").create(CRDS, "", crd)
        await transport.close()
        with (
            Pod("web-0", config, server.kubeconfig, tmp_path) as one,
            Pod("web-1", config, server.kubeconfig, tmp_path) as other,
        ):
            await eventually(
                lambda: owned_by(status(server)) == {"web-0", "web-1"}, within_seconds=30, what="both pods own shards"
            )
            lost = one if status(server)["coordinatorPod"] == "web-0" else other
            left = other if lost is one else one
            pids = [child.pid for child in lost.children().values()]
            assert lost.process is not None
            lost.process.kill()
            lost.process.wait()
            await eventually(
                lambda: owned_by(status(server)) == {left.name}, within_seconds=BOUND_SECONDS, what="all is owned again"
            )
            assert not any(is_running(pid) for pid in pids), "no process outlives its supervisor"
        verdict = judge(server.journal())
        assert verdict.clean, verdict.findings
        assert verdict.takeovers == 4
