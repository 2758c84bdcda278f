"""An index: each value's keys, exactly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shards.stores.postings import Postings

moves = st.lists(st.tuples(st.booleans(), st.sampled_from("xy"), st.sampled_from("abc")), max_size=30)


def test_keys_come_in_the_order_in_which_they_were_added() -> None:
    found = Postings()
    for key in ("c", "a", "b"):
        found.add("v", key)
    assert found.get("v") == ("c", "a", "b")


@given(moves)
def test_it_holds_what_a_dict_of_sets_holds_and_no_empty_value(history: list[tuple[bool, str, str]]) -> None:
    found = Postings()
    model: dict[str, set[str]] = {}
    for adds, value, key in history:
        if adds:
            found.add(value, key)
            model.setdefault(value, set()).add(key)
        else:
            found.discard(value, key)
            model.get(value, set()).discard(key)
    held = {value: keys for value, keys in model.items() if keys}
    assert {value: set(found.get(value)) for value in "xy"} == {value: model.get(value, set()) for value in "xy"}
    assert len(found) == len(held)
