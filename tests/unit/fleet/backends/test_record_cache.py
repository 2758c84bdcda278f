"""What a view remembers of the map while there is none."""

from __future__ import annotations

import pytest

from fleet.backends.record_cache import RecordCache
from fleet.records.object_names import Kind
from fleet.records.record import StoredMap
from tests.unit.fleet.records.records import shard_map


def remembered(cache: RecordCache) -> str:
    assert cache.last_map is not None
    return cache.last_map.map.config_version


def cache_with_a_map() -> RecordCache:
    cache = RecordCache(members=False)
    cache.listed(Kind.MAP, {"map": StoredMap(shard_map("web", config_version="90"), "100")}, "100")
    return cache


def test_the_last_map_is_remembered_as_it_was() -> None:
    cache = cache_with_a_map()
    cache.listed(Kind.MAP, {}, "110")
    assert cache.map is None
    assert remembered(cache) == "90"


@pytest.mark.parametrize("order", ["the map goes first", "another collection goes back first"])
def test_after_a_restore_it_names_no_config_though_the_maps_own_versions_never_seemed_to_fall(order: str) -> None:
    cache = cache_with_a_map()
    if order == "the map goes first":
        cache.listed(Kind.MAP, {}, "110")
        cache.restarted(Kind.SHARD, {}, "60")
    else:
        cache.restarted(Kind.SHARD, {}, "60")
        assert remembered(cache) == "90", "as long as there is a map, nothing is made of the last one"
        cache.listed(Kind.MAP, {}, "110")
    assert remembered(cache) == ""


def test_the_map_of_the_new_history_is_remembered_with_its_config() -> None:
    cache = cache_with_a_map()
    cache.restarted(Kind.MAP, {}, "60")
    assert remembered(cache) == ""
    cache.listed(Kind.MAP, {"map": StoredMap(shard_map("web", config_version="70"), "80")}, "80")
    cache.listed(Kind.MAP, {}, "90")
    assert remembered(cache) == "70"
