"""I2, I8, I22, I27: each holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

import msgspec
import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED
from fleet.records.object_names import CONFIG_MAPS, LEASES
from fleet.records.record import ShardStatus
from shards.keyrange import SPACE, KeyRange, ranges_from
from tests.unit.fleet.devcluster.chronicle import LOWER, NAMES, UPPER, Chronicle, two_members
from tests.unit.fleet.devcluster.judging.stories import judged

HALVES = (0, SPACE // 2)
QUARTERS = tuple(SPACE // 4 * i for i in range(4))


@pytest.fixture
def story() -> Chronicle:
    return two_members()


class TestGrowingEpochs:
    def test_epochs_that_grow_with_one_holder_each_hold(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        story.shard(LOWER, 3, "b@1", by="b@1")
        story.member("a", 2, count=2, by="a@2")
        story.layout(7, ("a", "b"), HALVES)
        found = judged("I2", story)
        assert (found.outcome, found.checks) == (HELD, 5)

    def test_an_epoch_that_falls_is_found(self, story: Chronicle) -> None:
        story.shard(LOWER, 1, "b@1", by="b@1")
        assert "fell from epoch 2 to 1" in judged("I2", story).findings[0].what

    def test_two_holders_of_one_epoch_are_found(self, story: Chronicle) -> None:
        story.shard(LOWER, 3, "a@1", by="a@1")
        story.shard(LOWER, 3, "b@1", by="b@1")
        assert "held by a@1 and by b@1 at epoch 3" in judged("I2", story).findings[0].what

    def test_where_a_hand_lowers_an_epoch_the_later_ones_may_come_again(self, story: Chronicle) -> None:
        story.shard(LOWER, 1, "a@1")
        story.member("a", 2, held=False, by="agent@1")
        story.shard(LOWER, 2, "b@1", by="b@1")
        assert judged("I2", story).outcome == HELD

    def test_two_incarnations_of_one_member_epoch_are_found(self, story: Chronicle) -> None:
        story.member("a", 2, count=2, by="a@2")
        story.member("a", 2, count=3, by="a@2")
        assert judged("I2", story).outcome == BROKEN

    def test_a_map_whose_version_falls_is_found(self, story: Chronicle) -> None:
        story.layout(7, ("a", "b"), HALVES)
        story.layout(6, ("a", "b"), HALVES)
        assert "map fell from epoch 7 to 6" in judged("I2", story).findings[0].what

    def test_two_holders_of_the_coordinators_office_at_one_epoch_are_found(self, story: Chronicle) -> None:
        story.coordinator()
        story.coordinator("agent/2")
        assert "coordinator is held by agent/1 and by agent/2" in judged("I2", story).findings[0].what

    def test_a_map_that_is_written_again_under_its_version_is_found(self, story: Chronicle) -> None:
        story.layout(7, ("a", "b"), HALVES)
        story.layout(7, ("a", "b"), HALVES)
        assert judged("I2", story).outcome == HELD
        story.layout(7, ("b", "b"), HALVES)
        assert "was written again, with another content" in judged("I2", story).findings[0].what

    def test_a_lease_that_a_hand_removes_takes_its_epochs_with_it(self, story: Chronicle) -> None:
        story.shard(LOWER, 5, "a@1", by="a@1")
        story.add("delete", str(LEASES), NAMES.shard(LOWER), removed=True)
        story.shard(LOWER, 2, "b@1", by="b@1")
        assert judged("I2", story).outcome == HELD

    def test_an_edit_by_hand_may_be_among_what_the_journal_lost(self, story: Chronicle) -> None:
        story.shard(LOWER, 5, "a@1", by="a@1")
        story.lost = 1
        story.shard(LOWER, 2, "b@1", by="b@1")
        assert judged("I2", story).outcome == HELD

    def test_a_hand_that_lowers_an_epoch_is_not_the_fleet(self, story: Chronicle) -> None:
        story.shard(LOWER, 1)
        story.shard(LOWER, 2, "b@1", by="b@1")
        assert judged("I2", story).outcome == HELD


class TestWholeSpace:
    def test_maps_that_cover_everything_hold(self, story: Chronicle) -> None:
        story.layout(1, ("a", "b"), HALVES)
        story.layout(2, ("b", "b"), HALVES)
        found = judged("I8", story)
        assert (found.outcome, found.checks) == (HELD, 2)

    def test_a_map_that_forgets_a_range_that_is_held_is_found(self, story: Chronicle) -> None:
        story.layout(1, ("a",) * 4, QUARTERS)
        assert "is held by a@1 and unknown to map 1" in judged("I8", story).findings[0].what

    def test_ranges_that_retire_are_not_forgotten(self, story: Chronicle) -> None:
        story.layout(1, ("a",) * 4, QUARTERS, retiring=frozenset({LOWER, UPPER}))
        assert judged("I8", story).outcome == HELD

    @pytest.mark.parametrize("holder", ["a@1", "b@1"])
    def test_a_claim_of_keys_that_lie_in_another_held_range_is_found(self, story: Chronicle, holder: str) -> None:
        story.shard(KeyRange(0, SPACE // 4 - 1), 1, holder, by=holder)
        assert "lie in" in judged("I8", story).findings[0].what

    def test_a_claim_of_a_piece_whose_whole_is_retired_holds(self, story: Chronicle) -> None:
        story.shard(LOWER, 3, status=ShardStatus.RETIRED, by="agent@1")
        story.shard(KeyRange(0, SPACE // 4 - 1), 1, "a@1", by="a@1")
        found = judged("I8", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_map_that_begins_above_zero_is_found(self, story: Chronicle) -> None:
        story.layout(1, ("a", "b"), HALVES)
        body = story.entries[-1].decoded()
        assert body is not None
        body["data"]["map.json"] = body["data"]["map.json"].replace('"0000000000000000"', '"0000000000000001"')
        story.entries[-1].object = msgspec.json.encode(body).decode()
        assert "cannot be read" in judged("I8", story).findings[0].what

    def test_a_fleet_that_removes_its_map_is_found(self, story: Chronicle) -> None:
        story.layout(1, ("a", "b"), HALVES)
        agent = story.entries[-1].user_agent
        story.add("delete", str(CONFIG_MAPS), NAMES.map, user_agent=agent, removed=True)
        assert judged("I8", story).outcome == BROKEN

    def test_what_a_hand_writes_is_not_the_fleets(self, story: Chronicle) -> None:
        story.add("delete", str(CONFIG_MAPS), NAMES.map, user_agent="kubectl/1", removed=True)
        assert judged("I8", story).outcome == NOT_JUDGED


class TestFewMoves:
    def test_a_join_that_moves_its_share_holds(self, story: Chronicle) -> None:
        story.layout(1, ("a", "a", "b", "b"), QUARTERS)
        story.member("c", 1)
        story.layout(2, ("a", "c", "b", "b"), QUARTERS)
        found = judged("I22", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_of_many_who_join_each_that_is_given_a_range_takes_a_whole_one(self, story: Chronicle) -> None:
        story.layout(1, ("a", "a", "a", "a"), QUARTERS)
        for name in "bcdefghijklmnop":
            story.member(name, 1)
        story.layout(2, ("a", "b", "c", "d"), QUARTERS)
        assert judged("I22", story).outcome == HELD

    def test_of_who_has_just_joined_the_writer_of_a_map_may_not_have_heard(self, story: Chronicle) -> None:
        boundaries = tuple(SPACE // 16 * i for i in range(16))
        for version, pause in ((1, 0.0), (3, 5.0)):
            story.layout(version, ("a",) * 2 + ("b",) * 14, boundaries)
            story.member("b", version + 1)
            story.wait(pause - 0.5)
            story.layout(version + 1, ("a",) * 16, boundaries)
            assert bool(judged("I22", story).findings) == (pause > 0.0)

    def test_a_shuffle_is_found(self, story: Chronicle) -> None:
        targets = ("a",) * 8 + ("b",) * 8
        boundaries = tuple(SPACE // 16 * i for i in range(16))
        story.layout(1, targets, boundaries)
        story.member("c", 1)
        story.layout(2, targets[::-1], boundaries)
        assert "moves 16 ranges of living members" in judged("I22", story).findings[0].what

    def test_a_shuffle_in_small_steps_is_found(self, story: Chronicle) -> None:
        boundaries = tuple(SPACE // 16 * i for i in range(16))
        for version in range(1, 20):
            targets = ["a"] * 8 + ["b"] * 8
            targets[version % 8] = "b"
            story.layout(version, tuple(targets), boundaries)
        assert "ranges of living members" in judged("I22", story).findings[0].what

    def test_each_join_may_move_its_share(self, story: Chronicle) -> None:
        boundaries = tuple(SPACE // 16 * i for i in range(16))
        story.layout(1, ("a",) * 16, boundaries)
        targets = ["a"] * 16
        for index, (name, share) in enumerate((("c", 5), ("d", 4), ("e", 3))):
            story.member(name, 1, by=f"{name}@1")
            for at in range(share):
                targets[index * 5 + at] = name
            story.layout(index + 2, tuple(targets), boundaries)
        assert judged("I22", story).outcome == HELD

    def test_ranges_of_the_dead_move_freely(self, story: Chronicle) -> None:
        boundaries = tuple(SPACE // 16 * i for i in range(16))
        story.layout(1, ("a",) * 16, boundaries)
        story.member("a", 2, held=False, by="agent@1")
        story.layout(2, ("b",) * 16, boundaries)
        assert judged("I22", story).outcome == HELD

    @pytest.mark.parametrize(("late_seconds", "breaks"), [(1.5, False), (0.5, True)])
    def test_what_a_target_was_late_for_and_gives_back_has_not_moved(
        self, story: Chronicle, late_seconds: float, breaks: bool
    ) -> None:
        boundaries = tuple(SPACE // 8 * i for i in range(8))
        eighths = ranges_from(boundaries)
        story.layout(1, ("a",) * 8, boundaries)
        for each in eighths:
            story.shard(each, 3, "a@1", by="a@1")
        for each in eighths[:4]:
            story.shard(each, 3, released_by="a@1", by="a@1")
        story.layout(2, ("b",) * 4 + ("a",) * 4, boundaries)
        story.wait(late_seconds - 1.0)
        story.layout(3, ("a",) * 8, boundaries)
        story.wait(2.0)
        story.layout(4, ("a",) * 4 + ("b",) * 4, boundaries)
        assert bool(judged("I22", story).findings) == breaks

    @pytest.mark.parametrize("anew", [False, True])
    def test_who_joins_anew_between_two_maps_has_left(self, story: Chronicle, anew: bool) -> None:
        boundaries = tuple(SPACE // 16 * i for i in range(16))
        story.wait(5.0)
        story.layout(1, ("a",) * 8 + ("b",) * 8, boundaries)
        story.layout(2, ("b",) * 16, boundaries)
        if anew:
            story.member("b", 2)
        story.wait(5.0)
        story.layout(3, ("a",) * 8 + ("b",) * 8, boundaries)
        assert bool(judged("I22", story).findings) is not anew

    def test_a_member_below_its_floor_is_dead_whatever_its_lease_says(self, story: Chronicle) -> None:
        boundaries = tuple(SPACE // 16 * i for i in range(16))
        story.layout(1, ("b",) * 16, boundaries, floors={"b": 9})
        story.wait(5.0)
        story.layout(2, ("a",) * 16, boundaries)
        assert judged("I22", story).outcome == HELD


class TestMutex:
    def test_claims_of_free_ranges_hold(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        story.shard(LOWER, 3, "b@1", by="b@1")
        story.member("b", 2, held=False, by="agent@1")
        story.shard(UPPER, 3, "a@1", by="a@1")
        found = judged("I27", story)
        assert (found.outcome, found.checks) == (HELD, 3)

    def test_a_claim_over_a_living_holder_is_found(self, story: Chronicle) -> None:
        story.shard(LOWER, 3, "b@1", by="b@1")
        assert "b@1 claimed" in judged("I27", story).findings[0].what

    def test_a_claim_of_a_range_that_was_emptied_and_not_released_is_found(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1")
        body = story.entries[-1].decoded()
        assert body is not None
        for name in [name for name in body["metadata"]["annotations"] if name.endswith("released")]:
            del body["metadata"]["annotations"][name]
        story.entries[-1].object = msgspec.json.encode(body).decode()
        story.shard(LOWER, 3, "b@1", by="b@1")
        assert "nobody, though it was not released" in judged("I27", story).findings[0].what

    def test_a_release_of_somebody_elses_range_is_found(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="b@1")
        assert "b emptied" in judged("I27", story).findings[0].what

    def test_a_range_that_a_hand_retires_under_its_holder_may_be_activated_again(self, story: Chronicle) -> None:
        """Once everybody is said to have noticed, which the map tells and no Lease does."""
        story.shard(LOWER, 2, "a@1", status=ShardStatus.RETIRED)
        story.shard(LOWER, 3, by="agent@1")
        assert judged("I27", story).broken == 0

    def test_what_the_map_calls_lost_may_be_activated_again(self, story: Chronicle) -> None:
        story.layout(7, ("a", "b"), HALVES, lost={LOWER: 7})
        story.shard(LOWER, 3, by="agent@1")
        assert judged("I27", story).broken == 0
        story.shard(UPPER, 3, by="agent@1")
        assert "agent emptied" in judged("I27", story).findings[0].what

    def test_a_holder_below_its_floor_in_the_map_is_dead_though_its_lease_is_gone(self, story: Chronicle) -> None:
        """A hand removed its member Lease."""
        story.add("delete", str(LEASES), NAMES.member("a"), removed=True)
        story.layout(7, ("b", "b"), HALVES, floors={"a": 2})
        story.shard(LOWER, 3, "b@1", by="b@1")
        assert judged("I27", story).outcome == HELD

    def test_before_the_map_says_so_it_may_live(self, story: Chronicle) -> None:
        story.add("delete", str(LEASES), NAMES.member("a"), removed=True)
        story.shard(LOWER, 3, "b@1", by="b@1")
        assert "b@1 claimed" in judged("I27", story).findings[0].what

    def test_a_claim_that_somebody_else_writes_is_found(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        story.shard(LOWER, 3, "b@1", by="agent@1")
        assert "agent claimed" in judged("I27", story).findings[0].what

    def test_the_release_may_be_among_what_the_journal_lost(self, story: Chronicle) -> None:
        story.lost = 1
        story.shard(LOWER, 3, "b@1", by="b@1")
        assert judged("I27", story).broken == 0

    def test_a_claim_of_a_retired_range_is_found(self, story: Chronicle) -> None:
        story.shard(LOWER, 3, status=ShardStatus.RETIRED)
        story.shard(LOWER, 4, "b@1", status=ShardStatus.RETIRED, by="b@1")
        assert "which is retired" in judged("I27", story).findings[0].what
