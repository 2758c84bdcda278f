"""What a worker's process and an agent's consist of: the product's own parts, over a wire."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from chaos.simulation.plan import said_name
from chaos.simulation.process import Process
from chaos.simulation.stack.wire import Wire
from fleet.backends.event_poster import EventPoster
from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.office.coordinator import Coordinator, FleetLayout
from fleet.office.lookout import Lookout
from fleet.records.object_names import EVENTS_REASON, Names
from fleet.records.record import Incarnation
from fleet.rules.plan_settings import PlanSettings
from fleet.workers.part_records import rollout_record
from fleet.workers.range_events import told_as_events
from fleet.workers.worker import Worker
from fleet.workers.worker_journal import noted_in, pulse_of
from fleet.workers.worker_settings import WorkerSettings
from shards.api.client import Transport
from shards.api.useragent import UserAgent
from shards.authoring.controller import Controller, identity_of, scope_of
from shards.journal import Journal, Note
from shards.keyrange import KeyRange, PartitionKey
from shards.metrics import ShardMetrics
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import ShardSettings
from shards.shard import Shard

PRODUCT = "fleet/sim"
FLEET, NAMESPACE = "web", "default"
WALL_SECONDS = 1.0e9
"""Since 1970, when a history begins."""

PLANS = PlanSettings(churn_per_round=1.0, cooldown_seconds=1.0, debounce_seconds=0.2)
"""In a hurry: histories are short."""

Rng = Callable[[str], random.Random]
"""The stream of one process for one purpose."""

PULSE_SECONDS = 1.0
SLOTS = 4


@dataclass(frozen=True)
class Setting:
    """What all members have in common. shards: of a fleet that is new. request_seconds: that coordination waits.

    sharded: whether the server filters by shard. make_controller: for the process of that label.
    """

    make_controller: Callable[[str], Controller]
    shards: int
    lease_seconds: float
    settings: ShardSettings
    sharded: bool
    request_seconds: float
    today: Callable[[], float]
    """Seconds since 1970."""

    @property
    def renew_seconds(self) -> float:
        return self.lease_seconds / 4

    def coordination(
        self, wire: Transport, process: Process, user_agent: Callable[[], str], rng: Rng
    ) -> KubernetesCoordination:
        return KubernetesCoordination(
            wire,
            fleet=FLEET,
            namespace=NAMESPACE,
            user_agent=user_agent,
            clock=process.clock,
            wall=self.today,
            rng=rng("coordination"),
            request_timeout_seconds=self.request_seconds,
        )

    def poster(self, wire: Transport, process: Process) -> EventPoster:
        agent = str(UserAgent(PRODUCT, member=member_of(process), epoch="1", reason=EVENTS_REASON))
        return EventPoster(
            wire,
            Names(FLEET, NAMESPACE),
            reporter=member_of(process),
            user_agent=lambda: agent,
            clock=process.clock,
            wall=self.today,
        )


def member_of(process: Process) -> str:
    """The name that it says it has: a twin says that it is the other."""
    return said_name(process.name)


@dataclass
class Supervision:
    """How a process was started. supervisor: its incarnation. reaped: that saw the last one of its name end."""

    supervisor: str
    count: int
    reaped: bool
    die: Callable[[int], None]


# -- workers -----------------------------------------------------------------------------------------------------------


def worker_of(
    setting: Setting, process: Process, wire: Wire, journal: Journal, supervision: Supervision, rng: Rng
) -> tuple[Worker, EventPoster]:
    """A worker that is ready to run, and what posts its Events."""
    controller = setting.make_controller(process.label)
    runtime = _runtime(setting, process, wire, journal, rng)

    def make_shard(each: KeyRange) -> Shard:
        return Shard(each, [controller], runtime, member_of(process))

    def user_agent() -> str:
        return str(UserAgent(PRODUCT, member=member_of(process), epoch=str(worker.member.epoch), reason="coordination"))

    events = setting.poster(wire, process)
    worker = Worker(
        setting.coordination(wire, process, user_agent, rng),
        WorkerSettings(
            name=member_of(process),
            pod=member_of(process),
            revision="",
            identity=identity_of([controller]),
            scope=scope_of([controller], setting.settings.scope),
            lease_seconds=setting.lease_seconds,
            renew_seconds=setting.renew_seconds,
            leave_seconds=setting.lease_seconds,
            drain_seconds=setting.lease_seconds / 2,
            pid=supervision.count,
        ),
        Incarnation(supervision.supervisor, supervision.count),
        make_shard,
        reaped_predecessor=supervision.reaped,
        clock=process.clock,
        rng=rng("worker"),
        die=supervision.die,
        budget=runtime.limiter,
        today=setting.today,
        rollout=lambda: rollout_record(runtime.gates.rollout),
        observers=(noted_in(journal), told_as_events(events.tell)),
    )
    return worker, events


def _runtime(setting: Setting, process: Process, wire: Wire, journal: Journal, rng: Rng) -> WorkerRuntime:
    return WorkerRuntime(
        transport=wire,
        clock=process.clock,
        rng=rng("shards"),
        settings=setting.settings,
        metrics=ShardMetrics(),
        slots=Slots(SLOTS),
        server_side_sharding=setting.sharded,
        product=PRODUCT,
        journal=journal,
    )


async def run_worker(worker: Worker, events: EventPoster, journal: Journal, stop: asyncio.Event) -> None:
    """The main task of its process."""
    journal.write(Note("begin", worker.clock()))
    posting = asyncio.create_task(events.run(), name="events")
    try:
        async with _pulse(worker, journal):
            await worker.run(stop)
    finally:
        posting.cancel()


@asynccontextmanager
async def _pulse(worker: Worker, journal: Journal) -> AsyncIterator[None]:
    """As `fleet.workers.worker_journal.observed`, without the figures of this process, which is that of them all."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(PULSE_SECONDS)
            journal.write(pulse_of(worker, dict))

    beating = asyncio.create_task(beat(), name="journal")
    try:
        yield
    finally:
        beating.cancel()
        journal.write(Note("end", worker.clock()))


# -- agents ------------------------------------------------------------------------------------------------------------


def coordinator_of(
    setting: Setting, process: Process, wire: Wire, supervision: Supervision, rng: Rng
) -> tuple[Coordinator, EventPoster, Lookout]:
    """A candidate that is ready to run, what posts its Events, and what looks on."""
    agent = str(UserAgent(PRODUCT, member=member_of(process), epoch=str(supervision.count), reason="coordinator"))
    events = setting.poster(wire, process)
    coordination = setting.coordination(wire, process, lambda: agent, rng)
    coordinator = Coordinator(
        coordination,
        FleetLayout(FLEET, identity_of([setting.make_controller(process.label)]), PartitionKey.UID, setting.shards),
        Incarnation(supervision.supervisor, supervision.count),
        lease_seconds=setting.lease_seconds,
        renew_seconds=setting.renew_seconds,
        plan_settings=PLANS,
        reaped_predecessor=supervision.reaped,
        clock=process.clock,
        rng=rng("coordinator"),
        today=setting.today,
        tell=events.tell,
    )

    async def workers() -> Iterable[Mapping[str, Any]]:
        return ()

    lookout = Lookout(
        coordination,
        view=lambda: coordinator.view if coordinator.has_view else None,
        workers=workers,
        clock=process.clock,
        rng=rng("lookout"),
    )
    return coordinator, events, lookout


async def run_agent(coordinator: Coordinator, events: EventPoster, lookout: Lookout, stop: asyncio.Event) -> None:
    """The main task of its process: until it is told to stop, or the coordinator ends by itself."""
    beside = [
        asyncio.create_task(lookout.run(), name="lookout"),
        asyncio.create_task(events.run(), name="events"),
    ]
    stopped = asyncio.create_task(stop.wait(), name="stop")
    running = asyncio.create_task(coordinator.run(), name="coordinator")
    try:
        await asyncio.wait((stopped, running), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (stopped, running, *beside):
            each.cancel()
        await asyncio.gather(stopped, running, *beside, return_exceptions=True)
