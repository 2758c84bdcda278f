from __future__ import annotations

import pytest

from fleet.records.record import CoordinatorRecord, Incarnation
from fleet.rules.election import Stand, Watch, renewed, resigned, stand
from fleet.rules.membership import Sighting

ME = Incarnation("agent", 3)
LEASE = 8.0


def decided(
    found: CoordinatorRecord | None, *, stood_seconds: float = 0.0, reaped: bool = False, known_epoch: int = 0
) -> Stand | Watch:
    """What a candidate does that has seen `found` unchanged for that long, at second 100."""
    return stand(
        ME,
        found,
        sighting=Sighting(
            found.version if found else "", 100.0 - stood_seconds, found.lease_seconds if found else LEASE
        ),
        lease_seconds=LEASE,
        known_epoch=known_epoch,
        reaped_predecessor=reaped,
        now=100.0,
    )


def test_an_office_that_never_was_is_taken_at_epoch_one() -> None:
    assert decided(None) == Stand(CoordinatorRecord(str(ME), 1, LEASE))


@pytest.mark.parametrize(
    ("holder", "reaped", "stood_seconds"),
    [
        ("", False, 0.0),
        (str(ME), False, 0.0),
        ("agent/2", True, 0.0),
        ("agent/2", False, 20.0),
        ("other/1", False, 20.0),
        ("not an incarnation", False, 20.0),
    ],
)
def test_a_free_office_is_taken_under_the_next_epoch(holder: str, reaped: bool, stood_seconds: float) -> None:
    found = CoordinatorRecord(holder, 6, 20.0, renewals=40, version="9")
    taken = decided(found, stood_seconds=stood_seconds, reaped=reaped)
    assert taken == Stand(CoordinatorRecord(str(ME), 7, LEASE, renewals=41, version="9"))


@pytest.mark.parametrize(
    ("holder", "reaped"), [("agent/2", False), ("agent/4", True), ("other/1", True), ("edited by hand", True)]
)
def test_an_office_that_is_held_is_watched_for_the_lease_that_its_own_record_grants(holder: str, reaped: bool) -> None:
    found = CoordinatorRecord(holder, 6, 20.0, version="9")
    assert decided(found, stood_seconds=19.0, reaped=reaped) == Watch(101.0)


@pytest.mark.parametrize("found", [None, CoordinatorRecord("", 2, LEASE, version="9")])
def test_an_office_is_never_below_what_the_map_remembers(found: CoordinatorRecord | None) -> None:
    taken = decided(found, known_epoch=30)
    assert isinstance(taken, Stand)
    assert taken.record.epoch == 31


def test_a_renewal_always_changes_the_record_and_a_resignation_empties_it() -> None:
    record = CoordinatorRecord(str(ME), 6, LEASE, renewals=4, version="9")
    assert renewed(record) == CoordinatorRecord(str(ME), 6, LEASE, renewals=5, version="9")
    assert resigned(record) == CoordinatorRecord("", 6, LEASE, renewals=5, version="9")
