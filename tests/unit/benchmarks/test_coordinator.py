from __future__ import annotations

from benchmarks.coordinator import Office, rows


def test_the_fleet_that_is_looked_at_is_at_rest_whatever_is_new() -> None:
    office = Office.of(8, 2)
    for look in (office.renewed, office.renewed, office.turn, office.anew):
        look()


def test_every_sort_of_look_is_measured() -> None:
    found = {row.quantity: row.value for row in rows(4, 3, times=1)}
    assert list(found) == [
        f"4 ranges, 3 members: {what}"
        for what in ("nothing is new", "a member renewed", "everything is new", "renewed over anew")
    ]
    assert all(value is not None and value > 0 for value in found.values())
