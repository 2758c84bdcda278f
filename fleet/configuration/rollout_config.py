"""`featureGates` and `canary`: what is switched on, and for which part of the fleet."""

from __future__ import annotations

from typing import Literal

import msgspec

from fleet.configuration.section import Section
from shards.features import Canary, Feature


class FeatureGates(Section, frozen=True, rename="pascal"):
    """`featureGates`: switches for an emergency, and for what is still young. Running workers follow them."""

    version_gate: bool = True
    """Whether decisions wait for views that are fresh enough. Default true; false keeps metrics and records, and holds
    nothing back."""
    server_side_sharding: Literal["auto", "on", "off"] = "auto"
    """Whether the API server filters lists and watches by shard (KEP-5866). Default auto: where it was proven, which is
    tried again after reconnects, since a server without the feature ignores the parameter silently. YAML's on and off
    need no quotes here."""
    slot_labels: Literal["auto", "on", "off"] = "auto"
    """Whether the API server filters children by the slot label that they carry (partitionBy uid). Default auto: where
    it was proven that all children carry it. on: you say so, after `fleet adopt` found none without; a child without it
    is invisible then. true and false mean on and off."""
    admission_fence: bool = False
    """Whether workers use credentials that an admission policy can revoke. Only false is supported so far."""


class CanaryConfig(Section, frozen=True):
    """`canary`: the part of the fleet to which some features are confined. Every condition narrows it. Running workers
    follow it."""

    features: tuple[str, ...] = ()
    """Names of `featureGates` that are on in the canary only. Default empty: nothing is confined."""
    controllers: tuple[str, ...] = ()
    """Names of controllers, those that `Controller("name", ...)` gives. Default empty: all of them."""
    shard_fraction: float = 1.0
    """Part of the shards, above 0 up to 1. Default 1.0: all of them. Which ones is decided by a hash of each shard's
    range: a larger fraction keeps the shards of a smaller one and adds others, a smaller one only takes away."""
    member_labels: dict[str, str] = msgspec.field(default_factory=dict)
    """Labels, all of which a worker must carry (`fleet run --label`, FLEET_LABELS). Default empty: all workers."""


def canary_of(config: CanaryConfig) -> Canary:
    """For the workers. Names are those that were checked."""
    return Canary(
        features=frozenset(map(Feature, config.features)),
        controllers=frozenset(config.controllers),
        shard_fraction=config.shard_fraction,
        member_labels=config.member_labels,
    )
