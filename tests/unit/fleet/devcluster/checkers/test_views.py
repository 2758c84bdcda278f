"""I15: holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD
from fleet.devcluster.recording.journal import RESTORED, Shown
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


RESOURCE = "v1/configmaps"


def given(story: Chronicle, version: str, type: str = "LIST", **fields: Any) -> None:
    story.informer("event", shown=Shown(type=type, version=version), **fields)


class TestNeverBack:
    def test_resume_versions_that_grow_hold(self, story: Chronicle) -> None:
        story.informer("list")
        for version in ("5", "5", "10"):
            story.informer("watch", resource_version=version)
        found = judged("I15", story)
        assert (found.outcome, found.checks) == (HELD, 2)

    def test_the_first_watch_has_nothing_to_fall_below(self, story: Chronicle) -> None:
        story.informer("list")
        story.informer("watch", resource_version="5")
        assert judged("I15", story).why.startswith("no resumed watches")

    def test_a_resume_version_that_falls_is_found(self, story: Chronicle) -> None:
        story.informer("list")
        story.informer("watch", resource_version="10")
        story.informer("watch", resource_version="9")
        assert "resumed at 9 after 10" in judged("I15", story).findings[0].what

    def test_a_server_that_is_said_to_be_restored_may_take_everything_back(self, story: Chronicle) -> None:
        story.informer("list")
        story.informer("watch", resource_version="10")
        story.add(RESTORED, "", "")
        story.informer("watch", resource_version="9")
        assert judged("I15", story).broken == 0

    @pytest.mark.parametrize("look", [{"limit": 1}, {}, {"resource_version": "0"}])
    def test_a_list_between_excuses_nothing(self, story: Chronicle, look: dict[str, Any]) -> None:
        """A look at the server's version, a relist after a 410, a list from a replica's cache."""
        story.informer("watch", resource_version="10")
        story.informer("watch", resource_version="10", status=410)
        story.informer("list", **look)
        story.informer("watch", resource_version="9")
        assert judged("I15", story).broken == 1

    def test_a_list_of_a_stale_replica_is_found_when_it_is_given(self, story: Chronicle) -> None:
        given(story, "10")
        given(story, "12", "BOOKMARK")
        given(story, "11", resource_version="0")
        found = judged("I15", story)
        assert "was given a list at 11 after 12" in found.findings[0].what
        story.informer("watch", resource_version="11")
        assert judged("I15", story).broken == 1

    def test_a_look_at_the_servers_version_is_no_list(self, story: Chronicle) -> None:
        given(story, "10")
        given(story, "5", limit=1)
        given(story, "30", limit=1)
        story.informer("watch", resource_version="10")
        assert judged("I15", story).outcome == HELD
        story.informer("watch", resource_version="30")
        assert "was given nothing after 10" in judged("I15", story).findings[0].what

    def test_later_pages_have_the_version_of_the_first(self, story: Chronicle) -> None:
        given(story, "5")
        story.informer("event", shown=Shown(type="LIST", version="10", complete=False))
        given(story, "11", "ADDED", labels="x")
        given(story, "10", continues=True)
        assert judged("I15", story).outcome == HELD

    def test_a_version_that_nobody_gave_is_found(self, story: Chronicle) -> None:
        given(story, "5")
        given(story, "6", "ADDED")
        story.informer("watch", resource_version="6")
        assert judged("I15", story).outcome == HELD
        story.informer("watch", resource_version="7")
        assert "was given nothing after 6" in judged("I15", story).findings[0].what

    def test_a_version_of_a_list_that_was_not_given_whole_is_none(self, story: Chronicle) -> None:
        given(story, "5")
        story.informer("event", shown=Shown(type="LIST", version="9", complete=False))
        story.informer("watch", resource_version="9")
        assert judged("I15", story).outcome == BROKEN

    def test_a_new_process_builds_its_views_anew(self, story: Chronicle) -> None:
        story.informer("watch", resource_version="10")
        story.member("a", 2, count=2, by="a@2")
        story.informer("watch", resource_version="9")
        assert judged("I15", story).broken == 0

    def test_who_let_a_range_go_builds_its_views_anew(self, story: Chronicle) -> None:
        story.informer("watch", resource_version="10")
        story.shard(LOWER, 2, released_by="a@1", by="a@1")
        story.informer("watch", resource_version="9")
        assert judged("I15", story).broken == 0

    def test_what_the_journal_lost_may_hold_the_new_view(self, story: Chronicle) -> None:
        story.informer("watch", resource_version="10")
        story.lost = 1
        story.informer("watch", resource_version="9")
        assert judged("I15", story).broken == 0

    def test_members_of_two_fleets_with_one_name_cannot_be_told_apart(self, story: Chronicle) -> None:
        story.beside("shop").member("a", 1)
        story.informer("watch", resource_version="10")
        story.informer("watch", resource_version="9")
        assert judged("I15", story).broken == 0

    def test_an_object_that_goes_back_in_a_view_is_found(self, story: Chronicle, book: Notebook) -> None:
        book.change("added", "c1", "10")
        book.change("modified", "c1", "12")
        assert judged("I15", story, book.notes).checks == 1
        book.change("modified", "c1", "11")
        assert judged("I15", story, book.notes).outcome == BROKEN

    @pytest.mark.parametrize("what", ["listed", "view"])
    def test_a_view_whose_version_goes_back_is_found(self, story: Chronicle, book: Notebook, what: str) -> None:
        book.write("listed", resource=RESOURCE, version="10")
        book.write("started", views={RESOURCE: "12"})
        book.write(what, resource=RESOURCE, version="11")
        assert "went from 12 back to 11" in judged("I15", story, book.notes).findings[0].what

    def test_a_list_that_takes_a_view_back_is_told_once(self, story: Chronicle, book: Notebook) -> None:
        for version, at in (("10", "20"), ("4", "5")):
            book.write("listed", resource=RESOURCE, version=at)
            book.change("modified", "c1", version, by="list")
        assert judged("I15", story, book.notes).broken == 1

    def test_a_restored_server_takes_a_view_back(self, story: Chronicle, book: Notebook) -> None:
        book.now = 10.0
        story.add("create", RESOURCE, "one", uid="c1", resource_version="20")
        book.write("listed", resource=RESOURCE, version="20")
        book.write("listed", resource=RESOURCE, version="5")
        story.informer("watch", resource_version="20")
        story.informer("watch", resource_version="5")
        story.wait(10)
        story.add("create", RESOURCE, "two", uid="c2", resource_version="21")
        assert judged("I15", story, book.notes).broken == 2
        story.wait(10)
        story.add("create", RESOURCE, "three", uid="c3", resource_version="6")
        assert judged("I15", story, book.notes).broken == 0

    def test_a_view_may_find_out_late_that_its_server_was_restored(self, story: Chronicle, book: Notebook) -> None:
        story.add("create", RESOURCE, "one", uid="c1", resource_version="20")
        story.wait(10)
        story.add("create", RESOURCE, "two", uid="c2", resource_version="6")
        for version in ("20", "7"):
            book.write("listed", resource=RESOURCE, version=version)
        assert judged("I15", story, book.notes).broken == 0
        story.add("create", RESOURCE, "three", uid="c3", resource_version="9")
        for version in ("9", "8"):
            book.write("listed", resource=RESOURCE, version=version)
        assert judged("I15", story, book.notes).broken == 1

    @pytest.mark.parametrize("what", ["stopped", "begin", "lost"])
    def test_a_view_that_ended_is_forgotten(self, story: Chronicle, book: Notebook, what: str) -> None:
        book.write("listed", resource=RESOURCE, version="10")
        book.change("added", "c1", "10")
        book.write(what)
        book.write("listed", resource=RESOURCE, version="9")
        book.change("added", "c1", "9")
        assert judged("I15", story, book.notes).broken == 0

    def test_two_views_of_one_resource_are_two(self, story: Chronicle, book: Notebook) -> None:
        book.write("listed", resource=RESOURCE, role="owned", version="10")
        book.write("listed", resource=RESOURCE, role="watched", version="9")
        book.write("started", views={RESOURCE: "9"})
        assert judged("I15", story, book.notes).broken == 0
