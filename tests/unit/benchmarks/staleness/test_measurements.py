"""The measurements in virtual time, shorter than the benchmark has them: with the gate nothing happens twice, and
without it what they count is there."""

from __future__ import annotations

import pytest

from benchmarks.staleness import stale_key, watch_delay

INTERVAL_SECONDS = 2.0


def test_a_stale_key_costs_the_others_nothing() -> None:
    fresh, stale = (
        stale_key.watched(stale_key.Plan(stale=stale, keys=50, seconds=20.0), INTERVAL_SECONDS)
        for stale in (False, True)
    )
    assert stale.wait_p99_ms == pytest.approx(fresh.wait_p99_ms, rel=0.05)
    assert fresh.stale_reads == fresh.other_reads == stale.other_reads == 0
    assert stale.stale_reads > 0
    assert stale.most_reads_an_interval == 1
    assert stale.on_old_view == 0


def test_without_the_gate_the_stale_key_is_reconciled_on_the_old_view() -> None:
    plan = stale_key.Plan(stale=True, gate=False, keys=50, seconds=20.0)
    assert stale_key.watched(plan, INTERVAL_SECONDS).on_old_view > 0


@pytest.mark.parametrize("delay_seconds", [0.0, 0.05, 1.0, 60.0])
def test_with_the_gate_late_watches_cause_nothing_twice(delay_seconds: float) -> None:
    found = watch_delay.effects(watch_delay.Plan(delay_seconds, gate=True, keys=3, revisions=2))
    assert found.duplicates == 0
    assert found.unfinished == 0
    assert found.intents >= 3
    assert delay_seconds or found.live_reads == 0


def test_without_it_they_do() -> None:
    found = watch_delay.effects(watch_delay.Plan(0.05, gate=False, keys=3, revisions=2))
    assert found.duplicate_creates > 0
    assert found.duplicate_calls > 0
