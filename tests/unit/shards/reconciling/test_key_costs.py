from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shards.keyrange import SPACE, PartitionKey, key_hash
from shards.objects import Key
from shards.reconciling.key_costs import (
    FINENESS,
    HALVED_EVERY_SECONDS,
    MOST_HASHES,
    SAMPLE_SECONDS,
    KeyCosts,
    Middle,
    middle_of,
)


def key(name: str) -> Key:
    return Key("default", name, f"uid-of-{name}")


def where(name: str) -> int:
    return key_hash(PartitionKey.NAME, "default", name, f"uid-of-{name}")


def measured(runs: dict[str, float], *, rounds: int = 1, step: float = 0.1) -> KeyCosts:
    """Each key's reconcile takes so many seconds; they take turns."""
    costs, at = KeyCosts(PartitionKey.NAME, 0.0), 0.0
    for _ in range(rounds):
        for name, seconds in runs.items():
            at += step
            costs.ran(key(name), seconds, at)
    return costs


def test_nothing_is_known_before_anything_ran() -> None:
    assert middle_of([KeyCosts(PartitionKey.UID, 0.0)]) is None


def test_a_single_key_is_hot_and_cannot_be_divided() -> None:
    assert middle_of([measured({"a": 1.0})]) == Middle(0, 0.0, where("a"), 1.0)


def test_the_middle_has_half_of_the_cost_below_it() -> None:
    names = sorted((f"key-{i}" for i in range(100)), key=where)
    middle = middle_of([measured(dict.fromkeys(names, 1.0))])
    assert middle is not None
    assert middle.at == where(names[50])
    assert middle.below == pytest.approx(0.5)
    assert middle.share == pytest.approx(0.01)


def test_the_middle_is_where_the_cost_is_and_not_where_the_keys_are() -> None:
    names = sorted((f"key-{i}" for i in range(100)), key=where)
    middle = middle_of([measured({name: 9.0 if name in names[90:] else 0.1 for name in names})])
    assert middle is not None
    assert middle.at == where(names[95])
    assert middle.below == pytest.approx(0.545, abs=0.01)


def test_the_costliest_key_is_found_among_thousands() -> None:
    names = [f"key-{i}" for i in range(5000)]
    costs = measured({name: 50.0 if name == "key-77" else 0.02 for name in names}, step=0.001)
    middle = middle_of([costs])
    assert middle is not None
    assert middle.hot == where("key-77")
    assert middle.share == pytest.approx(1 / 3, abs=0.05)
    assert len(costs.costs) <= MOST_HASHES


def test_the_middle_of_thousands_of_keys_is_found_nearly() -> None:
    costs = measured({f"key-{i}": 0.05 for i in range(20_000)}, step=0.001)
    middle = middle_of([costs])
    assert middle is not None
    assert middle.at == pytest.approx(SPACE / 2, rel=0.1)
    assert middle.below == pytest.approx(0.5, abs=2 / FINENESS)


def test_short_reconciles_are_sampled_and_weigh_what_they_take() -> None:
    rng = random.Random(3)
    costs, spent = KeyCosts(PartitionKey.NAME, 0.0), {"slow": 0.0, "quick": 0.0}
    for i in range(20_000):
        name, seconds = ("slow", 0.003) if rng.random() < 0.25 else ("quick", 0.001)
        costs.ran(key(name), seconds, i / 1000)
        spent[name] += seconds
    assert costs.costs[where("slow")] / sum(costs.costs.values()) == pytest.approx(
        spent["slow"] / sum(spent.values()), abs=0.05
    )


def test_keys_that_take_turns_do_not_hide_each_other() -> None:
    costs = measured({"a": SAMPLE_SECONDS / 2, "b": SAMPLE_SECONDS / 2}, rounds=500, step=0.01)
    assert costs.costs[where("a")] == pytest.approx(costs.costs[where("b")], rel=0.1)


def test_what_is_long_ago_is_forgotten() -> None:
    costs = measured({"once": 8.0})
    costs.ran(key("now"), 1.0, 3 * HALVED_EVERY_SECONDS + 1)
    assert costs.costs == {where("once"): 1.0, where("now"): 1.0}


def test_controllers_of_one_shard_are_counted_together() -> None:
    middle = middle_of([measured({"a": 1.0, "b": 1.0}), measured({"a": 2.0})])
    assert middle is not None
    assert (middle.hot, middle.share) == (where("a"), 0.75)


@given(st.lists(st.tuples(st.integers(0, 400), st.floats(0.001, 5.0)), min_size=1, max_size=600))
def test_the_middle_lies_above_a_key_and_at_or_below_another(runs: list[tuple[int, float]]) -> None:
    costs = KeyCosts(PartitionKey.NAME, 0.0)
    for i, (which, seconds) in enumerate(runs):
        costs.ran(key(f"key-{which}"), seconds, float(i))
    middle = middle_of([costs])
    if middle is None:
        return
    assert len(costs.costs) <= MOST_HASHES
    assert middle.hot in costs.costs
    if middle.at:
        assert min(costs.costs) < middle.at <= max(costs.costs)
        assert 0 < middle.below < 1
