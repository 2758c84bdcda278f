"""A fleet inside one event loop: real workers and a real coordinator on the embedded server, on virtual time.

Everything but the processes is the product's own code: coordination on Leases, informers, gates, reconciles.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import yaml
from prometheus_client import CollectorRegistry

from fleet.backends.event_poster import EventPoster
from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.recording.journal import Entry
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from fleet.health.metrics import FleetMetrics
from fleet.office.coordinator import Coordinator, FleetLayout
from fleet.office.lookout import Lookout
from fleet.records.object_names import EVENTS_REASON, Names
from fleet.records.record import Incarnation
from fleet.rules.plan_settings import PlanSettings
from fleet.workers.part_records import rollout_record
from fleet.workers.range_events import told_as_events
from fleet.workers.worker import Worker
from fleet.workers.worker_journal import noted_in, observed
from fleet.workers.worker_settings import WorkerSettings
from shards.api.client import Client, Transport
from shards.api.request_meters import NO_METERS, RequestMeters
from shards.api.useragent import UserAgent
from shards.authoring.controller import Controller, identity_of, scope_of
from shards.filtering.prober import Prober, targets_of
from shards.journal import KeptJournal, Note
from shards.keyrange import KeyRange, PartitionKey
from shards.metrics import ShardMetrics
from shards.objects import Object, Resource
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import GateSettings, ShardSettings
from shards.shard import Shard
from shards.testing.virtual_time import loop_seconds
from shards.view_filters import best_sources

PRODUCT = "fleet/test"
LEASE_SECONDS = 4.0
WEBSITES = Resource.parse("demo.shardfleet.dev/v1/websites")
CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
CRD_FILE = Path(__file__).parents[2] / "docs" / "examples" / "websites-crd.yaml"


async def eventually(condition: Callable[[], bool], *, within_seconds: float, what: str) -> None:
    """Looks at the condition every 10 virtual milliseconds. Fails with `what` when the time is over."""
    deadline = loop_seconds() + within_seconds
    while not condition():
        assert loop_seconds() < deadline, f"not within {within_seconds:g} s: {what}"
        await asyncio.sleep(0.01)


def website(name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "demo.shardfleet.dev/v1",
        "kind": "Website",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 1, "html": f"<h1>{name}</h1>"} | spec,
    }


@dataclass
class SmallFleet:
    """members: running workers by name. `stop` ends everything."""

    make_controller: Callable[[str], Controller]
    """By member name, so that a reconcile knows on which member it runs."""
    shards: int = 4
    slots: int = 8
    """Reconciles at once on each member."""
    lease_seconds: float = LEASE_SECONDS
    """Renewed four times in that time."""
    settings: ShardSettings = field(default_factory=lambda: ShardSettings(gate=GateSettings()))
    server: ApiServer = field(
        default_factory=lambda: ApiServer(
            ServerSettings(bookmark_seconds=5.0),
            rng=random.Random(1),
            recorder=Recorder(clock=loop_seconds),
            wall_seconds=lambda: 1.0e9,
        )
    )
    members: dict[str, Worker] = field(default_factory=dict)
    runtimes: dict[str, WorkerRuntime] = field(default_factory=dict)
    """By member name, of the last incarnation."""
    deaths: list[int] = field(default_factory=list)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _stops: dict[str, asyncio.Event] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    journals: dict[str, KeptJournal] = field(default_factory=dict)
    """By member name; what all its incarnations noted."""
    registries: dict[str, CollectorRegistry] = field(default_factory=dict)
    telemetry: dict[str, FleetMetrics] = field(default_factory=dict)
    """What each member and the coordinator measure, by name; of the last incarnation."""
    breaks: frozenset[str] = frozenset()
    """Invariants that the test breaks on purpose."""
    coordinator: Coordinator | None = None
    lookouts: dict[str, Lookout] = field(default_factory=dict)
    """By the name of the agent; that of the coordinator follows its view."""
    server_side_sharding: ClassVar[bool] = True
    """Whether the server filters by shard; else all shards of a member share one watch."""
    probes: bool = False
    """Whether members find out by themselves what the server filters by, and again and again."""

    @property
    def client(self) -> Client:
        return Client(InProcessTransport(self.server, clock=loop_seconds), user_agent="test")

    async def start(self, *members: str) -> None:
        """Install the CRD, start the coordinator and the members."""
        await self.client.create(CRDS, "", yaml.safe_load(CRD_FILE.read_text()))
        self.start_coordinator()
        for name in members:
            self.join(name)

    def start_coordinator(self, name: str = "agent") -> None:
        agent = str(UserAgent(PRODUCT, member=name, epoch="1", reason="coordinator"))
        registry = self.registries[name] = CollectorRegistry()
        self.telemetry[name] = FleetMetrics(registry)
        self.coordinator = Coordinator(
            self._coordination(lambda: agent, self.transport(registry)),
            FleetLayout("web", identity_of([self.make_controller(name)]), PartitionKey.UID, self.shards),
            Incarnation(name, 1),
            lease_seconds=self.lease_seconds,
            renew_seconds=self.lease_seconds / 4,
            plan_settings=PlanSettings(churn_per_round=1.0, cooldown_seconds=1.0, debounce_seconds=0.2),
            clock=loop_seconds,
            today=loop_seconds,
            rng=random.Random(2),
            telemetry=self.telemetry[name],
            tell=self._events(name, self.transport(registry)).tell,
        )
        self._tasks[name] = asyncio.create_task(self.coordinator.run(), name=name)
        self.start_lookout(name, self.coordinator)

    def _events(self, name: str, transport: Transport) -> EventPoster:
        agent = str(UserAgent(PRODUCT, member=name, epoch="1", reason=EVENTS_REASON))
        events = EventPoster(
            transport,
            Names("web", "default"),
            reporter=name,
            user_agent=lambda: agent,
            clock=loop_seconds,
            wall=lambda: 1.0e9 + loop_seconds(),
        )
        posting = f"events of {name}"
        if posting in self._tasks:
            self._tasks[posting].cancel()
        self._tasks[posting] = asyncio.create_task(events.run(), name=posting)
        return events

    def start_lookout(self, name: str, coordinator: Coordinator | None = None, *, follows: bool = False) -> Lookout:
        """What every agent keeps. coordinator: of a candidate's agent. follows: as that does, without one."""
        agent = str(UserAgent(PRODUCT, member=name, epoch="1", reason="coordinator"))
        registry = self.registries.setdefault(name, CollectorRegistry())
        coordination = self._coordination(lambda: agent, self.transport(registry))
        own = coordination.watch(members=True) if follows else None

        async def workers() -> list[dict[str, Any]]:
            return [worker.status() for worker in self.members.values()]

        async def looks() -> None:
            try:
                await lookout.run()
            finally:
                if own is not None:
                    await own.close()

        lookout = self.lookouts[name] = Lookout(
            coordination,
            view=lambda: coordinator.view if coordinator is not None and coordinator.has_view else own,
            workers=workers,
            clock=loop_seconds,
            rng=random.Random(4),
        )
        self._tasks[f"lookout of {name}"] = asyncio.create_task(looks(), name=f"lookout of {name}")
        return lookout

    def join(self, name: str, *, reaped: bool = False) -> Worker:
        """Start a member; again under the same name after `crash`. reaped: its supervisor saw the old process die."""
        count = self._counts[name] = self._counts.get(name, 0) + 1
        controller = self.make_controller(name)
        journal = self.journals.setdefault(name, KeptJournal(name))
        journal.write(Note("begin", loop_seconds()))
        registry = self.registries[name] = CollectorRegistry()
        self.telemetry[name] = FleetMetrics(registry)
        transport = self.transport(registry)
        runtime = WorkerRuntime(
            transport=transport,
            clock=loop_seconds,
            rng=random.Random(name),
            settings=self.settings,
            metrics=ShardMetrics(registry),
            meters=self.meters(registry),
            slots=Slots(self.slots),
            server_side_sharding=None if self.probes else self.server_side_sharding,
            product=PRODUCT,
            journal=journal,
        )

        def make_shard(each: KeyRange) -> Shard:
            return Shard(each, [controller], runtime, name)

        def user_agent() -> str:
            return str(UserAgent(PRODUCT, member=name, epoch=str(worker.member.epoch), reason="coordination"))

        worker = Worker(
            self._coordination(user_agent, transport),
            WorkerSettings(
                name=name,
                pod=name,
                revision="",
                identity=identity_of([controller]),
                scope=scope_of([controller], self.settings.scope),
                lease_seconds=self.lease_seconds,
                renew_seconds=self.lease_seconds / 4,
                pid=count,
            ),
            Incarnation(f"supervisor-of-{name}", count),
            make_shard,
            reaped_predecessor=reaped,
            clock=loop_seconds,
            rng=random.Random(name),
            die=self.deaths.append,
            telemetry=self.telemetry[name],
            budget=runtime.limiter,
            rollout=lambda: rollout_record(runtime.gates.rollout),
            observers=(noted_in(journal), told_as_events(self._events(name, transport).tell)),
        )
        self.runtimes[name] = runtime
        self.members[name] = worker
        stop = self._stops[name] = asyncio.Event()
        prober = self._prober(controller, runtime) if self.probes else None
        self._tasks[name] = asyncio.create_task(_observed(worker, stop, journal, prober), name=name)
        return worker

    def _prober(self, controller: Controller, runtime: WorkerRuntime) -> Prober:
        targets = targets_of(best_sources([controller], self.settings, PartitionKey.UID))
        return Prober(runtime.filters, runtime.limited, targets, user_agent="probe")

    def transport(self, registry: CollectorRegistry) -> Transport:
        """Of one process. registry: where it may measure."""
        return InProcessTransport(self.server, clock=loop_seconds)

    def meters(self, registry: CollectorRegistry) -> RequestMeters:
        """What counts the requests of one process."""
        return NO_METERS

    def _coordination(self, user_agent: Callable[[], str], transport: Transport) -> KubernetesCoordination:
        return KubernetesCoordination(
            transport,
            fleet="web",
            namespace="default",
            user_agent=user_agent,
            clock=loop_seconds,
            wall=lambda: 1.0e9,
            rng=random.Random(3),
        )

    async def leave(self, name: str) -> None:
        """SIGTERM: hand everything over, then end."""
        self._stops[name].set()
        await self._tasks.pop(name)
        del self.members[name]

    async def fault_of(self, name: str) -> BaseException | None:
        """Waits until the member ends by itself. What it ended of, None for an orderly end."""
        task = self._tasks.pop(name)
        await asyncio.wait((task,))
        del self.members[name]
        return task.exception()

    async def crash(self, name: str) -> None:
        """Ends without a release and without leaving, as a killed process does."""
        tasks = [
            task
            for each in (name, f"lookout of {name}", f"events of {name}")
            if (task := self._tasks.pop(each, None)) is not None
        ]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.members.pop(name, None)
        self.lookouts.pop(name, None)

    def verdict(self) -> Verdict:
        assert self.server.recorder is not None
        notes = [note for journal in self.journals.values() for note in journal.notes]
        return judge(self.server.recorder.entries, notes)

    def writes(self, resource: Resource, subresource: str = "", *, member: str = "") -> list[Entry]:
        """Successful writes that the fleet made, oldest first."""
        assert self.server.recorder is not None
        return [
            entry
            for entry in self.server.recorder.entries
            if entry.write
            and entry.succeeded
            and (entry.resource, entry.subresource) == (str(resource), subresource)
            and (agent := UserAgent.parse(entry.user_agent)) is not None
            and member in ("", agent.member)
        ]

    async def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        ended = await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self.server.close()
        for result in ended:  # pytest's own ends of a test, such as a time-out, are no Exceptions
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result

    def open_ranges(self) -> dict[KeyRange, str]:
        """Who reconciles what at this moment. Fails when two members do."""
        owners: dict[KeyRange, str] = {}
        for name, worker in self.members.items():
            for each, runner in worker.runners.items():
                if runner.shard is not None and runner.shard.open:
                    assert each not in owners, f"{each} is open on {owners[each]} and {name}"
                    owners[each] = name
        return owners

    async def all_open(self, within_seconds: float = 20.0) -> None:
        await eventually(
            lambda: len(self.open_ranges()) == self.shards, within_seconds=within_seconds, what="every range is open"
        )


@contextlib.asynccontextmanager
async def running(fleet: SmallFleet, *members: str) -> AsyncIterator[SmallFleet]:
    """The fleet with its members, all ranges open; ends with the judge's word that no promise was broken, and no
    invariant but those that the test breaks."""
    await fleet.start(*members)
    try:
        await fleet.all_open()
        yield fleet
    finally:
        await fleet.stop()
    verdict = fleet.verdict()
    assert (verdict.overlap_violations, verdict.writes_after_release, verdict.unattributed_writes) == (0, 0, 0), (
        verdict.findings
    )
    assert {each.id for each in verdict.broken_invariants} == fleet.breaks, [
        finding for each in verdict.broken_invariants for finding in each.findings
    ]


async def _observed(worker: Worker, stop: asyncio.Event, journal: KeptJournal, prober: Prober | None) -> None:
    probing = asyncio.create_task(prober.run()) if prober is not None else None
    try:
        if prober is not None:
            await prober.settled(5.0)
        async with observed(worker, journal, seconds=1.0):
            await worker.run(stop)
    finally:
        if probing is not None:
            probing.cancel()
            await asyncio.gather(probing, return_exceptions=True)
