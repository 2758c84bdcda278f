"""Reading the config file: YAML text into a validated `FleetConfig`, or one sentence about what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from fleet.configuration.config import FleetConfig
from fleet.configuration.config_errors import translate
from fleet.configuration.gate_config import GateConfig
from fleet.configuration.rollout_checks import check_rollout
from fleet.configuration.yaml_text import decoded, text_of_file
from fleet.records.record import MAX_WEIGHT, MIN_WEIGHT
from fleet.rules.membership import ACTING_SHARE
from shards.errors import ConfigError

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_FLEET_NAME = 52

_ABOVE_ZERO = 1e-9
_ENDLESS = 1e9
_BOUNDS: dict[str, tuple[float, float]] = {
    "shards.count": (1, 4096),
    "workers.perPod": (1, 64),
    "workers.drainSeconds": (_ABOVE_ZERO, _ENDLESS),
    "workers.leaveSeconds": (0, _ENDLESS),
    "workers.weight": (MIN_WEIGHT, MAX_WEIGHT),
    "workers.memoryLimitMiB": (0, _ENDLESS),
    "workers.recycleAtShare": (_ABOVE_ZERO, 1),
    "coordination.leaseSeconds": (2, 600),
    "coordination.renewSeconds": (_ABOVE_ZERO, 600),
    "coordination.candidates": (1, 16),
    "rebalance.churnPerRound": (_ABOVE_ZERO, 1),
    "rebalance.cooldownSeconds": (0, _ENDLESS),
    "rebalance.tolerance": (0.01, 1),
    "rebalance.restartGraceSeconds": (0, _ENDLESS),
    "gate.liveReadAfterSeconds": (_ABOVE_ZERO, _ENDLESS),
    "gate.liveReadsPerSecond": (_ABOVE_ZERO, _ENDLESS),
    "gate.statusStaleWindowSeconds": (_ABOVE_ZERO, _ENDLESS),
    "gate.breaker.destructiveLimit": (1, _ENDLESS),
    "gate.breaker.windowSeconds": (_ABOVE_ZERO, _ENDLESS),
    "gate.breaker.failuresToOpen": (1, _ENDLESS),
    "gate.breaker.openSeconds": (_ABOVE_ZERO, _ENDLESS),
    "queue.maxConcurrentReconciles": (1, 1024),
    "queue.baseDelaySeconds": (_ABOVE_ZERO, _ENDLESS),
    "queue.maxDelaySeconds": (_ABOVE_ZERO, _ENDLESS),
    "queue.reconcileTimeoutSeconds": (_ABOVE_ZERO, _ENDLESS),
    "queue.retriesPerSecond": (_ABOVE_ZERO, _ENDLESS),
    "queue.retryBurst": (1, _ENDLESS),
    "queue.resyncSeconds": (0, _ENDLESS),
    "client.requestsPerSecond": (_ABOVE_ZERO, _ENDLESS),
    "client.burst": (1, _ENDLESS),
    "client.fleetRequestsPerSecond": (_ABOVE_ZERO, _ENDLESS),
    "agent.metricsPort": (-1, 65535),
}
"""Lowest and highest value per field, both allowed."""

_LEAST_WORKER_MIB = 128


def load_config(path: str | Path) -> FleetConfig:
    """Read and validate a file. Raises ConfigError."""
    return parse_config(text_of_file(path, "the config file"))


def parse_config(text: str) -> FleetConfig:
    """Validate the text of a config file. Raises ConfigError."""
    document = decoded(text)
    if not isinstance(document, dict):
        raise ConfigError("", "the config must be a mapping of fields that begins with `fleet: <name>`")
    return config_from(document)


def config_from(document: Mapping[str, Any]) -> FleetConfig:
    """Validate a decoded document. Raises ConfigError."""
    document = _with_words_for_switches(document)
    try:
        config = msgspec.convert(document, FleetConfig)
    except msgspec.ValidationError as error:
        raise translate(str(error), document) from error
    except UnicodeEncodeError as error:
        raise ConfigError("", "a text holds half a character (an unpaired surrogate)") from error
    _check_names(config)
    _check_values(msgspec.to_builtins(config))
    _check_relations(config)
    check_rollout(config.feature_gates, config.canary)
    return config


_WORDS = ("ServerSideSharding", "SlotLabels")
"""Feature gates that are auto, on or off."""


def _with_words_for_switches(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """YAML 1.1 reads a bare on or off as a boolean; give the word back where the field means the word."""
    gates = document.get("featureGates")
    if not isinstance(gates, dict):
        return document
    words = {name: "on" if gates[name] else "off" for name in _WORDS if isinstance(gates.get(name), bool)}
    return {**document, "featureGates": {**gates, **words}} if words else document


def _check_names(config: FleetConfig) -> None:
    if not _DNS_LABEL.fullmatch(config.fleet) or len(config.fleet) > _LONGEST_FLEET_NAME:
        raise ConfigError(
            "fleet",
            f"{config.fleet!r} is no name for a fleet; use lower-case letters, digits and dashes,"
            f" at most {_LONGEST_FLEET_NAME} characters",
        )
    if bool(config.controller) == bool(config.controllers):
        raise ConfigError(
            "controller", "name exactly one of controller and controllers, such as `controller: websites:websites`"
        )
    for index, namespace in enumerate(config.scope.namespaces):
        if not _DNS_LABEL.fullmatch(namespace):
            raise ConfigError(f"scope.namespaces[{index}]", f"{namespace!r} is not the name of a namespace")


def _check_values(values: Mapping[str, Any]) -> None:
    for path, (low, high) in _BOUNDS.items():
        value = _at(values, path)
        # Written so that not-a-number fails it too.
        if value is not None and not low <= value <= high:
            raise ConfigError(path, f"{_number(value)} is out of bounds; {_bounds_text(low, high)}")


def _number(value: float) -> str:
    """Whole numbers may be larger than any float."""
    return str(value) if isinstance(value, int) else f"{value:g}"


def _bounds_text(low: float, high: float) -> str:
    lowest = "a number above 0" if low == _ABOVE_ZERO else f"at least {low:g}"
    return f"write {lowest}" + ("" if high == _ENDLESS else f", at most {high:g}")


def _at(values: Mapping[str, Any], path: str) -> Any:
    found: Any = values
    for name in path.split("."):
        found = found[name]
    return found


def _check_relations(config: FleetConfig) -> None:
    timing = config.coordination
    if not timing.renew_every_seconds * 2 < timing.deadline_seconds:
        raise ConfigError(
            "coordination.renewSeconds",
            f"twice {timing.renew_every_seconds:g} is not below the deadline of {timing.deadline_seconds:g} seconds"
            f" (leaseSeconds x {ACTING_SHARE}), so that one lost renewal would stop a worker;"
            f" write at most {timing.lease_seconds / 4:g}",
        )
    if config.queue.base_delay_seconds > config.queue.max_delay_seconds:
        raise ConfigError(
            "queue.maxDelaySeconds",
            f"{config.queue.max_delay_seconds:g} is below baseDelaySeconds ({config.queue.base_delay_seconds:g});"
            " write the longer delay here",
        )
    if 0 < config.workers.memory_limit_mib < _LEAST_WORKER_MIB:
        raise ConfigError(
            "workers.memoryLimitMiB",
            f"{config.workers.memory_limit_mib} is less than a worker needs that holds nothing; write 0 for no limit of"
            f" its own, or at least {_LEAST_WORKER_MIB}",
        )
    _check_gate(config.gate)
    if config.client.burst is not None and config.client.requests_per_second is None:
        raise ConfigError("client.burst", "means nothing without a rate; write client.requestsPerSecond too")


def _check_gate(gate: GateConfig) -> None:
    if gate.status_stale_window_seconds < gate.live_read_after_seconds:
        raise ConfigError(
            "gate.statusStaleWindowSeconds",
            f"{gate.status_stale_window_seconds:g} is below liveReadAfterSeconds ({gate.live_read_after_seconds:g});"
            " write the longer time here",
        )
    if gate.breaker.open_seconds > gate.breaker.window_seconds:
        raise ConfigError(
            "gate.breaker.openSeconds",
            f"{gate.breaker.open_seconds:g} is above windowSeconds ({gate.breaker.window_seconds:g}): the window"
            f" would be forgotten before the first probe; write at most {gate.breaker.window_seconds:g}",
        )
