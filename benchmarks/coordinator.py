"""What one look of a coordinator costs, in CPU: at a fleet that is at rest, as nearly all looks are.

A coordinator looks four times a second, and whenever a member renews. Three looks: one that finds every record as the
last one did, one at which a member has renewed, and one at which every record is a new object, which says what a look
would cost that remembers nothing of the last.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.table import Row, conclude
from fleet.office.config_follower import ConfigFollower
from fleet.office.resharding import Resharding
from fleet.records.record import Holder, Incarnation, MemberRecord, ShardMap, ShardRecord, ShardStatus
from fleet.records.report_record import ShardLoad
from fleet.rules.agenda import draw_up
from fleet.rules.look import Look
from fleet.rules.office_memory import Memory
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.story import story
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries, ranges_from

SIZES = ((4, 3), (64, 8), (1024, 64))
"""Ranges and members."""

LEASE_SECONDS = 15.0
STEP_SECONDS = 1e-4
"""From one look to the next. So short that no lease runs out while looks are measured at which nobody renews."""

ROUNDS = 5
RENEWED_OVER_ANEW = 0.5
"""Of all looks of a fleet that is not tiny, nearly every one is of the first sort."""

WARM_UP = 300
"""Looks at which somebody renews, a lease in all, until the fleet is at rest."""


@dataclass
class Office:
    """A coordinator's memory, and a fleet at rest whose members all serve as many ranges."""

    look: Look
    memory: Memory
    settings: PlanSettings
    resharding: Resharding
    step_seconds: float = LEASE_SECONDS / WARM_UP
    renewals: int = 0

    @classmethod
    def of(cls, ranges: int, members: int) -> Office:
        boundaries = equal_boundaries(ranges)
        layout = ranges_from(boundaries)
        names = [f"web-{i % 8}-{i // 8}" for i in range(members)]
        targets = tuple(names[i * members // ranges] for i in range(ranges))
        shown = ShardMap(
            version=7,
            coordinator_epoch=1,
            fleet="web",
            identity="",
            partition_key=PartitionKey.UID,
            boundaries=boundaries,
            targets=targets,
            opened=frozenset(layout),
            floors=dict.fromkeys(names, 1),
            shard_epochs=dict.fromkeys(layout, 2),
            base_count=ranges,
        )
        shards = {each: _held(each, name) for each, name in zip(layout, targets, strict=True)}
        records = {name: _member(name, [each for each in layout if shards[each].holder == (name, 1)]) for name in names}
        look = Look(1, shown, shards, records, 0.0, LEASE_SECONDS)
        return cls(look, Memory(), PlanSettings(), Resharding(ConfigFollower("web")))

    def turn(self, **changes: object) -> None:
        """One look."""
        before, now = self.look, self.look.own_renewal_at + self.step_seconds
        self.look = replace(before, own_renewal_at=now, **changes)  # type: ignore[arg-type]  # any field may change
        happened = list(story(before, self.look))
        agenda = draw_up(self.look, self.memory, self.settings, now)
        if happened or agenda.map or agenda.fence or self.resharding.next_map(self.look, agenda.cuts):
            raise RuntimeError("the fleet is not at rest")

    def renewed(self) -> None:
        """The next member has renewed."""
        self.renewals += 1
        records = list(self.look.members.values())
        record = records[self.renewals % len(records)]
        new = replace(record, renewals=record.renewals + 1, version=f"{self.renewals}")
        self.turn(members={**self.look.members, record.name: new})

    def anew(self) -> None:
        """Every record is a new object that says what the last one said."""
        self.turn(
            map=replace(self.look.map),
            shards={each: replace(record) for each, record in self.look.shards.items()},
            members={name: replace(record) for name, record in self.look.members.items()},
        )


def _held(each: KeyRange, name: str) -> ShardRecord:
    holder = Holder(name, 1)
    return ShardRecord(each, ShardStatus.ACTIVE, 2, holder, str(holder), last_holder=holder, version="1")


def _member(name: str, owned: list[KeyRange]) -> MemberRecord:
    loads = {str(each): ShardLoad(100, reconcile_seconds_per_second=0.01) for each in owned}
    return MemberRecord(name, Incarnation(name, 1), 1, LEASE_SECONDS, pod=name, seen_map=7, loads=loads, version="0")


def microseconds(act: Callable[[], None], times: int) -> float:
    """CPU of one, on average."""
    gc.collect()
    before = time.process_time()
    for _ in range(times):
        act()
    return (time.process_time() - before) / times * 1e6


def rows(ranges: int, members: int, times: int) -> list[Row]:
    office = Office.of(ranges, members)
    for _ in range(WARM_UP):
        office.renewed()
    office.step_seconds = STEP_SECONDS

    def measured(act: Callable[[], None]) -> float:
        return median(microseconds(act, times) for _ in range(ROUNDS))

    quiet, renewed, anew = measured(office.turn), measured(office.renewed), measured(office.anew)
    fleet = f"{ranges:,} ranges, {members} members"
    return [
        Row(f"{fleet}: nothing is new", round(quiet, 1), "us"),
        Row(f"{fleet}: a member renewed", round(renewed, 1), "us"),
        Row(f"{fleet}: everything is new", round(anew, 1), "us"),
        Row(f"{fleet}: renewed over anew", round(renewed / anew, 3), "", RENEWED_OVER_ANEW if members >= 8 else None),
    ]


def main() -> int:
    return conclude([row for size in SIZES for row in rows(*size, times=max(20, 20_000 // size[0]))])


if __name__ == "__main__":
    sys.exit(main())
