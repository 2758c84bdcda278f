"""The registry: which resources exist, and how each of them behaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Protocol

import msgspec

from fleet.devcluster.causes import Cause
from fleet.devcluster.kinds.catalogue import Entry, Subresource, entries, schema_name, schemas
from fleet.devcluster.kinds.rules import PLAIN, RULES, UNSERVED_SUBRESOURCES
from fleet.devcluster.kinds.scale import BUILT_IN_PATHS, ScalePaths
from fleet.devcluster.kinds.structure import ANYTHING, Structure
from fleet.devcluster.versions import autoscaling, events
from fleet.devcluster.versions.conversion import Conversion, Reshaping
from shards.objects import Object, Resource

STORED_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Encoded(Protocol):
    """A stored object."""

    @property
    def raw(self) -> bytes: ...


class ObjectSchema(Protocol):
    """What a custom resource's definition says of its objects; see `fleet.devcluster.definitions.schema`."""

    @property
    def root(self) -> Mapping[str, Any]: ...

    @property
    def has_rules(self) -> bool: ...

    def read(self, body: dict[str, Any]) -> tuple[list[str], Cause | None]: ...

    def complete(self, body: dict[str, Any]) -> None: ...

    def default(self, body: dict[str, Any]) -> None: ...

    def causes(self, body: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[Cause]: ...

    def status_causes(self, body: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[Cause]: ...

    def forgiven(self, body: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[str]: ...


@dataclass(frozen=True)
class ResourceType:
    """One resource and the rules of its storage.

    fields: top-level fields that the server knows; others are dropped. None: all are kept (custom resources).
    status: has a status subresource. unconditional_update: a PUT without a resourceVersion is allowed.
    create_on_update: a PUT of an absent object creates it. returns_deleted: DELETE answers with the object.
    selectable: field selectors beyond metadata.name and metadata.namespace, as dotted paths.
    names: what a name must be: "subdomain", "label", or "path" for any segment of a path.
    structure: the type of the whole object; ANYTHING where nothing is known of it.
    scale: where the number of replicas is, of what has a scale subresource. deprecation: the warning that every request
    gets. terminating: a custom resource whose definition is being deleted: nothing can be created. conversion: of a
    version that is not the one that is stored.
    verbs, subresources, storage_version_hash: as discovery tells them. list_kind: of lists; "": the kind and "List".
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
    schema: ObjectSchema | None = field(default=None, compare=False)
    structure: Structure = field(default=ANYTHING, compare=False)
    names: str = "subdomain"
    verbs: tuple[str, ...] = STORED_VERBS
    subresources: tuple[Subresource, ...] = ()
    storage_version_hash: str = ""
    list_kind: str = ""
    scale: ScalePaths | None = None
    deprecation: str = ""
    terminating: bool = False
    conversion: Conversion | None = field(default=None, compare=False)

    def rendered(self, stored: Encoded) -> bytes:
        """A stored object as this version of its resource shows it."""
        return stored.raw if self.conversion is None else self.conversion.encoded(stored.raw)

    def decoded(self, stored: Encoded) -> Object:
        """A fresh decoded copy of a stored object, in this version."""
        if self.conversion is not None:
            return self.conversion.decoded(stored.raw)
        body: Object = msgspec.json.decode(stored.raw)
        return body

    @cached_property
    def reshaping(self) -> Reshaping | None:
        """Of a version of a built-in resource whose fields are not those of the stored one."""
        return self.conversion if isinstance(self.conversion, Reshaping) else None

    @cached_property
    def custom(self) -> bool:
        return self.fields is None

    @cached_property
    def group_resource(self) -> tuple[str, str]:
        """Group and plural."""
        return self.resource.group, self.resource.plural

    @cached_property
    def defines(self) -> bool:
        """Whether its objects are CustomResourceDefinitions."""
        return self.resource == CUSTOM_RESOURCE_DEFINITIONS.resource

    @cached_property
    def api_version(self) -> str:
        """`apiVersion` of its objects."""
        return self.resource.api_version

    @cached_property
    def type_name(self) -> str:
        """Of its schema: "io.k8s.api.core.v1.Pod"; "" where it has none."""
        return schema_name(self.resource.group, self.resource.version, self.kind)

    @property
    def qualified(self) -> str:
        """ "configmaps" or "deployments.apps"."""
        group = self.resource.group
        return f"{self.resource.plural}.{group}" if group else self.resource.plural

    @property
    def head(self) -> bytes:
        """How the JSON of an object begins; lists of built-in resources leave it out."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()


_RESHAPED: Final = {
    ("autoscaling", "v1", "horizontalpodautoscalers"): autoscaling.reshaping(),
    ("events.k8s.io", "v1", "events"): events.reshaping(),
}
"""Second versions, by group, version and plural."""


def _built_in(entry: Entry) -> ResourceType:
    """The served form of a catalogue entry."""
    name = schema_name(entry.group, entry.version, entry.kind)
    rules = RULES.get((entry.group, entry.name), PLAIN)
    return ResourceType(
        Resource(entry.group, entry.version, entry.name),
        entry.kind,
        namespaced=entry.namespaced,
        singular=entry.singular_name,
        short_names=entry.short_names,
        categories=entry.categories,
        fields=frozenset(schemas()[name]["properties"]),
        status=any(each.name == "status" for each in entry.subresources),
        generation=rules.generation,
        unconditional_update=rules.unconditional_update,
        create_on_update=rules.create_on_update,
        returns_deleted=rules.returns_deleted,
        selectable=rules.selectable,
        structure=Structure(schemas()[name], schemas()),
        names=rules.names,
        verbs=entry.verbs,
        subresources=tuple(each for each in entry.subresources if each.name not in UNSERVED_SUBRESOURCES),
        storage_version_hash=entry.storage_version_hash,
        list_kind=f"{entry.kind}List",
        conversion=_RESHAPED.get((entry.group, entry.version, entry.name)),
        scale=BUILT_IN_PATHS if any(each.name == "scale" for each in entry.subresources) else None,
    )


BUILT_IN: Final[tuple[ResourceType, ...]] = tuple(_built_in(each) for each in entries() if each.stored)
"""Every stored resource of the real server, in the server's order; a stored version stands before the others."""

_BY_NAME: Final = {(each.resource.group, each.resource.plural): each for each in BUILT_IN}
NAMESPACES: Final = _BY_NAME["", "namespaces"]
CUSTOM_RESOURCE_DEFINITIONS: Final = _BY_NAME["apiextensions.k8s.io", "customresourcedefinitions"]
LEASES: Final = _BY_NAME["coordination.k8s.io", "leases"]


class Registry:
    """Resources by group version and plural; custom ones come and go.

    revision: grows with every change, for whoever keeps something made of the whole registry.
    """

    def __init__(self) -> None:
        self._types: dict[Resource, ResourceType] = {each.resource: each for each in BUILT_IN}
        self.revision = 0

    def of(self, api_version: str, kind: str) -> ResourceType | None:
        """What serves objects that say to be of this kind."""
        return next((each for each in self if (each.resource.api_version, each.kind) == (api_version, kind)), None)

    def get(self, resource: Resource) -> ResourceType | None:
        return self._types.get(resource)

    def add(self, kind: ResourceType) -> None:
        """Adds or replaces."""
        self._types[kind.resource] = kind
        self.revision += 1

    def remove(self, resource: Resource) -> None:
        self._types.pop(resource, None)
        self.revision += 1

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(tuple(self._types.values()))

    def has_group_version(self, group: str, version: str) -> bool:
        return any(each.group == group and each.version == version for each in self._types)

    def has_built_in(self, group: str) -> bool:
        return any(each.group == group for each in entries())
