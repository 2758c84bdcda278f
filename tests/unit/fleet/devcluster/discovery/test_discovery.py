"""Discovery and the paths beside it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fleet.devcluster.discovery.discovery import AGGREGATED
from tests.unit.fleet.devcluster.cluster import DEFINITIONS, Cluster, definition


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


async def read(cluster: Cluster, path: str, accept: str = "") -> dict[str, Any]:
    answer = await cluster.server.handle("GET", path, (), None, {"accept": accept})
    assert answer.status == 200
    document: dict[str, Any] = msgspec.json.decode(answer.body)
    return document


async def test_groups_come_in_the_order_of_the_real_server(cluster: Cluster) -> None:
    names = [each["name"] for each in (await read(cluster, "/apis"))["groups"]]
    assert names[:3] == ["apiregistration.k8s.io", "apps", "events.k8s.io"]


async def test_a_resource_is_listed_with_its_subresources(cluster: Cluster) -> None:
    resources = (await read(cluster, "/apis/apps/v1"))["resources"]
    scale = next(each for each in resources if each["name"] == "deployments/scale")
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")


async def test_reviews_are_listed_though_nothing_is_stored(cluster: Cluster) -> None:
    resources = (await read(cluster, "/apis/authorization.k8s.io/v1"))["resources"]
    assert {each["name"]: each["verbs"] for each in resources}["subjectaccessreviews"] == ["create"]


async def test_a_custom_group_comes_and_goes_in_both_forms(cluster: Cluster) -> None:
    cluster.server.seed(DEFINITIONS, definition())
    items = (await read(cluster, "/apis", f"{AGGREGATED},application/json"))["items"]
    assert items[-1]["metadata"]["name"] == "demo.shardfleet.dev"
    assert items[-1]["versions"][0]["resources"][0]["responseKind"]["group"] == "demo.shardfleet.dev"
    assert (await read(cluster, "/apis"))["groups"][-1]["name"] == "demo.shardfleet.dev"
    await cluster.client.delete(DEFINITIONS, "", "websites.demo.shardfleet.dev")
    assert (await cluster.server.handle("GET", "/apis/demo.shardfleet.dev/v1")).status == 404


async def test_the_aggregated_form_is_given_to_those_who_ask_for_it_first(cluster: Cluster) -> None:
    old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
    for accept, kind in (("", "APIGroupList"), (AGGREGATED, "APIGroupDiscoveryList"), (f"{old},*/*", "APIGroupList")):
        assert (await read(cluster, "/apis", accept))["kind"] == kind
    assert (await cluster.server.handle("GET", "/apis/apps/v1", (), None, {"accept": AGGREGATED})).status == 406


@pytest.mark.parametrize("path", ["/apis/nothing", "/apis/apps/v2", "/api/v2", "/nothing", "/readyz/nothing"])
async def test_what_is_not_there_is_not_found(cluster: Cluster, path: str) -> None:
    assert (await cluster.server.handle("GET", path)).status == 404


async def test_health_tells_its_checks(cluster: Cluster) -> None:
    assert (await cluster.server.handle("GET", "/livez")).body == b"ok"
    told = await cluster.server.handle("GET", "/readyz", [("verbose", ""), ("exclude", "ping")])
    assert told.body.startswith(b"[+]ping excluded: ok\n")
    assert told.body.endswith(b"readyz check passed\n")


async def test_discovery_is_yaml_for_those_who_want_it_most(cluster: Cluster) -> None:
    for accept, content_type in (
        ("application/yaml", "application/yaml"),
        ("application/yaml;q=0.5, application/json", "application/json"),
        ("application/json;q=0.5, application/yaml", "application/yaml"),
        ("application/yaml;q=x", "application/yaml"),
    ):
        answer = await cluster.server.handle("GET", "/apis/apps", (), None, {"accept": accept})
        assert (answer.status, answer.content_type) == (200, content_type)
    assert (await cluster.server.handle("GET", "/version", (), None, {"accept": "application/yaml"})).status == 406


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/apis//batch/v1/jobs", True),
        ("/apis//apps", True),
        ("/api//v1", False),
        ("/apis/apps//v1", False),
        ("/apis/demo.shardfleet.dev/v1/namespaces/default/websites/a/b/c", False),
        ("/apis/demo.shardfleet.dev/v1/websites/a/b/c", True),
        ("/apis/demo.shardfleet.dev/v1/namespaces/default/nothing/a/b/c", True),
    ],
)
async def test_a_path_that_leads_nowhere_is_refused_by_who_would_serve_it(
    cluster: Cluster, path: str, text: bool
) -> None:
    cluster.server.seed(DEFINITIONS, definition())
    answer = await cluster.server.handle("GET", path)
    assert (answer.status, answer.content_type.startswith("text/plain")) == (404, text)
