"""`metadata` of an object: its known fields, their types, and the rules on names, labels and finalizers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleet.devcluster.causes import Cause
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.schemas import objectmeta
from fleet.devcluster.schemas.names import label_faults, path_segment_faults, subdomain_faults
from fleet.devcluster.schemas.objectmeta import OWNER_FIELDS, OWNER_REQUIRED, invalid, masked
from fleet.devcluster.schemas.values import quoted
from shards.objects import Object

_KEPT = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"),
)
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_STRICT_FINALIZER_GROUPS = ("", "apps")
_NAME_FAULTS = {"label": label_faults, "subdomain": subdomain_faults}


def normalised(metadata: Mapping[str, Any] | None) -> Object:
    """Metadata of which every field has the right type, with the fields that are kept: empty ones are left out, as the
    real server does. What is below it may be shared.
    """
    given = metadata or {}
    kept = {name: given[name] for name in _KEPT if name in given and (given[name] or given[name] == 0)}
    if "ownerReferences" in kept:
        kept["ownerReferences"] = [_owner(each) for each in kept["ownerReferences"]]
    if given.get("managedFields") is not None:
        kept["managedFields"] = given["managedFields"]
    return kept


def _owner(given: Mapping[str, Any]) -> Object:
    owner = {name: given[name] for name in OWNER_FIELDS if given.get(name) not in (None, "")}
    for name in OWNER_REQUIRED:
        owner.setdefault(name, "")
    return owner


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


def common_causes(kind: ResourceType, metadata: Mapping[str, Any]) -> list[Cause]:
    """What is wrong with generation, labels, annotations, owner references and finalizers."""
    found = objectmeta.common_causes(metadata)
    if kind.custom or "finalizers" not in metadata or kind.resource.group not in _STRICT_FINALIZER_GROUPS:
        return found
    for index, finalizer in enumerate(metadata["finalizers"]):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(invalid(f"metadata.finalizers[{index}]", finalizer, why))
    return found


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


def untouched(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether an update leaves the metadata as it is. What `new` says of managedFields does not count if missing."""
    sizes = [len(each) - ("managedFields" in each) for each in (new, old)]
    return sizes[0] == sizes[1] and new.items() <= old.items()


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
