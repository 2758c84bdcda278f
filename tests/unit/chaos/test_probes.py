from __future__ import annotations

import pytest

from chaos import probes
from chaos.actions import kill_worker
from fleet.devcluster.evidence.verdict import Verdict
from tests.unit.chaos.target import PaperTarget, span, verdict


def test_before_a_kill_every_range_is_owned_and_nothing_was_waited_for() -> None:
    target = PaperTarget()

    assert probes.owned_ranges(target) == 3
    assert probes.longest_takeover_seconds(target) == 0.0


def test_the_longest_takeover_is_that_of_the_slowest_range() -> None:
    target = PaperTarget()
    kill_worker(target)
    target.found = verdict(
        span("00", "dev-0@1", 1.0, 100.2),
        span("00", "dev-0@2", 100.2),
        span("55", "dev-0@1", 1.0, 101.5),
        span("55", "dev-1@1", 101.5),
    )
    target.time = 110.0

    assert probes.longest_takeover_seconds(target) == pytest.approx(1.5)


def test_a_range_that_stays_without_owner_keeps_counting() -> None:
    target = PaperTarget()
    kill_worker(target)
    target.time += 60

    assert probes.longest_takeover_seconds(target) == 60.0
    assert probes.owned_ranges(target) == 1


def test_each_count_of_the_verdict_has_its_probe() -> None:
    target = PaperTarget(busy_seconds=1)
    target.found = Verdict(
        fleet_writes=1,
        overlap_violations=2,
        writes_after_release=3,
        unattributed_writes=4,
        duplicate_child_posts=5,
        duplicate_status_writes=6,
    )

    assert probes.fleet_writes(target) == 1
    assert probes.overlaps(target) == 2
    assert probes.writes_after_release(target) == 3
    assert probes.unattributed_writes(target) == 4
    assert probes.duplicate_child_posts(target) == 5
    assert probes.duplicate_status_writes(target) == 6
    assert probes.unsettled_objects(target) == 5
    assert probes.living_workers(target) == 2
