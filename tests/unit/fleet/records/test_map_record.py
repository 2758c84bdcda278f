from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from fleet.records.coordination import MapUnreadable, ProtocolMismatch
from fleet.records.map_record import configmap_from_map, stored_map
from fleet.records.object_names import Names
from fleet.records.record import ShardMap
from shards.keyrange import HASH_VERSION
from shards.objects import Object
from tests.unit.fleet.records.records import FLEET, maps, shard_map

NAMES = Names(FLEET, "prod")


def written(found: ShardMap, version: str = "12") -> Object:
    """The ConfigMap as the server answers it."""
    obj: Object = msgspec.json.decode(msgspec.json.encode(configmap_from_map(NAMES, found, replaces="")))
    obj["metadata"]["resourceVersion"] = version
    return obj


def edited(**fields: object) -> Object:
    """The ConfigMap after somebody changed fields of the map; None removes one."""
    obj = written(shard_map())
    body = msgspec.json.decode(obj["data"]["map.json"]) | fields
    body = {key: value for key, value in body.items() if value is not None}
    obj["data"]["map.json"] = msgspec.json.encode(body).decode()
    return obj


@settings(max_examples=50)
@given(maps())
def test_a_map_comes_back_as_it_was_written(found: ShardMap) -> None:
    assert stored_map(written(found), FLEET) == (found, "12")


def test_the_text_is_the_same_for_the_same_map() -> None:
    assert written(shard_map()) == written(shard_map())


@pytest.mark.parametrize(
    "fields",
    [
        {"boundaries": []},
        {"boundaries": ["0000000000000001"]},
        {"boundaries": ["0000000000000000", "zzzz"]},
        {"targets": ["web-0-1"]},
        {"targets": "web-0-1"},
        {"version": -1},
        {"version": None},
        {"version": "7"},
        {"floors": {"web-0-1": "three"}},
        {"opened": ["0-1"]},
        {"lost": {"ffff": 1}},
        {"partitionKey": "label"},
        {"fleet": "other"},
        {"protocol": None},
        {"protocol": "1"},
    ],
)
def test_a_map_that_was_broken_by_hand_cannot_be_read(fields: dict[str, object]) -> None:
    with pytest.raises(MapUnreadable) as broken:
        stored_map(edited(**fields), FLEET)
    assert broken.value.version == "12"
    assert not broken.value.maybe_applied


@pytest.mark.parametrize("data", [None, {}, {"map.json": ""}, {"map.json": "{"}, {"map.json": "[]"}])
def test_a_configmap_without_a_map_cannot_be_read(data: object) -> None:
    with pytest.raises(MapUnreadable):
        stored_map({**written(shard_map()), "data": data}, FLEET)


@pytest.mark.parametrize("fields", [{"protocol": 2}, {"hashVersion": HASH_VERSION + 1}, {"protocol": 2, "targets": 4}])
def test_another_protocol_or_hash_is_refused_before_anything_else_is_read(fields: dict[str, object]) -> None:
    with pytest.raises(ProtocolMismatch, match="only"):
        stored_map(edited(**fields), FLEET)


def test_a_field_that_a_later_version_added_is_no_hindrance() -> None:
    assert stored_map(edited(colour="blue"), FLEET).map == shard_map()


@pytest.mark.parametrize(
    "broken", [shard_map(targets=("web-0-1",)), shard_map(boundaries=(1, 2)), shard_map(fleet="other")]
)
def test_a_map_that_could_not_be_read_back_is_not_written(broken: ShardMap) -> None:
    with pytest.raises(ValueError):
        configmap_from_map(NAMES, broken, replaces="")


def test_a_map_of_brackets_is_unreadable() -> None:
    obj = written(shard_map())
    obj["data"]["map.json"] = '{"x":' + "[" * 50_000
    with pytest.raises(MapUnreadable):
        stored_map(obj, FLEET)


@pytest.mark.parametrize(
    "obj", [{}, {"metadata": None}, {"metadata": {}, "data": []}, {"metadata": {}, "data": {"map.json": 1}}]
)
def test_an_object_of_another_shape_is_unreadable(obj: Object) -> None:
    with pytest.raises(MapUnreadable):
        stored_map(obj, FLEET)
