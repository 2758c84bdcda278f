"""I11, I12: each holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED
from fleet.devcluster.judging.judge import counts_of
from fleet.devcluster.recording.journal import LOST
from tests.unit.fleet.devcluster.chronicle import LOWER, Chronicle, two_members, uid_in
from tests.unit.fleet.devcluster.judging.stories import judged

LOW = uid_in(LOWER)
SITES = "demo.shardfleet.dev/v1/websites"


@pytest.fixture
def story() -> Chronicle:
    return two_members()


class TestOnceOnly:
    def test_one_post_and_different_statuses_hold(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
        for content in ("x", "y"):
            story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content=content)
        found = judged("I11", story)
        assert (found.outcome, found.checks) == (HELD, 2)

    def test_a_second_post_is_found(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
        story.write("create", LOW, "a@1", name="child", status=409)
        assert judged("I11", story).outcome == BROKEN

    def test_a_second_post_that_succeeds_shows_that_the_first_child_is_gone(self, story: Chronicle) -> None:
        for uid in ("c1", "c2"):
            story.write("create", LOW, "a@1", name="child", uid=uid, owner_uid=LOW)
        assert judged("I11", story).outcome == HELD

    def test_a_post_that_lands_late_meets_the_one_that_was_made_meanwhile(self, story: Chronicle) -> None:
        lost = story.write("create", LOW, "a@1", name="child", status=0, reason="create")
        lost.verb, lost.note = LOST, '{"fault":"late_landing","seconds":5}'
        story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
        story.write("create", LOW, "a@1", name="child", status=409)
        assert judged("I11", story).outcome == HELD

    def test_a_deletion_may_be_among_what_the_journal_lost(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
        story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content="x")
        story.lost = 1
        story.write("create", LOW, "a@1", name="child", status=409)
        story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content="x")
        assert judged("I11", story).broken == 0

    def test_the_same_status_again_is_found(self, story: Chronicle) -> None:
        for _ in range(2):
            story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content="x")
        assert judged("I11", story).outcome == BROKEN


class TestSameAsReference:
    def test_a_run_that_does_the_same_holds(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
        found = judged("I12", story, reference=counts_of(story.entries))
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_run_that_creates_or_removes_something_else_is_found(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
        reference = counts_of(story.entries)
        story.write("delete", LOW, "a@1", name="child", uid="c1", removed=True)
        story.write("create", LOW, "a@1", name="child", uid="c2", owner_uid=LOW)
        assert judged("I12", story, reference=reference).broken == 2

    def test_a_journal_that_lost_entries_cannot_be_counted(self, story: Chronicle) -> None:
        reference = counts_of(story.entries)
        story.lost = 1
        story.write("create", LOW, "a@1", name="child", uid="c1", owner_uid=LOW)
        found = judged("I12", story, reference=reference)
        assert (found.outcome, found.broken) == (NOT_JUDGED, 0)
        assert found.why.startswith("the journal lost entries")

    def test_without_a_reference_nothing_is_said(self, story: Chronicle) -> None:
        assert judged("I12", story).why == "the journals lack a reference run"
