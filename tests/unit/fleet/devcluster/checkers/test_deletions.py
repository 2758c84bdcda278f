"""I17: holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED
from fleet.devcluster.recording.journal import TRUNCATED, Shown
from shards.keyrange import SPACE, WHOLE
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


RESOURCE = "v1/configmaps"


def cut_short(story: Chronicle) -> None:
    """The list that was asked for last."""
    listed = story.entries[-1]
    story.add(
        TRUNCATED,
        listed.resource,
        "",
        user_agent=listed.user_agent,
        status=0,
        note="cut after 10 bytes",
        sent=listed.sent,
    )


def page(story: Chronicle, *uids: str, complete: bool = True, **fields: Any) -> None:
    objects = dict.fromkeys(uids, "5")
    story.informer("event", shown=Shown(type="LIST", version="10", complete=complete, objects=objects), **fields)


def event(story: Chronicle, uid: str, type: str = "DELETED", **fields: Any) -> None:
    story.informer("event", shown=Shown(type=type, version="11"), **fields)
    story.entries[-1].uid = uid


def listed(book: Notebook, version: str = "20") -> None:
    book.write("list", resource=RESOURCE)
    book.write("listed", resource=RESOURCE, version=version)


class TestWholeLists:
    def test_lists_that_nobody_cut_and_that_remove_nothing_say_nothing(self, story: Chronicle) -> None:
        story.informer("list")
        story.informer("watch", resource_version="5")
        found = judged("I17", story)
        assert (found.outcome, found.checks) == (NOT_JUDGED, 0)

    def test_a_watch_from_a_list_that_was_cut_is_found(self, story: Chronicle) -> None:
        story.informer("list")
        cut_short(story)
        story.informer("watch", resource_version="5")
        assert "from a list that was cut short" in judged("I17", story).findings[0].what

    def test_a_list_from_a_cache_that_was_cut_is_one_too(self, story: Chronicle) -> None:
        story.informer("list", resource_version="0")
        cut_short(story)
        story.informer("watch", resource_version="5")
        assert judged("I17", story).outcome == BROKEN

    def test_a_list_that_was_asked_for_again_holds(self, story: Chronicle) -> None:
        story.informer("list")
        cut_short(story)
        story.informer("list")
        story.informer("watch", resource_version="5")
        found = judged("I17", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_page_that_was_asked_for_again_holds(self, story: Chronicle) -> None:
        story.informer("list", continues=True)
        cut_short(story)
        story.informer("list", continues=True)
        story.informer("watch", resource_version="5")
        assert judged("I17", story).outcome == HELD

    def test_a_look_at_the_servers_version_is_no_list(self, story: Chronicle) -> None:
        story.informer("list")
        cut_short(story)
        story.informer("list", limit=1)
        story.informer("watch", resource_version="5")
        assert judged("I17", story).outcome == BROKEN

    def test_a_watch_that_was_cut_is_none(self, story: Chronicle) -> None:
        story.informer("watch", resource_version="5", watch=True)
        cut_short(story)
        story.informer("watch", resource_version="5", watch=True)
        assert judged("I17", story).broken == 0

    def test_a_watch_from_pages_that_were_not_all_given_is_found(self, story: Chronicle) -> None:
        page(story, "c1", complete=False)
        page(story, "c2", continues=True)
        story.informer("watch", resource_version="10")
        found = judged("I17", story)
        assert (found.outcome, found.checks) == (HELD, 1)
        page(story, "c1", complete=False)
        story.informer("watch", resource_version="10")
        assert "without having been given its last page" in judged("I17", story).findings[0].what

    def test_a_deletion_by_a_list_that_was_not_completed_is_found(self, story: Chronicle, book: Notebook) -> None:
        listed(book)
        book.change("deleted", "c1", "10", by="list")
        found = judged("I17", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 1)
        book.write("list", resource=RESOURCE)
        book.change("deleted", "c2", "10", by="list")
        assert judged("I17", story, book.notes).outcome == BROKEN

    @pytest.mark.parametrize("end", ["stopped", "begin"])
    def test_a_deletion_by_a_list_of_an_earlier_view_is_found(self, story: Chronicle, book: Notebook, end: str) -> None:
        listed(book)
        book.write(end)
        book.change("deleted", "c1", "10", by="list")
        assert judged("I17", story, book.notes).outcome == BROKEN

    def test_a_deletion_by_a_list_that_was_cut_is_found(self, story: Chronicle, book: Notebook) -> None:
        story.informer("list")
        cut_short(story)
        listed(book)
        book.change("deleted", "c1", "10", by="list")
        assert "by a list that was cut short" in judged("I17", story, book.notes).findings[0].what

    def test_a_deletion_by_a_list_that_holds_the_object_is_found(self, story: Chronicle, book: Notebook) -> None:
        page(story, "c1", complete=False)
        page(story, "c2", continues=True)
        listed(book)
        book.change("deleted", "c3", "10", by="list")
        assert judged("I17", story, book.notes).outcome == HELD
        book.change("deleted", "c1", "10", by="list")
        assert "by a list that holds it" in judged("I17", story, book.notes).findings[0].what

    def test_a_deletion_without_an_event_is_found_where_deliveries_are_told(
        self, story: Chronicle, book: Notebook
    ) -> None:
        book.write("list", resource=RESOURCE)
        book.change("deleted", "c1", "10")
        assert judged("I17", story, book.notes).outcome == NOT_JUDGED
        page(story)
        event(story, "c1")
        found = judged("I17", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 1)
        book.change("deleted", "c2", "10")
        assert judged("I17", story, book.notes).broken == 0, "the server's journal may have ended too early"
        story.wait(200)
        story.coordinator()
        assert "by an event that nobody delivered" in judged("I17", story, book.notes).findings[0].what

    def test_a_view_that_is_fed_by_a_shared_stream_is_judged_by_its_lists(
        self, story: Chronicle, book: Notebook
    ) -> None:
        page(story, "c1", within=None)
        listed(book)
        book.change("deleted", "c2", "10", by="list")
        assert judged("I17", story, book.notes).outcome == HELD
        book.change("deleted", "c1", "10", by="list")
        assert "by a list that holds it" in judged("I17", story, book.notes).findings[0].what

    def test_a_list_beside_a_shared_stream_is_the_newer_one_until_the_stream_lists(
        self, story: Chronicle, book: Notebook
    ) -> None:
        page(story, "c1", within=None)
        page(story, within=WHOLE)
        listed(book)
        book.change("deleted", "c1", "10", by="list")
        assert judged("I17", story, book.notes).outcome == HELD
        page(story, "c1", within=None)
        assert judged("I17", story, book.notes).outcome == BROKEN

    def test_an_event_of_a_shared_stream_removes_an_object_from_a_view(self, story: Chronicle, book: Notebook) -> None:
        page(story, within=None)
        page(story)
        event(story, "c1", within=None)
        book.write("list", resource=RESOURCE)
        book.change("deleted", "c1", "10")
        assert judged("I17", story, book.notes).outcome == HELD
        book.change("deleted", "c2", "10")
        story.wait(200)
        story.coordinator()
        assert "by an event that nobody delivered" in judged("I17", story, book.notes).findings[0].what

    def test_an_object_in_anothers_place_removes_it(self, story: Chronicle, book: Notebook) -> None:
        page(story)
        event(story, "successor", "ADDED")
        story.entries[-1].name = "x"
        book.write("list", resource=RESOURCE)
        book.change("deleted", "c1", "10")
        assert judged("I17", story, book.notes).outcome == HELD

    def test_lost_events_and_lists_excuse(self, story: Chronicle, book: Notebook) -> None:
        page(story, "c1", complete=False)
        story.lost = 3
        story.informer("watch", resource_version="10")
        event(story, "c2")
        book.write("lost", count=2)
        book.change("deleted", "c1", "10")
        book.change("deleted", "c1", "10", by="list")
        assert judged("I17", story, book.notes).broken == 0

    def test_two_views_of_one_resource_are_not_confused(self, story: Chronicle, book: Notebook) -> None:
        page(story, "c1")
        for role in ("owned", "watched"):
            book.write("list", resource=RESOURCE, role=role)
            book.write("listed", resource=RESOURCE, role=role, version="10")
        book.change("deleted", "c1", "5", by="list")
        book.notes[-1].role = "owned"
        assert judged("I17", story, book.notes).outcome == HELD
