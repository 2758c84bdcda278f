"""Being a member, and knowing who still is one. Pure: readings of the boot clock come in as `now`.

Two sides of one promise (design 3.2). A worker may act until `send time of its last acknowledged renewal + 0.85 x
lease`. A coordinator may fence a member once the longest lease that it saw in that member's record has passed since it
last saw the record change. Both measure on their own clock what they themselves observed; neither reads a timestamp of
the other. The two margins together tolerate clocks whose rates differ by less than 10 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple

from fleet.records.record import Incarnation, MemberRecord, ShardMap, ShardRecord
from fleet.rules.survey import Survey
from fleet.rules.vanished import VanishedMembers
from shards.versions import at_least

ACTING_SHARE = 0.85
"""Part of the lease during which its holder may act."""


def acting_until(sent_at: float, lease_seconds: float) -> float:
    """Boot-clock reading until which an acknowledged renewal allows its sender to act. sent_at: before it was sent."""
    return sent_at + lease_seconds * ACTING_SHARE


class Join(NamedTuple):
    """Write `record` over the version that it carries; on success this incarnation is a member."""

    record: MemberRecord


class Wait(NamedTuple):
    """Look again no later than `until`. why: one sentence for the log."""

    until: float
    why: str


@dataclass(frozen=True, slots=True)
class Sighting:
    """A record as it was first seen at this version, and when. lease_seconds: the longest seen in it so far."""

    version: str
    since: float
    lease_seconds: float


def sight(before: Sighting | None, version: str, lease_seconds: float, now: float) -> Sighting:
    """What is known after the record was seen at `version`: the timer starts again whenever it moved."""
    if before is None:
        return Sighting(version, now, max(lease_seconds, 0.0))
    if before.version != version:
        return Sighting(version, now, max(lease_seconds, before.lease_seconds))
    return before if lease_seconds <= before.lease_seconds else replace(before, lease_seconds=lease_seconds)


def highest_named_epoch(name: str, shard_map: ShardMap | None, shards: Iterable[ShardRecord]) -> int:
    """The highest epoch of the member that the map or any shard record remembers; 0 when nobody knows it (R14)."""
    floor = shard_map.floors.get(name, 0) if shard_map else 0
    mine = (
        holder.epoch
        for record in shards
        for holder in (record.holder, record.last_holder)
        if holder is not None and holder.member == name
    )
    return max([floor, *mine])


def highest_epochs(survey: Survey) -> Mapping[str, int]:
    """By member: what `highest_named_epoch` says, of those that anything names."""
    known = dict(survey.map.floors)
    for record in survey.shards.values():
        for holder in (record.holder, record.last_holder):
            if holder is not None:
                known[holder.member] = max(known.get(holder.member, 0), holder.epoch)
    return known


def join(
    draft: MemberRecord,
    found: MemberRecord | None,
    *,
    sighting: Sighting,
    known_epoch: int,
    reaped_predecessor: bool,
    now: float,
    forgotten: int = 0,
) -> Join | Wait:
    """How an incarnation becomes the member `draft.name` (R1, R14): always under a higher epoch.

    draft: the record to write, but for epoch and version. found: the record as just read, live. sighting: since when it
    stands at this version. known_epoch: `highest_named_epoch`. reaped_predecessor: the supervisor of this process has
    reaped the process that held the record and found its process group empty. forgotten: of the map; a record of this
    name may have been collected at that epoch, long after anybody could act under it.
    """
    me = draft.holder
    assert me is not None, "a joining member names its incarnation"
    if found is None:
        wait_until = sighting.since + sighting.lease_seconds
        if known_epoch and now < wait_until:
            return Wait(wait_until, f"member record {draft.name} is missing but was known at epoch {known_epoch}")
        return Join(replace(draft, epoch=max(known_epoch, forgotten) + 1, version="", uid=""))
    epoch = max(found.epoch, known_epoch) + 1
    successor = Join(replace(draft, epoch=epoch, version=found.version, uid=found.uid))
    if found.holder is None or _is_reaped(found.holder, me, reaped_predecessor) or found.holder == me:
        return successor
    wait_until = sighting.since + sighting.lease_seconds
    if now < wait_until:
        return Wait(wait_until, f"member record {draft.name} is held by another incarnation, {found.holder}")
    return successor


def established(before: bool, *, known_epoch: int) -> bool:
    """Whether a member may do something about ranges, once a write of its record has been acknowledged (R1, R14).

    known_epoch: `highest_named_epoch` in what it had seen before it sent that write. The first record of a name may be
    deleted by hand before any map names it; who comes next does not know that there was one, and does not wait. After
    such a write nobody is in that place: the write conflicts, or who comes next finds the name and waits a lease.
    """
    return before or known_epoch > 0


def _is_reaped(holder: Incarnation, me: Incarnation, reaped_predecessor: bool) -> bool:
    return reaped_predecessor and holder.supervisor == me.supervisor and holder.count < me.count


def _is_quiet(seen: Sighting, now: float) -> bool:
    """Whether the member is past the deadline until which it may act, by what was seen."""
    return now > acting_until(seen.since, seen.lease_seconds)


_urgent = attrgetter(
    "name", "holder", "epoch", "lease_seconds", "revision", "leaving", "pod", "seen_map", "weight", "foreign"
)


def is_renewal(before: MemberRecord, after: MemberRecord) -> bool:
    """Whether the member only says that it lives, and how its shards fare: nothing that others wait for."""
    return bool(_urgent(before) == _urgent(after))


@dataclass(slots=True)
class MemberWatch:
    """A coordinator's memory of when it last saw each member move. Candidates keep one before they are elected.

    sightings: one per member in the view; a timer restarts with every change of the record.
    suspicious_since: start of the present episode in which more than half look expired at once (R12), or are past the
    deadline until which they may act: of those that fell silent with them, some may have been heard of a little later.
    None outside one.
    cleared_at: when the first renewal of its own that was sent in the episode and acknowledged was sent; None before.
    """

    sightings: dict[str, Sighting] = field(default_factory=dict)
    suspicious_since: float | None = None
    cleared_at: float | None = None
    vanished: VanishedMembers = field(default_factory=VanishedMembers)
    _observed: Mapping[str, MemberRecord] | None = None

    def begin_term(self) -> None:
        """A renewal of an earlier term says nothing about this one. An episode goes on: who could not reach the server
        has lost its office by that."""
        self.cleared_at = None

    def _end_episode(self) -> None:
        self.suspicious_since = self.cleared_at = None

    def observe(self, members: Mapping[str, MemberRecord], now: float) -> None:
        """Take in the view as it is now. Call it on every change, or a change is dated too late (which is safe).

        members: does not change afterwards; of what was taken in already there is nothing new to say.
        """
        if members is self._observed:
            return
        self._observed = members
        self.vanished.observe(members, now)
        for name in [name for name in self.sightings if name not in members]:
            del self.sightings[name]
        held = quiet_before = silent_now = 0
        for name, record in members.items():
            before = self.sightings.get(name)
            seen = self.sightings[name] = sight(before, record.version, record.lease_seconds, now)
            if record.holder is not None and not record.foreign:
                held += 1
                quiet_before += before is not None and _is_quiet(before, now)
                silent_now += now - seen.since > seen.lease_seconds
        if held >= 2 and quiet_before * 2 > held:
            # Also out of office, with the first news after the silence: soon they may be no majority any more.
            self.suspicious_since = now if self.suspicious_since is None else self.suspicious_since
        elif not silent_now:
            self._end_episode()

    def silent(self, members: Mapping[str, MemberRecord], now: float) -> list[str]:
        """Held members that have not moved for longer than their lease. Of those of another protocol nobody can say
        so: nobody here may fence them, and their records could be left over for ever."""
        return [
            name
            for name, record in sorted(members.items())
            if record.holder is not None
            and not record.foreign
            and (seen := self.sightings.get(name)) is not None
            and seen.version == record.version
            and now - seen.since > seen.lease_seconds
        ]

    def first_silence(self, members: Mapping[str, MemberRecord]) -> float:
        """Reading at which the next one will be silent, if nobody renews; infinity where nobody can be."""
        return min(
            (
                seen.since + seen.lease_seconds
                for name, seen in self.sightings.items()
                if (record := members.get(name)) is not None and record.holder is not None and not record.foreign
            ),
            default=float("inf"),
        )

    def fenceable(self, members: Mapping[str, MemberRecord], *, own_renewal_at: float, now: float) -> list[str]:
        """Silent members that may be fenced now, under R12.

        own_renewal_at: send time of the coordinator's own last acknowledged renewal. When some look dead, and more than
        half of the held members are past their deadlines, the fault may be on this side: then nobody is fenced until a
        renewal that was sent after the episode began has succeeded, and the longest lease has passed once more; not
        even those that are left when the others are heard of again. One member alone is no majority that could be wrong
        about itself.
        """
        silent = self.silent(members, now)
        if not silent:
            self._end_episode()
            return []
        held = [name for name, record in members.items() if record.holder is not None and not record.foreign]
        quiet = [name for name in held if (seen := self.sightings.get(name)) is not None and _is_quiet(seen, now)]
        majority = len(held) >= 2 and len(quiet) * 2 > len(held)
        if self.suspicious_since is None:
            if not majority:
                return silent
            self.suspicious_since = now
        if self.cleared_at is None and own_renewal_at > self.suspicious_since:
            self.cleared_at = own_renewal_at
        patience = max(self.sightings[name].lease_seconds for name in silent)
        cleared = self.cleared_at is not None and now - self.cleared_at > patience
        if cleared and not majority:
            self._end_episode()
        return silent if cleared else []


def fence(live: MemberRecord | None, sighting: Sighting, now: float, *, known_epoch: int = 0) -> MemberRecord | None:
    """The record that fences a silent member (R5), to be written over `live.version`; None when it must not be.

    live: a quorum read made after the timer ran out. Another version than the one at which the timer started means that
    the member has moved: the timer starts again. sighting: the timer; one that was started again meanwhile has not run
    out at `now`, the reading before the live read. known_epoch: the highest that anything else names of that member:
    where a hand lowered its record, what it holds would else never be free (R14).
    """
    if live is None or live.holder is None or live.version != sighting.version:
        return None
    if now - sighting.since <= sighting.lease_seconds:
        return None
    epoch = max(live.epoch, known_epoch) + 1
    return replace(live, holder=None, epoch=epoch, leaving=False)  # whoever is fenced has not left by itself


def expel(record: MemberRecord) -> MemberRecord:
    """The record that makes a member that still renews, but does not follow, give up by itself (R13).

    A fence may only follow silence (3.2). So the coordinator writes the member's own record: the next renewal
    conflicts, the member finds a renewal that it never sent, drops everything and joins again. Should it not, it falls
    silent for good, and the ordinary fence follows a lease later. One number is skipped: the next one could be the
    member's own renewal, whose answer was lost.
    """
    return replace(record, renewals=record.renewals + 2, seen_map=0)


def went_back(live: MemberRecord, known: MemberRecord) -> bool:
    """Whether a live read shows an earlier state of a member's own record than it wrote: the store was restored (R14).

    A count of renewals that is 0 may be one that somebody took away by hand.
    """
    if live.epoch != known.epoch:
        return live.epoch < known.epoch
    return 0 < live.renewals < known.renewals or not at_least(live.version, known.version)


def leave(record: MemberRecord) -> MemberRecord:
    """The record of a member that leaves for good: a fence of itself, written after its last act (R5)."""
    return replace(record, holder=None, epoch=record.epoch + 1, leaving=True)


def floors(
    shard_map: ShardMap, members: Mapping[str, MemberRecord], named: Iterable[str], *, gone: Mapping[str, int]
) -> dict[str, int]:
    """The floors that the map should carry (R6): they follow every member record upwards, never downwards.

    named: members that hold shard records, or of whom somebody may act whose record was deleted: who takes their place
    has to find the floor, to wait for them. gone: floors of members that a live read proved to have no record, longer
    than a lease ago (R14). A floor goes only when nothing of all that names the member, and it has no record.
    """
    wanted = dict(shard_map.floors)
    for name, epoch in (*((name, record.epoch) for name, record in members.items()), *gone.items()):
        wanted[name] = max(wanted.get(name, 0), epoch)
    mentioned = {*named, *members, *filter(None, shard_map.targets)}
    return {name: epoch for name, epoch in wanted.items() if name in mentioned}


def forgotten(shard_map: ShardMap, new_floors: Mapping[str, int]) -> int:
    """What `ShardMap.forgotten` becomes with these floors: whoever comes back under a name whose floor has gone begins
    above it, or a worker that still sees the old map takes what it holds for free."""
    return max([shard_map.forgotten, *(epoch for name, epoch in shard_map.floors.items() if name not in new_floors)])
