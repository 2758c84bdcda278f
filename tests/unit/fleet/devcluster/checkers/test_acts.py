"""I1, I4, I5, I6, I13: each holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED
from fleet.devcluster.recording.journal import LOST, REFUSED, Sent
from shards.keyrange import KeyRange
from tests.unit.fleet.devcluster.chronicle import LOWER, UPPER, Chronicle, two_members, uid_in
from tests.unit.fleet.devcluster.judging.stories import judged

LOW, HIGH = uid_in(LOWER), uid_in(UPPER)


@pytest.fixture
def story() -> Chronicle:
    return two_members()


def hand_over(story: Chronicle) -> None:
    """The lower half goes from a to b."""
    story.shard(LOWER, 2, released_by="a@1", by="a@1")
    story.shard(LOWER, 3, "b@1", by="b@1")


class TestOneOwner:
    def test_owners_that_follow_each_other_are_one_at_a_time(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="one")
        hand_over(story)
        story.write("create", LOW, "b@1", name="two")
        found = judged("I1", story)
        assert (found.outcome, found.checks) == (HELD, 2)

    def test_a_write_by_who_does_not_hold_the_range_is_found(self, story: Chronicle) -> None:
        story.write("create", HIGH, "a@1", name="one")
        found = judged("I1", story)
        assert found.outcome == BROKEN
        assert "does not hold" in found.findings[0].what

    def test_a_write_by_a_fenced_member_is_found(self, story: Chronicle) -> None:
        story.member("a", 2, held=False, by="agent@1")
        story.write("create", LOW, "a@1", name="one")
        assert "is fenced" in judged("I1", story).findings[0].what

    def test_a_late_write_of_a_former_owner_is_found_by_order_alone(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="one")
        hand_over(story)
        story.write("create", LOW, "b@1", name="two")
        story.write("create", LOW, "a@1", name="three")
        assert any("after b@1, which claimed the key later" in each.what for each in judged("I1", story).findings)

    def test_what_landed_late_was_sent_in_time(self, story: Chronicle) -> None:
        sent = story.write("create", LOW, "a@1", name="one", status=0)
        sent.verb, sent.note = LOST, '{"fault":"late_landing","seconds":5}'
        hand_over(story)
        story.write("create", LOW, "a@1", name="one")
        assert judged("I1", story).outcome == NOT_JUDGED

    def test_what_the_journal_lost_may_hold_the_claim(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="one")
        hand_over(story)
        story.write("create", LOW, "b@1", name="two")
        story.lost = 2
        story.write("create", LOW, "a@1", name="three")
        found = judged("I1", story)
        assert (found.outcome, found.checks) == (HELD, 2)

    def test_a_refused_write_is_none(self, story: Chronicle) -> None:
        story.write("create", HIGH, "a@1", name="one", status=409)
        assert judged("I1", story).outcome == NOT_JUDGED


class TestSameSnapshot:
    def test_writes_that_name_what_they_replace_hold(self, story: Chronicle) -> None:
        story.write("patch", LOW, "a@1", cache="9", uid=LOW, sent=Sent(uid=LOW, version="7"))
        story.write("delete", LOW, "a@1", cache="9", uid="c1", sent=Sent(uid="c1", version="8"))
        found = judged("I4", story)
        assert (found.outcome, found.checks) == (HELD, 2)

    @pytest.mark.parametrize(
        ("verb", "sent"), [("update", Sent()), ("patch", Sent(uid="x")), ("delete", Sent(version="7"))]
    )
    def test_writes_that_name_nothing_are_found(self, story: Chronicle, verb: str, sent: Sent) -> None:
        story.write(verb, LOW, "a@1", cache="9", uid="c1", sent=sent)
        assert judged("I4", story).outcome == BROKEN

    def test_a_precondition_from_beyond_the_view_is_found(self, story: Chronicle) -> None:
        story.write("patch", LOW, "a@1", cache="9", uid=LOW, sent=Sent(uid=LOW, version="12"))
        assert "decided at 9 and sent with 12" in judged("I4", story).findings[0].what

    def test_a_write_of_which_the_journal_does_not_say_what_it_named_is_not_judged(self, story: Chronicle) -> None:
        story.write("delete", LOW, "a@1", cache="9", uid="c1", sent=Sent(uid="c1"))
        story.write("patch", LOW, "a@1", cache="9", uid="c1")
        found = judged("I4", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_without_preconditions_in_the_journal_nothing_is_said(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1")
        assert judged("I4", story).why == "the journals lack preconditions"


class TestLiveRead:
    @pytest.fixture
    def story(self) -> Chronicle:
        """A while after the journal began: what was read before is not in it."""
        story = two_members()
        story.wait(40)
        story.coordinator()
        return story

    def delete(self, story: Chronicle, uid: str = "c1") -> None:
        story.write("delete", LOW, "a@1", uid=uid, sent=Sent(uid=uid, version="8"), removed=True)

    def test_a_delete_after_a_live_read_of_the_same_object_holds(self, story: Chronicle) -> None:
        story.write("get", LOW, "a@1", uid="c1", status=200)
        self.delete(story)
        found = judged("I5", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_delete_without_one_is_found(self, story: Chronicle) -> None:
        story.write("get", LOW, "a@1", name="other", uid="c2", status=200)
        self.delete(story)
        assert "without a live read" in judged("I5", story).findings[0].what

    def test_a_read_by_another_worker_does_not_count(self, story: Chronicle) -> None:
        story.write("get", LOW, "b@1", uid="c1", status=200)
        self.delete(story)
        assert judged("I5", story).outcome == BROKEN

    def test_a_read_of_another_incarnation_is_found(self, story: Chronicle) -> None:
        story.write("get", LOW, "a@1", uid="c0", status=200)
        self.delete(story)
        assert "another incarnation" in judged("I5", story).findings[0].what

    def test_a_read_from_a_cache_is_none(self, story: Chronicle) -> None:
        story.write("get", LOW, "a@1", uid="c1", status=200, sent=Sent(resource_version="0"))
        self.delete(story)
        assert judged("I5", story).outcome == BROKEN

    def test_a_read_of_long_ago_is_found(self, story: Chronicle) -> None:
        story.write("get", LOW, "a@1", uid="c1", status=200)
        story.wait(60)
        self.delete(story)
        assert "61.0 s after its live read" in judged("I5", story).findings[0].what

    def test_a_fence_without_a_live_read_is_found(self, story: Chronicle) -> None:
        story.informer("list")
        story.member("b", 2, held=False, by="agent@1")
        assert "fence of b@1 without a live read" in judged("I5", story).findings[0].what

    def test_a_member_that_leaves_needs_none(self, story: Chronicle) -> None:
        story.informer("list")
        story.member("b", 2, held=False, by="b@1")
        assert judged("I5", story).outcome == NOT_JUDGED

    def test_a_read_may_be_from_before_the_journal_began(self) -> None:
        for verb, outcome in (("update", NOT_JUDGED), ("create", BROKEN)):
            story = Chronicle()
            story.layout(1, ("a", "b"), (0, UPPER.first), verb=verb)
            story.informer("list")
            self.delete(story)
            assert judged("I5", story).outcome == outcome, "whose first map is in the journal is known from the start"

    def test_a_read_may_be_among_what_the_journal_lost(self, story: Chronicle) -> None:
        story.informer("list")
        story.lost = 1
        self.delete(story)
        assert judged("I5", story).outcome == NOT_JUDGED
        story.wait(40)
        self.delete(story)
        assert judged("I5", story).outcome == BROKEN

    def test_without_reads_in_the_journal_nothing_is_said(self, story: Chronicle) -> None:
        self.delete(story)
        found = judged("I5", story)
        assert (found.outcome, found.broken, found.why) == (NOT_JUDGED, 0, "the journals lack reads")


class TestBreaker:
    def test_deletes_below_the_limit_with_reads_that_succeed_hold(self, story: Chronicle) -> None:
        for _ in range(3):
            story.write("get", LOW, "a@1", status=200)
            story.write("delete", LOW, "a@1")
        found = judged("I6", story)
        assert (found.outcome, found.checks) == (HELD, 3)

    def test_a_delete_while_live_reads_fail_is_found(self, story: Chronicle) -> None:
        for _ in range(3):
            story.write("get", LOW, "a@1", status=503)
        story.write("delete", LOW, "a@1")
        assert "after 3 failed live reads" in judged("I6", story).findings[0].what

    def test_one_read_that_succeeds_ends_the_failures(self, story: Chronicle) -> None:
        for status in (503, 503, 503, 404):
            story.write("get", LOW, "a@1", status=status)
        story.write("delete", LOW, "a@1")
        assert judged("I6", story).outcome == HELD

    def test_reads_that_a_fault_refused_failed_too(self, story: Chronicle) -> None:
        for _ in range(3):
            story.write(REFUSED, LOW, "a@1", status=0, reason="delete")
        story.write("delete", LOW, "a@1")
        assert judged("I6", story).outcome == BROKEN

    def test_reads_whose_answers_were_lost_failed_too(self, story: Chronicle) -> None:
        for _ in range(3):
            story.write("get", LOW, "a@1", status=200, reason="delete")
            story.write(LOST, LOW, "a@1", status=0, reason="delete")
        story.write("delete", LOW, "a@1")
        assert judged("I6", story).outcome == BROKEN

    def test_a_delete_may_have_been_on_the_wire_when_the_last_read_failed(self, story: Chronicle) -> None:
        for _ in range(3):
            story.write("get", LOW, "a@1", status=503)
        story.write("delete", LOW, "a@1")
        story.entries[-1].time = story.entries[-2].time + 0.1
        assert judged("I6", story).outcome == HELD

    def test_reads_of_another_kind_of_primaries_are_another_controllers(self, story: Chronicle) -> None:
        story.write("get", LOW, "a@1", uid=LOW, resource="demo/v1/sites", status=200)
        for _ in range(3):
            story.write("get", LOW, "a@1", status=503)
        story.write("delete", uid_in(KeyRange(0, 2**62)), "a@1")
        assert uid_in(KeyRange(0, 2**62)) != LOW
        assert judged("I6", story).outcome == HELD

    def test_a_read_that_succeeded_may_be_among_what_the_journal_lost(self, story: Chronicle) -> None:
        for _ in range(3):
            story.write("get", LOW, "a@1", status=503)
        story.lost = 1
        story.write("delete", LOW, "a@1")
        assert judged("I6", story).outcome == HELD

    def test_too_many_deletes_within_the_window_are_found(self, story: Chronicle) -> None:
        for _ in range(101):
            story.write("delete", LOW, "a@1")
            story.entries[-1].time = 50.0
        assert "the 101th of a within 60 s" in judged("I6", story).findings[0].what


class TestRightIncarnation:
    def test_a_write_that_lands_where_it_was_meant_to_holds(self, story: Chronicle) -> None:
        story.write("patch", LOW, "a@1", name="site", reason="status", uid=LOW, sent=Sent(uid=LOW, version="7"))
        found = judged("I13", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_status_that_lands_on_a_successor_is_found(self, story: Chronicle) -> None:
        story.write("patch", LOW, "a@1", name="site", reason="status", uid="successor")
        assert judged("I13", story).outcome == BROKEN

    def test_a_patch_of_a_primary_that_lands_on_a_successor_is_found(self, story: Chronicle) -> None:
        story.write("patch", LOW, "a@1", name="site", reason="status", uid=LOW, resource="demo/v1/sites")
        story.write("patch", LOW, "a@1", name="site", reason="patch", uid="child")
        assert judged("I13", story).outcome == HELD
        story.write("patch", LOW, "a@1", name="site", reason="patch", uid="successor", resource="demo/v1/sites")
        assert judged("I13", story).outcome == BROKEN

    def test_a_delete_that_removes_another_object_than_it_named_is_found(self, story: Chronicle) -> None:
        story.write("delete", LOW, "a@1", uid="successor", sent=Sent(uid="c1", version="7"))
        assert "was meant for c1" in judged("I13", story).findings[0].what
