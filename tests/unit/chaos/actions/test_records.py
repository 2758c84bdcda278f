from __future__ import annotations

import json

import pytest

from chaos.actions.records import (
    delete_record,
    edit_map,
    edit_record,
    empty_record,
    lower_epoch,
    spoil_map,
    steal_record,
)
from chaos.targets.target import TargetFailed
from fleet.records.object_names import CONFIG_MAPS, LEASES
from tests.unit.chaos.targets.own_paper import OwnTarget
from tests.unit.chaos.targets.paper import verdict

SHARD = "chaos-shard-uidv1-0000000000000000-3fffffffffffffff"


@pytest.mark.parametrize(
    ("record", "name"),
    [("shard", SHARD), ("member", "chaos-member-a-0"), ("coordinator", "chaos-coordinator"), ("map", "chaos-map")],
)
def test_a_record_of_the_busiest_worker_is_deleted(record: str, name: str) -> None:
    target = OwnTarget()
    strikes = [{"what": f"{name} deleted", "at": 100.0, "until": None}]
    assert delete_record(record, target) == {"deleted": name, "strikes": strikes}
    assert target.api.log == [("delete", name)]


def test_a_stolen_lease_names_somebody_else_and_is_as_it_was_otherwise() -> None:
    target = OwnTarget()
    found = steal_record("member", target)
    assert (found["stolen"], found["from"]) == ("chaos-member-a-0", "a-0@4")
    assert target.api.get(LEASES, "", "chaos-member-a-0")["spec"] == {
        "holderIdentity": "stranger@1",
        "leaseTransitions": 4,
    }


def test_a_lease_that_is_emptied_keeps_its_epoch() -> None:
    target = OwnTarget()
    empty_record("shard", target)
    assert target.api.get(LEASES, "", SHARD)["spec"] == {"leaseTransitions": 4}


def test_an_epoch_goes_back_by_one() -> None:
    target = OwnTarget()
    assert lower_epoch("coordinator", target)["epoch_before"] == 4
    assert target.api.get(LEASES, "", "chaos-coordinator")["spec"]["leaseTransitions"] == 3


def test_an_epoch_that_cannot_be_lower_is_an_edit_that_nobody_would_notice() -> None:
    target = OwnTarget()
    target.api.put(LEASES, "chaos-coordinator", {"spec": {}})
    with pytest.raises(TargetFailed, match="the epoch of chaos-coordinator is 0: it cannot be lower"):
        lower_epoch("coordinator", target)


def test_any_field_of_a_record_can_be_edited() -> None:
    target = OwnTarget()
    edit_record("member", {"metadata": {"annotations": {"x": "["}}}, target)
    assert target.api.get(LEASES, "", "chaos-member-a-0")["metadata"]["annotations"] == {"x": "["}


def test_a_field_of_the_map_is_set_and_the_others_stay() -> None:
    target = OwnTarget()
    edit_map({"targets": ["x-0"]}, target)
    text = target.api.get(CONFIG_MAPS, "", "chaos-map")["data"]["map.json"]
    assert json.loads(text) == {"version": 7, "targets": ["x-0"]}


def test_a_field_that_the_map_does_not_have_is_refused() -> None:
    with pytest.raises(TargetFailed, match="the map has no field target; it has targets, version"):
        edit_map({"target": []}, OwnTarget())


def test_a_map_is_spoiled_so_that_nobody_can_read_it() -> None:
    target = OwnTarget()
    spoil_map(target)
    with pytest.raises(json.JSONDecodeError):
        json.loads(target.api.get(CONFIG_MAPS, "", "chaos-map")["data"]["map.json"])


@pytest.mark.parametrize("record", ["shards", "map"])
def test_what_is_no_lease_cannot_be_stolen(record: str) -> None:
    with pytest.raises(TargetFailed, match=r"write shard, member, coordinator$"):
        steal_record(record, OwnTarget())


def test_the_lease_of_a_range_that_nobody_owns_is_left_alone() -> None:
    target = OwnTarget()
    target.evidence.found = verdict()
    with pytest.raises(TargetFailed, match="no worker owns a range"):
        delete_record("shard", target)
