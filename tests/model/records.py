"""The records that a state of the model stands for, as the code of `fleet` has them, and back.

What the model leaves out is filled in with what says least: no last holders, one UID per range, no memory of epochs.
Losses of ranges are numbered by the version of the map that marks them, so that number is the version here.
"""

from __future__ import annotations

from collections.abc import Mapping

from fleet.records.record import Holder, Incarnation, MemberRecord, ShardMap, ShardRecord, ShardStatus, Standby
from shards.gates.watermark import ResourceMark, Watermark
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries, ranges_from
from tests.model.state import ABSENT, ACTIVE, EMPTIED, NOBODY, RETIRED, Lease, Map, Member, World

LEASE_SECONDS = 8.0
VIEW, DIGEST = "things", "digest"
FIRST_EPOCH = 1
"""Of a shard record; the model counts from 0, and only where it matters."""

NAMES = "abc"


class Departure(AssertionError):
    """What the code wrote has no counterpart in the model: the sentence of the rule that it breaks."""


def ensure(holds: bool, sentence: str) -> None:
    if not holds:
        raise Departure(sentence)


class Records:
    """Both ways for one world. Everything is remembered: a state has few records, and a world has few of them."""

    def __init__(self, w: World) -> None:
        self.w = w
        self.layouts = tuple(equal_boundaries(len(layout)) for layout in w.layouts)
        self.ranges = tuple(self._range(r) for r in w.ranges)
        self.number = {each: r for r, each in enumerate(self.ranges)}
        self.key = PartitionKey.UID
        self._shards: dict[tuple[int, Lease], ShardRecord | None] = {}
        self._maps: dict[Map, ShardMap] = {}
        self._members: dict[tuple[int, Member], MemberRecord | None] = {}

    def _range(self, r: int) -> KeyRange:
        layout = next(i for i, each in enumerate(self.w.layouts) if r in each)
        return ranges_from(self.layouts[layout])[self.w.layouts[layout].index(r)]

    # -- shard records ------------------------------------------------------------------------------------------------

    def shard(self, r: int, lease: Lease) -> ShardRecord | None:
        if (r, lease) not in self._shards:
            self._shards[r, lease] = self._shard(r, lease)
        return self._shards[r, lease]

    def shards(self, leases: tuple[Lease, ...]) -> dict[KeyRange, ShardRecord]:
        found = {each: self.shard(r, lease) for r, (each, lease) in enumerate(zip(self.ranges, leases, strict=True))}
        return {each: record for each, record in found.items() if record is not None}

    def _shard(self, r: int, lease: Lease) -> ShardRecord | None:
        if lease.status == ABSENT:
            return None
        epoch = lease.epoch + FIRST_EPOCH
        emptied = lease.holder == EMPTIED
        holder = None if lease.holder is None or emptied else self.holder(lease.holder)
        standby = mark = None
        if lease.standby is not None:
            standby = Standby(self.holder(lease.standby[:2]), lease.standby[2] + FIRST_EPOCH)
        if lease.mark is not None:
            marks = {VIEW: ResourceMark(DIGEST, str(lease.mark[0] + 1))}
            mark = Watermark(lease.mark[1] + FIRST_EPOCH, marks)
        return ShardRecord(
            range=self.ranges[r],
            status=ShardStatus.ACTIVE if lease.status == ACTIVE else ShardStatus.RETIRED,
            epoch=epoch,
            holder=holder,
            holder_text=str(holder) if holder is not None else "",
            released=epoch if holder is None and not emptied else None,
            standby=standby,
            watermark=mark,
            version="1",
            uid=f"uid-{r}",
        )

    def lease(self, record: ShardRecord) -> Lease:
        """What the model knows of a record that the code made."""
        epoch = record.epoch - FIRST_EPOCH if self.w.epochs else 0
        holder = None
        if record.holder is not None:
            ensure(record.holder_text == str(record.holder), "the holder's text names the holder")
            holder = self.member_of(record.holder)
        elif record.holder_text or record.released != record.epoch:
            holder = EMPTIED
        standby = mark = None
        if record.standby is not None:
            standby = (*self.member_of(record.standby.holder), record.standby.epoch - FIRST_EPOCH)
        if record.watermark is not None:
            ensure(record.watermark.marks.keys() == {VIEW}, "a watermark has the marks of its views")
            mark = int(record.watermark.marks[VIEW].resource_version) - 1, record.watermark.epoch - FIRST_EPOCH
        return Lease(ACTIVE if record.status is ShardStatus.ACTIVE else RETIRED, holder, epoch, standby, mark)

    def holder(self, named: tuple[int, int]) -> Holder:
        return Holder(NAMES[named[0]], named[1])

    def member_of(self, holder: Holder) -> tuple[int, int]:
        return NAMES.index(holder.member), holder.epoch

    # -- members ------------------------------------------------------------------------------------------------------

    def incarnation(self, process: int, count: int) -> Incarnation:
        return Incarnation(f"pod-{process}", count)

    def member(self, name: int, member: Member) -> MemberRecord | None:
        if (name, member) not in self._members:
            self._members[name, member] = self._member(name, member)
        return self._members[name, member]

    def members(self, members: tuple[Member, ...]) -> dict[str, MemberRecord]:
        found = {NAMES[name]: self.member(name, each) for name, each in enumerate(members)}
        return {name: record for name, record in found.items() if record is not None}

    def _member(self, name: int, member: Member) -> MemberRecord | None:
        if not member.epoch:
            return None
        return MemberRecord(
            name=NAMES[name],
            holder=None if member.holder == NOBODY else self.incarnation(member.holder, member.epoch),
            epoch=member.epoch,
            lease_seconds=LEASE_SECONDS,
            seen_map=member.echo,
            renewals=10,
            version="7",
            uid=f"uid-{name}",
        )

    # -- maps ---------------------------------------------------------------------------------------------------------

    def map(self, m: Map) -> ShardMap:
        if m not in self._maps:
            self._maps[m] = self._map(m)
        return self._maps[m]

    def _map(self, m: Map) -> ShardMap:
        return ShardMap(
            version=m.losses,
            coordinator_epoch=m.office,
            fleet="f",
            identity="i",
            partition_key=self.key,
            boundaries=self.layouts[m.layout],
            targets=tuple(NAMES[each] for each in m.targets),
            opened=self._set(m.opened),
            retiring=self._set(m.retiring),
            lost={self.ranges[r]: number for r, number in enumerate(m.lost) if number},
            floors={NAMES[name]: floor for name, floor in enumerate(m.floors) if floor},
            config_version=str(m.config + 1),
            forgotten=m.forgotten,
        )

    def _set(self, mask: int) -> frozenset[KeyRange]:
        return frozenset(self.ranges[r] for r in self.w.ranges if mask >> r & 1)

    def mask(self, ranges: frozenset[KeyRange]) -> int:
        return sum(1 << self.number[each] for each in ranges)

    def lost(self, lost: Mapping[KeyRange, int]) -> tuple[int, ...]:
        return tuple(lost.get(each, 0) for each in self.ranges)

    def floors(self, floors: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(floors.get(NAMES[name], 0) for name in range(self.w.people))
