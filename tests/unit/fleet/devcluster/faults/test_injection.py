from __future__ import annotations

import random

from fleet.devcluster.faults import Injection
from fleet.devcluster.faults.words import LostAck


def injection(fault: LostAck, since: float = 100.0) -> Injection:
    return Injection(1, fault, since, lambda ended: None)


def test_a_fault_strikes_so_many_times_and_counts() -> None:
    fault, rng = injection(LostAck(times=2)), random.Random(1)
    assert [fault.strikes(100.0, rng) for _ in range(4)] == [True, True, False, False]
    assert fault.struck == 2


def test_a_fault_strikes_within_its_time_only() -> None:
    fault, rng = injection(LostAck(from_seconds=5, until_seconds=10)), random.Random(1)
    assert [fault.strikes(100.0 + seconds, rng) for seconds in (0, 4.9, 5, 9.9, 10)] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert [fault.lasts(100.0 + seconds) for seconds in (0, 5, 10)] == [False, True, False]


def test_a_released_fault_strikes_nobody() -> None:
    fault = injection(LostAck())
    fault.released = True
    assert not fault.strikes(100.0, random.Random(1))


def test_chance_is_drawn_from_the_given_source_and_only_where_it_matters() -> None:
    fault = injection(LostAck(probability=0.3))
    struck = [fault.strikes(100.0, rng) for rng in [random.Random(3)] for _ in range(1000)]
    assert 250 < sum(struck) < 350
    again = injection(LostAck(probability=0.3))
    assert [again.strikes(100.0, rng) for rng in [random.Random(3)] for _ in range(1000)] == struck
    sure, rng = injection(LostAck()), random.Random(3)
    assert sure.strikes(100.0, rng)
    assert rng.random() == random.Random(3).random()
