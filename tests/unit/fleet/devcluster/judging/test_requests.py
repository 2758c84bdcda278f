"""I15, I17, I21: each holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

import pytest

from fleet.devcluster.journal import TRUNCATED, Entry, Shown
from fleet.devcluster.judging.bounds import Bounds
from fleet.devcluster.verdict import HELD
from tests.unit.fleet.devcluster.chronicle import LOWER, Chronicle, two_members, uid_in
from tests.unit.fleet.devcluster.judging.stories import judged

LOW = uid_in(LOWER)


@pytest.fixture
def story() -> Chronicle:
    return two_members()


def cut_short(story: Chronicle) -> None:
    """The list that was asked for last."""
    listed = story.entries[-1]
    entry = story.add(TRUNCATED, listed.resource, "", user_agent=listed.user_agent, status=0, note="cut after 10 bytes")
    assert isinstance(entry, Entry)


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
