"""The moves' door to the pure functions of `fleet`: what the model explores is decided, and written, by these.

Every question is asked once per world for the part of the state that it depends on. The functions are looked up in
their modules at each question, so that a mutation of one is explored like the real one. Time is abstract: either the
whole lease has passed since the timer began, or one second of it.
"""

from __future__ import annotations

from dataclasses import replace

from fleet.records.record import Holder as FleetHolder
from fleet.records.record import MemberRecord, Standby
from fleet.rules import handover, membership
from fleet.rules.handover import Action, LocalShard, Phase, Seen
from fleet.rules.membership import Join, Sighting
from fleet.rules.survey import Survey, named_epochs
from shards.gates.handover_gate import HandoverGate
from shards.gates.watermark import ResourceMark, Watermark
from tests.model.lease_code import LeaseCode
from tests.model.records import DIGEST, FIRST_EPOCH, LEASE_SECONDS, NAMES, VIEW, ensure
from tests.model.state import LIST, NOBODY, Holder, Lease, Map, Member

__all__ = ["Code"]

SOON, LATE = 1.0, LEASE_SECONDS + 1.0
"""Readings of the clock: the timer began at 0."""

ANY_INCARNATION = 1_000_000


class Code(LeaseCode):
    """All of them."""

    # -- one range on one worker --------------------------------------------------------------------------------------

    def decide(self, phase: Phase, r: int, me: Holder, view: Map, lease: Lease) -> Action | None:
        """phase: STANDBY: its views are complete."""
        key = "decide", phase, r, me, view, lease
        known = self._known
        if key not in known:
            known[key] = self._decide(phase, r, me, view, lease)
        found: Action | None = known[key]
        return found

    def _decide(self, phase: Phase, r: int, me: Holder, view: Map, lease: Lease) -> Action | None:
        records = self.records
        record, shard_map = records.shard(r, lease), records.map(view)
        if record is not None and not self.w.standbys and phase is Phase.OWNED:
            # A world without standbys: there always is one that is ready.
            target = shard_map.target_of(record.range)
            record = replace(record, standby=Standby(FleetHolder(target or "", ANY_INCARNATION), record.epoch))
        held = phase in (Phase.OWNED, Phase.DRAINED)
        local = LocalShard(
            records.ranges[r],
            phase,
            lease.epoch + FIRST_EPOCH if held else 0,
            f"uid-{r}" if held else "",
            synced=phase is Phase.STANDBY,
        )
        return handover.decide(local, Seen(records.holder(me), shard_map, record))

    def claimed(self, r: int, me: Holder, lease: Lease) -> Lease:
        def ask() -> Lease:
            before = self._there(r, lease)
            new = handover.claimed(before, self.records.holder(me))
            self._written(before, new)
            ensure(new.status is before.status, "a claim leaves the status as it is")
            return self.records.lease(new)

        found: Lease = self._once(("claimed", r, me, lease), ask)
        return found

    def released(self, r: int, lease: Lease, seen: int | None) -> Lease:
        """seen: version that the views have reached; None: they say nothing."""

        def ask() -> Lease:
            before = self._there(r, lease)
            mark = None
            if seen is not None:  # stamped by the rule, not by whoever drained
                mark = Watermark(0, {VIEW: ResourceMark(DIGEST, str(seen + 1))})
            new = handover.released(before, mark)
            ensure(new.version == before.version, "a release is a CAS over the record that it was decided on")
            ensure(new.released == new.epoch == before.epoch, "R3: a release is stamped with the epoch that it ends")
            return self.records.lease(new)

        found: Lease = self._once(("released", r, lease, seen), ask)
        return found

    def gate(self, r: int, lease: Lease) -> int:
        """What the gate of who claims over that record waits for, as `RangeRunner._claim` and `Shard` make it."""

        def ask() -> int:
            before = self._there(r, lease)
            gate = HandoverGate(before.watermark if before.holder is None else None, before.epoch, {VIEW: DIGEST})
            if gate.needs_list(VIEW):
                return LIST
            return int(gate._marks[VIEW].resource_version) - 1

        found: int = self._once(("gate", r, lease), ask)
        return found

    # -- members ------------------------------------------------------------------------------------------------------

    def join(
        self, name: int, p: int, found: Member, m: Map | None, leases: tuple[Lease, ...], *, awaited: bool
    ) -> Member | None:
        """awaited: a lease has passed since the record was first seen like this. None: it has to wait."""

        def ask() -> Member | None:
            records = self.records
            shard_map = records.map(m) if m is not None else None
            record = records.member(name, found)
            draft = MemberRecord(NAMES[name], records.incarnation(p, ANY_INCARNATION), 0, LEASE_SECONDS)
            decision = membership.join(
                draft,
                record,
                sighting=Sighting(record.version if record else "", 0.0, LEASE_SECONDS),
                known_epoch=membership.highest_named_epoch(NAMES[name], shard_map, records.shards(leases).values()),
                reaped_predecessor=True,
                now=LATE if awaited else SOON,
                forgotten=m.forgotten if m is not None else 0,
            )
            if not isinstance(decision, Join):
                return None
            new = decision.record
            ensure(new.version == (record.version if record else ""), "joining is a CAS over what was found")
            ensure(new.epoch > found.epoch, "R1: joining raises the epoch")
            return Member(new.epoch, p)

        return self._once(("join", name, p, found, m, leases, awaited), ask)  # type: ignore[no-any-return]

    def established(self, name: int, before: bool, shown: Map | None, leases: tuple[Lease, ...]) -> bool:
        """shown: the map that it had seen when it sent what has been acknowledged."""

        def ask() -> bool:
            shard_map = self.records.map(shown) if shown is not None else None
            shards = self.records.shards(leases).values()
            known = membership.highest_named_epoch(NAMES[name], shard_map, shards)
            return membership.established(before, known_epoch=known)

        return self._once(("established", name, before, shown, leases), ask)  # type: ignore[no-any-return]

    def fenced(self, name: int, member: Member, *, held: bool) -> Member | None:
        """What a fence writes, None when it must not be. held: the incarnation may still act, so its timer has not run
        out; or it has, over a record that moved since, as the live read shows."""

        def ask() -> Member | None:
            live = self.records.member(name, member)
            assert live is not None
            timers = [(Sighting(live.version, 0.0, LEASE_SECONDS), LATE)]
            if held:
                timers = [(Sighting(live.version, 0.0, LEASE_SECONDS), SOON), (Sighting("6", 0.0, LEASE_SECONDS), LATE)]
            for sighting, now in timers:
                new = membership.fence(live, sighting, now)
                if new is not None:
                    ensure(new.version == live.version, "a fence is a CAS over the live read")
                    return self._member(new, live)
            return None

        return self._once(("fenced", name, member, held), ask)  # type: ignore[no-any-return]

    def expelled(self, name: int, member: Member) -> Member:
        def ask() -> Member:
            live = self.records.member(name, member)
            assert live is not None
            return self._member(membership.expel(live), live)

        return self._once(("expelled", name, member), ask)  # type: ignore[no-any-return]

    def left(self, name: int, member: Member) -> Member:
        def ask() -> Member:
            live = self.records.member(name, member)
            assert live is not None
            return self._member(membership.leave(live), live)

        return self._once(("left", name, member), ask)  # type: ignore[no-any-return]

    def with_floors(
        self,
        m: Map,
        members: tuple[Member, ...],
        leases: tuple[Lease, ...],
        ghosts: tuple[Holder, ...],
        gone: tuple[int, ...] = (),
    ) -> Map:
        """ghosts: incarnations that may still act, and whose record is gone. gone: names that were proved to have no
        record for longer than a lease."""

        def ask() -> Map:
            records = self.records
            shards = records.shards(leases)
            named = {
                NAMES[name]: max(
                    s.holder.epoch for s in shards.values() if s.holder is not None and s.holder.member == NAMES[name]
                )
                + 1
                for name in gone
            }
            holders = Survey(records.map(m), shards).find(named_epochs)
            kept = {*holders, *self.doubted(m, members, ghosts)}
            wanted = membership.floors(records.map(m), records.members(members), kept, gone=named)
            new = records.floors(wanted)
            for name, (before, after) in enumerate(zip(m.floors, new, strict=True)):
                ensure(after >= before or not (after or members[name].epoch), "R6: floors never fall")
            return m._replace(floors=new, forgotten=membership.forgotten(records.map(m), wanted))

        return self._once(("floors", m, members, leases, ghosts, gone), ask)  # type: ignore[no-any-return]

    def _member(self, new: MemberRecord, live: MemberRecord) -> Member:
        holder = NOBODY if new.holder is None else int(new.holder.supervisor.rpartition("-")[2])
        return Member(new.epoch, holder, new.seen_map, kicked=new.renewals - live.renewals not in (0, 1))
