"""What a worker process runs: its parts, made after the fork and put together."""

from __future__ import annotations

import asyncio
import random
import time
from weakref import WeakSet

from fleet.backends.event_poster import EventPoster
from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.configuration.config import FleetConfig
from fleet.configuration.live_file import LiveFile
from fleet.health.health import HealthServer
from fleet.health.metrics import FleetMetrics, new_registry, snapshot
from fleet.health.range_steps import written_to_log
from fleet.health.telemetry import Telemetry
from fleet.logs.logs import dropped_lines
from fleet.pod.live_config import as_of_now, follow_config
from fleet.pod.plan import PRODUCT, RunPlan
from fleet.pod.pod_events import event_poster
from fleet.processes.child import ChildStart
from fleet.records.object_names import LEASES
from fleet.records.record import Document, DocumentName, Incarnation
from fleet.workers.filter_records import filter_records
from fleet.workers.part_records import rollout_record
from fleet.workers.pauses import pause_until
from fleet.workers.quarantine_events import QuarantineEvents
from fleet.workers.quarantine_keeper import KeeperSettings, QuarantineKeeper
from fleet.workers.range_events import told_as_events
from fleet.workers.watchdog import Watchdog, WatchdogSettings
from fleet.workers.worker import Worker
from fleet.workers.worker_journal import noted_in, observed, open_journal
from fleet.workers.worker_settings import WorkerSettings
from shards.api.useragent import UserAgent
from shards.authoring.controller import identity_of, scope_of
from shards.clock import boot_seconds
from shards.filtering.prober import Prober, targets_of
from shards.journal import Journal
from shards.keyrange import KeyRange
from shards.metrics import RequestMetrics, ShardMetrics
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.shard import Shard
from shards.transport.kube import KubeTransport, connect
from shards.view_filters import best_sources

SETTLE_SECONDS = (2.0, 0.3)
"""For the first look at what the server filters, of a worker's first incarnation and of later ones, whose keys wait. A
view that opens before it is known is opened anew afterwards."""


def member_name(plan: RunPlan, slot: int) -> str:
    """Members are called after their pod and slot, so that a restarted one meets its own record."""
    return f"{plan.pod}-{slot}"


async def work(start: ChildStart, plan: RunPlan, stop: asyncio.Event) -> None:
    """A worker until `stop` is set."""
    plan, file = as_of_now(plan)
    registry = new_registry()
    transport = await connect(kubeconfig=plan.kubeconfig, context=plan.context, metrics=RequestMetrics(registry))
    metrics = FleetMetrics(registry)
    name = member_name(plan, start.slot)
    journal = open_journal(plan.journal_dir, name, start.count)
    runtime = _make_runtime(plan, transport, ShardMetrics(registry), journal)
    if start.flights is not None:
        runtime.in_flight = start.flights
    events = event_poster(plan, transport, name, lambda: str(worker.member.epoch))
    worker = _make_worker(start, plan, runtime, metrics, events)
    keeper = _make_keeper(start, plan, runtime, QuarantineEvents(metrics, events.tell), worker)
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
        runtime.measure()
        return snapshot(registry)

    health = HealthServer(plan.run_dir, start.name, incarnation=start.count, status=worker.status, metrics=metrics_now)
    await health.start()
    watchdog.start()
    prober = _make_prober(plan, runtime, name)
    probing = asyncio.create_task(prober.run(), name="filters")
    following = asyncio.create_task(_follow(file, runtime), name="config file")
    posting = asyncio.create_task(events.run(), name="events")
    keeping: asyncio.Task[None] | None = None
    try:
        await asyncio.gather(keeper.begin(stop), prober.settled(SETTLE_SECONDS[start.count > 1]))
        await pause_until(stop, start.rest_until - boot_seconds())
        keeping = asyncio.create_task(keeper.run(), name="quarantine")
        async with observed(worker, journal):
            await worker.run(stop)
    finally:
        following.cancel()
        probing.cancel()
        posting.cancel()
        if keeping is not None:
            keeping.cancel()
        watchdog.stop()
        await health.close()
        await transport.close()


async def _follow(file: LiveFile | None, runtime: WorkerRuntime) -> None:
    """What of the config file may change while a worker runs. Shards whose views have to be opened anew for it are
    turned over by the worker, one after the other."""

    async def change(config: FleetConfig) -> None:
        runtime.change(config.shard_settings())

    await follow_config(file, change)


def _make_runtime(plan: RunPlan, transport: KubeTransport, metrics: ShardMetrics, journal: Journal) -> WorkerRuntime:
    settings = plan.config.shard_settings()
    return WorkerRuntime(
        transport=transport,
        clock=boot_seconds,
        rng=random.Random(),
        settings=settings,
        metrics=metrics,
        slots=Slots(settings.queue.max_concurrent_reconciles),
        labels=plan.labels,
        product=PRODUCT,
        journal=journal,
        meters=transport.meters,
    )


def _make_worker(
    start: ChildStart, plan: RunPlan, runtime: WorkerRuntime, metrics: FleetMetrics, events: EventPoster
) -> Worker:
    config, settings = plan.config, runtime.settings
    name = member_name(plan, start.slot)

    shards: WeakSet[Shard] = WeakSet()

    def make_shard(each: KeyRange) -> Shard:
        made = Shard(each, plan.controllers, runtime, name)
        shards.add(made)
        return made

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
        filters=lambda: filter_records(shards, runtime.filters, runtime.clock(), time.time()),
        observers=(written_to_log, noted_in(runtime.journal), told_as_events(events.tell)),
    )
    return worker


def _make_prober(plan: RunPlan, runtime: WorkerRuntime, member: str) -> Prober:
    """Of what the views of all shards may be filtered by, under whichever key."""
    settings = runtime.settings
    return Prober(
        runtime.filters,
        runtime.limited,
        targets_of(each for key in plan.partition_keys for each in best_sources(plan.controllers, settings, key)),
        first=targets_of(best_sources(plan.controllers, settings, plan.config.shards.partition_by)),
        # Leases of nodes and of every fleet's members: hardly any cluster has none.
        stand_ins=((LEASES, ""), (LEASES, plan.namespace)),
        user_agent=str(UserAgent(PRODUCT, member=member, reason="probe")),
    )


def _make_keeper(
    start: ChildStart, plan: RunPlan, runtime: WorkerRuntime, telemetry: Telemetry, worker: Worker
) -> QuarantineKeeper:
    def document() -> Document | None:
        return worker.view.documents.get(DocumentName.QUARANTINE) if worker.has_view else None

    return QuarantineKeeper(
        worker.coordination,
        runtime.suspects,
        KeeperSettings(worker.settings.name, plan.revision),
        deaths=start.deaths,
        counted=start.flights.counted if start.flights is not None else lambda: None,
        document=document,
        shards=lambda: [
            (each, runner.shard)
            for each, runner in worker.runners.items()
            if runner.shard is not None and runner.shard.open
        ],
        telemetry=telemetry,
        today=time.time,
    )


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
