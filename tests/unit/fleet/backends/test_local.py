from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from fleet.backends.local import LocalCoordination
from fleet.backends.local_store import Faults, LocalStore
from fleet.records.coordination import CasConflict, CoordinationUnavailable
from fleet.records.record import CoordinatorRecord
from shards.keyrange import WHOLE, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member, shard, shard_map

LOW, HIGH = ranges_from(equal_boundaries(2))


class ManualClock:
    """A boot clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_the_same_calls_give_the_same_versions_and_uids() -> None:
    async def history() -> list[object]:
        coordination = LocalCoordination()
        alive = await coordination.write_member(member(), "")
        held = await coordination.write_shard(shard(), "")
        return [alive, held, await coordination.write_shard(replace(held, epoch=6), held.version)]

    assert await history() == await history()


async def test_a_lost_answer_leaves_the_write_in_doubt_and_done() -> None:
    coordination = LocalCoordination(faults=Faults(lost_answers=1))
    with pytest.raises(CoordinationUnavailable) as lost:
        await coordination.write_member(member(), "")
    assert lost.value.maybe_applied
    assert await coordination.read_member("web-0-1") is not None


async def test_a_lost_request_leaves_the_write_in_doubt_and_undone() -> None:
    coordination = LocalCoordination(faults=Faults(lost_requests=1))
    with pytest.raises(CoordinationUnavailable) as lost:
        await coordination.write_member(member(), "")
    assert lost.value.maybe_applied
    assert await coordination.read_member("web-0-1") is None


async def test_the_answer_of_a_conflict_can_be_lost_too() -> None:
    coordination = LocalCoordination()
    await coordination.write_member(member(), "")
    coordination.faults.lost_answers = 1
    with pytest.raises(CoordinationUnavailable) as lost:
        await coordination.write_member(member(), "")
    assert lost.value.maybe_applied
    with pytest.raises(CasConflict):
        await coordination.write_member(member(), "")


async def test_a_store_that_cannot_be_reached_carries_nothing_out() -> None:
    store, faults = LocalStore(), Faults(unavailable=True)
    coordination, other = LocalCoordination(store, faults=faults), LocalCoordination(store)
    view = coordination.watch(members=True)
    for refused in (
        coordination.write_coordinator(CoordinatorRecord("a/1", 1, 8.0), ""),
        coordination.read_map(),
        coordination.list_shards(),
        view.confirm(),
    ):
        with pytest.raises(CoordinationUnavailable) as unavailable:
            await refused
        assert not unavailable.value.maybe_applied
    assert await other.read_coordinator() is None


async def test_the_deadline_is_checked_on_the_clients_own_clock() -> None:
    clock = ManualClock()
    coordination = LocalCoordination(clock=clock)
    written = await coordination.write_member(member(), "", not_after=100.5)
    clock.now = 100.5
    with pytest.raises(CoordinationUnavailable) as late:
        await coordination.write_member(replace(written, renewals=1), written.version, not_after=100.5)
    assert not late.value.maybe_applied
    assert await coordination.read_member("web-0-1") == written


async def test_a_map_that_is_no_layout_is_not_written() -> None:
    with pytest.raises(ValueError):
        await LocalCoordination().write_map(shard_map(targets=()), "")


async def test_a_held_view_shows_nothing_new_until_it_is_released() -> None:
    store = LocalStore()
    writer, reader = LocalCoordination(store), LocalCoordination(store)
    view = reader.watch(members=True)
    reader.faults.held = True
    held = await writer.write_shard(shard(LOW), "")
    alive = await writer.write_member(member(), "")
    assert (view.shards, view.members) == ({}, {})
    reader.release()
    assert (view.shards, view.members) == ({LOW: held}, {"web-0-1": alive})


async def test_a_held_view_still_shows_own_writes_and_what_was_read_live() -> None:
    store = LocalStore()
    writer, reader = LocalCoordination(store), LocalCoordination(store)
    view = reader.watch(members=True)
    reader.faults.held = True
    theirs = await writer.write_shard(shard(LOW), "")
    mine = await reader.write_shard(shard(HIGH), "")
    assert view.shards == {HIGH: mine}
    assert await reader.read_shard(LOW) == theirs
    assert view.shards == {LOW: theirs, HIGH: mine}


async def test_a_view_is_confirmed_now_unless_something_keeps_news_away() -> None:
    clock = ManualClock()
    store = LocalStore()
    writer, reader = LocalCoordination(store), LocalCoordination(store, clock=clock)
    view = reader.watch(members=False)
    assert view.confirmed_at == 100.0
    reader.faults.held = True
    await writer.write_shard(shard(), "")
    clock.now = 110.0
    assert view.confirmed_at == 100.0
    await view.confirm()
    assert view.confirmed_at == 110.0
    assert view.shards.keys() == {WHOLE}
    clock.now = 120.0
    assert view.confirmed_at == 110.0
    reader.release()
    assert view.confirmed_at == 120.0


async def test_news_that_a_confirmation_has_overtaken_changes_nothing() -> None:
    store = LocalStore()
    writer, reader = LocalCoordination(store), LocalCoordination(store)
    view = reader.watch(members=False)
    reader.faults.held = True
    held = await writer.write_shard(shard(), "")
    await writer.delete_shard(held)
    await view.confirm()
    reader.release()
    assert view.shards == {}


@pytest.mark.looptime
async def test_a_lagging_view_shows_changes_in_order_and_late() -> None:
    store = LocalStore()
    writer, reader = LocalCoordination(store), LocalCoordination(store)
    view = reader.watch(members=False)
    reader.faults.lag_seconds = 3.0
    held = await writer.write_shard(shard(), "")
    await asyncio.sleep(1.0)
    moved = await writer.write_shard(replace(held, epoch=6), held.version)
    await asyncio.sleep(1.9)
    assert view.shards == {}
    await asyncio.sleep(0.2)
    assert view.shards == {WHOLE: held}
    await asyncio.sleep(1.0)
    assert view.shards == {WHOLE: moved}


@pytest.mark.looptime
async def test_a_view_that_is_held_shows_nothing_when_its_lag_is_over() -> None:
    coordination = LocalCoordination(faults=Faults(lag_seconds=2.0))
    view = coordination.watch(members=False)
    coordination.faults.held = True
    await asyncio.sleep(3.0)
    assert not view.synced
    coordination.release()
    assert view.synced


@pytest.mark.looptime
async def test_a_view_that_is_opened_under_lag_is_synced_late() -> None:
    coordination = LocalCoordination(faults=Faults(lag_seconds=2.0))
    view = coordination.watch(members=False)
    assert not view.synced
    assert view.confirmed_at == float("-inf")
    await asyncio.sleep(2.1)
    assert view.synced


async def test_a_restore_is_counted_and_followed() -> None:
    store = LocalStore()
    coordination = LocalCoordination(store)
    held = await coordination.write_shard(shard(LOW), "")
    backup = store.backup()
    await coordination.write_shard(replace(held, epoch=6), held.version)
    await coordination.write_shard(shard(HIGH), "")
    view = coordination.watch(members=False)
    assert view.history_went_back == 0
    store.restore(backup)
    assert view.history_went_back > 0
    assert view.shards == {LOW: held}
    again = await coordination.write_shard(replace(held, epoch=6), held.version)
    assert view.shards == {LOW: again}


async def test_a_restore_is_found_by_a_confirmation_when_the_watch_is_silent() -> None:
    store = LocalStore()
    coordination = LocalCoordination(store)
    held = await coordination.write_shard(shard(LOW), "")
    backup = store.backup()
    await coordination.write_shard(shard(HIGH), "")
    view = coordination.watch(members=False)
    coordination.faults.held = True
    store.restore(backup)
    assert view.shards.keys() == {LOW, HIGH}
    await view.confirm()
    assert view.history_went_back > 0
    assert view.shards == {LOW: held}


async def test_a_closed_view_hears_of_nothing() -> None:
    store = LocalStore()
    coordination = LocalCoordination(store)
    view = coordination.watch(members=False)
    await view.close()
    await coordination.write_shard(shard(), "")
    assert view.shards == {}
    assert store.listeners == []
