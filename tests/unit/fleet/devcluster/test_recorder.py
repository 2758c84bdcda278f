from __future__ import annotations

import pytest

from fleet.devcluster.journal import decode_lines, encode_lines
from fleet.devcluster.recorder import Recorder
from shards.errors import AlreadyExists
from tests.unit.fleet.devcluster.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    WEBSITES,
    Cluster,
    config_map,
    definition,
    website,
)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make(user_agent="fleet/0 m=a")


async def test_requests_are_recorded_in_commit_order_with_what_the_judge_needs(cluster: Cluster) -> None:
    owner = await cluster.client.create(CONFIG_MAPS, "default", config_map("owner"))
    reference = {"kind": "ConfigMap", "apiVersion": "v1", "name": "owner", "uid": owner["metadata"]["uid"]}
    body = config_map("child", ownerReferences=[{**reference, "controller": True}])
    child = await cluster.client.create(CONFIG_MAPS, "default", body)
    with pytest.raises(AlreadyExists):
        await cluster.client.create(CONFIG_MAPS, "default", body)
    await cluster.client.get(CONFIG_MAPS, "default", "child")
    await cluster.client.delete(CONFIG_MAPS, "default", "child")
    entries = list(cluster.recorder.entries)
    assert [(each.seq, each.verb, each.name, each.status) for each in entries] == [
        (1, "create", "owner", 201),
        (2, "create", "child", 201),
        (3, "create", "child", 409),
        (4, "get", "child", 200),
        (5, "delete", "child", 200),
    ]
    assert entries[1].owner_uid == owner["metadata"]["uid"]
    assert entries[1].uid == entries[4].uid == child["metadata"]["uid"]
    assert entries[4].removed
    assert not entries[1].removed
    assert {each.user_agent for each in entries} == {"fleet/0 m=a"}


async def test_equal_statuses_have_equal_digests_and_different_ones_do_not(cluster: Cluster) -> None:
    await cluster.client.create(DEFINITIONS, "", definition())
    await cluster.client.create(WEBSITES, "default", website("a"))
    for phase in ("one", "one", "two"):
        await cluster.client.merge_patch(WEBSITES, "default", "a", {"status": {"phase": phase}}, "status")
    first, second, third = (each.content for each in cluster.recorder.entries if each.subresource == "status")
    assert first == second != third
    assert first


async def test_leases_and_maps_are_kept_whole_and_nothing_else(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("web-map"))
    await cluster.client.create(CONFIG_MAPS, "default", config_map("other"))
    kept = [each.decoded() for each in cluster.recorder.entries]
    assert kept[0] is not None
    assert kept[0]["metadata"]["name"] == "web-map"
    assert kept[1] is None


async def test_a_full_record_forgets_the_oldest_and_says_so() -> None:
    recorder = Recorder(clock=lambda: 0.0, limit=2)
    for name in ("a", "b", "c"):
        recorder.record("get", CONFIG_MAPS, name=name, status=200, user_agent="")
    assert [each.name for each in recorder.entries] == ["b", "c"]
    assert recorder.dropped == 1
    assert [each.name for each in recorder.after(2)] == ["c"]
    assert recorder.counts["get", "v1/configmaps", 200] == 3


def test_reads_can_be_counted_only() -> None:
    recorder = Recorder(clock=lambda: 0.0, reads=False)
    recorder.record("list", CONFIG_MAPS, status=200, user_agent="")
    assert not recorder.entries
    assert recorder.counts["list", "v1/configmaps", 200] == 1


async def test_a_journal_survives_its_encoding(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("web-map"))
    entries = list(cluster.recorder.entries)
    assert list(decode_lines(encode_lines(entries))) == entries
