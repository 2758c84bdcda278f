"""What discovery says of a custom resource beyond its names. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Container, Iterator

from fleet.devcluster.kinds.catalogue import Subresource

_VERBS = ("get", "patch", "update")


def custom_subresources(kind: str, declared: Container[str]) -> Iterator[Subresource]:
    """declared: `subresources` of a version of a CustomResourceDefinition."""
    if "status" in declared:
        yield Subresource("status", kind, _VERBS)
    if "scale" in declared:
        yield Subresource("scale", "Scale", _VERBS, "autoscaling", "v1")


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """Short hash of what a resource is stored as. version: the stored one (apiserver: discovery.StorageVersionHash)."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
