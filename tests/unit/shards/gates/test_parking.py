"""Parked keys: when each is looked at again."""

from __future__ import annotations

import random

import pytest

from shards.gates.own_writes import Blocked
from shards.gates.parking import LONGEST_PROBE_SECONDS, Parking
from tests.unit.shards.gates.stores import KEY, OTHER, PAGES, SITES


class TestParking:
    BLOCKED = Blocked("why", frozenset({PAGES}), False)

    @pytest.fixture
    def parking(self) -> Parking:
        return Parking(random.Random(3))

    def test_looks_that_are_due_come_at_doubling_distances_up_to_five_seconds(self, parking: Parking) -> None:
        now, delays = 0.0, []
        for _ in range(12):
            delays.append(parking.park(KEY, self.BLOCKED, now))
            now += delays[-1]
        assert 0.08 <= delays[0] <= 0.1
        assert all(0.8 * min(0.1 * 2**n, 5.0) <= delay <= min(0.1 * 2**n, 5.0) for n, delay in enumerate(delays))
        assert max(delays) <= LONGEST_PROBE_SECONDS

    def test_looks_that_events_cause_change_no_date(self, parking: Parking) -> None:
        first = parking.park(KEY, self.BLOCKED, 0.0)
        again = parking.park(KEY, self.BLOCKED, 0.01)
        assert again == pytest.approx(first - 0.01)
        assert parking.keys[KEY].probes == 0

    def test_only_keys_that_wait_for_the_resource_are_looked_at(self, parking: Parking) -> None:
        parking.park(KEY, self.BLOCKED, 0.0)
        parking.park(OTHER, Blocked("why", frozenset({SITES}), False), 0.0)
        assert parking.on(PAGES) == (KEY,)
        parking.park(KEY, Blocked("why", frozenset({SITES}), False), 1.0)
        assert parking.on(PAGES) == ()
        assert set(parking.on(SITES)) == {KEY, OTHER}

    def test_a_released_key_leaves_nothing_behind(self, parking: Parking) -> None:
        parking.park(KEY, self.BLOCKED, 0.0)
        parking.release(KEY)
        parking.release(KEY)
        assert len(parking) == 0
        assert parking.on(PAGES) == ()

    def test_a_key_whose_live_read_failed_is_looked_at_rarely(self, parking: Parking) -> None:
        parking.park(KEY, self.BLOCKED, 0.0)
        parking.pause(KEY, 1.0)
        assert 3.0 <= parking.park(KEY, self.BLOCKED, 2.0) <= 4.0

    def test_a_key_that_was_freed_while_its_live_read_failed_is_not_paused(self, parking: Parking) -> None:
        parking.park(KEY, self.BLOCKED, 0.0)
        parking.release(KEY)
        parking.pause(KEY, 1.0)
        assert len(parking) == 0
