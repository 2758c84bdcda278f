"""What a forked child does: the entry points of worker and agent, and the only place that knows uvloop.

Both build everything after the fork (loop, connections, threads) and end when SIGTERM arrives.
"""

from __future__ import annotations

import asyncio
import logging
import random
import signal
from collections.abc import Awaitable, Callable

import uvloop

from fleet import __version__
from fleet.agent import AgentServer
from fleet.child import ChildStart
from fleet.coordinator import Coordinator, FleetLayout
from fleet.exitcodes import EX_OK
from fleet.health import HealthServer
from fleet.kubernetes_leases import KubernetesCoordination
from fleet.limits_file import LimitsFile, follow_limits
from fleet.logs import dropped_lines
from fleet.metrics import FleetMetrics, new_registry, snapshot
from fleet.plan import RunPlan
from fleet.planner import PlanSettings
from fleet.record import Incarnation
from fleet.watchdog import Watchdog, WatchdogSettings
from fleet.worker import Worker, WorkerSettings
from fleet.worker_journal import observed, open_journal
from shards.clock import boot_seconds
from shards.controller import identity_of, scope_of
from shards.errors import ApiError, Unreachable
from shards.journal import Journal
from shards.keyrange import KeyRange
from shards.kube import KubeTransport, connect
from shards.metrics import RequestMetrics, ShardMetrics
from shards.objects import Resource
from shards.runtime import WorkerRuntime, collect_rarely
from shards.shard import Shard
from shards.slots import Slots
from shards.source import probe_server_side_sharding
from shards.useragent import UserAgent

log = logging.getLogger(__name__)

PRODUCT = f"fleet/{__version__}"
LEASES = Resource("coordination.k8s.io", "v1", "leases")


def run_worker(start: ChildStart, plan: RunPlan) -> int:
    """A worker process, from fork to exit. Returns its exit code."""
    return _live(lambda stop: _work(start, plan, stop))


def run_agent(start: ChildStart, plan: RunPlan) -> int:
    """The pod's agent: HTTP for metrics and health, and a candidate for the coordinator's office."""
    return _live(lambda stop: _serve(start, plan, stop))


def _live(main: Callable[[asyncio.Event], Awaitable[None]]) -> int:
    collect_rarely()

    async def until_stopped() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await main(stop)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(until_stopped())
    return EX_OK


def member_name(plan: RunPlan, slot: int) -> str:
    """Members are called after their pod and slot, so that a restarted one meets its own record."""
    return f"{plan.pod}-{slot}"


def is_candidate(pod: str, candidates: int) -> bool:
    """Whether the pod's agent stands for office: the first ones of a StatefulSet; a pod without an ordinal does."""
    _, _, ordinal = pod.rpartition("-")
    return not ordinal.isdigit() or int(ordinal) < candidates


def _request_seconds(lease_seconds: float) -> float:
    """Timeout of a coordination request: two of them fit between a renewal and its deadline."""
    return min(5.0, lease_seconds * 0.35)


# -- worker ---------------------------------------------------------------------------------------------------------


async def _work(start: ChildStart, plan: RunPlan, stop: asyncio.Event) -> None:
    registry = new_registry()
    transport = await connect(kubeconfig=plan.kubeconfig, context=plan.context, metrics=RequestMetrics(registry))
    metrics = FleetMetrics(registry)
    journal = open_journal(plan.journal_dir, member_name(plan, start.slot), start.count)
    runtime = await _make_runtime(plan, transport, ShardMetrics(registry), journal)
    worker = _make_worker(start, plan, runtime, metrics)
    watchdog = Watchdog(
        asyncio.get_running_loop(),
        deadline=worker.member.until,
        heartbeat=start.heartbeat,
        settings=WatchdogSettings(limit_seconds=plan.config.coordination.deadline_seconds),
    )

    def metrics_now() -> bytes:
        _measure(worker, watchdog, metrics)
        runtime.limiter.measure()
        return snapshot(registry)

    health = HealthServer(plan.run_dir, start.name, incarnation=start.count, status=worker.status, metrics=metrics_now)
    await health.start()
    watchdog.start()
    following = asyncio.create_task(_follow_limits(plan, runtime), name="limits of requests")
    try:
        async with observed(worker, journal):
            await worker.run(stop)
    finally:
        following.cancel()
        watchdog.stop()
        await health.close()
        await transport.close()


async def _follow_limits(plan: RunPlan, runtime: WorkerRuntime) -> None:
    if plan.config_file is not None:
        file = LimitsFile(plan.config_file, plan.config)
        await follow_limits(file, lambda client: runtime.limiter.change(client.settings()))


async def _make_runtime(
    plan: RunPlan, transport: KubeTransport, metrics: ShardMetrics, journal: Journal
) -> WorkerRuntime:
    settings = plan.config.shard_settings()
    return WorkerRuntime(
        transport=transport,
        clock=boot_seconds,
        rng=random.Random(),
        settings=settings,
        metrics=metrics,
        slots=Slots(settings.queue.max_concurrent_reconciles),
        server_side_sharding=await _server_filters(transport, plan),
        product=PRODUCT,
        journal=journal,
        meters=transport.meters,
    )


def _make_worker(start: ChildStart, plan: RunPlan, runtime: WorkerRuntime, metrics: FleetMetrics) -> Worker:
    config, settings = plan.config, runtime.settings
    name = member_name(plan, start.slot)

    def make_shard(each: KeyRange) -> Shard:
        return Shard(each, plan.controllers, runtime, name)

    def user_agent() -> str:
        return str(UserAgent(PRODUCT, member=name, epoch=str(worker.member.epoch), reason="coordination"))

    worker = Worker(
        KubernetesCoordination(
            runtime.transport,
            fleet=config.fleet,
            namespace=plan.namespace,
            user_agent=user_agent,
            request_timeout_seconds=_request_seconds(config.coordination.lease_seconds),
        ),
        WorkerSettings(
            name=name,
            pod=plan.pod,
            revision=plan.revision,
            identity=identity_of(plan.controllers),
            scope=scope_of(plan.controllers, settings.scope),
            partition_key=config.shards.partition_by,
            lease_seconds=config.coordination.lease_seconds,
            renew_seconds=config.coordination.renew_every_seconds,
            leave_seconds=config.workers.leave_seconds,
            drain_seconds=config.workers.drain_seconds,
        ),
        Incarnation(start.supervisor_id, start.count),
        make_shard,
        reaped_predecessor=start.reaped_predecessor,
        telemetry=metrics,
        budget=runtime.limiter,
    )
    return worker


async def _server_filters(transport: KubeTransport, plan: RunPlan) -> bool:
    """Whether shardSelector is honoured (design 5.1): as configured, else probed on a collection that is not empty."""
    wanted = plan.config.feature_gates.server_side_sharding
    if wanted != "auto":
        return wanted == "on"
    primaries = [controller.primary for controller in plan.controllers]
    scope = plan.config.scope.namespaces
    places = [(primary, where) for where in scope or ("",) for primary in primaries]
    for resource, namespace in (*places, (LEASES, ""), (LEASES, plan.namespace)):
        try:
            proven = await probe_server_side_sharding(
                transport, resource, plan.config.shards.partition_by, namespace=namespace
            )
        except (ApiError, Unreachable) as error:
            log.info("server-side sharding could not be probed on %s: %s", resource, error)
            continue
        if proven is not None:
            log.info("server-side sharding: %s", "honoured" if proven else "not offered, filtering here")
            return proven
    return False


def _measure(worker: Worker, watchdog: Watchdog, metrics: FleetMetrics) -> None:
    """Gauges are set, and the watchdog's counts taken over, when they are asked for."""
    metrics.blocked(*watchdog.take_blocks())
    metrics.dropped(dropped_lines())
    for runner in worker.runners.values():
        if runner.shard is not None:
            runner.shard.measure()
    metrics.member_epoch.set(worker.member.epoch)
    metrics.shards_owned.set(sum(1 for runner in worker.runners.values() if runner.holding))
    if worker.has_view and worker.view.map is not None:
        metrics.map_version.set(worker.view.map.map.version)


# -- agent ----------------------------------------------------------------------------------------------------------


async def _serve(start: ChildStart, plan: RunPlan, stop: asyncio.Event) -> None:
    config = plan.config
    registry = new_registry()
    transport = await connect(kubeconfig=plan.kubeconfig, context=plan.context, metrics=RequestMetrics(registry))
    metrics = FleetMetrics(registry)
    coordinator = None
    if is_candidate(plan.pod, config.coordination.candidates):
        coordinator = _make_coordinator(start, plan, transport, metrics)

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
        return snapshot(registry)

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
    try:
        if config.agent.metrics_port >= 0:
            await server.start()
            log.info("metrics and health on port %d", server.port)
        await _until(stop, coordinator)
    finally:
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


def _make_coordinator(start: ChildStart, plan: RunPlan, transport: KubeTransport, metrics: FleetMetrics) -> Coordinator:
    config = plan.config
    agent = UserAgent(PRODUCT, member=f"{plan.pod}-agent", epoch=str(start.count), reason="coordinator")
    return Coordinator(
        KubernetesCoordination(
            transport,
            fleet=config.fleet,
            namespace=plan.namespace,
            user_agent=lambda: str(agent),
            request_timeout_seconds=_request_seconds(config.coordination.lease_seconds),
        ),
        FleetLayout(
            fleet=config.fleet,
            identity=identity_of(plan.controllers),
            partition_key=config.shards.partition_by,
            shard_count=config.shards.count,
        ),
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
    )
