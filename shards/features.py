"""Which features are on where: what the config says of them, and for which part of the fleet. PURE.

A feature is on where its switch is on and, if the canary names it, inside the canary's part only. Everywhere else it
behaves as if it were switched off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from shards.keyrange import SPACE, KeyRange

_SPREAD = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio, and odd: Knuth's multiplicative hash. Ranges of equal width, as many as a power of
two, come out at equal distances; neighbours come out far apart."""


class Feature(StrEnum):
    """What can be switched, as `featureGates` spells it."""

    VERSION_GATE = "VersionGate"
    """Decisions wait for views that are fresh enough."""
    SERVER_SIDE_SHARDING = "ServerSideSharding"
    """The API server filters lists and watches by shard (KEP-5866)."""
    SLOT_LABELS = "SlotLabels"
    """The API server filters children by the slot label that they carry."""
    ADMISSION_FENCE = "AdmissionFence"
    """Workers use credentials that an admission policy can revoke."""


BUILT = (Feature.VERSION_GATE, Feature.SERVER_SIDE_SHARDING, Feature.SLOT_LABELS)
"""Those that this version has."""


def position(shard: KeyRange) -> float:
    """Where the shard stands in the order in which a growing canary takes shards: 0 up to 1.

    A hash of the range's first key: it depends on nothing else, so that all workers, of whatever version of the config,
    agree; that the range which begins at 0 comes first, so that no canary is empty; and that when a shard is split, its
    lower half stays where it was.
    """
    return (shard.first * _SPREAD % SPACE) / SPACE


@dataclass(frozen=True, slots=True)
class Canary:
    """The part of a fleet in which some features are tried. Every condition that is given narrows it.

    features: those that are on in this part only. controllers: names; empty: all. shard_fraction: above 0 up to 1; a
    shard belongs where its `position` is below. A larger fraction keeps all shards of a smaller one. member_labels: a
    member must carry all of them.
    """

    features: frozenset[Feature] = frozenset()
    controllers: frozenset[str] = frozenset()
    shard_fraction: float = 1.0
    member_labels: Mapping[str, str] = field(default_factory=dict)

    def holds(self, controller: str, shard: KeyRange, labels: Mapping[str, str]) -> bool:
        """Whether a controller's shard on a member with these labels is part of it."""
        return (
            (not self.controllers or controller in self.controllers)
            and (self.shard_fraction >= 1.0 or position(shard) < self.shard_fraction)
            and all(labels.get(name) == value for name, value in self.member_labels.items())
        )


@dataclass(frozen=True, slots=True)
class Rollout:
    """What the config says: the features that are switched on, and the canary that narrows some of them."""

    on: frozenset[Feature] = frozenset(BUILT)
    canary: Canary = field(default_factory=Canary)

    def has(self, feature: Feature, controller: str, shard: KeyRange, labels: Mapping[str, str]) -> bool:
        """Whether the feature is on for the controller in that shard, on a member with these labels."""
        if feature not in self.on:
            return False
        return feature not in self.canary.features or self.canary.holds(controller, shard, labels)

    def has_for_all(
        self, feature: Feature, controllers: Iterable[str], shard: KeyRange, labels: Mapping[str, str]
    ) -> bool:
        """The same of what controllers share: one of them outside the canary keeps it out."""
        return all(self.has(feature, each, shard, labels) for each in controllers)
