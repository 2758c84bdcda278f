"""The rules on `metadata` that hold for every object, embedded ones included. Pure.

After apimachinery pkg/api/validation/objectmeta.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from fleet.devcluster.causes import Cause
from fleet.devcluster.schemas.names import label_faults, label_value_faults, path_segment_faults, qualified_faults
from fleet.devcluster.schemas.values import json_text, shown

KNOWN_FIELDS: Final = frozenset(
    (
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    )
)
OWNER_REQUIRED: Final = ("apiVersion", "kind", "name", "uid")
OWNER_FIELDS = (*OWNER_REQUIRED, "controller", "blockOwnerDeletion")
_ANNOTATIONS_LIMIT = 256 * 1024
_GROUP_VERSION = re.compile(r"[^/]+(?:/[^/]+)?")


def invalid(field: str, value: Any, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", field)


def common_causes(metadata: Mapping[str, Any], path: str = "metadata") -> list[Cause]:
    """What is wrong with generation, labels, annotations, owner references and finalizers."""
    found: list[Cause] = []
    if metadata.get("generation", 0) < 0:
        found.append(invalid(f"{path}.generation", metadata["generation"], "must be greater than or equal to 0"))
    for name, causes_of in _PARTS:
        part = metadata.get(name)
        if part:
            found += causes_of(part, f"{path}.{name}")
    return found


def _label_causes(labels: Mapping[str, str], path: str) -> Iterator[Cause]:
    for key, value in labels.items():
        for why in qualified_faults(key):
            yield invalid(path, key, why)
        for why in label_value_faults(value):
            yield invalid(path, value, why)


def _annotation_causes(annotations: Mapping[str, str], path: str) -> Iterator[Cause]:
    size = 0
    for key, value in annotations.items():
        for why in qualified_faults(key.lower()):
            yield invalid(path, key, why)
        size += len(key.encode()) + len(value.encode())
    if size > _ANNOTATIONS_LIMIT:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes", path)


def _owner_causes(owners: Sequence[Mapping[str, Any]], path: str) -> Iterator[Cause]:
    controller = ""
    for index, owner in enumerate(owners):
        here = f"{path}[{index}]"
        version = owner.get("apiVersion", "")
        if version and not _GROUP_VERSION.fullmatch(version):
            yield invalid(f"{here}.apiVersion", version, "must be <group>/<version> or <version>")
        for name in OWNER_REQUIRED:
            if not owner.get(name):
                yield Cause("FieldValueRequired", "Required value: must not be empty", f"{here}.{name}")
        if version == "v1" and owner.get("kind") == "Event":
            message = f"Invalid value: {_owner_text(owner)}: /v1, Kind=Event is disallowed from being an owner"
            yield Cause("FieldValueInvalid", message, here)
        if owner.get("controller"):
            name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                why = f'Only one reference can have Controller set to true. Found "true" in references for {controller}'
                all_owners = "[" + ",".join(_owner_text(each) for each in owners) + "]"
                yield Cause("FieldValueInvalid", f"Invalid value: {all_owners}: {why} and {name}", path)
            controller = controller or name


def _owner_text(owner: Mapping[str, Any]) -> str:
    parts = {name: owner.get(name, "") for name in OWNER_REQUIRED} | {
        name: owner[name] for name in OWNER_FIELDS if name in owner
    }
    return "{" + ",".join(f'"{name}":{json_text(value)}' for name, value in parts.items()) + "}"


def _finalizer_causes(finalizers: Sequence[str], path: str) -> Iterator[Cause]:
    for finalizer in finalizers:
        for why in qualified_faults(finalizer):
            yield invalid(path, finalizer, why)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        yield invalid(path, list(finalizers), "finalizer orphan and foregroundDeletion cannot be both set")


_PARTS: Final[tuple[tuple[str, Callable[[Any, str], Iterator[Cause]]], ...]] = (
    ("labels", _label_causes),
    ("annotations", _annotation_causes),
    ("ownerReferences", _owner_causes),
    ("finalizers", _finalizer_causes),
)


def masked(prefix: str) -> str:
    """A generateName as its rules see it: a dash at its end is allowed."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def meta_causes(metadata: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """What is wrong with the metadata of an embedded object."""
    prefix = metadata.get("generateName", "")
    for why in path_segment_faults(prefix, prefix=True):
        yield invalid(f"{path}.generateName", prefix, why)
    name = metadata.get("name", "")
    for why in path_segment_faults(name):
        yield invalid(f"{path}.name", name, why)
    namespace = metadata.get("namespace", "")
    for why in label_faults(namespace) if namespace else ():
        yield invalid(f"{path}.namespace", namespace, why)
    yield from common_causes(metadata, path)
