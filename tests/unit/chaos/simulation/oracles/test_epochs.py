"""I2: epochs grow, and each has one holder."""

from __future__ import annotations

import pytest

from chaos.simulation.oracles.epochs import GrowingEpochs
from fleet.records.object_names import Kind
from tests.unit.chaos.simulation.oracles.history import History


@pytest.fixture
def history() -> History:
    return History(GrowingEpochs)


def test_claims_and_releases_in_order_are_right(history: History) -> None:
    history.shard(1.0, "agent-1/1", epoch=1)
    history.shard(2.0, "a/1", epoch=2, holder="a@1")
    history.shard(3.0, "a/1", epoch=2)
    history.shard(4.0, "b/1", epoch=3, holder="b@1")
    history.coordinator(4.0, "agent-1/1", 1, "agent-1/1")
    history.map(5.0, "agent-1/1", 1)
    history.map(6.0, "agent-1/1", 2, ("b", "b"))
    assert (history.said, history.checks) == ([], 9)


def test_a_shard_that_falls_is_found(history: History) -> None:
    history.shard(1.0, "a/1", epoch=2, holder="a@1")
    history.shard(2.0, "b/1", epoch=1, holder="b@1")
    assert "fell from epoch 2 to 1" in history.said[0]


def test_two_holders_of_one_epoch_are_found(history: History) -> None:
    history.shard(1.0, "a/1", epoch=2, holder="a@1")
    history.shard(2.0, "b/1", epoch=2, holder="b@1")
    assert "is held by a@1 and by b@1 at epoch 2" in history.said[0]


def test_a_member_and_an_office_have_epochs_too(history: History) -> None:
    history.member(1.0, "a/1", "a", 3)
    history.member(2.0, "a/2", "a", 2)
    history.coordinator(3.0, "agent-1/1", 2, "agent-1/1")
    history.coordinator(4.0, "agent-2/1", 2, "agent-2/1")
    assert len(history.said) == 2


def test_a_map_version_stands_for_one_map(history: History) -> None:
    history.map(1.0, "agent-1/1", 4)
    history.map(2.0, "agent-2/1", 4, ("b", "b"))
    assert history.said == ["map version 4 was written again, with another content"]


def test_the_office_in_the_map_does_not_fall(history: History) -> None:
    history.map(1.0, "agent-1/1", 4, coordinator_epoch=3)
    history.map(2.0, "agent-2/1", 5, coordinator_epoch=2)
    assert history.said == ["map its coordinator fell from epoch 3 to 2"]


def test_a_hand_may_write_what_it_wants_and_the_fleet_goes_on_from_there(history: History) -> None:
    history.shard(1.0, "a/1", epoch=7, holder="a@1")
    history.shard(2.0, "hand", epoch=3, holder="a@1")
    history.shard(3.0, "b/1", epoch=4, holder="b@1")
    assert history.said == []
    history.shard(4.0, "b/1", epoch=3, holder="b@1")
    assert len(history.said) == 1


def test_what_a_hand_deleted_may_begin_again_and_what_the_fleet_collected_may_not(history: History) -> None:
    history.member(1.0, "a/1", "a", 5)
    history.put(2.0, "hand", Kind.MEMBER, "a", None)
    history.member(3.0, "a/2", "a", 1)
    assert history.said == []
    history.put(4.0, "agent-1/1", Kind.MEMBER, "a", None)
    history.member(5.0, "a/3", "a", 1, held=False)
    history.member(6.0, "a/3", "a", 0)
    assert len(history.said) == 1


def test_after_a_restore_nothing_of_before_binds(history: History) -> None:
    history.shard(1.0, "a/1", epoch=7, holder="a@1")
    history.restored(2.0)
    history.shard(3.0, "b/1", epoch=4, holder="b@1")
    assert history.said == []
