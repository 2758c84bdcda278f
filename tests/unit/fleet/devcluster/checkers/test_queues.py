"""I19 and I20: each holds on notes that keep it, and finds the break in ones that do not."""

from __future__ import annotations

import pytest

from fleet.devcluster.evidence.verdict import BROKEN, HELD
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

    def fail(self, book: Notebook, seconds: float) -> None:
        book.write("retry", key="default/site", uid=LOW, seconds=seconds)

    def test_a_key_that_is_tried_again_when_it_is_due_holds(self, story: Chronicle, book: Notebook) -> None:
        self.fail(book, 100.0)
        book.now += 101
        book.write("started", key="default/site", uid=LOW)
        found = judged("I19", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 1)

    def test_a_key_that_is_tried_again_too_late_is_found(self, story: Chronicle, book: Notebook) -> None:
        self.fail(book, 100.0)
        book.now += 200
        book.write("started", key="default/site", uid=LOW)
        assert "waited 101.0 s" in judged("I19", story, book.notes).findings[0].what

    @pytest.mark.parametrize("cause", ["paused", "quarantined", "turn"])
    def test_a_key_that_is_set_aside_is_not_waited_for(self, story: Chronicle, book: Notebook, cause: str) -> None:
        self.fail(book, 100.0)
        book.now += 101
        book.write("aside", key="default/site", uid=LOW, cause=cause)
        book.now += 200
        book.pulse()
        assert judged("I19", story, book.notes).outcome != BROKEN

    @pytest.mark.parametrize("last", ["pulse", "drained", "end"])
    def test_a_key_that_is_never_tried_again_is_found(self, story: Chronicle, book: Notebook, last: str) -> None:
        self.fail(book, 100.0)
        book.now += 200
        book.write(last)
        assert "and never was" in judged("I19", story, book.notes).findings[0].what

    @pytest.mark.parametrize("last", ["begin", "lost", "parked"])
    def test_a_process_that_died_a_journal_that_lost_lines_and_the_gate_excuse(
        self, story: Chronicle, book: Notebook, last: str
    ) -> None:
        self.fail(book, 1.0)
        book.write(last, uid=LOW)
        book.now += 200
        book.write("pulse")
        assert judged("I19", story, book.notes).broken == 0

    def test_after_the_last_line_of_a_worker_nobody_looked(self, story: Chronicle, book: Notebook) -> None:
        self.fail(book, 1.0)
        book.now += 200
        book.notes.append(Note("pulse", book.now, "b"))
        assert judged("I19", story, book.notes).broken == 0


class TestBackingOff:
    """A queue with delays from 1 s to 8 s, where figures are told."""

    def retry(self, book: Notebook, count: int, seconds: float, *, asked: float | None = None) -> None:
        """asked: by the server, with the queue's own figures; None: without figures."""
        figures = {} if asked is None else {"base": 1.0, "longest": 8.0, "asked": asked}
        book.write(
            "retry", controller="sites", key="default/site", uid=LOW, count=count, seconds=seconds, figures=figures
        )

    def run(self, book: Notebook, outcome: str, *, at: float | None = None) -> None:
        """A reconcile that begins and ends. at: when it begins."""
        if at is not None:
            book.now = at - 1.0
        for what in ("started", "ended"):
            book.write(what, controller="sites", key="default/site", uid=LOW, outcome=outcome)

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

    def test_delays_that_double_to_the_longest_hold(self, story: Chronicle, book: Notebook) -> None:
        for count, seconds in enumerate((1.0, 1.7, 3.9, 8.0, 6.5, 7.9)):
            self.retry(book, count, seconds, asked=0.0)
        found = judged("I20", story, book.notes)
        assert (found.outcome, found.checks) == (HELD, 6)

    @pytest.mark.parametrize("delays", [(1.0, 1.0), (1.0, 2.0, 2.0), (0.1,), (1.0, 2.0, 4.0, 9.0), (8.0,)])
    def test_delays_that_do_not_grow_or_grow_beyond_are_found(
        self, story: Chronicle, book: Notebook, delays: tuple[float, ...]
    ) -> None:
        for count, seconds in enumerate(delays):
            self.retry(book, count, seconds, asked=0.0)
        assert "would be right" in judged("I20", story, book.notes).findings[0].what

    def test_a_delay_that_does_not_begin_anew_after_a_success_is_found(self, story: Chronicle, book: Notebook) -> None:
        for count, seconds in enumerate((1.0, 2.0, 4.0)):
            self.retry(book, count, seconds, asked=0.0)
        book.write("ended", controller="sites", key="default/site", uid=LOW, outcome="success")
        self.retry(book, 0, 8.0, asked=0.0)
        assert judged("I20", story, book.notes).broken == 1

    def test_what_the_server_asked_for_counts_more(self, story: Chronicle, book: Notebook) -> None:
        self.retry(book, 0, 500.0, asked=500.0)
        self.retry(book, 1, 2.0, asked=0.0)
        assert judged("I20", story, book.notes).outcome == HELD
        self.retry(book, 2, 4.0, asked=30.0)
        assert judged("I20", story, book.notes).outcome == BROKEN

    def test_failures_that_are_forgotten_without_a_success_are_found(self, story: Chronicle, book: Notebook) -> None:
        self.retry(book, 0, 1.0, asked=0.0)
        self.retry(book, 0, 1.0, asked=0.0)
        assert "failure 0 follows failure 0" in judged("I20", story, book.notes).findings[0].what

    @pytest.mark.parametrize(("cause", "outcome"), [("paused", HELD), ("quarantined", HELD), ("turn", BROKEN)])
    def test_who_is_set_aside_begins_anew_unless_it_only_waits_its_turn(
        self, story: Chronicle, book: Notebook, cause: str, outcome: str
    ) -> None:
        self.retry(book, 0, 1.0, asked=0.0)
        book.write("aside", controller="sites", key="default/site", uid=LOW, cause=cause)
        self.retry(book, 0, 1.0, asked=0.0)
        assert judged("I20", story, book.notes).outcome == outcome

    def test_a_key_that_fails_and_runs_again_without_a_retry_is_found(self, story: Chronicle, book: Notebook) -> None:
        self.retry(book, 0, 1.0)
        self.run(book, "error", at=110.0)
        assert judged("I20", story, book.notes).broken == 0
        self.run(book, "error", at=120.0)
        assert "runs again without a delay" in judged("I20", story, book.notes).findings[0].what

    def test_a_key_that_does_not_wait_for_its_delay_is_found(self, story: Chronicle, book: Notebook) -> None:
        book.write("started", controller="sites", key="default/site", uid=LOW)
        self.retry(book, 0, 8.0)
        self.run(book, "success")
        assert "runs 7 s before its delay is over" in judged("I20", story, book.notes).findings[0].what

    @pytest.mark.parametrize("what", ["change", "listed", "live", "opened", "parked"])
    def test_what_stirs_while_it_runs_or_waits_may_run_it_sooner(
        self, story: Chronicle, book: Notebook, what: str
    ) -> None:
        book.write("started", controller="sites", key="default/site", uid=LOW)
        book.write(what, resource="v1/configmaps", uid="c1")
        self.retry(book, 0, 8.0)
        self.run(book, "success")
        assert judged("I20", story, book.notes).outcome == HELD

    @pytest.mark.parametrize("end", ["begin", "drained", "stopped", "lost"])
    def test_a_queue_that_ended_is_forgotten(self, story: Chronicle, book: Notebook, end: str) -> None:
        self.retry(book, 0, 1.0)
        self.retry(book, 1, 2.0)
        book.write(end)
        self.retry(book, 3 if end == "lost" else 0, 8.0 if end == "lost" else 1.0)
        assert judged("I20", story, book.notes).outcome == HELD
