"""Limits of requests and feature gates change on running pods: no process is started anew for it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import yaml

from shards.api.client import Client
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.integration.pods import FLEET, WEBSITES_FILE, Pod, fleet_config
from tests.integration.test_metrics_page import CRDS, page
from tests.integration.waiting import eventually


def rates(pod: Pod) -> list[float]:
    """What each worker of the pod may send."""
    return [
        float(value)
        for value in re.findall(r"^shardfleet_request_rate_limit\{worker=\"worker.*\} (\S+)$", page(pod), re.M)
    ]


def enabled(pod: Pod, feature: str) -> list[float]:
    """Where the feature is on, shard by shard."""
    return [
        float(value)
        for value in re.findall(rf"^shardfleet_feature_enabled{{.*name=\"{feature}\".*}} (\S+)$", page(pod), re.M)
    ]


def canary_status(kubeconfig: Path) -> tuple[int, dict[str, Any]]:
    command = [FLEET, "canary", "status", "--kubeconfig", str(kubeconfig), "--json"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    return done.returncode, msgspec.json.decode(done.stdout)


async def test_a_pod_follows_the_feature_gates_in_its_config_file(tmp_path: Path) -> None:
    gates = {"ServerSideSharding": "on"}
    config = fleet_config(tmp_path, shards={"count": 4}, featureGates=gates)
    with EmbeddedServer(tmp_path) as server:
        transport = await connect(kubeconfig=str(server.kubeconfig))
        client = Client(transport, user_agent="somebody")
        await client.create(CRDS, "", yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text()))
        with Pod("web-0", config, server.kubeconfig, tmp_path) as pod:
            await eventually(
                lambda: enabled(pod, "VersionGate") == [1.0] * 4, within_seconds=30, what="all shards are gated"
            )
            assert enabled(pod, "ServerSideSharding") == [1.0] * 4
            pids = {name: child.pid for name, child in pod.children().items()}
            canary = {"features": ["VersionGate", "ServerSideSharding"], "shardFraction": 0.25}
            fleet_config(tmp_path, shards={"count": 4}, featureGates=gates, canary=canary)
            await eventually(
                lambda: (
                    sum(enabled(pod, "VersionGate")) == sum(enabled(pod, "ServerSideSharding")) == 1.0
                    and len(enabled(pod, "VersionGate")) == 4
                ),
                within_seconds=30,
                what="one shard of four has both",
            )
            await eventually(
                lambda: canary_status(server.kubeconfig)[1]["part"] == "0.25 of the shards",
                within_seconds=30,
                what="the members tell what they follow",
            )
            code, told = canary_status(server.kubeconfig)
            assert (code, told["verdict"]) == (3, "wait")
            assert told["features"] == ["VersionGate", "ServerSideSharding"]
            assert {name: child.pid for name, child in pod.children().items()} == pids
        await transport.close()


async def test_a_pod_follows_the_limits_in_its_config_file(tmp_path: Path) -> None:
    config = fleet_config(tmp_path, shards={"count": 4})
    with EmbeddedServer(tmp_path) as server:
        transport = await connect(kubeconfig=str(server.kubeconfig))
        client = Client(transport, user_agent="somebody")
        await client.create(CRDS, "", yaml.safe_load(WEBSITES_FILE.with_name("websites-crd.yaml").read_text()))
        with Pod("web-0", config, server.kubeconfig, tmp_path) as pod:
            await eventually(lambda: rates(pod) == [0.0, 0.0], within_seconds=30, what="both workers run, unlimited")
            pids = {name: child.pid for name, child in pod.children().items()}
            fleet_config(tmp_path, shards={"count": 4}, client={"requestsPerSecond": 30})
            await eventually(lambda: rates(pod) == [30.0, 30.0], within_seconds=30, what="each worker has its limit")
            fleet_config(tmp_path, shards={"count": 4}, client={"fleetRequestsPerSecond": 80})
            await eventually(
                lambda: len(found := rates(pod)) == 2 and min(found) > 0 and 75 < sum(found) <= 80,
                within_seconds=30,
                what="the workers share the fleet's budget",
            )
            assert {name: child.pid for name, child in pod.children().items()} == pids
        await transport.close()
