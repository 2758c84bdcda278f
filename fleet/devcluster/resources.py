"""The registry: which resources exist, and how each of them behaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fleet.devcluster.schema import Schema
from shards.objects import Resource


@dataclass(frozen=True, slots=True)
class ResourceType:
    """One resource and the rules of its storage.

    fields: top-level fields that the server knows; others are dropped. None: all are kept (custom resources).
    status: has a status subresource. unconditional_update: a PUT without a resourceVersion is allowed.
    create_on_update: a PUT of an absent object creates it. returns_deleted: DELETE answers with the object.
    selectable: field selectors beyond metadata.name and metadata.namespace, as dotted paths.
    """

    resource: Resource
    kind: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    fields: frozenset[str] | None = None
    status: bool = False
    generation: bool = False
    unconditional_update: bool = True
    create_on_update: bool = False
    returns_deleted: bool = False
    selectable: tuple[str, ...] = ()
    schema: Schema | None = field(default=None, compare=False)

    @property
    def custom(self) -> bool:
        return self.fields is None

    @property
    def qualified(self) -> str:
        """ "configmaps" or "deployments.apps"."""
        group = self.resource.group
        return f"{self.resource.plural}.{group}" if group else self.resource.plural

    @property
    def head(self) -> bytes:
        """How the JSON of an object begins; lists of built-in resources leave it out."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.resource.api_version}",'.encode()


def _core(plural: str, kind: str, fields: str, **rules: object) -> ResourceType:
    return _built_in(Resource("", "v1", plural), kind, fields, **rules)


def _apps(plural: str, kind: str, short: str) -> ResourceType:
    return _built_in(
        Resource("apps", "v1", plural),
        kind,
        "spec status",
        status=True,
        generation=True,
        short_names=(short,),
        categories=("all",),
    )


def _built_in(resource: Resource, kind: str, fields: str, **rules: object) -> ResourceType:
    known = frozenset(("kind", "apiVersion", "metadata", *fields.split()))
    return ResourceType(resource, kind, fields=known, singular=kind.lower(), **rules)  # type: ignore[arg-type]


NAMESPACES = _core(
    "namespaces",
    "Namespace",
    "spec status",
    namespaced=False,
    status=True,
    returns_deleted=True,
    short_names=("ns",),
    selectable=("status.phase",),
)
CUSTOM_RESOURCE_DEFINITIONS = _built_in(
    Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    "CustomResourceDefinition",
    "spec status",
    namespaced=False,
    status=True,
    generation=True,
    unconditional_update=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
)
LEASES = _built_in(
    Resource("coordination.k8s.io", "v1", "leases"),
    "Lease",
    "spec",
    unconditional_update=False,
    create_on_update=True,
)

BUILT_IN: tuple[ResourceType, ...] = (
    NAMESPACES,
    _core("configmaps", "ConfigMap", "data binaryData immutable", short_names=("cm",)),
    _core("secrets", "Secret", "data stringData type immutable", selectable=("type",)),
    _core(
        "pods",
        "Pod",
        "spec status",
        status=True,
        generation=True,
        returns_deleted=True,
        short_names=("po",),
        categories=("all",),
        selectable=("spec.nodeName", "spec.serviceAccountName", "spec.schedulerName", "status.phase", "status.podIP"),
    ),
    _core(
        "events",
        "Event",
        "involvedObject reason message source firstTimestamp lastTimestamp count type eventTime series action related"
        " reportingComponent reportingInstance",
        create_on_update=True,
        short_names=("ev",),
        selectable=(
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "reason",
            "type",
        ),
    ),
    _core(
        "services",
        "Service",
        "spec status",
        status=True,
        create_on_update=True,
        returns_deleted=True,
        short_names=("svc",),
        categories=("all",),
        selectable=("spec.clusterIP", "spec.type"),
    ),
    _core(
        "serviceaccounts",
        "ServiceAccount",
        "secrets imagePullSecrets automountServiceAccountToken",
        returns_deleted=True,
        short_names=("sa",),
    ),
    _apps("deployments", "Deployment", "deploy"),
    _apps("statefulsets", "StatefulSet", "sts"),
    _apps("replicasets", "ReplicaSet", "rs"),
    _apps("daemonsets", "DaemonSet", "ds"),
    LEASES,
    CUSTOM_RESOURCE_DEFINITIONS,
)


class Registry:
    """Resources by group version and plural; custom ones come and go."""

    def __init__(self) -> None:
        self._types: dict[Resource, ResourceType] = {each.resource: each for each in BUILT_IN}

    def get(self, resource: Resource) -> ResourceType | None:
        return self._types.get(resource)

    def add(self, kind: ResourceType) -> None:
        """Adds or replaces."""
        self._types[kind.resource] = kind

    def remove(self, resource: Resource) -> None:
        self._types.pop(resource, None)

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(tuple(self._types.values()))

    def has_group_version(self, group: str, version: str) -> bool:
        return any(each.group == group and each.version == version for each in self._types)

    def has_built_in(self, group: str) -> bool:
        return any(each.resource.group == group for each in BUILT_IN)
