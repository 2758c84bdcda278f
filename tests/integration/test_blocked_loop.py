"""A reconcile blocks the event loop: the watchdog names it and ends the process before its lease could be taken."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
import yaml

from fleet.processes.exitcodes import EX_WATCHDOG
from shards.api.client import Client
from shards.objects import Object, Resource
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.integration.pods import WEBSITES_FILE, Pod, fleet_config, fleet_status
from tests.integration.waiting import eventually

WEBSITES = Resource.parse("demo.shardfleet.dev/v1/websites")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
LEASE_SECONDS = 4.0


def website(name: str) -> Object:
    return {
        "apiVersion": "demo.shardfleet.dev/v1",
        "kind": "Website",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 1, "html": name},
    }


def _all_owned(server: EmbeddedServer) -> bool:
    try:
        found = fleet_status(server.kubeconfig)
    except subprocess.CalledProcessError:
        return False  # there is no map yet
    return bool(found["shards"]) and not found["unowned"]


def _with_status(server: EmbeddedServer) -> int:
    entries = server.journal()
    return len({entry.name for entry in entries if entry.subresource == "status" and entry.write and entry.succeeded})


async def test_the_watchdog_ends_a_blocked_worker_before_its_lease_could_be_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "blocked"
    monkeypatch.setenv("BLOCKED_ONCE", str(marker))
    config = fleet_config(
        tmp_path,
        controller=f"{Path(__file__).with_name('blocking_controller.py')}:websites",
        shards={"count": 4},
        coordination={"leaseSeconds": LEASE_SECONDS},
    )
    with EmbeddedServer(tmp_path) as server:
        transport = await connect(kubeconfig=str(server.kubeconfig))
        client = Client(transport, user_agent="somebody")
        await client.create(CRDS, "", yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text()))
        with Pod("web-0", config, server.kubeconfig, tmp_path) as pod:
            await eventually(lambda: len(pod.children()) == 3, within_seconds=20, what="the pod runs")
            await eventually(lambda: _all_owned(server), within_seconds=20, what="all shards are owned")
            await client.create(WEBSITES, "default", website("blocker"))
            await eventually(marker.exists, within_seconds=5, what="the loop is blocked")
            blocked_at = time.monotonic()
            await eventually(
                lambda: any(child.count == 2 for child in pod.children().values()),
                within_seconds=LEASE_SECONDS,
                what="the worker is started again before its lease is over",
            )
            assert time.monotonic() - blocked_at < LEASE_SECONDS
            for i in range(12):
                await client.create(WEBSITES, "default", website(f"site-{i}"))
            await eventually(
                lambda: _with_status(server) == 13, within_seconds=10, what="everything is reconciled, blocker included"
            )
        await transport.close()
        log = pod.log.read_text()
        assert "'reconcile websites default/blocker'" in log
        assert "blocking_controller.py" in log
        assert f"code {EX_WATCHDOG}" in log or f"exit code {EX_WATCHDOG}" in log
        assert "fenced" not in log
