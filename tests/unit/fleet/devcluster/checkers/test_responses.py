"""I9 and I10: each holds on a story that keeps it, and finds the break in one that does not."""

from __future__ import annotations

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED
from fleet.devcluster.recording.journal import FAULT, FAULT_END, RESTORED
from shards.journal import Note
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


def change(story: Chronicle, version: str, uid: str = LOW) -> None:
    story.add("update", SITES, "site", user_agent="kubectl/1", uid=uid, resource_version=version)


class TestWokenUp:
    def start(self, story: Chronicle, version: str, *, after_seconds: float = 1.0, uid: str = LOW) -> Notebook:
        book = Notebook(now=story.now + after_seconds - 2.0)
        book.write("view", resource=SITES, outcome="whole")
        book.write("started", resource=SITES, key="default/site", uid=uid, views={SITES: version})
        book.notes.append(Note("begin", 1.0, "b"))
        return book

    def test_a_change_that_a_reconcile_sees_in_time_holds(self, story: Chronicle) -> None:
        change(story, "20")
        found = judged("I9", story, self.start(story, "20").notes)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_change_that_is_seen_late_is_found(self, story: Chronicle) -> None:
        change(story, "20")
        assert judged("I9", story, self.start(story, "20", after_seconds=75.0).notes).outcome == BROKEN

    def test_so_is_one_in_a_history_whose_versions_a_restore_has_begun_again(self, story: Chronicle) -> None:
        change(story, "500", uid=HIGH)
        story.add(RESTORED, "", "")
        change(story, "20")
        assert judged("I9", story, self.start(story, "20", after_seconds=75.0).notes).outcome == BROKEN

    def test_a_change_that_no_reconcile_sees_is_found(self, story: Chronicle) -> None:
        change(story, "20", uid="other")
        change(story, "21")
        found = judged("I9", story, self.start(story, "21", after_seconds=75.0, uid="nobody").notes)
        assert found.broken == 2

    def test_a_reconcile_on_an_older_view_does_not_count(self, story: Chronicle) -> None:
        change(story, "20")
        book = self.start(story, "19")
        book.now += 80
        book.write("ended")
        assert judged("I9", story, book.notes).outcome == BROKEN

    @pytest.mark.parametrize(
        ("cause", "view", "outcome"),
        [
            ("paused", "20", NOT_JUDGED),
            ("quarantined", "21", NOT_JUDGED),
            ("paused", "19", BROKEN),
            ("turn", "20", BROKEN),
        ],
    )
    def test_a_key_that_is_not_to_run_need_not_as_far_as_its_worker_has_seen(
        self, story: Chronicle, cause: str, view: str, outcome: str
    ) -> None:
        change(story, "20")
        book = self.start(story, "20", uid="another")
        book.write("aside", resource=SITES, key="default/site", uid=LOW, cause=cause, views={SITES: view})
        book.now += 80
        book.write("ended")
        assert judged("I9", story, book.notes).outcome == outcome

    def test_what_was_removed_need_not_be_seen(self, story: Chronicle) -> None:
        change(story, "20")
        story.add("delete", SITES, "site", user_agent="kubectl/1", uid=LOW, removed=True)
        found = judged("I9", story, self.start(story, "10", after_seconds=60.0).notes)
        assert found.outcome == NOT_JUDGED

    def test_a_member_without_a_journal_may_have_seen_it(self, story: Chronicle) -> None:
        change(story, "20")
        notes = [note for note in self.start(story, "20", after_seconds=75.0).notes if note.member == "a"]
        found = judged("I9", story, notes)
        assert (found.outcome, found.why) == (NOT_JUDGED, "the worker journals of b are missing")

    def test_a_write_that_changed_nothing_wakes_nobody(self, story: Chronicle) -> None:
        change(story, "20")
        book = self.start(story, "20")
        story.wait(5)
        change(story, "20")
        story.wait(100)
        story.coordinator()
        assert judged("I9", story, book.notes).outcome == HELD

    def test_an_object_that_no_view_shows_is_not_the_fleets(self, story: Chronicle) -> None:
        change(story, "20")
        book = self.start(story, "20", after_seconds=75.0, uid="another")
        book.notes = [note for note in book.notes if note.what != "view"]
        assert judged("I9", story, book.notes).broken == 0
        book.notes.insert(0, Note("change", 1.0, "a", uid=LOW, cause="added"))
        assert judged("I9", story, book.notes).broken == 1

    def test_the_time_of_a_fault_does_not_count(self, story: Chronicle) -> None:
        change(story, "20")
        story.add(FAULT, "", "", note="x")
        story.wait(70)
        assert judged("I9", story, self.start(story, "20", after_seconds=75.0).notes).broken == 0
        story.add(FAULT_END, "", "", note="x")
        assert judged("I9", story, self.start(story, "20", after_seconds=50.0).notes).broken == 0
        assert judged("I9", story, self.start(story, "20", after_seconds=75.0).notes).broken == 1

    def test_a_fleet_that_ended_sees_nothing_any_more(self, story: Chronicle) -> None:
        book = self.start(story, "10")
        story.member("a", 1, by="a@1")
        change(story, "20")
        story.wait(100)
        story.coordinator()
        book.notes.append(Note("pulse", 500.0, "a"))
        assert judged("I9", story, book.notes).broken == 0
        story.member("a", 1, by="a@1")
        assert judged("I9", story, book.notes).broken == 1

    @pytest.mark.parametrize("lost", ["entries", "notes"])
    def test_what_was_lost_may_hold_the_start(self, story: Chronicle, lost: str) -> None:
        change(story, "20")
        book = self.start(story, "10", after_seconds=75.0)
        if lost == "notes":
            book.write("lost", count=1)
        else:
            story.lost = 1
            story.coordinator()
        assert judged("I9", story, book.notes).broken == 0

    def test_without_worker_journals_nothing_is_said(self, story: Chronicle) -> None:
        change(story, "20")
        assert judged("I9", story).why == "the journals lack worker journals"


class TestAtRest:
    def test_a_fleet_that_rests_holds(self, story: Chronicle) -> None:
        change(story, "20")
        story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content="x")
        story.wait(60)
        story.member("a", 1)
        found = judged("I10", story)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_fleet_that_writes_without_a_cause_is_found(self, story: Chronicle) -> None:
        change(story, "20")
        story.wait(60)
        story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content="x")
        assert "61.0 s after the last change" in judged("I10", story).findings[0].what

    def test_where_there_is_no_fleet_nobody_rests(self) -> None:
        story = Chronicle()
        change(story, "20")
        story.wait(100)
        change(story, "21")
        assert judged("I10", story).outcome == NOT_JUDGED

    def test_a_journal_without_a_quiet_time_says_nothing(self, story: Chronicle) -> None:
        change(story, "20")
        story.write("patch", LOW, "a@1", subresource="status", uid=LOW, content="x")
        assert judged("I10", story).outcome == NOT_JUDGED

    def test_a_write_that_does_not_say_for_whom_is_found_too(self, story: Chronicle) -> None:
        change(story, "20")
        story.wait(60)
        story.add("patch", SITES, "site", user_agent="fleet/0 m=a e=1")
        assert judged("I10", story).outcome == BROKEN

    def test_leases_and_the_map_are_written_at_rest_too(self, story: Chronicle) -> None:
        change(story, "20")
        story.wait(60)
        story.member("a", 1, by="a@1")
        story.layout(1, ("a", "b"), HALVES)
        assert judged("I10", story).outcome == HELD

    def test_while_a_fault_is_in_force_nothing_is_at_rest(self, story: Chronicle) -> None:
        change(story, "20")
        story.add(FAULT, "", "", note='{"fault":"silence","until_seconds":100}')
        story.wait(120)
        story.write("patch", LOW, "a@1", uid=LOW)
        assert judged("I10", story).outcome == NOT_JUDGED
        story.wait(20)
        story.write("patch", LOW, "a@1", uid=LOW)
        assert judged("I10", story).outcome == BROKEN

    def test_a_change_may_be_among_what_the_journal_lost(self, story: Chronicle) -> None:
        change(story, "20")
        story.wait(58)
        story.lost = 1
        story.write("patch", LOW, "a@1", uid=LOW)
        assert judged("I10", story).broken == 0
