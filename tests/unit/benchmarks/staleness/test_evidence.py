"""Counts that the recorder's lines give."""

from __future__ import annotations

import pytest

from benchmarks.staleness.evidence import beyond_once, creates, live_reads, most_within, p99
from fleet.devcluster.recording.journal import Entry

FOR_A_KEY = "fleet/0.1.0 m=bench e=1 s=0-f k=default/a u=uid-a c=7 r=gate"
INFORMER = "fleet/0.1.0 m=bench e=1 s=0-f r=informer"


def entry(verb: str, name: str, *, agent: str = FOR_A_KEY, time: float = 0.0, status: int = 200) -> Entry:
    return Entry(1, time, verb, "v1/configmaps", "default", name, status=status, user_agent=agent)


def test_one_of_a_hundred_waits_is_longer_than_the_99th_percentile() -> None:
    waits = [float(each) for each in range(101)]
    assert p99(waits) == 99.0
    assert p99([1.0] * 99 + [50.0]) < 50.0


def test_a_percentile_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="1 values"):
        p99([1.0])


def test_live_reads_are_those_that_name_a_key_whatever_came_of_them() -> None:
    found = live_reads(
        [
            entry("get", "a", time=1.0),
            entry("get", "a", time=3.0, status=404),
            entry("list", "", time=4.0),
            entry("list", "", agent=INFORMER),
            entry("watch", "", agent=INFORMER),
            entry("get", "a", agent="kubectl"),
            entry("patch", "a"),
        ]
    )
    assert found == {"uid-a": [1.0, 3.0, 4.0]}


@pytest.mark.parametrize(
    ("times", "most"), [([], 0), ([1.0], 1), ([0.0, 2.0, 4.0], 1), ([0.0, 1.9, 4.0], 2), ([0.0, 1.0, 1.5, 9.0], 3)]
)
def test_the_most_within_an_interval_counts_neither_of_its_ends_twice(times: list[float], most: int) -> None:
    assert most_within(times, 2.0) == most


def test_creates_are_counted_by_the_prefix_of_their_generated_name() -> None:
    made = creates(
        [
            entry("create", "order-1-r1-abcde", status=201),
            entry("create", "order-1-r1-fghij", status=201),
            entry("create", "order-1-r2-abcde", status=201),
            entry("create", "order-1-r3-abcde", status=409),
            entry("create", "order-1-r4-abcde", status=201, agent="kubectl"),
        ],
        "v1/configmaps",
    )
    assert made == {"order-1-r1": 2, "order-1-r2": 1}
    assert beyond_once(made) == 1
