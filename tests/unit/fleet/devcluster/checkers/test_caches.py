"""I14, I16 and I18: each holds on notes that keep it, and finds the break in ones that do not."""

from __future__ import annotations

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED
from fleet.devcluster.recording.journal import FAULT, HIDDEN, RESTORED
from shards.journal import Note
from shards.keyrange import SPACE, KeyRange
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


class TestCacheEqualsServer:
    """The server holds LOW at 20 and HIGH at 21; LOW is at 25 later on."""

    @pytest.fixture(autouse=True)
    def _server(self, story: Chronicle) -> None:
        for uid, version in ((LOW, "20"), (HIGH, "21"), (LOW, "25")):
            story.add("update", SITES, uid, uid=uid, resource_version=version, user_agent="kubectl/1")

    def view(self, book: Notebook, version: str, **objects: str) -> None:
        book.write("view", resource=SITES, version=version, objects=objects, outcome="whole")

    def test_a_view_that_holds_what_the_server_held_then_holds(self, story: Chronicle, book: Notebook) -> None:
        self.view(book, "22", **{LOW: "20"})
        self.view(book, "25", **{LOW: "25"})
        found = judged("I14", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 2)

    def test_an_object_that_is_missing_is_found(self, story: Chronicle, book: Notebook) -> None:
        self.view(book, "22")
        assert "no version; the server had 20" in judged("I14", story, book.notes).findings[0].what

    def test_an_object_at_another_version_is_found(self, story: Chronicle, book: Notebook) -> None:
        self.view(book, "25", **{LOW: "20"})
        assert judged("I14", story, book.notes).outcome == BROKEN

    @pytest.mark.parametrize(("namespace", "outcome"), [("default", BROKEN), ("elsewhere", NOT_JUDGED)])
    def test_a_view_of_one_namespace_is_compared_with_what_is_in_it(
        self, story: Chronicle, book: Notebook, namespace: str, outcome: str
    ) -> None:
        book.write("view", resource=SITES, version="22", objects={}, outcome="namespace", key=namespace)
        assert judged("I14", story, book.notes).outcome == outcome

    def test_an_object_that_is_gone_is_found(self, story: Chronicle, book: Notebook) -> None:
        story.add("delete", SITES, LOW, uid=LOW, resource_version="25", removed=True, user_agent="kubectl/1")
        story.add("create", SITES, "other", uid=HIGH, resource_version="27", user_agent="kubectl/1")
        self.view(book, "27", **{LOW: "25"})
        assert judged("I14", story, book.notes).outcome == BROKEN

    def test_a_view_of_before_a_restore_is_not_compared_until_it_is_listed(
        self, story: Chronicle, book: Notebook
    ) -> None:
        story.add(RESTORED, "", "")
        story.add("update", SITES, LOW, uid=LOW, resource_version="22", user_agent="kubectl/1")
        self.view(book, "30", **{LOW: "25"})
        assert judged("I14", story, book.notes).outcome == NOT_JUDGED
        book.write("listed", resource=SITES)
        self.view(book, "22", **{LOW: "20"})
        assert judged("I14", story, book.notes).outcome == BROKEN

    def test_a_removal_whose_answer_names_no_version_is_one(self, story: Chronicle, book: Notebook) -> None:
        story.add("delete", SITES, LOW, uid=LOW, removed=True, user_agent="chaos/1")
        story.add("update", SITES, HIGH, uid=HIGH, resource_version="27", user_agent="kubectl/1")
        self.view(book, "27", **{HIGH: "27"})
        assert judged("I14", story, book.notes).outcome == HELD

    def test_the_answer_to_an_earlier_write_brings_no_object_back(self, story: Chronicle, book: Notebook) -> None:
        story.add("delete", SITES, LOW, uid=LOW, removed=True, user_agent="chaos/1")
        story.add("update", SITES, LOW, uid=LOW, resource_version="27", user_agent="kubectl/1")
        story.add("update", SITES, HIGH, uid=HIGH, resource_version="30", user_agent="kubectl/1")
        self.view(book, "30", **{HIGH: "30"})
        assert judged("I14", story, book.notes).outcome == HELD

    def test_of_two_deletions_in_a_row_the_second_one_is_later(self, story: Chronicle, book: Notebook) -> None:
        """Neither answer names the deletion's own version."""
        for uid, version in ((HIGH, "21"), (LOW, "25")):
            story.add("delete", SITES, uid, uid=uid, resource_version=version, removed=True, user_agent="kubectl/1")
        story.add("create", SITES, "other", uid="other", resource_version="28", user_agent="kubectl/1")
        self.view(book, "26", **{LOW: "25"})
        assert judged("I14", story, book.notes).broken == 0

    def test_a_deletion_may_be_seen_before_its_line(self, story: Chronicle, book: Notebook) -> None:
        self.view(book, "26")
        story.add("create", SITES, "other", uid=HIGH, resource_version="27", user_agent="kubectl/1")
        story.add("delete", SITES, LOW, uid=LOW, resource_version="25", removed=True, user_agent="kubectl/1")
        assert judged("I14", story, book.notes).outcome == HELD

    def test_a_write_may_be_seen_before_its_line(self, story: Chronicle, book: Notebook) -> None:
        book.now = 0.0
        self.view(book, "25", **{LOW: "25"})
        found = judged("I14", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_view_that_the_journal_has_left_behind_is_judged_once(self, story: Chronicle, book: Notebook) -> None:
        self.view(book, "25", **{LOW: "20"})
        story.wait(200)
        story.add("update", SITES, HIGH, uid=HIGH, resource_version="500", user_agent="kubectl/1")
        assert judged("I14", story, book.notes).broken == 1

    def test_a_view_beyond_the_journal_is_not_judged(self, story: Chronicle, book: Notebook) -> None:
        self.view(book, "26", **{LOW: "26"})
        assert judged("I14", story, book.notes).outcome == NOT_JUDGED

    def test_an_object_from_before_the_journal_is_not_compared(self, story: Chronicle, book: Notebook) -> None:
        story.add("update", SITES, "old", uid="old", resource_version="30", user_agent="kubectl/1")
        self.view(book, "25", **{LOW: "25", "old": "5"})
        found = judged("I14", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_an_object_that_is_not_made_yet_is_found(self, story: Chronicle, book: Notebook) -> None:
        third = uid_in(KeyRange(0, 2**61))
        story.add("create", SITES, "new", uid=third, resource_version="30", user_agent="kubectl/1")
        self.view(book, "25", **{LOW: "25", third: "5"})
        assert f"has {third} at 5; the server had none" in judged("I14", story, book.notes).findings[0].what

    def test_another_version_of_the_resource_is_the_same_object(self, story: Chronicle, book: Notebook) -> None:
        resource = SITES.replace("/v1/", "/v2/")
        story.add("update", resource, LOW, uid=LOW, resource_version="26", user_agent="kubectl/1")
        self.view(book, "26", **{LOW: "26"})
        assert judged("I14", story, book.notes).outcome == HELD

    def test_a_change_may_be_among_what_the_journal_lost(self, story: Chronicle, book: Notebook) -> None:
        story.lost = 1
        story.add("update", SITES, HIGH, uid=HIGH, resource_version="40", user_agent="kubectl/1")
        self.view(book, "40", **{LOW: "39"})
        assert judged("I14", story, book.notes).broken == 0

    @pytest.mark.parametrize("within", [LOWER, None])
    def test_a_view_whose_events_a_fault_has_hidden_is_not_compared_until_it_lists(
        self, story: Chronicle, book: Notebook, within: KeyRange | None
    ) -> None:
        story.informer(HIDDEN, within=within)
        story.entries[-1].resource = SITES
        self.view(book, "25", **{LOW: "20"})
        assert judged("I14", story, book.notes).outcome == NOT_JUDGED
        book.write("listed", resource=SITES, version="25")
        self.view(book, "25", **{LOW: "20"})
        assert judged("I14", story, book.notes).outcome == BROKEN

    def test_a_write_that_the_journal_does_not_know_went_past_it(self, story: Chronicle, book: Notebook) -> None:
        self.view(book, "25", **{LOW: "25"})
        self.view(book, "24", **{LOW: "23"})
        found = judged("I14", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_write_that_failed_may_have_been_carried_out(self, story: Chronicle, book: Notebook) -> None:
        story.add("delete", SITES, LOW, status=504, user_agent="kubectl/1")
        self.view(book, "25")
        assert judged("I14", story, book.notes).outcome == NOT_JUDGED

    def restored(self, story: Chronicle) -> None:
        """The server was at 500 and goes back; LOW is at 30 then, and is deleted."""
        story.add("update", SITES, HIGH, uid=HIGH, resource_version="500", user_agent="kubectl/1")
        story.add(RESTORED, "", "")
        story.add("update", SITES, LOW, uid=LOW, resource_version="30", user_agent="kubectl/1")
        story.add("delete", SITES, LOW, uid=LOW, resource_version="30", removed=True, user_agent="kubectl/1")
        story.add("update", SITES, HIGH, uid=HIGH, resource_version="33", user_agent="kubectl/1")

    def test_what_is_gone_is_found_in_a_restored_history_too(self, story: Chronicle, book: Notebook) -> None:
        self.restored(story)
        book.now = story.now
        book.write("listed", resource=SITES)
        self.view(book, "33", **{LOW: "30"})
        assert judged("I14", story, book.notes).outcome == BROKEN

    def test_a_view_of_the_history_before_a_restore_is_not_compared_with_the_new_one(
        self, story: Chronicle, book: Notebook
    ) -> None:
        self.restored(story)
        book.now = story.now
        self.view(book, "400", **{LOW: "25"})
        story.wait(200)
        story.add("update", SITES, HIGH, uid=HIGH, resource_version="600", user_agent="kubectl/1")
        assert judged("I14", story, book.notes).outcome != BROKEN

    def test_a_view_behind_a_filter_is_not_compared(self, story: Chronicle, book: Notebook) -> None:
        book.write("view", resource=SITES, version="25", objects={})
        assert judged("I14", story, book.notes).outcome == NOT_JUDGED


class TestAlternating:
    def test_additions_and_deletions_that_alternate_hold(self, story: Chronicle, book: Notebook) -> None:
        for cause in ("added", "modified", "deleted", "added"):
            book.change(cause, "c1", "10")
        found = judged("I16", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 4)

    @pytest.mark.parametrize("causes", [("added", "added"), ("added", "deleted", "deleted"), ("modified",)])
    def test_what_does_not_follow_is_found(self, story: Chronicle, book: Notebook, causes: tuple[str, ...]) -> None:
        for cause in causes:
            book.change(cause, "c1", "10")
        assert judged("I16", story, book.notes).broken == 1

    def test_two_views_of_one_resource_are_two(self, story: Chronicle, book: Notebook) -> None:
        for role in ("owned", "watched"):
            book.change("added", "c1", "10")
            book.notes[-1].role = role
        assert judged("I16", story, book.notes).outcome == HELD

    def test_what_a_worker_could_not_write_is_held_against_nobody(self, story: Chronicle, book: Notebook) -> None:
        book.write("lost", count=3)
        book.change("modified", "c1", "10")
        assert judged("I16", story, book.notes).broken == 0
        book.change("added", "c1", "11")
        assert judged("I16", story, book.notes).broken == 1

    def test_a_view_that_is_opened_again_begins_anew(self, story: Chronicle, book: Notebook) -> None:
        book.change("added", "c1", "10")
        book.write("stopped")
        book.change("added", "c1", "10")
        assert judged("I16", story, book.notes).outcome == HELD


class TestKnownStaleness:
    def test_current_views_hold(self, story: Chronicle, book: Notebook) -> None:
        book.pulse(view_age=10.0)
        assert judged("I18", story, book.notes).outcome == HELD

    def test_a_ready_worker_on_an_old_view_is_found(self, story: Chronicle, book: Notebook) -> None:
        book.pulse(view_age=300.0)
        assert judged("I18", story, book.notes).outcome == BROKEN

    def test_one_that_says_so_is_not(self, story: Chronicle, book: Notebook) -> None:
        book.pulse()
        book.pulse("the view is old", view_age=300.0)
        assert judged("I18", story, book.notes).outcome == HELD

    def test_a_worker_without_open_shards_shows_nothing(self, story: Chronicle, book: Notebook) -> None:
        book.pulse(open=0.0, view_age=300.0)
        assert judged("I18", story, book.notes).outcome == NOT_JUDGED

    def lag(self, story: Chronicle, book: Notebook) -> None:
        """The view of the lower half stays at 20; its worker believes it to be current."""
        book.now = 100.0
        for uid, version in ((LOW, "20"), (HIGH, "21")):
            story.add("update", SITES, uid, uid=uid, resource_version=version, user_agent="kubectl/1")
        book.write("view", resource=SITES, version="20", outcome="whole", objects={LOW: "20"})
        book.now += 200
        book.pulse(view_age=1.0)

    def test_a_view_that_lacks_what_the_server_made_long_ago_is_found_whatever_its_worker_believes(
        self, story: Chronicle, book: Notebook
    ) -> None:
        self.lag(story, book)
        assert judged("I18", story, book.notes).outcome == HELD
        story.add("update", SITES, LOW, uid=LOW, resource_version="22", user_agent="kubectl/1")
        assert "and calls itself current" in judged("I18", story, book.notes).findings[0].what

    def test_so_is_one_in_a_history_whose_versions_a_restore_has_begun_again(
        self, story: Chronicle, book: Notebook
    ) -> None:
        story.add("update", SITES, HIGH, uid=HIGH, resource_version="500", user_agent="kubectl/1")
        story.add(RESTORED, "", "")
        self.lag(story, book)
        story.add("update", SITES, LOW, uid=LOW, resource_version="22", user_agent="kubectl/1")
        assert judged("I18", story, book.notes).outcome == BROKEN

    @pytest.mark.parametrize("excuse", ["fault", "gap", "drained", "unready"])
    def test_what_explains_the_lag_excuses_it(self, story: Chronicle, book: Notebook, excuse: str) -> None:
        self.lag(story, book)
        story.add("update", SITES, LOW, uid=LOW, resource_version="22", user_agent="kubectl/1")
        if excuse == "fault":
            story.add(FAULT, "", "", note="x")
        elif excuse == "gap":
            story.lost = 1
            story.coordinator()
        elif excuse == "unready":
            book.notes[-1].outcome = "the view is old"
        else:
            book.notes.insert(1, Note("drained", 150.0, "a", range=str(LOWER)))
        assert judged("I18", story, book.notes).broken == 0
