"""What happened to a fleet, for people: one Kubernetes Event each. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from fleet.records.object_names import Kind, Names
from shards.keyrange import KeyRange
from shards.objects import DOMAIN, Object

LONGEST_NOTE = 1024
"""Characters of a message that every API server takes."""


class Happening(NamedTuple):
    """reason: one word in CamelCase. note: a sentence. kind, name: the record that it is about: the str() of a range, a
    member's name, "" for the map and the coordinator. Never about an object of the authors."""

    reason: str
    note: str
    kind: Kind
    name: str = ""
    warning: bool = False


def event_body(happening: Happening, names: Names, *, event_name: str, reporter: str, now: float) -> Object:
    """An Event of core/v1, which kubectl shows with its count. now: seconds since 1970. reporter: member or agent."""
    moment = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": event_name, "namespace": names.namespace, "labels": names.labels(Kind.EVENT)},
        "involvedObject": _about(happening, names),
        "reason": happening.reason,
        "message": happening.note[:LONGEST_NOTE],
        "type": "Warning" if happening.warning else "Normal",
        "count": 1,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "source": {"component": DOMAIN, "host": reporter},
        "reportingComponent": DOMAIN,
        "reportingInstance": reporter,
        "action": happening.reason,
    }


def event_repeated(count: int, now: float) -> Object:
    """A merge patch of one that was posted before."""
    return {"count": count, "lastTimestamp": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


def object_name(happening: Happening, names: Names) -> str:
    """Of the Lease or ConfigMap that it is about."""
    if happening.kind is Kind.SHARD:
        return names.shard(KeyRange.parse(happening.name))
    if happening.kind is Kind.MEMBER:
        return names.member(happening.name)
    return names.coordinator if happening.kind is Kind.COORDINATOR else names.map


def _about(happening: Happening, names: Names) -> Object:
    lease = happening.kind in (Kind.SHARD, Kind.MEMBER, Kind.COORDINATOR)
    return {
        "apiVersion": "coordination.k8s.io/v1" if lease else "v1",
        "kind": "Lease" if lease else "ConfigMap",
        "namespace": names.namespace,
        "name": object_name(happening, names),
    }
