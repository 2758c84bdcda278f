"""Kubernetes objects as this package sees them: resources, metadata, versions, keys.

Only metadata is decoded eagerly; the body stays bytes until somebody asks for it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shards.errors import ConfigError

DOMAIN = "shardfleet.dev"
SLOT_LABEL = f"{DOMAIN}/slot"
PAUSED_ANNOTATION = f"{DOMAIN}/paused"
"""On a primary: "true" while it is not to be reconciled."""

Object = dict[str, Any]
"""A decoded object, as in its JSON."""


class OwnerReference(msgspec.Struct, frozen=True, rename="camel", gc=False):
    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool | None = None


class Meta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The part of metadata that routing, gates and handlers need."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that controls this object, if any."""
        for owner in self.owner_references or ():
            if owner.controller:
                return owner
        return None

    @property
    def paused(self) -> bool:
        """Whether somebody asks that the object is not reconciled. Only "true" does, in any case of its letters: who
        writes "false" means it."""
        return (self.annotations or {}).get(PAUSED_ANNOTATION, "").lower() == "true"


class Key(msgspec.Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """A primary object: what queues hold. uid is part of it, so a recreated object is another key.

    No tuple: 100,000 of those in a queue are 10 ms of each pass of the garbage collector, and take ten times as long to
    make.
    """

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class ObjectName(msgspec.Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """Namespace and name; namespace is "" for cluster-scoped objects."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Resource(msgspec.Struct, frozen=True, order=True):
    """An API resource, by its plural. group is "" for the core group."""

    group: str
    version: str
    plural: str

    @classmethod
    def parse(cls, text: str, path: str = "resource") -> Resource:
        """From "v1/configmaps" or "apps/v1/deployments". Raises ConfigError naming `path`."""
        parts = text.split("/")
        if len(parts) not in (2, 3) or not all(parts) or parts[-1] != parts[-1].lower():
            raise ConfigError(
                path, f"{text!r} is no resource; write v1/configmaps or apps/v1/deployments (plural, lower case)"
            )
        group, version, plural = ("", *parts) if len(parts) == 2 else parts
        return cls(group, version, plural)

    def __str__(self) -> str:
        return "/".join(part for part in (self.group, self.version, self.plural) if part)

    @property
    def api_version(self) -> str:
        """`apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """URL path of the collection or of one object."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        middle = f"/namespaces/{namespace}" if namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{middle}/{self.plural}{tail}"


class _Identified(msgspec.Struct):
    metadata: Meta = Meta()


_decode_identified = msgspec.json.Decoder(_Identified).decode


def meta_in(raw: bytes) -> Meta:
    """Metadata of an object's JSON. Raises msgspec.ValidationError for what is no object."""
    return _decode_identified(raw).metadata


def meta_of(body: Object) -> Meta:
    """Metadata of a decoded object. Raises msgspec.ValidationError for what is no object."""
    return msgspec.convert(body.get("metadata", {}), Meta)
