"""Whether the holder of somebody's Lease has gone, by what this worker saw of it and by its own clock. PURE.

Design 3.2, and the comments of client-go's leaderelection: nobody compares its clock with a timestamp that another one
wrote. A Lease has expired when one and the same version of it was seen for as long as the largest leaseDurationSeconds
that was ever seen in it. A Lease that is gone, or names no holder, proves no more than one that stands still: its
former holder goes on until its own deadline.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum

from shards.objects import Object, ObjectName

UNKNOWN_SECONDS = 40.0
"""Where no duration was seen: the kubelet's, the longest in common use."""

REMEMBERED = 4096
"""Leases of which sightings are kept, the latest looks last. A forgotten one is watched from the beginning again: it
takes longer, and is never taken for expired."""


class Sign(StrEnum):
    """EXPIRED: it stood still for its duration. ALIVE: it moved within its duration. WAIT: nobody knows yet."""

    EXPIRED = "expired"
    ALIVE = "alive"
    WAIT = "wait"


@dataclass(slots=True)
class Sighting:
    """What is known of one Lease. version: "" while it is gone. since: when that version was first seen, after the
    answer came. looked: when it was seen last. longest_seconds: largest duration ever seen; 0.0 for none."""

    version: tuple[str, str]
    since: float
    looked: float
    longest_seconds: float = 0.0

    @property
    def lasts_seconds(self) -> float:
        return self.longest_seconds or UNKNOWN_SECONDS


class LeaseSightings:
    """Of one controller in one shard. Times in boot-clock seconds."""

    def __init__(self) -> None:
        self._seen: OrderedDict[ObjectName, Sighting] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def look(self, name: ObjectName, lease: Object | None, asked: float, answered: float) -> tuple[Sign, float]:
        """A live read was asked for and answered at these times; lease: None: it is gone.

        Returns what that says, and for how many seconds more it must stand still (above 0 with WAIT).
        The wait begins when an answer has come, and is over when a later one was asked for: so it is measured short.
        """
        version, seconds = _version(lease), _duration(lease)
        known = self._seen.get(name)
        if known is None:
            known = Sighting(version, answered, answered)
            self._keep(name, known)
            known.longest_seconds = seconds
            return Sign.WAIT, known.lasts_seconds
        self._seen.move_to_end(name)
        known.longest_seconds = max(known.longest_seconds, seconds)
        moved = known.version != version
        recent = answered - known.looked < known.lasts_seconds
        known.looked = answered
        if moved:
            known.version, known.since = version, answered
            # Between two looks that are closer than its duration: whoever renewed it acts still.
            return (Sign.ALIVE, 0.0) if recent and _holder(lease) else (Sign.WAIT, known.lasts_seconds)
        remaining = known.since + known.lasts_seconds - asked
        return (Sign.EXPIRED, 0.0) if remaining <= 0 else (Sign.WAIT, remaining)

    def _keep(self, name: ObjectName, sighting: Sighting) -> None:
        self._seen[name] = sighting
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)


def _version(lease: Object | None) -> tuple[str, str]:
    metadata = {} if lease is None else lease["metadata"]
    return metadata.get("uid", ""), metadata.get("resourceVersion", "")


def _holder(lease: Object | None) -> str:
    return ((lease or {}).get("spec") or {}).get("holderIdentity") or ""


def _duration(lease: Object | None) -> float:
    """Seconds; 0.0 for none."""
    seconds = ((lease or {}).get("spec") or {}).get("leaseDurationSeconds")
    return float(seconds) if isinstance(seconds, int | float) and seconds > 0 else 0.0
