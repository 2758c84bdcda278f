"""I19 and I20: each holds on notes that keep it, and finds the break in ones that do not."""

from __future__ import annotations

import pytest

from fleet.devcluster.verdict import BROKEN, HELD
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
