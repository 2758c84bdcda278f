from __future__ import annotations

from typing import Any

import pytest

from shards.objects import Object
from tests.unit.fleet.devcluster.cluster import Cluster

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def cluster() -> Cluster:
    made = Cluster.make()
    body = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    status, _ = await made.ask("POST", PODS, body)
    assert status == 201
    return made


def bound_to(node: str, name: str = "web") -> Object:
    return {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}


async def test_a_bound_pod_has_a_node_and_is_scheduled(cluster: Cluster) -> None:
    status, answer = await cluster.ask("POST", f"{PODS}/web/binding", bound_to("node-1"))
    assert (status, answer["status"]) == (201, "Success")
    _, pod = await cluster.ask("GET", f"{PODS}/web")
    assert pod["spec"]["nodeName"] == "node-1"
    assert [(each["type"], each["status"]) for each in pod["status"]["conditions"]] == [("PodScheduled", "True")]
    status, answer = await cluster.ask("POST", f"{PODS}/web/binding", bound_to("node-2"))
    assert (status, answer["reason"]) == (409, "Conflict")


@pytest.mark.parametrize(
    ("action", "name", "body", "code"),
    [
        ("binding", "web", bound_to("node-1", "other"), 400),
        ("binding", "web", {"metadata": {"name": "web"}, "target": {"kind": "Node"}}, 500),
        ("binding", "none", bound_to("node-1", "none"), 404),
        ("eviction", "web", {"metadata": {"name": "other"}}, 400),
        ("eviction", "none", {"metadata": {"name": "none"}}, 404),
        ("eviction", "web", {"kind": "Binding", "metadata": {"name": "web"}}, 400),
    ],
)
async def test_a_wrong_action_is_refused(cluster: Cluster, action: str, name: str, body: Any, code: int) -> None:
    assert (await cluster.ask("POST", f"{PODS}/{name}/{action}", body))[0] == code


async def test_an_evicted_pod_goes_like_a_deleted_one(cluster: Cluster) -> None:
    await cluster.ask("POST", f"{PODS}/web/binding", bound_to("node-1"))
    body = {"metadata": {"name": "web"}, "deleteOptions": {"gracePeriodSeconds": 5}}
    assert (await cluster.ask("POST", f"{PODS}/web/eviction", body, dryRun="All"))[0] == 201
    assert "deletionTimestamp" not in (await cluster.ask("GET", f"{PODS}/web"))[1]["metadata"]
    assert (await cluster.ask("POST", f"{PODS}/web/eviction", body))[0] == 201
    assert (await cluster.ask("GET", f"{PODS}/web"))[1]["metadata"]["deletionGracePeriodSeconds"] == 5


@pytest.mark.parametrize("action", ["log", "exec", "attach", "portforward", "proxy"])
async def test_what_needs_a_node_is_refused_plainly(cluster: Cluster, action: str) -> None:
    status, answer = await cluster.ask("GET", f"{PODS}/web/{action}")
    assert status == 501
    assert answer["message"] == f"the embedded API server does not serve pods/{action}: nothing runs here"
    assert (await cluster.ask("GET", f"{PODS}/none/{action}"))[0] == 404
