"""I7 and I24: each holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED
from fleet.records.object_names import LEASES
from fleet.records.record import ShardStatus
from shards.keyrange import SPACE, KeyRange
from tests.unit.fleet.devcluster.chronicle import LOWER, NAMES, UPPER, Chronicle, two_members, uid_in
from tests.unit.fleet.devcluster.judging.stories import Notebook, judged

LOW, HIGH = uid_in(LOWER), uid_in(UPPER)
SITES = "demo.shardfleet.dev/v1/websites"
HALVES = (0, SPACE // 2)


@pytest.fixture
def story() -> Chronicle:
    return two_members()


@pytest.fixture
def book() -> Notebook:
    return Notebook()


def live(story: Chronicle, *members: str, seconds: int) -> None:
    """Coordinator and members renew in turn, a second between two."""
    for _ in range(seconds // (1 + len(members))):
        story.coordinator()
        for name in members:
            story.member(name, 1, by=f"{name}@1")


class TestSoonOwned:
    """Leases last 8 s here, so that a lost range has 16 s."""

    def test_a_range_that_is_claimed_in_time_holds(self, story: Chronicle) -> None:
        live(story, "b", seconds=10)
        story.member("a", 2, held=False, by="agent@1")
        story.shard(LOWER, 3, "b@1", by="b@1")
        found = judged("I7", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_range_that_never_had_an_owner_has_not_lost_it(self) -> None:
        story = Chronicle()
        story.member("b", 1, by="b@1")
        story.layout(1, ("a", "b"), HALVES)
        story.shard(LOWER, 1, by="agent@1")
        live(story, "b", seconds=40)
        assert judged("I7", story).outcome == NOT_JUDGED

    def test_a_range_that_nobody_claims_is_found(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        live(story, "a", "b", seconds=30)
        assert "has had no living owner for" in judged("I7", story).findings[0].what

    def test_it_is_found_once_and_late_claims_do_not_heal_it(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        live(story, "a", "b", seconds=60)
        story.shard(LOWER, 3, "b@1", by="b@1")
        live(story, "a", "b", seconds=60)
        assert judged("I7", story).broken == 1

    def test_a_range_that_is_lost_again_is_found_again(self, story: Chronicle) -> None:
        for epoch in (2, 3):
            story.shard(LOWER, epoch, released_by="a@1", by="a@1")
            live(story, "a", "b", seconds=30)
            story.shard(LOWER, epoch + 1, "a@1", by="a@1")
        assert judged("I7", story).broken == 2

    def test_a_dead_member_that_nobody_replaces_is_found(self, story: Chronicle) -> None:
        live(story, "b", seconds=40)
        assert judged("I7", story).outcome == BROKEN

    def test_a_lease_that_is_gone_for_good_is_found(self, story: Chronicle) -> None:
        live(story, "a", "b", seconds=9)
        story.add("delete", str(LEASES), NAMES.shard(LOWER), removed=True)
        live(story, "a", "b", seconds=30)
        assert f"range {LOWER}" in judged("I7", story).findings[0].what

    def test_pieces_of_a_range_that_nobody_opens_are_found(self, story: Chronicle) -> None:
        """A reshard retires the half; one of its quarters never gets a Lease."""
        quarters = tuple(SPACE // 4 * i for i in range(4))
        first, second = KeyRange(0, SPACE // 4 - 1), KeyRange(SPACE // 4, SPACE // 2 - 1)
        story.layout(1, ("a", "b"), HALVES)
        story.layout(2, ("a", "a", "b", "b"), quarters, retiring=frozenset({LOWER}))
        live(story, "a", "b", seconds=30)
        assert judged("I7", story).broken == 0
        story.shard(LOWER, 3, status=ShardStatus.RETIRED, by="agent@1")
        story.shard(first, 1, "a@1", by="a@1")
        live(story, "a", "b", seconds=30)
        [found] = judged("I7", story).findings
        assert f"range {second}" in found.what

    def test_time_without_a_coordinator_does_not_count(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        for _ in range(20):
            story.member("b", 1, by="b@1")
            story.member("a", 1, by="a@1")
        assert judged("I7", story).broken == 0

    def test_time_after_the_last_member_left_does_not_count(self, story: Chronicle) -> None:
        for name, covered in (("a", LOWER), ("b", UPPER)):
            story.shard(covered, 2, released_by=f"{name}@1", by=f"{name}@1")
            story.member(name, 2, held=False, by=f"{name}@1")
        live(story, seconds=60)
        assert judged("I7", story).broken == 0

    def test_retired_ranges_need_no_owner(self, story: Chronicle) -> None:
        story.shard(LOWER, 3, status=ShardStatus.RETIRED, by="agent@1")
        live(story, "a", "b", seconds=40)
        assert judged("I7", story).broken == 0

    def test_what_the_journal_lost_may_hold_the_claim(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        story.lost = 1
        live(story, "a", "b", seconds=60)
        assert judged("I7", story).broken == 0
        story.shard(LOWER, 4, "a@1", by="a@1")
        story.shard(LOWER, 4, released_by="a@1", by="a@1")
        live(story, "a", "b", seconds=60)
        assert judged("I7", story).broken == 1


class TestFreed:
    def test_a_silent_member_that_is_fenced_in_time_holds(self, story: Chronicle) -> None:
        live(story, "b", seconds=10)
        story.member("a", 2, held=False, by="agent@1")
        found = judged("I24", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_who_leaves_by_itself_shows_nothing(self, story: Chronicle) -> None:
        story.member("a", 2, held=False, by="a@1")
        assert judged("I24", story).outcome == NOT_JUDGED

    def test_a_silent_member_that_nobody_fences_is_found_once(self, story: Chronicle) -> None:
        live(story, "b", seconds=80)
        found = judged("I24", story)
        assert (found.outcome, found.broken) == (BROKEN, 1)
        assert "a@1 is held though it has been silent" in found.findings[0].what

    def test_one_that_is_fenced_too_late_is_found(self, story: Chronicle) -> None:
        live(story, "b", seconds=40)
        story.member("a", 2, held=False, by="agent@1")
        assert judged("I24", story).broken == 1

    def test_a_sign_of_life_may_be_among_what_the_journal_lost(self, story: Chronicle) -> None:
        live(story, "b", seconds=14)
        story.lost = 1
        live(story, "b", seconds=14)
        assert judged("I24", story).broken == 0
