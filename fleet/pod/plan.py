"""What a pod runs: everything that its processes inherit from the composition root through the fork."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fleet import __version__
from shards.keyrange import PartitionKey

if TYPE_CHECKING:
    from fleet.configuration.config import FleetConfig
    from shards.authoring.controller import Controller

PRODUCT = f"fleet/{__version__}"
"""Begins the User-Agent of every request."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One pod's worth of a fleet. Made once, before the first fork; never changed."""

    config: FleetConfig
    controllers: tuple[Controller, ...]
    """Imported before the fork, so that a restarted worker is warm."""
    kubeconfig: str | None
    """Path; None: the rules of `shards.transport.kube.connect`."""
    context: str | None
    """Name of a context in the kubeconfig; None: the current one."""
    pod: str
    """Name of the pod; members are called `<pod>-<slot>`."""
    pod_uid: str
    """Tells this pod from another one of the same name."""
    namespace: str
    """Where Leases and map live."""
    revision: str
    """Revision of the pod template, "" where unknown: during a rollout the newest one is preferred."""
    run_dir: Path
    """Private directory of this pod's processes: children.json and their sockets."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of the members of this pod, for `canary.memberLabels`."""
    weight: float = 1.0
    """Of each member of this pod: `workers.weight`, or FLEET_WEIGHT."""
    config_file: Path | None = None
    """Where `config` came from, to be followed for what may change; None: it came from no file."""
    partition_keys: tuple[PartitionKey, ...] = tuple(PartitionKey)
    """Those by which the controllers' primaries can be divided."""
    journal_dir: Path | None = None
    """Where the workers write their journals; None: they keep none."""
