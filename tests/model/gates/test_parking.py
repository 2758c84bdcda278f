"""The keys that a gate holds back: whatever is done to them, each is looked at again, and nobody is forgotten."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

from shards.gates.own_writes import Blocked
from shards.gates.parking import LONGEST_PROBE_SECONDS, Parking
from shards.objects import Key, Resource

FIRST, SECOND = Resource("", "v1", "firsts"), Resource("", "v1", "seconds")
ONE, OTHER = Key("ns", "one", "1"), Key("ns", "other", "2")
ASKED_SECONDS = 20.0

Act = Callable[[Parking, float], None]


def parked_on(key: Key, *resources: Resource) -> Act:
    def act(parking: Parking, now: float) -> None:
        assert parking.park(key, Blocked("", frozenset(resources), False), now) > 0
        assert all(key in parking.on(each) for each in resources)

    return act


ACTS: tuple[Act, ...] = (
    parked_on(ONE, FIRST),
    parked_on(ONE, SECOND),
    parked_on(OTHER, FIRST, SECOND),
    lambda parking, now: parking.pause(ONE, now, ASKED_SECONDS),
    lambda parking, now: parking.release(ONE),
    lambda parking, now: parking.release(ONE, lagging=True),
    lambda parking, now: parking.caught_up(ONE),
    lambda parking, now: parking.sweep(lambda key: key == OTHER),
)


def test_in_every_order_of_acts_each_key_is_due_within_the_longest_delay_and_found_by_what_could_free_it() -> None:
    for acts in product(ACTS, repeat=5):
        parking, now = Parking(random.Random(0)), 0.0
        for act in acts:
            act(parking, now)
            for key, parked in parking.keys.items():
                assert parked.due <= now + max(LONGEST_PROBE_SECONDS, ASKED_SECONDS)
                assert {each for each in (FIRST, SECOND) if key in parking.on(each)} == parked.blocked.resources
            assert {key for each in (FIRST, SECOND) for key in parking.on(each)} == parking.keys.keys()
            now += 1.0
        for key in list(parking.keys):  # its look comes, and it is blocked still: the next look is not far
            due = parking.keys[key].due
            assert 0 < parking.park(key, Blocked("", frozenset((FIRST,)), False), due) <= LONGEST_PROBE_SECONDS
