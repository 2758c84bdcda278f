"""The coordinator: a candidate on every agent, one of them in office.

The shell around `fleet.rules.election` and `fleet.rules.agenda`: it looks, asks what to do, and has it carried out by
`fleet.office.registrar`. Losing the office ends planning at once (R10); owners go on without it (R11).
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from dataclasses import replace

from fleet.backends.confirmation import keep_confirmed
from fleet.health.telemetry import Telemetry
from fleet.office.candidate import Candidate, Office
from fleet.office.config_follower import Check, ConfigFollower, unchecked
from fleet.office.fleet_layout import FleetLayout
from fleet.office.registrar import Registrar
from fleet.office.resharding import Resharding
from fleet.office.standing_orders import StandingOrders
from fleet.records.coordination import (
    CasConflict,
    Change,
    Coordination,
    CoordinationUnavailable,
    CoordinationView,
    ProtocolMismatch,
)
from fleet.records.happening import Happening
from fleet.records.object_names import Kind
from fleet.records.record import DocumentName, Incarnation
from fleet.rules.agenda import Look, Memory, draw_up
from fleet.rules.handover import is_free
from fleet.rules.membership import is_renewal
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.story import story
from shards.bell import Bell
from shards.clock import Clock, boot_seconds

__all__ = ["Coordinator", "FleetLayout"]

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
"""Longest wait between two looks while in office: fences depend on time, not only on changes."""

REST_SECONDS = 1.0
"""Longest wait while nothing depends on time but leases: the next look is made when the first one may have run out."""


class Coordinator:
    """Stands for election, and coordinates while in office."""

    def __init__(
        self,
        coordination: Coordination,
        layout: FleetLayout,
        me: Incarnation,
        *,
        lease_seconds: float,
        renew_seconds: float,
        plan_settings: PlanSettings,
        reaped_predecessor: bool = False,
        clock: Clock = boot_seconds,
        rng: random.Random | None = None,
        telemetry: Telemetry | None = None,
        today: Callable[[], float] = time.time,
        check_config: Check = unchecked,
        tell: Callable[[Happening], None] = lambda happening: None,
    ) -> None:
        """check_config: raises ConfigError for a config of the fleet that its controllers cannot be run with. today:
        seconds since 1970, for what a later office should know of this one. tell: hears what happens, for people."""
        rng = rng or random.Random()
        self.coordination = coordination
        self.registrar = Registrar(coordination, layout, clock, telemetry or Telemetry(), tell)
        patience = plan_settings.standby_deadline_seconds
        self.config = ConfigFollower(layout.fleet, check_config, standby_deadline_seconds=patience)
        self.resharding = Resharding(self.config)
        self.lease_seconds = lease_seconds
        self.plan_settings = plan_settings
        self.clock = clock
        self.today = today
        self.memory = Memory()
        self.orders = StandingOrders()
        self._tell = tell
        self._last_look: Look | None = None
        self.candidate = Candidate(
            coordination,
            me,
            lease_seconds=lease_seconds,
            renew_seconds=renew_seconds,
            reaped_predecessor=reaped_predecessor,
            known_epoch=self._known_epoch,
            confirmed=self._view_is_confirmed,
            on_elected=self._elected,
            clock=clock,
            rng=rng,
        )
        self._setbacks = 0
        self._quiet_until = float("-inf")
        self._at_rest = False
        self._view: CoordinationView | None = None
        self._wake = Bell()

    @property
    def in_office(self) -> bool:
        return self.candidate.in_office() is not None

    @property
    def epoch(self) -> int:
        """Of the present term; 0 out of office."""
        office = self.candidate.in_office()
        return office.epoch if office is not None else 0

    @property
    def view(self) -> CoordinationView:
        assert self._view is not None, "run() opens the view"
        return self._view

    @property
    def has_view(self) -> bool:
        return self._view is not None

    @property
    def unowned_ranges(self) -> int:
        """Ranges of the map that nobody holds, as far as the view shows."""
        if self._view is None or self._view.map is None:
            return 0
        shard_map, shards = self._view.map.map, self._view.shards
        return sum(1 for each in shard_map.ranges if (r := shards.get(each)) is None or is_free(r, shard_map))

    async def run(self) -> None:
        """Until cancelled; then the office is given up. Raises ConfigError when the fleet is another one (R16)."""
        self._view = self.coordination.watch(members=True)
        tasks = [
            asyncio.create_task(self.candidate.run(), name="election"),
            asyncio.create_task(self._follow(), name="coordinator view"),
            asyncio.create_task(self._govern(), name="coordinator"),
            asyncio.create_task(
                keep_confirmed(self._view, self.lease_seconds, self.clock, wanted=self._view_is_wanted),
                name="coordinator confirmation",
            ),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.candidate.resign()
            await self._view.close()

    def _elected(self) -> None:
        """A new term starts with an empty memory, but for how long it has been watching the members."""
        self.memory = Memory(watch=self.memory.watch)
        self.memory.watch.begin_term()
        self._last_look = None
        self._tell(Happening("InOffice", f"{self.candidate.me} coordinates, epoch {self.epoch}", Kind.COORDINATOR))
        self._wake.set()

    def _known_epoch(self) -> int:
        """The highest epoch of an office that the map remembers."""
        return self.view.last_map.map.coordinator_epoch if self.view.last_map is not None else 0

    def _view_is_confirmed(self) -> bool:
        """R13: an office is only renewed on a view of map and shard records that is known to be current."""
        return self.clock() - self.view.confirmed_at <= self.lease_seconds

    def _view_is_wanted(self) -> bool:
        return self.in_office or self.candidate.eager

    # -- government -------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        async for change in self.view.changes():
            self.memory.watch.observe(self.view.members, self.clock())
            self.config.look(self.view.documents.get(DocumentName.CONFIG))
            if self.view.synced:
                self.orders.follow(self.view.documents.get(DocumentName.CONTROLS))
            if self.candidate.office is not None and not self._can_wait(change):
                self._wake.set()

    def _can_wait(self, change: Change) -> bool:
        """Whether the next look will do, since it is only a renewal: what members tell of their shards is no news."""
        if change.kind != Kind.MEMBER or self._last_look is None:
            return False
        before, after = self._last_look.members.get(change.name), self.view.members.get(change.name)
        return before is not None and after is not None and is_renewal(before, after)

    async def _govern(self) -> None:
        while True:
            # Out of office nothing depends on time, and an election rings as well.
            await self._wake.wait(None if self.candidate.office is None else self._patience())
            self._wake.clear()
            self._at_rest = False
            self.config.look(self.view.documents.get(DocumentName.CONFIG))
            office = self.candidate.in_office()
            if office is None or not self.view.synced:
                continue
            try:
                await self.round(office)
            except CasConflict as conflict:
                log.info("coordinator: a write conflicted (%s), looking again", conflict)
                await self._look_again()
            except CoordinationUnavailable as error:
                log.warning("coordinator: no answer (%s)", error)
                await self._look_again()
            except ProtocolMismatch as mismatch:
                # Nobody who knows another protocol is planned for, and what runs goes on (R16).
                log.error("coordinator: %s", mismatch)
                await asyncio.sleep(self.lease_seconds)

    def _patience(self) -> float:
        """Seconds until the next look if nothing changes."""
        if not self._at_rest:
            return LOOK_SECONDS
        silence_at = self.memory.watch.first_silence(self.view.members)
        return min(max(LOOK_SECONDS, silence_at - self.clock()), REST_SECONDS)

    async def _look_again(self) -> None:
        try:
            await self.view.confirm()
        except CoordinationUnavailable as error:
            log.warning("coordinator: the view could not be confirmed (%s)", error)
            await asyncio.sleep(LOOK_SECONDS)

    async def round(self, office: Office) -> None:
        """One look, and what follows from it. Raises CasConflict or CoordinationUnavailable: look again, live."""
        if self.view.history_went_back != self._setbacks:
            # The store was restored: nothing that was written or seen before says anything about it (R14).
            self._setbacks = self.view.history_went_back
            self.memory = Memory()
            self.registrar.restored()
            self.config.restored()
            self.orders.restored()
            self._quiet_until = self.clock() + self.lease_seconds
        if self.clock() < self._quiet_until:
            return  # whoever has not noticed yet acts on what the restored records do not know
        stored = self.view.map
        if stored is None:
            last = self.view.last_map
            stored = await self.registrar.found_map(office, last.map if last is not None else None, self.config.wanted)
        if stored.map.version < self.registrar.highest_version(self.view.members.values()):
            # The view has not shown this office's own last map write yet (design 4.3), or somebody put an old map back.
            await self.registrar.outrun(office, self.view.members.values())
            return
        self.registrar.check_identity(stored.map)
        if stored.map.coordinator_epoch > office.epoch:
            self.candidate.lose(f"the map knows epoch {stored.map.coordinator_epoch}")
            return
        if stored.map.coordinator_epoch < office.epoch:
            await self.registrar.write_map(office, replace(stored.map, coordinator_epoch=office.epoch), stored)
            return
        ordered = self.view.documents.get(DocumentName.CONTROLS)
        look = Look(
            office.epoch,
            stored.map,
            self.view.shards,
            self.view.members,
            office.renewed_at,
            self.lease_seconds,
            self.orders.follow(ordered),
            self.today(),
        )
        for happening in story(self._last_look, look) if self._last_look is not None else ():
            self._tell(happening)
        self._last_look = look
        agenda = draw_up(look, self.memory, self.config.planning or self.plan_settings, self.clock())
        self.registrar.compare(stored.map, self.config)
        relaid = self.resharding.next_map(look, agenda.cuts)
        if relaid is not None and await self.registrar.reshard(office, relaid, stored):
            return
        await self.registrar.carry_out(office, agenda, stored, self.memory)
        over = self.orders.over(look.members.values(), self.clock())
        if over and ordered is not None:
            await self.orders.end(self.coordination, ordered, over, not_after=office.until)
        self._at_rest = agenda.rest
