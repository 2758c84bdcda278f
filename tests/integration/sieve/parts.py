"""Objects that the demo operators make, and the custom resource that stands for those of the catalogue."""

from __future__ import annotations

from typing import Any

from shards.objects import Meta, Object, ObjectName, Resource

DATASTORES = "sieve.shardfleet.dev/v1/datastores"
STATEFUL_SETS = "apps/v1/statefulsets"
PODS = "v1/pods"
VOLUMES = "v1/persistentvolumeclaims"
SERVICES = "v1/services"
SECRETS = "v1/secrets"
CONFIG_MAPS = "v1/configmaps"
BUDGETS = "policy/v1/poddisruptionbudgets"
COMPARED = (DATASTORES, STATEFUL_SETS, PODS, VOLUMES, SERVICES, SECRETS, CONFIG_MAPS, BUDGETS)
"""What scenarios are about."""

CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
CLUSTER_LABEL = "cluster"
"""Label of everything that belongs to a datastore, and in bodies the name of the datastore."""

FINALIZER = "sieve.shardfleet.dev/cleanup"

_PORT = {"type": "integer", "minimum": 1}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SPEC = {**OPEN, "properties": {"tserverUIPort": _PORT}}
_SCHEMA = {"openAPIV3Schema": {**OPEN, "properties": {"spec": _SPEC}}}
DEFINITION: Object = {
    "metadata": {"name": "datastores.sieve.shardfleet.dev"},
    "spec": {
        "group": "sieve.shardfleet.dev",
        "scope": "Namespaced",
        "names": {"plural": "datastores", "kind": "Datastore"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": _SCHEMA, "subresources": {"status": {}}}
        ],
    },
}


def datastore(name: str = "one", **spec: Any) -> Object:
    """finalizers: where they are given, those of the metadata."""
    finalizers = spec.pop("finalizers", None)
    metadata: Object = {"name": name, "namespace": "default"}
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return {"apiVersion": "sieve.shardfleet.dev/v1", "kind": "Datastore", "metadata": metadata, "spec": spec}


def by_cluster(meta: Meta) -> list[ObjectName]:
    """For `watches`: the datastore that an object belongs to by its label."""
    name = (meta.labels or {}).get(CLUSTER_LABEL)
    return [ObjectName(meta.namespace, name)] if name else []


def labels(cluster: str, component: str = "db") -> dict[str, str]:
    return {CLUSTER_LABEL: cluster, "component": component}


def stateful_set(
    name: str, cluster: str, replicas: int, *, component: str = "db", volume: str = "10Gi", volumes: bool = True
) -> Object:
    """volumes: each pod has a PersistentVolumeClaim data-<pod>, of the size `volume`."""
    marks = labels(cluster, component)
    spec: Object = {
        "replicas": replicas,
        "serviceName": name,
        "selector": {"matchLabels": marks},
        "template": {
            "metadata": {"labels": marks},
            "spec": {"containers": [{"name": "main", "image": "datastore:1"}]},
        },
    }
    if volumes:
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": volume}}}
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
    return {"metadata": {"name": name, "labels": marks}, "spec": spec}


def secret(name: str, cluster: str, **data: str) -> Object:
    return {"metadata": {"name": name, "labels": labels(cluster)}, "stringData": data or {"key": "value"}}


def service(name: str, cluster: str, port: int, *, component: str = "db") -> Object:
    return {
        "metadata": {"name": name, "labels": labels(cluster, component)},
        "spec": {"selector": labels(cluster, component), "ports": [{"name": "main", "port": port}]},
    }


def budget(name: str, cluster: str, max_unavailable: int) -> Object:
    return {
        "metadata": {"name": name, "labels": labels(cluster)},
        "spec": {"maxUnavailable": max_unavailable, "selector": {"matchLabels": labels(cluster)}},
    }


def ordinal(name: str) -> int:
    """Of a pod or a claim of a StatefulSet."""
    return int(name.rpartition("-")[2])
