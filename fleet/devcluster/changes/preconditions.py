"""Whether a write is about the object that it thinks it is about: name, UID and version. Pure."""

from __future__ import annotations

from fleet.devcluster.causes import Cause
from fleet.devcluster.changes.deleteoptions import Preconditions
from fleet.devcluster.kinds.resources import NAMESPACES, ResourceType
from fleet.devcluster.storage.storage import Stored, Table
from fleet.devcluster.wire import statuses
from shards.objects import Object


def check_preconditions(kind: ResourceType, stored: Stored, wanted: Preconditions | None) -> None:
    """Raises StatusError 409."""
    if wanted is None:
        return
    meta = stored.meta
    if wanted.uid is not None and wanted.uid != meta.uid:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({meta.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise statuses.conflict(kind, meta.name, why, by_kind=True)
    if wanted.resource_version is not None and wanted.resource_version != meta.resource_version:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the ResourceVersion "
            f"in record ({meta.resource_version}). The object might have been modified"
        )
        raise statuses.conflict(kind, meta.name, why, by_kind=True)


def check_name(metadata: Object, name: str) -> None:
    """The name of the URL. Raises StatusError 400."""
    if metadata.get("name", name) != name:
        raise statuses.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        )


def require_name(metadata: Object, name: str) -> None:
    """A patch may leave no object without a name. Raises StatusError 400."""
    if not metadata.get("name"):
        raise statuses.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )


def check_version(kind: ResourceType, stored: Stored, version: str) -> None:
    """The resourceVersion that an update was made from; "" where it does not say. Raises StatusError 409, 422."""
    if version in ("", "0"):
        if not kind.unconditional_update:
            message = "Invalid value: 0: must be specified for an update"
            cause = Cause("FieldValueInvalid", message, "metadata.resourceVersion")
            raise statuses.invalid(kind, stored.meta.name, [cause], by_plural=True)
    elif version != str(stored.version):
        raise statuses.conflict(kind, stored.meta.name)


def uid_conflict(kind: ResourceType, key: str, name: str, wanted: str, found: str) -> statuses.StatusError:
    """An update of another incarnation. found: "" where there is none."""
    why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    return statuses.conflict(kind, name, _storage_error(kind, key, why))


def not_corrupt(kind: ResourceType, stored: Stored) -> statuses.StatusError:
    """An unsafe delete of an object that can be read."""
    why = "unsafe deletion is not allowed because the object is decodable from storage"
    return statuses.conflict(kind, stored.meta.name, _storage_error(kind, stored.key, why))


def _storage_error(kind: ResourceType, key: str, why: str) -> str:
    group = kind.resource.group
    prefix = f"/registry/{group}/{kind.resource.plural}" if kind.custom else f"/registry/{kind.resource.plural}"
    return f"StorageError: invalid object, Code: 4, Key: {prefix}/{key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"


def uid_mismatch(kind: ResourceType, name: str, uid: str) -> statuses.StatusError:
    """An apply that would create an object under a UID of its own choice."""
    why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    return statuses.conflict(kind, name, why)


def check_namespace_serves(namespaces: Table, kind: ResourceType, namespace: str, name: str) -> None:
    """Whether a new object may be put there. name: "" where the body has none. Raises StatusError 403, 404."""
    if not kind.namespaced:
        return
    found = namespaces.objects.get(namespace)
    if found is None:
        raise statuses.not_found(NAMESPACES, namespace)
    if found.meta.deletion_timestamp:
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
        raise statuses.forbidden(kind, name, why, [cause])
