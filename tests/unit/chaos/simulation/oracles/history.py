"""Short histories made by hand, for oracles to hear."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chaos.simulation.happenings import (
    Acted,
    Changed,
    Closed,
    Healed,
    Lived,
    Opened,
    Read,
    Restored,
    Stepped,
    Struck,
    Written,
)
from chaos.simulation.oracles.jury import Jury
from chaos.simulation.oracles.oracle import Oracle
from chaos.simulation.strikes import AnyStrike
from fleet.backends.local_store import LocalStore
from fleet.health.range_steps import RangeStep, Step
from fleet.records.object_names import Kind
from fleet.records.record import (
    CoordinatorRecord,
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
    StoredMap,
)
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries, ranges_from

LEASE_SECONDS = 2.0
FIRST, SECOND = ranges_from(equal_boundaries(2))


class History:
    """A fleet of two ranges, and what one oracle says to what happens to it. Times are handed in."""

    def __init__(self, oracle: type[Oracle]) -> None:
        self.store = LocalStore()
        self.jury = Jury(self.store, lease_seconds=LEASE_SECONDS, oracles=(oracle,))
        self.until: dict[str, float] = {}
        """Deadlines by process; one that is not here has none."""

    @property
    def said(self) -> list[str]:
        return [each.what for each in self.jury.breaches]

    @property
    def checks(self) -> int:
        return sum(self.jury.checks.values())

    def put(self, at: float, process: str, kind: Kind, name: str, after: Any, sent_at: float | None = None) -> None:
        before: Any = self.store.records.get((kind, name))
        if after is None:
            del self.store.records[kind, name]
        else:
            self.store.revision += 1
            version = str(self.store.revision)
            after = after._replace(version=version) if isinstance(after, StoredMap) else replace(after, version=version)
            self.store.records[kind, name] = after
        self.jury.hear(Written(at, process, kind, name, before, after, at if sent_at is None else sent_at))

    def shard(
        self,
        at: float,
        process: str,
        each: KeyRange = FIRST,
        *,
        epoch: int,
        holder: str = "",
        sent_at: float | None = None,
        **rest: Any,
    ) -> None:
        """holder: "a@1"; "" releases it."""
        who = Holder.parse(holder)
        stamp = epoch if who is None else None
        rest = {"status": ShardStatus.ACTIVE, "released": stamp, "holder_text": holder, "uid": "u", **rest}
        self.put(at, process, Kind.SHARD, f"uid-{each}", ShardRecord(each, epoch=epoch, holder=who, **rest), sent_at)

    def member(self, at: float, process: str, name: str, epoch: int, *, held: bool = True, **rest: Any) -> None:
        holder = Incarnation("supervisor", epoch) if held else None
        sent_at = rest.pop("sent_at", None)
        self.put(at, process, Kind.MEMBER, name, MemberRecord(name, holder, epoch, LEASE_SECONDS, **rest), sent_at)

    def map(self, at: float, process: str, version: int, targets: tuple[str, ...] = ("a", "b"), **rest: Any) -> None:
        rest = {"boundaries": equal_boundaries(len(targets)), **rest}
        new = ShardMap(
            version=version,
            coordinator_epoch=rest.pop("coordinator_epoch", 1),
            fleet="web",
            identity="websites",
            partition_key=PartitionKey.UID,
            targets=targets,
            **rest,
        )
        self.put(at, process, Kind.MAP, "only", StoredMap(new, ""))

    def coordinator(self, at: float, process: str, epoch: int, holder: str) -> None:
        self.put(at, process, Kind.COORDINATOR, "only", CoordinatorRecord(holder, epoch, LEASE_SECONDS))

    def lived(self, at: float, process: str, how: Any) -> None:
        self.jury.hear(Lived(at, process, how))

    def restored(self, at: float) -> None:
        self.jury.hear(Restored(at))

    def opens(self, at: float, process: str, epoch: int, each: KeyRange = FIRST, *, member_epoch: int = 1) -> None:
        holder = Holder(process.partition("/")[0], member_epoch)
        self.jury.hear(Opened(at, process, holder, each, epoch, lambda: self.until.get(process, float("inf"))))

    def closes(self, at: float, process: str, epoch: int, each: KeyRange = FIRST) -> None:
        self.jury.hear(Closed(at, process, each, epoch))

    def acts(
        self,
        at: float,
        process: str,
        epoch: int,
        each: KeyRange = FIRST,
        *,
        based_on: int = 0,
        version: int = 0,
        sent_at: float | None = None,
        late: bool = False,
        member_epoch: int = 1,
    ) -> None:
        holder, sent = Holder(process.partition("/")[0], member_epoch), at if sent_at is None else sent_at
        self.jury.hear(Acted(at, process, holder, each, epoch, each.first + 1, based_on, version, sent, late))

    def changes(self, at: float, each: KeyRange = FIRST, *, version: int) -> None:
        self.jury.hear(Changed(at, each.first + 1, version))

    def reads(self, at: float, process: str, name: str) -> None:
        """A live read of a member's record."""
        found = self.store.records.get((Kind.MEMBER, name))
        self.jury.hear(Read(at, process, Kind.MEMBER, name, found.version if found is not None else ""))

    def steps(self, at: float, process: str, step: Step, each: KeyRange = FIRST, **rest: Any) -> None:
        what = RangeStep(step, each, process.partition("/")[0], at, **rest)
        self.jury.hear(Stepped(at, process, what))

    def struck(self, at: float, strike: AnyStrike, *, over: bool = False) -> None:
        self.jury.hear(Struck(at, strike, over))

    def healed(self, at: float) -> None:
        self.jury.hear(Healed(at))
