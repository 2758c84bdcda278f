"""Which fields a request cannot change, whatever it says: nobody becomes their owner by it.

Source: GetResetFields of the strategies in kubernetes/pkg/registry and apiextensions-apiserver.
"""

from __future__ import annotations

from typing import Final

from fleet.devcluster.fields.sets import MEMBER, FieldSet

_NOTHING: Final[FieldSet] = {}
_STATUS: Final[FieldSet] = {"f:status": MEMBER}
_SPEC: Final[FieldSet] = {"f:spec": MEMBER}
_SPEC_AND_METADATA: Final[FieldSet] = {"f:spec": MEMBER, "f:metadata": MEMBER}
_OF_STATUS: Final[dict[str, FieldSet]] = {
    "Deployment": {"f:spec": MEMBER, "f:metadata": {"f:labels": MEMBER}},
    "Pod": {"f:spec": MEMBER, "f:metadata": {"f:deletionTimestamp": MEMBER, "f:ownerReferences": MEMBER}},
    "CustomResourceDefinition": _SPEC_AND_METADATA,
}
_WITH_METADATA_GROUPS: Final = frozenset(
    {"resource.k8s.io", "storage.k8s.io", "storagemigration.k8s.io", "scheduling.k8s.io", "internal.apiserver.k8s.io"}
)


def reset_fields(kind: str, group: str, subresource: str, *, status: bool, custom: bool) -> FieldSet:
    """status: the resource has a status subresource. custom: it is defined by a CRD."""
    if subresource == "status":
        if custom or group in _WITH_METADATA_GROUPS:
            return _SPEC_AND_METADATA
        return _OF_STATUS.get(kind, _SPEC)
    return _STATUS if status or subresource == "finalize" else _NOTHING
