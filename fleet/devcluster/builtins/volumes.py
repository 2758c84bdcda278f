"""Defaults and refusals of volumes and storage (kubernetes/pkg/apis/core, storage). Pure, in place.

Finalizers that protect claims and volumes in use are not added: no controller of the bench would take them off again.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleet.devcluster.builtins.findings import forbidden, immutable, required
from fleet.devcluster.builtins.rulebook import rule
from fleet.devcluster.causes import Cause
from shards.objects import Object


@rule.defaults("", "persistentvolumeclaims")
def default_claim(body: Object) -> None:
    body["spec"].setdefault("volumeMode", "Filesystem")


@rule.creation("", "persistentvolumeclaims")
def pending_claim(body: Object) -> None:
    body["status"] = {"phase": "Pending"}


@rule.defaults("", "persistentvolumes")
def default_volume(body: Object) -> None:
    spec = body["spec"]
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if isinstance(spec.get("hostPath"), dict):
        spec["hostPath"].setdefault("type", "")


@rule.creation("", "persistentvolumes")
def pending_volume(body: Object) -> None:
    body["status"] = {"phase": "Pending", "lastPhaseTransitionTime": body["metadata"]["creationTimestamp"]}


@rule.defaults("storage.k8s.io", "storageclasses")
def default_class(body: Object) -> None:
    body.setdefault("reclaimPolicy", "Delete")
    body.setdefault("volumeBindingMode", "Immediate")


@rule.defaults("storage.k8s.io", "csidrivers")
def default_driver(body: Object) -> None:
    spec = body["spec"]
    spec.setdefault("attachRequired", True)
    spec.setdefault("volumeLifecycleModes", ["Persistent"])
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    for name in (
        *("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"),
        "preventPodSchedulingIfMissing",
    ):
        spec.setdefault(name, False)


@rule.checks("", "persistentvolumeclaims")
def claim_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body["spec"]
    if not spec.get("accessModes"):
        yield required("spec.accessModes", "at least 1 access mode is required")
    if "storage" not in (spec["resources"].get("requests") or {}):
        yield required("spec.resources[storage]")
    if old is None:
        return
    was = old["spec"]
    names = (set(spec) | set(was)) - {"resources", "volumeAttributesClassName"}
    binding = {"volumeName"} if not was.get("volumeName") else set()
    if any(spec.get(name) != was.get(name) for name in names - binding):
        why = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        yield forbidden("spec", why)


@rule.checks("storage.k8s.io", "storageclasses")
def class_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    if not body.get("provisioner"):
        yield required("provisioner")
    if old is None:
        return
    for name in ("provisioner", "parameters"):
        if body.get(name) != old.get(name):
            # The real server shows no value here.
            yield immutable(name, None)
