"""How a worker's parts are put together."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.configuration.config_file import config_from
from fleet.health.metrics import FleetMetrics
from fleet.pod.plan import RunPlan
from fleet.pod.pod_events import event_poster
from fleet.pod.worker_role import _make_runtime, _make_worker
from fleet.processes.child import ChildStart
from fleet.processes.heartbeat import Heartbeat
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.journal import NO_JOURNAL
from shards.metrics import RequestMetrics, ShardMetrics
from shards.transport.kube import connect
from tests.unit.shards.transport.http_server import kubeconfig

websites = Controller("websites", primary="demo.shardfleet.dev/v1/websites")


@websites.reconcile
async def reconcile(ctx: Context, request: Request) -> None: ...


def plan_with(directory: Path, **client: float) -> RunPlan:
    document = {
        "fleet": "web",
        "controller": "websites:websites",
        "client": client,
        "featureGates": {"ServerSideSharding": "off"},
    }
    return RunPlan(
        config=config_from(document),
        controllers=(websites,),
        kubeconfig=kubeconfig(directory / "config", "http://127.0.0.1:9"),
        context=None,
        pod="web-0",
        pod_uid="uid",
        namespace="default",
        revision="",
        run_dir=directory,
    )


START = ChildStart("worker-0", 0, 1, "uid.nonce", True, 0.0, -1, Path(), cast("Heartbeat", None))


@pytest.mark.parametrize("client", [{}, {"fleetRequestsPerSecond": 30}, {"requestsPerSecond": 1, "burst": 1}])
async def test_ownership_goes_past_the_limit_and_shards_do_not(tmp_path: Path, client: dict[str, float]) -> None:
    plan, registry = plan_with(tmp_path, **client), CollectorRegistry()
    transport = await connect(kubeconfig=plan.kubeconfig, metrics=RequestMetrics(registry))
    try:
        runtime = _make_runtime(plan, transport, ShardMetrics(registry), NO_JOURNAL)
        events = event_poster(plan, transport, "web-0-0", lambda: "1")
        worker = _make_worker(START, plan, runtime, FleetMetrics(registry), events)
        assert isinstance(worker.coordination, KubernetesCoordination)
        assert worker.coordination._api.transport is transport
        assert runtime.limited is not transport
        assert runtime.limiter.rate == client.get("fleetRequestsPerSecond", client.get("requestsPerSecond", 0))
        assert (worker._report().demand is not None) == ("fleetRequestsPerSecond" in client)
        runtime.limiter.measure()
        assert registry.get_sample_value("shardfleet_request_rate_limit") == runtime.limiter.rate
    finally:
        await transport.close()
