"""The coordinator: a candidate on every agent, one of them in office.

The shell around `fleet.election`, `fleet.agenda` and `fleet.reshard`: it reads, asks them, and carries out what they
say. Every write is a compare-and-swap and is not sent after the office's own deadline (R10). Losing the office ends
planning at once; owners go on without it (R11).
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from fleet.agenda import Agenda, Look, Memory, draw_up
from fleet.candidate import Candidate, Office
from fleet.coordination import (
    CasConflict,
    Coordination,
    CoordinationUnavailable,
    CoordinationView,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    StoredMap,
)
from fleet.handover import is_free
from fleet.membership import expel, fence, floors
from fleet.planner import PlanSettings
from fleet.reshard import activated, may_retire, rebuilt, retired
from shards.clock import Clock, boot_seconds
from shards.errors import ConfigError
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
"""Longest wait between two looks while in office: fences depend on time, not only on changes."""


@dataclass(frozen=True, slots=True)
class FleetLayout:
    """What the config says about the fleet as a whole."""

    fleet: str
    identity: str
    partition_key: PartitionKey
    shard_count: int
    config_version: str = ""


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
    ) -> None:
        rng = rng or random.Random()
        self.coordination = coordination
        self.layout = layout
        self.lease_seconds = lease_seconds
        self.plan_settings = plan_settings
        self.clock = clock
        self.memory = Memory()
        self.candidate = Candidate(
            coordination,
            me,
            lease_seconds=lease_seconds,
            renew_seconds=renew_seconds,
            reaped_predecessor=reaped_predecessor,
            confirmed=self._view_is_confirmed,
            on_elected=self._elected,
            clock=clock,
            rng=rng,
        )
        self._written = 0
        self._view: CoordinationView | None = None
        self._wake = asyncio.Event()

    @property
    def in_office(self) -> bool:
        return self.candidate.in_office() is not None

    @property
    def view(self) -> CoordinationView:
        assert self._view is not None, "run() opens the view"
        return self._view

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
        self._wake.set()

    async def _view_is_confirmed(self) -> bool:
        """R13: an office is only renewed on a view of map and shard records that is known to be current."""
        if self.clock() - self.view.confirmed_at > self.lease_seconds / 2:
            await self.view.confirm()
        return self.clock() - self.view.confirmed_at <= self.lease_seconds

    # -- government -------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        async for _ in self.view.changes():
            self.memory.watch.observe(self.view.members, self.clock())
            self._wake.set()

    async def _govern(self) -> None:
        while True:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
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

    async def _look_again(self) -> None:
        try:
            await self.view.confirm()
        except CoordinationUnavailable as error:
            log.warning("coordinator: the view could not be confirmed (%s)", error)
            await asyncio.sleep(LOOK_SECONDS)

    async def round(self, office: Office) -> None:
        """One look, and what follows from it. Raises CasConflict or CoordinationUnavailable: look again, live."""
        stored = self.view.map or await self._found_map(office)
        if stored.map.version < self._written:
            return  # the view has not shown this office's own last map write yet (design 4.3)
        self._check_identity(stored.map)
        if stored.map.coordinator_epoch > office.epoch:
            self.candidate.lose(f"the map knows epoch {stored.map.coordinator_epoch}")
            return
        if stored.map.coordinator_epoch < office.epoch:
            await self._write_map(office, replace(stored.map, coordinator_epoch=office.epoch), stored)
            return
        look = Look(
            office.epoch,
            stored.map,
            dict(self.view.shards),
            dict(self.view.members),
            office.renewed_at,
            self.lease_seconds,
        )
        agenda = draw_up(look, self.memory, self.plan_settings, self.clock())
        await self._carry_out(office, agenda, stored)

    def _check_identity(self, shard_map: ShardMap) -> None:
        if shard_map.identity != self.layout.identity:
            raise ConfigError(
                "controller",
                f"fleet {self.layout.fleet} already runs other controllers (identity {shard_map.identity}, "
                f"this one is {self.layout.identity}); give this one another `fleet:` name",
            )

    async def _carry_out(self, office: Office, agenda: Agenda, stored: StoredMap) -> None:
        for name in agenda.fence:
            await self._fence(office, name)
        for name in agenda.expel:
            await self._expel(office, name)
        first_reads: dict[KeyRange, ShardRecord] = {}
        if agenda.upkeep.activate:
            first_reads = {record.range: record for record in await self.coordination.list_shards()}
        if agenda.map is not None:
            for move in agenda.moves:
                log.info("plan: %s", move)
            stored = await self._write_map(office, replace(agenda.map, version=stored.map.version), stored)
        if agenda.upkeep.activate:
            await self._activate(office, agenda, first_reads)
        if agenda.upkeep.retire:
            await self._retire(office, agenda.upkeep.retire)
        for record in agenda.collect:
            log.info("collecting the retired record of %s", record.range)
            await self.coordination.delete_shard(record)

    async def _write_map(self, office: Office, new: ShardMap, over: StoredMap) -> StoredMap:
        new = replace(new, version=over.map.version + 1)
        stored = await self.coordination.write_map(new, over.version, not_after=office.until)
        self._written = stored.map.version
        return stored

    async def _found_map(self, office: Office) -> StoredMap:
        """The map is missing from the view: read it live; create it, or rebuild it from the records (R14)."""
        found = await self.coordination.read_map()
        if found is not None:
            raise CasConflict("the view has no map, but there is one")
        shards = await self.coordination.list_shards()
        members = {member.name: member for member in await self.coordination.list_members()}
        boundaries = equal_boundaries(self.layout.shard_count)
        draft = ShardMap(
            version=1,
            coordinator_epoch=office.epoch,
            fleet=self.layout.fleet,
            identity=self.layout.identity,
            partition_key=self.layout.partition_key,
            boundaries=boundaries,
            targets=("",) * len(boundaries),
            config_version=self.layout.config_version,
        )
        if shards:
            highest = max([self._written, *(member.seen_map for member in members.values())])
            draft = rebuilt(draft, shards, highest)
            log.warning("the map was missing: rebuilt from %d shard records as version %d", len(shards), draft.version)
        draft = replace(draft, floors=floors(draft, members, shards, silent_gone=set()))
        stored = await self.coordination.write_map(draft, "", not_after=office.until)
        self._written = stored.map.version
        return stored

    async def _fence(self, office: Office, name: str) -> None:
        sighting = self.memory.watch.sightings[name]
        live = await self.coordination.read_member(name)
        record = fence(live, sighting)
        if record is None or live is None:
            return
        try:
            await self.coordination.write_member(record, live.version, not_after=office.until)
        except CasConflict:
            log.info("member %s moved while it was being fenced: its timer starts again", name)
            return
        silent_for = self.clock() - sighting.since
        log.warning("fenced %s at epoch %d: silent for %.1f s", name, live.epoch, silent_for)

    async def _expel(self, office: Office, name: str) -> None:
        live = await self.coordination.read_member(name)
        if live is None or live.holder is None:
            return
        log.warning("expelling %s at epoch %d: it renews but does not hand over", name, live.epoch)
        await self.coordination.write_member(expel(live), live.version, not_after=office.until)

    async def _activate(self, office: Office, agenda: Agenda, first_reads: dict[KeyRange, ShardRecord]) -> None:
        live_map = await self.coordination.read_map()
        if live_map is None:
            return
        others = await self.coordination.list_shards()
        members: list[MemberRecord] = await self.coordination.list_members()
        opened_here = agenda.upkeep.opening if agenda.map is not None else frozenset()

        async def one(wanted: KeyRange) -> None:
            record = activated(
                wanted,
                first_reads.get(wanted),
                live_map.map,
                others,
                members,
                just_opened=wanted in opened_here and live_map.map.version == self._written,
            )
            if record is not None:
                await self.coordination.write_shard(record, record.version, not_after=office.until)

        await _all(one, agenda.upkeep.activate)

    async def _retire(self, office: Office, ranges: tuple[KeyRange, ...]) -> None:
        live_map = await self.coordination.read_map()
        if live_map is None:
            return
        members = await self.coordination.list_members()
        records = {record.range: record for record in await self.coordination.list_shards()}
        done = set()
        for wanted in ranges:
            record = records.get(wanted)
            if wanted in live_map.map.retiring and may_retire(record, live_map.map, wanted, members):
                new = retired(live_map.map, wanted, record)
                await self.coordination.write_shard(new, new.version, not_after=office.until)
                done.add(wanted)
        if done:
            await self._write_map(office, replace(live_map.map, retiring=live_map.map.retiring - done), live_map)


async def _all(one: Callable[[KeyRange], Awaitable[None]], ranges: tuple[KeyRange, ...]) -> None:
    """Run one write per range side by side; the first failure is raised after all have ended."""
    results = await asyncio.gather(*(one(each) for each in ranges), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
