from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.records.record import Holder, MemberRecord, ShardMap, ShardRecord, ShardStatus
from fleet.rules.coverage import Coverage, Gap
from shards.keyrange import SPACE, WHOLE, KeyRange, PartitionKey, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member, shard, shard_map

LOW, HIGH = ranges_from(equal_boundaries(2))
DEADLINE = 6.8
"""Of a lease of 8 s."""


def held(each: KeyRange, holder: str, **changes: object) -> ShardRecord:
    return replace(shard(each, holder=Holder.parse(holder), holder_text=holder), **changes)  # type: ignore[arg-type]


@dataclass
class Lookout:
    """Members a and b at epoch 3, with one half each."""

    coverage: Coverage = field(default_factory=Coverage)
    members: dict[str, MemberRecord] = field(default_factory=lambda: {"a": member("a"), "b": member("b")})
    shards: dict[KeyRange, ShardRecord] = field(
        default_factory=lambda: {LOW: held(LOW, "a@3"), HIGH: held(HIGH, "b@3")}
    )
    shown: ShardMap | None = field(default_factory=lambda: shard_map(targets=("a", "b"), floors={"a": 3, "b": 3}))

    def look(self, now: float, *renewed: str, confirmed_at: float | None = None) -> tuple[Gap, ...]:
        for name in renewed:
            self.members[name] = replace(self.members[name], version=f"at {now}")
        self.coverage.observe(
            self.shown,
            self.shards.values(),
            dict(self.members),
            confirmed_at=now if confirmed_at is None else confirmed_at,
            now=now,
        )
        return self.coverage.gaps


def test_nothing_is_missing_while_both_owners_live() -> None:
    lookout = Lookout()
    for now in range(30):
        assert lookout.look(float(now), "a", "b") == ()
    assert (lookout.coverage.longest(30.0), lookout.coverage.share) == (0.0, 0.0)


def test_a_silent_owner_has_owned_nothing_since_its_deadline_and_not_since_somebody_noticed() -> None:
    lookout = Lookout()
    lookout.look(0.0, "a", "b")
    assert lookout.look(DEADLINE - 0.1, "a") == ()
    assert lookout.look(20.0, "a") == (Gap(HIGH, DEADLINE),)
    assert lookout.coverage.longest(20.0) == pytest.approx(20.0 - DEADLINE)
    assert lookout.coverage.share == 0.5


def test_nobody_is_silent_beyond_what_a_view_was_confirmed_to_show() -> None:
    lookout = Lookout()
    lookout.look(0.0, "a", "b")
    assert lookout.look(20.0, confirmed_at=5.0) == ()
    assert lookout.coverage.doubtful
    assert lookout.look(21.0, confirmed_at=21.0) == (Gap(WHOLE, DEADLINE),)
    assert not lookout.coverage.doubtful


def test_a_gap_ends_with_a_claim_and_what_is_left_of_it_keeps_its_age() -> None:
    lookout = Lookout()
    lookout.shards = {}
    assert lookout.look(1.0, "a", "b") == (Gap(WHOLE, 1.0),)
    lookout.shards[LOW] = held(LOW, "a@3")
    assert lookout.look(5.0, "a", "b") == (Gap(HIGH, 1.0),)
    lookout.shards[HIGH] = held(HIGH, "b@3")
    assert lookout.look(6.0, "a", "b") == ()
    del lookout.shards[LOW]
    assert lookout.look(7.0, "a", "b") == (Gap(LOW, 7.0),)


def test_neighbours_of_different_ages_are_told_apart() -> None:
    lookout = Lookout()
    del lookout.shards[HIGH]
    lookout.look(1.0, "a", "b")
    del lookout.shards[LOW]
    assert lookout.look(4.0, "a", "b") == (Gap(LOW, 4.0), Gap(HIGH, 1.0))
    assert lookout.coverage.longest(10.0) == 9.0


@pytest.mark.parametrize(
    "change",
    [
        {"holder": None, "holder_text": "", "released": 5},
        {"holder": None, "holder_text": "somebody"},
        {"status": ShardStatus.RETIRED},
        {"holder": Holder("a", 2)},
        {"holder": Holder("a", 4)},
        {"holder": Holder("nobody", 3)},
    ],
    ids=["released", "mangled", "retired", "of an earlier life", "of a later life", "of nobody who is known"],
)
def test_a_record_without_a_living_holder_owns_nothing(change: dict[str, object]) -> None:
    lookout = Lookout()
    lookout.shards[LOW] = replace(held(LOW, "a@3"), **change)  # type: ignore[arg-type]
    assert lookout.look(1.0, "a", "b") == (Gap(LOW, 1.0),)


def test_a_fenced_member_and_one_below_its_floor_own_nothing() -> None:
    lookout = Lookout()
    lookout.members["a"] = member("a", holder=None)
    assert lookout.look(1.0, "b") == (Gap(LOW, 1.0),)
    lookout.shown = shard_map(targets=("a", "b"), floors={"b": 4})
    assert lookout.look(2.0, "b") == (Gap(LOW, 1.0), Gap(HIGH, 2.0))


def test_what_a_fenced_member_left_has_been_unowned_since_its_deadline_and_not_since_the_fence() -> None:
    lookout = Lookout()
    lookout.look(0.0, "a", "b")
    lookout.members["b"] = member("b", holder=None, epoch=4, version="fenced")
    assert lookout.look(9.0, "a") == (Gap(HIGH, DEADLINE),)


def test_what_a_member_left_that_began_anew_has_been_unowned_since_then() -> None:
    lookout = Lookout()
    lookout.look(0.0, "a", "b")
    lookout.members["b"] = member("b", epoch=4, version="anew")
    assert lookout.look(2.0, "a") == (Gap(HIGH, 2.0),)


def test_owners_are_owners_without_a_map() -> None:
    lookout = Lookout(shown=None)
    assert lookout.look(1.0, "a", "b") == ()


def test_ranges_that_leave_the_layout_are_owned_until_they_are_let_go() -> None:
    lookout = Lookout()
    lookout.shown = shard_map(
        boundaries=equal_boundaries(4), targets=("a", "a", "b", "b"), retiring=frozenset({LOW, HIGH})
    )
    assert lookout.look(1.0, "a", "b") == ()


def test_only_ranges_of_the_key_in_force_cover_anything() -> None:
    lookout = Lookout()
    by_name = replace(LOW, key=PartitionKey.NAME)
    del lookout.shards[LOW]
    lookout.shards[by_name] = held(by_name, "a@3")
    assert lookout.look(1.0, "a", "b") == (Gap(LOW, 1.0),)


cuts = st.sets(st.integers(1, 15), max_size=6)


def pieces(cut: Iterable[int]) -> list[KeyRange]:
    """Ranges of sixteenths of the space."""
    return list(ranges_from([0, *(SPACE // 16 * each for each in sorted(cut))]))


@given(cuts, st.sets(st.integers(0, 6)), cuts, st.sets(st.integers(0, 6)))
def test_every_hash_is_in_a_gap_exactly_when_no_living_claim_has_it(
    first: set[int], missing: set[int], second: set[int], then_missing: set[int]
) -> None:
    lookout = Lookout()
    ages: dict[int, float] = {}
    for now, cut, gone in ((1.0, first, missing), (2.0, second, then_missing)):
        kept = [each for index, each in enumerate(pieces(cut)) if index not in gone]
        lookout.shards = {each: held(each, "a@3") for each in kept}
        gaps = lookout.look(now, "a", "b")
        for sixteenth in range(16):
            value = SPACE // 16 * sixteenth
            if any(value in each for each in kept):
                ages.pop(sixteenth, None)
            else:
                ages.setdefault(sixteenth, now)
            assert [gap.since for gap in gaps if value in gap.range] == [
                ages[each] for each in ages if each == sixteenth
            ]
        assert all(one.range.last < other.range.first for one, other in pairwise(gaps))


def test_a_fleet_of_4096_ranges_that_all_fall_silent_is_looked_at_quickly() -> None:
    lookout = Lookout(shown=None)
    lookout.shards = {each: held(each, "a@3") for each in ranges_from(equal_boundaries(4096))}
    lookout.look(0.0, "a")
    began = time.process_time()
    assert lookout.look(20.0) == (Gap(WHOLE, DEADLINE),)
    assert lookout.look(21.0) == (Gap(WHOLE, DEADLINE),)
    assert time.process_time() - began < 1.0
