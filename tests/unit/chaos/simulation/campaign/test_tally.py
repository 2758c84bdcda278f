from __future__ import annotations

from chaos.simulation.campaign.errand import Failure, Played
from chaos.simulation.campaign.tally import Settled, Tally
from chaos.simulation.outcome import Breach, Outcome


def test_histories_are_added_up() -> None:
    tally = Tally()
    for seed, settled in ((1, 3.0), (2, 1.0), (3, 2.0)):
        outcome = Outcome(seed=seed, seconds=10.0, settled_seconds=settled, checks={"I1": 4, "I2": 1})
        tally.take(Played(seed=seed, outcome=outcome, cpu_seconds=0.5))

    assert (tally.seeds, tally.simulated_seconds, tally.cpu_seconds) == (3, 30.0, 1.5)
    assert tally.checks == {"I1": 12, "I2": 3}
    assert tally.settled == Settled(1.0, 2, 3.0, 1)


def test_the_first_breach_is_what_a_history_failed_with() -> None:
    tally = Tally()
    breaches = (Breach("I1", 2.0, "two act"), Breach("I27", 2.5, "two hold"))
    tally.take(Played(seed=5, outcome=Outcome(seed=5, breaches=breaches)))

    assert tally.failures == [Failure(seed=5, kind="breach", oracle="I1", at=2.0, what="two act")]
    assert tally.settled is None


def test_an_error_of_the_simulation_is_a_failure() -> None:
    tally = Tally()
    tally.take(Played(seed=5, outcome=None, error="KeyError: 'a'"))

    assert tally.failures == [Failure(seed=5, kind="error", what="KeyError: 'a'")]


def test_who_told_first_does_not_matter() -> None:
    """Several processes tell in any order; the figures are the same."""
    forth, back = Tally(), Tally()
    told = [Played(seed=seed, outcome=Outcome(seed=seed, settled_seconds=1.0)) for seed in range(4)]
    for each in told:
        forth.take(each)
    for each in reversed(told):
        back.take(each)

    assert forth.settled == back.settled == Settled(1.0, 0, 1.0, 0)
