"""What `fleet canary status` makes of the records of members."""

from __future__ import annotations

import io
from dataclasses import replace

import msgspec
import pytest

from fleet.records.record import (
    CoordinatorRecord,
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
)
from fleet.records.report_record import PartRecord, RolloutRecord
from fleet.rules.canary_verdict import Word
from fleet.status import canary_table
from fleet.status.canary_view import CanaryStatus, canary_status
from fleet.status.statusview import Sight
from shards.keyrange import WHOLE, PartitionKey

FOLLOWED = RolloutRecord("d1", ("VersionGate",), (), "0.25 of the shards")
INSIDE = PartRecord("sites", "VersionGate,ServerSideSharding", 1, 300, 500, reconciles=100, requests=200)
OUTSIDE = replace(INSIDE, on="ServerSideSharding", shards=3)
A = MemberRecord("web-0-0", Incarnation("a.1", 1), 3, 8.0, parts=(INSIDE,), rollout=FOLLOWED)
B = MemberRecord("web-1-0", Incarnation("b.1", 1), 1, 8.0, parts=(OUTSIDE,), rollout=FOLLOWED)
OWNED = ShardRecord(WHOLE, ShardStatus.ACTIVE, 7, Holder(A.name, 3), f"{A.name}@3")
MAP = ShardMap(5, 1, "web", "identity", PartitionKey.UID, (0,), (A.name,), opened=frozenset({WHOLE}))
OFFICE = CoordinatorRecord("b.1.agent/1", 4, 8.0)


def sight(*members: MemberRecord, silent: frozenset[str] = frozenset(), shards: bool = True) -> Sight:
    found = {each.name: each for each in members or (A, B)}
    return Sight("web", "default", MAP, found, {WHOLE: OWNED} if shards else {}, OFFICE, silent)


def because(status: CanaryStatus) -> list[str]:
    return [f"{row.name}: {row.sentence}" for row in status.criteria if row.verdict != Word.GO_ON]


def test_parts_with_and_without_the_feature_are_compared() -> None:
    status = canary_status(sight())
    assert (status.verdict, because(status)) == ("go on", [])
    assert (status.features, status.part, status.members) == (("VersionGate",), "0.25 of the shards", ("web-0-0",))
    assert status.canary is not None
    assert status.rest is not None
    assert (status.canary.shards, status.rest.shards, status.rest.measured_seconds) == (1, 3, 300)
    assert status.why == "all 10 criteria allow the next step"


def test_a_canary_that_fares_worse_is_to_be_taken_back() -> None:
    status = canary_status(sight(replace(A, parts=(replace(INSIDE, live_reads=50),)), B))
    assert status.verdict == "step back"
    assert status.why == "live reads of the gate per reconcile: 0.5 is above 0.05, and 0 in the rest"


WAITS = {
    "a worker that follows another config": (
        sight(A, replace(B, rollout=replace(FOLLOWED, digest="d0", part="0.1 of the shards"))),
        "one config: 1 of 2 workers follow another config yet: web-",
    ),
    "a worker of a version that knows no canary": (
        sight(A, replace(B, rollout=None, parts=())),
        "one config: 1 of 2 workers follow another config yet: web-1-0",
    ),
    "a silent worker": (sight(silent=frozenset({B.name})), "one config: silent: web-1-0"),
    "a shard without an owner": (sight(shards=False), "every shard has its owner: 1 of 1 shards have none"),
    "no worker that tells": (
        sight(replace(A, rollout=None), replace(B, rollout=None)),
        "one config: no worker says what it follows",
    ),
    "nobody in the canary": (
        sight(replace(A, parts=(OUTSIDE,)), B),
        "somebody has it: no shard is in the canary (0.25 of the shards), or the API server cannot do it",
    ),
    "a feature that is switched off": (
        sight(*(replace(each, rollout=replace(FOLLOWED, off=("VersionGate",)), parts=(OUTSIDE,)) for each in (A, B))),
        "somebody has it: switched off in featureGates: VersionGate",
    ),
}


@pytest.mark.parametrize(("shown", "sentence"), WAITS.values(), ids=WAITS)
def test_the_next_step_waits_for(shown: Sight, sentence: str) -> None:
    status = canary_status(shown)
    assert status.verdict == "wait"
    assert any(each.startswith(sentence) for each in because(status)), because(status)


def test_who_left_is_not_counted() -> None:
    gone = replace(B, holder=None, parts=(replace(OUTSIDE, shards=99),), rollout=None)
    status = canary_status(sight(A, gone))
    assert status.rest is None
    assert status.verdict == "go on"


def test_another_controller_is_no_yardstick() -> None:
    """A canary of one controller is compared with that controller's other shards, if it has any."""
    other = replace(OUTSIDE, controller="queues", requests=1)
    status = canary_status(sight(A, replace(B, parts=(other,))))
    assert (status.verdict, status.rest) == ("go on", None)
    status = canary_status(sight(A, replace(B, parts=(other, OUTSIDE))))
    assert status.rest is not None
    assert status.rest.requests == OUTSIDE.requests


def test_without_a_canary_the_whole_fleet_is_judged_by_the_limits_alone() -> None:
    everywhere = RolloutRecord("d2")
    members = [replace(each, rollout=everywhere) for each in (A, B)]
    status = canary_status(sight(*members))
    assert (status.verdict, status.features, status.rest) == ("go on", (), None)
    assert status.canary is not None
    assert status.canary.shards == 4


@pytest.mark.parametrize("shown", [sight(), sight(shards=False), sight(replace(A, parts=()), replace(B, parts=()))])
def test_it_is_shown_as_a_table_and_as_json(shown: Sight) -> None:
    status = canary_status(shown)
    stream = io.StringIO()
    canary_table.write(status, stream)
    text = stream.getvalue()
    assert f"{status.verdict}: {status.why}" in text
    for row in status.criteria:
        assert row.sentence in text
    found = msgspec.json.decode(msgspec.json.encode(status))
    assert found["verdict"] == status.verdict
    assert set(found["criteria"][0]) == {"name", "verdict", "sentence", "canary", "rest", "limit"}
