"""OpenAPI documents of a server."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fleet.devcluster.openapi.documents import V2_PROTOBUF
from tests.unit.fleet.devcluster.cluster import DEFINITIONS, Cluster, definition


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


async def read(cluster: Cluster, path: str) -> dict[str, Any]:
    answer = await cluster.server.handle("GET", path)
    assert answer.status == 200
    document: dict[str, Any] = msgspec.json.decode(answer.body)
    return document


async def test_the_index_names_a_document_by_its_hash(cluster: Cluster) -> None:
    url = (await read(cluster, "/openapi/v3"))["paths"]["apis/apps/v1"]["serverRelativeURL"]
    path, _, digest = url.partition("?hash=")
    right = await cluster.server.handle("GET", path, [("hash", digest)])
    assert (right.status, right.headers["Cache-Control"]) == (200, "public, immutable")
    wrong = await cluster.server.handle("GET", path, [("hash", "AB")])
    assert (wrong.status, wrong.headers["Location"]) == (301, url)


async def test_a_client_that_has_the_document_gets_nothing_again(cluster: Cluster) -> None:
    etag = (await cluster.server.handle("GET", "/openapi/v3/api/v1")).headers["ETag"]
    again = await cluster.server.handle("GET", "/openapi/v3/api/v1", (), None, {"if-none-match": etag})
    assert (again.status, again.body) == (304, b"")


async def test_a_patch_takes_field_validation_and_names_its_kind(cluster: Cluster) -> None:
    paths = (await read(cluster, "/openapi/v3/apis/apps/v1"))["paths"]
    patch = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= {each["name"] for each in patch["parameters"]}


async def test_every_reference_of_a_document_leads_into_it(cluster: Cluster) -> None:
    for path, prefix, place in (
        ("/openapi/v3/api/v1", "#/components/schemas/", ("components", "schemas")),
        ("/openapi/v2", "#/definitions/", ("definitions",)),
    ):
        document = await read(cluster, path)
        known: Any = document
        for each in place:
            known = known[each]
        assert {each.removeprefix(prefix) for each in references(document)} <= set(known)


def references(value: Any) -> set[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = {each for one in inner for each in references(one)}
    if isinstance(value, dict) and isinstance(value.get("$ref"), str):
        found.add(value["$ref"])
    return found


async def test_a_custom_resource_comes_and_goes(cluster: Cluster) -> None:
    before = (await cluster.server.handle("GET", "/openapi/v2")).headers["ETag"]
    cluster.server.seed(DEFINITIONS, definition())
    schema = (await read(cluster, "/openapi/v3/apis/demo.shardfleet.dev/v1"))["components"]["schemas"]
    assert "metadata" in schema["dev.shardfleet.demo.v1.Website"]["properties"]
    assert (await cluster.server.handle("GET", "/openapi/v2")).headers["ETag"] != before
    await cluster.client.delete(DEFINITIONS, "", "websites.demo.shardfleet.dev")
    assert (await cluster.server.handle("GET", "/openapi/v3/apis/demo.shardfleet.dev/v1")).status == 404


async def test_version_2_comes_in_protobuf_for_whoever_asks(cluster: Cluster) -> None:
    answer = await cluster.server.handle("GET", "/openapi/v2", (), None, {"accept": V2_PROTOBUF})
    assert answer.content_type == V2_PROTOBUF.replace("@", ".")
    assert answer.body.startswith(b"\x0a\x032.0")
