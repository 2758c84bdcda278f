from __future__ import annotations

import asyncio
from typing import Any

import pytest

from shards.errors import NotFound
from shards.objects import Object
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, Cluster, config_map


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


def owned_by(*owners: Object) -> list[dict[str, Any]]:
    return [
        {"kind": "ConfigMap", "apiVersion": "v1", "name": o["metadata"]["name"], "uid": o["metadata"]["uid"]}
        for o in owners
    ]


async def names(cluster: Cluster) -> set[str]:
    return {item["metadata"]["name"] for item in (await cluster.client.list(CONFIG_MAPS))["items"]}


async def make(cluster: Cluster, name: str, *owners: Object) -> Object:
    body = config_map(name, ownerReferences=owned_by(*owners)) if owners else config_map(name)
    return await cluster.client.create(CONFIG_MAPS, "default", body)


async def test_a_child_goes_when_all_its_owners_are_gone_and_its_own_children_with_it(cluster: Cluster) -> None:
    one, two = await make(cluster, "one"), await make(cluster, "two")
    child = await make(cluster, "child", one, two)
    await make(cluster, "grandchild", child)
    await cluster.client.delete(CONFIG_MAPS, "default", "one")
    assert await cluster.server.collect_garbage() == 0
    await cluster.client.delete(CONFIG_MAPS, "default", "two")
    assert await cluster.server.collect_garbage() == 2
    assert await names(cluster) == set()


async def test_an_owner_of_the_same_name_with_another_uid_does_not_keep_a_child(cluster: Cluster) -> None:
    owner = await make(cluster, "owner")
    await make(cluster, "child", owner)
    await cluster.client.delete(CONFIG_MAPS, "default", "owner")
    await make(cluster, "owner")
    await cluster.server.collect_garbage()
    assert await names(cluster) == {"owner"}


async def test_a_child_that_is_born_without_a_living_owner_goes(cluster: Cluster) -> None:
    owner = await make(cluster, "owner")
    await cluster.client.delete(CONFIG_MAPS, "default", "owner")
    await make(cluster, "late", owner)
    assert await cluster.server.collect_garbage() == 1


async def test_a_foreground_deletion_waits_for_the_children_that_block_it(cluster: Cluster) -> None:
    owner = await make(cluster, "owner")
    blocking = [each | {"blockOwnerDeletion": True} for each in owned_by(owner)]
    child = config_map("child", ownerReferences=blocking, finalizers=["example.com/wait"])
    await cluster.client.create(CONFIG_MAPS, "default", child)
    ending = await cluster.client.delete(CONFIG_MAPS, "default", "owner", propagation="Foreground")
    assert ending["metadata"]["finalizers"] == ["foregroundDeletion"]
    await cluster.server.collect_garbage()
    assert await names(cluster) == {"owner", "child"}
    await cluster.client.merge_patch(CONFIG_MAPS, "default", "child", {"metadata": {"finalizers": None}})
    await cluster.server.collect_garbage()
    assert await names(cluster) == set()


async def test_an_orphaned_child_stays_without_its_owner_reference(cluster: Cluster) -> None:
    owner = await make(cluster, "owner")
    await make(cluster, "child", owner)
    await cluster.client.delete(CONFIG_MAPS, "default", "owner", propagation="Orphan")
    await cluster.server.collect_garbage()
    assert await names(cluster) == {"child"}
    child = await cluster.client.get(CONFIG_MAPS, "default", "child")
    assert "ownerReferences" not in child["metadata"]


@pytest.mark.looptime
async def test_the_background_task_collects_by_itself(cluster: Cluster) -> None:
    task = asyncio.create_task(cluster.server.backend.garbage.run(interval_seconds=1))
    owner = await make(cluster, "owner")
    await make(cluster, "child", owner)
    await cluster.client.delete(CONFIG_MAPS, "default", "owner")
    assert await names(cluster) == {"child"}
    await asyncio.sleep(2)  # virtual
    with pytest.raises(NotFound):
        await cluster.client.get(CONFIG_MAPS, "default", "child")
    task.cancel()


async def test_collected_objects_are_in_the_record(cluster: Cluster) -> None:
    owner = await make(cluster, "owner")
    child = await make(cluster, "child", owner)
    await cluster.client.delete(CONFIG_MAPS, "default", "owner")
    await cluster.server.collect_garbage()
    last = cluster.recorder.entries[-1]
    assert (last.verb, last.uid, last.removed) == ("delete", child["metadata"]["uid"], True)
    assert "garbage-collector" in last.user_agent


async def test_a_child_that_does_not_block_is_deleted_but_not_waited_for(cluster: Cluster) -> None:
    owner = await make(cluster, "owner")
    child = config_map("child", ownerReferences=owned_by(owner), finalizers=["example.com/wait"])
    await cluster.client.create(CONFIG_MAPS, "default", child)
    await cluster.client.delete(CONFIG_MAPS, "default", "owner", propagation="Foreground")
    await cluster.server.collect_garbage()
    assert await names(cluster) == {"child"}
    assert (await cluster.client.get(CONFIG_MAPS, "default", "child"))["metadata"]["deletionTimestamp"]


async def test_a_child_of_several_owners_loses_only_the_reference_to_the_one_that_goes(cluster: Cluster) -> None:
    one, two = await make(cluster, "one"), await make(cluster, "two")
    await make(cluster, "child", one, two)
    await cluster.client.delete(CONFIG_MAPS, "default", "one", propagation="Foreground")
    await cluster.server.collect_garbage()
    assert await names(cluster) == {"two", "child"}
    child = await cluster.client.get(CONFIG_MAPS, "default", "child")
    assert [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["two"]


async def test_an_owner_must_be_where_the_reference_says(cluster: Cluster) -> None:
    owner = await make(cluster, "owner")
    for name, change in (("kind", {"kind": "Secret"}), ("name", {"name": "another"}), ("unknown", {"kind": "Nothing"})):
        reference = owned_by(owner)[0] | change
        body = config_map(f"wrong-{name}", ownerReferences=[reference])
        await cluster.client.create(CONFIG_MAPS, "default", body)
    await cluster.server.collect_garbage()
    assert await names(cluster) == {"owner", "wrong-unknown"}


async def test_owners_that_wait_for_each_other_in_the_foreground_do_not_wait_for_ever(cluster: Cluster) -> None:
    one = await make(cluster, "one")
    blocking = [each | {"blockOwnerDeletion": True} for each in owned_by(one)]
    two = await cluster.client.create(CONFIG_MAPS, "default", config_map("two", ownerReferences=blocking))
    circle = {"metadata": {"ownerReferences": [owned_by(two)[0] | {"blockOwnerDeletion": True}]}}
    await cluster.client.merge_patch(CONFIG_MAPS, "default", "one", circle)
    await cluster.client.delete(CONFIG_MAPS, "default", "one", propagation="Foreground")
    await cluster.server.collect_garbage()
    assert await names(cluster) == set()


async def test_after_a_restore_the_collector_looks_at_everything_again(cluster: Cluster) -> None:
    owner = await make(cluster, "owner")
    await make(cluster, "child", owner)
    storage = cluster.server.storage
    before = storage.snapshot()
    await cluster.client.delete(CONFIG_MAPS, "default", "owner")
    await cluster.server.collect_garbage()
    storage.restore(before)
    await cluster.server.collect_garbage()
    assert await names(cluster) == {"owner", "child"}
    await cluster.client.delete(CONFIG_MAPS, "default", "owner")
    assert await cluster.server.collect_garbage() == 1
