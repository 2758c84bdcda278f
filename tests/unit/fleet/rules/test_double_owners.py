from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from fleet.records.record import Holder, MemberRecord, ShardRecord, ShardStatus
from fleet.records.report_record import ShardLoad
from fleet.rules.coverage import Claim
from fleet.rules.double_owners import KEPT_SECONDS, Double, DoubleOwners
from shards.keyrange import SPACE, KeyRange, PartitionKey, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member, shard

LOW, HIGH = ranges_from(equal_boundaries(2))
MIDDLE = KeyRange(SPACE // 4, SPACE // 4 * 3)


def claim(each: KeyRange, holder: str) -> Claim:
    found = Holder.parse(holder)
    assert found is not None
    return Claim(each, found, 9.0)


@dataclass
class Observer:
    """members: their records, with what they say they hold. works: by member, ranges at shard epochs."""

    double_owners: DoubleOwners = field(default_factory=DoubleOwners)
    members: dict[str, MemberRecord] = field(default_factory=dict)
    works: dict[str, dict[KeyRange, int]] = field(default_factory=dict)
    shards: dict[KeyRange, ShardRecord] = field(default_factory=dict)

    def look(self, *claims: Claim, at: float = 0.0) -> list[Double]:
        workers: list[dict[str, Any]] = [{"ready": False, "reason": "no answer"}]
        for name, ranges in self.works.items():
            held = {str(each): {"phase": "owned", "open": True, "epoch": epoch} for each, epoch in ranges.items()}
            workers.append({"member": name, "epoch": 3, "shards": held})
        return self.double_owners.look(claims, self.members, self.shards, workers, at)

    def says(self, name: str, *ranges: KeyRange, version: str = "1") -> None:
        loads = {str(each): ShardLoad() for each in ranges}
        self.members[name] = member(name, loads={**loads, "mangled": ShardLoad()}, version=version)


def sentences(found: list[Double]) -> list[str]:
    return [each.what for each in found]


def test_claims_side_by_side_are_one_owner_each() -> None:
    assert Observer().look(claim(HIGH, "b@3"), claim(LOW, "a@3")) == []


def test_claims_that_share_a_hash_are_two_owners_even_of_one_member() -> None:
    found = Observer().look(claim(HIGH, "b@3"), claim(MIDDLE, "c@1"), claim(LOW, "a@3"))
    assert sentences(found) == [
        f"a@3 holds {LOW}, and c@1 holds {MIDDLE}",
        f"c@1 holds {MIDDLE}, and b@3 holds {HIGH}",
    ]
    assert len(Observer().look(claim(LOW, "a@3"), claim(MIDDLE, "a@3"))) == 1


def test_claims_under_two_partition_keys_may_always_hold_one_key() -> None:
    assert len(Observer().look(claim(replace(HIGH, key=PartitionKey.NAMESPACE), "b@3"), claim(LOW, "a@3"))) == 1


def test_a_finding_is_told_once_and_counts_for_two_minutes() -> None:
    observer = Observer()
    pair = claim(LOW, "a@3"), claim(MIDDLE, "c@1")
    assert len(observer.look(*pair, at=0.0)) == 1
    assert observer.look(*pair, at=5.0) == []
    assert observer.look(at=KEPT_SECONDS) == []
    assert len(observer.double_owners.found) == 1
    observer.look(at=6.0 + KEPT_SECONDS)
    assert not observer.double_owners.found


def test_reports_that_overlap_count_when_both_members_have_renewed_meanwhile() -> None:
    observer = Observer()
    observer.says("a", LOW)
    observer.says("b", LOW, HIGH)
    assert observer.look() == []
    observer.says("b", LOW, HIGH, version="2")
    assert observer.look() == []
    observer.says("a", LOW, version="2")
    assert sentences(observer.look()) == [f"a says it holds {LOW}, and b {LOW}"]


def test_a_report_from_before_a_handover_is_no_second_owner() -> None:
    observer = Observer()
    observer.says("a", LOW)
    observer.says("b", LOW, HIGH)
    assert observer.look() == []
    observer.says("a", version="2")
    observer.says("b", LOW, HIGH, version="2")
    assert observer.look() == []
    observer.says("a", LOW, version="3")
    assert observer.look() == []


def test_what_a_fenced_member_reported_last_says_nothing() -> None:
    observer = Observer()
    for version in "123":
        observer.says("a", LOW, version=version)
        observer.says("b", LOW, version=version)
        observer.members["a"] = replace(observer.members["a"], holder=None)
        assert observer.look() == []


def test_a_worker_that_works_under_an_epoch_that_is_over_counts_at_the_second_look() -> None:
    observer = Observer(works={"a": {LOW: 5}}, shards={LOW: shard(LOW, epoch=6, holder=Holder("b", 1))})
    assert observer.look() == []
    assert sentences(observer.look()) == [f"a works on {LOW} at epoch 5, but its Lease is at epoch 6, held by b@1"]


def test_a_worker_whose_lease_was_taken_by_hand_counts_too() -> None:
    retired = shard(LOW, epoch=5, status=ShardStatus.RETIRED, holder=None)
    for record in (shard(LOW, epoch=5, holder=Holder("b", 1)), retired):
        observer = Observer(works={"a": {LOW: 5}}, shards={LOW: record})
        observer.look()
        assert len(observer.look()) == 1


def test_a_worker_is_believed_where_the_reader_is_behind() -> None:
    for record in (
        {},
        {LOW: shard(LOW, epoch=4, holder=Holder("b", 1))},
        {LOW: shard(LOW, epoch=5, holder=Holder("a", 3))},
    ):
        observer = Observer(works={"a": {LOW: 5}}, shards=record)
        assert (observer.look(), observer.look()) == ([], [])


def test_a_worker_that_let_go_between_two_looks_was_none() -> None:
    observer = Observer(works={"a": {LOW: 5}}, shards={LOW: shard(LOW, epoch=6, holder=Holder("b", 1))})
    observer.look()
    observer.works = {}
    assert observer.look() == []
    observer.works = {"a": {LOW: 5}}
    assert observer.look() == []
