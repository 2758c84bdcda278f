"""What the server fills in and refuses, seen through whole requests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.fleet.devcluster.cluster import Cluster

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
SECRETS = "/api/v1/namespaces/default/secrets"
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
}
SELECTOR = {"matchLabels": {"a": "b"}}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


def named(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **fields}


def pod(name: str, **container: Any) -> dict[str, Any]:
    return named(name, spec={"containers": [{"name": "c", "image": "nginx", **container}]})


async def test_a_pod_gets_the_defaults_of_its_containers(cluster: Cluster) -> None:
    probe = {"httpGet": {"port": 80}}
    _, made = await cluster.ask("POST", PODS, pod("one", readinessProbe=probe))
    container = made["spec"]["containers"][0]
    assert container["imagePullPolicy"] == "Always"
    assert container["readinessProbe"]["httpGet"] == {"port": 80, "path": "/", "scheme": "HTTP"}
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}}, "Burstable"),
    ],
)
async def test_the_quality_of_a_pod_follows_its_resources(
    cluster: Cluster, resources: dict[str, Any], quality: str
) -> None:
    _, made = await cluster.ask("POST", PODS, pod("one", resources=resources))
    assert made["status"]["qosClass"] == quality


async def test_the_spec_of_a_pod_stays_but_for_its_images(cluster: Cluster) -> None:
    _, made = await cluster.ask("POST", PODS, pod("one"))
    made["spec"]["containers"][0]["image"] = "nginx:2"
    assert (await cluster.ask("PUT", f"{PODS}/one", made))[0] == 200
    made["metadata"].pop("resourceVersion")
    made["spec"]["containers"][0]["command"] = ["sh"]
    status, refused = await cluster.ask("PUT", f"{PODS}/one", made)
    assert (status, refused["details"]["causes"][0]["field"]) == (422, "spec")


async def test_the_selector_of_a_deployment_stays(cluster: Cluster) -> None:
    body = named("one", spec={"selector": SELECTOR, "template": TEMPLATE})
    _, made = await cluster.ask("POST", DEPLOYMENTS, body)
    assert made["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": "25%"}
    made["spec"]["selector"] = {"matchLabels": {"a": "b", "c": "d"}}
    made["spec"]["template"]["metadata"]["labels"] = {"a": "b", "c": "d"}
    status, refused = await cluster.ask("PUT", f"{DEPLOYMENTS}/one", made)
    assert (status, refused["message"].rpartition(": ")[2]) == (422, "field is immutable")


async def test_a_template_that_the_selector_does_not_find_is_refused(cluster: Cluster) -> None:
    body = named("one", spec={"selector": {"matchLabels": {"x": "y"}}, "template": TEMPLATE})
    status, refused = await cluster.ask("POST", DEPLOYMENTS, body)
    assert (status, refused["details"]["causes"][0]["field"]) == (422, "spec.template.metadata.labels")


async def test_a_job_finds_its_own_pods_only(cluster: Cluster) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    _, made = await cluster.ask("POST", JOBS, named("one", spec={"template": template}))
    uid = made["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert made["spec"]["template"]["metadata"]["labels"]["job-name"] == "one"


async def test_a_service_keeps_the_address_that_it_was_given(cluster: Cluster) -> None:
    body = named("one", spec={"ports": [{"port": 80}]})
    _, made = await cluster.ask("POST", SERVICES, body)
    _, updated = await cluster.ask("PUT", f"{SERVICES}/one", body)
    assert made["spec"]["clusterIP"].startswith("10.")
    assert updated["spec"]["clusterIP"] == made["spec"]["clusterIP"]
    made["spec"]["clusterIP"] = "10.0.0.9"
    made["metadata"].pop("resourceVersion")
    assert (await cluster.ask("PUT", f"{SERVICES}/one", made))[0] == 422


async def test_a_service_loses_what_only_its_former_type_had(cluster: Cluster) -> None:
    _, made = await cluster.ask("POST", SERVICES, named("one", spec={"type": "NodePort", "ports": [{"port": 80}]}))
    assert 30_000 <= made["spec"]["ports"][0]["nodePort"] < 32_768
    made["spec"]["type"] = "ClusterIP"
    _, changed = await cluster.ask("PUT", f"{SERVICES}/one", made)
    assert "nodePort" not in changed["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in changed["spec"]


async def test_a_secret_needs_the_data_of_its_type_and_keeps_the_type(cluster: Cluster) -> None:
    assert (await cluster.ask("POST", SECRETS, named("one", type="kubernetes.io/tls")))[0] == 422
    await cluster.ask("POST", SECRETS, named("one", stringData={"a": "b"}))
    status, refused = await cluster.ask("PUT", f"{SECRETS}/one", named("one", type="own/type"))
    assert (status, refused["details"]["causes"][0]["field"]) == (422, "type")


async def test_what_counts_as_a_new_generation(cluster: Cluster) -> None:
    body = named("one", spec={"selector": SELECTOR, "template": TEMPLATE})
    _, made = await cluster.ask("POST", DEPLOYMENTS, body)
    made["metadata"]["labels"] = {"x": "y"}
    _, labelled = await cluster.ask("PUT", f"{DEPLOYMENTS}/one", made)
    labelled["metadata"]["annotations"] = {"x": "y"}
    _, annotated = await cluster.ask("PUT", f"{DEPLOYMENTS}/one", labelled)
    assert (labelled["metadata"]["generation"], annotated["metadata"]["generation"]) == (1, 2)
