from __future__ import annotations

import time
from dataclasses import replace

import pytest

from fleet.records.record import Holder, MemberRecord, ShardMap, ShardRecord, ShardStatus
from fleet.rules.handover import is_free
from fleet.rules.layout import Wanted, next_layout
from fleet.rules.reshard import (
    REBUILT_STEP,
    Upkeep,
    activated,
    clear_ranges,
    echoed,
    has_let_go,
    is_mangled,
    may_retire,
    rebuilt,
    remembered_epochs,
    retired,
    upkeep,
    with_memory,
)
from fleet.rules.survey import Survey
from shards.keyrange import WHOLE, KeyRange, PartitionKey, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member, shard, shard_map

LOW, HIGH = ranges_from(equal_boundaries(2))
OWNER = Holder("a", 3)
NEXT = 8
"""Version of the map after the one that `two` makes."""


def by_namespace(each: KeyRange) -> KeyRange:
    return replace(each, key=PartitionKey.NAMESPACE)


def held(each: KeyRange, **changes: object) -> ShardRecord:
    return shard(each, **({"holder": OWNER, "holder_text": str(OWNER), "version": "1", "uid": "u"} | changes))


def free(each: KeyRange, status: ShardStatus = ShardStatus.ACTIVE, **changes: object) -> ShardRecord:
    return shard(
        each, **({"status": status, "holder": None, "holder_text": "", "released": 5, "version": "1"} | changes)
    )


def emptied(each: KeyRange, status: ShardStatus = ShardStatus.ACTIVE) -> ShardRecord:
    """By hand: nobody released it."""
    return free(each, status, released=None)


def two(**changes: object) -> ShardMap:
    """Two opened ranges at version 7."""
    return shard_map("web", **({"opened": frozenset({LOW, HIGH})} | changes))


def looked(shown: ShardMap, *records: ShardRecord, members: tuple[MemberRecord, ...] = ()) -> Upkeep:
    return upkeep(Survey(shown, {each.range: each for each in records}), list(members), NEXT)


# -- upkeep ---------------------------------------------------------------------------------------------------------


def test_nothing_is_to_be_done_where_every_range_has_a_record() -> None:
    assert looked(two(), held(LOW), free(HIGH)) == Upkeep(frozenset(), {}, frozenset(), (), ())


def test_ranges_of_a_new_map_are_opened_and_activated() -> None:
    work = looked(two(opened=frozenset()))
    assert (work.opening, work.activate, work.lost) == (frozenset({LOW, HIGH}), (LOW, HIGH), {})


def test_an_active_range_that_the_map_does_not_call_opened_is_called_so_before_somebody_deletes_it() -> None:
    work = looked(two(opened=frozenset({LOW})), held(LOW), held(HIGH))
    assert (work.opening, work.activate) == (frozenset({HIGH}), ())


@pytest.mark.parametrize(
    "records", [[], [emptied(HIGH)], [free(HIGH, holder_text="gibberish")], [emptied(HIGH, ShardStatus.RETIRED)]]
)
def test_a_record_that_is_gone_or_of_no_use_is_marked_lost_and_left_alone(records: list[ShardRecord]) -> None:
    work = looked(two(), held(LOW), *records)
    assert (work.lost, work.activate) == ({HIGH: NEXT}, ())


@pytest.mark.parametrize(("followed", "activate"), [(3, ()), (4, (HIGH,)), (9, (HIGH,))])
def test_a_lost_range_is_activated_once_every_live_member_follows_the_map_that_says_so(
    followed: int, activate: tuple[KeyRange, ...]
) -> None:
    members = (member("a", seen_map=9), member("b", seen_map=followed), member("left", holder=None, seen_map=0))
    work = looked(two(lost={HIGH: 4}), held(LOW), members=members)
    assert (work.lost, work.activate) == ({HIGH: 4}, activate)


def test_a_lost_range_that_has_a_record_again_is_found() -> None:
    assert looked(two(lost={HIGH: 4}), held(LOW), free(HIGH)).lost == {}


def test_what_is_active_outside_the_layout_retires_and_blocks_what_it_overlaps() -> None:
    work = looked(two(), held(WHOLE), free(LOW, ShardStatus.RETIRED))
    assert work.retiring == {WHOLE}
    assert work.activate == ()
    assert looked(two(), free(WHOLE, ShardStatus.RETIRED), held(LOW), held(HIGH)).retiring == frozenset()


def test_a_retiring_range_whose_record_is_gone_is_marked_lost_too() -> None:
    opened = frozenset({LOW, HIGH, WHOLE})
    work = looked(two(opened=opened, retiring=frozenset({WHOLE})), held(LOW), held(HIGH))
    assert (work.lost, work.retire) == ({WHOLE: NEXT}, ())
    told = two(opened=opened, retiring=frozenset({WHOLE}), lost={WHOLE: NEXT})
    assert looked(told, held(LOW), held(HIGH), members=(member("a", seen_map=NEXT),)).retire == (WHOLE,)


def test_a_loss_is_forgotten_with_its_range() -> None:
    assert looked(two(lost={WHOLE: 2}), held(LOW), held(HIGH)).lost == {}


# -- retiring -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "changes", "may"),
    [
        (None, {"opened": frozenset()}, True),
        (None, {}, False),
        (None, {"lost": {LOW: 4}}, True),
        (None, {"lost": {LOW: 5}}, False),
        (free(LOW), {}, True),
        (held(LOW), {}, False),
        (held(LOW), {"floors": {"a": 4}}, True),
        (emptied(LOW), {}, False),
        (emptied(LOW), {"lost": {LOW: 4}}, True),
        (free(LOW, ShardStatus.RETIRED), {}, True),
    ],
)
def test_a_range_retires_when_nobody_can_act_on_it(
    record: ShardRecord | None, changes: dict[str, object], may: bool
) -> None:
    assert may_retire(record, two(**changes), LOW, [member("a", seen_map=4)]) is may


def test_a_range_that_a_hand_retired_under_its_holder_is_not_retired_before_all_have_noticed() -> None:
    """Its holder may be cut off, and acts on; ranges that overlap it are activated as soon as it counts as retired."""
    by_hand = replace(held(LOW), status=ShardStatus.RETIRED)
    opened, followers = frozenset({LOW, HIGH}), [member("a", seen_map=4)]
    assert not may_retire(by_hand, two(opened=opened), LOW, followers)
    assert not may_retire(by_hand, two(opened=opened, lost={LOW: 5}), LOW, followers)
    assert may_retire(by_hand, two(opened=opened, lost={LOW: 4}), LOW, followers)


def test_members_that_are_fenced_or_left_have_nothing_to_repeat() -> None:
    assert echoed(4, [member("a", seen_map=4), member("b", holder=None, seen_map=1)])
    assert not echoed(4, [member("a", seen_map=3)])


@pytest.mark.parametrize(
    ("held", "lost", "free"),
    [
        ((), {LOW: 4}, True),
        ((LOW,), {}, True),
        ((LOW,), {HIGH: 4}, True),
        ((LOW,), {LOW: 4}, False),
        ((WHOLE,), {LOW: 4}, False),
        ((WHOLE,), {WHOLE: 4}, False),
        ((LOW,), {WHOLE: 4}, True),
        ((LOW, WHOLE), {WHOLE: 4}, False),
    ],
)
def test_a_loss_is_repeated_by_who_holds_nothing_of_it_but_ranges_of_the_layout(
    held: tuple[KeyRange, ...], lost: dict[KeyRange, int], free: bool
) -> None:
    """A retired record of an earlier layout that hands have mangled must not cost the fleet what it holds today."""
    assert has_let_go(held, two(lost=lost)) is free


def test_a_retire_write_is_above_every_epoch_that_is_known_and_free() -> None:
    written = retired(two(shard_epochs={LOW: 9}), LOW, free(LOW, epoch=5, uid="u"))
    assert (written.status, written.epoch, written.version, written.uid) == (ShardStatus.RETIRED, 10, "1", "u")
    assert is_free(written, two())
    never = retired(two(), LOW, None)
    assert (never.status, never.epoch, never.version) == (ShardStatus.RETIRED, 1, "")


# -- activating -----------------------------------------------------------------------------------------------------

FOLLOWERS = [member("a", seen_map=4), member("gone", holder=None)]


def activation(
    first_read: ShardRecord | None, shown: ShardMap, *others: ShardRecord, just_opened: bool = False
) -> ShardRecord | None:
    return activated(LOW, first_read, shown, clear_ranges(shown, others), FOLLOWERS, just_opened=just_opened)


@pytest.mark.parametrize(
    ("first_read", "changes", "just_opened"),
    [
        (None, {}, True),
        (None, {"lost": {LOW: 4}}, False),
        (emptied(LOW), {"lost": {LOW: 4}}, False),
        (free(LOW, ShardStatus.RETIRED), {}, False),
    ],
    ids=["never opened before", "deleted, and all know", "emptied by hand, and all know", "retired"],
)
def test_a_range_is_activated_above_every_epoch_that_is_known_and_free(
    first_read: ShardRecord | None, changes: dict[str, object], just_opened: bool
) -> None:
    written = activation(first_read, two(shard_epochs={LOW: 9}, **changes), just_opened=just_opened)
    assert written is not None
    assert (written.status, written.epoch, written.partition_key) == (ShardStatus.ACTIVE, 10, PartitionKey.UID)
    assert written.version == (first_read.version if first_read else "")
    assert is_free(written, two())


@pytest.mark.parametrize(
    ("first_read", "changes", "others", "just_opened"),
    [
        (None, {"boundaries": (0,), "targets": ("",)}, [], True),
        (None, {"retiring": frozenset({WHOLE})}, [], True),
        (None, {}, [free(WHOLE)], True),
        (None, {}, [free(by_namespace(HIGH))], True),
        (None, {}, [free(by_namespace(LOW))], True),
        (None, {"opened": frozenset()}, [], False),
        (None, {}, [], False),
        (None, {"lost": {LOW: 5}}, [], False),
        (emptied(LOW), {}, [], True),
        (emptied(LOW), {"lost": {LOW: 5}}, [], False),
        (free(LOW), {}, [], False),
        (held(LOW), {}, [], False),
        (held(LOW, status=ShardStatus.RETIRED), {}, [], False),
    ],
    ids=[
        "outside the layout",
        "something that overlaps is retiring",
        "something that overlaps is active",
        "another partition key is active",
        "another partition key is active on the same range",
        "the map does not know it",
        "deleted, not marked lost",
        "deleted, somebody does not know",
        "emptied by hand, not marked lost",
        "emptied by hand, somebody does not know",
        "active already",
        "held",
        "retired by hand under its holder",
    ],
)
def test_a_range_is_not_activated_while_somebody_may_act_on_its_keys(
    first_read: ShardRecord | None, changes: dict[str, object], others: list[ShardRecord], just_opened: bool
) -> None:
    assert activation(first_read, two(**changes), *others, just_opened=just_opened) is None


def test_retired_neighbours_and_neighbours_that_do_not_overlap_are_no_hindrance() -> None:
    others = [free(WHOLE, ShardStatus.RETIRED), held(HIGH), free(LOW, ShardStatus.RETIRED)]
    assert activation(free(LOW, ShardStatus.RETIRED), two(), *others) is not None


def test_what_is_released_or_retired_is_not_mangled_and_what_names_nobody_without_a_stamp_is() -> None:
    assert not is_mangled(free(LOW))
    assert not is_mangled(held(LOW))
    assert not is_mangled(free(LOW, ShardStatus.RETIRED))
    assert is_mangled(emptied(LOW))
    assert is_mangled(replace(free(LOW), epoch=6))


# -- the map that somebody deleted ----------------------------------------------------------------------------------

EMPTY = shard_map("web", targets=("", ""), coordinator_epoch=5, version=1)


def test_epochs_are_remembered_upwards_only() -> None:
    before = two(shard_epochs={LOW: 9, WHOLE: 4})
    assert remembered_epochs(before, {LOW: held(LOW), HIGH: held(HIGH)}) == {LOW: 9, HIGH: 5, WHOLE: 4}


def test_of_ranges_whose_records_were_collected_the_map_keeps_one_number() -> None:
    gone, retiring = KeyRange(1, 5), KeyRange(6, 9)
    before = two(
        shard_epochs={LOW: 9, gone: 12, retiring: 3},
        opened=frozenset({LOW, HIGH, gone, retiring}),
        retiring=frozenset({retiring}),
        forgotten_ranges=4,
    )
    after = with_memory(before, {LOW: held(LOW), WHOLE: free(WHOLE, ShardStatus.RETIRED)})
    assert after.shard_epochs == {LOW: 9, retiring: 3, WHOLE: 5}
    assert after.opened == {LOW, HIGH, retiring}
    assert after.forgotten_ranges == 12
    assert with_memory(after, {}).forgotten_ranges == 12


def test_a_range_that_comes_back_after_its_record_was_collected_begins_above_what_was_forgotten() -> None:
    back = two(forgotten_ranges=12, opened=frozenset({LOW, HIGH}))
    active = activation(None, back, just_opened=True)
    assert active is not None
    assert active.epoch == 13
    assert retired(back, LOW, None).epoch == 13


def test_a_fleet_that_is_cut_in_many_ways_keeps_a_map_of_one_size() -> None:
    """A map is one ConfigMap, of a mebibyte at most."""
    found = two()
    for count in range(1, 200):
        cut = equal_boundaries(count)
        layout = ranges_from(cut)
        found = replace(found, boundaries=cut, targets=("a",) * count, opened=found.opened | {*layout})
        found = with_memory(found, {each: held(each) for each in layout})
    assert len(found.opened) == len(found.shard_epochs) == 199


def test_a_map_is_rebuilt_from_the_records_with_their_holders_as_targets() -> None:
    found = rebuilt(None, replace(EMPTY, boundaries=(0,), targets=("",)), [held(LOW), free(HIGH)], 40)
    assert found.ranges == (LOW, HIGH)
    assert found.targets == ("a", "")
    assert found.opened == {LOW, HIGH}
    assert found.shard_epochs == {LOW: 5, HIGH: 5}
    assert found.version == 40 + REBUILT_STEP


def test_a_layout_that_was_rebuilt_is_followed_by_the_one_that_the_config_asked_for_meanwhile() -> None:
    """It must not be taken for the layout of the config that nobody has carried out yet."""
    asked_for = replace(EMPTY, boundaries=(0,), targets=("",), base_count=1, config_version="9")
    found = rebuilt(None, asked_for, [held(LOW), held(HIGH)], 40)
    assert found.base_count == 2
    shards = {each: held(each) for each in found.ranges}
    followed = next_layout(found, Wanted(1, found.partition_key, "9"), shards)
    assert followed is not None
    assert followed.ranges == (WHOLE,)


@pytest.mark.parametrize("wanted", [1, 6])
def test_a_layout_of_which_nobody_knows_how_it_came_to_be_becomes_the_configured_one(wanted: int) -> None:
    """Cut since, or the middle of a reshard whose coordinator died and whose map was deleted: no record says which."""
    third, rest = KeyRange(0, LOW.last // 2), KeyRange(LOW.last // 2 + 1, WHOLE.last)
    boundaries = equal_boundaries(wanted)
    asked_for = replace(EMPTY, boundaries=boundaries, targets=("",) * wanted, base_count=wanted, config_version="9")
    found = rebuilt(None, asked_for, [held(third), held(rest)], 40)
    assert found.ranges == (third, rest)
    shards = {each: held(each) for each in found.ranges}
    followed = next_layout(found, Wanted(wanted, found.partition_key, "9"), shards)
    assert followed is not None
    assert followed.boundaries == boundaries


def test_records_that_are_no_layout_retire_and_the_configured_layout_counts_as_opened() -> None:
    found = rebuilt(None, EMPTY, [held(LOW), held(WHOLE), free(KeyRange(1, 5), ShardStatus.RETIRED)], 0)
    assert found.ranges == (LOW, HIGH)
    assert found.targets == ("a", "")
    assert found.retiring == {WHOLE}
    assert found.opened == {LOW, HIGH, WHOLE}
    assert upkeep(Survey(found, {LOW: held(LOW)}), [], 1).lost.keys() == {HIGH, WHOLE}


def test_a_coordinator_that_knows_the_last_map_keeps_its_layout_targets_and_memory() -> None:
    last = two(boundaries=(0,), targets=("b",), retiring=frozenset({LOW}), floors={"a": 4}, shard_epochs={WHOLE: 7})
    found = rebuilt(last, EMPTY, [held(LOW), held(HIGH)], 7)
    assert (found.ranges, found.targets, found.floors) == ((WHOLE,), ("b",), {"a": 4})
    assert found.retiring == {LOW, HIGH}
    assert found.shard_epochs == {LOW: 5, HIGH: 5, WHOLE: 7}
    assert found.coordinator_epoch == 5


def test_the_key_of_the_active_records_is_in_force_where_they_are_a_layout() -> None:
    found = rebuilt(None, EMPTY, [held(by_namespace(LOW)), held(by_namespace(HIGH))], 0)
    assert (found.partition_key, found.ranges) == (PartitionKey.NAMESPACE, (by_namespace(LOW), by_namespace(HIGH)))
    assert found.retiring == frozenset()


def test_active_records_of_two_keys_are_no_layout_and_those_of_the_other_key_retire() -> None:
    found = rebuilt(None, EMPTY, [held(by_namespace(LOW)), held(HIGH)], 0)
    assert (found.partition_key, found.ranges) == (PartitionKey.UID, (LOW, HIGH))
    assert found.retiring == {by_namespace(LOW)}


def test_every_range_waits_for_one_of_another_key_that_retires() -> None:
    found = looked(
        two(retiring=frozenset({by_namespace(LOW)})), free(LOW, ShardStatus.RETIRED), held(by_namespace(LOW))
    )
    assert found.activate == ()
    assert found.retire == ()


def test_a_look_at_four_thousand_ranges_takes_no_time_to_speak_of() -> None:
    """A coordinator that thinks for a lease loses its office."""
    many = ranges_from(equal_boundaries(4096))
    shown = shard_map("web", boundaries=equal_boundaries(4096), targets=("a",) * 4096, opened=frozenset(many))
    left = {each: held(each) for each in ranges_from(equal_boundaries(3001))[1:]}
    began = time.process_time()
    work = upkeep(Survey(replace(shown, retiring=frozenset(left)), left), [], NEXT)
    clear = clear_ranges(shown, [*left.values(), *(free(each) for each in many)])
    assert time.process_time() - began < 1.0
    assert work.activate == ()
    assert clear == {many[0]}


def test_a_retired_record_that_names_a_holder_was_mangled_by_hand() -> None:
    assert is_mangled(shard(WHOLE, status=ShardStatus.RETIRED, holder=Holder("a", 1), holder_text="a@1"))
    assert not is_mangled(shard(WHOLE, status=ShardStatus.RETIRED, holder=None, holder_text="", epoch=5, released=5))
