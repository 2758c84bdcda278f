from __future__ import annotations

import pytest

from chaos.actions.processes import kill_worker
from chaos.probes.ownership import living_workers, longest_takeover_seconds, longest_unowned_seconds, owned_share
from fleet.devcluster.evidence.verdict import Gap
from tests.unit.chaos.targets.paper import LOW, MIDDLE, PaperTarget, span, verdict


def test_before_an_end_every_key_is_owned_and_nothing_was_waited_for() -> None:
    target = PaperTarget()
    assert (owned_share(target), longest_takeover_seconds(target), living_workers(target)) == (1.0, 0.0, 2)


def test_the_longest_takeover_is_that_of_the_slowest_range() -> None:
    target = PaperTarget()
    kill_worker(target=target)
    target.evidence.found = verdict(
        span(LOW, "a-0@1", 1.0, 100.2),
        span(LOW, "a-0@2", 100.2),
        span(MIDDLE, "a-0@1", 1.0, 101.5),
        span(MIDDLE, "b-0@1", 101.5),
    )
    target.time = 110.0
    assert longest_takeover_seconds(target) == pytest.approx(1.5)


def test_a_range_that_stays_without_owner_keeps_counting() -> None:
    target = PaperTarget()
    kill_worker(target=target)
    target.time += 60
    assert (longest_takeover_seconds(target), owned_share(target)) == (60.0, 0.5)


def test_what_was_without_an_owner_before_the_fleet_was_settled_is_the_starts_matter() -> None:
    target = PaperTarget()
    target.settled_at = 50.0
    gaps = [Gap(LOW, "activation", 10.0, 40.0), Gap(LOW, "death", 60.0, 63.5), Gap(MIDDLE, "death", 98.0, None)]
    target.evidence.found = verdict(gaps=gaps)
    assert longest_unowned_seconds(target) == 3.5
    target.sleep(4.0)
    assert longest_unowned_seconds(target) == 6.0
