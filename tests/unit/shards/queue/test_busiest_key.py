"""Which key runs most is known, whatever the number of keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shards.objects import Key
from shards.queue.busiest_key import MOST_KEYS, Busiest, BusiestKey

A, B = Key("ns", "a", "uid-a"), Key("ns", "b", "uid-b")


def test_nothing_is_told_before_a_window_has_ended() -> None:
    busiest = BusiestKey(0.0)
    busiest.ran(A)
    assert not busiest.look(59.0)
    assert busiest.last == Busiest()


def test_the_key_that_ran_most_is_told_with_its_rate_and_its_share() -> None:
    busiest = BusiestKey(0.0)
    for key in [A] * 120 + [B] * 40:
        busiest.ran(key)
    assert busiest.look(60.0)
    assert busiest.last == Busiest(A, 2.0, 0.75)
    assert busiest.last.hot


def test_a_window_in_which_nothing_ran_says_so() -> None:
    busiest = BusiestKey(0.0)
    busiest.ran(A)
    busiest.look(60.0)
    assert busiest.look(120.0)
    assert busiest.last == Busiest(None, 0.0, 0.0)


def test_no_key_is_hot_where_all_are_busy_or_none_is() -> None:
    busiest = BusiestKey(0.0)
    for key in [A, B] * 600:
        busiest.ran(key)
    busiest.look(60.0)
    assert not busiest.last.hot
    busiest.ran(A)
    busiest.look(120.0)
    assert busiest.last.share == 1.0
    assert not busiest.last.hot


@given(st.lists(st.integers(0, 500), max_size=3000), st.integers(0, 3000))
def test_the_memory_is_bounded_and_a_hot_key_is_found_among_any_number(others: list[int], at: int) -> None:
    busiest = BusiestKey(0.0)
    keys = [Key("ns", str(each), str(each)) for each in others]
    keys[at:at] = [A] * (len(others) + 10)
    for key in keys:
        busiest.ran(key)
        assert len(busiest._counts) <= MOST_KEYS
    busiest.look(60.0)
    assert busiest.last.key == A
    assert busiest.last.share > 0.5 - 1 / MOST_KEYS
