"""Writes journals for the judge: a fleet of two members and the ranges they hold, one commit after the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from fleet.devcluster.recording.journal import Entry, Sent
from fleet.records.lease_records import Times, lease_from_coordinator, lease_from_member
from fleet.records.map_record import configmap_from_map
from fleet.records.object_names import CONFIG_MAPS, LEASES, Kind, Names
from fleet.records.record import (
    CoordinatorRecord,
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
)
from fleet.records.shard_lease import lease_from_shard
from shards.api.useragent import UserAgent
from shards.keyrange import SPACE, WHOLE, KeyRange, PartitionKey, fnv1a64

NAMES = Names("web", "default")
TIMES = Times("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z")
LOWER = KeyRange(0, SPACE // 2 - 1)
UPPER = KeyRange(SPACE // 2, SPACE - 1)


def uid_in(wanted: KeyRange) -> str:
    """A UID whose hash falls into the range."""
    return next(text for text in (f"uid-{index}" for index in range(10_000)) if fnv1a64(text) in wanted)


@dataclass
class Chronicle:
    """Every call adds one entry, a second after the one before. names: of the fleet whose Leases are written."""

    entries: list[Entry] = field(default_factory=list)
    names: Names = NAMES
    pause_seconds: float = 0.0
    """Added before the next entry."""
    lost: int = 0
    """Entries that the journal does not have; the numbers of those that come next are higher by as many."""

    @property
    def now(self) -> float:
        """Time of the last entry."""
        return self.entries[-1].time if self.entries else 0.0

    def wait(self, seconds: float) -> None:
        self.pause_seconds += seconds

    def beside(self, fleet: str) -> Chronicle:
        """Writes the Leases of another fleet into the same journal."""
        return Chronicle(self.entries, Names(fleet, "default"))

    def add(self, verb: str, resource: str, name: str, **fields: Any) -> Entry:
        seq = len(self.entries) + 1 + self.lost
        now, self.pause_seconds = self.now + 1.0 + self.pause_seconds, 0.0
        status = fields.pop("status", 201 if verb == "create" else 200)
        entry = Entry(seq, now, verb, resource, namespace="default", name=name, status=status, **fields)
        self.entries.append(entry)
        return entry

    def member(
        self, name: str, epoch: int, *, held: bool = True, by: str = "", count: int = 1, version: str = ""
    ) -> None:
        """A member Lease: a join or a renewal, or a fence where it is not held. by: author, "" for a hand. count: of
        the incarnation. version: that it gets."""
        record = MemberRecord(name, Incarnation("pod/1", count) if held else None, epoch, 8.0)
        lease = lease_from_member(self.names, record, replaces=version, times=TIMES)
        self._lease(self.names.member(name), lease, by)

    def shard(
        self,
        covered: KeyRange,
        epoch: int,
        holder: str = "",
        *,
        released_by: str = "",
        status: ShardStatus = ShardStatus.ACTIVE,
        key: PartitionKey = PartitionKey.UID,
        by: str = "",
    ) -> None:
        """A shard Lease: a claim where it has a holder, a release where it was released by one, else an activation."""
        record = ShardRecord(
            replace(covered, key=key),
            status,
            epoch,
            holder=Holder.parse(holder),
            released=epoch if not holder else None,
            last_holder=Holder.parse(released_by),
        )
        self._lease(self.names.shard(record.range), lease_from_shard(self.names, record, replaces="", times=TIMES), by)

    def coordinator(self, holder: str = "agent/1") -> None:
        """A renewal of the coordinator's office."""
        record = CoordinatorRecord(holder, 1, 8.0)
        body = lease_from_coordinator(self.names, record, replaces="", times=TIMES)
        self._lease(self.names.coordinator, body, "agent@1")

    def map(self) -> None:
        body = {"metadata": self.names.metadata(Kind.MAP, self.names.map, version="")}
        self.add("update", str(CONFIG_MAPS), self.names.map, object=msgspec.json.encode(body).decode())

    def layout(self, version: int, targets: tuple[str, ...], boundaries: tuple[int, ...], **fields: Any) -> None:
        """The coordinator writes a map that can be read. fields: of the ShardMap; verb; by: its author."""
        verb, by = fields.pop("verb", "update"), fields.pop("by", "agent@1")
        made = ShardMap(
            version, fields.pop("epoch", 1), self.names.fleet, "x", PartitionKey.UID, boundaries, targets, **fields
        )
        body = configmap_from_map(self.names, made, replaces="")
        self._written(str(CONFIG_MAPS), self.names.map, body, by, verb)

    def write(
        self,
        verb: str,
        key_uid: str,
        author: str,
        *,
        name: str = "thing",
        within: KeyRange = WHOLE,
        cache: str = "",
        reason: str = "",
        **fields: Any,
    ) -> Entry:
        """A fleet write for the key default/site with that UID. author: member@epoch. within: the range it names.
        cache: version of its view. It may be a live read too."""
        holder = Holder.parse(author)
        assert holder is not None
        agent = UserAgent(
            product="fleet/0",
            member=holder.member,
            epoch=str(holder.epoch),
            range=str(within),
            key="default/site",
            uid=key_uid,
            cache=cache,
            reason=reason,
        )
        return self.add(verb, fields.pop("resource", "v1/configmaps"), name, user_agent=str(agent), **fields)

    def informer(self, verb: str, member: str = "a", within: KeyRange | None = LOWER, **fields: Any) -> Entry:
        """A list, a watch or a delivery of an informer. within None: of one that shards share. fields: of what was
        sent."""
        agent = UserAgent(product="fleet/0", member=member, range=str(within or ""), reason="informer")
        shown = fields.pop("shown", None)
        status = fields.pop("status", 200)
        sent = Sent(**fields)
        return self.add(verb, "v1/configmaps", "", user_agent=str(agent), sent=sent, shown=shown, status=status)

    def _lease(self, name: str, body: dict[str, Any], by: str) -> None:
        self._written(str(LEASES), name, body, by)

    def _written(self, resource: str, name: str, body: dict[str, Any], by: str, verb: str = "update") -> None:
        author = Holder.parse(by)
        agent = ""
        if author is not None:
            agent = str(UserAgent("fleet/0", author.member, str(author.epoch), reason="coordination"))
        self.add(verb, resource, name, user_agent=agent, object=msgspec.json.encode(body).decode())


def two_members() -> Chronicle:
    """a@1 holds the lower half, b@1 the upper one."""
    made = Chronicle()
    made.member("a", 1)
    made.member("b", 1)
    made.shard(LOWER, 1)
    made.shard(UPPER, 1)
    made.shard(LOWER, 2, "a@1")
    made.shard(UPPER, 2, "b@1")
    return made
