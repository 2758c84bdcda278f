"""I21: holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD
from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.recording.journal import LOST, REFUSED, RESTORED, Shown
from tests.unit.fleet.devcluster.chronicle import LOWER, Chronicle, two_members, uid_in
from tests.unit.fleet.devcluster.judging.stories import judged

LOW = uid_in(LOWER)


@pytest.fixture
def story() -> Chronicle:
    return two_members()


class TestBoundedLoad:
    def test_who_waits_as_long_as_it_is_asked_holds(self, story: Chronicle) -> None:
        refused = Shown(retry_after_seconds=5.0)
        story.write("patch", LOW, "a@1", status=429, shown=refused)
        story.wait(5)
        story.write("patch", LOW, "a@1")
        found = judged("I21", story)
        assert (found.outcome, found.checks) == (HELD, 2)

    def test_who_asks_again_too_early_is_found(self, story: Chronicle) -> None:
        story.informer("list", status=429, shown=Shown(retry_after_seconds=5.0))
        story.informer("list")
        assert "too early" in judged("I21", story).findings[0].what

    def test_more_requests_than_the_bound_within_a_second_are_found(self, story: Chronicle) -> None:
        for _ in range(12):
            story.informer("list")
            story.entries[-1].time = 50.0
        assert judged("I21", story).outcome == HELD
        found = judged("I21", story, bounds=Bounds(requests_per_second=10))
        assert "more than 10 requests within a second" in found.findings[0].what

    def test_too_many_conflicts_are_found(self, story: Chronicle) -> None:
        for i in range(60):
            story.write("patch", LOW, "a@1", status=409 if i % 3 else 200)
        assert "40 of 60 writes were answered with a conflict" in judged("I21", story).findings[0].what

    @pytest.mark.parametrize("status", [429, 503])
    def test_whatever_refusal_asks_for_a_pause_gets_it(self, story: Chronicle, status: int) -> None:
        story.write("patch", LOW, "a@1", status=status, shown=Shown(retry_after_seconds=5.0))
        story.write("get", LOW, "a@1")
        assert judged("I21", story).outcome == BROKEN

    def test_what_a_fault_refused_counts_too(self, story: Chronicle) -> None:
        story.informer(REFUSED, status=429, shown=Shown(retry_after_seconds=5.0))
        story.informer("list")
        assert judged("I21", story).outcome == BROKEN

    def test_a_new_process_was_asked_for_nothing(self, story: Chronicle) -> None:
        story.informer("list", status=429, shown=Shown(retry_after_seconds=5.0))
        story.member("a", 2, count=2, by="a@2")
        story.informer("list")
        assert judged("I21", story).outcome == HELD

    def test_after_a_restore_nobody_knows_who_begins_anew(self, story: Chronicle) -> None:
        story.add(RESTORED, "", "")
        story.informer("list", status=503, shown=Shown(retry_after_seconds=5.0))
        story.member("a", 2, by="a@2")
        story.informer("list")
        assert judged("I21", story).outcome == HELD

    def test_what_landed_late_was_sent_before(self, story: Chronicle) -> None:
        sent = story.write("patch", LOW, "a@1", status=0)
        sent.verb, sent.note = LOST, '{"fault":"late_landing","seconds":5}'
        story.write("get", LOW, "a@1", status=429, shown=Shown(retry_after_seconds=5.0))
        story.write("patch", LOW, "a@1")
        assert judged("I21", story).outcome == HELD

    def test_the_second_may_begin_anywhere(self, story: Chronicle) -> None:
        for at in (50.9, 51.1):
            for _ in range(6):
                story.informer("list")
                story.entries[-1].time = at
        found = judged("I21", story, bounds=Bounds(requests_per_second=10))
        assert (found.outcome, found.broken) == (BROKEN, 1)

    def test_requests_that_concern_no_key_count_too(self, story: Chronicle) -> None:
        for _ in range(12):
            story.member("a", 1, by="a@1")
            story.entries[-1].time = 50.0
        assert judged("I21", story, bounds=Bounds(requests_per_second=10)).outcome == BROKEN

    def test_a_collection_that_is_deleted_is_one_request(self, story: Chronicle) -> None:
        for _ in range(12):
            story.write("deletecollection", LOW, "a@1")
            story.entries[-1].time = 50.0
        assert judged("I21", story, bounds=Bounds(requests_per_second=10)).outcome == HELD

    def test_a_minute_of_conflicts_is_found_whatever_comes_after(self, story: Chronicle) -> None:
        for i in range(60):
            story.write("patch", LOW, "a@1", status=409 if i % 3 else 200)
        for _ in range(500):
            story.write("patch", LOW, "a@1")
        assert judged("I21", story).broken == 1
