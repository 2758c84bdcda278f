"""What views have to reach as a whole: which lists are needed, and what it costs to ask."""

from __future__ import annotations

from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from shards.gates.levels import Levels
from shards.objects import Key, Resource
from tests.unit.shards.gates.stores import PAGES, SITES, Cache


def key(number: int) -> Key:
    return Key("ns", f"a{number}", f"uid-{number}")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["lift", "list", "listed", "distrust", "closed"]),
        st.integers(0, 3),
        st.sampled_from([PAGES, SITES]),
        st.integers(1, 30),
    ),
    max_size=40,
)


@given(STEPS)
def test_the_lists_that_are_needed_are_those_of_levels_without_a_version(
    steps: list[tuple[str, int, Resource, int]],
) -> None:
    levels, cache = Levels(), Cache()
    for step, number, resource, version in steps:
        if step == "lift":
            levels.lift(key(number), resource, str(version))
        elif step == "list":
            levels.lift(key(number), resource, "")
        elif step == "listed":
            levels.listed(resource, max(0, levels.numbers - number))
        elif step == "distrust":
            levels.distrust(resource)
        else:
            cache.pages.bookmark(str(version))
            levels.closed(key(number), cache.views)
        needed = {of for each in levels._keys.values() for of, level in each.items() if not level.version}
        assert set(levels.lists()) == needed | levels._resources.keys()


def test_a_look_at_one_of_very_many_keys_costs_no_look_at_all_of_them() -> None:
    levels = Levels()
    for number in range(20_000):
        levels.lift(key(number), PAGES, "7")
    began = process_time()
    for _ in range(1_000):
        assert levels.lists() == ()
    assert process_time() - began < 0.5


def test_lists_are_asked_for_in_the_order_in_which_the_need_came_up() -> None:
    """An order of hashes would be another one in every process, and so would be what a simulated history comes to."""
    kinds = [Resource("example.com", "v1", f"kind{number}") for number in range(20)]
    levels = Levels()
    for number, resource in enumerate(kinds[::-1]):
        levels.lift(key(number), resource, "")
    levels.distrust(PAGES)
    levels.distrust(kinds[0])

    assert levels.lists() == (*kinds[:0:-1], PAGES, kinds[0])
