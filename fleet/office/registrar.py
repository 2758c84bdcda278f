"""Carries out what a coordinator decided: every write of an office to the records of the fleet.

Each write is a compare-and-swap, is not sent after the office's own deadline, and rests on live reads made in the order
that the rules ask for (R5, R8 to R10, R14). Whatever fails is raised as CasConflict or CoordinationUnavailable: the
coordinator then looks again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from fleet.health.telemetry import Telemetry
from fleet.office.attempts import Attempts
from fleet.office.candidate import Office
from fleet.office.config_follower import ConfigFollower
from fleet.office.fleet_layout import FleetLayout
from fleet.office.hidden_records import all_shards
from fleet.office.side_by_side import side_by_side
from fleet.records.coordination import CasConflict, Coordination, MapUnreadable
from fleet.records.happening import Happening
from fleet.records.object_names import Kind
from fleet.records.record import Holder, MemberRecord, ShardMap, ShardRecord, StoredMap
from fleet.rules.absences import is_absent
from fleet.rules.agenda import Absence, Agenda, Memory
from fleet.rules.layout import Wanted, base_count
from fleet.rules.membership import expel, fence, floors
from fleet.rules.refusal import check_map
from fleet.rules.reshard import REBUILT_STEP, activated, clear_ranges, may_retire, rebuilt, retired
from shards.clock import Clock
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries

log = logging.getLogger(__name__)

LIKELY_VERSION = 10**15
"""A member that follows a later map than this has a record that somebody edited."""


class Registrar:
    """The writes of one coordinator.

    written: version of the last map that it wrote; 0 before the first. Nobody plans on a view that shows an older one.
    """

    def __init__(
        self,
        coordination: Coordination,
        layout: FleetLayout,
        clock: Clock,
        telemetry: Telemetry,
        tell: Callable[[Happening], None] = lambda happening: None,
    ) -> None:
        self.coordination = coordination
        self.layout = layout
        self.written = 0
        self._compared: tuple[int, PartitionKey] | None = None
        self._clock = clock
        self._telemetry = telemetry
        self._tell = tell
        self._attempts = Attempts(clock)

    def restored(self) -> None:
        """The store went back: nothing that was written before says anything about it (R14)."""
        self.written = 0
        self._telemetry.history_lost()

    def check_identity(self, shard_map: ShardMap) -> None:
        """Raises Refused when the map is of another fleet (R16)."""
        check_map(shard_map, identity=self.layout.identity)

    def compare(self, shard_map: ShardMap, config: ConfigFollower) -> None:
        """Says so where this process's config asks for another layout, and no ConfigMap is followed."""
        ours = self.layout.shard_count, self.layout.partition_key
        found = base_count(shard_map), shard_map.partition_key
        if config.wanted is not None or config.refused or ours == found or ours == self._compared:
            return
        self._compared = ours
        log.warning(
            "the config of this pod asks for %d shards by %s, the fleet has %d by %s and goes on with them: a layout"
            " is changed in ConfigMap %s-config only (docs/resharding.md says how to create it)",
            *ours,
            *found,
            shard_map.fleet,
        )

    async def carry_out(self, office: Office, agenda: Agenda, stored: StoredMap, memory: Memory) -> None:
        """Everything on the agenda. stored: the map that it was drawn up on.

        One record's trouble does not keep the others from being tried: the first is raised at the end. Only a map that
        is not written ends it, as the rest belongs to it.
        """
        for name in agenda.fence:
            await self._attempts.make(f"fence {name}", partial(self._fence, office, name, agenda, memory))
        for incarnation in agenda.expel:
            await self._attempts.make(f"expel {incarnation}", partial(self._expel, office, incarnation, memory))
        for named in agenda.missing:
            await self._attempts.make(f"look for {named.member}", partial(self._prove_absence, named, memory))
        first_reads: dict[KeyRange, ShardRecord] = {}
        if agenda.upkeep.activate:
            lost = self._refused("activate", agenda.upkeep.activate, stored.map.lost)
            first_reads = await all_shards(self.coordination, lost=lost)
        if agenda.map is not None:
            for move in agenda.moves:
                log.info("plan: %s", move)
            await self.write_map(office, agenda.map, stored)
        if agenda.upkeep.activate:
            await self._activate(office, agenda, first_reads, memory)
        if agenda.upkeep.retire:
            await self._retire(office, agenda.upkeep.retire, memory)
        for record in agenda.collect:
            await self._attempts.make(f"collect {record.range}", partial(self._collect, office, record))
        for gone in agenda.forget:
            await self._attempts.make(f"forget {gone.name}", partial(self._forget, office, gone))
        self._attempts.settle()

    async def _prove_absence(self, named: Holder, memory: Memory) -> None:
        if is_absent(await self.coordination.read_member(named.member), named.epoch):
            memory.absent[named.member] = Absence(named.epoch, self._clock())

    async def _collect(self, office: Office, record: ShardRecord) -> None:
        if self._clock() < office.until:
            log.info("collecting the retired record of %s", record.range)
            await self.coordination.delete_shard(record)

    async def _forget(self, office: Office, gone: MemberRecord) -> None:
        if self._clock() < office.until:
            log.info("member %s is gone for good: its record goes", gone.name)
            await self.coordination.delete_member(gone)

    async def reshard(self, office: Office, relaid: ShardMap, over: StoredMap) -> bool:
        """Whether the map with another layout was written. One that the server refuses (it may be too large for one
        object) must not keep the agenda from being carried out; `carry_out` raises what was wrong."""

        async def write() -> None:
            await self.write_map(office, relaid, over)

        return await self._attempts.make("reshard", write)

    async def write_map(self, office: Office, new: ShardMap, over: StoredMap) -> StoredMap:
        """The next map, over the one that it was made from."""
        new = replace(new, version=max(new.version, over.map.version + 1))
        stored = await self.coordination.write_map(new, over.version, not_after=office.until)
        self.written = stored.map.version
        return stored

    def highest_version(self, members: Iterable[MemberRecord]) -> int:
        """Of all maps that this coordinator wrote, or any member says that it follows."""
        return max([self.written, *(each.seen_map for each in members if each.seen_map <= LIKELY_VERSION)])

    async def outrun(self, office: Office, members: Iterable[MemberRecord]) -> None:
        """Somebody put an old map back, if a live read shows one below that version: versions never fall, or members
        would seem to follow a map that they have not seen (R14). What is wrong in it otherwise is put right as ever."""
        live, highest = await self.coordination.read_map(), self.highest_version(members)
        if live is not None and live.map.version < highest:
            log.warning("map version %d was put back over version %d: it is followed", live.map.version, highest)
            await self.write_map(office, replace(live.map, version=highest + REBUILT_STEP), live)

    async def found_map(self, office: Office, last: ShardMap | None, wanted: Wanted | None = None) -> StoredMap:
        """The view has no map: read it live; create it, or rebuild it from the records (R14).

        last: the last map that the view could read. wanted: what the fleet's config asks for, None without
        one. Raises ConfigError when that map was another fleet's.
        """
        replaces = ""
        try:
            if await self.coordination.read_map() is not None:
                raise CasConflict("the view has no map, but there is one")
        except MapUnreadable as error:
            replaces = error.version
        if last is not None:
            self.check_identity(last)
        shards = await self.coordination.list_shards()
        members = {member.name: member for member in await self.coordination.list_members()}
        seen = [self.written, last.version if last else 0, *(member.seen_map for member in members.values())]
        draft = self._empty_map(office, wanted)
        if replaces or shards or max(seen):
            draft = rebuilt(last, draft, shards, max(seen))
            log.warning("the map was missing: rebuilt from %d shard records as version %d", len(shards), draft.version)
        # All floors that are there stay: nobody has watched who vanished meanwhile.
        named = [*draft.floors, *(record.holder.member for record in shards if record.holder is not None)]
        draft = replace(draft, floors=floors(draft, members, named, gone={}))
        stored = await self.coordination.write_map(draft, replaces, not_after=office.until)
        self.written = stored.map.version
        return stored

    def _empty_map(self, office: Office, wanted: Wanted | None) -> ShardMap:
        wanted = wanted or Wanted(self.layout.shard_count, self.layout.partition_key, "")
        boundaries = equal_boundaries(wanted.shards)
        return ShardMap(
            version=1,
            coordinator_epoch=office.epoch,
            fleet=self.layout.fleet,
            identity=self.layout.identity,
            partition_key=wanted.key,
            boundaries=boundaries,
            targets=("",) * len(boundaries),
            config_version=wanted.version,
            base_count=wanted.shards,
        )

    # -- members ----------------------------------------------------------------------------------------------------

    async def _fence(self, office: Office, name: str, agenda: Agenda, memory: Memory) -> None:
        sighting, now = memory.watch.sightings.get(name), self._clock()
        if sighting is None:
            return
        live = await self.coordination.read_member(name)
        record = fence(live, sighting, now, known_epoch=agenda.named.get(name, 0))
        if record is None:
            return
        try:
            await self.coordination.write_member(record, record.version, not_after=office.until)
        except CasConflict:
            log.info("member %s moved while it was being fenced: its timer starts again", name)
            return
        self._telemetry.fenced()
        what = f"fenced {name} below epoch {record.epoch}: silent for {now - sighting.since:.1f} s"
        log.warning("%s", what)
        self._tell(Happening("Fenced", what, Kind.MEMBER, name, warning=True))

    async def _expel(self, office: Office, incarnation: Holder, memory: Memory) -> None:
        live = await self.coordination.read_member(incarnation.member)
        if live is None or live.holder is None or live.epoch != incarnation.epoch:
            return
        try:
            await self.coordination.write_member(expel(live), live.version, not_after=office.until)
        except CasConflict:
            log.info("member %s renewed while it was being expelled: once more", incarnation)
            return
        memory.expelled[incarnation.member] = incarnation.epoch
        what = f"expelled {incarnation}: it renews but does not follow"
        log.warning("%s", what)
        self._tell(Happening("Expelled", what, Kind.MEMBER, incarnation.member, warning=True))

    # -- shard records ----------------------------------------------------------------------------------------------

    async def _activate(
        self, office: Office, agenda: Agenda, found: Mapping[KeyRange, ShardRecord], memory: Memory
    ) -> None:
        """found: read before the map."""
        live_map = await self.coordination.read_map()
        if live_map is None:
            return
        clear = clear_ranges(live_map.map, await self.coordination.list_shards())
        members = memory.watch.vanished.everybody(await self.coordination.list_members(), self._clock())
        opened_here = agenda.upkeep.opening if live_map.map.version == self.written else frozenset()
        if agenda.map is None:
            opened_here = frozenset()

        async def one(wanted: KeyRange) -> None:
            record = activated(
                wanted,
                found.get(wanted),
                live_map.map,
                clear,
                members,
                just_opened=wanted in opened_here,
            )
            if record is not None:
                await self.coordination.write_shard(record, record.version, not_after=office.until)

        await self._each("activate", one, agenda.upkeep.activate)

    async def _retire(self, office: Office, ranges: tuple[KeyRange, ...], memory: Memory) -> None:
        live_map = await self.coordination.read_map()
        if live_map is None:
            return
        current = live_map.map
        members = memory.watch.vanished.everybody(await self.coordination.list_members(), self._clock())
        records = await all_shards(self.coordination, lost=self._refused("retire", ranges, current.lost))
        epochs = dict(current.shard_epochs)
        done: set[KeyRange] = set()

        async def one(wanted: KeyRange) -> None:
            record = records.get(wanted)
            if wanted in current.retiring and may_retire(record, current, wanted, members):
                new = retired(current, wanted, record)
                await self.coordination.write_shard(new, new.version, not_after=office.until)
                epochs[wanted] = new.epoch
                done.add(wanted)

        # What was retired leaves `retiring` even where another range's write failed: that one is tried again.
        await self._each("retire", one, ranges)
        if done:
            new_map = replace(current, retiring=current.retiring - done, shard_epochs=epochs)
            await self.write_map(office, new_map, live_map)

    def _refused(self, what: str, ranges: Iterable[KeyRange], lost: Mapping[KeyRange, int]) -> list[KeyRange]:
        """Lost ranges whose record could not be made: there may be one that no list shows."""
        return [each for each in ranges if each in lost and self._attempts.is_again(f"{what} {each}")]

    async def _each(self, what: str, one: Callable[[KeyRange], Awaitable[None]], ranges: tuple[KeyRange, ...]) -> None:
        """One write per range, some side by side."""

        async def attempt(each: KeyRange) -> None:
            await self._attempts.make(f"{what} {each}", partial(one, each))

        await side_by_side(attempt, ranges)
