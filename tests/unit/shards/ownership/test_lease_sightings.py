"""Whether the holder of a Lease has gone: by what was seen, for how long, on this process's clock."""

from __future__ import annotations

import pytest

from shards.objects import Object, ObjectName
from shards.ownership.lease_sightings import REMEMBERED, UNKNOWN_SECONDS, LeaseSightings, Sign

NAME = ObjectName("ns", "leader")


def lease(version: int = 1, *, seconds: int | None = 15, holder: str | None = "a", uid: str = "u") -> Object:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": "2001-01-01T00:00:00.000000Z"}
    return {"metadata": {"uid": uid, "resourceVersion": str(version)}, "spec": spec}


class Looks:
    def __init__(self) -> None:
        self.seen = LeaseSightings()

    def at(self, now: float, found: Object | None, takes: float = 0.0) -> tuple[Sign, float]:
        sign, seconds = self.seen.look(NAME, found, now, now + takes)
        return sign, round(seconds, 6)


def test_the_first_look_proves_nothing_however_old_its_timestamps_are() -> None:
    assert Looks().at(100, lease()) == (Sign.WAIT, 15)


def test_one_version_that_stands_still_for_its_duration_has_expired() -> None:
    looks = Looks()
    looks.at(100, lease())
    assert looks.at(114.9, lease()) == (Sign.WAIT, 0.1)
    assert looks.at(115, lease()) == (Sign.EXPIRED, 0)
    assert looks.at(115.1, lease()) == (Sign.EXPIRED, 0)


def test_a_renewal_within_the_duration_shows_that_its_holder_lives() -> None:
    looks = Looks()
    looks.at(100, lease(1))
    assert looks.at(114, lease(2)) == (Sign.ALIVE, 0)
    assert looks.at(128, lease(2)) == (Sign.WAIT, 1)
    assert looks.at(129, lease(2)) == (Sign.EXPIRED, 0)


def test_a_renewal_some_time_in_a_long_absence_proves_neither() -> None:
    looks = Looks()
    looks.at(100, lease(1))
    assert looks.at(1000, lease(2)) == (Sign.WAIT, 15)


def test_the_time_runs_from_an_answer_to_a_question() -> None:
    looks = Looks()
    looks.at(100, lease(), takes=5)
    assert looks.at(119.5, lease(), takes=5) == (Sign.WAIT, 0.5)
    assert looks.at(120, lease(), takes=5) == (Sign.EXPIRED, 0)


def test_the_largest_duration_that_was_ever_seen_counts() -> None:
    looks = Looks()
    looks.at(100, lease(1, seconds=60))
    looks.at(101, lease(2, seconds=1))
    assert looks.at(102.5, lease(2, seconds=1)) == (Sign.WAIT, 58.5)
    assert looks.at(161, lease(2, seconds=1)) == (Sign.EXPIRED, 0)


@pytest.mark.parametrize("gone", [None, lease(2, holder=None), lease(2, holder="")])
def test_a_lease_that_is_gone_or_released_has_to_stand_still_as_well(gone: Object | None) -> None:
    """Its former holder acts until its own deadline: client-go's two leaders after a deletion."""
    looks = Looks()
    looks.at(100, lease(1))
    assert looks.at(101, gone) == (Sign.WAIT, 15)
    assert looks.at(115, gone) == (Sign.WAIT, 1)
    assert looks.at(116, gone) == (Sign.EXPIRED, 0)


@pytest.mark.parametrize("found", [None, lease(seconds=None), lease(seconds=0), {"metadata": {"uid": "u"}}])
def test_without_a_duration_the_longest_in_common_use_is_waited_for(found: Object | None) -> None:
    assert Looks().at(100, found) == (Sign.WAIT, UNKNOWN_SECONDS)


def test_a_lease_that_was_made_again_is_another_one() -> None:
    looks = Looks()
    looks.at(100, lease(1))
    looks.at(114, lease(1, uid="new"))
    assert looks.at(116, lease(1, uid="new"))[0] is Sign.WAIT


def test_what_is_remembered_is_bounded_and_what_is_forgotten_is_watched_anew() -> None:
    looks = Looks()
    looks.at(100, lease())
    for number in range(REMEMBERED):
        looks.seen.look(ObjectName("ns", f"other-{number}"), lease(), 100, 100)
    assert len(looks.seen) == REMEMBERED
    assert looks.at(200, lease()) == (Sign.WAIT, 15)
