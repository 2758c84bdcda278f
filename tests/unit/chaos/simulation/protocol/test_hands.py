from __future__ import annotations

from collections import Counter

import pytest

from chaos.simulation.protocol.hands import Hands
from chaos.simulation.stage import EditHow
from fleet.backends.local_store import LocalStore, Unreadable
from fleet.records.object_names import Kind
from fleet.records.record import CoordinatorRecord, Holder, Incarnation, MemberRecord, ShardRecord, ShardStatus
from shards.keyrange import WHOLE

ANN = MemberRecord("ann", Incarnation("pod", 1), 2, 8.0)
HELD = ShardRecord(WHOLE, ShardStatus.ACTIVE, 3, holder=Holder("ann", 2))


@pytest.fixture
def store() -> LocalStore:
    made = LocalStore()
    made.put(Kind.MEMBER, "ann", ANN, "")
    made.put(Kind.SHARD, "whole", HELD, "")
    made.put(Kind.COORDINATOR, "only", CoordinatorRecord("pod/1", 1, 8.0), "")
    return made


@pytest.fixture
def hits() -> Counter[str]:
    return Counter()


@pytest.fixture
def hands(store: LocalStore, hits: Counter[str]) -> Hands:
    return Hands(store, hits)


def shard(store: LocalStore) -> ShardRecord:
    found = store.get(Kind.SHARD, "whole")
    assert isinstance(found, ShardRecord)
    return found


def test_what_is_not_there_is_left_alone(hands: Hands, hits: Counter[str]) -> None:
    hands.delete("map", 3)
    assert hits == {}


def test_a_deleted_record_is_gone(hands: Hands, store: LocalStore, hits: Counter[str]) -> None:
    hands.delete("member", 5)
    assert store.get(Kind.MEMBER, "ann") is None
    assert hits == {"delete": 1}


def test_a_stolen_shard_names_somebody_who_is_no_member(hands: Hands, store: LocalStore) -> None:
    hands.steal("shard", 0, "somebody")
    assert (shard(store).holder, shard(store).holder_text) == (None, "somebody")


def test_an_emptied_shard_has_no_release(hands: Hands, store: LocalStore) -> None:
    hands.steal("shard", 0, "")
    assert (shard(store).holder_text, shard(store).released) == ("", None)


@pytest.mark.parametrize(
    ("how", "epoch", "status", "text"),
    [
        ("touch", 3, ShardStatus.ACTIVE, "ann@2"),
        ("lower-epoch", 2, ShardStatus.ACTIVE, "ann@2"),
        ("retire", 3, ShardStatus.RETIRED, "ann@2"),
        ("mangle", 3, ShardStatus.ACTIVE, "?"),
    ],
)
def test_edits_of_a_shard(
    hands: Hands, store: LocalStore, how: EditHow, epoch: int, status: ShardStatus, text: str
) -> None:
    before = shard(store).version
    hands.edit("shard", 0, how)
    found = shard(store)
    assert (found.epoch, found.status, found.holder_text) == (epoch, status, text)
    assert found.version != before


def test_an_edit_that_means_nothing_is_no_write(hands: Hands, store: LocalStore, hits: Counter[str]) -> None:
    hands.edit("shard", 0, "activate")
    hands.edit("member", 0, "retire")
    assert hits == {}
    assert store.revision == 4


def test_a_mangled_map_cannot_be_read(hands: Hands, store: LocalStore) -> None:
    store.records[Kind.MAP, "only"] = Unreadable("4")
    hands.edit("map", 0, "mangle")
    assert isinstance(store.records[Kind.MAP, "only"], Unreadable)
    assert store.of(Kind.MAP) == {}
