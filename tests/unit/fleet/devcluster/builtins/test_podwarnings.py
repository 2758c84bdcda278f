"""What is remarked on a pod that is accepted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fleet.devcluster.builtins.podwarnings import is_looked_at, pod_warnings
from shards.api.client import JSON
from tests.unit.fleet.devcluster.cluster import Cluster


def deployment(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"generation": 1}, "spec": {"template": {"spec": spec}}}


def remarks(**spec: Any) -> list[str]:
    return list(pod_warnings("deployments", deployment(spec)))


def containers(*ports: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": f"c{index}", "ports": [port]} for index, port in enumerate(ports)]


@pytest.mark.parametrize(
    ("one", "other", "word"),
    [
        ({}, {}, "duplicate"),
        ({"hostPort": 1}, {}, "overlapping"),
        ({"hostPort": 1}, {"hostPort": 1, "hostIP": "10.0.0.1"}, "dangerously ambiguous"),
        ({"hostPort": 1}, {"hostPort": 2}, ""),
        ({"protocol": "UDP"}, {}, ""),
    ],
)
def test_two_definitions_of_a_port(one: dict[str, Any], other: dict[str, Any], word: str) -> None:
    found = remarks(containers=containers({"containerPort": 80} | one, {"containerPort": 80} | other))
    second, first = "spec.template.spec.containers[1].ports[0]", "spec.template.spec.containers[0].ports[0]"
    assert found == ([f"{second}: {word} port definition with {first}"] if word else [])


def test_a_name_of_two_ports() -> None:
    found = remarks(containers=containers({"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}))
    assert len(found) == 1
    assert 'containers[1].ports[0]: duplicate port name "a" with spec.template.spec.containers[0].ports[0]' in found[0]


def test_a_variable_that_hides_another_and_one_that_extends_it() -> None:
    def env(*values: str) -> list[str]:
        return remarks(containers=[{"env": [{"name": "X", "value": value} for value in values]}])

    assert len(env("a", "b")) == 1
    assert len(env("a", "$(X)")) == 1
    assert env("a", "$(X):b") == []


def test_what_comes_to_nothing() -> None:
    assert remarks(imagePullSecrets=[{"name": "a"}, {"name": "a"}]) == [
        'spec.template.spec.imagePullSecrets[1].name: duplicate name "a"'
    ]
    assert remarks(imagePullSecrets=[{}]) == ['spec.template.spec.imagePullSecrets[0].name: invalid empty name ""']
    assert remarks(hostAliases=[{"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]) == [
        'spec.template.spec.hostAliases[1].ip: duplicate ip "1.1.1.1"'
    ]
    assert len(remarks(terminationGracePeriodSeconds=-1)) == 1


def test_an_update_is_remarked_on_with_a_new_generation_only() -> None:
    assert is_looked_at("deployments", 1, None)
    assert not is_looked_at("deployments", 1, 1)
    assert is_looked_at("deployments", 2, 1)


def test_a_pod_is_remarked_on_when_it_is_created_only() -> None:
    assert is_looked_at("pods", 1, None)
    assert not is_looked_at("pods", 2, 1)


def test_what_holds_no_pod_is_not_looked_at() -> None:
    assert not is_looked_at("configmaps", 1, None)


async def test_the_write_that_lets_an_object_go_is_no_creation() -> None:
    cluster = Cluster.make()
    containers = [{"name": name, "image": "a", "ports": [{"containerPort": 80}]} for name in ("a", "b")]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = "/apis/apps/v1/namespaces/default/deployments"
    metadata = {"name": "a", "finalizers": ["example.com/a"]}
    body = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": metadata, "spec": spec}
    made = await cluster.server.handle("POST", path, (), msgspec.json.encode(body), {"content-type": JSON})
    assert len(made.warnings) == 1
    await cluster.server.handle("DELETE", f"{path}/a")

    headers = {"content-type": "application/merge-patch+json"}
    gone = await cluster.server.handle("PATCH", f"{path}/a", (), b'{"metadata":{"finalizers":null}}', headers)

    assert (gone.status, list(gone.warnings)) == (200, [])
    assert (await cluster.server.handle("GET", f"{path}/a")).status == 404
