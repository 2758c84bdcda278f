"""What is wrong with Events. Those through events.k8s.io/v1 are judged strictly. Pure.

Source: kubernetes/pkg/apis/core/validation/events.go. Both rules get an Event as it is stored: of core/v1.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fleet.devcluster.builtins.findings import invalid
from fleet.devcluster.builtins.rulebook import rule
from fleet.devcluster.causes import Cause
from fleet.devcluster.schemas.names import qualified_faults
from shards.objects import Object

_LIMITS = (("reportingInstance", 128), ("action", 128), ("reason", 128), ("message", 1024))
"""In characters."""
_REQUIRED = ("reportingInstance", "action", "reason")
_MISMATCH = "does not match event.namespace"
_UNSET = ("firstTimestamp", "lastTimestamp", "count")
_FIXED = (
    *("involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type"),
    *("eventTime", "action", "related", "reportingComponent", "reportingInstance"),
)
_NULL = frozenset({"firstTimestamp", "lastTimestamp", "eventTime", "related"})
_REFERENCE = ("Kind", "Namespace", "Name", "UID", "APIVersion", "ResourceVersion", "FieldPath")
_JSON_NAMES = {"UID": "uid", "APIVersion": "apiVersion"}
_LEAST_SERIES = 2


@rule.checks("", "events")
def event_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    yield from _old_causes(body, "reportingComponent")


@rule.checks("events.k8s.io", "events")
def strict_event_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    yield from _old_causes(body, "reportingController")
    if old is None or body.get("series") != old.get("series"):
        yield from _series_causes(body)
    if old is None:
        yield from _new_causes(body)
        return
    for name in _FIXED:
        if body.get(name) != old.get(name):
            field = "reportingController" if name == "reportingComponent" else name
            yield Cause("FieldValueInvalid", f"Invalid value: {_shown(body, name)}: field is immutable", field)


def _old_causes(body: Object, controller: str) -> Iterator[Cause]:
    """Of every Event. controller: how the version that was asked for names that field."""
    namespace = body["involvedObject"].get("namespace", "")
    own = body["metadata"].get("namespace", "")
    if not body.get("eventTime"):
        if own != namespace if namespace else own not in ("", "default"):
            yield invalid("involvedObject.namespace", namespace, _MISMATCH)
        return
    if not namespace and own not in ("default", "kube-system"):
        yield invalid("involvedObject.namespace", namespace, _MISMATCH)
    reporter = body.get("reportingComponent") or ""
    if not reporter:
        yield _required(controller)
    for fault in qualified_faults(reporter):
        yield invalid(controller, reporter, fault)
    for name, limit in _LIMITS:
        value = body.get(name) or ""
        if not value and name in _REQUIRED:
            yield _required(name)
        if len(value) > limit:
            yield invalid(name, "", f"can have at most {limit} characters")


def _series_causes(body: Object) -> Iterator[Cause]:
    series = body.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < _LEAST_SERIES:
        yield invalid("series.count", "", f"should be at least {_LEAST_SERIES}")
    if not series.get("lastObservedTime"):
        yield _required("series.lastObservedTime")


def _new_causes(body: Object) -> Iterator[Cause]:
    if not body.get("eventTime"):
        yield _required("eventTime")
    kind = body.get("type", "")
    if kind not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {kind}")
    for name in _UNSET:
        if body.get(name):
            yield invalid(name, "", "needs to be unset")
    if body.get("source"):
        yield invalid("source", "", "needs to be unset")


def _required(field: str) -> Cause:
    return Cause("FieldValueRequired", "Required value", field)


def _shown(body: Object, name: str) -> str:
    """A value as Go writes its internal type."""
    value = body.get(name)
    if name == "involvedObject" or (name == "related" and value):
        value = {each: (value or {}).get(_JSON_NAMES.get(each, each[:1].lower() + each[1:]), "") for each in _REFERENCE}
    elif name == "source":
        value = {"Component": (value or {}).get("component", ""), "Host": (value or {}).get("host", "")}
    elif name == "count":
        value = value or 0
    elif value is None and name not in _NULL:
        value = ""
    return msgspec.json.encode(value).decode()
