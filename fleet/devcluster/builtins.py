"""Defaults and validation of built-in resources, as far as controllers can tell the difference. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fleet.devcluster import statuses
from fleet.devcluster.causes import Cause
from fleet.devcluster.resources import ResourceType
from shards.objects import Object

_LEASE_SPEC = ("holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions")
_CONFIG_KEY = re.compile(r"^[-._a-zA-Z0-9]+$")
_SECONDS = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_MICRO_TIME = re.compile(_SECONDS.pattern + r"\.\d{6}Z$")


def complete(kind: ResourceType, body: Object, *, creating: bool) -> None:
    """Drops unknown top-level fields and fills in defaults, in place."""
    for name in [name for name in body if name not in (kind.fields or body)]:
        del body[name]
    for name in [name for name, value in body.items() if value is None or value == {} or value == []]:
        if name not in ("metadata", "spec", "status"):
            del body[name]
    completer = _COMPLETERS.get(kind.resource.plural)
    if completer is not None:
        completer(body, creating)


def check_types(kind: ResourceType, body: Mapping[str, Any]) -> None:
    """What the server's decoder refuses: here the times of a Lease, which clients get wrong. Raises StatusError 400."""
    if kind.resource.plural != "leases":
        return
    for name in ("acquireTime", "renewTime"):
        text = (body.get("spec") or {}).get(name)
        if text is None or (isinstance(text, str) and _MICRO_TIME.match(text)):
            continue
        head = _SECONDS.match(text) if isinstance(text, str) else None
        rest, wanted = (text[head.end() :], ".000000") if head else (text, "2006")
        raise statuses.bad_request(
            f'Lease in version "v1" cannot be handled as a Lease: parsing time "{text}" as '
            f'"2006-01-02T15:04:05.000000Z07:00": cannot parse "{rest}" as "{wanted}"'
        )


def causes(kind: ResourceType, body: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[Cause]:
    """What is wrong with the content. old: the object that an update replaces."""
    if kind.resource.plural == "leases":
        yield from _lease_causes(body.get("spec") or {})
    elif kind.resource.plural in ("configmaps", "secrets"):
        yield from _data_causes(body, old)


def _namespace(body: Object, creating: bool) -> None:
    metadata = body["metadata"]
    metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = metadata.get("name", "")
    if creating:
        body["spec"] = {"finalizers": ["kubernetes"]}
        body["status"] = {"phase": "Active"}


def _secret(body: Object, creating: bool) -> None:
    for name, value in (body.pop("stringData", None) or {}).items():
        body.setdefault("data", {})[name] = base64.b64encode(str(value).encode()).decode()
    body.setdefault("type", "Opaque")


def _lease(body: Object, creating: bool) -> None:
    spec = body.get("spec") or {}
    kept = {name: spec[name] for name in _LEASE_SPEC if spec.get(name) is not None}
    body["spec"] = kept


def _pod(body: Object, creating: bool) -> None:
    if creating:
        body["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
    spec = body.setdefault("spec", {})
    for name, value in (
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("dnsPolicy", "ClusterFirst"),
        ("serviceAccountName", "default"),
        ("schedulerName", "default-scheduler"),
    ):
        spec.setdefault(name, value)


def _replicated(body: Object, creating: bool) -> None:
    body.setdefault("spec", {}).setdefault("replicas", 1)
    body.setdefault("status", {})


def _event(body: Object, creating: bool) -> None:
    for name in ("involvedObject", "source"):
        body.setdefault(name, {})
    for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
        body.setdefault(name, None)
    for name in ("reportingComponent", "reportingInstance"):
        body.setdefault(name, "")


_COMPLETERS = {
    "namespaces": _namespace,
    "secrets": _secret,
    "leases": _lease,
    "pods": _pod,
    "deployments": _replicated,
    "statefulsets": _replicated,
    "replicasets": _replicated,
    "events": _event,
}


def _lease_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if isinstance(duration, int) and duration <= 0:
        message = f"Invalid value: {duration}: must be greater than 0"
        yield Cause("FieldValueInvalid", message, "spec.leaseDurationSeconds")
    if isinstance(transitions, int) and transitions < 0:
        message = f"Invalid value: {transitions}: must be greater than or equal to 0"
        yield Cause("FieldValueInvalid", message, "spec.leaseTransitions")


def _data_causes(body: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[Cause]:
    for field in ("data", "binaryData"):
        for key in body.get(field) or {}:
            if len(key) > 253 or not _CONFIG_KEY.match(key):
                message = (
                    f"Invalid value: \"{key}\": a valid config key must consist of alphanumeric characters, '-', '_' "
                    "or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                    "'[-._a-zA-Z0-9]+')"
                )
                yield Cause("FieldValueInvalid", message, f"{field}[{key}]")
    if old is not None and old.get("immutable"):
        why = "Forbidden: field is immutable when `immutable` is set"
        for field in ("immutable", "data", "binaryData"):
            if body.get(field) != old.get(field):
                yield Cause("FieldValueForbidden", why, field)
