"""I14, I16, I18, I19, I20, I25, I26: each holds on notes that keep it, and finds the break in ones that do not."""

from __future__ import annotations

import pytest

from fleet.devcluster.verdict import BROKEN, HELD, NOT_JUDGED
from tests.unit.fleet.devcluster.chronicle import LOWER, UPPER, Chronicle, two_members, uid_in
from tests.unit.fleet.devcluster.judging.stories import Notebook, judged

LOW, HIGH = uid_in(LOWER), uid_in(UPPER)
SITES = "demo.shardfleet.dev/v1/websites"


@pytest.fixture
def story() -> Chronicle:
    return two_members()


@pytest.fixture
def book() -> Notebook:
    return Notebook()


@pytest.mark.parametrize("id", ["I14", "I16", "I18", "I19", "I20", "I25", "I26"])
def test_without_worker_journals_nothing_is_said(story: Chronicle, id: str) -> None:
    found = judged(id, story)
    assert (found.outcome, found.why) == (NOT_JUDGED, "the journals lack worker journals")


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

    def test_an_object_that_is_gone_is_found(self, story: Chronicle, book: Notebook) -> None:
        story.add("delete", SITES, LOW, uid=LOW, resource_version="25", removed=True, user_agent="kubectl/1")
        story.add("create", SITES, "other", uid=HIGH, resource_version="27", user_agent="kubectl/1")
        self.view(book, "27", **{LOW: "25"})
        assert judged("I14", story, book.notes).outcome == BROKEN

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


class TestNoStarvation:
    def test_keys_that_start_soon_hold(self, story: Chronicle, book: Notebook) -> None:
        book.write("started", key="default/site", seconds=2.0)
        assert judged("I19", story, book.notes).outcome == HELD

    def test_a_key_that_waited_too_long_is_found(self, story: Chronicle, book: Notebook) -> None:
        book.write("started", key="default/site", seconds=90.0)
        assert "waited 90.0 s" in judged("I19", story, book.notes).findings[0].what

    def test_a_key_that_still_waits_is_found(self, story: Chronicle, book: Notebook) -> None:
        book.pulse(longest_wait=90.0)
        assert judged("I19", story, book.notes).outcome == BROKEN


class TestBackingOff:
    def retry(self, book: Notebook, count: int, seconds: float) -> None:
        book.write("retry", controller="sites", key="default/site", uid=LOW, count=count, seconds=seconds)

    def test_delays_that_grow_and_begin_anew_hold(self, story: Chronicle, book: Notebook) -> None:
        for count, seconds in enumerate((0.005, 0.01, 0.02)):
            self.retry(book, count, seconds)
        book.write("ended", controller="sites", key="default/site", uid=LOW, outcome="success")
        self.retry(book, 0, 0.005)
        found = judged("I20", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 4)

    @pytest.mark.parametrize("seconds", [0.0, -1.0, 4000.0])
    def test_an_impossible_delay_is_found(self, story: Chronicle, book: Notebook, seconds: float) -> None:
        self.retry(book, 0, seconds)
        assert judged("I20", story, book.notes).outcome == BROKEN

    def test_a_delay_that_shrinks_without_a_success_is_found(self, story: Chronicle, book: Notebook) -> None:
        self.retry(book, 0, 1.0)
        self.retry(book, 1, 0.5)
        assert "without a success between" in judged("I20", story, book.notes).findings[0].what

    def test_failures_that_are_not_forgotten_by_a_success_are_found(self, story: Chronicle, book: Notebook) -> None:
        self.retry(book, 0, 0.005)
        book.write("ended", controller="sites", key="default/site", uid=LOW, outcome="success")
        self.retry(book, 1, 0.01)
        assert "failure 1 follows failure -1" in judged("I20", story, book.notes).findings[0].what


class TestFlatResources:
    def test_a_process_that_stays_as_it_is_holds(self, story: Chronicle, book: Notebook) -> None:
        for mib in (60.0, 80.0, 90.0, 95.0, 100.0):
            book.pulse(rss_mib=mib, fds=20.0, threads=4.0, children=0.0)
        found = judged("I25", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 2)

    @pytest.mark.parametrize("name", ["rss_mib", "fds", "threads", "children"])
    def test_a_process_that_grows_is_found_once(self, story: Chronicle, book: Notebook, name: str) -> None:
        for value in (10.0, 10.0, 10.0, 500.0, 600.0):
            book.pulse(**{name: value})
        found = judged("I25", story, book.notes)
        assert (found.outcome, found.broken) == (BROKEN, 1)
        assert f"{name} of a grew to 500" in found.findings[0].what


class TestHonestHealth:
    def test_ready_workers_that_make_progress_hold(self, story: Chronicle, book: Notebook) -> None:
        book.pulse()
        assert judged("I26", story, book.notes).outcome == HELD

    def test_a_ready_worker_that_does_not_is_found(self, story: Chronicle, book: Notebook) -> None:
        book.pulse(longest_wait=90.0)
        assert "ready and makes no progress" in judged("I26", story, book.notes).findings[0].what

    def test_one_that_is_not_ready_and_keeps_its_shards_is_found(self, story: Chronicle, book: Notebook) -> None:
        book.pulse("no renewal")
        book.now += 200
        book.pulse("no renewal")
        assert "keeps its shards" in judged("I26", story, book.notes).findings[0].what
