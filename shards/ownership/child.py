"""What a child carries: its owner, its namespace, and the slot label that views filter by; no write takes it away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shards.errors import ConfigError, TerminalError
from shards.keyrange import slot_of
from shards.objects import SLOT_LABEL, Object, ObjectName, Resource
from shards.ownership.fence import Fence
from shards.ownership.view import View, controller_uid


async def completed(fence: Fence, view: View, resource: Resource, desired: Object) -> Object:
    """The body with what the framework fills in; the caller's object is left as it is.

    Only children, objects of owned resources, get an owner. Raises TerminalError when there is none any more, and
    ConfigError for another namespace or another controller.
    """
    metadata = {**desired.get("metadata", {})}
    body = {"apiVersion": resource.api_version, **desired, "metadata": metadata}
    if "kind" not in body:
        body["kind"] = await fence.kind_of(resource)
    if not fence.owns(resource):
        return body
    key = view.key
    if not view.shows_own():
        raise TerminalError(f"{key} is gone: nothing can be created for it")
    if key.namespace and metadata.setdefault("namespace", key.namespace) != key.namespace:
        raise ConfigError(f"{resource}.metadata.namespace", f"must be {key.namespace}, where its owner is")
    metadata["labels"] = {**(metadata.get("labels") or {}), SLOT_LABEL: slot_of(key.uid)}
    owners = [each for each in metadata.get("ownerReferences") or () if each.get("uid") != key.uid]
    if any(each.get("controller") for each in owners):
        raise ConfigError(f"{resource}.metadata.ownerReferences", "the controller is filled in by the framework")
    reference = {
        "apiVersion": view.primary.api_version,
        "kind": await _own_kind(fence, view),
        "name": key.name,
        "uid": key.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata["ownerReferences"] = [*owners, reference]
    return body


def replaced(fence: Fence, view: View, resource: Resource, body: Object) -> Object:
    """The body of an update: a child of this primary keeps its slot label, or gets it, whatever the author left out.

    One that it gives to another owner gets that one's: with the old label nobody's view would show it.
    """
    owner = controller_uid(body)
    if not owner or not fence.owns(resource):
        return body
    if owner != view.key.uid:
        name = ObjectName(body["metadata"].get("namespace", ""), body["metadata"]["name"])
        if not _is_own(view, view.peek(resource, name)):
            return body
    metadata = {**body["metadata"]}
    metadata["labels"] = {**(metadata.get("labels") or {}), SLOT_LABEL: slot_of(owner)}
    return {**body, "metadata": metadata}


def patched(
    fence: Fence, view: View, resource: Resource, name: ObjectName, patch: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The same of a merge patch: one that would take the label away keeps it, one that makes a child, or gives it
    away, brings it.

    Raises ConfigError for one that takes all labels away.
    """
    metadata = patch.get("metadata")
    if not isinstance(metadata, Mapping) or not fence.owns(resource):
        return patch
    owner, labels = controller_uid({"metadata": metadata}), metadata.get("labels", {})
    if not owner and isinstance(labels, Mapping) and SLOT_LABEL not in labels:
        return patch
    if owner != view.key.uid:
        current = view.peek(resource, name)
        unseen = current is None and not owner
        if not unseen and not _is_own(view, current):
            return patch
    if labels is None:
        raise ConfigError(
            f"{resource}.metadata.labels",
            f"null would take {SLOT_LABEL} away too, without which the object is seen no more; "
            "write null for each label that is to go",
        )
    slot = slot_of(owner or view.key.uid)
    return {**patch, "metadata": {**metadata, "labels": {**labels, SLOT_LABEL: slot}}}


def _is_own(view: View, current: Object | None) -> bool:
    return current is not None and controller_uid(current) == view.key.uid


def mends_only(patch: Object) -> bool:
    """Whether the patch does no more than give a child its slot label."""
    return (
        set(patch) == {"metadata"}
        and patch["metadata"].keys() == {"labels"}
        and set(patch["metadata"]["labels"]) == {SLOT_LABEL}
    )


async def _own_kind(fence: Fence, view: View) -> str:
    """Of the primary: its objects say it, and the first one that is looked at says it for all."""
    if view.primary not in fence.kinds:
        primary = view.own()
        kind = primary.get("kind") if primary is not None else None
        if kind:
            fence.kinds[view.primary] = kind
    return await fence.kind_of(view.primary)
