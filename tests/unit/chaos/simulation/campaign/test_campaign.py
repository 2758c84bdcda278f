from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from chaos.simulation.campaign.campaign import Campaign, conduct, repeat
from chaos.simulation.campaign.crew import Crew
from chaos.simulation.campaign.errand import Failure
from chaos.simulation.campaign.tally import Tally
from tests.unit.chaos.simulation.campaign import players


def campaign(seeds: int = 30, *, stop_at: int | None = None) -> Campaign:
    return Campaign(first_seed=0, seeds=seeds, jobs=2, stop_at=stop_at)


def conducted(plan: Campaign, serve: Callable[[Connection], None] = players.honest) -> Tally:
    tally = Tally()
    with Crew(plan.jobs, clock=time.monotonic, serve=serve) as crew:
        conduct(plan, crew, tally, lambda: None, clock=time.monotonic)
    return tally


def test_a_campaign_plays_all_its_seeds_and_tells_what_failed() -> None:
    tally = conducted(campaign())

    assert tally.seeds == 30
    assert sorted(each.seed for each in tally.failures) == [7, 17, 27]
    assert tally.checks == {"I1": 60}
    assert tally.hits == {"crash": 30}


def test_a_campaign_ends_when_enough_has_failed() -> None:
    tally = conducted(campaign(seeds=1_000_000, stop_at=1))

    assert len(tally.failures) == 1
    assert tally.seeds < 1_000


def test_errands_cover_the_seeds_without_gap_or_overlap() -> None:
    for seeds in (1, 2, 49, 101, 1000):
        errands = list(Campaign(first_seed=7, seeds=seeds, jobs=2).errands(lambda: 0.0))
        covered = [seed for each in errands for seed in range(each.first_seed, each.first_seed + each.seeds)]
        assert covered == list(range(7, 7 + seeds))


def test_a_campaign_of_so_many_seconds_hands_out_no_more_when_they_are_over() -> None:
    clock = iter(range(100))
    errands = list(Campaign(first_seed=7, seeds=None, seconds=3.5, jobs=2).errands(lambda: next(clock)))

    assert [each.first_seed for each in errands] == [7, 57, 107]


def repeated(serve: Callable[[Connection], None], failures: list[Failure]) -> list[Failure]:
    with Crew(1, clock=time.monotonic, serve=serve) as crew:
        return repeat(campaign(), crew, failures)


def test_a_failure_that_a_second_process_sees_as_well_repeats() -> None:
    tally = conducted(campaign(seeds=10))

    assert [each.repeats for each in repeated(players.honest, tally.failures)] == [True]


def test_a_failure_that_hangs_on_the_process_does_not_repeat() -> None:
    tally = conducted(campaign(seeds=1), players.by_hash)

    assert [each.repeats for each in repeated(players.by_hash, tally.failures)] == [False]
