"""A fleet without processes, informers and servers: real workers and coordinators on a store in memory.

Time is the loop's, so these fleets need `@pytest.mark.looptime`. What a worker does with a shard is played by
`FakeShard`; who may act is read off the tenures.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

from fleet.backends.local import LocalCoordination
from fleet.backends.local_store import Faults, LocalStore, Step
from fleet.backends.record_cache import Record
from fleet.office.coordinator import Coordinator, FleetLayout
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.object_names import Kind
from fleet.records.record import Incarnation, MemberRecord, ShardMap, ShardRecord
from fleet.rules.plan_settings import PlanSettings
from fleet.workers.worker import Worker
from fleet.workers.worker_settings import WorkerSettings
from shards.errors import Undrained
from shards.gates.watermark import Watermark
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries, ranges_from
from shards.objects import Key
from shards.ownership.tenure import Tenure
from shards.queue.failing_keys import FailingKey
from shards.queue.waiting_keys import WaitingKey
from shards.reconciling.figures import Figures
from shards.reconciling.key_costs import Middle

T = TypeVar("T")

IDENTITY = "websites"
LEASE_SECONDS = 8.0
RENEW_SECONDS = 2.0
FAST_PLANS = PlanSettings(churn_per_round=1.0, cooldown_seconds=1.0, debounce_seconds=0.2)


def now() -> float:
    """Virtual seconds."""
    return asyncio.get_running_loop().time()


@dataclass
class Behaviour:
    """How the shards of one member behave. May be changed at any time.

    opening_error, prewarm_error, drain_error, stop_error: raised by activations, standbys, drains and stops.
    count_error: where its objects are counted. unwarm: standbys never sync. undrained: a reconcile cannot be cancelled.
    namespaces: of the objects of each shard. Durations are in seconds.
    """

    prewarm_seconds: float = 0.0
    activate_seconds: float = 0.0
    drain_seconds: float = 0.0
    stop_seconds: float = 0.0
    unwarm: bool = False
    undrained: bool = False
    drain_error: Exception | None = None
    count_error: Exception | None = None
    namespaces: dict[str, int] = field(default_factory=dict)
    opening_error: Exception | None = None
    prewarm_error: Exception | None = None
    stop_error: Exception | None = None


@dataclass
class FakeShard:
    """See `fleet.workers.owned_shard.OwnedShard`. calls: what was asked of it, in order."""

    range: KeyRange
    behaviour: Behaviour
    open: bool = False
    tenure: Tenure | None = None
    watermark: Watermark | None = None
    previous_epoch: int = -1
    calls: list[str] = field(default_factory=list)
    view_age: float = 0.5
    outdated: bool = False

    async def prewarm(self) -> None:
        self.calls.append("prewarm")
        await asyncio.sleep(self.behaviour.prewarm_seconds)
        if self.behaviour.prewarm_error is not None:
            raise self.behaviour.prewarm_error
        if self.behaviour.unwarm:
            await asyncio.Event().wait()

    async def activate(self, tenure: Tenure, watermark: Watermark | None, *, previous_epoch: int) -> None:
        self.calls.append("activate")
        self.tenure, self.watermark, self.previous_epoch = tenure, watermark, previous_epoch
        await asyncio.sleep(self.behaviour.activate_seconds)
        if self.behaviour.opening_error is not None:
            raise self.behaviour.opening_error
        self.open = True

    async def drain(self, grace_seconds: float) -> Watermark:
        self.calls.append("drain")
        self.open = False
        await asyncio.sleep(min(self.behaviour.drain_seconds, grace_seconds))
        if self.behaviour.drain_error is not None:
            raise self.behaviour.drain_error
        if self.behaviour.undrained:
            raise Undrained("a reconcile goes on")
        assert self.tenure is not None, "only an activated shard is drained"
        return Watermark(self.tenure.shard_epoch)

    async def stop(self) -> None:
        self.calls.append("stop")
        self.open = False
        await asyncio.sleep(self.behaviour.stop_seconds)
        if self.behaviour.stop_error is not None:
            raise self.behaviour.stop_error

    def pulse(self) -> dict[str, float]:
        return {"view_age": self.view_age, "longest_wait": 0.25}

    def measure(self) -> None: ...

    def failing(self, most: int) -> list[FailingKey]:
        return []

    def waiting(self, most: int) -> list[WaitingKey]:
        return []

    def namespaces(self) -> dict[str, int]:
        if self.behaviour.count_error is not None:
            raise self.behaviour.count_error
        return self.behaviour.namespaces

    def figures(self) -> list[Figures]:
        return []

    def generation_of(self, controller: str, key: Key) -> int | None:
        return 1

    @property
    def closed(self) -> str:
        return "" if self.open else "its views are being listed"

    def load(self) -> dict[str, float]:
        return {
            "objects": 3.0,
            "queue_depth": 2.0,
            "parked": 1.0,
            "failing": 0.0,
            "waiting": 0.0,
            "paused": 0.0,
            "quarantined": 0.0,
            "reconciles_per_second": 0.12345,
            "reconcile_seconds_per_second": 0.5,
            "measured_seconds": 10.0,
        }

    def middle(self) -> Middle | None:
        return Middle(0, 0.0, self.range.first, 1.0)


class Wire(LocalCoordination):
    """A client whose writes take time, and are carried out even when their sender has given up on them.

    latency: seconds that a request takes to the store, and its answer back; asked anew for every way.
    """

    def __init__(self, store: LocalStore, faults: Faults) -> None:
        super().__init__(store, clock=now, faults=faults)
        self.latency: Callable[[], float] = lambda: 0.0
        self.on_the_wire: set[asyncio.Task[object]] = set()

    async def _send(self, act: Callable[[], T], *, write: bool, not_after: float | None = None) -> T:
        if not write:
            return await super()._send(act, write=False)
        await self.faults.reach()
        if not_after is not None and now() >= not_after:
            raise CoordinationUnavailable("not sent: the deadline has passed")

        async def travel() -> T:
            await asyncio.sleep(self.latency())
            return self._carried_out(act)

        task = asyncio.create_task(travel(), name="write")
        self.on_the_wire.add(task)
        task.add_done_callback(self._landed)
        written = await asyncio.shield(task)
        await asyncio.sleep(self.latency())
        return written

    def _landed(self, task: asyncio.Task[object]) -> None:
        self.on_the_wire.discard(task)
        if not task.cancelled():
            task.exception()  # a sender that has gone does not ask


@dataclass
class Fleet:
    """Workers and coordinators by name; each has a client of its own. shards: every shard that a member ever made.

    deaths: members that ended their process. writes: everything that was written or deleted, in order,
    but for the coordinator's record.
    """

    ranges: int = 2
    store: LocalStore = field(default_factory=LocalStore)
    plan_settings: PlanSettings = FAST_PLANS
    identity: str = IDENTITY
    lease_seconds: float = LEASE_SECONDS
    leave_seconds: float = 10.0
    workers: dict[str, Worker] = field(default_factory=dict)
    coordinators: dict[str, Coordinator] = field(default_factory=dict)
    wires: dict[str, Wire] = field(default_factory=dict)
    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    shards: dict[str, list[FakeShard]] = field(default_factory=dict)
    deaths: list[str] = field(default_factory=list)
    writes: list[Step] = field(default_factory=list)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _stops: dict[str, asyncio.Event] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store.listeners.append(self._wrote)

    def _wrote(self, step: Step | None) -> None:
        if step is not None and step.kind is not Kind.COORDINATOR:
            self.writes.append(step)

    @property
    def layout(self) -> tuple[KeyRange, ...]:
        return ranges_from(equal_boundaries(self.ranges))

    # -- who takes part ---------------------------------------------------------------------------------------------

    def wire(self, name: str) -> Wire:
        if name not in self.wires:
            self.wires[name] = Wire(self.store, Faults())
        return self.wires[name]

    def faults(self, name: str) -> Faults:
        return self.wire(name).faults

    def behaviour(self, name: str) -> Behaviour:
        return self.behaviours.setdefault(name, Behaviour())

    def start(
        self,
        name: str,
        *,
        reaped: bool = False,
        supervisor: str = "",
        identity: str = IDENTITY,
        partition_keys: tuple[PartitionKey, ...] = tuple(PartitionKey),
    ) -> Worker:
        """Start a member, under the next count of its supervisor. reaped: its supervisor saw the last process die."""
        supervisor = supervisor or f"supervisor-of-{name}"
        self._counts[supervisor] = self._counts.get(supervisor, 0) + 1
        made = self.shards.setdefault(name, [])

        def make_shard(each: KeyRange) -> FakeShard:
            made.append(FakeShard(each, self.behaviour(name)))
            return made[-1]

        worker = Worker(
            self.wire(name),
            WorkerSettings(
                name=name,
                pod=name,
                revision="",
                identity=identity,
                scope="everything",
                partition_keys=partition_keys,
                lease_seconds=self.lease_seconds,
                renew_seconds=self.lease_seconds / 4,
                leave_seconds=self.leave_seconds,
            ),
            Incarnation(supervisor, self._counts[supervisor]),
            make_shard,
            reaped_predecessor=reaped,
            clock=now,
            rng=random.Random(name),
            die=lambda code: self.deaths.append(name),
        )
        self.workers[name] = worker
        stop = self._stops[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(worker.run(stop), name=name)
        return worker

    def coordinate(self, name: str = "agent", *, identity: str = IDENTITY, reaped: bool = False) -> Coordinator:
        """Start a candidate for the coordinator's office."""
        self._counts[name] = self._counts.get(name, 0) + 1
        coordinator = Coordinator(
            self.wire(name),
            FleetLayout("web", identity, PartitionKey.UID, self.ranges),
            Incarnation(name, self._counts[name]),
            lease_seconds=self.lease_seconds,
            renew_seconds=self.lease_seconds / 4,
            plan_settings=self.plan_settings,
            reaped_predecessor=reaped,
            clock=now,
            today=now,
            rng=random.Random(name),
        )
        self.coordinators[name] = coordinator
        self.tasks[name] = asyncio.create_task(coordinator.run(), name=name)
        return coordinator

    async def crash(self, name: str) -> None:
        """The process is gone, with nothing written: what it had on the wire still arrives."""
        task = self.tasks.pop(name)
        wire = self.wires.pop(name)
        wire.faults.unavailable = True
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.workers.pop(name, None)
        self.coordinators.pop(name, None)

    def leave(self, name: str) -> None:
        """SIGTERM."""
        self._stops[name].set()

    async def left(self, name: str) -> None:
        """SIGTERM, and the end of the process."""
        self.leave(name)
        await self.tasks.pop(name)
        del self.workers[name]

    async def stop(self) -> None:
        for name in list(self.tasks):
            await self.crash(name)

    # -- what is there ----------------------------------------------------------------------------------------------

    @property
    def map(self) -> ShardMap:
        found = self.store.of(Kind.MAP)["only"]
        return found.map  # type: ignore[union-attr]  # the only record of its kind

    def record(self, each: KeyRange) -> ShardRecord | None:
        return self.store.of(Kind.SHARD).get(f"uid-{each}")  # type: ignore[return-value]  # of this kind

    def member(self, name: str) -> MemberRecord | None:
        return self.store.of(Kind.MEMBER).get(name)  # type: ignore[return-value]  # of this kind

    def edit(self, kind: Kind, name: str, record: Record | None) -> None:
        """By hand, as with kubectl: nobody is asked, and every view hears of it. None: delete."""
        self.store.edit(kind, name, record)

    def delete_shard(self, each: KeyRange) -> None:
        self.edit(Kind.SHARD, f"uid-{each}", None)

    def acting(self) -> list[tuple[KeyRange, str]]:
        """Who may act on what at this instant, by tenures that have not ended and whose deadline has not passed."""
        return [
            (each, name)
            for name, worker in self.workers.items()
            for each, runner in worker.runners.items()
            if runner.tenure is not None and runner.tenure.valid(now())
        ]

    def owners(self) -> dict[KeyRange, str]:
        """Who acts on what. Fails when two may act on one key."""
        acting = sorted(self.acting())
        for (each, name), (other, rival) in pairwise(acting):
            assert not each.overlaps(other), f"{name} may act on {each} and {rival} on {other}, at {now():.3f}"
        return dict(acting)

    def open(self) -> dict[KeyRange, str]:
        """Who reconciles what."""
        return {
            each: name
            for each, name in self.owners().items()
            if (shard := self.workers[name].runners[each].shard) is not None and shard.open
        }

    def holds(self, name: str) -> list[KeyRange]:
        return [each for each, owner in self.open().items() if owner == name]

    def written(self, kind: Kind, since: int = 0) -> list[Step]:
        return [step for step in self.writes[since:] if step.kind is kind]

    # -- waiting ----------------------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], bool], within_seconds: float, what: str) -> float:
        """Looks every 20 virtual milliseconds that no two members may act on one key. Returns the seconds it took."""
        began = now()
        while not condition():
            self.owners()
            assert now() - began < within_seconds, f"not within {within_seconds:g} s: {what}"
            await asyncio.sleep(0.02)
        self.owners()
        return now() - began

    async def all_open(self, within_seconds: float = 10.0) -> float:
        return await self.until(
            lambda: set(self.open()) == set(self.map_ranges()), within_seconds, "every range is open"
        )

    def map_ranges(self) -> tuple[KeyRange, ...]:
        return self.map.ranges if self.store.of(Kind.MAP) else self.layout

    async def pass_seconds(self, seconds: float) -> None:
        """Time passes, under the eyes of the oracle."""
        until = now() + seconds
        while until - now() > 1e-6:  # the loop's clock moves in whole microseconds
            self.owners()
            await asyncio.sleep(min(0.1, until - now()))


@asynccontextmanager
async def running(fleet: Fleet, *members: str, coordinator: str = "agent") -> AsyncIterator[Fleet]:
    """A fleet whose ranges are all open: one coordinator and these members."""
    try:
        fleet.coordinate(coordinator)
        for name in members:
            fleet.start(name)
        await fleet.all_open()
        yield fleet
    finally:
        await fleet.stop()
