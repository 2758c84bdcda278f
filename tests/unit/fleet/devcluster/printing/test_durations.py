from __future__ import annotations

import pytest

from fleet.devcluster.printing.durations import Ages, human_duration

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 5 * MINUTE, "7h5m"),
        (8 * HOUR + 5 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (48 * HOUR, "2d"),
        (7 * DAY + 3 * HOUR, "7d3h"),
        (8 * DAY + 3 * HOUR, "8d"),
        (2 * YEAR - DAY, "729d"),
        (2 * YEAR + 3 * DAY, "2y3d"),
        (8 * YEAR + 3 * DAY, "8y"),
    ],
)
def test_a_duration_has_two_or_three_figures(seconds: float, shown: str) -> None:
    assert human_duration(seconds) == shown


def test_an_age_is_counted_from_a_timestamp_to_now() -> None:
    ages = Ages(1_000_000_060.0)
    assert ages.since("2001-09-09T01:46:40Z") == "60s"
    assert ages.since("") == ages.since(None) == "<unknown>"
