"""A fleet whose config changes while it runs, on a store in memory: real coordinators and workers, no shards."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import pytest

from fleet.backends.local_store import Step
from fleet.backends.local_view import LocalView
from fleet.records.controls import Controls, Order, controls_text
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.cut_request import CutRequest
from fleet.records.object_names import Kind
from fleet.records.record import Document, DocumentName, ShardMap, ShardRecord, ShardStatus, StoredMap
from fleet.rules.agenda import Agenda, Look, Memory, draw_up
from fleet.rules.cuts import Split
from fleet.rules.layout import is_settled
from fleet.rules.plan_settings import PlanSettings
from shards.keyrange import KeyRange, PartitionKey, equal_boundaries, fnv1a64, ranges_from
from tests.unit.fleet.ownership import LEASE_SECONDS, Fleet, Wire, running

pytestmark = pytest.mark.looptime(noop_cycles=0)

MEMBERS = ("a", "b", "c")


def config(count: int, *, key: str = "uid", fleet: str = "web") -> str:
    return f"fleet: {fleet}\ncontroller: websites:app\nshards: {{count: {count}, partitionBy: {key}}}\n"


async def configure(fleet: Fleet, text: str) -> str:
    """Somebody edits the fleet's config. Returns its version."""
    wire = fleet.wire("hand")
    found = await wire.read_document(DocumentName.CONFIG)
    written = await wire.write_document(Document(DocumentName.CONFIG, text, found.version if found else ""))
    return written.version


def settled(fleet: Fleet, count: int, key: PartitionKey = PartitionKey.UID) -> bool:
    """Whether that layout is in force, whole and open."""
    shown = fleet.map
    records = {
        record.range: record for record in fleet.store.of(Kind.SHARD).values() if isinstance(record, ShardRecord)
    }
    return (
        (len(shown.boundaries), shown.partition_key) == (count, key)
        and is_settled(shown, records)
        and set(fleet.open()) == set(shown.ranges)
    )


async def until_settled(
    fleet: Fleet, count: int, key: PartitionKey = PartitionKey.UID, within_seconds: float = 10.0
) -> float:
    return await fleet.until(lambda: settled(fleet, count, key), within_seconds, f"{count} ranges by {key}")


@pytest.mark.parametrize("count", [1, 2, 3, 8, 16])
async def test_a_changed_count_reshards_a_running_fleet(count: int) -> None:
    async with running(Fleet(ranges=4), *MEMBERS) as fleet:
        version = await configure(fleet, config(count))
        assert await until_settled(fleet, count) < 2.0
        await fleet.pass_seconds(1)
        assert (fleet.map.config_version, fleet.map.base_count) == (version, count)
        assert fleet.map.boundaries == equal_boundaries(count)


async def test_each_new_range_begins_where_its_hashes_are() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        before = fleet.open()
        await configure(fleet, config(16))
        await until_settled(fleet, 16)
        for each, owner in fleet.open().items():
            assert owner == next(name for old, name in before.items() if old.overlaps(each))


async def test_workers_keep_nothing_of_ranges_that_have_left() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        for count in (16, 3, 5):
            await configure(fleet, config(count))
            await until_settled(fleet, count)
        await fleet.pass_seconds(1)
        for worker in fleet.workers.values():
            assert set(worker.runners) == set(fleet.map.ranges)


async def test_a_config_that_says_what_there_is_costs_one_write_and_moves_nothing() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        before, written = fleet.open(), len(fleet.writes)
        version = await configure(fleet, config(4) + "log: {level: debug}\n")
        await fleet.pass_seconds(3)
        assert fleet.map.config_version == version
        assert len(fleet.written(Kind.MAP, written)) == 1
        assert fleet.written(Kind.SHARD, written) == []
        assert fleet.open() == before


@pytest.mark.parametrize("configured", [False, True])
async def test_a_config_that_follows_a_restore_is_followed_whatever_the_map_before_it_had_followed(
    configured: bool,
) -> None:
    """The backup is older than the map, which is rebuilt from the last one that the coordinator knows; versions count
    from lower numbers again."""
    fleet = Fleet(ranges=4)
    if configured:
        await configure(fleet, config(4))
    backup = fleet.store.backup()
    async with running(fleet, *MEMBERS):
        for count in (8, 3):
            await configure(fleet, config(count))
            await until_settled(fleet, count)
        before = fleet.map.config_version
        fleet.store.restore(backup)
        version = await configure(fleet, config(6))
        assert int(version) < int(before)
        await fleet.until(lambda: bool(fleet.store.of(Kind.MAP)), 6 * LEASE_SECONDS, "the map is rebuilt")
        await until_settled(fleet, 6, within_seconds=6 * LEASE_SECONDS)
        assert fleet.map.config_version == version


async def test_rapid_changes_are_taken_one_at_a_time_and_the_newest_wins() -> None:
    async with running(Fleet(ranges=4), *MEMBERS) as fleet:
        for behaviour in map(fleet.behaviour, MEMBERS):
            behaviour.drain_seconds = 0.5
        written = len(fleet.writes)
        for count in (8, 16, 5, 3, 7):
            await configure(fleet, config(count))
            await fleet.pass_seconds(0.3)
        await until_settled(fleet, 7)
        layouts: list[int] = []
        for step in fleet.written(Kind.MAP, written):
            count, retiring = len(step.found.map.boundaries), bool(step.found.map.retiring)  # type: ignore[union-attr]
            if not layouts or layouts[-1] != count:
                layouts.append(count)
                assert retiring
        assert layouts[0] == 8
        assert layouts[-1] == 7
        assert len(layouts) < 5


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (config(0), "shards.count: 0 is out of bounds"),
        (config(4, fleet="other"), "it is the config of 'other'"),
        ("fleet: [", "not valid YAML"),
        ("", "must be a mapping"),
    ],
)
async def test_a_config_that_is_refused_changes_nothing_and_the_map_says_why(
    text: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        await configure(fleet, config(4))
        await fleet.pass_seconds(1)
        before, accepted = fleet.open(), fleet.map.config_version
        with caplog.at_level(logging.WARNING):
            version = await configure(fleet, text)
            await fleet.pass_seconds(3)
        assert why in fleet.map.config_refused
        assert version in fleet.map.config_refused
        assert [why in record.message for record in caplog.records if "refused" in record.message] == [True]
        assert (fleet.open(), fleet.map.config_version) == (before, accepted)
        await configure(fleet, config(8))
        await until_settled(fleet, 8)
        assert fleet.map.config_refused == ""


@pytest.mark.parametrize("followed", [True, False], ids=["after one that was followed", "the first one"])
async def test_a_refused_config_that_is_deleted_is_not_told_of_any_more(followed: bool) -> None:
    async with running(Fleet(ranges=4), "a") as fleet:
        if followed:
            version = await configure(fleet, config(4))
            await fleet.until(lambda: fleet.map.config_version == version, 5, "the config is followed")
        await configure(fleet, config(0))
        await fleet.until(lambda: bool(fleet.map.config_refused), 5, "the config is refused")
        fleet.edit(Kind.DOCUMENT, DocumentName.CONFIG, None)
        await fleet.until(lambda: not fleet.map.config_refused, 5, "nothing is refused any more")
        assert settled(fleet, 4)


async def test_an_older_config_that_a_late_coordinator_still_sees_never_reshards() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        await configure(fleet, config(4))
        await fleet.pass_seconds(1)
        fleet.coordinate("late")
        await fleet.pass_seconds(1)
        old = fleet.wire("late").watch(members=True).documents[DocumentName.CONFIG]
        late = fleet.coordinators["late"]
        await configure(fleet, config(8))
        await until_settled(fleet, 8)
        await fleet.crash("agent")
        await fleet.until(lambda: late.in_office, 20, "the late one is in office")
        late.config.look(old)
        await fleet.pass_seconds(3)
        assert len(fleet.map.boundaries) == 8


async def test_a_new_fleet_begins_with_the_layout_of_its_config() -> None:
    fleet = Fleet(ranges=4)
    version = await configure(fleet, config(6, key="name"))
    async with running(fleet, "a", "b"):
        assert settled(fleet, 6, PartitionKey.NAME)
        assert fleet.map.config_version == version


async def test_a_pod_whose_config_differs_from_the_map_says_once_where_to_change_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fleet = Fleet(ranges=4)
    async with running(fleet, "a"):
        fleet.ranges = 8
        fleet.coordinate("agent-2")
        await fleet.crash("agent")
        with caplog.at_level(logging.WARNING):
            await fleet.pass_seconds(20)
        said = [record.message for record in caplog.records if "ConfigMap web-config" in record.message]
        assert len(said) == 1
        assert len(fleet.map.boundaries) == 4


@pytest.mark.parametrize("key", [PartitionKey.NAMESPACE, PartitionKey.NAME])
async def test_another_partition_key_replaces_the_whole_layout(key: PartitionKey) -> None:
    async with running(Fleet(ranges=4), *MEMBERS) as fleet:
        await configure(fleet, config(4, key=key))
        await until_settled(fleet, 4, key)
        await configure(fleet, config(6))
        await until_settled(fleet, 6)
        await fleet.pass_seconds(60)  # until the retired records are collected
        await configure(fleet, config(4, key=key))
        await until_settled(fleet, 4, key)


async def test_a_worker_that_cannot_serve_the_new_key_ends_and_the_others_take_everything() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        fleet.start("odd", partition_keys=(PartitionKey.UID,))
        await fleet.until(lambda: fleet.holds("odd") != [], 10, "it owns something")
        await configure(fleet, config(4, key="name"))
        await fleet.until(lambda: fleet.tasks["odd"].done(), 5, "it ends")
        assert "fleet reshard --partition-by" in str(fleet.tasks.pop("odd").exception())
        fleet.workers.pop("odd")
        await until_settled(fleet, 4, PartitionKey.NAME, within_seconds=20.0)


# -- single cuts ------------------------------------------------------------------------------------------------------


async def order(fleet: Fleet, controls: Controls) -> None:
    """Somebody changes what is ordered."""
    wire = fleet.wire("hand")
    found = await wire.read_document(DocumentName.CONTROLS)
    version = found.version if found else ""
    await wire.write_document(Document(DocumentName.CONTROLS, controls_text(controls), version))


async def test_single_ranges_are_split_and_merged_and_the_others_are_not_touched() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        first, second, third, fourth = fleet.layout
        kept = {each: fleet.record(each) for each in (third, fourth)}
        split = CutRequest(1, (first,), first.first + 99)
        await order(fleet, Controls(requests=(split, CutRequest(2, (third, fourth)))))
        await fleet.pass_seconds(2)
        await order(fleet, Controls(requests=(split,)))
        await fleet.until(lambda: settled(fleet, 4), 5, "a split and a merge")
        assert fleet.map.boundaries == (0, 99, second.first, third.first)
        assert (fleet.map.requests_done, fleet.map.base_count) == (2, 4)
        again = CutRequest(3, (KeyRange(third.first, fourth.last),), fourth.first)
        await order(fleet, Controls(requests=(split, again)))
        await fleet.until(lambda: settled(fleet, 5), 5, "another split; the old one is not done twice")
        untouched = fleet.record(second)
        await configure(fleet, config(4))
        await fleet.pass_seconds(2)
        assert len(fleet.map.boundaries) == 5, "the count did not change: what was cut stays"
        assert fleet.record(second) == untouched
        assert kept.keys() == {third, fourth}
        await configure(fleet, config(3))
        await until_settled(fleet, 3)


async def test_a_request_for_a_range_that_is_not_there_is_done_with(caplog: pytest.LogCaptureFixture) -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        layout = fleet.map.boundaries
        await order(fleet, Controls(requests=(CutRequest(4, (KeyRange(0, 99),), 5), CutRequest(5, fleet.layout[::-1]))))
        await fleet.until(lambda: fleet.map.requests_done == 5, 5, "it is refused")
        assert fleet.map.boundaries == layout
        assert "the layout has no range" in caplog.text
        assert "are no neighbours" in caplog.text


async def test_what_the_planner_cuts_goes_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = ranges_from(equal_boundaries(2))

    def cutting(look: Look, memory: Memory, settings: PlanSettings, now: float) -> Agenda:
        return replace(draw_up(look, memory, settings, now), cuts=(Split(low, 7), Split(high, high.last)))

    async with running(Fleet(ranges=2), "a", "b") as fleet:
        monkeypatch.setattr("fleet.office.coordinator.draw_up", cutting)
        await fleet.until(lambda: len(fleet.map.boundaries) == 4, 5, "two cuts in one reshard")
        await until_settled(fleet, 4)
        assert (fleet.map.boundaries[1], fleet.map.base_count) == (7, 2)


async def test_a_frozen_fleet_does_not_reshard_until_it_is_told_to() -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        await order(fleet, Controls(frozen=Order("ann")))
        await fleet.pass_seconds(1)
        before = fleet.map.boundaries
        await configure(fleet, config(8))
        await order(fleet, Controls(frozen=Order("ann"), requests=(CutRequest(1, (fleet.layout[0],), 99),)))
        await fleet.pass_seconds(3)
        assert fleet.map.boundaries == before
        await order(fleet, Controls())
        await until_settled(fleet, 8)


class SmallMaps(Wire):
    """As where the map of a layout is too large for one ConfigMap."""

    refused = 0

    async def write_map(self, new: ShardMap, replaces: str, *, not_after: float | None = None) -> StoredMap:
        if len(new.boundaries) > 100:
            self.refused += 1
            raise CoordinationUnavailable("write of web-map: 413 RequestEntityTooLarge")
        return await super().write_map(new, replaces, not_after=not_after)


async def test_a_layout_that_the_server_refuses_stops_no_takeover() -> None:
    fleet = Fleet(ranges=4)
    wire = fleet.wires["agent"] = SmallMaps(fleet.store, fleet.faults("agent"))
    async with running(fleet, *MEMBERS):
        await configure(fleet, config(200))
        await fleet.until(lambda: wire.refused > 0, 5, "the layout is refused")
        await fleet.crash("a")
        await fleet.until(lambda: set(fleet.open()) == set(fleet.map.ranges), 30, "b and c have everything")
        await fleet.pass_seconds(60.0)
        assert wire.refused < 40
        await configure(fleet, config(8))
        await until_settled(fleet, 8)


async def test_a_layout_by_namespace_is_cut_by_what_the_members_report() -> None:
    fleet = Fleet(ranges=4)
    for name in ("a", "b"):
        fleet.behaviour(name).namespaces = {f"team-{i}": 1 + 99 * (i == 3) for i in range(20)}
    async with running(fleet, "a", "b") as fleet:
        await fleet.pass_seconds(12)
        await configure(fleet, config(4, key="namespace"))
        await until_settled(fleet, 4, PartitionKey.NAMESPACE)
        assert fleet.map.boundaries != equal_boundaries(4)
        heavy = fnv1a64("team-3")
        assert heavy >> 32 in {first >> 32 for first in fleet.map.boundaries}


# -- cut at every write -----------------------------------------------------------------------------------------------


Act = Callable[[Fleet], Awaitable[None] | None]
"""What happens at a write; what it returns goes on beside the fleet."""


class Cut:
    """Something happens right after the n-th write of a reshard, before any other write. at: which one that was."""

    def __init__(self, fleet: Fleet, write: int, act: Act) -> None:
        self.fleet, self.left, self.act = fleet, write, act
        self.at = ""
        self.going_on: asyncio.Future[None] | None = None
        fleet.store.listeners.append(self.happened)

    def happened(self, step: Step | None) -> None:
        if step is None or step.kind in (Kind.MEMBER, Kind.DOCUMENT):
            return
        self.left -= 1
        if self.left == 0:
            self.at = f"{step.kind} {step.name}"
            rest = self.act(self.fleet)
            self.going_on = asyncio.ensure_future(rest) if rest is not None else None


async def lose(fleet: Fleet, name: str) -> None:
    """A process ends: at once, as far as the store can tell."""
    await fleet.crash(name)


async def kill(fleet: Fleet, name: str, pause: float) -> None:
    """Its supervisor starts it again."""
    await lose(fleet, name)
    await asyncio.sleep(pause)
    if name.startswith("agent"):
        fleet.coordinate(name, reaped=True)
    else:
        fleet.start(name, reaped=True)


def at_once(act: Callable[[Fleet], Awaitable[None]], name: str) -> Act:
    """No write of that process is carried out any more."""

    def cut_off(fleet: Fleet) -> Awaitable[None]:
        fleet.faults(name).unavailable = True
        return act(fleet)

    return cut_off


async def cut_reshard(
    write: int, act: Act, *, count: int = 6, key: PartitionKey = PartitionKey.UID, last: int = 0
) -> bool:
    """One reshard, cut at that write. Whether there was such a write. last: the count that is in force at the end."""
    fleet = Fleet(ranges=3, lease_seconds=2.0)
    async with running(fleet, *MEMBERS):
        fleet.coordinate("agent-2")
        await fleet.pass_seconds(1.0)
        for name in (*MEMBERS, "agent", "agent-2"):
            fleet.wire(name).latency = lambda: 0.01
        cut = Cut(fleet, write, act)
        await configure(fleet, config(count, key=key))
        for _ in range(2):
            await fleet.until(
                lambda: settled(fleet, last if last and cut.at else count, key), 20.0, f"a full cover, cut at {cut.at}"
            )
            if cut.going_on is not None:
                await cut.going_on
            await fleet.pass_seconds(3.0)
        assert fleet.deaths == []
        return cut.at != ""


async def every_write(act: Act, **options: object) -> int:
    write = 1
    while await cut_reshard(write, act, **options):  # type: ignore[arg-type]  # the caller's
        write += 1
    return write - 1


@pytest.mark.parametrize("key", [PartitionKey.UID, PartitionKey.NAMESPACE])
@pytest.mark.parametrize("pause", [0.0, 4.0])
async def test_the_coordinator_killed_at_any_write_of_a_reshard_leaves_a_full_cover(
    pause: float, key: PartitionKey
) -> None:
    """pause: an office that is resumed by the same agent, or taken by the other one."""
    assert await every_write(at_once(partial(kill, name="agent", pause=pause), "agent"), key=key) > 20


@pytest.mark.parametrize("key", [PartitionKey.UID, PartitionKey.NAMESPACE])
async def test_a_worker_killed_at_any_write_of_a_reshard_leaves_a_full_cover(key: PartitionKey) -> None:
    assert await every_write(at_once(partial(kill, name="b", pause=0.2), "b"), key=key) > 20


async def test_a_worker_that_does_not_come_back_leaves_a_full_cover() -> None:
    for write in range(1, 40, 3):
        await cut_reshard(write, at_once(partial(lose, name="b"), "b"))


@pytest.mark.parametrize("count", [1, 3, 5, 6])
async def test_a_config_changed_again_at_any_write_of_a_reshard_wins(count: int) -> None:
    async def again(fleet: Fleet) -> None:
        await configure(fleet, config(count))

    assert await every_write(again, last=count) > 20


async def test_a_delayed_activation_of_an_old_coordinator_conflicts_with_the_retire_write() -> None:
    """R8: it read everything, and was stopped before its write; the range left the layout meanwhile."""
    fleet = Fleet(ranges=3, lease_seconds=2.0)
    async with running(fleet, *MEMBERS):
        await configure(fleet, config(6))
        wire = fleet.wire("agent")
        await fleet.until(lambda: len(fleet.map.boundaries) == 6, 5, "the new layout")
        wire.latency = lambda: 5.0  # everything that it sends from now on arrives late
        await fleet.pass_seconds(0.5)
        fleet.coordinate("agent-2")
        await fleet.until(lambda: fleet.coordinators["agent-2"].in_office, 20, "another one is in office")
        await configure(fleet, config(3))
        await until_settled(fleet, 3, within_seconds=30.0)
        await fleet.pass_seconds(10.0)
        assert settled(fleet, 3)
        layout = set(fleet.map.ranges)
        for record in fleet.store.of(Kind.SHARD).values():
            assert isinstance(record, ShardRecord)
            assert record.range in layout or record.status is ShardStatus.RETIRED


@pytest.mark.parametrize("before", [4, 6], ids=["as it was made", "resharded"])
async def test_a_config_of_a_restored_store_is_followed_however_low_its_version(before: int) -> None:
    fleet = Fleet(ranges=4)
    empty = fleet.store.backup()
    async with running(fleet, "a"):
        await fleet.pass_seconds(5)
        await configure(fleet, config(before))
        await until_settled(fleet, before)
        fleet.store.restore(empty)
        await fleet.until(lambda: fleet.store.of(Kind.MAP) != {}, 30, "the map is rebuilt")
        await configure(fleet, config(3))
        await until_settled(fleet, 3, within_seconds=30)


async def test_a_config_that_is_gone_with_a_restore_is_not_asked_for_any_more() -> None:
    async with running(Fleet(ranges=4), "a") as fleet:
        backup = fleet.store.backup()
        await fleet.pass_seconds(5)
        await configure(fleet, config(6))
        await until_settled(fleet, 6)
        fleet.store.restore(backup)
        await fleet.pass_seconds(30)
        assert len(fleet.map.boundaries) == 4
        await configure(fleet, config(3))
        await until_settled(fleet, 3, within_seconds=30)


async def test_an_owner_to_which_a_list_did_not_show_its_record_gives_it_up_when_it_leaves_the_layout() -> None:
    async with running(Fleet(ranges=1), "a") as fleet:
        view = fleet.workers["a"].view
        assert isinstance(view, LocalView)
        view._cache.listed(Kind.SHARD, {}, str(fleet.store.revision))
        await fleet.until(lambda: fleet.holds("a") == [], 5, "it has let go")
        await configure(fleet, config(2))
        await fleet.until(lambda: len(fleet.workers["a"].runners) == 2, 5, "it follows the new layout")
        await view.confirm()
        await until_settled(fleet, 2)
