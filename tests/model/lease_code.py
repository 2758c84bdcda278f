"""What coordinators do about shard records and maps, decided and written by `fleet.rules`. See `tests.model.code`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from fleet.records.record import MemberRecord, ShardRecord, ShardStatus
from fleet.rules import layout, reshard
from fleet.rules.reshard import REBUILT_STEP
from fleet.rules.survey import Survey
from fleet.rules.vanished import VanishedMembers
from tests.model.records import LEASE_SECONDS, NAMES, Records, ensure
from tests.model.state import Holder, Lease, Map, Member, World


class Work(NamedTuple):
    """What `upkeep` says, in numbers. lost, retiring: of the next map. activate, retire: ranges that may be tried."""

    lost: tuple[int, ...]
    retiring: int
    activate: tuple[int, ...]
    retire: tuple[int, ...]


class LeaseCode:
    """The functions of `fleet.rules.reshard` and `layout`, on the model's own terms."""

    def __init__(self, w: World) -> None:
        self.w = w
        self.records = Records(w)
        self._known: dict[Any, Any] = {}

    def _once(self, question: tuple[object, ...], answer: Callable[[], Any]) -> Any:
        known = self._known
        if question not in known:
            known[question] = answer()
        return known[question]

    def _there(self, r: int, lease: Lease) -> ShardRecord:
        record = self.records.shard(r, lease)
        assert record is not None
        return record

    def _written(self, before: ShardRecord | None, new: ShardRecord) -> None:
        """What holds for claims, activations and retirements alike."""
        ensure(new.epoch > (before.epoch if before else 0), "I6: the epoch of a range rises with every change of owner")
        ensure(new.version == (before.version if before else ""), "it is a CAS over the record that was read")
        ensure(new.watermark is None and new.standby is None, "a watermark and a standby do not outlive their epoch")

    # -- the life of a shard record -----------------------------------------------------------------------------------

    def everybody(self, members: tuple[Member, ...], ghosts: tuple[Holder, ...]) -> list[MemberRecord]:
        """Whom a coordinator asks that has watched all the time. ghosts: incarnations that may still act, and whose
        record is gone."""
        found = self.records.members(members)
        return self._watch(found, ghosts).everybody(found.values(), 1.0)

    def doubted(self, m: Map, members: tuple[Member, ...], ghosts: tuple[Holder, ...]) -> frozenset[str]:
        """Names of the floors of that map that such incarnations may bear."""
        return self._watch(self.records.members(members), ghosts).doubted(self.records.map(m).floors, 1.0)

    def _watch(self, found: dict[str, MemberRecord], ghosts: tuple[Holder, ...]) -> VanishedMembers:
        watch = VanishedMembers()
        for name, epoch in ghosts:
            seen = self.records.member(name, Member(epoch, 0))
            assert seen is not None
            watch.observe({seen.name: replace(seen, uid="gone")}, -LEASE_SECONDS)
        watch.observe(found or {"": MemberRecord("", None, 0, LEASE_SECONDS)}, 0.0)
        watch.since = -2 * LEASE_SECONDS
        return watch

    def upkeep(
        self, m: Map, leases: tuple[Lease, ...], members: tuple[Member, ...], ghosts: tuple[Holder, ...]
    ) -> Work:
        def ask() -> Work:
            records = self.records
            survey = Survey(records.map(m), records.shards(leases))
            work = reshard.upkeep(survey, self.everybody(members, ghosts), m.losses + 1)
            return Work(
                records.lost(work.lost),
                records.mask(work.retiring),
                tuple(records.number[each] for each in work.activate),
                tuple(records.number[each] for each in work.retire),
            )

        return self._once(("upkeep", m, leases, members, ghosts), ask)  # type: ignore[no-any-return]

    def activated(
        self,
        r: int,
        first: Lease,
        m: Map,
        members: tuple[Member, ...],
        leases: tuple[Lease, ...] | None,
        ghosts: tuple[Holder, ...],
        *,
        just_opened: bool,
    ) -> Lease | None:
        """What an activation would write; None: it must not be. leases: as they were listed after the map; None: not
        yet, and the answer is a first one."""

        def ask() -> Lease | None:
            records = self.records
            listed = records.shards(leases).values() if leases is not None else ()
            before = records.shard(r, first)
            new = reshard.activated(
                records.ranges[r],
                before,
                records.map(m),
                reshard.clear_ranges(records.map(m), listed),
                self.everybody(members, ghosts),
                just_opened=just_opened,
            )
            if new is None:
                return None
            ensure(new.status is ShardStatus.ACTIVE and new.holder is None, "an activation names nobody")
            self._written(before, new)
            return records.lease(new)

        return self._once(("activated", r, first, m, members, leases, ghosts, just_opened), ask)  # type: ignore[no-any-return]

    def retired(self, r: int, m: Map, lease: Lease) -> Lease:
        def ask() -> Lease:
            before = self.records.shard(r, lease)
            new = reshard.retired(self.records.map(m), self.records.ranges[r], before)
            self._written(before, new)
            return self.records.lease(new)

        return self._once(("retired", r, m, lease), ask)  # type: ignore[no-any-return]

    # -- maps ---------------------------------------------------------------------------------------------------------

    def rebuilt(self, last: Map | None, config: int, leases: tuple[Lease, ...], highest: int, office: int) -> Map:
        """highest: of the losses that any member has repeated."""

        def ask() -> Map:
            records = self.records
            empty = replace(
                records.map(Map(0, (0,), 0, (0,) * self.w.people, 0, (0,) * len(leases), 0, config, office)),
                targets=("",),
            )
            before = records.map(last) if last is not None else None
            seen = max(highest, last.losses if last is not None else 0)
            new = reshard.rebuilt(before, empty, records.shards(leases).values(), seen)
            ensure(new.version >= seen + REBUILT_STEP, "R14: no member seems to follow a map that is made anew")
            return Map(
                layout=records.layouts.index(new.boundaries),
                targets=tuple(NAMES.index(each) if each else 0 for each in new.targets),
                retiring=records.mask(new.retiring),
                floors=records.floors(new.floors),
                forgotten=new.forgotten,
                opened=records.mask(new.opened),
                lost=records.lost(new.lost),
                losses=seen,
                config=last.config if last is not None else config,
                office=new.coordinator_epoch,
            )

        return self._once(("rebuilt", last, config, leases, highest, office), ask)  # type: ignore[no-any-return]

    def relaid(self, m: Map, wanted: int, leases: tuple[Lease, ...]) -> Map:
        """The map with another layout. Whom the ranges go to is the planner's, and the model's own."""

        def ask() -> Map:
            records = self.records
            new = layout.relaid(records.map(m), records.layouts[wanted], records.key, records.shards(leases))
            targets = (0,) if wanted == 0 else (0, 1)
            return m._replace(layout=wanted, targets=targets, retiring=records.mask(new.retiring))

        return self._once(("relaid", m, wanted, leases), ask)  # type: ignore[no-any-return]
