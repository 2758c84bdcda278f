"""What an object carries that a reconcile creates: its owner, its namespace, and the label that views filter by."""

from __future__ import annotations

from shards.errors import ConfigError, TerminalError
from shards.keyrange import slot_of
from shards.objects import SLOT_LABEL, Object, Resource
from shards.ownership.fence import Fence
from shards.ownership.view import View


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


async def _own_kind(fence: Fence, view: View) -> str:
    """Of the primary: its objects say it, and the first one that is looked at says it for all."""
    if view.primary not in fence.kinds:
        primary = view.own()
        kind = primary.get("kind") if primary is not None else None
        if kind:
            fence.kinds[view.primary] = kind
    return await fence.kind_of(view.primary)
