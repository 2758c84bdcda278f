from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fleet.devcluster.changes.patches import APPLY_PATCH
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
async def cluster() -> Cluster:
    return Cluster.make()


def owners(body: Any) -> dict[tuple[str, str, str], Any]:
    """Fields by manager, operation and subresource."""
    return {
        (each["manager"], each["operation"], each.get("subresource", "")): each["fieldsV1"]
        for each in body["metadata"].get("managedFields", ())
    }


async def apply(cluster: Cluster, manager: str, body: Any, **query: str) -> tuple[int, Any]:
    parameters = [("fieldManager", manager), *query.items()]
    path = CONFIG_MAPS.path("default", body["metadata"]["name"])
    answer = await cluster.server.handle(
        "PATCH", path, parameters, msgspec.json.encode(body), {"content-type": APPLY_PATCH}
    )
    return answer.status, msgspec.json.decode(answer.body)


async def test_a_write_is_attributed_to_its_user_agent(cluster: Cluster) -> None:
    made = await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    assert owners(made) == {("test", "Update", ""): {"f:data": {".": {}, "f:a": {}}}}


async def test_a_status_has_an_owner_of_its_own(cluster: Cluster) -> None:
    await cluster.client.create(DEFINITIONS, "", definition())
    body = {"kind": "Website", "apiVersion": "demo.shardfleet.dev/v1", "metadata": {"name": "a"}, "spec": {"x": 1}}
    await cluster.client.create(WEBSITES, "default", body)
    found = await cluster.client.merge_patch(WEBSITES, "default", "a", {"status": {"y": 1}}, "status")
    assert owners(found) == {
        ("test", "Update", ""): {"f:spec": {".": {}, "f:x": {}}},
        ("test", "Update", "status"): {"f:status": {".": {}, "f:y": {}}},
    }


async def test_an_apply_creates_changes_and_conflicts(cluster: Cluster) -> None:
    status, made = await apply(cluster, "a", config_map("a"))
    assert (status, owners(made)) == (201, {("a", "Apply", ""): {"f:data": {"f:a": {}}}})
    status, refused = await apply(cluster, "b", config_map("a") | {"data": {"a": "2"}})
    assert (status, refused["details"]["causes"]) == (
        409,
        [{"reason": "FieldManagerConflict", "message": 'conflict with "a"', "field": ".data.a"}],
    )
    status, found = await apply(cluster, "b", config_map("a") | {"data": {"a": "2"}}, force="true")
    assert (status, found["data"]) == (200, {"a": "2"})


async def test_an_apply_that_changes_nothing_makes_no_version(cluster: Cluster) -> None:
    _, first = await apply(cluster, "a", config_map("a"))
    _, again = await apply(cluster, "a", config_map("a"))
    assert again["metadata"] == first["metadata"]


async def test_a_dry_apply_stores_nothing(cluster: Cluster) -> None:
    status, _ = await apply(cluster, "a", config_map("a"), dryRun="All")
    assert status == 201
    assert (await cluster.ask("GET", CONFIG_MAPS.path("default", "a")))[0] == 404


async def test_an_apply_needs_a_manager(cluster: Cluster) -> None:
    status, refused = await apply(cluster, "", config_map("a"))
    assert (status, refused["details"]["causes"][0]["field"]) == (422, "fieldManager")


async def apply_website(cluster: Cluster, metadata: dict[str, Any]) -> tuple[int, Any]:
    body = {"apiVersion": "demo.shardfleet.dev/v1", "kind": "Website", "metadata": {"name": "a", **metadata}}
    answer = await cluster.server.handle(
        "PATCH",
        WEBSITES.path("default", "a"),
        [("fieldManager", "a")],
        msgspec.json.encode(body),
        {"content-type": APPLY_PATCH},
    )
    return answer.status, msgspec.json.decode(answer.body)


async def test_metadata_without_content_that_an_apply_stored_goes_with_the_next_write(cluster: Cluster) -> None:
    await cluster.client.create(DEFINITIONS, "", definition())
    made = (await apply_website(cluster, {"labels": {}}))[1]
    assert "labels" not in made["metadata"]
    versions = [made["metadata"]["resourceVersion"]]
    for _ in range(2):
        found = await cluster.client.merge_patch(WEBSITES, "default", "a", {})
        versions.append(found["metadata"]["resourceVersion"])
    assert versions[0] != versions[1] == versions[2]


async def test_an_apply_may_take_every_label_away(cluster: Cluster) -> None:
    await cluster.client.create(DEFINITIONS, "", definition())
    await apply_website(cluster, {"labels": {"x": "y"}})
    status, found = await apply_website(cluster, {"labels": {}})
    assert (status, "labels" in found["metadata"]) == (200, False)


async def test_a_dry_update_that_would_create_keeps_the_version_it_was_sent(cluster: Cluster) -> None:
    body = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "a", "resourceVersion": "7"}}
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a"
    answer = await cluster.server.handle("PUT", path, [("dryRun", "All")], msgspec.json.encode(body))
    assert (answer.status, msgspec.json.decode(answer.body)["metadata"]["resourceVersion"]) == (201, "7")


async def test_true_instead_of_one_is_a_change(cluster: Cluster) -> None:
    cluster.server.seed(DEFINITIONS, definition())
    path = WEBSITES.path("default")
    await cluster.ask("POST", path, website("a", free={"x": 1}))
    headers = {"content-type": "application/merge-patch+json"}
    answer = await cluster.server.handle("PATCH", f"{path}/a", (), b'{"spec":{"free":{"x":true}}}', headers)
    changed = msgspec.json.decode(answer.body)
    assert changed["spec"]["free"]["x"] is True
    assert changed["metadata"]["generation"] == 2
