"""One process of a simulated fleet: a real worker or a real coordinator, from its start to its end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from chaos.simulation.happenings import Happening, Stepped
from chaos.simulation.process import Process
from chaos.simulation.protocol.coordination import SimulatedCoordination
from chaos.simulation.protocol.played_shard import PlayedShard
from chaos.simulation.protocol.shard_host import ShardHost
from chaos.simulation.protocol.wire import Wire
from fleet.health.range_steps import RangeStep
from fleet.office.coordinator import Coordinator
from fleet.office.fleet_layout import FleetLayout
from fleet.office.lookout import Lookout
from fleet.records.record import Incarnation
from fleet.rules.plan_settings import PlanSettings
from fleet.workers.worker import Worker
from fleet.workers.worker_settings import WorkerSettings
from shards.keyrange import PartitionKey

FLEET = "web"
IDENTITY = "simulated"
PLANS = PlanSettings(churn_per_round=1.0, cooldown_seconds=1.0, debounce_seconds=0.2)


class Ended(BaseException):
    """What follows `os._exit` never runs."""


class Birth(NamedTuple):
    """What a process is started as. member: the name that it says it has. looks_out: of an agent."""

    member: str
    incarnation: Incarnation
    reaped: bool
    shards: int
    lease_seconds: float
    standby_deadline_seconds: float
    looks_out: bool = False


class Node:
    """`process` runs until it is killed, or `ended` is called: None with an exit in order, else with its error."""

    def __init__(
        self,
        process: Process,
        wire: Wire,
        birth: Birth,
        rng: random.Random,
        *,
        hear: Callable[[Happening], None],
        die: Callable[[], None],
        ended: Callable[[BaseException | None], None],
        neighbours: Callable[[], Iterable[Mapping[str, Any]]],
    ) -> None:
        """neighbours: the statuses of the workers of an agent's pod."""
        self.process = process
        self.wire = wire
        self.birth = birth
        self.worker: Worker | None = None
        self.coordinator: Coordinator | None = None
        self.lookout: Lookout | None = None
        self._neighbours = neighbours
        self._rng = rng
        self._hear = hear
        self._die = die
        self._stop: asyncio.Event = process.call(asyncio.Event)
        self.leaving = False
        lease_seconds = birth.lease_seconds
        self._coordination = SimulatedCoordination(
            wire, author=process, clock=process.clock, lease_seconds=lease_seconds, rng=rng
        )
        run = process.call(self._make_coordinator if birth.member.startswith("agent") else self._make_worker)
        task = process.spawn(run, name=process.name)
        task.add_done_callback(lambda done: ended(None if done.cancelled() else done.exception()))
        self._task = task

    def leave(self) -> None:
        """SIGTERM."""
        self.leaving = True
        if self.worker is not None:
            self.process.call(self._stop.set)
        else:
            self.process.call(self._task.cancel)

    def _make_worker(self) -> Coroutine[Any, Any, None]:
        birth, process = self.birth, self.process
        host = ShardHost(birth.member, process, self.wire, self._rng, self._hear)
        lease = birth.lease_seconds
        self.worker = Worker(
            self._coordination,
            WorkerSettings(
                name=birth.member,
                pod=process.name,
                revision="",
                identity=IDENTITY,
                scope="everything",
                lease_seconds=lease,
                renew_seconds=lease / 4,
                leave_seconds=2.0,
                drain_seconds=1.0,
                pid=birth.incarnation.count,
            ),
            birth.incarnation,
            lambda each: PlayedShard(each, host),
            reaped_predecessor=birth.reaped,
            clock=process.clock,
            today=process.clock,
            rng=self._rng,
            die=self._exit,
            observers=(self._stepped,),
            last_words=lambda text: None,
        )
        return self.worker.run(self._stop)

    def _make_coordinator(self) -> Coroutine[Any, Any, None]:
        birth, process = self.birth, self.process
        lease = birth.lease_seconds
        coordinator = self.coordinator = Coordinator(
            self._coordination,
            FleetLayout(FLEET, IDENTITY, PartitionKey.UID, birth.shards),
            birth.incarnation,
            lease_seconds=lease,
            renew_seconds=lease / 4,
            plan_settings=replace(PLANS, standby_deadline_seconds=birth.standby_deadline_seconds),
            reaped_predecessor=birth.reaped,
            clock=process.clock,
            today=process.clock,
            rng=self._rng,
        )
        if not birth.looks_out:
            return coordinator.run()
        self.lookout = Lookout(
            self._coordination,
            view=lambda: coordinator.view if coordinator.has_view else None,
            workers=self._ask_neighbours,
            clock=process.clock,
            rng=self._rng,
        )
        return self._look_out(coordinator, self.lookout)

    async def _ask_neighbours(self) -> Iterable[Mapping[str, Any]]:
        return self._neighbours()

    async def _look_out(self, coordinator: Coordinator, lookout: Lookout) -> None:
        looking = asyncio.create_task(lookout.run(), name="lookout")
        try:
            await coordinator.run()
        finally:
            looking.cancel()

    def _exit(self, code: int) -> None:
        if self.process.alive:
            self._die()
        raise Ended

    def _stepped(self, step: RangeStep) -> None:
        if self.process.alive:
            self._hear(Stepped(self.wire.network.now, self.process.label, step))
