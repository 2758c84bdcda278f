"""I23: holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.recording.journal import LATE, LOST
from fleet.records.object_names import LEASES
from shards.keyrange import SPACE
from tests.unit.fleet.devcluster.chronicle import LOWER, UPPER, Chronicle, two_members, uid_in
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


def hand_over(story: Chronicle) -> None:
    """The lower half goes from a to b."""
    story.shard(LOWER, 2, released_by="a@1", by="a@1")
    story.shard(LOWER, 3, "b@1", by="b@1")


class TestStopped:
    def test_who_stops_before_it_releases_holds(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="one")
        hand_over(story)
        found = judged("I23", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_an_end_before_which_nothing_was_done_shows_nothing(self, story: Chronicle) -> None:
        hand_over(story)
        assert judged("I23", story).outcome == NOT_JUDGED

    def test_writes_without_an_end_show_nothing(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="one")
        assert judged("I23", story).outcome == NOT_JUDGED

    def test_a_write_after_the_release_is_found(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        story.write("create", LOW, "a@1", name="one")
        assert "after its release" in judged("I23", story).findings[0].what

    def test_a_write_after_a_handover_is_found(self, story: Chronicle) -> None:
        hand_over(story)
        story.write("create", LOW, "a@1", name="one")
        assert judged("I23", story).outcome == BROKEN

    def test_a_write_after_the_range_was_lost_without_a_release_is_found(self, story: Chronicle) -> None:
        story.shard(LOWER, 3, "b@1", by="b@1")
        story.write("create", LOW, "a@1", name="one")
        assert "or the loss of its range" in judged("I23", story).findings[0].what

    def test_a_write_after_the_end_of_the_membership_is_found(self, story: Chronicle) -> None:
        story.member("a", 2, held=False, by="agent@1")
        story.write("create", LOW, "a@1", name="one")
        assert "after its membership ended" in judged("I23", story).findings[0].what

    def test_who_begins_anew_at_an_epoch_that_nobody_knew_any_more_may_write(self, story: Chronicle) -> None:
        story.member("a", 2, held=False, by="a@1")
        story.add("delete", str(LEASES), story.names.member("a"), removed=True)
        story.member("a", 1, by="a@1")
        story.write("create", LOW, "a@1", name="one")
        assert not judged("I23", story).findings

    def test_a_write_of_an_earlier_incarnation_is_found(self, story: Chronicle) -> None:
        story.member("a", 2, count=2, by="a@2")
        story.shard(LOWER, 3, "a@2", by="a@2")
        story.write("create", LOW, "a@1", name="one")
        assert judged("I23", story).outcome == BROKEN

    def test_who_claims_again_may_write_again(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="one")
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        story.shard(LOWER, 3, "a@1", by="a@1")
        story.write("create", LOW, "a@1", name="two")
        assert judged("I23", story).outcome == HELD

    def test_a_hand_ends_nothing(self, story: Chronicle) -> None:
        story.shard(LOWER, 3)
        story.member("b", 2, held=False)
        story.write("create", LOW, "a@1", name="one")
        story.write("create", HIGH, "b@1", name="two")
        assert judged("I23", story).broken == 0

    def test_what_the_journal_lost_may_hold_a_claim(self, story: Chronicle) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        story.lost = 1
        story.write("create", LOW, "a@1", name="one")
        assert judged("I23", story).broken == 0

    def test_what_a_fault_held_on_the_wire_was_sent_in_time(self, story: Chronicle) -> None:
        sent = story.write("create", LOW, "a@1", name="one", status=0)
        sent.verb, sent.note = LOST, '{"fault":"late_landing","seconds":5}'
        hand_over(story)
        story.write("create", LOW, "a@1", name="one")
        story.write(LATE, LOW, "a@1", name="one", status=0)
        assert judged("I23", story).broken == 0
        story.write("create", LOW, "a@1", name="one")
        assert judged("I23", story).broken == 1

    def test_a_reconcile_that_starts_after_the_drain_is_found(self, story: Chronicle, book: Notebook) -> None:
        book.write("opened")
        book.write("started", key="default/site", uid=LOW)
        book.write("drained")
        found = judged("I23", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 1)
        book.write("started", key="default/site", uid=LOW)
        assert "which it had drained" in judged("I23", story, book.notes).findings[0].what

    def test_a_reconcile_that_runs_on_after_the_drain_is_found(self, story: Chronicle, book: Notebook) -> None:
        for what in ("opened", "started", "drained", "ended"):
            book.write(what, key="default/site", uid=LOW)
        assert "still ran on a" in judged("I23", story, book.notes).findings[0].what

    def test_a_range_that_is_opened_again_may_start_again(self, story: Chronicle, book: Notebook) -> None:
        for what in ("opened", "started", "ended", "drained", "stopped", "opened", "started"):
            book.write(what, key="default/site")
        assert judged("I23", story, book.notes).outcome == HELD

    def test_a_reconcile_that_starts_without_the_lease_is_found(self, story: Chronicle, book: Notebook) -> None:
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        story.shard(LOWER, 3, "a@1", by="a@1")
        book.write("started", key="default/site", uid=LOW)
        assert judged("I23", story, book.notes).broken == 0
        story.member("a", 2, held=False, by="agent@1")
        assert judged("I23", story, book.notes).broken == 0, "the server's journal may have ended too early"
        story.wait(200)
        story.coordinator()
        assert "does not hold any more" in judged("I23", story, book.notes).findings[0].what

    def test_that_a_fault_held_it_may_be_among_what_the_journal_lost(self, story: Chronicle) -> None:
        hand_over(story)
        story.write("create", LOW, "a@1", name="one")
        assert judged("I23", story).broken == 1
        story.write(LATE, LOW, "a@1", name="one", status=0)
        assert judged("I23", story).broken == 0
        assert judge(story.entries).clean

    def test_what_comes_right_behind_a_write_may_be_among_what_the_journal_lost(self, story: Chronicle) -> None:
        hand_over(story)
        story.write("create", LOW, "a@1", name="one")
        story.lost = 1
        story.coordinator()
        assert judged("I23", story).broken == 0
        assert judge(story.entries).clean
