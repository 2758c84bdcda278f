"""What a DELETE asks for: its options, from a body or, where there is none, from the query. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec

from fleet.devcluster.causes import Cause
from fleet.devcluster.decoding.gotexts import go_kind
from fleet.devcluster.decoding.gotypes import Findings, GoType, GoTypes
from fleet.devcluster.decoding.identity import TYPE_META
from fleet.devcluster.decoding.jsontext import JsonError, read_json
from fleet.devcluster.decoding.yamlbody import YamlError, read_yaml
from fleet.devcluster.kinds.catalogue import schemas
from fleet.devcluster.protobuf.decoding import CONTENT_TYPE as PROTOBUF
from fleet.devcluster.protobuf.decoding import decode as decode_protobuf
from fleet.devcluster.protobuf.wire import ProtobufError
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.requests import Request

_KIND: Final = "DeleteOptions"
_POLICIES: Final = ("Foreground", "Background", "Orphan")
_NO_JSON: Final = "couldn't get version/kind; json parse error: "
_NEVER_WITH_UNSAFE: Final = (
    ("propagation_policy", "propagationPolicy"),
    ("orphan_dependents", "orphanDependents"),
    ("grace_period_seconds", "gracePeriodSeconds"),
    ("preconditions", "preconditions"),
)
_UNSAFE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"


class Preconditions(msgspec.Struct, rename="camel"):
    """What the object of a delete must be; None: not asked."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, rename="camel"):
    """unsafe: delete although the object cannot be read, which is never so here."""

    preconditions: Preconditions | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    grace_period_seconds: int | None = None
    dry_run: list[str] | None = None
    unsafe: bool | None = msgspec.field(default=None, name=_UNSAFE)


def delete_options(request: Request, *, collection: bool = False) -> tuple[DeleteOptions, bool]:
    """The options, and whether it is a dry run. A body makes the server ignore the query. Raises StatusError."""
    if request.body:
        options = msgspec.convert(_typed(_decoded(request)), DeleteOptions)
    elif request.query:
        options = _from_query(request)
    else:
        return DeleteOptions(), False
    found = list(_causes(options))
    if collection and options.unsafe and not found:
        why = "is not allowed with DELETECOLLECTION, try again after removing the option"
        found = [Cause("FieldValueInvalid", f"Invalid value: true: {why}", _UNSAFE)]
    if found:
        raise statuses.invalid_options(_KIND, found)
    return options, bool(options.dry_run)


def _from_query(request: Request) -> DeleteOptions:
    return DeleteOptions(
        propagation_policy=request.option("propagationPolicy") if request.has("propagationPolicy") else None,
        orphan_dependents=request.option("orphanDependents") not in ("0", "false")
        if request.has("orphanDependents")
        else None,
        grace_period_seconds=request.number("gracePeriodSeconds") if request.option("gracePeriodSeconds") else None,
        dry_run=[value for name, value in request.query if name == "dryRun"] or None,
    )


def _decoded(request: Request) -> dict[str, Any]:
    """Raises StatusError 400, 415."""
    raw, content_type = request.body or b"", request.content_type
    if content_type in ("", "application/json"):
        try:
            value = read_json(raw)
        except JsonError as error:
            raise statuses.bad_request(f"{_NO_JSON}{error}") from None
    elif content_type == "application/yaml":
        try:
            value, _ = read_yaml(raw)
        except YamlError as error:
            raise statuses.bad_request(str(error)) from None
    elif content_type == PROTOBUF:
        try:
            value = decode_protobuf(raw)
        except ProtobufError as error:
            raise statuses.bad_request(str(error)) from None
    else:
        raise statuses.unsupported_body()
    if value is None:
        return {}
    if not isinstance(value, dict):
        where = f"json: cannot unmarshal {go_kind(value)} into Go value of type {TYPE_META}"
        raise statuses.bad_request(_NO_JSON + where)
    return value


@cache
def _type() -> GoType:
    return GoTypes(schemas()).named("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")


def _typed(value: dict[str, Any]) -> dict[str, Any]:
    """The options with known fields only. Any group has such options. Raises StatusError 400."""
    kind = value.get("kind") or _KIND
    if kind != _KIND:
        version = value.get("apiVersion") or "meta.k8s.io/v1"
        raise statuses.bad_request(
            f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        )
    found = Findings()
    read: dict[str, Any] = _type().read(value, found)
    if found.mismatch:
        why = found.mismatch
        if "Preconditions.preconditions.uid" in why:
            why = why.replace("of type string", "of type types.UID")
        raise statuses.bad_request(why)
    return read


def _causes(options: DeleteOptions) -> Iterator[Cause]:
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        message = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        yield Cause("FieldValueInvalid", message, "propagationPolicy")
    if policy is not None and policy not in _POLICIES:
        supported = ", ".join(f'"{each}"' for each in (*_POLICIES, "nil"))
        message = f'Unsupported value: "{policy}": supported values: {supported}'
        yield Cause("FieldValueNotSupported", message, "propagationPolicy")
    if any(each != "All" for each in options.dry_run or ()):
        shown = msgspec.json.encode(options.dry_run).decode()
        yield Cause("FieldValueNotSupported", f'Unsupported value: {shown}: supported values: "All"', "dryRun")
    if options.unsafe:
        for attribute, name in _NEVER_WITH_UNSAFE:
            if getattr(options, attribute) is not None:
                yield Cause("FieldValueInvalid", f"Invalid value: true: cannot be set together with .{name}", _UNSAFE)
