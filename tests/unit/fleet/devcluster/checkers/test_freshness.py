"""I3 holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

from copy import copy

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED
from fleet.devcluster.recording.journal import LOST, RESTORED, Entry
from shards.keyrange import WHOLE
from tests.unit.fleet.devcluster.chronicle import LOWER, Chronicle, two_members, uid_in
from tests.unit.fleet.devcluster.judging.stories import judged

LOW = uid_in(LOWER)


@pytest.fixture
def story() -> Chronicle:
    return two_members()


def hand_over(story: Chronicle) -> None:
    """The lower half goes from a to b."""
    story.shard(LOWER, 2, released_by="a@1", by="a@1")
    story.shard(LOWER, 3, "b@1", by="b@1")


def read(story: Chronicle, status: int, verb: str = "get", name: str = "thing") -> Entry:
    """A live read for the key."""
    return story.write(verb, LOW, "a@1", name=name, status=status, reason="gate")


class TestFreshView:
    def first(self, story: Chronicle) -> None:
        story.write("create", LOW, "a@1", cache="5", uid="c1", owner_uid=LOW, resource_version="10")

    def test_writes_on_a_view_that_shows_the_last_one_hold(self, story: Chronicle) -> None:
        self.first(story)
        story.write("patch", LOW, "a@1", cache="10", uid="c1", resource_version="12")
        found = judged("I3", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_write_on_an_older_view_is_found(self, story: Chronicle) -> None:
        self.first(story)
        story.write("patch", LOW, "a@1", cache="9", uid="c1", resource_version="12")
        assert judged("I3", story).outcome == BROKEN

    def test_what_a_restored_server_has_forgotten_binds_nobody(self, story: Chronicle) -> None:
        self.first(story)
        story.add(RESTORED, "", "")
        for cache in ("4", "5"):
            story.member("a", 2)
            story.write("patch", LOW, "a@1", cache=cache, uid="c1", resource_version="6")
        found = judged("I3", story)
        assert (found.outcome, found.broken, found.checks) == (BROKEN, 1, 1)

    def test_it_is_found_across_a_handover_too(self, story: Chronicle) -> None:
        self.first(story)
        hand_over(story)
        story.write("patch", LOW, "b@1", cache="9", uid="c1", resource_version="12")
        assert judged("I3", story).outcome == BROKEN

    def test_another_fleet_on_the_same_objects_has_views_of_its_own(self, story: Chronicle) -> None:
        shop = story.beside("shop")
        shop.member("c", 5)
        shop.shard(WHOLE, 2, "c@5")
        self.first(story)
        story.write("patch", LOW, "c@5", cache="9", uid="c1", resource_version="12")
        assert judged("I3", story).outcome == NOT_JUDGED

    def test_versions_are_compared_by_length_first(self, story: Chronicle) -> None:
        self.first(story)
        story.write("patch", LOW, "a@1", cache="9", uid="c1", resource_version="100")
        assert judged("I3", story).broken == 1

    def test_a_resource_without_a_view_is_not_judged(self, story: Chronicle) -> None:
        for version in ("10", "12"):
            story.write("create", LOW, "a@1", cache="5", resource="v1/events", uid="e", resource_version=version)
        assert judged("I3", story).outcome == NOT_JUDGED

    def test_an_answer_that_got_lost_is_made_good_by_a_live_read(self, story: Chronicle) -> None:
        self.first(story)
        read(story, 404)
        story.write("create", LOW, "a@1", cache="9", uid="c2", owner_uid=LOW, resource_version="14")
        assert judged("I3", story).outcome == NOT_JUDGED

    def test_a_live_read_of_another_object_makes_nothing_good(self, story: Chronicle) -> None:
        self.first(story)
        read(story, 404, name="other")
        story.write("create", LOW, "a@1", cache="9", uid="c2", owner_uid=LOW, resource_version="14")
        assert judged("I3", story).outcome == BROKEN

    def test_a_live_list_shows_all_children(self, story: Chronicle) -> None:
        self.first(story)
        story.write("create", LOW, "a@1", cache="10", name="other", uid="c2", owner_uid=LOW, resource_version="12")
        read(story, 200, "list", name="")
        story.write("create", LOW, "a@1", cache="11", uid="c3", owner_uid=LOW, resource_version="14")
        assert judged("I3", story).outcome == HELD

    def test_what_was_known_once_stays_known(self, story: Chronicle) -> None:
        self.first(story)
        story.write("patch", LOW, "a@1", cache="10", uid="c1", resource_version="12")
        read(story, 200)
        story.write("patch", LOW, "a@1", cache="9", uid="c1", resource_version="14")
        assert judged("I3", story).outcome == BROKEN

    @pytest.mark.parametrize("status", [500, 429])
    def test_a_live_read_that_failed_makes_nothing_good(self, story: Chronicle, status: int) -> None:
        self.first(story)
        read(story, status)
        story.write("patch", LOW, "a@1", cache="9", uid="c1", resource_version="12")
        assert judged("I3", story).outcome == BROKEN

    def test_nor_does_one_whose_answer_was_lost(self, story: Chronicle) -> None:
        self.first(story)
        asked = read(story, 404)
        story.add(LOST, asked.resource, asked.name, user_agent=asked.user_agent)
        story.write("patch", LOW, "a@1", cache="9", uid="c1", resource_version="12")
        assert judged("I3", story).outcome == BROKEN

    def late(self, story: Chronicle, *, looked: bool) -> None:
        """A write lands late at 12, and the key writes again, on a view at 11."""
        self.first(story)
        if looked:
            read(story, 200)
        sent = story.write("patch", LOW, "a@1", cache="10", uid="c1", resource_version="12")
        lost = copy(sent)
        lost.verb, lost.note, lost.status = LOST, '{"fault":"late_landing"}', 0
        story.entries.insert(story.entries.index(sent), lost)
        story.write("patch", LOW, "a@1", cache="11", uid="c1", status=409)

    def test_what_lands_after_its_key_has_looked_is_known_to_nobody(self, story: Chronicle) -> None:
        self.late(story, looked=True)
        assert judged("I3", story).outcome != BROKEN

    def test_what_lands_late_is_looked_for_first(self, story: Chronicle) -> None:
        self.late(story, looked=False)
        assert judged("I3", story).outcome == BROKEN
