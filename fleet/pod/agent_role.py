"""What a pod's agent runs: HTTP for metrics and health, and a candidate for the coordinator's office."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterable, Mapping
from typing import Any

from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.configuration.config import FleetConfig
from fleet.health.agent import AgentServer
from fleet.health.health import HealthServer
from fleet.health.metrics import FleetMetrics, new_registry, snapshot
from fleet.office.coordinator import Coordinator, FleetLayout
from fleet.office.lookout import Lookout
from fleet.pod.live_config import as_of_now, follow_config
from fleet.pod.plan import PRODUCT, RunPlan
from fleet.pod.preflight import check_key
from fleet.processes.child import ChildStart
from fleet.records.record import Incarnation
from fleet.rules.planner import PlanSettings
from shards.api.useragent import UserAgent
from shards.authoring.controller import identity_of
from shards.clock import boot_seconds
from shards.metrics import RequestMetrics
from shards.transport.kube import KubeTransport, connect

log = logging.getLogger(__name__)


def is_candidate(pod: str, candidates: int) -> bool:
    """Whether the pod's agent stands for office: the first ones of a StatefulSet; a pod without an ordinal does."""
    _, _, ordinal = pod.rpartition("-")
    return not ordinal.isdigit() or int(ordinal) < candidates


async def serve(start: ChildStart, plan: RunPlan, stop: asyncio.Event) -> None:
    """The agent until `stop` is set, or its coordinator ends."""
    plan, file = as_of_now(plan)
    config = plan.config
    registry = new_registry()
    transport = await connect(kubeconfig=plan.kubeconfig, context=plan.context, metrics=RequestMetrics(registry))
    metrics = FleetMetrics(registry)
    coordination = _coordination(start, plan, transport)
    coordinator = None
    if is_candidate(plan.pod, config.coordination.candidates):
        coordinator = _make_coordinator(start, plan, coordination, metrics)

    def status() -> dict[str, object]:
        return {
            "pod": plan.pod,
            "candidate": coordinator is not None,
            "coordinator": coordinator is not None and coordinator.in_office,
        }

    def metrics_now() -> bytes:
        metrics.coordinator.set(int(coordinator is not None and coordinator.in_office))
        if coordinator is not None:
            metrics.unowned_ranges.set(coordinator.unowned_ranges)
            metrics.coordinator_epoch.set(coordinator.epoch)
            metrics.frozen.set(int(coordinator.orders.controls.frozen is not None))
        lookout.measure(metrics)
        return snapshot(registry)

    async def workers() -> Iterable[Mapping[str, Any]]:
        return (await server.statuses()).values()

    lookout = Lookout(
        coordination,
        view=lambda: coordinator.view if coordinator is not None and coordinator.has_view else None,
        workers=workers,
        clock=boot_seconds,
        rng=random.Random(),
    )

    server = AgentServer(
        host=config.agent.address,
        port=config.agent.metrics_port,
        run_dir=plan.run_dir,
        workers=[f"worker-{slot}" for slot in range(config.workers.per_pod)],
        status=status,
        metrics=metrics_now,
        incarnation=start.count,
        config_path="agent.metricsPort",
    )
    health = HealthServer(plan.run_dir, start.name, incarnation=start.count, status=status, metrics=metrics_now)
    await health.start()

    async def change(found: FleetConfig) -> None:
        if coordinator is not None:
            coordinator.registrar.layout = _layout(plan, found)

    following = asyncio.create_task(follow_config(file, change), name="config file")
    looking = asyncio.create_task(lookout.run(), name="lookout")
    try:
        if config.agent.metrics_port >= 0:
            await server.start()
            log.info("metrics and health on port %d", server.port)
        await _until(stop, coordinator)
    finally:
        following.cancel()
        looking.cancel()
        await server.close()
        await health.close()
        await transport.close()


async def _until(stop: asyncio.Event, coordinator: Coordinator | None) -> None:
    """Coordinates until told to stop. A coordinator that ends by itself takes the agent with it."""
    stopped = asyncio.create_task(stop.wait(), name="stop")
    tasks: set[asyncio.Task[object]] = {stopped}
    if coordinator is not None:
        tasks.add(asyncio.create_task(coordinator.run(), name="coordinator"))
    done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    for task in done:
        task.result()


def _layout(plan: RunPlan, config: FleetConfig) -> FleetLayout:
    return FleetLayout(
        fleet=config.fleet,
        identity=identity_of(plan.controllers),
        partition_key=config.shards.partition_by,
        shard_count=config.shards.count,
    )


def _coordination(start: ChildStart, plan: RunPlan, transport: KubeTransport) -> KubernetesCoordination:
    agent = UserAgent(PRODUCT, member=f"{plan.pod}-agent", epoch=str(start.count), reason="coordinator")
    return KubernetesCoordination(
        transport,
        fleet=plan.config.fleet,
        namespace=plan.namespace,
        user_agent=lambda: str(agent),
        request_timeout_seconds=plan.config.coordination.request_seconds,
    )


def _make_coordinator(
    start: ChildStart, plan: RunPlan, coordination: KubernetesCoordination, metrics: FleetMetrics
) -> Coordinator:
    config = plan.config
    return Coordinator(
        coordination,
        _layout(plan, config),
        Incarnation(f"{start.supervisor_id}.agent", start.count),
        lease_seconds=config.coordination.lease_seconds,
        renew_seconds=config.coordination.renew_every_seconds,
        plan_settings=PlanSettings(
            churn_per_round=config.rebalance.churn_per_round,
            cooldown_seconds=config.rebalance.cooldown_seconds,
            restart_grace_seconds=config.rebalance.restart_grace_seconds,
        ),
        reaped_predecessor=start.reaped_predecessor,
        telemetry=metrics,
        check_config=lambda found: check_key(found.shards.partition_by, plan.partition_keys),
    )
