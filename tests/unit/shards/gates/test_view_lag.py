"""How long a view has been behind is told from looks at it."""

from __future__ import annotations

from shards.gates.view_lag import MOST_MARKS, ViewLag
from shards.stores.store import StoreReader


def at(version: str) -> StoreReader:
    view = StoreReader()
    view.resource_version = version
    return view


def test_a_view_that_shows_all_is_not_behind() -> None:
    lag = ViewLag()
    assert [lag.look(float(now), "7", at("7")) for now in range(3)] == [0.0, 0.0, 0.0]


def test_nothing_is_known_before_the_first_write() -> None:
    assert ViewLag().look(1.0, "", at("")) == 0.0


def test_it_grows_while_the_view_stands_still() -> None:
    lag = ViewLag()
    assert [lag.look(float(now), "9", at("7")) for now in (10, 11, 40)] == [0.0, 1.0, 30.0]
    assert lag.look(41.0, "9", at("9")) == 0.0


def test_a_view_that_follows_at_a_distance_is_behind_by_that_distance_all_the_time() -> None:
    lag, distance = ViewLag(), 20
    told = [lag.look(float(now), str(1000 + now), at(str(1000 + now - distance))) for now in range(100)]
    assert set(told[distance:]) == {distance - 1.0}


def test_versions_are_compared_as_numbers_of_any_length() -> None:
    lag = ViewLag()
    lag.look(0.0, "1" + "0" * 30, at("9" * 30))
    assert lag.look(5.0, "1" + "0" * 30, at("9" * 30)) == 5.0


def test_what_was_known_of_a_history_that_is_lost_is_waited_for_no_more() -> None:
    lag = ViewLag()
    lag.look(0.0, "900", at("7"))
    assert lag.look(5.0, "8", at("8")) == 0.0
    lag.look(6.0, "900", at("8"))
    assert lag.look(7.0, "", at("8")) == 0.0


def test_what_is_remembered_is_bounded_and_the_oldest_of_it_stays() -> None:
    lag = ViewLag()
    told = [lag.look(float(now), str(10 + now), at("1")) for now in range(MOST_MARKS * 2)]
    assert told[-1] == MOST_MARKS * 2 - 1
    assert len(lag._marks) == MOST_MARKS


def test_an_object_of_that_version_shows_it_too() -> None:
    view = at("3")
    view.highest_object_version = "9"
    lag = ViewLag()
    lag.look(0.0, "9", at("3"))
    assert lag.look(9.0, "9", view) == 0.0
