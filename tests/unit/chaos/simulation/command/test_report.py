from __future__ import annotations

from collections import Counter

import msgspec

from chaos.simulation.campaign.campaign import Campaign
from chaos.simulation.campaign.errand import Failure
from chaos.simulation.campaign.tally import Settled, Tally
from chaos.simulation.command.report import closing_lines, failure_lines, figures, in_order, opening, replay
from fleet import __version__

CAMPAIGN = Campaign(first_seed=100, seeds=50, jobs=2)


def tally(*failures: Failure, seeds: int = 50) -> Tally:
    return Tally(
        seeds=seeds,
        cpu_seconds=4.0,
        simulated_seconds=1234.0,
        checks=Counter({"I10": 5, "I2": 7, "A1": 1}),
        hits=Counter({"pause": 2, "crash": 3}),
        settled=Settled(0.5, 101, 7.25, 120),
        failures=list(failures),
    )


def broken(seed: int = 107) -> Failure:
    return Failure(seed=seed, kind="breach", oracle="I1", at=2.5, what="a/1 and b/1 both act on 0000-7fff")


def closing(told: Tally, campaign: Campaign = CAMPAIGN, *, interrupted: bool = False) -> list[str]:
    return list(closing_lines(figures(campaign, told, 2.0, interrupted=interrupted)))


def test_a_campaign_says_first_which_seeds_it_plays() -> None:
    assert opening(CAMPAIGN) == f"seeds 100 to 149 at protocol depth, 2 processes, shardfleet {__version__}"
    timed = Campaign(first_seed=7, seeds=None, seconds=90, jobs=1, depth="stack", broken_rule="no-fence")
    assert opening(timed) == (
        f"seeds from 7 on, for 90 s, at stack depth, without the rule no-fence, 1 process, shardfleet {__version__}"
    )


def test_the_figures_are_one_object() -> None:
    told = msgspec.json.decode(msgspec.json.encode(figures(CAMPAIGN, tally(broken()), 2.0, interrupted=False)))

    assert told["seeds"] == told["asked"] == 50
    assert (told["seeds_per_second"], told["seeds_per_second_per_core"]) == (25.0, 12.5)
    assert list(told["checks"].items()) == [("I2", 7), ("I10", 5), ("A1", 1)]
    assert told["failures"][0]["replay"] == "fleet sim --seed 107 --trace"
    assert told["settled"] == {
        "lowest_seconds": 0.5,
        "lowest_seed": 101,
        "highest_seconds": 7.25,
        "highest_seed": 120,
    }


def test_a_campaign_without_failures_ends_with_that() -> None:
    assert closing(tally()) == [
        "50 histories in 2.0 s: 25.0 a second, 12.5 per second of CPU; 1,234 s simulated",
        "healed fleets were as they should be within 0.5 to 7.2 s (seed 120)",
        "checks  I2 7, I10 5, A1 1",
        "struck  crash 3, pause 2",
        "nothing was broken",
    ]


def test_what_was_not_played_is_said() -> None:
    assert closing(tally(seeds=20))[-1] == "nothing was broken; 30 of 50 were not played"
    assert closing(tally(seeds=20), interrupted=True)[-1] == (
        "nothing was broken; it was stopped by hand; 30 of 50 were not played"
    )


def test_failures_are_counted_with_what_noticed_them() -> None:
    stuck = Failure(seed=109, kind="stuck", what="it did not come to an end within 300 s of real time")

    assert closing(tally(broken(), stuck))[-1] == "2 of 50 histories failed: I1, stuck"


def test_a_missing_rule_that_nobody_noticed_is_said() -> None:
    campaign = msgspec.structs.replace(CAMPAIGN, broken_rule="no-fence")

    assert closing(tally(), campaign)[-1] == "nothing was broken: nobody noticed that no-fence was missing"


def test_a_failure_that_did_not_repeat_is_said() -> None:
    other = msgspec.structs.replace(broken(), repeats=False)

    assert "seed 107 did not come out the same in a second process: something is not deterministic" in closing(
        tally(other)
    )


def test_a_failure_is_told_with_the_command_that_shows_it() -> None:
    assert list(failure_lines(broken(), CAMPAIGN)) == [
        "seed 107: I1 is broken at 2.500 s: a/1 and b/1 both act on 0000-7fff",
        "  replay: fleet sim --seed 107 --trace",
    ]
    error = Failure(seed=1, kind="error", what="Traceback ...\nKeyError: 'a'\n")
    assert next(failure_lines(error, CAMPAIGN)) == "seed 1: the simulation failed: KeyError: 'a'"


def test_the_replay_names_depth_and_rule_where_they_are_not_the_usual_ones() -> None:
    assert replay(5, "stack", "no-gate") == "fleet sim --seed 5 --depth stack --break no-gate --trace"


def test_oracles_come_in_order_of_their_numbers() -> None:
    assert sorted(["I10", "A3", "I2", "P2", "I1"], key=in_order) == ["I1", "I2", "I10", "A3", "P2"]
