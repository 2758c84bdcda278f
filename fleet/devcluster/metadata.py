"""`metadata` of an object: its known fields, their types, and the rules on names, labels and finalizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fleet.devcluster.causes import Cause
from fleet.devcluster.resources import ResourceType
from fleet.devcluster.schemas import objectmeta
from fleet.devcluster.schemas.names import label_faults, path_segment_faults, subdomain_faults
from fleet.devcluster.schemas.objectmeta import OWNER_REQUIRED, invalid, masked
from fleet.devcluster.schemas.values import quoted
from shards.objects import Object

_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_STRICT_FINALIZER_GROUPS = ("", "apps")
_NAME_FAULTS = {"label": label_faults, "subdomain": subdomain_faults}


class _Owner(msgspec.Struct, rename="camel", omit_defaults=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _ObjectMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    """The fields that are kept; null and empty ones are left out, as the real server does."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    finalizers: list[str] | None = None
    managed_fields: list[dict[str, Any]] | None = None


def normalised(metadata: Any) -> Object:
    """Known fields only, without empty ones. Raises msgspec.ValidationError where a type is wrong."""
    parsed = msgspec.convert(metadata or {}, _ObjectMeta)
    plain: Object = msgspec.to_builtins(parsed)
    kept = {name: value for name, value in plain.items() if value not in ("", {}, []) and value is not None}
    if parsed.managed_fields is not None:
        kept["managedFields"] = parsed.managed_fields
    for owner in kept.get("ownerReferences", ()):
        for name in OWNER_REQUIRED:
            owner.setdefault(name, "")
    return kept


def name_causes(kind: ResourceType, metadata: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with the name of an object that is to be created, and with its namespace."""
    prefix, name = metadata.get("generateName", ""), metadata.get("name", "")
    faults = _NAME_FAULTS.get(kind.names)
    if prefix:
        found = faults(masked(prefix)) if faults else path_segment_faults(prefix, prefix=True)
        for why in found:
            yield invalid("metadata.generateName", prefix, why)
    if not name:
        yield Cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name")
    else:
        for why in faults(name) if faults else path_segment_faults(name):
            yield invalid("metadata.name", name, why)
    if metadata.get("namespace") and not kind.namespaced:
        yield Cause("FieldValueForbidden", "Forbidden: not allowed on this type", "metadata.namespace")


def common_causes(kind: ResourceType, metadata: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with generation, labels, annotations, owner references and finalizers."""
    yield from objectmeta.common_causes(metadata)
    if kind.custom or not metadata.get("finalizers") or kind.resource.group not in _STRICT_FINALIZER_GROUPS:
        return
    for index, finalizer in enumerate(metadata["finalizers"]):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"metadata.finalizers[{index}]", finalizer, why)


def finalizer_warnings(metadata: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Of a custom resource: what the server says of new finalizers that could clash with those of others."""
    known = (old or {}).get("finalizers") or ()
    for finalizer in sorted(set(metadata.get("finalizers") or ()) - set(known)):
        if "/" in finalizer or finalizer in _STANDARD_FINALIZERS:
            continue
        how = " including a path (/)" if "." in finalizer else ""
        yield (
            f"metadata.finalizers: {quoted(finalizer)}: prefer a domain-qualified finalizer name{how} to avoid "
            "accidental conflicts with other finalizer writers"
        )


def update_causes(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Cause]:
    """What an update may not change."""
    if old.get("deletionTimestamp"):
        added = [each for each in new.get("finalizers", ()) if each not in old.get("finalizers", ())]
        if added:
            shown = ", ".join(f'"{each}"' for each in added)
            message = (
                "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
                f"[]string{{{shown}}}"
            )
            yield Cause("FieldValueForbidden", message, "metadata.finalizers")
    for name in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(name) != old.get(name):
            yield invalid(f"metadata.{name}", new.get(name), "field is immutable")
