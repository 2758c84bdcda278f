from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from chaos.actions.moves import kill_coordinator_mid_move, reshard, wait_for_moves
from chaos.targets.target import TargetFailed
from fleet.records.lease import Times
from fleet.records.map_record import configmap_from_map
from fleet.records.object_names import CONFIG_MAPS, LEASES
from fleet.records.record import Holder, ShardMap, ShardRecord, ShardStatus
from fleet.records.shard_lease import lease_from_shard
from shards.keyrange import PartitionKey, ranges_from
from tests.unit.chaos.targets.own_paper import OwnTarget

BOUNDARIES = (0, 1 << 63)
LOW, HIGH = ranges_from(BOUNDARIES, PartitionKey.UID)


def fleet(low_target: str, *, low_holder: str = "a-0", retiring: bool = False) -> OwnTarget:
    """Two ranges, of which b-0 has the upper one."""
    target = OwnTarget()
    target.api.objects.clear()
    found = ShardMap(3, 1, "chaos", "", PartitionKey.UID, BOUNDARIES, (low_target, "b-0"))
    if retiring:
        found = ShardMap(3, 1, "chaos", "", PartitionKey.UID, (0,), (low_target,), retiring=frozenset({LOW, HIGH}))
    target.api.put(CONFIG_MAPS, "chaos-map", configmap_from_map(target.names, found, replaces=""))
    for keys, member in ((LOW, low_holder), (HIGH, "b-0")):
        record = ShardRecord(keys, ShardStatus.ACTIVE, 1, Holder(member, 1))
        lease = lease_from_shard(target.names, record, replaces="", times=Times("", ""))
        target.api.put(LEASES, target.names.shard(keys), lease)
    return target


def test_a_range_is_on_its_way_when_its_holder_is_not_the_maps_target() -> None:
    assert wait_for_moves(fleet("b-0"))["under_way"] == 1


def test_ranges_that_are_being_cut_are_on_their_way() -> None:
    assert wait_for_moves(fleet("a-0", retiring=True))["under_way"] == 2


def test_the_coordinator_is_killed_while_ranges_move() -> None:
    target = fleet("b-0")
    assert kill_coordinator_mid_move(target) == {"pod": "a", "pid": 4711, "under_way": 1}
    assert [(end.pod, end.child) for end in target.pods.ends] == [("a", "agent")]


def test_a_coordinator_that_moves_nothing_is_left_alone() -> None:
    target = fleet("a-0")
    with pytest.raises(TargetFailed, match="no range was on its way within 30 s"):
        kill_coordinator_mid_move(target)
    assert not target.pods.ends


def test_a_reshard_is_asked_for_in_the_fleets_config_map(tmp_path: Path) -> None:
    """The first one makes it, from the file that the pods were started with."""
    target = fleet("a-0")
    target.pods.config = tmp_path / "fleet.yaml"
    target.pods.config.write_text("fleet: chaos\ncontroller: sites.py:sites\n")
    for count in (12, 6):
        reshard(count, target)
        text = target.api.get(CONFIG_MAPS, "", "chaos-config")["data"]["fleet.yaml"]
        assert yaml.safe_load(text)["shards"] == {"count": count}
    assert target.api.log == [("create", "chaos-config"), ("patch", "chaos-config")]
