"""I15, I17, I21: each holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

import pytest

from fleet.devcluster.journal import TRUNCATED, Entry, Shown
from fleet.devcluster.judging.bounds import Bounds
from fleet.devcluster.verdict import BROKEN, HELD
from tests.unit.fleet.devcluster.chronicle import LOWER, Chronicle, two_members, uid_in
from tests.unit.fleet.devcluster.judging.stories import Notebook, judged

LOW = uid_in(LOWER)


@pytest.fixture
def story() -> Chronicle:
    return two_members()


def cut_short(story: Chronicle) -> None:
    """The list that was asked for last."""
    listed = story.entries[-1]
    entry = story.add(TRUNCATED, listed.resource, "", user_agent=listed.user_agent, status=0, note="cut after 10 bytes")
    assert isinstance(entry, Entry)


class TestNeverBack:
    def test_resume_versions_that_grow_hold(self, story: Chronicle) -> None:
        story.informer("list")
        for version in ("5", "5", "10"):
            story.informer("watch", resource_version=version)
        found = judged("I15", story)
        assert (found.outcome, found.checks) == (HELD, 3)

    def test_a_resume_version_that_falls_is_found(self, story: Chronicle) -> None:
        story.informer("list")
        story.informer("watch", resource_version="10")
        story.informer("watch", resource_version="9")
        assert "resumed at 9 after 10" in judged("I15", story).findings[0].what

    def test_a_list_begins_anew(self, story: Chronicle) -> None:
        story.informer("watch", resource_version="10")
        story.informer("list")
        story.informer("watch", resource_version="9")
        assert judged("I15", story).outcome == HELD

    def test_a_version_that_nobody_gave_is_found(self, story: Chronicle) -> None:
        story.informer("event", shown=Shown(type="LIST", version="5"))
        story.informer("event", shown=Shown(type="ADDED", version="6"))
        story.informer("watch", resource_version="6")
        assert judged("I15", story).outcome == HELD
        story.informer("watch", resource_version="7")
        assert "was given nothing after 6" in judged("I15", story).findings[0].what

    def test_an_object_that_goes_back_in_a_view_is_found(self, story: Chronicle) -> None:
        book = Notebook()
        book.change("added", "c1", "10")
        book.change("modified", "c1", "12")
        assert judged("I15", story, book.notes).checks == 2
        book.change("modified", "c1", "11")
        assert judged("I15", story, book.notes).outcome == BROKEN

    def test_a_restored_server_takes_a_view_back(self, story: Chronicle) -> None:
        book = Notebook()
        for version, at in (("10", "20"), ("4", "5")):
            book.write("listed", resource="v1/configmaps", version=at)
            book.change("modified", "c1", version, by="list")
        assert judged("I15", story, book.notes).outcome == HELD


class TestWholeLists:
    def test_lists_that_come_whole_hold(self, story: Chronicle) -> None:
        story.informer("list")
        story.informer("watch", resource_version="5")
        found = judged("I17", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_watch_from_a_list_that_was_cut_is_found(self, story: Chronicle) -> None:
        story.informer("list")
        cut_short(story)
        story.informer("watch", resource_version="5")
        assert "from a list that was cut short" in judged("I17", story).findings[0].what

    def test_a_list_that_was_asked_for_again_holds(self, story: Chronicle) -> None:
        story.informer("list")
        cut_short(story)
        story.informer("list")
        story.informer("watch", resource_version="5")
        assert judged("I17", story).outcome == HELD

    def test_a_deletion_by_a_list_that_was_not_completed_is_found(self, story: Chronicle) -> None:
        book = Notebook()
        book.change("added", "c1", "10")
        book.write("list", resource="v1/configmaps")
        book.write("listed", resource="v1/configmaps", version="20")
        book.change("deleted", "c1", "10", by="list")
        assert judged("I17", story, book.notes).outcome == HELD
        book.write("list", resource="v1/configmaps")
        book.change("deleted", "c2", "10", by="list")
        assert judged("I17", story, book.notes).outcome == BROKEN


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
