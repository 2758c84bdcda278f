"""The decoder against the real server's own protobuf: one object in both forms is the same object."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec
import pytest
import yaml

from fleet.devcluster.protobuf.decoding import CONTENT_TYPE, MAGIC, decode

if TYPE_CHECKING:
    from tests.cluster.plane import ControlPlane

GROUPS = (
    "api/v1",
    "apis/apps/v1",
    "apis/batch/v1",
    "apis/coordination.k8s.io/v1",
    "apis/rbac.authorization.k8s.io/v1",
    "apis/flowcontrol.apiserver.k8s.io/v1",
    "apis/scheduling.k8s.io/v1",
    "apis/apiregistration.k8s.io/v1",
    "apis/apiextensions.k8s.io/v1",
)
PROBE = {"httpGet": {"path": "/", "port": "http"}, "initialDelaySeconds": 0, "periodSeconds": 7}
CONTAINER = {
    "name": "web",
    "image": "nginx",
    "ports": [{"name": "http", "containerPort": 80}],
    "readinessProbe": PROBE,
    "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}},
    "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
}
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [CONTAINER], "volumes": [{"name": "v", "configMap": {"name": "c", "defaultMode": 0}}]},
}
WORKLOAD = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE, "replicas": 0}
MADE: dict[str, dict[str, Any]] = {
    "api/v1/configmaps": {"data": {"a": "", "b": "2"}, "binaryData": {"c": "AP8="}, "immutable": False},
    "api/v1/secrets": {"stringData": {"a": "b"}},
    "api/v1/services": {"spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"app": "web"}}},
    "apis/apps/v1/deployments": {"spec": {**WORKLOAD, "strategy": {"rollingUpdate": {"maxSurge": "10%"}}}},
    "apis/apps/v1/statefulsets": {"spec": {**WORKLOAD, "serviceName": "web"}},
    "apis/coordination.k8s.io/v1/leases": {
        "spec": {"holderIdentity": "me", "renewTime": "2026-01-02T03:04:05.000006Z"}
    },
}


def session_to(kubeconfig: Path) -> aiohttp.ClientSession:
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, token = config["clusters"][0]["cluster"], config["users"][0]["user"]["token"]
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=cluster["certificate-authority"]))
    headers = {"Authorization": f"Bearer {token}"}
    return aiohttp.ClientSession(cluster["server"], connector=connector, headers=headers)


async def document(session: aiohttp.ClientSession, path: str, accept: str = "application/json") -> bytes:
    async with session.get(path, headers={"Accept": accept}) as response:
        return await response.read()


async def compared(kubeconfig: Path) -> tuple[int, list[str]]:
    """How many objects were compared, and the paths of those that differ."""
    namespace, differing, count = f"protobuf-{secrets.token_hex(4)}", [], 0
    async with session_to(kubeconfig) as session:
        await session.post("/api/v1/namespaces", json={"metadata": {"name": namespace}})
        for resource, content in MADE.items():
            group, _, plural = resource.rpartition("/")
            path = f"/{group}/namespaces/{namespace}/{plural}"
            async with session.post(path, json={"metadata": {"name": "made"}, **content}) as response:
                assert response.status == 201, await response.text()
        for path in [path async for path in _objects(session)]:
            plain, packed = await asyncio.gather(document(session, path), document(session, path, CONTENT_TYPE))
            if packed.startswith(MAGIC):
                count += 1
                if _filled(decode(packed)) != _filled(_json(plain)):
                    differing.append(path)
        await session.delete(f"/api/v1/namespaces/{namespace}")
    return count, differing


async def _objects(session: aiohttp.ClientSession) -> AsyncIterator[str]:
    """Paths of up to five objects of every kind in these groups."""
    for group in GROUPS:
        for resource in _json(await document(session, f"/{group}"))["resources"]:
            if "/" in resource["name"] or "list" not in resource["verbs"]:
                continue
            listed = _json(await document(session, f"/{group}/{resource['name']}?limit=5"))
            for item in listed["items"]:
                within = f"/namespaces/{item['metadata']['namespace']}" if resource["namespaced"] else ""
                yield f"/{group}{within}/{resource['name']}/{item['metadata']['name']}"


def _json(raw: bytes) -> Any:
    return msgspec.json.decode(raw)


def _filled(value: Any) -> Any:
    """Without empty objects and nulls: which of them the server writes depends on Go's struct, not on the object."""
    if isinstance(value, dict):
        pairs = ((name, _filled(inner)) for name, inner in value.items())
        return {name: inner for name, inner in pairs if inner not in ({}, None)}
    return [_filled(each) for each in value] if isinstance(value, list) else value


async def test_one_object_in_both_forms_is_the_same(real_cluster: ControlPlane) -> None:
    count, differing = await compared(real_cluster.kubeconfig)
    assert not differing
    assert count > 40


@pytest.mark.real
def test_the_messages_are_those_of_the_test_clusters_version(cluster_binary: Path) -> None:
    check = subprocess.run([sys.executable, "-m", "tests.contract.write_messages", "--check"], check=False)
    assert check.returncode == 0, "run: python -m tests.contract.write_messages"
