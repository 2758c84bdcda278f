"""A Lease as the records of a fleet use it: holder, epoch, length, and our annotations.

holderIdentity holds the holder, leaseTransitions the epoch, and annotations the rest. Times in a Lease are for people:
nobody compares its clock with them (design 3.2). Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from fleet.records.coordination import ProtocolMismatch
from fleet.records.object_names import FLEET_LABEL, Kind, Names
from fleet.records.record import PROTOCOL_VERSION, natural
from shards.objects import DOMAIN, Meta, Object

_MAX_INT32 = 2**31 - 1


class Times(NamedTuple):
    """acquireTime and renewTime, as `micro_time` writes them."""

    acquired: str
    renewed: str


class LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_transitions: int | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None


class Lease(msgspec.Struct):
    """As much of a Lease as records need."""

    metadata: Meta
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)

    def note(self, name: str) -> str:
        """One of our annotations, "" where it is missing."""
        return (self.metadata.annotations or {}).get(f"{DOMAIN}/{name}", "")

    def label(self, name: str) -> str:
        return (self.metadata.labels or {}).get(name, "")

    @property
    def holder(self) -> str:
        return self.spec.holder_identity or ""

    @property
    def epoch(self) -> int | None:
        """Epochs only grow, so the higher of the field and its copy is the true one. None: neither can be read."""
        transitions, copy = self.spec.lease_transitions, natural(self.note("epoch"))
        readable = [epoch for epoch in (transitions, copy) if epoch is not None and epoch >= 0]
        return max(readable, default=None)

    def seconds(self, unreadable: float) -> float:
        """The exact lease where it agrees with leaseDurationSeconds, else the longer; LONGEST_SECONDS at most."""
        # The field holds 32 bits; a number that no float holds can still be written where nobody checks.
        whole = float(max(0, min(self.spec.lease_duration_seconds or 0, _MAX_INT32)))
        exact = _positive(self.note("lease-seconds"))
        if exact and math.ceil(exact) == whole:
            return exact
        return min(max(whole, exact) or unreadable, LONGEST_SECONDS)


LONGEST_SECONDS = 3600.0
"""No config may ask for as much. A longer one was written by hand, and would keep a dead member from being fenced."""


def micro_time(epoch_seconds: float) -> str:
    """MicroTime of the API: UTC with exactly six fractional digits."""
    return datetime.fromtimestamp(epoch_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lease_of(obj: Object | bytes) -> Lease | None:
    """None where it has not the shape of a Lease."""
    try:
        return msgspec.json.decode(obj, type=Lease) if isinstance(obj, bytes) else msgspec.convert(obj, Lease)
    except (msgspec.MsgspecError, RecursionError):  # of brackets a thousand deep
        return None


def lease_object(
    names: Names,
    kind: Kind,
    name: str,
    *,
    holder: str,
    epoch: int,
    lease_seconds: float | None,
    notes: Mapping[str, str],
    version: str,
    uid: str,
    times: Times,
) -> Object:
    """A whole Lease. lease_seconds: None for a record that has none. notes: annotations; empty ones are left out.

    version: "" creates, else the resourceVersion that the write replaces. Raises ConfigError for a name that no Lease
    can have.
    """
    spec: Object = {
        "holderIdentity": holder,
        # The field holds 32 bits; its copy below holds any epoch that a hand may have written.
        "leaseTransitions": min(epoch, _MAX_INT32),
        "acquireTime": times.acquired,
        "renewTime": times.renewed,
    }
    ours = {"protocol": str(PROTOCOL_VERSION), "epoch": str(epoch), **notes}
    if lease_seconds is not None:
        spec["leaseDurationSeconds"] = min(max(math.ceil(lease_seconds), 1), _MAX_INT32)
        ours["lease-seconds"] = repr(lease_seconds)
    metadata = names.metadata(kind, name, version=version, uid=uid)
    metadata["annotations"] = {f"{DOMAIN}/{key}": value for key, value in ours.items() if value}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def check_owner(lease: Lease, fleet: str) -> None:
    """An object that lost its labels is still ours by name; one that says otherwise is not. Raises ProtocolMismatch."""
    said, protocol = lease.label(FLEET_LABEL), lease.note("protocol")
    if said and said != fleet:
        raise ProtocolMismatch("fleet", f"Lease {lease.metadata.name} belongs to fleet {said!r}, not to {fleet!r}")
    if protocol and protocol != str(PROTOCOL_VERSION):
        raise ProtocolMismatch(
            "", f"Lease {lease.metadata.name} has protocol {protocol!r}; this program knows {PROTOCOL_VERSION} only"
        )


def _positive(text: str) -> float:
    """0.0 for what is no positive, finite number."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) and value > 0 else 0.0
