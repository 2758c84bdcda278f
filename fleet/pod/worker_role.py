"""What a worker process runs: its parts, made after the fork and put together."""

from __future__ import annotations

import asyncio
import logging
import random
import time

from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.configuration.config import FleetConfig
from fleet.configuration.live_file import LiveFile
from fleet.health.health import HealthServer
from fleet.health.metrics import FleetMetrics, new_registry, snapshot
from fleet.health.range_steps import written_to_log
from fleet.logs.logs import dropped_lines
from fleet.pod.live_config import as_of_now, follow_config
from fleet.pod.plan import PRODUCT, RunPlan
from fleet.processes.child import ChildStart
from fleet.records.object_names import LEASES
from fleet.records.record import Document, DocumentName, Incarnation
from fleet.workers.part_records import rollout_record
from fleet.workers.quarantine_keeper import KeeperSettings, QuarantineKeeper
from fleet.workers.watchdog import Watchdog, WatchdogSettings
from fleet.workers.worker import Worker
from fleet.workers.worker_journal import noted_in, observed, open_journal
from fleet.workers.worker_settings import WorkerSettings
from shards.api.useragent import UserAgent
from shards.authoring.controller import identity_of, scope_of
from shards.clock import boot_seconds
from shards.errors import ApiError, Unreachable
from shards.journal import Journal
from shards.keyrange import KeyRange
from shards.metrics import RequestMetrics, ShardMetrics
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.shard import Shard
from shards.transport.kube import KubeTransport, connect
from shards.watching.source import probe_server_side_sharding

log = logging.getLogger(__name__)


def member_name(plan: RunPlan, slot: int) -> str:
    """Members are called after their pod and slot, so that a restarted one meets its own record."""
    return f"{plan.pod}-{slot}"


async def work(start: ChildStart, plan: RunPlan, stop: asyncio.Event) -> None:
    """A worker until `stop` is set."""
    plan, file = as_of_now(plan)
    registry = new_registry()
    transport = await connect(kubeconfig=plan.kubeconfig, context=plan.context, metrics=RequestMetrics(registry))
    metrics = FleetMetrics(registry)
    journal = open_journal(plan.journal_dir, member_name(plan, start.slot), start.count)
    runtime = await _make_runtime(plan, transport, ShardMetrics(registry), journal)
    if start.flights is not None:
        runtime.in_flight = start.flights
    worker = _make_worker(start, plan, runtime, metrics)
    keeper = _make_keeper(start, plan, runtime, metrics, worker)
    if start.recycled:
        metrics.recycled()
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
    following = asyncio.create_task(_follow(file, plan, transport, runtime), name="config file")
    keeping: asyncio.Task[None] | None = None
    try:
        await keeper.begin(stop)
        keeping = asyncio.create_task(keeper.run(), name="quarantine")
        async with observed(worker, journal):
            await worker.run(stop)
    finally:
        following.cancel()
        if keeping is not None:
            keeping.cancel()
        watchdog.stop()
        await health.close()
        await transport.close()


async def _follow(file: LiveFile | None, plan: RunPlan, transport: KubeTransport, runtime: WorkerRuntime) -> None:
    """What of the config file may change while a worker runs. Shards whose views have to be opened anew for it are
    turned over by the worker, one after the other."""

    async def change(config: FleetConfig) -> None:
        settings = config.shard_settings()
        if settings.server_side_sharding != runtime.settings.server_side_sharding:
            wanted = config.feature_gates.server_side_sharding
            runtime.server_side_sharding = await _server_filters(transport, plan, wanted)
        runtime.change(settings)

    await follow_config(file, change)


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
        server_side_sharding=await _server_filters(transport, plan, plan.config.feature_gates.server_side_sharding),
        labels=plan.labels,
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
            request_timeout_seconds=config.coordination.request_seconds,
        ),
        WorkerSettings(
            name=name,
            pod=plan.pod,
            revision=plan.revision,
            identity=identity_of(plan.controllers),
            scope=scope_of(plan.controllers, settings.scope),
            lease_seconds=config.coordination.lease_seconds,
            renew_seconds=config.coordination.renew_every_seconds,
            partition_keys=plan.partition_keys,
            leave_seconds=config.workers.leave_seconds,
            drain_seconds=config.workers.drain_seconds,
            weight=plan.weight,
        ),
        Incarnation(start.supervisor_id, start.count),
        make_shard,
        reaped_predecessor=start.reaped_predecessor,
        telemetry=metrics,
        budget=runtime.limiter,
        rollout=lambda: rollout_record(runtime.gates.rollout),
        observers=(written_to_log, noted_in(runtime.journal)),
    )
    return worker


def _make_keeper(
    start: ChildStart, plan: RunPlan, runtime: WorkerRuntime, metrics: FleetMetrics, worker: Worker
) -> QuarantineKeeper:
    def document() -> Document | None:
        return worker.view.documents.get(DocumentName.QUARANTINE) if worker.has_view else None

    return QuarantineKeeper(
        worker.coordination,
        runtime.suspects,
        KeeperSettings(worker.settings.name, plan.revision, plan.config.shards.partition_by),
        deaths=start.deaths,
        counted=start.flights.counted if start.flights is not None else lambda: None,
        document=document,
        shards=lambda: ((each, runner.shard) for each, runner in worker.runners.items() if runner.shard is not None),
        telemetry=metrics,
        today=time.time,
    )


async def _server_filters(transport: KubeTransport, plan: RunPlan, wanted: str) -> bool:
    """Whether shardSelector is honoured (design 5.1): as configured, else probed on a collection that is not empty."""
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
    log.info("server-side sharding: nothing to probe it with, filtering here until the next start")
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
