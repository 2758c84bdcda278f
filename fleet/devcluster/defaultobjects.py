"""What the real API server itself creates when it starts, beside roles. Pure.

The controllers of a cluster create more: a ConfigMap kube-root-ca.crt and a ServiceAccount in every namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shards.objects import Object, Resource

DEFAULT_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
_SERVICES = Resource("", "v1", "services")
_PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses")
_PORT = 6443
_NODE_CRITICAL = "Used for system critical pods that must not be moved from their current node."
_CLUSTER_CRITICAL = (
    "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."
)


def default_objects() -> Iterator[tuple[Resource, Object]]:
    """In the server's order."""
    for name, value, description in (
        ("system-node-critical", 2_000_001_000, _NODE_CRITICAL),
        ("system-cluster-critical", 2_000_000_000, _CLUSTER_CRITICAL),
    ):
        yield _PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value, "description": description}
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": _PORT}
    labels = {"component": "apiserver", "provider": "kubernetes"}
    spec = {"clusterIP": "10.0.0.1", "ports": [port], "sessionAffinity": "None", "type": "ClusterIP"}
    spec["ipFamilyPolicy"] = "SingleStack"
    yield (
        _SERVICES,
        {"metadata": {"name": "kubernetes", "namespace": "default", "labels": labels}, "spec": spec},
    )
