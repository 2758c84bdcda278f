"""What a DELETE makes of an object that something still holds. Pure."""

from __future__ import annotations

from fleet.devcluster.changes.deleteoptions import DeleteOptions
from fleet.devcluster.kinds.resources import NAMESPACES, ResourceType
from fleet.devcluster.wire import statuses
from shards.objects import Object

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"

_IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_ORPHANING = frozenset({("", "replicationcontrollers"), ("batch", "jobs")})
"""Whose dependents stay unless the delete says otherwise: old clients expect it."""


def check_mortal(kind: ResourceType, name: str) -> None:
    """Raises StatusError 403 for a namespace that every cluster has (the admission plugin NamespaceLifecycle)."""
    if kind.resource == NAMESPACES.resource and name in _IMMORTAL:
        raise statuses.forbidden(kind, name, "this namespace may not be deleted")


def finalizers_after(kind: ResourceType, metadata: Object, options: DeleteOptions) -> list[str]:
    """Finalizers of a deleted object, with those of the propagation policy."""
    present: list[str] = metadata.get("finalizers", [])
    policy = options.propagation_policy
    if options.orphan_dependents is not None:
        orphan, foreground = options.orphan_dependents, False
    elif policy is not None:
        orphan, foreground = policy == "Orphan", policy == "Foreground"
    else:
        orphan, foreground = ORPHAN in present, FOREGROUND in present
        orphan = orphan or (not foreground and (kind.resource.group, kind.resource.plural) in _ORPHANING)
    kept = [each for each in present if each not in (ORPHAN, FOREGROUND)]
    return kept + [ORPHAN] * orphan + [FOREGROUND] * foreground


def grace_seconds(kind: ResourceType, body: Object, options: DeleteOptions) -> int:
    """Only a pod that has a node and still runs is given time."""
    spec, status = body.get("spec") or {}, body.get("status") or {}
    if kind.resource.plural != "pods" or not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        return 0
    wanted = options.grace_period_seconds
    if wanted is None:
        wanted = int(spec.get("terminationGracePeriodSeconds", 30))
    return max(wanted, 0)


def settle_finalizers(kind: ResourceType, body: Object, options: DeleteOptions) -> tuple[bool, int]:
    """Sets the finalizers of a deleted object, in place. Whether something holds it, and its grace in seconds."""
    metadata = body["metadata"]
    finalizers = finalizers_after(kind, metadata, options)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    grace = grace_seconds(kind, body, options)
    return bool(finalizers) or grace > 0 or kind.resource == NAMESPACES.resource, grace


def ends_already(kind: ResourceType, metadata: Object, options: DeleteOptions) -> bool:
    """Whether a pod has its grace period and keeps it; one of 0 seconds is cut short, in place."""
    if kind.resource.plural != "pods" or not metadata.get("deletionGracePeriodSeconds"):
        return False
    if options.grace_period_seconds is None or options.grace_period_seconds > 0:
        return True
    metadata["deletionGracePeriodSeconds"] = 0
    return False


def mark_deleted(kind: ResourceType, body: Object, grace: int, timestamp: str) -> None:
    """In place. grace: seconds. timestamp: when the grace is over."""
    metadata = body["metadata"]
    if "deletionTimestamp" not in metadata:
        if metadata.get("generation"):
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = timestamp
        if kind.resource != NAMESPACES.resource:
            metadata["deletionGracePeriodSeconds"] = grace
    if kind.resource == NAMESPACES.resource:
        body["status"] = {**body.get("status", {}), "phase": "Terminating"}


def may_vanish(kind: ResourceType, new: Object, old: Object) -> bool:
    """Whether an object that is being deleted goes with its last finalizer."""
    if kind.resource == NAMESPACES.resource:
        return not (new.get("spec") or {}).get("finalizers")
    return not old["metadata"].get("deletionGracePeriodSeconds")
