"""Limits of requests change on running pods: no process is started anew for it."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from shards.api.client import Client
from shards.testing.server import EmbeddedServer
from shards.transport.kube import connect
from tests.integration.pods import WEBSITES_FILE, Pod, fleet_config
from tests.integration.test_metrics_page import CRDS, page
from tests.integration.waiting import eventually


def rates(pod: Pod) -> list[float]:
    """What each worker of the pod may send."""
    return [
        float(value)
        for value in re.findall(r"^shardfleet_request_rate_limit\{worker=\"worker.*\} (\S+)$", page(pod), re.M)
    ]


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
