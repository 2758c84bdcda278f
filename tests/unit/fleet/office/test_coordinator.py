from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from fleet.backends.local import LocalCoordination
from fleet.health.telemetry import Telemetry
from fleet.office import coordinator
from fleet.office.coordinator import FleetLayout
from fleet.office.registrar import Registrar
from fleet.records.coordination import CasConflict, MapUnreadable
from fleet.records.object_names import Kind
from fleet.records.record import Holder, Incarnation, MemberRecord, ShardRecord, ShardStatus
from fleet.rules import agenda, reshard
from shards.errors import ConfigError
from shards.keyrange import PartitionKey, equal_boundaries, ranges_from
from tests.unit.fleet.ownership import FAST_PLANS, IDENTITY, LEASE_SECONDS, RENEW_SECONDS, Fleet, now, running
from tests.unit.fleet.records.records import shard

pytestmark = pytest.mark.looptime(noop_cycles=0)


# -- the map --------------------------------------------------------------------------------------------------------


async def test_a_new_fleet_gets_a_map_whose_ranges_are_opened_before_their_records_are_created() -> None:
    fleet = Fleet(ranges=4)
    try:
        fleet.coordinate()
        await fleet.pass_seconds(1)
        assert fleet.map.opened == set(fleet.layout)
        opened_at = next(i for i, step in enumerate(fleet.writes) if step.found and step.kind is Kind.SHARD)
        maps = [step.found.map for step in fleet.writes[:opened_at] if step.kind is Kind.MAP]  # type: ignore[union-attr]
        assert maps[-1].opened == set(fleet.layout)
        records = [fleet.record(each) for each in fleet.layout]
        assert [(r.status, r.holder, r.released) for r in records if r] == [(ShardStatus.ACTIVE, None, 1)] * 4
    finally:
        await fleet.stop()


async def test_the_first_act_in_office_is_to_write_its_epoch_into_the_map() -> None:
    async with running(Fleet(), "a") as fleet:
        before = len(fleet.writes)
        await fleet.crash("agent")
        fleet.coordinate("agent-2")
        await fleet.until(lambda: fleet.coordinators["agent-2"].in_office, 20, "the second is elected")
        await fleet.pass_seconds(1)
        written = fleet.written(Kind.MAP, before)
        assert [step.found.map.coordinator_epoch for step in written] == [2]  # type: ignore[union-attr]


async def test_another_fleet_s_controllers_are_refused() -> None:
    async with running(Fleet(), "a") as fleet:
        await fleet.crash("agent")
        fleet.coordinate("stranger", identity="other controllers")
        before = len(fleet.written(Kind.MAP))
        with pytest.raises(ConfigError, match="already runs other controllers"):
            await fleet.tasks.pop("stranger")
        assert len(fleet.written(Kind.MAP)) == before


async def test_a_map_that_is_no_map_any_more_is_replaced() -> None:
    """A backend raises MapUnreadable, which names the version to replace."""
    async with running(Fleet(), "a") as fleet:
        stored = await fleet.wire("hand").read_map()
        assert stored is not None
        office = fleet.coordinators["agent"].candidate.office
        assert office is not None
        unreadable = UnreadableMap(fleet.store, clock=now)
        again = await Registrar(unreadable, layout_of(fleet), now, Telemetry()).found_map(office, stored.map)
        assert again.map.version > stored.map.version
        assert again.map.targets == stored.map.targets


class UnreadableMap(LocalCoordination):
    async def read_map(self) -> None:
        found = await super().read_map()
        assert found is not None
        raise MapUnreadable("edited by hand", found.version)


def layout_of(fleet: Fleet) -> FleetLayout:
    return FleetLayout("web", IDENTITY, PartitionKey.UID, fleet.ranges)


# -- the office -----------------------------------------------------------------------------------------------------


async def test_owners_go_on_without_a_coordinator_and_another_one_takes_over() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        before = fleet.open()
        await fleet.crash("agent")
        for _ in range(40):
            await fleet.pass_seconds(1)
            assert fleet.open() == before
        assert fleet.workers["a"].member.epoch == 1
        fleet.coordinate("agent-2")
        await fleet.pass_seconds(1)
        await fleet.crash("a")
        assert await fleet.all_open(20) <= LEASE_SECONDS + 4
        assert set(fleet.open().values()) == {"b"}


async def test_everything_is_owned_again_when_the_coordinator_dies_with_a_member() -> None:
    async with running(Fleet(ranges=4), "a", "b", "c") as fleet:
        fleet.coordinate("agent-2")
        await fleet.pass_seconds(5)
        await fleet.crash("agent")
        await fleet.crash("a")
        assert await fleet.all_open(30) <= LEASE_SECONDS + 6


async def test_the_writes_of_a_coordinator_that_has_lost_its_office_conflict() -> None:
    async with running(Fleet(), "a") as fleet:
        old = fleet.coordinators["agent"]
        office = old.candidate.office
        stale = old.view.map
        assert office is not None
        assert stale is not None
        fleet.faults("agent").unavailable = True
        fleet.coordinate("agent-2")
        await fleet.until(lambda: fleet.map.coordinator_epoch == 2, 20, "the second is in office")
        fleet.faults("agent").unavailable = False
        office.until = now() + 1000  # it believes that its term goes on
        with pytest.raises(CasConflict):
            await old.registrar.write_map(office, replace(stale.map, targets=("x", "x")), stale)
        assert fleet.map.targets == ("a", "a")


async def test_two_that_believe_to_be_in_office_do_not_stay_so() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        fleet.coordinate("agent-2")
        found = await fleet.wire("hand").read_coordinator()
        assert found is not None
        fleet.store.records.pop((Kind.COORDINATOR, "only"))  # somebody deletes the record of the first
        await fleet.pass_seconds(3 * LEASE_SECONDS)
        assert [name for name, each in fleet.coordinators.items() if each.in_office] == ["agent-2"]
        assert fleet.map.coordinator_epoch == 2
        fleet.start("c")
        await fleet.until(lambda: fleet.holds("c") != [], 10, "the one in office still plans")


# -- fences ---------------------------------------------------------------------------------------------------------


async def test_a_member_is_fenced_a_lease_after_it_was_last_seen_to_move_and_not_before() -> None:
    async with running(Fleet(ranges=2), "a", "b", "c") as fleet:
        await fleet.crash("c")
        record = fleet.member("c")
        assert record is not None
        written_at = now()
        await fleet.until(lambda: fleet.member("c").holder is None, 20, "c is fenced")  # type: ignore[union-attr]
        fenced = fleet.member("c")
        assert fenced is not None
        assert fenced.epoch == record.epoch + 1
        assert LEASE_SECONDS - RENEW_SECONDS < now() - written_at < LEASE_SECONDS + 1


async def test_a_member_that_moved_while_others_were_fenced_is_not_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its timer was started again between the look and its own turn."""
    async with running(Fleet(ranges=2), "a", "b") as fleet:
        agent, hand = fleet.coordinators["agent"], fleet.wire("hand")
        for name in ("m", "n"):
            await hand.write_member(MemberRecord(name, Incarnation(name, 1), 1, LEASE_SECONDS), "")
        await fleet.pass_seconds(LEASE_SECONDS - 0.1)
        read_member = fleet.wire("agent").read_member

        async def slow(name: str) -> MemberRecord | None:
            if name == "m":
                found = await hand.read_member("n")
                assert found is not None
                await hand.write_member(replace(found, renewals=1), found.version)
            return await read_member(name)

        monkeypatch.setattr(agent.registrar.coordination, "read_member", slow)
        await fleet.until(lambda: fleet.member("m").holder is None, 2, "m is fenced")  # type: ignore[union-attr]
        await fleet.pass_seconds(RENEW_SECONDS)
        survivor = fleet.member("n")
        assert survivor is not None
        assert survivor.holder is not None


async def test_no_fence_is_sent_on_a_cached_view() -> None:
    async with running(Fleet(ranges=2), "a", "b", "c", "d", "e") as fleet:
        fleet.faults("agent").lag_seconds = 100.0  # the coordinator sees no renewal any more
        before = len(fleet.writes)
        await fleet.pass_seconds(60)
        fences = [step for step in fleet.written(Kind.MEMBER, before) if step.found.holder is None]  # type: ignore[union-attr]
        assert fences == []


async def test_a_brown_out_of_most_members_fences_nobody_for_a_lease_longer() -> None:
    async with running(Fleet(ranges=4), "a", "b", "c") as fleet:
        began = now()
        for name in ("a", "b"):
            fleet.faults(name).unavailable = True
        await fleet.until(
            lambda: any(fleet.member(name).holder is None for name in "ab"),  # type: ignore[union-attr]
            40,
            "they are fenced in the end",
        )
        assert now() - began > 2 * LEASE_SECONDS - RENEW_SECONDS
        await fleet.until(lambda: set(fleet.open().values()) == {"c"} and len(fleet.open()) == 4, 10, "c owns all")


async def test_members_that_come_back_from_a_brown_out_keep_their_ranges() -> None:
    async with running(Fleet(ranges=4), "a", "b", "c") as fleet:
        before = fleet.map.targets
        for name in ("a", "b"):
            fleet.faults(name).unavailable = True
        await fleet.pass_seconds(LEASE_SECONDS + 3)
        for name in ("a", "b"):
            fleet.faults(name).unavailable = False
        await fleet.all_open(5)
        assert fleet.map.targets == before


async def test_a_member_that_does_not_let_go_is_expelled_once_and_joins_again() -> None:
    settings = replace(FAST_PLANS, standby_deadline_seconds=4.0)
    fleet = Fleet(ranges=2, plan_settings=settings)
    async with running(fleet, "a") as fleet:
        fleet.faults("a").lag_seconds = 6.0
        for runner in fleet.workers["a"].runners.values():
            runner._retry_at = float("inf")  # whatever it should do about its ranges, it does not
        fleet.start("b")
        await fleet.until(lambda: fleet.workers["a"].member.epoch == 2, 40, "a is expelled")
        fleet.faults("a").lag_seconds = 0.0
        await fleet.until(lambda: "b" in fleet.open().values(), 20, "b takes over what a did not hand over")
        assert fleet.workers["a"].member.epoch == 2


# -- floors ---------------------------------------------------------------------------------------------------------


async def test_a_member_that_the_view_merely_lacks_is_not_declared_dead() -> None:
    """The view of members may be older than the view of shards: only a live read proves an absence."""
    async with running(Fleet(ranges=2), "a") as fleet:
        view = fleet.coordinators["agent"].view
        await fleet.pass_seconds(1)
        followed = view._cache._followed[Kind.MEMBER]  # type: ignore[attr-defined]
        followed._records.pop("a")
        view._cache._members = None  # type: ignore[attr-defined]
        await fleet.pass_seconds(0.3)
        assert fleet.map.floors.get("a", 1) == 1
        assert set(fleet.open().values()) == {"a"}


async def test_floors_follow_a_restart_and_free_what_its_predecessor_held() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        await fleet.crash("a")
        fleet.behaviour("a").activate_seconds = 1000.0
        fleet.start("a", reaped=True)
        await fleet.pass_seconds(2)
        assert fleet.map.floors["a"] == 2 or all(
            record.holder != Holder("a", 1) for each in fleet.layout if (record := fleet.record(each))
        )


# -- resharding -----------------------------------------------------------------------------------------------------


async def reshard_to(fleet: Fleet, count: int) -> None:
    hand = fleet.wire("hand")
    stored = await hand.read_map()
    assert stored is not None
    old, new = stored.map, ranges_from(equal_boundaries(count))
    await hand.write_map(
        replace(
            old,
            version=old.version + 1,
            boundaries=equal_boundaries(count),
            targets=tuple(old.target_of(each) or "" for each in new),
            retiring=old.retiring | (set(old.ranges) - set(new)),
        ),
        stored.version,
    )


@pytest.mark.parametrize("counts", [(1, 4), (4, 1), (2, 3, 2), (1, 2, 4, 8)])
async def test_ranges_split_and_merge_while_no_key_is_ever_owned_twice(counts: Sequence[int]) -> None:
    async with running(Fleet(ranges=counts[0]), "a", "b") as fleet:
        for count in counts[1:]:
            await reshard_to(fleet, count)
            await fleet.all_open(10)
            await fleet.until(lambda: not fleet.map.retiring, 10, "what left the layout is retired")
        records = [record for record in fleet.store.of(Kind.SHARD).values() if isinstance(record, ShardRecord)]
        assert {each.range for each in records if each.status is ShardStatus.ACTIVE} == set(fleet.map.ranges)
        for step, later in pairwise(fleet.written(Kind.MAP)):
            assert later.found.map.version > step.found.map.version  # type: ignore[union-attr]


async def test_ranges_that_stay_in_the_layout_are_not_touched() -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        low = fleet.layout[0]
        hand = fleet.wire("hand")
        stored = await hand.read_map()
        assert stored is not None
        before = fleet.record(low)
        boundaries = (0, low.last + 1, low.last + 1 + (1 << 62))
        await hand.write_map(
            replace(
                stored.map,
                version=stored.map.version + 1,
                boundaries=boundaries,
                targets=("a", "", ""),
                retiring=frozenset({fleet.layout[1]}),
            ),
            stored.version,
        )
        await fleet.all_open(10)
        assert fleet.record(low) == before


async def test_a_stray_record_retires_and_is_collected_after_a_lease_and_the_longest_request() -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        stray = ranges_from(equal_boundaries(8))[3]
        await fleet.wire("hand").write_shard(
            shard(stray, holder=None, released=9, epoch=9, status=ShardStatus.ACTIVE), ""
        )
        await fleet.pass_seconds(1)
        record = fleet.record(stray)
        assert record is not None
        assert (record.status, record.epoch) == (ShardStatus.RETIRED, 10)
        await fleet.all_open()
        await fleet.pass_seconds(LEASE_SECONDS + 30)
        assert fleet.record(stray) is None
        assert fleet.map.shard_epochs[stray] == 10


# -- an oracle that never fired proves nothing ----------------------------------------------------------------------


async def test_without_the_echo_a_deleted_record_gives_a_key_to_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reshard, "echoed", lambda *args: True)
    async with running(Fleet(ranges=1), "a", "b") as fleet:
        owner = (fleet.holds("a") and "a") or "b"
        other = "b" if owner == "a" else "a"
        fleet.faults(owner).held = True
        hand = fleet.wire("hand")
        stored = await hand.read_map()
        assert stored is not None
        await hand.write_map(replace(stored.map, version=99, targets=(other,)), stored.version)
        fleet.delete_shard(fleet.layout[0])
        with pytest.raises(AssertionError, match="may act on"):
            await fleet.pass_seconds(3)
        await fleet.crash(owner)


# -- its own view ---------------------------------------------------------------------------------------------------


async def test_it_plans_nothing_before_its_view_shows_the_map_that_it_wrote_last() -> None:
    """Design 4.3: its writes are gated like any controller's."""
    async with running(Fleet(ranges=4), "a") as fleet:
        registrar, hand = fleet.coordinators["agent"].registrar, fleet.wire("hand")
        stored = await hand.read_map()
        assert stored is not None
        fleet.faults("agent").held = True
        # As if it had written this one, and its view had shown nothing of it yet: a live read shows it.
        latest = registrar.written = stored.map.version + 1
        await hand.write_map(replace(stored.map, version=latest), stored.version)
        before = len(fleet.writes)
        fleet.start("b")
        await fleet.pass_seconds(LEASE_SECONDS / 2)
        versions = [step.found.map.version for step in fleet.written(Kind.MAP, before)]  # type: ignore[union-attr]
        assert versions == list(range(latest + 1, latest + 1 + len(versions)))
        fleet.wire("agent").release()
        await fleet.until(lambda: len(fleet.holds("b")) == 2, 20, "the plan is made once the view is there")


async def test_it_plans_on_its_own_last_map_though_its_view_hears_nothing_from_the_server() -> None:
    """Each map is made from the one before: none conflicts, and no version is written twice."""
    async with running(Fleet(ranges=4), "a") as fleet:
        fleet.faults("agent").lag_seconds = 3.0
        before = len(fleet.writes)
        fleet.start("b")
        await fleet.until(lambda: len(fleet.holds("b")) == 2, 60, "b owns its half")
        versions = [step.found.map.version for step in fleet.written(Kind.MAP, before)]  # type: ignore[union-attr]
        assert versions == list(range(versions[0], versions[0] + len(versions)))


async def test_a_map_that_a_restore_brought_back_is_planned_on_under_the_present_office() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        backup = fleet.store.backup()
        await fleet.crash("agent")
        fleet.coordinate("agent-2")
        coordinator = fleet.coordinators["agent-2"]
        await fleet.until(lambda: coordinator.in_office and fleet.map.coordinator_epoch == 2, 20, "it is in office")
        fleet.start("c")
        await fleet.until(lambda: fleet.holds("c") != [], 20, "c owns something")
        later = fleet.map.version
        fleet.store.restore(backup)
        assert fleet.map.version < later
        assert coordinator.registrar.written >= fleet.map.version
        before = len(fleet.writes)
        await fleet.until(lambda: any(step.kind is Kind.MAP for step in fleet.writes[before:]), 30, "a map is written")
        await fleet.all_open(6 * LEASE_SECONDS)
        written = [step.found.map for step in fleet.written(Kind.MAP, before)]  # type: ignore[union-attr]
        assert {each.coordinator_epoch for each in written} >= {fleet.coordinators["agent-2"].epoch}
        assert sorted(fleet.workers) == ["a", "b", "c"]


async def test_after_a_restore_nobody_is_fenced_for_what_was_watched_before_it() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        backup = fleet.store.backup()
        await fleet.pass_seconds(3 * LEASE_SECONDS)
        memory = fleet.coordinators["agent"].memory
        fleet.store.restore(backup)
        await fleet.pass_seconds(1)
        assert fleet.coordinators["agent"].memory is not memory
        await fleet.all_open(6 * LEASE_SECONDS)
        assert set(fleet.open().values()) == {"a", "b"}


@pytest.mark.parametrize("in_office", ["the same", "another"])
async def test_an_old_map_that_somebody_puts_back_is_outrun_and_planned_on(in_office: str) -> None:
    async with running(Fleet(ranges=4), "a", "b", "c") as fleet:
        wire = fleet.wire("hand")
        old = await wire.read_map()
        assert old is not None
        await fleet.left("c")
        await fleet.pass_seconds(LEASE_SECONDS)
        newest = fleet.map.version
        assert newest > old.map.version
        if in_office == "another":
            await fleet.crash("agent")
        now_there = await wire.read_map()
        assert now_there is not None
        await wire.write_map(old.map, now_there.version)
        if in_office == "another":
            fleet.coordinate("agent-2")
        await fleet.until(lambda: fleet.map.version > newest, 3 * LEASE_SECONDS, "the old map is outrun")
        await fleet.crash("b")
        await fleet.until(lambda: set(fleet.open().values()) == {"a"}, 4 * LEASE_SECONDS, "a takes over")
        await fleet.all_open(2 * LEASE_SECONDS)


# -- how often it looks ---------------------------------------------------------------------------------------------


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When a coordinator drew up what to do."""
    found: list[float] = []

    def drawn_up(*args: Any) -> agenda.Agenda:
        found.append(now())
        return agenda.draw_up(*args)

    monkeypatch.setattr(coordinator, "draw_up", drawn_up)
    return found


async def test_ranges_of_a_member_whose_epoch_a_hand_lowered_and_that_died_then_come_back() -> None:
    """Its fence only leads back to the epoch that its shard records name, above which no floor would follow it."""
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        found = fleet.member("a")
        assert found is not None
        fleet.edit(Kind.MEMBER, "a", replace(found, epoch=found.epoch - 1))
        await fleet.crash("a")
        await fleet.all_open(4 * LEASE_SECONDS)
        assert set(fleet.open().values()) == {"b"}


async def test_renewals_wait_for_the_next_look_however_many_members_there_are(looks: list[float]) -> None:
    async with running(Fleet(ranges=8), *"abcdefgh") as fleet:
        await fleet.pass_seconds(3)
        looks.clear()
        await fleet.pass_seconds(20)
        assert len(looks) == pytest.approx(20 / coordinator.REST_SECONDS, abs=2)


async def test_what_others_wait_for_is_looked_at_at_once(looks: list[float]) -> None:
    async with running(Fleet(ranges=2), "a", "b") as fleet:
        await fleet.pass_seconds(3)
        looks.clear()
        found = fleet.member("a")
        assert found is not None
        fleet.edit(Kind.MEMBER, "a", replace(found, leaving=True))
        await fleet.pass_seconds(0.001)
        fleet.edit(Kind.SHARD, f"uid-{fleet.layout[1]}", fleet.record(fleet.layout[1]))
        await fleet.pass_seconds(0.001)
        assert len(looks) == 2


async def test_who_is_not_in_office_looks_at_nothing(looks: list[float]) -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        fleet.coordinate("agent-2")
        await fleet.pass_seconds(3)
        looks.clear()
        await fleet.pass_seconds(10)
        assert len(looks) == pytest.approx(10 / coordinator.REST_SECONDS, abs=2)
        await fleet.crash("agent")
        began = len(looks)
        await fleet.until(lambda: fleet.coordinators["agent-2"].in_office, 20, "the second is elected")
        await fleet.pass_seconds(0.02)
        assert len(looks) > began


async def test_at_rest_the_next_look_is_made_when_the_first_lease_may_have_run_out() -> None:
    async with running(Fleet(ranges=2), "a", "b") as fleet:
        await fleet.pass_seconds(3.3)
        last = fleet.member("b")
        fleet.faults("b").unavailable = True
        began = await fleet.until(
            lambda: fleet.member("b") != last and fleet.member("b") is not None, 20, "b is fenced"
        )
        assert began <= fleet.lease_seconds + coordinator.LOOK_SECONDS + 0.05
