"""What the server makes of an object before it stores it: the create and update rules of every resource. Pure.

Bodies are changed in place; a refused one raises StatusError. Time and randomness come in as arguments.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fleet.devcluster import builtins
from fleet.devcluster.causes import Cause
from fleet.devcluster.changes.metadata import common_causes, name_causes, normalised, untouched, update_causes
from fleet.devcluster.decoding import bodies
from fleet.devcluster.decoding.identity import identified
from fleet.devcluster.definitions.crdrules import definition_causes
from fleet.devcluster.definitions.crds import complete_definition, first_status, store_version
from fleet.devcluster.fields.resetfields import reset_fields
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.kinds.scale import scale_causes
from fleet.devcluster.schemas.values import same
from fleet.devcluster.wire import patchstatuses, statuses
from shards.objects import Object

_GENERATION_IGNORES = ("kind", "apiVersion", "metadata", "status")
_SYSTEM_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def read_body(
    kind: ResourceType,
    raw: bytes | None,
    *,
    content_type: str = bodies.JSON,
    validation: str = "Warn",
    warnings: list[str] | None = None,
) -> Object:
    """The decoded object of a request, with known fields only.

    validation: of unknown and repeated fields: Strict, Warn or Ignore. warnings: gets what Warn says.
    Raises StatusError 400, 415, 422.
    """
    body = bodies.read(kind, raw or b"", content_type=content_type, validation=validation, warnings=warnings)
    body["metadata"] = normalised(body.get("metadata"))
    return body


def checked_body(
    kind: ResourceType,
    body: Any,
    *,
    validation: str = "Warn",
    warnings: list[str] | None = None,
    old: Object | None = None,
) -> Object:
    """An object of this kind, with known fields only, of a body that is decoded. Raises StatusError 400, 422.

    old: a valid object whose parts the body may share; see `bodies.typed`.
    """
    read = bodies.typed(kind, identified(kind, body, b""), validation=validation, warnings=warnings, old=old)
    read["metadata"] = normalised(read.get("metadata"))
    return read


def patched_body(kind: ResourceType, body: Any) -> Object:
    """The same for the result of a patch, where built-in resources answer in another way. Raises StatusError."""
    try:
        return checked_body(kind, body)
    except statuses.StatusError as error:
        if kind.custom:
            raise
        text = msgspec.json.encode(body).decode()
        raise patchstatuses.bad_patch_result(text, error.message) from None


def check_namespace(metadata: Object, namespace: str) -> None:
    """Fills the namespace of the URL in. Raises StatusError 400 when the body names another one."""
    if metadata.get("namespace", namespace) != namespace:
        raise statuses.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if namespace:
        metadata["namespace"] = namespace


def prepare_create(
    kind: ResourceType, body: Object, *, uid: str, timestamp: str, asked: ResourceType | None = None
) -> None:
    """Makes a complete body (see complete_body) ready to be stored. timestamp: RFC 3339, whole seconds.

    asked: of the request's version, which may be judged by other rules than the stored one.
    """
    metadata = body["metadata"]
    if kind.terminating:
        why = "create not allowed while custom resource definition is terminating"
        raise statuses.forbidden(kind, metadata.get("name", ""), why)
    for name in _SYSTEM_FIELDS:
        metadata.pop(name, None)
    metadata["uid"], metadata["creationTimestamp"] = uid, timestamp
    if kind.status:
        body.pop("status", None)
    if kind.custom or kind.generation:
        metadata["generation"] = 1
    if not kind.custom:
        builtins.prepare_create(kind, body)
        if kind.defines:
            body["status"] = first_status(body)
    found = [
        *name_causes(kind, metadata),
        *common_causes(kind, metadata),
        *_content_causes(asked or kind, body, None, ""),
    ]
    if found:
        raise statuses.invalid(kind, metadata.get("name", ""), found)


def prepare_update(
    kind: ResourceType, body: Object, old: Object, subresource: str, *, asked: ResourceType | None = None
) -> Object:
    """The object that an update stores: the complete `body` with everything that this request may not change taken
    from `old`. asked: see `prepare_create`.
    """
    metadata, old_metadata = body["metadata"], old["metadata"]
    if subresource == "status":
        merged = {**old, "metadata": _status_metadata(kind, metadata, old_metadata)}
        merged.pop("status", None)
        if "status" in body:
            merged["status"] = body["status"]
        body, metadata = merged, merged["metadata"]
    elif subresource == "finalize":
        spec = {**(old.get("spec") or {}), "finalizers": (body.get("spec") or {}).get("finalizers")}
        metadata = dict(old_metadata)
        body = {**old, "metadata": metadata, "spec": {name: value for name, value in spec.items() if value}}
    else:
        _keep_system_fields(metadata, old_metadata)
        if kind.status:
            body.pop("status", None)
            if "status" in old:
                body["status"] = old["status"]
        if not subresource and not kind.custom:
            builtins.prepare_update(kind, body, old)
        if kind.defines:
            store_version(body)
    found: list[Cause] = []
    if not untouched(metadata, old_metadata):
        found += [*update_causes(metadata, old_metadata), *common_causes(kind, metadata)]
    if subresource != "status" and _generation_moves(kind, body, old):
        metadata["generation"] = old_metadata.get("generation", 0) + 1
    found += _content_causes(asked or kind, body, old, subresource)
    if found:
        refusal = statuses.invalid(kind, metadata.get("name", ""), found)
        if kind.schema is not None:
            refusal.warnings = tuple(kind.schema.forgiven(body, old))
        raise refusal
    return body


def _status_metadata(kind: ResourceType, metadata: Object, old: Object) -> Object:
    """What a write to the status makes of the metadata: of most built-in resources it may change that as well."""
    reset = reset_fields(kind.kind, kind.resource.group, "status", status=True, custom=kind.custom).get("f:metadata")
    if reset is not None and not reset:
        return {**old, **{name: metadata[name] for name in ("uid", "name") if metadata.get(name)}}
    _keep_system_fields(metadata, old)
    for element in reset or ():
        name = element.removeprefix("f:")
        metadata.pop(name, None)
        if name in old:
            metadata[name] = old[name]
    return metadata


def _keep_system_fields(metadata: Object, old: Object) -> None:
    metadata.setdefault("uid", old["uid"])
    for name in ("creationTimestamp", "generation"):
        metadata.pop(name, None)
        if name in old:
            metadata[name] = old[name]
    if "deletionTimestamp" in old:
        metadata["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old:
        metadata.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])


def complete_body(kind: ResourceType, body: Object, *, creating: bool) -> None:
    """What decoding does to a body: drops unknown fields and fills in defaults, in place. Its author owns them."""
    if kind.custom:
        if kind.schema is not None:
            kind.schema.default(body)
        return
    builtins.complete(kind, body, creating=creating)
    if kind.defines:
        complete_definition(body)


def _content_causes(kind: ResourceType, body: Object, old: Object | None, subresource: str) -> list[Cause]:
    if kind.custom:
        return _custom_causes(kind, body, old, subresource)
    if kind.defines:
        return list(definition_causes(body, old))
    return [] if subresource else builtins.causes(kind, body, old)


def _custom_causes(kind: ResourceType, body: Object, old: Object | None, subresource: str) -> list[Cause]:
    found: list[Cause] = []
    if kind.schema is not None:
        found = kind.schema.status_causes(body, old) if subresource == "status" else kind.schema.causes(body, old)
    if kind.scale is not None:
        found += scale_causes(kind.scale, body, status_only=subresource == "status")
    return found


def _generation_moves(kind: ResourceType, body: Object, old: Object) -> bool:
    if kind.custom:
        ignored = _GENERATION_IGNORES if kind.status else _GENERATION_IGNORES[:3]
        names = {*body, *old} - set(ignored)
        return any(not same(body.get(name), old.get(name)) for name in names)
    return builtins.generation_moves(kind, body, old)
