"""`metadata` of an object: its known fields, their types, and the rules on names, labels and finalizers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fleet.devcluster.causes import Cause
from fleet.devcluster.resources import NAMESPACES, ResourceType
from shards.objects import Object

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"^{_LABEL}(\.{_LABEL})*$")
_DNS_LABEL = re.compile(rf"^{_LABEL}$")
_QUALIFIED = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
_LABEL_VALUE = re.compile(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_STRICT_FINALIZER_GROUPS = ("", "apps")
_ANNOTATIONS_LIMIT = 256 * 1024

SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
DNS_LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_MESSAGE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_LABEL_VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


class _Owner(msgspec.Struct, rename="camel", omit_defaults=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _ObjectMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    """The fields that are kept; null and empty ones are left out, as the real server does."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    finalizers: list[str] | None = None


_OWNER_REQUIRED = ("apiVersion", "kind", "name", "uid")


def normalised(metadata: Any) -> Object:
    """Known fields only, without empty ones. Raises msgspec.ValidationError where a type is wrong."""
    parsed = msgspec.convert(metadata or {}, _ObjectMeta)
    plain: Object = msgspec.to_builtins(parsed)
    kept = {name: value for name, value in plain.items() if value not in ("", {}, []) and value is not None}
    for owner in kept.get("ownerReferences", ()):
        for name in _OWNER_REQUIRED:
            owner.setdefault(name, "")
    return kept


def is_subdomain(text: str) -> bool:
    return len(text) <= 253 and _SUBDOMAIN.match(text) is not None


def name_causes(kind: ResourceType, metadata: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with the name of an object that is to be created."""
    name = metadata.get("name", "")
    if not name:
        yield Cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name")
        return
    as_label = kind.resource == NAMESPACES.resource or kind.resource.plural == "services"
    limit, message = (63, DNS_LABEL_MESSAGE) if as_label else (253, SUBDOMAIN_MESSAGE)
    pattern = _DNS_LABEL if as_label else _SUBDOMAIN
    if len(name) > limit:
        yield _invalid("metadata.name", name, f"must be no more than {limit} characters")
    if not pattern.match(name):
        yield _invalid("metadata.name", name, message)


def common_causes(kind: ResourceType, metadata: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with labels, annotations, owner references and finalizers."""
    for key, value in metadata.get("labels", {}).items():
        yield from _key_causes(key, "metadata.labels")
        if len(value) > 63:
            yield _invalid("metadata.labels", value, "must be no more than 63 bytes")
        if not _LABEL_VALUE.match(value):
            yield _invalid("metadata.labels", value, _LABEL_VALUE_MESSAGE)
    size = 0
    for key, value in metadata.get("annotations", {}).items():
        yield from _key_causes(key.lower(), "metadata.annotations")
        size += len(key.encode()) + len(value.encode())
    if size > _ANNOTATIONS_LIMIT:
        message = f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes"
        yield Cause("FieldValueTooLong", message, "metadata.annotations")
    yield from _owner_causes(metadata.get("ownerReferences", ()))
    yield from _finalizer_causes(kind, metadata.get("finalizers", ()))


def _key_causes(key: str, field: str) -> Iterator[Cause]:
    prefix, slash, name = key.rpartition("/")
    if slash and not is_subdomain(prefix):
        yield _invalid(field, key, "prefix part " + SUBDOMAIN_MESSAGE)
    if len(name) > 63:
        yield _invalid(field, key, "name part must be no more than 63 bytes")
    if not _QUALIFIED.match(name):
        yield _invalid(field, key, _QUALIFIED_MESSAGE)


def _owner_causes(owners: Any) -> Iterator[Cause]:
    controllers = 0
    for index, owner in enumerate(owners):
        path = f"metadata.ownerReferences[{index}]"
        for name in _OWNER_REQUIRED:
            if not owner.get(name):
                yield Cause("FieldValueRequired", "Required value: must not be empty", f"{path}.{name}")
        controllers += bool(owner.get("controller"))
    if controllers > 1:
        message = 'Only one reference can have Controller set to true. Found "true" in references for '
        names = " and ".join(owner["name"] for owner in owners if owner.get("controller"))
        yield Cause("FieldValueInvalid", f"Invalid value: {message}{names}", "metadata.ownerReferences")


def _finalizer_causes(kind: ResourceType, finalizers: Any) -> Iterator[Cause]:
    for finalizer in finalizers:
        yield from _key_causes(finalizer, "metadata.finalizers")
    if kind.resource.group not in _STRICT_FINALIZER_GROUPS or kind.custom:
        return
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            message = "name is neither a standard finalizer name nor is it fully qualified"
            yield _invalid(f"metadata.finalizers[{index}]", finalizer, message)


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
            yield _invalid(f"metadata.{name}", new.get(name), "field is immutable")


def _invalid(field: str, value: Any, why: str) -> Cause:
    shown = f'"{value}"' if isinstance(value, str) else "null" if value is None else str(value)
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {why}", field)
