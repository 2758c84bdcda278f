"""Latency and queue over time, from notes."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.reports.hearing import Hearing
from chaos.reports.load import load_of
from chaos.reports.story import Load
from shards.journal import Note
from tests.unit.chaos.reports.recorded import ZERO, note, reconciled


def load(notes: Sequence[Note], ended: float = 4.0) -> Load:
    heard = Hearing(sorted(notes, key=lambda each: each.time))
    return load_of(heard.reconciles, (), zero=ZERO, began=0.0, ended=ended)


def test_latency_counts_from_when_a_reconcile_could_start() -> None:
    found = load(reconciled("a-0", "u", 1.0, waited=0.3, took=0.2))
    assert found.longest is not None
    assert round(found.longest, 6) == 0.5


def test_percentiles_are_those_of_the_reconciles_that_ended_then() -> None:
    notes = [each for index in range(100) for each in reconciled("a-0", str(index), 1.05, waited=0, took=index / 1000)]
    moment = load(notes).moments[10]
    assert (moment.ended, moment.p50, moment.p99, moment.longest) == (100, 0.049, 0.098, 0.099)


def test_the_worst_moment_is_one_in_which_enough_ended() -> None:
    notes = reconciled("a-0", "alone", 2.05, waited=0, took=1.5)
    for index in range(20):
        notes += reconciled("a-0", str(index), 1.05, waited=0, took=0.2)
    worst = load(notes).worst
    assert worst is not None
    assert (round(worst.at, 1), worst.p99) == (1.0, 0.2)


def test_what_ended_before_the_start_is_shown_and_not_counted() -> None:
    heard = Hearing(reconciled("a-0", "u", -0.5, waited=0, took=9.0))
    found = load_of(heard.reconciles, (), zero=ZERO, began=-1.0, ended=4.0)
    assert (found.reconciles, found.longest) == (0, None)
    assert any(each.longest for each in found.moments)


def test_a_time_without_reconciles_has_no_latency() -> None:
    assert load(reconciled("a-0", "u", 1.0, waited=0, took=0.1)).moments[30].p50 is None


def test_keys_wait_until_they_start_and_run_until_they_end() -> None:
    found = load(reconciled("a-0", "u", 3.05, waited=1.0, took=1.0))
    waiting = [each.at for each in found.moments if each.waiting]
    running = [each.at for each in found.moments if each.running]
    assert (round(waiting[0], 1), round(waiting[-1], 1)) == (1.0, 2.0)
    assert (round(running[0], 1), round(running[-1], 1)) == (2.0, 3.0)


def test_many_at_once_are_counted_at_their_most() -> None:
    notes = [each for index in range(7) for each in reconciled("a-0", str(index), 1.08, waited=0.05, took=0.02)]
    assert max(each.waiting for each in load(notes).moments) == 7


def test_what_a_dead_worker_had_begun_ends_with_it() -> None:
    notes = [
        note("started", 1.0, "a-0", controller="sites", uid="u"),
        note("pulse", 1.5, "a-0"),
        note("begin", 3.0, "a-0"),
    ]
    assert [round(each.at, 1) for each in load(notes).moments if each.running][-1] <= 1.5


def test_workers_that_noted_nothing_are_told_apart_from_idle_ones() -> None:
    assert not load([]).noted


def test_long_stories_have_wide_buckets() -> None:
    found = load(reconciled("a-0", "u", 1.0, waited=0, took=0.1), ended=3600.0)
    assert len(found.moments) <= 240
    assert found.bucket_seconds == 20.0
