"""I27: a shard's record is a lock."""

from __future__ import annotations

import pytest

from chaos.simulation.oracles.locks import Mutex
from fleet.records.record import ShardStatus
from tests.unit.chaos.simulation.oracles.history import FIRST, History


@pytest.fixture
def history() -> History:
    history = History(Mutex)
    history.shard(0.5, "agent-1/1", epoch=1)
    history.member(0.5, "a/1", "a", 1)
    history.shard(1.0, "a/1", epoch=2, holder="a@1")
    return history


def test_a_lock_that_was_released_may_be_taken(history: History) -> None:
    history.shard(2.0, "a/1", epoch=2)
    history.shard(3.0, "b/1", epoch=3, holder="b@1")
    assert (history.said, history.checks) == ([], 3)


def test_one_that_is_held_may_not(history: History) -> None:
    history.shard(2.0, "b/1", epoch=3, holder="b@1")
    assert history.said == [f"b@1 claimed {FIRST}, held by a@1"]


def test_one_whose_holder_was_fenced_may(history: History) -> None:
    history.member(2.0, "agent-1/1", "a", 2, held=False)
    history.shard(3.0, "b/1", epoch=3, holder="b@1")
    assert history.said == []


def test_one_whose_holder_is_below_the_floor_of_the_map_may_though_a_restored_record_says_that_it_lives(
    history: History,
) -> None:
    history.map(2.0, "agent-1/1", 1, floors={"a": 2, "b": 1})
    history.shard(3.0, "agent-1/1", epoch=3, status=ShardStatus.RETIRED)
    assert history.said == []


def test_a_floor_that_the_holder_has_reached_frees_nothing(history: History) -> None:
    history.map(2.0, "agent-1/1", 1, floors={"a": 1, "b": 1})
    history.shard(3.0, "agent-1/1", epoch=3, status=ShardStatus.RETIRED)
    assert history.said == [f"agent-1 emptied {FIRST}, held by a@1"]


def test_so_may_one_of_an_earlier_incarnation_of_its_own(history: History) -> None:
    history.shard(3.0, "a/2", epoch=3, holder="a@2")
    assert history.said == []


def test_one_that_a_hand_emptied_may_not(history: History) -> None:
    history.shard(2.0, "hand", epoch=2, released=1)
    history.shard(3.0, "b/1", epoch=3, holder="b@1")
    assert "though it was not released" in history.said[0]


def test_nobody_claims_for_another(history: History) -> None:
    history.shard(2.0, "a/1", epoch=2)
    history.shard(3.0, "b/1", epoch=3, holder="c@1")
    assert history.said == [f"b claimed {FIRST} for c@1"]


def test_what_is_retired_is_not_claimed(history: History) -> None:
    history.shard(2.0, "a/1", epoch=2)
    history.shard(2.5, "agent-1/1", epoch=3, status=ShardStatus.RETIRED)
    history.shard(3.0, "b/1", epoch=4, holder="b@1")
    assert history.said == [f"b@1 claimed {FIRST}, which is retired"]


def test_nobody_empties_what_another_holds(history: History) -> None:
    history.shard(2.0, "agent-1/1", epoch=3, status=ShardStatus.RETIRED)
    assert history.said == [f"agent-1 emptied {FIRST}, held by a@1"]


def test_but_a_hand_does_what_it_wants(history: History) -> None:
    history.shard(2.0, "hand", epoch=3, status=ShardStatus.RETIRED)
    assert history.said == []


def test_what_a_hand_has_retired_the_coordinator_may_empty(history: History) -> None:
    history.shard(2.0, "hand", epoch=2, holder="a@1", status=ShardStatus.RETIRED)
    history.shard(3.0, "agent-1/1", epoch=3)
    assert history.said == []
