"""What the server makes of an object before it stores it: the create and update rules of every resource. Pure.

Bodies are changed in place; a refused one raises StatusError. Time and randomness come in as arguments.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fleet.devcluster import builtins, statuses
from fleet.devcluster.causes import Cause
from fleet.devcluster.crds import definition_causes, settle_definition
from fleet.devcluster.metadata import common_causes, name_causes, normalised, update_causes
from fleet.devcluster.resources import CUSTOM_RESOURCE_DEFINITIONS, ResourceType
from shards.objects import Object

_GENERATION_IGNORES = ("kind", "apiVersion", "metadata", "status")
_SYSTEM_FIELDS = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")


def read_body(kind: ResourceType, raw: bytes | None) -> Object:
    """The decoded object of a request, with known metadata only. Raises StatusError 400."""
    try:
        body = msgspec.json.decode(raw or b"")
    except msgspec.DecodeError as error:
        raise statuses.bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): {error}"
        ) from None
    return checked_body(kind, body)


def checked_body(kind: ResourceType, body: Any) -> Object:
    """An object of this kind, with known metadata only. Raises StatusError 400."""
    wanted = kind.resource.api_version
    if not isinstance(body, dict):
        raise statuses.bad_request(f"the object provided is unrecognized (must be of type {kind.kind})")
    if kind.custom and not (body.get("kind") and body.get("apiVersion")):
        raise statuses.bad_request(f"the object provided is unrecognized (must be of type {kind.kind})")
    given_kind, given_version = body.get("kind") or kind.kind, body.get("apiVersion") or wanted
    if given_version != wanted:
        raise statuses.bad_request(
            f"the API version in the data ({given_version}) does not match the expected API version ({wanted})"
        )
    if given_kind != kind.kind:
        raise statuses.bad_request(
            f"the kind in the data ({given_kind}) does not match the expected kind ({kind.kind})"
        )
    try:
        body["metadata"] = normalised(body.get("metadata"))
    except msgspec.ValidationError as error:
        version = kind.resource.version
        raise statuses.bad_request(
            f'{kind.kind} in version "{version}" cannot be handled as a {kind.kind}: json: {error}'
        ) from None
    builtins.check_types(kind, body)
    return body


def patched_body(kind: ResourceType, body: Any) -> Object:
    """The same for the result of a patch, where built-in resources answer in another way. Raises StatusError."""
    try:
        return checked_body(kind, body)
    except statuses.StatusError as error:
        if kind.custom:
            raise
        text = msgspec.json.encode(body).decode()
        raise statuses.bad_patch_result(text, error.message) from None


def check_namespace(metadata: Object, namespace: str) -> None:
    """Fills the namespace of the URL in. Raises StatusError 400 when the body names another one."""
    if metadata.get("namespace", namespace) != namespace:
        raise statuses.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if namespace:
        metadata["namespace"] = namespace


def prepare_create(kind: ResourceType, body: Object, *, uid: str, timestamp: str) -> None:
    """Makes a request's object ready to be stored. timestamp: RFC 3339, whole seconds."""
    metadata = body["metadata"]
    for name in _SYSTEM_FIELDS:
        metadata.pop(name, None)
    metadata["uid"], metadata["creationTimestamp"] = uid, timestamp
    if kind.status:
        body.pop("status", None)
    if kind.custom or kind.generation:
        metadata["generation"] = 1
    _complete(kind, body, creating=True)
    found = [*name_causes(kind, metadata), *common_causes(kind, metadata), *_content_causes(kind, body, None, "")]
    if found:
        raise statuses.invalid(kind, metadata.get("name", ""), found)
    if kind.resource == CUSTOM_RESOURCE_DEFINITIONS.resource:
        settle_definition(body, timestamp)


def prepare_update(kind: ResourceType, body: Object, old: Object, subresource: str) -> Object:
    """The object that an update stores: `body` with everything that this request may not change taken from `old`."""
    metadata, old_metadata = body["metadata"], old["metadata"]
    if subresource == "status":
        merged = {**old, "metadata": dict(old_metadata)}
        merged.pop("status", None)
        if body.get("status") is not None:
            merged["status"] = body["status"]
        for name in ("uid", "name"):
            if metadata.get(name):
                merged["metadata"][name] = metadata[name]
        body, metadata = merged, merged["metadata"]
    else:
        _keep_system_fields(metadata, old_metadata)
        if kind.status:
            body.pop("status", None)
            if "status" in old:
                body["status"] = old["status"]
    _complete(kind, body, creating=False)
    if _generation_moves(kind, body, old):
        metadata["generation"] = old_metadata.get("generation", 0) + 1
    found = [*update_causes(metadata, old_metadata), *common_causes(kind, metadata)]
    found += _content_causes(kind, body, old, subresource)
    if found:
        raise statuses.invalid(kind, metadata.get("name", ""), found)
    return body


def _keep_system_fields(metadata: Object, old: Object) -> None:
    metadata.setdefault("uid", old["uid"])
    for name in ("creationTimestamp", "generation", "deletionTimestamp"):
        metadata.pop(name, None)
        if name in old:
            metadata[name] = old[name]
    if "deletionGracePeriodSeconds" in old:
        metadata.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])
    else:
        metadata.pop("deletionGracePeriodSeconds", None)


def _complete(kind: ResourceType, body: Object, *, creating: bool) -> None:
    if kind.custom:
        if kind.schema is not None:
            kind.schema.complete(body)
    else:
        builtins.complete(kind, body, creating=creating)


def _content_causes(kind: ResourceType, body: Object, old: Object | None, subresource: str) -> list[Cause]:
    if kind.schema is not None:
        return kind.schema.status_causes(body) if subresource == "status" else kind.schema.causes(body)
    if kind.resource == CUSTOM_RESOURCE_DEFINITIONS.resource:
        return list(definition_causes(body))
    return list(builtins.causes(kind, body, old))


def _generation_moves(kind: ResourceType, body: Object, old: Object) -> bool:
    if kind.custom:
        ignored = _GENERATION_IGNORES if kind.status else _GENERATION_IGNORES[:3]
        names = {*body, *old} - set(ignored)
        return any(body.get(name) != old.get(name) for name in names)
    if not kind.generation:
        return False
    if kind.kind == "Deployment" and body["metadata"].get("annotations") != old["metadata"].get("annotations"):
        return True
    return body.get("spec") != old.get("spec")
