"""I25, I26: each holds on notes that keep it, and finds the break in ones that do not."""

from __future__ import annotations

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD, NOT_JUDGED
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


class TestFlatResources:
    def test_a_process_that_stays_as_it_is_holds(self, story: Chronicle, book: Notebook) -> None:
        for mib in (60.0, 80.0, 90.0, 95.0, 100.0):
            book.pulse(rss_mib=mib, fds=20.0, threads=4.0, children=0.0)
        found = judged("I25", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 2)

    def test_a_new_process_begins_anew(self, story: Chronicle, book: Notebook) -> None:
        for mib in (10.0, 500.0):
            book.write("begin")
            for _ in range(4):
                book.pulse(rss_mib=mib)
        assert judged("I25", story, book.notes).outcome == HELD

    def test_a_process_that_gets_more_ranges_has_more_views_and_begins_anew(
        self, story: Chronicle, book: Notebook
    ) -> None:
        for ranges in (10.0, 50.0):
            for _ in range(4):
                book.pulse(open=ranges, fds=4 * ranges)
        found = judged("I25", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 2)

    def test_a_process_that_gets_ranges_back_does_not_begin_anew(self, story: Chronicle, book: Notebook) -> None:
        for ranges, descriptors in ((10.0, 40.0), (10.0, 40.0), (10.0, 40.0), (0.0, 40.0), (10.0, 200.0)):
            book.pulse(open=ranges, fds=descriptors)
        assert judged("I25", story, book.notes).outcome == BROKEN

    def test_pulses_that_measure_nothing_show_nothing(self, story: Chronicle, book: Notebook) -> None:
        for _ in range(5):
            book.pulse()
        assert judged("I25", story, book.notes).outcome == NOT_JUDGED

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

    def test_pulses_of_who_holds_nothing_show_nothing(self, story: Chronicle, book: Notebook) -> None:
        book.pulse(owned=0.0, open=0.0)
        book.pulse("no renewal", owned=0.0, open=0.0)
        assert judged("I26", story, book.notes).outcome == NOT_JUDGED
