"""What the contract tests cannot show on a real server, or should not take a real server to show."""

from __future__ import annotations

import pytest

from fleet.devcluster.serversettings import ServerSettings
from shards.errors import Conflict, Expired, NotFound, ServerTimeout
from shards.keyrange import SPACE, fnv1a64
from tests.unit.fleet.devcluster.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    NAMESPACES,
    WEBSITES,
    Cluster,
    config_map,
    definition,
    website,
)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


async def test_the_first_namespaces_exist(cluster: Cluster) -> None:
    names = {item["metadata"]["name"] for item in (await cluster.client.list(NAMESPACES))["items"]}
    assert {"default", "kube-system"} <= names


async def test_the_same_seed_gives_the_same_uids_and_another_one_others(cluster: Cluster) -> None:
    first = await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    again = await Cluster.make().client.create(CONFIG_MAPS, "default", config_map("a"))
    other = await cluster.client.create(CONFIG_MAPS, "default", config_map("b"))
    assert first == again
    assert other["metadata"]["uid"] != first["metadata"]["uid"]


async def test_creating_into_a_missing_namespace_is_not_found(cluster: Cluster) -> None:
    with pytest.raises(NotFound, match="namespaces"):
        await cluster.client.create(CONFIG_MAPS, "nowhere", config_map("a"))


async def test_a_definition_makes_its_resource_and_takes_it_away_again(cluster: Cluster) -> None:
    with pytest.raises(NotFound):
        await cluster.client.create(WEBSITES, "default", website("a"))
    await cluster.client.create(DEFINITIONS, "", definition())
    await cluster.client.create(WEBSITES, "default", website("a"))
    await cluster.client.delete(DEFINITIONS, "", "websites.demo.shardfleet.dev")
    with pytest.raises(NotFound):
        await cluster.client.get(WEBSITES, "default", "a")


async def test_recreating_a_definition_does_not_bring_its_objects_back(cluster: Cluster) -> None:
    for _ in range(2):
        await cluster.client.create(DEFINITIONS, "", definition())
        assert (await cluster.client.list(WEBSITES))["items"] == []
        await cluster.client.create(WEBSITES, "default", website("a"))
        await cluster.client.delete(DEFINITIONS, "", "websites.demo.shardfleet.dev")


async def test_the_generation_follows_the_spec_and_not_the_status(cluster: Cluster) -> None:
    await cluster.client.create(DEFINITIONS, "", definition())
    await cluster.client.create(WEBSITES, "default", website("a", size=1))
    after_status = await cluster.client.merge_patch(WEBSITES, "default", "a", {"status": {"ok": True}}, "status")
    assert after_status["metadata"]["generation"] == 1
    after_spec = await cluster.client.merge_patch(WEBSITES, "default", "a", {"spec": {"size": 2}, "status": None})
    assert after_spec["metadata"]["generation"] == 2
    assert after_spec["status"] == {"ok": True}


async def test_a_write_that_changes_nothing_makes_no_version(cluster: Cluster) -> None:
    made = await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    same = await cluster.client.merge_patch(CONFIG_MAPS, "default", "a", {"data": {"a": "1"}})
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_list_older_than_the_history_is_expired(cluster: Cluster) -> None:
    made = await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    await cluster.client.create(CONFIG_MAPS, "default", config_map("b"))
    cluster.server.storage.compact()
    query = [("resourceVersion", made["metadata"]["resourceVersion"]), ("resourceVersionMatch", "Exact")]
    with pytest.raises(Expired):
        await cluster.client.list(CONFIG_MAPS, query=query)


async def test_an_expired_continue_token_offers_an_inconsistent_rest(cluster: Cluster) -> None:
    for name in ("a", "b", "c"):
        await cluster.client.create(CONFIG_MAPS, "default", config_map(name))
    _, page = await cluster.ask("GET", CONFIG_MAPS.path(), limit="1")
    await cluster.client.create(CONFIG_MAPS, "default", config_map("d"))
    cluster.server.storage.compact()
    arguments = {"limit": "1", "continue": page["metadata"]["continue"]}
    status, refused = await cluster.ask("GET", CONFIG_MAPS.path(), **arguments)
    assert (status, refused["reason"]) == (410, "Expired")
    _, rest = await cluster.ask("GET", CONFIG_MAPS.path(), **{"continue": refused["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c", "d"]


@pytest.mark.looptime
async def test_a_version_that_is_not_reached_in_time_answers_504(cluster: Cluster) -> None:
    with pytest.raises(ServerTimeout) as refused:
        await cluster.client.list(CONFIG_MAPS, query=[("resourceVersion", "999")])
    assert refused.value.cause == "ResourceVersionTooLarge"
    assert refused.value.retry_after_seconds == 1


@pytest.mark.parametrize("honoured", [True, False])
async def test_the_gate_decides_whether_a_shard_selector_filters(honoured: bool) -> None:
    cluster = Cluster.make(ServerSettings(sharded_list_and_watch=honoured))
    uids = set()
    for index in range(16):
        made = await cluster.client.create(CONFIG_MAPS, "default", config_map(f"a{index}"))
        uids.add(made["metadata"]["uid"])
    lower = f"shardRange(object.metadata.uid, '0x{0:016x}', '0x{SPACE // 2:016x}')"
    _, answer = await cluster.ask("GET", CONFIG_MAPS.path(), shardSelector=lower)
    found = {item["metadata"]["uid"] for item in answer["items"]}
    assert found == ({uid for uid in uids if fnv1a64(uid) < SPACE // 2} if honoured else uids)
    assert answer["metadata"].get("shardInfo") == ({"selector": lower} if honoured else None)


async def test_an_unconditional_update_is_refused_for_custom_resources_only(cluster: Cluster) -> None:
    await cluster.client.create(DEFINITIONS, "", definition())
    await cluster.client.create(WEBSITES, "default", website("a"))
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    await cluster.client.update(CONFIG_MAPS, "default", "a", config_map("a", labels={"x": "y"}))
    status, refused = await cluster.ask("PUT", WEBSITES.path("default", "a"), website("a", x=1))
    assert (status, refused["reason"]) == (422, "Invalid")


async def test_a_stale_update_conflicts(cluster: Cluster) -> None:
    made = await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    await cluster.client.merge_patch(CONFIG_MAPS, "default", "a", {"data": {"a": "2"}})
    with pytest.raises(Conflict):
        await cluster.client.update(CONFIG_MAPS, "default", "a", made)


async def test_discovery_names_what_kubectl_needs(cluster: Cluster) -> None:
    await cluster.client.create(DEFINITIONS, "", definition())
    _, groups = await cluster.ask("GET", "/apis")
    assert "demo.shardfleet.dev" in {group["name"] for group in groups["groups"]}
    _, resources = await cluster.ask("GET", "/apis/demo.shardfleet.dev/v1")
    assert {each["name"] for each in resources["resources"]} == {"websites", "websites/status"}
    _, core = await cluster.ask("GET", "/api/v1")
    assert {"configmaps", "pods", "namespaces"} <= {each["name"] for each in core["resources"]}
    _, version = await cluster.ask("GET", "/version")
    assert version["major"] == "1"
    for path in ("/healthz", "/readyz"):
        answer = await cluster.server.handle("GET", path)
        assert (answer.status, answer.body) == (200, b"ok")


async def test_a_namespace_that_ends_takes_its_content_along_and_accepts_nothing_new(cluster: Cluster) -> None:
    namespace = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "brief"}}
    await cluster.client.create(NAMESPACES, "", namespace)
    await cluster.client.create(CONFIG_MAPS, "brief", config_map("a"))
    ending = await cluster.client.delete(NAMESPACES, "", "brief")
    assert ending["status"]["phase"] == "Terminating"
    status, refused = await cluster.ask("POST", CONFIG_MAPS.path("brief"), config_map("b"))
    assert (status, refused["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    assert await cluster.server.collect_garbage() == 2
    with pytest.raises(NotFound):
        await cluster.client.get(NAMESPACES, "", "brief")
