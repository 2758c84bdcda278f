"""The sliding minute."""

from __future__ import annotations

import pytest

from shards.objects import Key
from shards.reconciling.load import LoadMeter

KEY = Key("default", "one", "uid-1")


def test_rates_are_per_second_of_the_time_measured_so_far() -> None:
    meter = LoadMeter(100.0)
    for second in range(10):
        meter.record(KEY, 0.5, 100.0 + second)
    assert meter.rates(110.0) == pytest.approx((1.0, 0.5))


def test_what_is_older_than_a_minute_no_longer_counts() -> None:
    meter = LoadMeter(0.0)
    for second in range(60):
        meter.record(KEY, 1.0, float(second))
    assert meter.rates(59.5)[0] == pytest.approx(60 / 59.5)
    assert meter.rates(89.0)[0] == pytest.approx(30 / 60)
    assert meter.rates(200.0) == (0.0, 0.0)


def test_a_long_silence_costs_no_more_than_one_round() -> None:
    meter = LoadMeter(0.0)
    meter.record(KEY, 1.0, 1.0)
    meter.record(KEY, 1.0, 10.0**9)
    assert meter.rates(10.0**9) == pytest.approx((1 / 60, 1 / 60))


def test_a_first_second_does_not_exaggerate() -> None:
    meter = LoadMeter(5.0)
    meter.record(KEY, 0.1, 5.01)
    assert meter.rates(5.02) == (1.0, 0.1)


def test_the_time_before_reconciles_may_begin_is_not_measured() -> None:
    meter = LoadMeter(0.0)
    meter.begin(30.0)
    meter.record(KEY, 1.0, 31.0)
    assert meter.rates(32.0) == (0.5, 0.5)
    assert meter.measured_seconds(32.0) == 2.0


def test_it_knows_which_keys_its_seconds_went_to() -> None:
    meter = LoadMeter(0.0)
    meter.record(KEY, 1.0, 1.0)
    assert list(meter.costs.costs.values()) == [1.0]
